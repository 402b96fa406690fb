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

package faults

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// A scenario is a Machine's life cycle, from its creation to its deletion.
type scenario struct {
	reason string

	// version of PVE, if not that of the quickstart cluster.
	version string

	// guests that exist first, in addition to those of the quickstart cluster, and permissions of the provider in addition to the least that it needs.
	guests   []simulator.ScenarioGuest
	storages []simulator.ScenarioStorage
	grants   []simulator.ScenarioGrant
	spec     v1alpha1.MachineParameters

	// objects of the API server in addition to the Machine and its configuration.
	objects []client.Object

	// adopts is the VMID of an existing VM to adopt.
	adopts      int
	annotations map[string]string

	// volumes are the Volumes, by name, and machine is the second Machine.
	volumes map[string]v1alpha1.VolumeParameters
	second  *v1alpha1.MachineParameters

	// changes of the spec, one after the other, and other actions after them.
	changes []func(*v1alpha1.MachineParameters)
	acts    []act

	// before changes the cluster first. After all changes, others changes the cluster and the VM until it returns true.
	before func(*simulator.State)
	others func(s *simulator.State, vmid int) bool

	// faults of PVE from the start.
	faults []simulator.Fault

	// meanwhile is called after each reconcile.
	meanwhile func(*testing.T, *env)

	// once is the path of a call that is made at most once, whenever the provider is killed.
	once string

	// holds checks the VM after all changes.
	holds func(*testing.T, simulator.Guest)
}

func (s scenario) machine() *namespaced.Machine {
	m := &namespaced.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "victim", UID: "5a7a5f2c-0000-4000-8000-000000000001", Generation: 1, Annotations: s.annotations,
		},
		Spec: namespaced.MachineSpec{ForProvider: *s.spec.DeepCopy()},
	}
	m.Spec.ForProvider.ShutdownTimeoutSeconds = new(int32(5))
	m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll})
	m.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "pve"})
	return m
}

// copies returns copies of the objects, since the API server changes those that it gets.
func (s scenario) copies() []client.Object {
	var all []client.Object
	for _, o := range s.objects {
		c, _ := o.DeepCopyObject().(client.Object)
		all = append(all, c)
	}
	return all
}

// appliedNetwork returns the NodeNetwork of a bridge that the quickstart cluster has.
func appliedNetwork() client.Object {
	n := &namespaced.NodeNetwork{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "pve2-vmbr1", UID: "5a7a5f2c-0000-4000-8000-000000000003", Labels: map[string]string{"network": "storage"},
	}}
	n.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "pve"})
	n.Spec.ForProvider = v1alpha1.NodeNetworkParameters{Node: "pve2", Interface: "vmbr1", Type: "bridge"}
	n.SetConditions(xpv2.Condition{Type: "Applied", Status: corev1.ConditionTrue, Reason: "Applied", LastTransitionTime: metav1.Now()})
	return n
}

// readyImage returns an Image with a file that the quickstart cluster has.
func readyImage() client.Object {
	i := &namespaced.Image{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "debian", UID: "5a7a5f2c-0000-4000-8000-000000000002"}}
	i.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "pve"})
	i.Spec.ForProvider.Template = &v1alpha1.ImageTemplate{}
	o := &i.Status.AtProvider
	o.Revision = 1
	for _, node := range []string{"pve1", "pve2", "pve3"} {
		o.Replicas = append(o.Replicas, v1alpha1.ImageReplica{
			Node: node, Storage: "local", Volume: "local:import/debian-13-genericcloud-amd64.qcow2", Ready: true,
		})
	}
	o.Templates = []v1alpha1.ImageTemplateObservation{{Node: "pve1", Storage: "ceph", Shared: true, VMID: new(int32(9000)), Ready: true}}
	i.SetConditions(xpv2.Available())
	return i
}

// backupOf100 is a backup of VM 100.
const backupOf100 = "nfs:backup/vzdump-qemu-100-2026_11_22-17_00_00.vma.zst"

// toRestore returns the permissions for restoring a backup of VM 100.
func toRestore() []simulator.ScenarioGrant {
	return []simulator.ScenarioGrant{{Path: "/vms/100", User: "crossplane@pve", Roles: []string{"PVEVMUser"}}}
}

