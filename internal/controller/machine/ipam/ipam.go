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

// Package ipam manages the addresses that networks of Machines take from pools of Cluster API's IPAM: an IPAddressClaim for each, created with the
// Machine and released when its VM no longer exists, and the IPAddress that a provider of IPAM allocates for it. It queries only the Kubernetes API.
//
// Claims have no owner reference: in a deletion in the foreground, as Argo CD requests it, Kubernetes would delete them before the VM is removed, and
// its address would be given to another one. Instead, their names and a label contain the UUID of the VM. Thus a Machine that is restored from a
// backup or that adopts the VM recognizes them, and they stay with a VM that stays.
//
// The objects are read without the types of Cluster API, which would add its versions of the Kubernetes libraries. Three fields are read and three
// are written. They are the same in all versions, of which the version that the API server prefers is used.
package ipam

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// Group of the kinds of Cluster API's IPAM.
const Group = "ipam.cluster.x-k8s.io"

var (
	claimKind   = schema.GroupKind{Group: Group, Kind: "IPAddressClaim"} //nolint:gochecknoglobals // A constant.
	addressKind = schema.GroupKind{Group: Group, Kind: "IPAddress"}      //nolint:gochecknoglobals // A constant.
)

// A Reader claims and reads the addresses of the Machines of one scope.
type Reader struct {
	Kube client.Client

	// Watch reports changed claims and addresses, and caches them.
	Watch *Watch
}

// Addresses are the addresses that the networks of a Machine take from pools. A nil value has none.
type Addresses struct{ taken []taken }

// taken is what one network of a Machine takes from a pool.
type taken struct {
	network string
	family  family

	// address with its prefix length, and the gateway or an empty string, or else why there is none yet.
	address, gateway, wait string

	// missing is the claim that must still be created, or nil if it exists.
	missing *claim
}

// A family of addresses.
type family int

const (
	ipv4 family = 4
	ipv6 family = 6
)

// is reports whether an address is of the family.
func (f family) is(a netip.Addr) bool { return a.Is4() == (f == ipv4) && a.Zone() == "" }

// takesFromPool reports whether a network of a spec takes an address from a pool.
func takesFromPool(p *v1alpha1.MachineParameters) bool {
	return slices.ContainsFunc(p.Networks, func(n v1alpha1.MachineNetwork) bool {
		return n.IPConfig != nil && (n.IPConfig.PoolRef != nil || n.IPConfig.PoolRef6 != nil)
	})
}

// Resolve reads the addresses that the networks of a Machine have from pools for its VM with the UUID. Claim claims the missing ones.
func (r Reader) Resolve(ctx context.Context, m object.Machine, uuid string) (*Addresses, error) {
	if !takesFromPool(m.Parameters()) || uuid == "" || meta.WasDeleted(m) {
		return nil, nil
	}
	a := &Addresses{}
	for _, n := range m.Parameters().Networks {
		if n.IPConfig == nil {
			continue
		}
		for f, ref := range map[family]*v1alpha1.MachineIPPoolReference{ipv4: n.IPConfig.PoolRef, ipv6: n.IPConfig.PoolRef6} {
			if ref == nil {
				continue
			}
			t, err := r.take(ctx, m, claim{uuid: uuid, network: n.Name, family: f, pool: *ref})
			if err != nil {
				return nil, errors.Wrapf(err, "network %q", n.Name)
			}
			a.taken = append(a.taken, t)
		}
	}
	slices.SortStableFunc(a.taken, func(x, y taken) int { return int(x.family) - int(y.family) })
	return a, nil
}

