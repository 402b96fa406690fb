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

package controller_test

import (
	"maps"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// An attempt of team-a to get something that is not for it, and what is reported.
type attempt struct {
	spec   func(p *v1alpha1.MachineParameters)
	object func(m machine.Machine)
	says   string

	// late is true for an attempt that the spec alone does not show, so that it is not refused at admission.
	late bool

	// clusterScoped is true for an attempt that only cluster-scoped resources can make. Where labels distinguish tenants, namespaced resources still
	// read only their own namespace.
	clusterScoped bool

	// edited is true for an attempt that only a Machine with a VM can make, and fresh for one that only a Machine without a VM can make.
	edited, fresh bool

	// waits is true for an attempt that a Machine with a VM waits for, as for something that is yet to be given to it, but never is.
	waits bool

	// act is true for a one-time act, whose refusal is shown in its part of the status.
	act bool

	// unresolved is true for a reference to nothing.
	unresolved bool

	// invalid is true for a value that the definition of the kind forbids everyone.
	invalid bool
}

// forged is the name of what team-a has forged, and theirs the name of what team-b has, for each kind.
func (w *tenantWorld) forged() string { return w.name + "-forged" }
func (w *tenantWorld) theirs() string { return w.name + "-theirs" }

// within is the part of a message about a source that is not found because of a rule of team-a.
const within = ` among what tenant "team-a" may have (templates)`

// redteam is a label that selects the forged resources, and those of team-b.
const redteam = "example.org/redteam"

func disk(change func(*v1alpha1.MachineDisk)) func(*v1alpha1.MachineParameters) {
	return func(p *v1alpha1.MachineParameters) {
		d := v1alpha1.MachineDisk{Name: "data", Size: new("1G"), Storage: new("ceph"), Device: new("scsi1")}
		change(&d)
		p.Disks = []v1alpha1.MachineDisk{d}
	}
}

func network(n v1alpha1.MachineNetwork) func(*v1alpha1.MachineParameters) {
	return func(p *v1alpha1.MachineParameters) {
		n.Name, n.Device = "extra", new("net1")
		p.Networks = []v1alpha1.MachineNetwork{n}
	}
}

func extra(name, value string) func(*v1alpha1.MachineParameters) {
	return func(p *v1alpha1.MachineParameters) {
		p.ExtraConfig = map[string]v1alpha1.ExtraValue{name: v1alpha1.ExtraValue(value)}
	}
}

func annotated(change map[string]string) func(machine.Machine) {
	return func(m machine.Machine) { meta.AddAnnotations(m, change) }
}

func labelledAs(name, value string) func(machine.Machine) {
	return func(m machine.Machine) {
		all := maps.Clone(m.GetLabels())
		all[name] = value
		m.SetLabels(all)
	}
}

// fromURL fills a disk from a URL.
func fromURL(url string, sums *string) func(*v1alpha1.MachineParameters) {
	return func(p *v1alpha1.MachineParameters) {
		disk(func(*v1alpha1.MachineDisk) {})(p)
		p.Image = &v1alpha1.MachineImage{URL: &url, ChecksumURL: sums}
	}
}

// keptIn makes a cluster-scoped resource have its connection Secret in a namespace.
func keptIn(mg resource.Managed, namespace string) {
	if o, anywhere := mg.(secretKeeper); anywhere {
		o.SetWriteConnectionSecretToReference(&xpv2.SecretReference{Namespace: namespace, Name: mg.GetName() + "-kept"})
	}
}

// A secretKeeper is a resource that names the namespace of its connection Secret.
type secretKeeper interface {
	GetWriteConnectionSecretToReference() *xpv2.SecretReference
	SetWriteConnectionSecretToReference(r *xpv2.SecretReference)
}

// pooledBy returns a network whose address is from a pool, and claimed in a namespace.
func pooledBy(kind string, namespace *string) v1alpha1.MachineNetwork {
	return v1alpha1.MachineNetwork{Bridge: new("vmbr1"), VLAN: new(int32(100)), IPConfig: &v1alpha1.MachineIPConfig{
		PoolRef: &v1alpha1.MachineIPPoolReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: kind, Name: "lan", Namespace: namespace},
	}}
}