// backUp100 creates a backup of VM 100.
func backUp100(s *simulator.State) {
	g := s.Guests[100]
	device, _, _ := strings.Cut(g.Config["scsi0"], ",")
	disk := *s.Volume(g.Node, device)
	s.Volumes[s.Storages["nfs"].Key(g.Node, strings.TrimPrefix(backupOf100, "nfs:"))] = &simulator.Volume{
		VMID: 100, Format: "vma.zst", Content: "backup", Size: disk.Used, Used: disk.Used,
		Backup: &simulator.Backup{Config: maps.Clone(g.Config), Disks: map[string]simulator.Volume{"scsi0": disk}},
	}
}

func scenarios() map[string]scenario {
	all := machineScenarios()
	maps.Copy(all, volumeScenarios())
	all["Recreation"] = recreated()
	return all
}

// machineScenarios returns the scenarios with one Machine.
func machineScenarios() map[string]scenario {
	return map[string]scenario{
		"Empty": {
			reason: "A VM is created from nothing.",
			spec:   empty(),
		},
		"LinkedClone": {
			reason: "A VM is a linked clone with other hardware and a disk that grows.",
			spec: v1alpha1.MachineParameters{
				Template: new(intstr.FromString("ubuntu-24.04")), CPU: &v1alpha1.MachineCPU{Cores: new(int32(4))},
				Disks: []v1alpha1.MachineDisk{{Name: "root", Size: new("20G")}},
			},
			holds: has(map[string]string{"scsi0": "size=20G", "cores": "4"}),
		},
		"ImageRef": {
			reason: "A disk is filled from the file of an Image.",
			spec: v1alpha1.MachineParameters{
				Image: &v1alpha1.MachineImage{Ref: &v1alpha1.Reference{Name: "debian"}},
				Disks: []v1alpha1.MachineDisk{{Name: "root", Storage: new("local-lvm"), Size: new("8G")}},
			},
			objects: []client.Object{readyImage()},
			holds:   has(map[string]string{"scsi0": "size=8G"}),
		},
		"TemplateRef": {
			reason:  "A VM is a clone of the template of an Image.",
			spec:    v1alpha1.MachineParameters{TemplateRef: &v1alpha1.Reference{Name: "debian"}},
			objects: []client.Object{readyImage()},
			holds:   has(map[string]string{"scsi0": "base-9000"}),
		},
		"NetworkRef": {
			reason: "A VM is made where the bridge of a NodeNetwork is, and gets another network of it.",
			spec: v1alpha1.MachineParameters{
				Template: new(intstr.FromString("ubuntu-24.04")),
				Networks: []v1alpha1.MachineNetwork{{Name: "lan", NetworkRef: &v1alpha1.MachineNetworkReference{Name: new("vmbr1")}}},
			},
			objects: []client.Object{appliedNetwork()},
			changes: []func(*v1alpha1.MachineParameters){func(p *v1alpha1.MachineParameters) {
				p.Networks = append(p.Networks, v1alpha1.MachineNetwork{Name: "storage", NetworkRef: &v1alpha1.MachineNetworkReference{
					Selector: &v1alpha1.NodeNetworkSelector{MatchLabels: map[string]string{"network": "storage"}},
				}})
			}},
			holds: both(on("pve2"), has(map[string]string{"net0": "bridge=vmbr1", "net1": "bridge=vmbr1"})),
		},
		"FullClone": {
			reason: "A VM is a full clone in a pool, with a further disk.",
			spec: v1alpha1.MachineParameters{
				Template: new(intstr.FromString("ubuntu-24.04")), Clone: &v1alpha1.MachineClone{Full: new(true), Storage: new("local-lvm")},
				Pool: new("crossplane"), Description: new("full"),
				Disks: []v1alpha1.MachineDisk{
					{Name: "root", Size: new("10G"), Storage: new("local-lvm")},
					{Name: "data", Type: new("scsi"), Size: new("2G"), Storage: new("ceph")},
				},
			},
			holds: has(map[string]string{"scsi0": "size=10G", "scsi1": "size=2G"}),
		},
		"LocalClone": {
			reason: "A clone of a template on local storage goes to another node, where it finds its image.",
			guests: []simulator.ScenarioGuest{{VMID: 9002, Node: "pve1", Template: true, Config: map[string]string{
				"name": "local", "scsihw": "virtio-scsi-single", "scsi0": "local-lvm:4", "net0": "virtio,bridge=vmbr0", "boot": "order=scsi0", "agent": "1",
			}}},
			spec: v1alpha1.MachineParameters{
				Template: new(intstr.FromString("local")), Clone: &v1alpha1.MachineClone{Full: new(true)}, Node: new("pve2"),
				CDROMs: []v1alpha1.MachineCDROM{{Name: "tools", ISO: new("local:iso/debian-13.1.0-amd64-netinst.iso")}},
			},
			holds: both(on("pve2"), has(map[string]string{"ide2": "local:iso/debian-13"})),
		},
		"Image": {
			reason: "A VM is made from a cloud image, with cloud-init data of its own.",
			spec: v1alpha1.MachineParameters{
				Node: new("pve1"), Memory: new(resource.MustParse("1Gi")), Image: &v1alpha1.MachineImage{Volume: "local:import/debian-13-genericcloud-amd64.qcow2"},
				Disks:     []v1alpha1.MachineDisk{{Name: "root", Size: new("10G")}},
				Networks:  []v1alpha1.MachineNetwork{{Name: "lan"}},
				CloudInit: &v1alpha1.MachineCloudInit{Storage: new("local"), UserData: &v1alpha1.CloudInitData{Inline: new("#cloud-config\n")}},
			},
			holds: has(map[string]string{"scsi0": "size=10G", "ide2": "local:iso/cidata-"}),
		},
		"ImageChanged": {
			reason: "The cloud-init data of a VM change, and it goes to another node.",
			spec: v1alpha1.MachineParameters{
				Node: new("pve1"), Memory: new(resource.MustParse("1Gi")), Image: &v1alpha1.MachineImage{Volume: "local:import/debian-13-genericcloud-amd64.qcow2"},
				Disks:    []v1alpha1.MachineDisk{{Name: "root", Size: new("10G"), Storage: new("ceph")}},
				Networks: []v1alpha1.MachineNetwork{{Name: "lan"}},
				CloudInit: &v1alpha1.MachineCloudInit{
					Storage: new("nfs"), UserData: &v1alpha1.CloudInitData{Inline: new("#cloud-config\n")}, ChangePolicy: new("Regenerate"),
				},
			},
			changes: []func(*v1alpha1.MachineParameters){
				func(p *v1alpha1.MachineParameters) {
					p.CloudInit.UserData.Inline = new("#cloud-config\npackages: [nginx]\n")
				},
				func(p *v1alpha1.MachineParameters) { p.Node = new("pve2") },
			},
			holds: on("pve2"),
		},
		"Disks": {
			reason: "Disks grow, move, are detached and destroyed.",
			spec: func() v1alpha1.MachineParameters {
				p := empty()
				p.Disks = append(p.Disks,
					v1alpha1.MachineDisk{Name: "keep", Size: new("1G")},
					v1alpha1.MachineDisk{Name: "drop", Size: new("1G"), RemovalPolicy: new("Destroy")})
				return p
			}(),
			changes: []func(*v1alpha1.MachineParameters){func(p *v1alpha1.MachineParameters) {
				p.Disks = p.Disks[:2]
				p.Disks[0].Size, p.Disks[0].Storage = new("5G"), new("ceph")
				p.Description = new("changed")
			}},
			holds: has(map[string]string{"scsi0": "ceph:", "unused0": "local-lvm:", "description": "changed"}),
		},
		"Migration": {
			reason: "A VM that runs goes to another node.",
			spec:   v1alpha1.MachineParameters{Template: new(intstr.FromString("ubuntu-24.04")), Node: new("pve1")},
			changes: []func(*v1alpha1.MachineParameters){
				func(p *v1alpha1.MachineParameters) { p.Node = new("pve2") },
			},
			holds: on("pve2"),
		},
		"LocalMigration": {
			reason: "A VM goes to another node with its disks, one of them unused, and its image of cloud-init data.",
			spec: v1alpha1.MachineParameters{
				Node: new("pve1"), Memory: new(resource.MustParse("1Gi")),
				Disks:     []v1alpha1.MachineDisk{{Name: "root", Size: new("3G")}, {Name: "data", Size: new("1G")}},
				Networks:  []v1alpha1.MachineNetwork{{Name: "lan"}},
				CloudInit: &v1alpha1.MachineCloudInit{Storage: new("local"), UserData: &v1alpha1.CloudInitData{Inline: new("#cloud-config\n")}},
			},
			changes: []func(*v1alpha1.MachineParameters){
				func(p *v1alpha1.MachineParameters) { p.Disks = p.Disks[:1] },
				func(p *v1alpha1.MachineParameters) { p.Node = new("pve3") },
			},
			holds: both(on("pve3"), has(map[string]string{"ide2": "local:iso/cidata-", "unused0": "local-lvm:"})),
		},
		"HA": {
			reason: "The HA manager is given a VM with a disk that its list has lost, and loses both.",
			grants: []simulator.ScenarioGrant{{Path: "/", User: "crossplane@pve", Roles: []string{"PVESysAdmin"}}},
			spec: v1alpha1.MachineParameters{
				Template: new(intstr.FromString("ubuntu-24.04")), HighAvailability: &v1alpha1.MachineHighAvailability{},
				Disks: []v1alpha1.MachineDisk{{Name: "root"}, {Name: "keep", Type: new("scsi"), Size: new("1G"), Storage: new("ceph"), RemovalPolicy: new("Retain")}},
			},
			changes: []func(*v1alpha1.MachineParameters){
				func(p *v1alpha1.MachineParameters) { p.Disks = p.Disks[:1] },
				func(p *v1alpha1.MachineParameters) { p.HighAvailability.MaxRestart = new(int32(2)) },
			},
			holds: has(map[string]string{"scsi1": "ceph:"}),
		},
		"Replicated": {
			reason: "A VM is replicated by somebody, and removed with what was sent to another node.",
			guests: []simulator.ScenarioGuest{{VMID: 110, Node: "pve1", Config: map[string]string{"name": "theirs", "scsi0": "tank:1"}}},
			storages: []simulator.ScenarioStorage{{
				ID: "tank", Type: "zfspool", Content: []string{"images"}, Total: "100G",
			}},
			spec: func() v1alpha1.MachineParameters {
				p := empty()
				p.Disks[0].Storage = new("tank")
				return p
			}(),
			before: func(s *simulator.State) { replicate(s, 110) },
			others: func(s *simulator.State, vmid int) bool {
				if s.Replications[jobOf(vmid)] == nil {
					replicate(s, vmid)
				}
				return s.Replicas[jobOf(vmid)] != nil && !s.Replicas[jobOf(vmid)].Synced.IsZero()
			},
			holds: has(map[string]string{"scsi0": "tank:"}),
		},
		"Restart": {
			reason: "A VM is restarted for hardware that cannot be changed while it runs.",
			spec: v1alpha1.MachineParameters{
				Template: new(intstr.FromString("ubuntu-24.04")), RestartPolicy: new("WhenRequired"),
				CPU: &v1alpha1.MachineCPU{Cores: new(int32(2))},
			},
			changes: []func(*v1alpha1.MachineParameters){
				func(p *v1alpha1.MachineParameters) { p.CPU.Cores = new(int32(4)) },
				func(p *v1alpha1.MachineParameters) {
					p.PowerAction = &v1alpha1.MachinePowerAction{Action: "Reboot", Token: "1"}
				},
				func(p *v1alpha1.MachineParameters) {
					p.PowerAction = &v1alpha1.MachinePowerAction{Action: "Reset", Token: "2"}
				},
			},
			holds: func(t *testing.T, g simulator.Guest) {
				t.Helper()
				if g.Config["cores"] != "4" && g.Pending["cores"] != "4" {
					t.Errorf("cores are %q and pending %q, want 4", g.Config["cores"], g.Pending["cores"])
				}
			},
		},
		"Password": {
			reason: "A VM gets a password from a Secret, and another one.",
			spec: v1alpha1.MachineParameters{
				Template:  new(intstr.FromString("ubuntu-24.04")),
				CloudInit: &v1alpha1.MachineCloudInit{User: new("admin"), PasswordSecretRef: passwordAt("first")},
			},
			objects: []client.Object{&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "password"},
				Data:       map[string][]byte{"first": []byte("correct horse"), "second": []byte("battery staple")},
			}},
			changes: []func(*v1alpha1.MachineParameters){
				func(p *v1alpha1.MachineParameters) { p.CloudInit.PasswordSecretRef = passwordAt("second") },
			},
			holds: has(map[string]string{"ciuser": "admin"}),
		},
		"Paused": {
			reason: "A VM is paused, resumed, and paused again until it is removed.",
			spec:   v1alpha1.MachineParameters{Template: new(intstr.FromString("ubuntu-24.04"))},
			changes: []func(*v1alpha1.MachineParameters){
				func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStatePaused) },
				func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateRunning) },
				func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStatePaused) },
			},
			holds: func(t *testing.T, g simulator.Guest) {
				t.Helper()
				if g.Power != simulator.Paused {
					t.Errorf("the VM is %s, want it paused", g.Power)
				}
			},
		},
		"Suspended": {
			reason: "The memory of a VM is saved, brought back, and saved again until it is removed.",
			spec:   v1alpha1.MachineParameters{Template: new(intstr.FromString("ubuntu-24.04"))},
			changes: []func(*v1alpha1.MachineParameters){
				func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateSuspended) },
				func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateRunning) },
				func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateSuspended) },
			},
			holds: has(map[string]string{"lock": "suspended"}),
		},
		"Firmware": {
			reason: "A VM has disks that no list has: those of its firmware and of its TPM.",
			spec: func() v1alpha1.MachineParameters {
				p := empty()
				p.BIOS = new("ovmf")
				p.EFIDisk, p.TPM = &v1alpha1.MachineEFIDisk{Storage: new("ceph")}, &v1alpha1.MachineTPM{Storage: new("local-lvm")}
				return p
			}(),
			changes: []func(*v1alpha1.MachineParameters){
				func(p *v1alpha1.MachineParameters) { p.Disks = p.Disks[:1] },
			},
			holds: has(map[string]string{"efidisk0": "ceph:", "tpmstate0": "local-lvm:", "unused0": "ceph:"}),
		},
		"Restore": {
			reason: "A VM is restored from a backup of somebody's VM, on other storage and with another name.",
			grants: toRestore(),
			spec: v1alpha1.MachineParameters{
				Restore: &v1alpha1.MachineRestore{Volume: new(backupOf100), Storage: new("local-lvm")},
				CPU:     &v1alpha1.MachineCPU{Cores: new(int32(3))}, Description: new("restored"), Pool: new("crossplane"),
				Disks: []v1alpha1.MachineDisk{{Name: "root"}, {Name: "data", Type: new("scsi"), Size: new("1G")}},
			},
			before: func(s *simulator.State) { backUp100(s) },
			holds:  has(map[string]string{"scsi0": "local-lvm:vm-", "cores": "3", "description": "restored"}),
		},
		"RestoreFails": {
			reason: "A VM is restored at the second attempt: what the first one has left is removed.",
			grants: toRestore(),
			spec:   v1alpha1.MachineParameters{Restore: &v1alpha1.MachineRestore{BackupRef: &v1alpha1.Reference{Name: "nightly"}, Storage: new("local-lvm")}},
			before: func(s *simulator.State) { backUp100(s) },
			faults: []simulator.Fault{{Task: "qmrestore", Count: 1, TaskExit: "command 'vma extract' failed"}},
			objects: []client.Object{&namespaced.Backup{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nightly", UID: "5a7a5f2c-0000-4000-8000-000000000003"},
				Spec: namespaced.BackupSpec{ManagedResourceSpec: xpv2.ManagedResourceSpec{
					ProviderConfigReference: &xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "pve"},
				}},
				Status: namespaced.BackupStatus{AtProvider: v1alpha1.BackupObservation{Volume: backupOf100, State: v1alpha1.BackupComplete}},
			}},
			holds: has(map[string]string{"scsi0": "local-lvm:vm-"}),
		},
		"Rollback": {
			reason: "A VM goes back to a snapshot at most once, after a safety snapshot, and gets back the disk that it has got since.",
			adopts: 100, annotations: map[string]string{meta.AnnotationKeyExternalName: "100"},
			grants: []simulator.ScenarioGrant{{Path: "/vms/100", User: "crossplane@pve", Roles: []string{"PVEVMAdmin"}}},
			spec:   v1alpha1.MachineParameters{PowerState: new(v1alpha1.PowerStateRunning), Description: new("ours")},
			before: func(s *simulator.State) {
				config := maps.Clone(s.Guests[100].Config)
				s.Guests[100].Snapshots = map[string]*simulator.Snapshot{"before-upgrade": {Config: config, Time: time.Unix(1_700_000_000, 0)}}
				s.Guests[100].Config["parent"] = "before-upgrade"
			},
			changes: []func(*v1alpha1.MachineParameters){
				func(p *v1alpha1.MachineParameters) {
					p.Disks = []v1alpha1.MachineDisk{{Name: "data", Device: new("scsi5"), Size: new("1G"), Storage: new("ceph")}}
				},
				func(p *v1alpha1.MachineParameters) {
					p.Rollback = &v1alpha1.MachineRollback{
						Snapshot: "before-upgrade", Token: "1", AllowRunning: new(true), SafetySnapshot: new(true),
					}
				},
			},
			once:  "/nodes/pve1/qemu/100/snapshot/before-upgrade/rollback",
			holds: has(map[string]string{"description": "ours", "scsi5": "ceph:vm-100-disk-"}),
		},
		"RestoreInPlace": {
			reason: "A VM is put back to a backup at most once, after a safety backup, and gets back the disk that the backup does not have.",
			adopts: 100, annotations: map[string]string{meta.AnnotationKeyExternalName: "100"},
			grants: []simulator.ScenarioGrant{{Path: "/vms/100", User: "crossplane@pve", Roles: []string{"PVEVMAdmin"}}},
			spec:   v1alpha1.MachineParameters{PowerState: new(v1alpha1.PowerStateRunning), Description: new("ours")},
			before: func(s *simulator.State) { backUp100(s) },
			changes: []func(*v1alpha1.MachineParameters){
				func(p *v1alpha1.MachineParameters) {
					p.Disks = []v1alpha1.MachineDisk{{Name: "data", Device: new("scsi5"), Size: new("1G"), Storage: new("ceph")}}
				},
				func(p *v1alpha1.MachineParameters) {
					p.RestoreInPlace = &v1alpha1.MachineRestoreInPlace{
						Token: "1", Volume: new(backupOf100), AllowRunning: new(true), SafetyBackup: &v1alpha1.MachineSafetyBackup{Storage: "nfs"},
					}
				},
			},
			once:  "/nodes/pve1/qemu",
			holds: has(map[string]string{"description": "ours", "scsi5": "ceph:vm-100-disk-"}),
		},
		"Adoption": {
			reason:      "A VM of somebody's is adopted and changed.",
			adopts:      100,
			annotations: map[string]string{meta.AnnotationKeyExternalName: "100"},
			spec:        v1alpha1.MachineParameters{},
			changes: []func(*v1alpha1.MachineParameters){
				func(p *v1alpha1.MachineParameters) { p.Description = new("ours now") },
			},
			holds: has(map[string]string{"description": "ours now"}),
		},
	}
}

