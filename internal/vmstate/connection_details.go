/*
Copyright 2026 The provider-proxmox Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package vmstate

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// ConnectionDetails returns the details that a client needs to reach the VM.
func (v *VM) ConnectionDetails(o *v1alpha1.MachineObservation, endpoints []string) managed.ConnectionDetails {
	d := managed.ConnectionDetails{
		"vmid": []byte(strconv.Itoa(v.VMID)),
		"node": []byte(v.Node),
		"name": []byte(v.Config["name"]),
	}
	if len(endpoints) > 0 {
		d["consoleURL"] = []byte(v.consoleURL(endpoints[0]))
	}
	if user := v.Config["ciuser"]; user != "" {
		d[xpv2.CredentialsSecretUserKey] = []byte(user)
	}
	if len(o.IPAddresses) > 0 {
		d[xpv2.CredentialsSecretEndpointKey] = []byte(o.IPAddresses[0])
		d[xpv2.CredentialsSecretPortKey] = []byte(v.port())
		d["ipAddresses"] = []byte(strings.Join(o.IPAddresses, ","))
	}
	return d
}

// port returns the port for remote access to the guest: that of SSH, or of RDP for Windows.
func (v *VM) port() string {
	if strings.HasPrefix(v.Config["ostype"], "w") {
		return "3389"
	}
	return "22"
}

// consoleURL returns PVE's page with the VM's console, which asks for a login.
func (v *VM) consoleURL(endpoint string) string {
	q := url.Values{"console": {"kvm"}, "novnc": {"1"}, "vmid": {strconv.Itoa(v.VMID)}, "vmname": {v.Config["name"]}, "node": {v.Node}}
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(endpoint, "/"), "/api2/json"), "/") + "/?" + q.Encode()
}