// Claim claims the addresses of networks that have none. The given networks may be only some of those of the spec: others may use the same pool.
func (r Reader) Claim(ctx context.Context, m object.Machine, a *Addresses, networks []v1alpha1.MachineNetwork) error {
	if a == nil {
		return nil
	}
	for i, t := range a.taken {
		if t.missing == nil || !slices.ContainsFunc(networks, func(n v1alpha1.MachineNetwork) bool { return n.Name == t.network }) {
			continue
		}
		key, err := t.missing.key(m)
		if err == nil {
			err = r.make(ctx, m, *t.missing, key)
		}
		if err != nil {
			return errors.Wrapf(err, "network %q", t.network)
		}
		a.taken[i].missing = nil
	}
	return nil
}

// take takes the address of a claim, if there is one.
func (r Reader) take(ctx context.Context, m object.Machine, c claim) (taken, error) {
	t := taken{network: c.network, family: c.family}
	key, err := c.key(m)
	if err != nil {
		return t, err
	}
	r.Watch.follow(key, client.ObjectKeyFromObject(m))
	there, err := r.get(ctx, claimKind, key)
	switch {
	case apimeta.IsNoMatchError(err):
		t.wait = "Cluster API's IPAM is not installed: there is no kind IPAddressClaim of " + Group
		return t, nil
	case err != nil:
		return t, err
	case there == nil && !object.MayCreate(m) && !kind.Manages(m):
		t.wait = fmt.Sprintf("there is no IPAddressClaim '%s', and managementPolicies leave out Create and Update", key.Name)
		return t, nil
	case there == nil:
		t.wait, t.missing = waits(key, "has no address yet"), &c
		return t, nil
	case there.GetLabels()[LabelUUID] != c.uuid:
		t.wait = fmt.Sprintf("IPAddressClaim '%s' is not this Machine's: it has no label %s with the UUID of its VM", key.Name, LabelUUID)
		return t, nil
	case meta.WasDeleted(there):
		t.wait = waits(key, "is being deleted, and will be created again")
		return t, nil
	}
	return r.allocated(ctx, t, there)
}

func waits(key client.ObjectKey, why string) string {
	return fmt.Sprintf("IPAddressClaim '%s' in namespace '%s' %s", key.Name, key.Namespace, why)
}

// make creates a claim.
func (r Reader) make(ctx context.Context, m object.Machine, c claim, key client.ObjectKey) error {
	gvk, err := r.version(claimKind)
	if err != nil {
		return err
	}
	u := c.object(m, key)
	u.SetGroupVersionKind(gvk)
	err = r.Kube.Create(ctx, u)
	if kerrors.IsAlreadyExists(err) {
		return nil // The cache does not have it yet.
	}
	return errors.Wrapf(err, "cannot make IPAddressClaim %q", key.Name)
}

// allocated reads the address that a claim was given.
func (r Reader) allocated(ctx context.Context, t taken, c *unstructured.Unstructured) (taken, error) {
	key := client.ObjectKeyFromObject(c)
	name, _, _ := unstructured.NestedString(c.Object, "status", "addressRef", "name")
	if name == "" {
		t.wait = strings.TrimSpace(waits(key, "has no address yet") + refusal(c))
		return t, nil
	}
	a, err := r.get(ctx, addressKind, client.ObjectKey{Namespace: key.Namespace, Name: name})
	if err != nil {
		return t, err
	}
	if a == nil {
		t.wait = waits(key, "names IPAddress '"+name+"', which is not there yet")
		return t, nil
	}
	if of, _, _ := unstructured.NestedString(a.Object, "spec", "claimRef", "name"); of != key.Name {
		t.wait = waits(key, fmt.Sprintf("names IPAddress '%s', which is of IPAddressClaim '%s'", name, of))
		return t, nil
	}
	t.address, t.gateway, err = t.family.read(a)
	if err != nil {
		t.wait = waits(key, fmt.Sprintf("was given IPAddress '%s', which cannot be used: %s", name, err))
	}
	return t, nil
}

