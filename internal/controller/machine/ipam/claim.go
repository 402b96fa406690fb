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

package ipam

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// Labels of claims.
const (
	// LabelUUID is the UUID of the VM that an address is for.
	LabelUUID = "proxmox.vitistack.io/vm-uuid"

	// LabelNetwork is the name of the network in the spec of its Machine.
	LabelNetwork = "proxmox.vitistack.io/network"

	// labelCluster is the cluster of Cluster API that a Machine belongs to, if any. Providers of IPAM do nothing while that is paused.
	labelCluster = "cluster.x-k8s.io/cluster-name"
)

// longestName is the maximum length of a Machine's name that the names of its claims contain in full.
const longestName = 200

// A claim of one address.
type claim struct {
	uuid, network string
	family        family
	pool          v1alpha1.MachineIPPoolReference
}

// key returns the key of the claim. Its name consists of the Machine's name and a checksum of its purpose: another pool needs another claim, because
// claims cannot change.
func (c claim) key(m object.Machine) (client.ObjectKey, error) {
	namespace := m.GetNamespace()
	if namespace == "" {
		namespace = ptr.Deref(c.pool.Namespace, "")
	}
	if namespace == "" {
		return client.ObjectKey{}, conditions.Reject(conditions.Networking,
			"network %q: the reference to pool %s has no namespace, which a cluster-scoped Machine has to name", c.network, c.pool.Name)
	}
	parts := []string{c.uuid, c.network, fmt.Sprint(c.family), c.pool.APIGroup, c.pool.Kind, c.pool.Name}
	if m.GetNamespace() == "" {
		parts = append(parts, m.GetName()) // A claim in any namespace identifies its Machine.
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	name := m.GetName()
	name = strings.TrimRight(name[:min(len(name), longestName)], ".-")
	return client.ObjectKey{Namespace: namespace, Name: name + "-" + hex.EncodeToString(sum[:5])}, nil
}

// object returns the claim as it is created.
func (c claim) object(m object.Machine, key client.ObjectKey) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"poolRef": map[string]any{"apiGroup": c.pool.APIGroup, "kind": c.pool.Kind, "name": c.pool.Name},
	}}}
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	labels := map[string]string{LabelUUID: c.uuid, LabelNetwork: c.network}
	if of := m.GetLabels()[labelCluster]; of != "" {
		labels[labelCluster] = of
	}
	u.SetLabels(labels)
	return u
}

// isOf reports whether the Machine creates a claim for the VM with a UUID. The UUID alone, which is in an annotation that users write, may be that of
// another Machine's VM.
func isOf(u *unstructured.Unstructured, m object.Machine, uuid string) bool {
	text := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(u.Object, fields...)
		return s
	}
	c := claim{uuid: uuid, network: u.GetLabels()[LabelNetwork], pool: v1alpha1.MachineIPPoolReference{
		APIGroup: text("spec", "poolRef", "apiGroup"), Kind: text("spec", "poolRef", "kind"), Name: text("spec", "poolRef", "name"),
		Namespace: ptr.To(u.GetNamespace()),
	}}
	for _, c.family = range []family{ipv4, ipv6} {
		if key, err := c.key(m); err == nil && key == client.ObjectKeyFromObject(u) {
			return true
		}
	}
	return false
}
