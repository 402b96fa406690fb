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

package tenancy

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// destroy is the removal policy that deletes a disk.
const destroy = "Destroy"

// checkMachine refuses values of a Machine that the tenant may not use.
func (t *Tenant) checkMachine(p *v1alpha1.MachineParameters, externalName string) error {
	all := t.checkPlace(p, externalName)
	all = append(all, t.checkSource(p)...)
	all = append(all, t.checkDisks(p)...)
	all = append(all, t.checkNetworks(p.Networks)...)
	all = append(all, t.checkDevices(p)...)
	all = append(all, t.checkReserved(p)...)
	all = append(all, t.checkSecrets(p.CloudInit)...)
	return join(all)
}

// checkPlace refuses a VMID, a pool or nodes.
func (t *Tenant) checkPlace(p *v1alpha1.MachineParameters, externalName string) []error {
	all := []error{checkSpecTags(t, p.Tags)}
	if p.VMID != nil {
		all = append(all, t.checkVMID(int(*p.VMID)))
	}
	stays := p.Pool != nil && inAdoptPool(t.ProviderTenant, proxmox.Guest{Pool: *p.Pool})
	joins := p.Pool != nil && !stays && t.checkPool(*p.Pool) == nil
	if id := VMIDOf(externalName); id != 0 && (!mayAdoptAny(t) || joins) {
		all = append(all, t.checkVMID(id)) // An adopted VM with another VMID would not be the tenant's in one of the tenant's pools.
	}
	if p.Pool != nil && !stays {
		all = append(all, t.checkPool(*p.Pool))
	}
	if p.Node != nil {
		all = append(all, t.CheckNode(*p.Node))
	}
	if p.Placement != nil {
		for _, node := range p.Placement.Nodes {
			all = append(all, t.CheckNode(node))
		}
	}
	return all
}

// checkSource refuses the source of a VM, as far as the spec alone shows it.
func (t *Tenant) checkSource(p *v1alpha1.MachineParameters) []error {
	all := t.checkRestores(p)
	if p.Image != nil && p.Image.URL != nil {
		all = append(all, ImagesOf(t).checkMachineImage(p.Image)...)
	}
	if p.Image != nil && p.Image.URL == nil && p.Image.Ref == nil { // The file or template of an Image is checked when it is known.
		all = append(all, t.checkImage(p.Image.Volume, "image.volume"))
	}
	if p.Clone != nil && p.Clone.Storage != nil {
		all = append(all, t.checkStorage(*p.Clone.Storage, "clone.storage"))
	}
	return all
}

// checkRestores refuses backups that no Backup stands for, and storages. The tenant of a Backup is checked when the Backup is read.
func (t *Tenant) checkRestores(p *v1alpha1.MachineParameters) []error {
	var all []error
	from := func(field string, backup *v1alpha1.Reference, storage *string) {
		if backup == nil {
			all = append(all, t.refuse("kinds", "to restore a backup other than that of the Backup in %s.backupRef", field))
		}
		if storage != nil {
			all = append(all, t.checkStorage(*storage, field+".storage"))
		}
	}
	if r := p.Restore; r != nil {
		from("restore", r.BackupRef, r.Storage)
	}
	if r := p.RestoreInPlace; r != nil {
		from("restoreInPlace", r.BackupRef, r.Storage)
		if r.SafetyBackup != nil && r.SafetyBackup.Storage != "" {
			all = append(all, t.checkStorage(r.SafetyBackup.Storage, "restoreInPlace.safetyBackup"))
		}
	}
	return all
}

// checkDisks refuses storages, images and volumes.
func (t *Tenant) checkDisks(p *v1alpha1.MachineParameters) []error {
	var all []error
	on := func(storage *string, field string) {
		if storage != nil {
			all = append(all, t.checkStorage(*storage, field))
		}
	}
	from := func(image *string, field string) {
		if ptr.Deref(image, "") != "" {
			all = append(all, t.checkImage(*image, field))
		}
	}
	for _, d := range p.Disks {
		field := "disks[" + d.Name + "]"
		on(d.Storage, field+".storage")
		from(d.ImportFrom, field+".importFrom")
		if ptr.Deref(d.RemovalPolicy, "") == destroy && !t.may(func(a *v1alpha1.TenantPermissions) *bool { return a.DestroyDisks }) {
			all = append(all, t.refuse("allow.destroyDisks", "%s.removalPolicy Destroy", field))
		}
		if ptr.Deref(d.SCSIBlock, false) {
			all = append(all, t.refuse("allow.passthrough", "%s.scsiBlock", field))
		}
	}
	from(p.ISO, "iso")
	for _, c := range p.CDROMs {
		from(c.ISO, "cdroms["+c.Name+"].iso")
		if ptr.Deref(c.Physical, false) {
			all = append(all, t.refuse("allow.passthrough", "cdroms[%s].physical", c.Name))
		}
	}
	if p.EFIDisk != nil {
		on(p.EFIDisk.Storage, "efiDisk.storage")
	}
	if p.TPM != nil {
		on(p.TPM.Storage, "tpm.storage")
	}
	if p.CloudInit != nil {
		on(p.CloudInit.Storage, "cloudInit.storage")
	}
	return all
}

