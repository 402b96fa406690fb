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

package machine

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
)

// referredTo are the Secrets and ConfigMaps that the spec of a Machine refers to.
// Nobody needs those of one that is being deleted.
func referredTo(m Machine) (secrets, configMaps []client.ObjectKey) {
	c := m.Parameters().CloudInit
	if c == nil || meta.WasDeleted(m) {
		return nil, nil
	}
	secret := func(r *v1alpha1.SecretKeyReference) {
		if r != nil {
			secrets = append(secrets, client.ObjectKeyFromObject(secretEntry(m, *r).object))
		}
	}
	secret(c.PasswordSecretRef)
	for _, d := range []*v1alpha1.CloudInitData{c.UserData, c.VendorData, c.NetworkConfig} {
		if d == nil {
			continue
		}
		secret(d.SecretRef)
		if d.ConfigMapRef != nil {
			configMaps = append(configMaps, client.ObjectKeyFromObject(configMapEntry(m, *d.ConfigMapRef).object))
		}
	}
	return secrets, configMaps
}

// followWith makes the functions that have a Machine woken from now on when what it
// refers to changes, and no more once it is gone.
func (c *connector) followWith(to *connect.Connector, kind schema.GroupKind) (follow, leave func(Machine)) {
	to.OnChange(kind, func(key client.ObjectKey) {
		m, ok := c.object.DeepCopyObject().(Machine)
		if !ok {
			return
		}
		m.SetNamespace(key.Namespace)
		m.SetName(key.Name)
		go c.wake(m)
	})
	key := func(m Machine) connect.Key { return connect.Key{ObjectKey: client.ObjectKeyFromObject(m), Kind: kind} }
	follow = func(m Machine) {
		secrets, configMaps := referredTo(m)
		to.Follow(key(m), secrets, configMaps)
	}
	return follow, func(m Machine) { to.Follow(key(m), nil, nil) }
}