// refusal returns what the provider of IPAM says of a claim for which it has allocated nothing.
func refusal(c *unstructured.Unstructured) string {
	all, _, _ := unstructured.NestedSlice(c.Object, "status", "conditions")
	for _, one := range all {
		text := func(key string) string {
			o, _ := one.(map[string]any)
			s, _ := o[key].(string)
			return s
		}
		if text("type") == "Ready" && text("status") == "False" {
			return fmt.Sprintf(" (%s)", strings.TrimSuffix(text("reason")+": "+text("message"), ": "))
		}
	}
	return ""
}

// read reads the address with its prefix length, and the gateway, of an IPAddress.
func (f family) read(a *unstructured.Unstructured) (address, gateway string, err error) {
	text := func(field string) string {
		s, _, _ := unstructured.NestedString(a.Object, "spec", field)
		return s
	}
	bits, has, err := unstructured.NestedInt64(a.Object, "spec", "prefix")
	if err != nil || !has {
		return "", "", errors.New("it has no prefix")
	}
	ip, err := netip.ParseAddr(text("address"))
	if err != nil || !f.is(ip) {
		return "", "", errors.Errorf("%q is not an IPv%d address", text("address"), f)
	}
	prefix := netip.PrefixFrom(ip, int(bits))
	if !prefix.IsValid() {
		return "", "", errors.Errorf("it has the prefix %d", bits)
	}
	if text("gateway") == "" {
		return prefix.String(), "", nil
	}
	gw, err := netip.ParseAddr(text("gateway"))
	if err != nil || !f.is(gw) {
		return "", "", errors.Errorf("its gateway %q is not an IPv%d address", text("gateway"), f)
	}
	return prefix.String(), gw.String(), nil
}

// get reads an object, or returns nil if there is none.
func (r Reader) get(ctx context.Context, gk schema.GroupKind, key client.ObjectKey) (*unstructured.Unstructured, error) {
	gvk, err := r.version(gk)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	if !r.Watch.watches(gvk) {
		// The cache would wait in vain for objects that the provider may not list.
		all := &unstructured.UnstructuredList{}
		all.SetGroupVersionKind(gvk)
		if err := r.Kube.List(ctx, all, client.Limit(1)); err != nil {
			return nil, errors.Wrapf(err, "cannot list %s", gk.Kind)
		}
	}
	err = r.Watch.read(ctx, key, u)
	if kerrors.IsNotFound(err) {
		return nil, nil
	}
	return u, errors.Wrapf(err, "cannot read %s %q", gk.Kind, key.Name)
}

// version returns the version of a kind that the API server prefers.
func (r Reader) version(gk schema.GroupKind) (schema.GroupVersionKind, error) {
	mapping, err := r.Kube.RESTMapper().RESTMapping(gk)
	if gk == claimKind {
		r.Watch.serves(!apimeta.IsNoMatchError(err))
	}
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return mapping.GroupVersionKind, nil
}

// Wait returns why the VM of a Machine cannot be created yet, or nil. It ignores addresses that must still be claimed.
func (a *Addresses) Wait() error {
	if all := a.waits(func(t taken) bool { return t.missing == nil }); len(all) > 0 {
		return conditions.WaitForIPAddress("%s", strings.Join(all, "; "))
	}
	return nil
}

// Waits returns why addresses are not there yet.
func (a *Addresses) Waits() []string { return a.waits(func(taken) bool { return true }) }

func (a *Addresses) waits(which func(taken) bool) []string {
	var all []string
	if a == nil {
		return nil
	}
	for _, t := range a.taken {
		if t.wait != "" && which(t) {
			all = append(all, fmt.Sprintf("network %q: %s", t.network, t.wait))
		}
	}
	return all
}

// Parameters returns the parameters of a Machine with the addresses of its networks. A network that waits for an address keeps what its VM has: now
// returns that, or nil where it is not known.
func (a *Addresses) Parameters(p *v1alpha1.MachineParameters, now func(network string) *v1alpha1.MachineIPConfig) *v1alpha1.MachineParameters {
	if a == nil {
		return p
	}
	out := *p
	out.Networks = slices.Clone(p.Networks)
	for _, t := range a.taken {
		i := slices.IndexFunc(out.Networks, func(n v1alpha1.MachineNetwork) bool { return n.Name == t.network })
		c := out.Networks[i].IPConfig.DeepCopy()
		t.put(c, now)
		out.Networks[i].IPConfig = c
	}
	return &out
}