// checkNetworks refuses bridges and VLANs.
func (t *Tenant) checkNetworks(networks []v1alpha1.MachineNetwork) []error {
	var all []error
	for _, n := range networks {
		field := "networks[" + n.Name + "]"
		if n.IPConfig != nil {
			all = append(all, t.checkIPPool(field+".ipConfig.poolRef", n.IPConfig.PoolRef), t.checkIPPool(field+".ipConfig.poolRef6", n.IPConfig.PoolRef6))
		}
		if bridge, _ := bridgeOf(n); bridge != nil && n.VLAN != nil { // The bridges of other networks are checked when they are known.
			all = append(all, t.checkNetwork(field, *bridge, strconv.Itoa(int(*n.VLAN)), ""))
		}
	}
	for _, n := range networks {
		if bridge, by := bridgeOf(n); bridge != nil && n.VLAN == nil {
			all = append(all, t.checkBridge("networks["+n.Name+"]."+by, *bridge))
		}
	}
	return all
}

// bridgeOf returns the bridge that a network names and the field that names it: a bridge, or the interface of NodeNetworks. Those that a selector
// selects are not known yet.
func bridgeOf(n v1alpha1.MachineNetwork) (bridge *string, by string) {
	if n.NetworkRef != nil {
		return n.NetworkRef.Name, "networkRef"
	}
	return n.Bridge, "bridge"
}

// checkIPPool refuses a pool of addresses, and claims in namespaces that are not the tenant's.
func (t *Tenant) checkIPPool(field string, r *v1alpha1.MachineIPPoolReference) error {
	if r == nil {
		return nil
	}
	if !matchesAny(poolPatterns(t.IPPools), r.Kind+"/"+r.APIGroup+"/"+r.Name) {
		return t.refuse("ipPools", "%s %s", field, ipPoolName(r))
	}
	if ns := ptr.Deref(r.Namespace, ""); t.subject.Labels != nil && !t.allowsNamespace(ns) {
		return t.refuse("namespaces", "%s of namespace %q", field, ns)
	}
	return nil
}

// ipamGroup is the API group of pools of addresses whose kind is given without a group.
const ipamGroup = "ipam.cluster.x-k8s.io"

// poolPatterns returns the patterns of ipPools, with kind, API group and name as separate parts, since one group may end like another.
func poolPatterns(pools []string) []string {
	all := make([]string, 0, len(pools))
	for _, p := range pools {
		kind, name, _ := strings.Cut(p, "/")
		kind, group, _ := strings.Cut(kind, ".")
		all = append(all, kind+"/"+cmp.Or(group, ipamGroup)+"/"+name)
	}
	return all
}

// ipPoolName returns the name of a pool of addresses in the form of ipPools.
func ipPoolName(r *v1alpha1.MachineIPPoolReference) string {
	if r.APIGroup == ipamGroup {
		return r.Kind + "/" + r.Name
	}
	return r.Kind + "." + r.APIGroup + "/" + r.Name
}

// allowsNamespace reports whether cluster-scoped resources of the tenant may name objects of a namespace.
func (t *Tenant) allowsNamespace(namespace string) bool {
	return namespace != "" && (namespace == t.subject.Namespace || slices.Contains(t.Namespaces, namespace))
}

// checkBridge refuses a bridge, whatever its VLAN.
func (t *Tenant) checkBridge(field, name string) error {
	if slices.ContainsFunc(t.Bridges, func(b v1alpha1.TenantBridge) bool { return b.Name == name }) {
		return nil
	}
	return t.refuse("bridges", "%s %s", field, name)
}

// checkDevices refuses devices and directories of nodes.
func (t *Tenant) checkDevices(p *v1alpha1.MachineParameters) []error {
	var all []error
	host := func(field string) {
		all = append(all, t.refuse("allow.passthrough", "%s is a device of the node", field))
	}
	byAddress := func(field string) {
		if !rootOptions(t) {
			host(field)
		}
	}
	for _, d := range p.PCIDevices {
		field := "pciDevices[" + d.Name + "]"
		switch {
		case d.Host != nil:
			byAddress(field)
		case ptr.Deref(d.ROMFile, "") != "":
			host(field)
		}
		if d.Mapping != nil {
			all = append(all, t.checkMapping(field, *d.Mapping))
		}
	}
	for _, d := range p.USBDevices {
		field := "usbDevices[" + d.Name + "]"
		if d.Host != nil && *d.Host != "spice" {
			byAddress(field)
		}
		if d.Mapping != nil {
			all = append(all, t.checkMapping(field, *d.Mapping))
		}
	}
	for _, d := range p.VirtioFS {
		all = append(all, t.checkMapping("virtiofs["+d.Name+"]", d.Mapping))
	}
	for _, port := range p.SerialPorts {
		if port != "socket" {
			byAddress("serialPorts " + port)
		}
	}
	if p.RNG != nil && ptr.Deref(p.RNG.Source, "") == "/dev/hwrng" {
		host("rng.source /dev/hwrng")
	}
	return all
}