// editAttempts returns attempts that can be made with an existing Machine as well as with a new one.
func (w *tenantWorld) editAttempts() map[string]attempt {
	type p = v1alpha1.MachineParameters
	all := secretAttempts()
	maps.Copy(all, map[string]attempt{
		"node":       {spec: func(p *p) { p.Node = new("pve3") }, says: "(nodes): no VM on node pve3"},
		"placement":  {spec: func(p *p) { p.Placement = &v1alpha1.MachinePlacement{Nodes: []string{"pve1", "pve3"}} }, says: "(nodes)"},
		"pool":       {spec: func(p *p) { p.Pool = new("team-b") }, says: "(pools): a VM in pool team-b"},
		"nopool":     {spec: func(p *p) { p.Pool = new("") }, says: "(pools): a VM in no pool"},
		"tags":       {spec: func(p *p) { p.Tags = []string{"team-b"} }, says: "(tags): tag team-b"},
		"storage":    {spec: disk(func(d *v1alpha1.MachineDisk) { d.Storage = new("local-lvm") }), says: "(storages)"},
		"default":    {spec: disk(func(d *v1alpha1.MachineDisk) { d.Storage = nil }), says: "storage", late: true},
		"importfrom": {spec: disk(func(d *v1alpha1.MachineDisk) { d.ImportFrom = new("nfs:import/secret.qcow2") }), says: "(images)"},
		"importdisk": {spec: disk(func(d *v1alpha1.MachineDisk) { d.ImportFrom = new("ceph:vm-101-disk-0") }), says: "importFrom", invalid: true},
		"importvictim": {
			spec: disk(func(d *v1alpha1.MachineDisk) { d.ImportFrom = new(victimDisk) }), says: "importFrom", invalid: true,
		},
		"importlike": {
			spec: disk(func(d *v1alpha1.MachineDisk) { d.ImportFrom = new("ceph:import/vm-30001-disk-0.qcow2") }),
			says: "(images): disks[data].importFrom is ceph:import/vm-30001-disk-0.qcow2",
		},
		"volume":    {spec: disk(func(d *v1alpha1.MachineDisk) { d.Volume = new("ceph:vm-30001-disk-0") }), says: "belongs to VM", late: true},
		"ownrange":  {spec: disk(func(d *v1alpha1.MachineDisk) { d.Volume = new("ceph:vm-20051-disk-0") }), says: "belongs to VM", late: true},
		"destroy":   {spec: disk(func(d *v1alpha1.MachineDisk) { d.RemovalPolicy = new("Destroy") }), says: "(allow.destroyDisks)"},
		"scsiblock": {spec: disk(func(d *v1alpha1.MachineDisk) { d.SCSIBlock = new(true) }), says: "(allow.passthrough)"},
		"cdrom": {
			spec: func(p *p) { p.CDROMs = []v1alpha1.MachineCDROM{{Name: "x", ISO: new("nfs:iso/windows-11.iso")}} },
			says: "(images): cdroms[x].iso",
		},
		"physical": {spec: func(p *p) { p.CDROMs = []v1alpha1.MachineCDROM{{Name: "x", Physical: new(true)}} }, says: "(allow.passthrough)"},
		"efidisk": {
			spec: func(p *p) { p.BIOS, p.EFIDisk = new("ovmf"), &v1alpha1.MachineEFIDisk{Storage: new("local-lvm")} },
			says: "(storages): efiDisk",
		},
		"tpm":       {spec: func(p *p) { p.TPM = &v1alpha1.MachineTPM{Storage: new("local-lvm")} }, says: "(storages): tpm"},
		"cloudinit": {spec: func(p *p) { p.CloudInit = &v1alpha1.MachineCloudInit{Storage: new("local-lvm")} }, says: "(storages): cloudInit"},
		"bridge":    {spec: network(v1alpha1.MachineNetwork{Bridge: new("vmbr0")}), says: "(bridges)"},
		"untagged":  {spec: network(v1alpha1.MachineNetwork{Bridge: new("vmbr1")}), says: "without a VLAN", late: true},
		"vlan":      {spec: network(v1alpha1.MachineNetwork{Bridge: new("vmbr1"), VLAN: new(int32(20))}), says: "in VLAN 20 of bridge vmbr1"},
		"vlanzero":  {spec: network(v1alpha1.MachineNetwork{Bridge: new("vmbr1"), VLAN: new(int32(0))}), says: "without a VLAN"},
		"networkref": {
			spec: network(v1alpha1.MachineNetwork{NetworkRef: &v1alpha1.MachineNetworkReference{Name: new("vmbr0")}}),
			says: "(bridges): networks[extra].networkRef vmbr0",
		},
		"networkrefvlan": {
			spec: network(v1alpha1.MachineNetwork{NetworkRef: &v1alpha1.MachineNetworkReference{Name: new("vmbr1")}, VLAN: new(int32(20))}),
			says: "(bridges): networks[extra] in VLAN 20 of bridge vmbr1",
		},
		"networkrefselector": {spec: network(v1alpha1.MachineNetwork{NetworkRef: &v1alpha1.MachineNetworkReference{
			Selector: &v1alpha1.NodeNetworkSelector{MatchLabels: map[string]string{redteam: "forged"}},
		}}), says: "matches no NodeNetwork of a bridge of this cluster among what tenant \"team-a\" may have (bridges)", late: true},
		"trunks": {
			spec: network(v1alpha1.MachineNetwork{Bridge: new("vmbr1"), VLAN: new(int32(100)), Trunks: new("20-29")}),
			says: "in VLAN 20-29 of bridge vmbr1", late: true,
		},
		"args":      {spec: extra("args", "-device x"), says: "(allow.extraConfig): option args"},
		"cicustom":  {spec: extra("cicustom", "user=local:snippets/x.yaml"), says: "(allow.extraConfig): option cicustom"},
		"vmstate":   {spec: extra("vmstatestorage", "local-lvm"), says: "(allow.extraConfig)"},
		"extrahook": {spec: extra("hookscript", "local:snippets/hook.pl"), says: "(allow.extraConfig): option hookscript"},
		"ivshmem":   {spec: extra("ivshmem", "size=16"), says: "(allow.extraConfig)"},
		"parallel":  {spec: extra("parallel0", "/dev/parport0"), says: "(allow.extraConfig)"},
		"startup": {
			spec: func(p *p) {
				p.Startup = &v1alpha1.MachineStartup{Order: new(int32(0)), UpSeconds: new(int32(2147483647)), DownSeconds: new(int32(2147483647))}
			},
			says: "(allow.extraConfig): option startup",
		},
		"hookscript": {spec: func(p *p) { p.Hookscript = new("local:snippets/hook.pl") }, says: "hookscript"},
		"affinity":   {spec: func(p *p) { p.CPU = &v1alpha1.MachineCPU{Affinity: new("0-3")} }, says: "cpu.affinity"},
		"hugepages":  {spec: func(p *p) { p.MemoryOptions = &v1alpha1.MachineMemoryOptions{HugePages: new("2")} }, says: "memoryOptions.hugePages"},
		"keephuge": {
			spec: func(p *p) {
				p.MemoryOptions = &v1alpha1.MachineMemoryOptions{HugePages: new("2"), KeepHugePages: new(true)}
			},
			says: "memoryOptions.keepHugePages",
		},
		"romfile": {
			spec: func(p *p) {
				p.PCIDevices = []v1alpha1.MachinePCIDevice{{Name: "x", Mapping: new("gpu"), ROMFile: new("vbios.bin")}}
			},
			says: "pciDevices[x] is a device of the node",
		},
		"pcihost": {
			spec: func(p *p) { p.PCIDevices = []v1alpha1.MachinePCIDevice{{Name: "x", Host: new("0000:01:00.0")}} },
			says: "(allow.passthrough)",
		},
		"pcimapping": {spec: func(p *p) { p.PCIDevices = []v1alpha1.MachinePCIDevice{{Name: "x", Mapping: new("gpu")}} }, says: "of mapping gpu"},
		"usbhost": {
			spec: func(p *p) { p.USBDevices = []v1alpha1.MachineUSBDevice{{Name: "x", Host: new("046d:c52b")}} },
			says: "(allow.passthrough)",
		},
		"usbmapping": {spec: func(p *p) { p.USBDevices = []v1alpha1.MachineUSBDevice{{Name: "x", Mapping: new("key")}} }, says: "of mapping key"},
		"virtiofs":   {spec: func(p *p) { p.VirtioFS = []v1alpha1.MachineVirtioFS{{Name: "x", Mapping: "srv"}} }, says: "of mapping srv"},
		"serial":     {spec: func(p *p) { p.SerialPorts = []string{"/dev/ttyS0"} }, says: "(allow.passthrough)"},
		"hwrng":      {spec: func(p *p) { p.RNG = &v1alpha1.MachineRNG{Source: new("/dev/hwrng")} }, says: "(allow.passthrough)"},
		"ha": {
			spec: func(p *p) { p.HighAvailability = &v1alpha1.MachineHighAvailability{MaxRestart: new(int32(1))} },
			says: "(allow.highAvailability)",
		},
		"hagroup": {
			spec: func(p *p) { p.HighAvailability = &v1alpha1.MachineHighAvailability{Group: new("operators")} },
			says: "(allow.highAvailability)",
		},
		"volumeref": {
			spec: disk(func(d *v1alpha1.MachineDisk) {
				d.Size, d.Storage, d.VolumeRef = nil, nil, &v1alpha1.VolumeReference{Name: w.theirs()}
			}), says: "Volume '" + w.theirs() + "' is", late: true, clusterScoped: true, waits: true,
		},
		"nodeselector": {
			spec: func(p *p) {
				p.Placement = &v1alpha1.MachinePlacement{NodeSelector: map[string]string{redteam: "forged"}}
			},
			says: "no node", late: true, fresh: true,
		},
		"restoreplace": {spec: func(p *p) {
			p.RestoreInPlace = &v1alpha1.MachineRestoreInPlace{Token: "1", Volume: new("nfs:backup/vzdump-qemu-30001-2026_11_22-17_00_00.vma.zst")}
		}, says: "(kinds): to restore a backup"},
		"restoreplacestorage": {spec: func(p *p) {
			p.RestoreInPlace = &v1alpha1.MachineRestoreInPlace{Token: "1", BackupRef: &v1alpha1.Reference{Name: "x"}, Storage: new("nfs")}
		}, says: "(storages): restoreInPlace.storage on storage nfs"},
		"restoresafety": {spec: func(p *p) {
			p.RestoreInPlace = &v1alpha1.MachineRestoreInPlace{
				Token: "1", BackupRef: &v1alpha1.Reference{Name: "x"}, SafetyBackup: &v1alpha1.MachineSafetyBackup{Storage: "nfs"},
			}
		}, says: "(storages): restoreInPlace.safetyBackup on storage nfs"},
		"adoptvictim": {object: annotated(map[string]string{meta.AnnotationKeyExternalName: "30001"}), says: "VMID 30001"},
		"uuid": {
			object: annotated(map[string]string{meta.AnnotationKeyExternalName: "30001", object.AnnotationUUID: victimUUID}),
			says:   "VMID 30001",
		},
		"adoptrouter": {object: annotated(map[string]string{meta.AnnotationKeyExternalName: "100"}), says: "VMID 100"},
		"ippoolgroup": {spec: network(v1alpha1.MachineNetwork{Bridge: new("vmbr1"), VLAN: new(int32(100)), IPConfig: &v1alpha1.MachineIPConfig{
			PoolRef: &v1alpha1.MachineIPPoolReference{APIGroup: "example.org", Kind: "InClusterIPPool", Name: "lan", Namespace: new(w.space("a"))},
		}}), says: "(ipPools): networks[extra].ipConfig.poolRef InClusterIPPool.example.org/lan"},
		"ippool6": {spec: network(v1alpha1.MachineNetwork{Bridge: new("vmbr1"), VLAN: new(int32(100)), IPConfig: &v1alpha1.MachineIPConfig{
			PoolRef6: &v1alpha1.MachineIPPoolReference{APIGroup: "example.org", Kind: "GlobalInClusterIPPool", Name: "lan", Namespace: new("kube-system")},
		}}), says: "(ipPools): networks[extra].ipConfig.poolRef6 GlobalInClusterIPPool.example.org/lan"},
		"ippool":   {spec: network(pooledBy("GlobalInClusterIPPool", nil)), says: "(ipPools): networks[extra].ipConfig.poolRef GlobalInClusterIPPool/lan"},
		"ipclaims": {spec: network(pooledBy("InClusterIPPool", new("kube-system"))), says: "(namespaces): networks[extra].ipConfig.poolRef", clusterScoped: true},
		"hostnodes": {spec: func(p *p) {
			p.CPU = &v1alpha1.MachineCPU{NUMANodes: []v1alpha1.MachineNUMANode{{CPUs: "0", HostNodes: new("0")}}}
		}, says: "hostNodes"},
		"tenantlabel": {object: labelledAs("tenant-id", "b"), says: "(tags): tag tenant_b", late: true},
		"otherteam": {object: func(m machine.Machine) {
			const claim = "crossplane.io/claim-namespace"
			theirs := strings.TrimSuffix(m.GetLabels()[claim], "-a") + "-b"
			labelledAs(claim, theirs)(m)
			keptIn(m, theirs)
		}, says: "VM 20000, which is not the tenant's", clusterScoped: true, edited: true},
		"secretsystem": {
			object: func(m machine.Machine) { keptIn(m, "kube-system") },
			says:   `(namespaces): writeConnectionSecretToRef of namespace "kube-system"`, clusterScoped: true,
		},
		"secrettheirs": {
			object: func(m machine.Machine) { keptIn(m, w.space("b")) },
			says:   `(namespaces): writeConnectionSecretToRef of namespace "` + w.space("b"), clusterScoped: true,
		},
		"uuidalone": {object: annotated(map[string]string{object.AnnotationUUID: victimUUID}), says: "is left alone: set the annotation back", edited: true},
		"relabelled": {object: func(m machine.Machine) {
			m.SetLabels(map[string]string{"crossplane.io/claim-namespace": "elsewhere", label: m.GetLabels()[label]})
		}, says: "tenant", clusterScoped: true, late: true},
	})
	return all
}