// put puts the address into the configuration of its network.
func (t taken) put(c *v1alpha1.MachineIPConfig, now func(network string) *v1alpha1.MachineIPConfig) {
	has := &v1alpha1.MachineIPConfig{Address: &t.address, Gateway: &t.gateway, Address6: &t.address, Gateway6: &t.gateway}
	if t.wait != "" {
		if has = now(t.network); has == nil {
			return
		}
	}
	if t.family == ipv4 {
		c.Address, c.Gateway = new(ptr.Deref(has.Address, "")), new(ptr.Deref(has.Gateway, ""))
		return
	}
	c.Address6, c.Gateway6 = new(ptr.Deref(has.Address6, "")), new(ptr.Deref(has.Gateway6, ""))
}

// Configured returns the configuration of a network in an option of cloud-init, or nil if it cannot be read.
func Configured(option string) *v1alpha1.MachineIPConfig {
	p := &v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{{Device: new("net0")}}}
	qemu.ReadIPConfig(0)(p, "", option)
	if c := p.Networks[0].IPConfig; option == "" || *c != (v1alpha1.MachineIPConfig{}) {
		return c
	}
	return nil
}

// has reports whether cloud-init configures an address in a VM.
func has(config qemu.Config, address string) bool {
	for name, option := range config {
		if c := Configured(option); strings.HasPrefix(name, "ipconfig") && c != nil {
			for _, a := range []*string{c.Address, c.Address6} {
				if ip, _, _ := strings.Cut(ptr.Deref(a, ""), "/"); ip == address {
					return true
				}
			}
		}
	}
	return false
}

// Release releases the addresses of a Machine whose VM with the UUID no longer exists, except for those of a VM that is there under its VMID.
func (r Reader) Release(ctx context.Context, m object.Machine, uuid string, there qemu.Config) error {
	if r.Watch == nil || uuid == "" || r.Watch.servedNone() {
		return nil // Nothing was claimed.
	}
	gvk, err := r.version(claimKind)
	if apimeta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	claims := &unstructured.UnstructuredList{}
	claims.SetGroupVersionKind(gvk)
	err = r.Kube.List(ctx, claims, client.InNamespace(m.GetNamespace()), client.MatchingLabels{LabelUUID: uuid})
	if kerrors.IsForbidden(err) && !takesFromPool(m.Parameters()) {
		return nil // A provider that may not use IPAM has no addresses from it.
	}
	if err != nil {
		return errors.Wrap(err, "cannot list IPAddressClaims")
	}
	for i := range claims.Items {
		if !isOf(&claims.Items[i], m, uuid) {
			continue
		}
		if err := r.release(ctx, &claims.Items[i], there); err != nil {
			return err
		}
	}
	return nil
}

func (r Reader) release(ctx context.Context, c *unstructured.Unstructured, there qemu.Config) error {
	key := client.ObjectKeyFromObject(c)
	name, _, _ := unstructured.NestedString(c.Object, "status", "addressRef", "name")
	if name != "" {
		a, err := r.get(ctx, addressKind, client.ObjectKey{Namespace: key.Namespace, Name: name})
		if err != nil {
			return err
		}
		if a != nil {
			if address, _, _ := unstructured.NestedString(a.Object, "spec", "address"); has(there, address) {
				return nil
			}
		}
	}
	err := r.Kube.Delete(ctx, c, client.Preconditions{UID: ptr.To(c.GetUID())})
	if err == nil {
		r.Watch.leave(key)
	}
	return errors.Wrapf(client.IgnoreNotFound(err), "cannot release IPAddressClaim %q", c.GetName())
}
