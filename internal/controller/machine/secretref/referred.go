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

package secretref

import (
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// ReferredTo returns the Secrets and ConfigMaps that the spec of a Machine refers to. A Machine that is being deleted needs none.
func ReferredTo(m object.Machine) (secrets, configMaps []client.ObjectKey) {
	c := m.Parameters().CloudInit
	if c == nil || meta.WasDeleted(m) {
		return nil, nil
	}
	secret := func(r *v1alpha1.SecretKeyReference) {
		if r != nil {
			secrets = append(secrets, client.ObjectKeyFromObject(OfSecret(m, *r).Object))
		}
	}
	secret(c.PasswordSecretRef)
	for i := range c.SSHKeySecretRefs {
		secret(&c.SSHKeySecretRefs[i])
	}
	for _, r := range c.SSHKeyConfigMapRefs {
		configMaps = append(configMaps, client.ObjectKeyFromObject(ofConfigMap(m, r).Object))
	}
	for _, d := range []*v1alpha1.CloudInitData{c.UserData, c.VendorData, c.NetworkConfig} {
		if d == nil {
			continue
		}
		secret(d.SecretRef)
		if d.ConfigMapRef != nil {
			configMaps = append(configMaps, client.ObjectKeyFromObject(ofConfigMap(m, *d.ConfigMapRef).Object))
		}
	}
	return secrets, configMaps
}

// MayChange reports whether the desired value of an option may change although the spec has not, because it comes from a Secret or a ConfigMap.
func MayChange(option, desired string, c *v1alpha1.MachineCloudInit) bool {
	switch option {
	case "cipassword":
		return true
	case "sshkeys":
		return refersToSSHKeys(c)
	}
	return strings.Contains(desired, "media=cdrom")
}