// secretAttempts returns attempts to read what belongs to others in Kubernetes, which namespaced resources cannot name.
func secretAttempts() map[string]attempt {
	ref := v1alpha1.SecretKeyReference{Namespace: new("kube-system"), Name: "x", Key: "x"}
	all := map[string]attempt{}
	add := func(name, field string, c v1alpha1.MachineCloudInit) {
		all[name] = attempt{
			spec: func(p *v1alpha1.MachineParameters) { p.CloudInit = &c }, says: "(namespaces): cloudInit." + field, clusterScoped: true,
		}
	}
	add("password", "passwordSecretRef", v1alpha1.MachineCloudInit{PasswordSecretRef: &ref})
	add("sshsecret", "sshKeySecretRefs", v1alpha1.MachineCloudInit{SSHKeySecretRefs: []v1alpha1.SecretKeyReference{ref}})
	add("sshmap", "sshKeyConfigMapRefs", v1alpha1.MachineCloudInit{SSHKeyConfigMapRefs: []v1alpha1.SecretKeyReference{ref}})
	for kind, data := range map[string]v1alpha1.CloudInitData{"secret": {SecretRef: &ref}, "map": {ConfigMapRef: &ref}} {
		add("user"+kind, "userData, vendorData or networkConfig", v1alpha1.MachineCloudInit{UserData: &data})
		add("vendor"+kind, "userData, vendorData or networkConfig", v1alpha1.MachineCloudInit{VendorData: &data})
		add("network"+kind, "userData, vendorData or networkConfig", v1alpha1.MachineCloudInit{NetworkConfig: &data})
	}
	return all
}