// checkReserved refuses options that only root may set, options of extraConfig, and high availability.
func (t *Tenant) checkReserved(p *v1alpha1.MachineParameters) []error {
	var all []error
	root := func(set bool, field string) {
		if set && !rootOptions(t) {
			all = append(all, t.refuse("allow.rootOptions", "%s", field))
		}
	}
	root(ptr.Deref(p.Hookscript, "") != "", "hookscript")
	root(p.CPU != nil && ptr.Deref(p.CPU.Affinity, "") != "", "cpu.affinity")
	root(p.MemoryOptions != nil && ptr.Deref(p.MemoryOptions.HugePages, "") != "", "memoryOptions.hugePages")
	root(p.MemoryOptions != nil && ptr.Deref(p.MemoryOptions.KeepHugePages, false), "memoryOptions.keepHugePages")
	if p.CPU != nil {
		root(slices.ContainsFunc(p.CPU.NUMANodes, func(n v1alpha1.MachineNUMANode) bool { return n.HostNodes != nil }), "cpu.numaNodes[].hostNodes")
	}
	if p.Startup != nil && ptr.Deref(p.Startup.Enabled, true) {
		all = append(all, t.checkOption(0, "startup", "any"))
	}
	for _, name := range slices.Sorted(maps.Keys(p.ExtraConfig)) {
		if value := string(p.ExtraConfig[name]); value != "" && !harmlessOptions.MatchString(name) {
			all = append(all, t.checkOption(0, name, value))
		}
	}
	if ha := p.HighAvailability; ha != nil && ptr.Deref(ha.Enabled, true) {
		all = append(all, Guard{Tenant: t}.checkHighAvailability(ptr.Deref(ha.Group, "")))
	}
	return all
}

// checkSecrets refuses Secrets and ConfigMaps of other namespaces, which cluster-scoped resources may name.
func (t *Tenant) checkSecrets(c *v1alpha1.MachineCloudInit) []error {
	if c == nil || t.subject.Labels == nil {
		return nil
	}
	var all []error
	of := func(field string, r *v1alpha1.SecretKeyReference) {
		if r == nil {
			return
		}
		if ns := ptr.Deref(r.Namespace, ""); !t.allowsNamespace(ns) {
			all = append(all, t.refuse("namespaces", "cloudInit.%s of namespace %q", field, ns))
		}
	}
	of("passwordSecretRef", c.PasswordSecretRef)
	for i := range c.SSHKeySecretRefs {
		of("sshKeySecretRefs", &c.SSHKeySecretRefs[i])
	}
	for i := range c.SSHKeyConfigMapRefs {
		of("sshKeyConfigMapRefs", &c.SSHKeyConfigMapRefs[i])
	}
	for _, d := range []*v1alpha1.CloudInitData{c.UserData, c.VendorData, c.NetworkConfig} {
		if d != nil {
			of("userData, vendorData or networkConfig", d.SecretRef)
			of("userData, vendorData or networkConfig", d.ConfigMapRef)
		}
	}
	return all
}

// CheckInherited refuses options that a VM has from its source and that reach out of the VM. Of disks, it checks only the storages.
func (t *Tenant) CheckInherited(config map[string]string, storages []string) error {
	if t == nil {
		return nil
	}
	var all []error
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if !diskOption.MatchString(name) && !uncheckedOptions.MatchString(name) {
			all = append(all, t.checkOption(0, name, config[name]))
		}
	}
	for _, storage := range storages {
		all = append(all, t.checkStorage(storage, "a disk"))
	}
	return join(all)
}

// CheckPlacedConfig refuses a VM by its node and its configuration.
func (t *Tenant) CheckPlacedConfig(node string, vmid int, config map[string]string) error {
	return join([]error{t.CheckNode(node), t.CheckConfig(vmid, config)})
}

// CheckAll refuses a resource by its spec, and its VM by its place and its configuration. It does not check the configuration of a VM that is not the
// tenant's.
func (t *Tenant) CheckAll(mg resource.Managed, g proxmox.Guest, config map[string]string) error {
	all := []error{t.CheckSpec(mg)}
	if t.denied != "" {
		return all[0]
	}
	all = append(all, t.CheckGuest(g))
	if all[1] == nil {
		all = append(all, t.CheckPlacedConfig(g.Node, g.VMID, config))
	}
	return join(all)
}

// CheckConfig refuses a configuration of a VM with disks, networks, devices of nodes or other options that the tenant may not use.
func (t *Tenant) CheckConfig(vmid int, config map[string]string) error {
	if t == nil {
		return nil
	}
	var all []error
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if !uncheckedOptions.MatchString(name) {
			all = append(all, t.checkOption(vmid, name, config[name]))
		}
	}
	return join(all)
}

// WithDefaultPool returns the parameters of a spec, with the tenant's default pool if they name none.
func (t *Tenant) WithDefaultPool(p *v1alpha1.MachineParameters) *v1alpha1.MachineParameters {
	if t == nil || p.Pool != nil || len(t.Pools) == 0 {
		return p
	}
	p = p.DeepCopy()
	p.Pool = &t.Pools[0]
	return p
}