// jobOf returns the job that replicates a VM.
func jobOf(vmid int) string { return fmt.Sprintf("%d-0", vmid) }

// replicate adds a replication job of a VM to pve3.
func replicate(s *simulator.State, vmid int) {
	s.Replications[jobOf(vmid)] = map[string]string{"type": "local", "source": s.Guests[vmid].Node, "target": "pve3"}
	for k, v := range s.Volumes {
		if v.VMID == vmid && k.Storage == "tank" {
			replica := *v
			replica.Replica = jobOf(vmid)
			s.Volumes[simulator.VolumeKey{Storage: k.Storage, Node: "pve3", Name: k.Name}] = &replica
		}
	}
}

func passwordAt(key string) *v1alpha1.SecretKeyReference {
	return &v1alpha1.SecretKeyReference{Name: "password", Key: key}
}

func empty() v1alpha1.MachineParameters {
	return v1alpha1.MachineParameters{
		Node: new("pve2"), Memory: new(resource.MustParse("1Gi")), OSType: new("linux"),
		Disks:    []v1alpha1.MachineDisk{{Name: "root", Size: new("3G")}, {Name: "data", Size: new("1G"), Storage: new("ceph")}},
		Networks: []v1alpha1.MachineNetwork{{Name: "lan"}},
	}
}

// has returns a check for texts in options.
func has(options map[string]string) func(*testing.T, simulator.Guest) {
	return func(t *testing.T, g simulator.Guest) {
		t.Helper()
		for name, want := range options {
			if got := g.Config[name]; !strings.Contains(got, want) {
				t.Errorf("%s is %q, want %q in it", name, got, want)
			}
		}
	}
}

func both(first, second func(*testing.T, simulator.Guest)) func(*testing.T, simulator.Guest) {
	return func(t *testing.T, g simulator.Guest) {
		t.Helper()
		first(t, g)
		second(t, g)
	}
}

func on(node string) func(*testing.T, simulator.Guest) {
	return func(t *testing.T, g simulator.Guest) {
		t.Helper()
		if g.Node != node {
			t.Errorf("VM %d is on node %s, want %s", g.VMID, g.Node, node)
		}
	}
}