// newAttempts returns attempts that only a new Machine can make.
func (w *tenantWorld) newAttempts() map[string]attempt {
	type p = v1alpha1.MachineParameters
	template := func(name string) func(*p) {
		return func(p *p) { p.Template = new(intstr.FromString(name)) }
	}
	clone := func(c v1alpha1.MachineClone) func(*p) { return func(p *p) { p.Template, p.Clone = nil, &c } }
	none := func(change func(*p)) func(*p) {
		return func(p *p) {
			p.Template = nil
			change(p)
		}
	}
	volume := "nfs:backup/vzdump-qemu-30001-2026_11_22-17_00_00.vma.zst"
	return map[string]attempt{
		"vmid":       {spec: func(p *p) { p.VMID = new(int32(30005)) }, says: "VMID 30005 is not within 20000 and 20099"},
		"vmidvictim": {spec: func(p *p) { p.VMID = new(int32(victim)) }, says: "VMID 30001"},
		"vmidhidden": {spec: func(p *p) { p.VMID = new(int32(hidden)) }, says: "VM 20052 already exists and is not this resource's", late: true},
		"restorehidden": {object: annotated(map[string]string{
			meta.AnnotationKeyExternalName: "20052", object.AnnotationUUID: "d0d0d0d0-0000-4000-8000-000000020052",
			object.AnnotationRestoreInPlace: `{"token":"t","state":"Pending","at":1,"node":"pve3","call":{"begun":9999999999}}`,
		}), says: "VM 20052 already exists and is not this resource's", late: true},
		"adopthidden":     {object: annotated(map[string]string{meta.AnnotationKeyExternalName: "20052"}), says: "(allow.adopt): to adopt VM 20052", late: true},
		"adoptown":        {object: annotated(map[string]string{meta.AnnotationKeyExternalName: "20051"}), says: "(allow.adopt): to adopt VM 20051", late: true},
		"adopthandover":   {object: annotated(map[string]string{meta.AnnotationKeyExternalName: "20050"}), says: "(allow.adopt): to adopt VM 20050", late: true},
		"secret":          {spec: template("base-secret"), says: "template 'base-secret' not found" + within, late: true},
		"secretvmid":      {spec: template("30002"), says: "template '30002' not found" + within, late: true},
		"foreign":         {spec: template("ubuntu-24.04"), says: "template 'ubuntu-24.04' not found" + within, late: true},
		"templatetags":    {spec: func(p *p) { p.Template, p.TemplateTags = nil, []string{"template"} }, says: "not found" + within, late: true},
		"inheritsbridge":  {spec: template("base-office"), says: "net0 on bridge vmbr0", late: true},
		"templatestorage": {spec: template("base-local"), says: "(storages): a disk on storage local-lvm", late: true},
		"templatefull": {
			spec: func(p *p) {
				p.Template, p.Clone = new(intstr.FromString("base-local")), &v1alpha1.MachineClone{Full: new(true)}
			},
			says: "(storages): a disk on storage local-lvm", late: true,
		},
		"clonevm":       {spec: clone(v1alpha1.MachineClone{VM: new(intstr.FromInt32(victim))}), says: "not found" + within, late: true},
		"clonevmname":   {spec: clone(v1alpha1.MachineClone{VM: new(intstr.FromString("victim"))}), says: "not found" + within, late: true},
		"clonesnapshot": {spec: clone(v1alpha1.MachineClone{VM: new(intstr.FromInt32(victim)), Snapshot: new("before")}), says: "not found" + within, late: true},
		"clonemachine": {
			spec: clone(v1alpha1.MachineClone{Machine: new(w.theirs())}), says: "'" + w.theirs() + "' to clone not found" + within,
			late: true, clusterScoped: true,
		},
		"clonebait": {spec: clone(v1alpha1.MachineClone{Machine: new(w.forged())}), says: "(templates): a clone of VM 30001", late: true},
		"cloneref": {
			spec: clone(v1alpha1.MachineClone{MachineRef: &v1alpha1.Reference{Name: w.theirs()}}), says: `"` + w.theirs() + `" not found`,
			late: true, clusterScoped: true, unresolved: true,
		},
		"cloneselector": {
			spec: clone(v1alpha1.MachineClone{MachineSelector: &v1alpha1.Selector{MatchLabels: map[string]string{redteam: "theirs"}}}),
			says: "no resources matched selector", late: true, clusterScoped: true, unresolved: true,
		},
		"clonestorage": {
			spec: func(p *p) { p.Clone = &v1alpha1.MachineClone{Full: new(true), Storage: new("local-lvm")} },
			says: "(storages): clone.storage",
		},
		"templateref": {
			spec: none(func(p *p) { p.TemplateRef = &v1alpha1.Reference{Name: w.forged()} }),
			says: "no template of image '" + w.forged() + "' found" + within, late: true,
		},
		"templateselector": {
			spec: none(func(p *p) { p.TemplateSelector = &v1alpha1.Selector{MatchLabels: map[string]string{redteam: "forged"}} }),
			says: "no template of image '" + w.forged() + "' found" + within, late: true,
		},
		"imageref": {spec: none(func(p *p) {
			disk(func(*v1alpha1.MachineDisk) {})(p)
			p.Image = &v1alpha1.MachineImage{Ref: &v1alpha1.Reference{Name: w.forged()}}
		}), says: "(images): image.ref is nfs:import/secret.qcow2", late: true},
		"iso": {spec: none(func(p *p) { p.ISO = new("nfs:iso/windows-11.iso") }), says: "(images): iso"},
		"imagevolume": {spec: none(func(p *p) {
			disk(func(*v1alpha1.MachineDisk) {})(p)
			p.Image = &v1alpha1.MachineImage{Volume: "nfs:import/x.qcow2"}
		}), says: "(images): image.volume"},
		"imageurl": {spec: none(func(p *p) {
			disk(func(*v1alpha1.MachineDisk) {})(p)
			p.Image = &v1alpha1.MachineImage{
				URL: new("http://169.254.169.254/x.qcow2"), ChecksumURL: new("http://169.254.169.254/sums"), Storages: []string{"nfs"},
			}
		}), says: "(imageHosts): image.url of a host but images.example.org"},
		"imageuser":   {spec: none(fromURL("https://images.example.org@169.254.169.254/x.qcow2", nil)), says: "(imageHosts): image.url"},
		"imageport":   {spec: none(fromURL("https://images.example.org:8080/x.qcow2", nil)), says: "(imageHosts): image.url"},
		"imagedot":    {spec: none(fromURL("https://images.example.org./x.qcow2", nil)), says: "(imageHosts): image.url"},
		"imagelonger": {spec: none(fromURL("https://images.example.org.evil.example/x.qcow2", nil)), says: "(imageHosts): image.url"},
		"imagelabels": {spec: none(fromURL("https://a.b.mirror.example.org:8443/x.qcow2", nil)), says: "(imageHosts): image.url"},
		"imageslash":  {spec: none(fromURL(`https://images.example.org\@169.254.169.254/x.qcow2`, nil)), says: "(imageHosts): image.url"},
		"imageip":     {spec: none(fromURL("https://[::ffff:169.254.169.254]/x.qcow2", nil)), says: "(imageHosts): image.url"},
		"imagesums": {
			spec: none(fromURL("https://images.example.org/x.qcow2", new("https://169.254.169.254/sums"))),
			says: "(imageHosts): image.checksumURL",
		},
		"imagelocal": {
			spec: none(fromURL("https://Images.example.org/x.qcow2", nil)), says: "(storages): an Image on storage local",
		},
		"imageothers": {spec: none(func(p *p) {
			disk(func(*v1alpha1.MachineDisk) {})(p)
			p.Image = &v1alpha1.MachineImage{Volume: "ceph:import/" + w.space("b") + ".x.qcow2"}
		}), says: "(images): image.volume"},
		"imagelabelled": {spec: none(func(p *p) {
			disk(func(*v1alpha1.MachineDisk) {})(p)
			p.Image = &v1alpha1.MachineImage{Volume: "ceph:import/team-a_" + w.config + "_.x.qcow2"}
		}), says: "(images): image.volume"},
		"restore": {spec: none(func(p *p) { p.Restore = &v1alpha1.MachineRestore{Volume: &volume} }), says: "(kinds): to restore a backup"},
		"restorestorage": {spec: none(func(p *p) {
			p.Restore = &v1alpha1.MachineRestore{BackupRef: &v1alpha1.Reference{Name: "x"}, Storage: new("nfs")}
		}), says: "(storages): restore.storage on storage nfs"},
		"restoreref": {
			spec: none(func(p *p) { p.Restore = &v1alpha1.MachineRestore{BackupRef: &v1alpha1.Reference{Name: w.theirs()}} }),
			says: "Backup " + w.theirs() + ", whose backup is not proven to be of a VM of the tenant", late: true, clusterScoped: true,
		},
		"restorelatestof": {spec: none(func(p *p) {
			p.Restore = &v1alpha1.MachineRestore{LatestOf: &v1alpha1.MachineRestoreLatest{
				StorageRef: &v1alpha1.Reference{Name: w.forged()}, MachineRef: &v1alpha1.Reference{Name: w.theirs()},
			}}
		}), says: "(kinds): to restore a backup"},
		"restorelatest": {spec: none(func(p *p) {
			p.Restore = &v1alpha1.MachineRestore{LatestOf: &v1alpha1.MachineRestoreLatest{Storage: "nfs", VMID: new(int32(victim))}}
		}), says: "(kinds): to restore a backup"},
	}
}
