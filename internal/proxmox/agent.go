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

package proxmox

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox/transport"
)

// An Interface is a network interface as the guest agent reports it.
type Interface struct {
	// Name of the interface in the guest, such as eth0.
	Name string

	// MAC address in lower case, or empty if it has none.
	MAC string

	// Addresses of the interface, including loopback and link-local ones.
	Addresses []netip.Addr
}

// Interfaces reads the guest's network interfaces from the guest agent. It returns an error if the agent does not answer, or returns no interfaces. Each
// node can do this for only few VMs at the same time.
func (c GuestAPI) Interfaces(ctx context.Context, ref Ref) ([]Interface, error) {
	var data struct {
		Result agentInterfaces `json:"result"`
	}
	if err := c.vm(ctx, ref, machine("ask the guest agent of", http.MethodGet, ref, "/agent/network-get-interfaces"), &data); err != nil {
		return nil, err
	}
	var found []Interface
	for _, i := range data.Result {
		found = append(found, Interface{Name: string(i.Name), MAC: plainMAC(string(i.MAC)), Addresses: i.addresses()})
	}
	return found, nil
}

// agentInterfaces holds an agent's answer. If the agent does not know the command, or has disabled it as old agents on Windows have, the answer of PVE
// contains the agent's error instead.
type agentInterfaces []agentInterface

// An agentInterface has no MAC if it is a tunnel, or a loopback interface on Windows, and no addresses while it is down.
type agentInterface struct {
	Name      text `json:"name"`
	MAC       text `json:"hardware-address"`
	Addresses []struct {
		Address text `json:"ip-address"`
	} `json:"ip-addresses"`
}

// UnmarshalJSON accepts a list, and returns an error for anything else.
func (a *agentInterfaces) UnmarshalJSON(b []byte) error {
	if !isObject(b) {
		return json.Unmarshal(b, (*[]agentInterface)(a))
	}
	var refusal struct {
		Error struct {
			Description text `json:"desc"`
		} `json:"error"`
	}
	if err := json.Unmarshal(b, &refusal); err != nil {
		return err
	}
	return &transport.Failure{Status: http.StatusOK, Message: agentError + string(refusal.Error.Description), Sent: true}
}

// addresses returns the valid addresses. The length of the prefix is ignored, because older agents on Windows report -1.
func (i agentInterface) addresses() []netip.Addr {
	var out []netip.Addr
	for _, a := range i.Addresses {
		if ip, err := netip.ParseAddr(string(a.Address)); err == nil {
			out = append(out, ip.Unmap())
		}
	}
	return out
}

// plainMAC returns a MAC address in lower case with colons, or nothing for an invalid one.
func plainMAC(s string) string {
	mac, err := net.ParseMAC(strings.TrimSpace(s))
	if err != nil {
		return ""
	}
	return mac.String()
}

// ReadFile reads a file of the guest, such as /etc/ssh/ssh_host_ed25519_key.pub, through the guest agent. PVE 9 requires VM.GuestAgent.FileRead for that,
// PVE 8 VM.Monitor. ReadFile returns an error if the agent does not answer, or cannot read the file.
func (c GuestAPI) ReadFile(ctx context.Context, ref Ref, path string) (string, error) {
	r := machine("read a file of the guest of", http.MethodGet, ref, "/agent/file-read")
	r.query = url.Values{"file": {path}}
	var data struct {
		Content text `json:"content"`
	}
	if err := c.vm(ctx, ref, r, &data); err != nil {
		return "", err
	}
	return string(data.Content), nil
}
