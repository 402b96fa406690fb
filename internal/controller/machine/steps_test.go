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
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func onNode2(p *v1alpha1.MachineParameters) { p.Node = new("pve2") }

// withDisk returns our VM with a disk that the spec calls data.
func withDisk(value string) (func(*namespaced.Machine), *guest) {
	g := ourVM("running")
	g.config["scsi1"] = value
	return func(m *namespaced.Machine) {
		m.Annotations[object.AnnotationDevices] = `{"disks":{"data":"scsi1"},"seen":{"data":true},"made":{"disks/data":true}}`
	}, g
}

// withMedium returns our VM with a medium in a CD-ROM drive.
func withMedium(status, medium string) *guest {
	g := ourVM(status)
	g.config["ide0"] = medium + ",media=cdrom"
	return g
}

func cdroms(list ...v1alpha1.MachineCDROM) func(*namespaced.Machine) {
	return spec(func(p *v1alpha1.MachineParameters) { p.CDROMs = list })
}

func dataDisk(change func(*v1alpha1.MachineDisk)) func(*namespaced.Machine) {
	return spec(func(p *v1alpha1.MachineParameters) {
		k := v1alpha1.MachineDisk{Name: "data"}
		change(&k)
		p.Disks = []v1alpha1.MachineDisk{k}
	})
}

// TestSteps covers the calls that change something other than options.
func TestSteps(t *testing.T) {
	known, lvm := withDisk("local-lvm:vm-10000-disk-1,size=1G")
	_, file := withDisk("dir:10000/vm-10000-disk-1.qcow2,size=1G")
	_, foreign := withDisk("local-lvm:vm-200-disk-1,size=1G")
	_, gone := withDisk("x")
	delete(gone.config, "scsi1")
	onCeph := dataDisk(func(k *v1alpha1.MachineDisk) { k.Storage = new("ceph") })
	withPool := func(pool string) func(*namespaced.Machine) {
		return spec(func(p *v1alpha1.MachineParameters) { p.Pool = &pool })
	}
	ha := func(h v1alpha1.MachineHighAvailability) func(*namespaced.Machine) {
		return spec(func(p *v1alpha1.MachineParameters) { p.HighAvailability = &h })
	}
	migration := func(c proxmox.MigrationCheck) func(*bench) {
		return func(b *bench) { b.migration = c }
	}
	local := func(medium string) proxmox.MigrationCheck {
		return proxmox.MigrationCheck{LocalDisks: []proxmox.LocalDisk{{Volume: medium, CDROM: true}}}
	}
	held := func(volume string, cdrom bool) proxmox.MigrationCheck {
		return proxmox.MigrationCheck{Running: true, LocalDisks: []proxmox.LocalDisk{{Volume: volume, CDROM: cdrom, Snapshots: []string{"one"}}}}
	}
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		vm      *guest
		pve     func(*bench)
		writes  []string
		differ  []string // Options of the difference.
		err     string
	}{
		"Migrate": {
			reason: "A changed node migrates the VM.", machine: spec(onNode2), vm: ourVM("running"),
			writes: []string{`Migrate 10000 to pve2 online true disks false storage ""`}, differ: []string{"node"},
		},
		"MigrateOffline": {
			reason: "A VM that does not run goes offline.", machine: all(spec(onNode2), runStrategy("Manual")), vm: ourVM("stopped"),
			writes: []string{`Migrate 10000 to pve2 online false disks false storage ""`}, differ: []string{"node"},
		},
		"MigrateFailed": {
			reason:  "High availability migrates nothing that it has given up.",
			machine: spec(onNode2), vm: managedByHA(ourVM("running"), "error"), differ: []string{"node"},
		},
		"MigrateLocal": {
			reason: "Local disks of a VM go with it.", machine: spec(onNode2), vm: ourVM("running"),
			pve:    migration(proxmox.MigrationCheck{LocalDisks: []proxmox.LocalDisk{{Volume: "local-lvm:vm-10000-disk-0"}}}),
			writes: []string{`Migrate 10000 to pve2 online true disks true storage ""`}, differ: []string{"node"},
		},
		"MigrateSeed": {
			reason: "PVE makes the cloud-init drive again.", machine: spec(onNode2), vm: ourVM("running"),
			pve:    migration(proxmox.MigrationCheck{LocalDisks: []proxmox.LocalDisk{{Volume: "local-lvm:vm-10000-cloudinit", CDROM: true}}}),
			writes: []string{`Migrate 10000 to pve2 online true disks false storage ""`}, differ: []string{"node"},
		},
		"MigrateCDROM": {
			reason: "A medium on local storage keeps it.", machine: spec(onNode2),
			vm:  func() *guest { g := ourVM("running"); g.config["ide0"] = "local:iso/debian.iso,media=cdrom"; return g }(),
			pve: migration(proxmox.MigrationCheck{LocalDisks: []proxmox.LocalDisk{{Volume: "local:iso/debian.iso", CDROM: true}}}),
			err: "local:iso/debian.iso is on local storage",
		},
		"MigratePhysical": {
			reason:  "The physical CD-ROM drive of its node keeps a VM there.",
			machine: all(spec(onNode2), cdroms(v1alpha1.MachineCDROM{Name: "a", Physical: new(true)})),
			vm:      withMedium("running", "cdrom"), pve: migration(local("cdrom")), err: "it has the physical CD-ROM drive of node pve1",
		},
		"MigratePending": {
			reason: "A medium that is in the drive until a restart keeps a VM there.", machine: spec(onNode2), vm: func() *guest {
				g := withMedium("running", "files:iso/a.iso")
				g.pending = map[string]string{"ide0": ""}
				return g
			}(),
			pve: migration(local("files:iso/a.iso")), err: "in its drive until the VM restarts",
		},
		"MigrateSnapshot": {
			reason: "A medium that a snapshot has keeps a VM there.", machine: spec(onNode2), vm: ourVM("running"), pve: migration(held("files:iso/a.iso", true)),
			err: "medium files:iso/a.iso is on local storage, and in the VM's snapshot one: remove the snapshot",
		},
		"MigrateSnapshotData": {
			reason: "A snapshot with cloud-init data keeps a VM there; the data would go otherwise.", machine: spec(onNode2), vm: ourVM("running"),
			pve: migration(held("files:iso/cidata-10000-u-1.iso", true)), err: "in the VM's snapshot one: remove the snapshot",
		},
		"MigrateOldData": {
			reason: "Cloud-init data that the spec does not declare any more keep a VM there: nobody takes them out.", machine: spec(onNode2),
			vm:  func() *guest { g := ourVM("running"); g.config["ide2"] = ourImage + ",media=cdrom"; return g }(),
			pve: migration(local(ourImage)), err: "medium " + ourImage + " is on local storage: take it out",
		},
		"MigrateSnapshotDisk": {
			reason: "A running VM's disk is not copied with its snapshots.", machine: spec(onNode2), vm: ourVM("running"),
			pve: migration(held("files:10000/vm-10000-disk-0.qcow2", false)),
			err: "disk files:10000/vm-10000-disk-0.qcow2 is on local storage, and in the VM's snapshot one: remove the snapshot or stop the VM before it migrates",
		},
		"MigrateHeld": {
			reason: "A VM that does not run leaves it behind.", machine: all(
				spec(onNode2), cdroms(v1alpha1.MachineCDROM{Name: "a", ISO: new("files:iso/a.iso")}), runStrategy("Manual"),
			), vm: withMedium("stopped", "files:iso/a.iso"),
			pve: func(b *bench) {
				migration(local("files:iso/a.iso"))(b)
				b.volumes = map[string][]string{"pve2": {"files:iso/a.iso"}}
			},
			writes: []string{
				"Configure 10000 set ide0 delete  digest d1", `Migrate 10000 to pve2 online false disks false storage ""`,
			}, differ: []string{"ide0", "node"},
		},
		"MigrateMissing": {
			reason: "A VM that is off has to find its medium on the other node.", machine: all(
				spec(onNode2), cdroms(v1alpha1.MachineCDROM{Name: "a", ISO: new("files:iso/a.iso")}), runStrategy("Manual"),
			), vm: withMedium("stopped", "files:iso/a.iso"),
			pve: func(b *bench) {
				migration(local("files:iso/a.iso"))(b)
				b.volumes = map[string][]string{"pve1": {"files:iso/a.iso"}}
			},
			err: "iso 'files:iso/a.iso' not found on node pve2", differ: []string{"ide0"},
		},
		"MigrateUnseen": {reason: "Who may not migrate is told so, and sees the rest.", machine: spec(onNode2), vm: ourVM("running"), pve: func(b *bench) {
			b.errs["CheckMigration"] = refused(403, "Permission check failed (/vms/10000, VM.Migrate)")
		}, err: "VM.Migrate"},
		"MigratePCI": {
			reason: "A device of its node keeps a VM there.", machine: spec(onNode2), vm: ourVM("running"),
			pve: migration(proxmox.MigrationCheck{LocalResources: []string{"hostpci0"}}), err: "it uses hostpci0 of node pve1",
		},
		"MigrateStorage": {
			reason: "A storage that the other node lacks keeps a VM where it is.", machine: spec(onNode2), vm: ourVM("running"),
			pve: migration(proxmox.MigrationCheck{Missing: map[string][]string{"pve2": {"fast"}}}), err: "node pve2 has no fast",
		},
		"MigrateApart": {
			reason: "A rule of HA keeps a VM where it is.", machine: spec(onNode2), vm: ourVM("running"),
			pve: migration(proxmox.MigrationCheck{Blocking: map[string][]string{"pve2": {"vm:200"}}}), err: "keeps it apart from vm:200",
		},
		"MigrateUnknown": {
			reason: "A node must exist.", machine: spec(func(p *v1alpha1.MachineParameters) { p.Node = new("pve9") }), vm: ourVM("running"),
			err: "node 'pve9' not found",
		},
		"MigrateOfflin": {
			reason: "The node to migrate to must be online.", machine: spec(onNode2), vm: ourVM("running"), pve: func(b *bench) { b.nodes[1].Status = "offline" },
			err: `node "pve2" is offline`,
		},
		"MigrateAlong": {
			reason:  "A disk whose storage is on the other node only goes there with the VM.",
			machine: all(known, spec(onNode2), dataDisk(func(k *v1alpha1.MachineDisk) { k.Storage = new("fast") })), vm: lvm,
			pve: func(b *bench) {
				b.storages = append(b.storages, proxmox.Storage{Name: "fast", Node: "pve2", Content: []string{"images"}})
				b.migration.LocalDisks = []proxmox.LocalDisk{{Volume: "local-lvm:vm-10000-disk-1"}}
				b.migration.Missing = map[string][]string{"pve2": {"local-lvm"}}
			},
			writes: []string{`Migrate 10000 to pve2 online true disks true storage "local-lvm:fast"`}, differ: []string{"node"},
		},
		"FollowHA": {
			reason: "A VM that was moved in PVE stays where it is.", machine: spec(func(p *v1alpha1.MachineParameters) { p.Node = new("pve1") }),
			vm: func() *guest { g := ourVM("running"); g.node = "pve2"; return g }(),
		},

		"Medium": {
			reason:  "A medium is changed at once.",
			machine: cdroms(v1alpha1.MachineCDROM{Name: "a", Device: new("ide0"), ISO: new("files:iso/a.iso")}), vm: withMedium("running", "none"),
			pve:    func(b *bench) { b.volumes = map[string][]string{"pve1": {"files:iso/a.iso"}} },
			writes: []string{"Configure 10000 set ide0 delete  digest d1"}, differ: []string{"ide0"},
		},
		"MediumMissing": {
			reason:  "One that is not there is named before anything is sent.",
			machine: cdroms(v1alpha1.MachineCDROM{Name: "a", Device: new("ide0"), ISO: new("files:iso/a.iso")}), vm: withMedium("running", "none"),
			pve: func(b *bench) { b.volumes = map[string][]string{"pve1": {"files:iso/b.iso"}} },
			err: "iso 'files:iso/a.iso' not found on node pve1; the volumes there are files:iso/b.iso", differ: []string{"ide0"},
		},
		"Move": {
			reason: "A changed storage moves the disk, and what it leaves goes only afterwards.", machine: all(known, onCeph), vm: lvm,
			writes: []string{`MoveDisk 10000 scsi1 to "ceph" "" delete true digest d1`}, differ: []string{"scsi1 storage"},
		},
		"MoveFirst": {
			reason:  "A disk is moved before it grows.",
			machine: all(known, dataDisk(func(k *v1alpha1.MachineDisk) { k.Storage, k.Size = new("ceph"), new("2G") })), vm: lvm,
			writes: []string{`MoveDisk 10000 scsi1 to "ceph" "" delete true digest d1`}, differ: []string{"scsi1 storage", "scsi1 size"},
		},
		"MoveForeign": {
			reason: "PVE deletes the source whosever it is, so it has to be the VM's own.", machine: all(known, onCeph), vm: foreign,
			err: "volume local-lvm:vm-200-disk-1 is not this VM's own",
		},
		"MoveLater": {
			reason:  "A disk is moved as it was looked at: not after a change of options, which wakes the Machine.",
			machine: all(known, onCeph, spec(func(p *v1alpha1.MachineParameters) { p.OnBoot = new(true) })), vm: lvm,
			writes: []string{"Configure 10000 set onboot delete  digest d1"}, differ: []string{"onboot", "scsi1 storage"},
		},
		"MoveNowhere": {
			reason: "A storage must be on the node.", machine: all(known, dataDisk(func(k *v1alpha1.MachineDisk) { k.Storage = new("nowhere") })),
			vm: lvm, err: "storage 'nowhere' not found on node pve1",
		},
		"MoveToISOs": {
			reason:  "The storage that a disk moves to must hold disks.",
			machine: all(known, dataDisk(func(k *v1alpha1.MachineDisk) { k.Storage = new("iso") })), vm: lvm,
			err: "does not hold disks",
		},
		"Convert": {
			reason: "A changed format converts the disk.", machine: all(known, dataDisk(func(k *v1alpha1.MachineDisk) { k.Format = new("raw") })),
			vm: file, pve: withDir, writes: []string{`MoveDisk 10000 scsi1 to "dir" "raw" delete true digest d1`},
			differ: []string{"scsi1 storage"},
		},
		"Converted": {
			reason: "One that it has does not.", machine: all(known, dataDisk(func(k *v1alpha1.MachineDisk) { k.Format = new("qcow2") })),
			vm: file, pve: withDir,
		},
		"FormatOfLVM": {
			reason:  "A storage without files has one format.",
			machine: all(known, dataDisk(func(k *v1alpha1.MachineDisk) { k.Format = new("qcow2") })), vm: lvm,
		},
		"MoveReadonly": {reason: "Who may only observe sees what would be moved.", machine: all(known, onCeph, observed), vm: lvm, differ: []string{"scsi1 storage"}},

		"Attach": {
			reason: "A volume of the VM is attached.", machine: dataDisk(func(k *v1alpha1.MachineDisk) { k.Volume = new("ceph:vm-10000-disk-5") }),
			vm: ourVM("running"), pve: withVolume, writes: []string{"ConfigureAsync 10000 set scsi0 delete  digest d1"}, differ: []string{"scsi0"},
		},
		"AttachMissing": {
			reason:  "One that is not there is not: its name may be given to a disk that is made.",
			machine: dataDisk(func(k *v1alpha1.MachineDisk) { k.Volume = new("ceph:vm-10000-disk-6") }),
			vm:      ourVM("running"), pve: withVolume, err: "volume ceph:vm-10000-disk-6 not found on node pve1", differ: []string{"scsi0"},
		},
		"AttachForeign": {
			reason: "One of another VM is not.", machine: dataDisk(func(k *v1alpha1.MachineDisk) { k.Volume = new("ceph:vm-200-disk-5") }),
			vm: ourVM("running"), err: "belongs to VM 200", differ: []string{"scsi0"},
		},
		"AttachImage": {
			reason: "A volume that is no VM's is not attached.", machine: dataDisk(func(k *v1alpha1.MachineDisk) { k.Volume = new("local:import/a.qcow2") }),
			vm: ourVM("running"), err: "not named as one that belongs to a VM", differ: []string{"scsi0"},
		},
		"AttachTwice": {
			reason: "A volume that is attached already is not attached again.",
			machine: all(known, dataDisk(func(k *v1alpha1.MachineDisk) { k.Name, k.Volume = "again", new("local-lvm:vm-10000-disk-1") }), func(m *namespaced.Machine) {
				m.Annotations[object.AnnotationDevices] = "{}"
			}),
			vm: lvm, err: "attached as scsi1 already", differ: []string{"scsi0"},
		},
		"AttachUsed": {
			reason: "A volume that another VM uses is not attached, whatever its name.", machine: dataDisk(func(k *v1alpha1.MachineDisk) {
				k.Volume = new("ceph:vm-10000-disk-5")
			}), vm: ourVM("running"),
			pve: func(b *bench) {
				withVolume(b)
				b.vms[200] = theirVM()
				b.vms[200].config["virtio3"] = "ceph:vm-10000-disk-5,size=1G"
			},
			err: "is used by VM 200", differ: []string{"scsi0"},
		},
		"Gone": {
			reason:  "A disk that was detached by hand is not created again.",
			machine: all(known, dataDisk(func(k *v1alpha1.MachineDisk) { k.Size = new("1G") })), vm: gone, err: "no longer at scsi1",
			differ: []string{"scsi1"},
		},

		"Pool": {
			reason: "A changed pool moves the VM.", machine: withPool("b"), vm: func() *guest { g := ourVM("running"); g.pool = "a"; return g }(),
			writes: []string{"JoinPool b 10000"}, differ: []string{"pool"},
		},
		"PoolHas": {reason: "One that it has does not.", machine: withPool("b"), vm: func() *guest { g := ourVM("running"); g.pool = "b"; return g }()},
		"PoolNone": {
			reason: "An empty one takes it out.", machine: withPool(""), vm: func() *guest { g := ourVM("running"); g.pool = "a"; return g }(),
			writes: []string{"LeavePool a 10000"}, differ: []string{"pool"},
		},
		"PoolAbsent": {reason: "A pool must exist.", machine: withPool("nowhere"), vm: ourVM("running"), err: "pool 'nowhere' not found"},
		"PoolHidden": {
			reason: "PVE hides pools from who may not audit them.", machine: withPool("b"), vm: ourVM("running"),
			pve: func(b *bench) { b.pools = map[string][]int{"b": {10000}} },
		},
		"PoolUnknown": {
			reason: "Nothing is done about what cannot be known.", machine: withPool("b"), vm: ourVM("running"),
			pve: func(b *bench) { b.errs["PoolVMs"] = refused(403, "Permission check failed (/pool/b, Pool.Audit)") },
		},
		"PoolForeign": {reason: "What is not declared is left alone.", vm: func() *guest { g := ourVM("running"); g.pool = "a"; return g }()},

		"HA": {
			reason: "A VM is handed to HA.", machine: ha(v1alpha1.MachineHighAvailability{MaxRestart: new(int32(3))}), vm: ourVM("running"),
			writes: []string{"AddHAResource 10000 map[max_restart:3 state:started]"}, differ: []string{"high availability"},
		},
		"HAStarts": {
			reason: "HA starts what it is to keep running.", machine: ha(v1alpha1.MachineHighAvailability{}),
			vm: managedByHA(ourVM("stopped"), "started"), pve: haIs(proxmox.HASettings{"state": "started"}),
		},
		"HAStopped": {
			reason: "HA is told of another power state.", machine: all(ha(v1alpha1.MachineHighAvailability{}), stopped),
			vm: managedByHA(ourVM("running"), "started"), pve: haIs(proxmox.HASettings{}),
			writes: []string{"ChangeHAResource 10000 map[state:stopped]"}, differ: []string{"high availability state"},
		},
		"HAAdopts": {
			reason: "HA starts nothing that nobody wants started.", machine: all(ha(v1alpha1.MachineHighAvailability{}), adopted),
			vm: ourVM("stopped"), writes: []string{"AddHAResource 10000 map[state:stopped]"}, differ: []string{"high availability"},
		},
		"HAIgnored": {
			reason: "What HA ignores is powered as ever.", machine: ha(v1alpha1.MachineHighAvailability{State: new("ignored")}),
			vm: ourVM("stopped"), pve: haIs(proxmox.HASettings{"state": "ignored"}), writes: []string{"Start 10000"},
		},
		"HAIgnore": {
			reason:  "HA is told to ignore a VM once: its status says afterwards that HA does not manage it.",
			machine: ha(v1alpha1.MachineHighAvailability{State: new("ignored")}), vm: ourVM("running"),
			pve: haIs(proxmox.HASettings{"state": "ignored"}),
		},
		"HAPaused": {
			reason: "HA takes a VM that is paused for one that runs.", machine: ha(v1alpha1.MachineHighAvailability{}),
			vm:  managedByHA(func() *guest { g := ourVM("running"); g.now.QMPStatus = "paused"; return g }(), "started"),
			pve: haIs(proxmox.HASettings{"state": "started"}), writes: []string{"Resume 10000"},
		},
		"HAError": {reason: "HA refuses to start what it has given up.", vm: managedByHA(ourVM("stopped"), "error")},
		"HALeft": {
			reason: "A VM that HA is to ignore is taken out of HA.", machine: ha(v1alpha1.MachineHighAvailability{Enabled: new(false)}),
			vm: ourVM("running"), pve: haIs(proxmox.HASettings{"state": "ignored"}), writes: []string{"RemoveHAResource 10000"},
			differ: []string{"high availability"},
		},
		"HABlind": {
			reason:  "Who may not see HA and wants nothing of it has nothing to do.",
			machine: ha(v1alpha1.MachineHighAvailability{Enabled: new(false)}), vm: ourVM("running"),
			pve: func(b *bench) { b.errs["HAResources"] = refused(403, "Permission check failed (/, Sys.Audit)") },
		},
		"HADefaults": {
			reason:  "Defaults that are declared are no difference.",
			machine: ha(v1alpha1.MachineHighAvailability{MaxRelocate: new(int32(1)), Failback: new(true), Group: new("")}),
			vm:      managedByHA(ourVM("running"), "started"), pve: haIs(proxmox.HASettings{"state": "enabled"}),
		},
		"HAChanges": {
			reason: "What differs is changed at once.", machine: ha(v1alpha1.MachineHighAvailability{MaxRelocate: new(int32(2)), Group: new("")}),
			vm: managedByHA(ourVM("running"), "started"), pve: haIs(proxmox.HASettings{"group": "g"}),
			writes: []string{"ChangeHAResource 10000 map[group: max_relocate:2]"},
			differ: []string{"high availability group", "high availability max_relocate"},
		},
		"HAGroup": {
			reason: "PVE 9 has rules instead of groups: it is not even asked.", machine: ha(v1alpha1.MachineHighAvailability{Group: new("g1")}),
			vm: ourVM("running"), pve: versionIs("9.0.3"), err: "highAvailability.group cannot be set: Proxmox VE has it no longer since 9.0",
			differ: []string{"high availability"},
		},
		"HAGroup8": {
			reason: "PVE 8 has groups.", machine: ha(v1alpha1.MachineHighAvailability{Group: new("g1")}), vm: ourVM("running"),
			pve: versionIs("8.4.1"), writes: []string{"AddHAResource 10000 map[group:g1 state:started]"}, differ: []string{"high availability"},
		},
		"HAFailback": {
			reason: "PVE 8 knows no failback of a VM.", machine: ha(v1alpha1.MachineHighAvailability{Failback: new(false)}),
			vm: managedByHA(ourVM("running"), "started"), pve: versionIs("8.4.1"),
			err: "highAvailability.failback cannot be set: Proxmox VE has it since 9.0", differ: []string{"high availability failback"},
		},
		"HARemove": {
			reason: "A VM is taken out of HA.", machine: ha(v1alpha1.MachineHighAvailability{Enabled: new(false)}),
			vm: managedByHA(ourVM("running"), "started"), writes: []string{"RemoveHAResource 10000"}, differ: []string{"high availability"},
		},
		"HALeaves": {
			reason: "The rules of others would be removed with it.", machine: ha(v1alpha1.MachineHighAvailability{Enabled: new(false)}),
			vm: managedByHA(ourVM("running"), "started"), pve: versionIs("9.1.1"), writes: []string{"LeaveHA 10000"}, differ: []string{"high availability"},
		},
		"HALeavesBefore": {
			reason: "The rules of others would be removed by the last versions of 9.0, as well.", machine: ha(v1alpha1.MachineHighAvailability{Enabled: new(false)}),
			vm: managedByHA(ourVM("running"), "started"), pve: versionIs("9.0.14"), writes: []string{"LeaveHA 10000"}, differ: []string{"high availability"},
		},
		"HARemoved": {reason: "One that is not in HA is not.", machine: ha(v1alpha1.MachineHighAvailability{Enabled: new(false)}), vm: ourVM("running")},
		"HAUnseen": {
			reason: "Who may not see HA is told so, and sees the rest.", machine: ha(v1alpha1.MachineHighAvailability{}),
			vm:  managedByHA(ourVM("running"), "started"),
			pve: func(b *bench) { b.errs["HAResources"] = refused(403, "Permission check failed (/, Sys.Audit)") }, err: "Sys.Audit",
		},
		"HATemplate": {
			reason:  "Proxmox VE takes a template into HA, which cannot start it: HA is told nothing of one.",
			machine: all(ha(v1alpha1.MachineHighAvailability{}), stopped), err: "which high availability cannot start", vm: madeTemplate(),
		},
		"HATemplateLeaves": {
			reason: "A template that somebody has handed to HA is taken out of it.", machine: ha(v1alpha1.MachineHighAvailability{Enabled: new(false)}),
			vm: managedByHA(madeTemplate(), "stopped"), writes: []string{"RemoveHAResource 10000"}, differ: []string{"high availability"},
		},
		"HAForeign": {reason: "What others hand to HA stays there.", vm: managedByHA(ourVM("running"), "started")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.machine)
			b.vms[10000] = tc.vm
			if tc.pve != nil {
				tc.pve(b)
			}
			for range 2 { // The first may have to save something.
				s := b.reconcile(t.Context())
				if tc.err == "" && s.err != nil || tc.err != "" && (s.err == nil || !strings.Contains(s.err.Error(), tc.err)) {
					t.Errorf("\n%s\nwant error %q, got %v", tc.reason, tc.err, s.err)
				}
				if len(b.writes) > 0 {
					break
				}
			}
			if diff := cmp.Diff(tc.writes, b.writes); diff != "" {
				t.Errorf("\n%s\nwrites: -want, +got:\n%s", tc.reason, diff)
			}
			var differ []string
			for _, d := range b.m.Observation().Difference {
				differ = append(differ, d.Option)
			}
			if diff := cmp.Diff(tc.differ, differ); diff != "" {
				t.Errorf("\n%s\nshown difference: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPoolMembersReadAnew moves a VM from one pool to another. Pools use members that were read minutes ago, but from then on not those of either pool.
func TestPoolMembersReadAnew(t *testing.T) {
	for name, failed := range map[string]error{"Moved": nil, "Unknown": refused(http.StatusGatewayTimeout, "no answer")} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, spec(func(p *v1alpha1.MachineParameters) { p.Pool = new("b") }))
			b.vms[10000] = ourVM("running")
			b.vms[10000].pool = "a"
			b.errs["JoinPool"] = failed
			b.reconcile(t.Context())
			slices.Sort(b.poolsChanged)
			if want := []string{"a", "b"}; !slices.Contains(b.writes, "JoinPool b 10000") || !slices.Equal(b.poolsChanged, want) {
				t.Errorf("want the members of the pools %v read again after the call, got %v; writes: %v", want, b.poolsChanged, b.writes)
			}
		})
	}
}

// madeTemplate returns our VM after a user has converted it to a template.
func madeTemplate() *guest {
	g := ourVM("stopped")
	g.config["template"] = "1"
	return g
}

func adopted(m *namespaced.Machine) {
	delete(m.Annotations, "crossplane.io/external-create-pending")
}

func withDir(b *bench) {
	b.storages = append(b.storages, proxmox.Storage{Name: "dir", Node: "pve1", Content: []string{"images"}})
}

func withVolume(b *bench) { b.volumes = map[string][]string{"pve1": {"ceph:vm-10000-disk-5"}} }

func versionIs(v string) func(*bench) { return func(b *bench) { b.version = v } }

func haIs(r proxmox.HASettings) func(*bench) { return func(b *bench) { b.ha = r } }

// TestHAIsAskedOnce checks that HA, which moves a VM some time after the request, is asked once.
func TestHAIsAskedOnce(t *testing.T) {
	b := newBench(t, spec(onNode2))
	b.vms[10000] = managedByHA(ourVM("running"), "started")
	for range 3 {
		b.reconcile(t.Context())
		if done := b.ends[upid("pve1", "qmigrate", 10000)]; done != nil {
			b.end(t, upid("pve1", "qmigrate", 10000), "OK")
			delete(b.ends, upid("pve1", "qmigrate", 10000))
		}
	}
	if len(b.writes) != 1 {
		t.Errorf("want HA asked once, got %q", b.writes)
	}
	b.vms[10000].node = "pve2"
	b.reconcile(t.Context())
	if got := b.kept(t, object.AnnotationNode); got != "pve2" {
		t.Errorf("want kept that the node was acted on, got %q", got)
	}
	b.vms[10000].node = "pve1" // HA moves it back.
	b.clock.wait(haDelay)
	if s := b.reconcile(t.Context()); !s.upToDate || len(b.writes) != 1 {
		t.Errorf("want the VM followed, got %+v and %q", s, b.writes)
	}
}

// TestHAGivenUp checks that changes of a VM that high availability has given up wait until a user has disabled it: Proxmox VE refuses any other change.
func TestHAGivenUp(t *testing.T) {
	settings := func(state *string) func(*namespaced.Machine) {
		return spec(func(p *v1alpha1.MachineParameters) {
			p.HighAvailability = &v1alpha1.MachineHighAvailability{State: state, MaxRestart: new(int32(3))}
		})
	}
	cases := map[string]struct {
		reason string
		state  *string
		writes int
	}{
		"Changed":  {reason: "Proxmox VE would refuse it."},
		"Disabled": {reason: "The state disabled is what takes a VM out of the error.", state: new("disabled"), writes: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, settings(tc.state))
			b.vms[10000] = managedByHA(hasBooted(ourVM("running")), "error")
			b.ha = proxmox.HASettings{"state": "started"}
			b.reconcile(t.Context())
			if len(b.writes) != tc.writes {
				t.Errorf("\n%s\nwant %d calls, got %q", tc.reason, tc.writes, b.writes)
			}
			c := b.m.GetCondition(kind.TypeUpToDate)
			if told := strings.Contains(c.Message, "takes no change of it"); told != (tc.writes == 0) {
				t.Errorf("\n%s\nwant the wait told: %t, got %s: %s", tc.reason, tc.writes == 0, c.Reason, c.Message)
			}
		})
	}
}

func TestRemoval(t *testing.T) {
	data := func(policy *string) func(*v1alpha1.MachineParameters) {
		return func(p *v1alpha1.MachineParameters) {
			p.Disks = []v1alpha1.MachineDisk{{Name: "data", Device: new("scsi1"), RemovalPolicy: policy}}
		}
	}
	none := func(p *v1alpha1.MachineParameters) { p.Disks = []v1alpha1.MachineDisk{} }
	detach, destroy := "Configure 10000 set  delete scsi1 digest d1", "ConfigureAsync 10000 set  delete scsi1 digest d1 destroy"
	type edit struct {
		change func(*v1alpha1.MachineParameters)
		unseen bool // The VM is not read before the next edit.
	}
	cases := map[string]struct {
		reason string
		edits  []edit
		vm     func(*guest)
		writes []string
	}{
		"Absent": {
			reason: "A list that is left out changes nothing.",
			edits:  []edit{{change: data(nil)}, {change: func(p *v1alpha1.MachineParameters) { p.Disks = nil }}},
		},
		"Boot": {
			reason: "What the VM boots from stays.", edits: []edit{{change: data(nil)}, {change: none}},
			vm: func(g *guest) { g.config["boot"] = "order=scsi1" },
		},
		"Default": {reason: "A disk is detached by default.", edits: []edit{{change: data(nil)}, {change: none}}, writes: []string{detach}},
		"Detach":  {reason: "A disk whose entry says so is detached.", edits: []edit{{change: data(new("Detach"))}, {change: none}}, writes: []string{detach}},
		"Retain":  {reason: "A disk may stay attached.", edits: []edit{{change: data(new("Retain"))}, {change: none}}},
		"Destroy": {
			reason: "A disk is destroyed if that was asked for before it was taken off.",
			edits:  []edit{{change: data(new("Destroy"))}, {change: none}}, writes: []string{destroy},
		},
		"Regret": {
			reason: "What was said last counts.", edits: []edit{{change: data(new("Destroy"))}, {change: data(nil)}, {change: none}},
			writes: []string{detach},
		},
		"Unseen": {
			reason: "What was said last may not have been seen: nothing is destroyed then.",
			edits:  []edit{{change: data(new("Destroy"))}, {change: data(nil), unseen: true}, {change: none}}, writes: []string{detach},
		},
		"Other": {
			reason: "Another change in between is seen.",
			edits:  []edit{{change: data(new("Destroy"))}, {change: func(p *v1alpha1.MachineParameters) { p.ShutdownTimeoutSeconds = new(int32(9)) }}, {change: none}},
			writes: []string{destroy},
		},
		"Swapped": {
			reason: "A disk that a person put in its place is not destroyed.", edits: []edit{{change: data(new("Destroy"))}, {change: none}},
			vm: func(g *guest) { g.config["scsi1"] = "s:vm-10000-disk-9,size=1G" }, writes: []string{detach},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.vms[10000] = ourVM("running")
			b.vms[10000].config["scsi0"], b.vms[10000].config["scsi1"] = "s:vm-10000-disk-0,size=1G", "s:vm-10000-disk-1,size=1G"
			b.m.Annotations[object.AnnotationDevices] = `{"disks":{"data":"scsi1"},"seen":{"data":true},"made":{"disks/data":true}}`
			for i, e := range tc.edits {
				e.change(&b.m.Spec.ForProvider)
				b.m.Generation++
				if i == len(tc.edits)-1 && tc.vm != nil {
					tc.vm(b.vms[10000])
				}
				if e.unseen {
					continue
				}
				if s := b.reconcile(t.Context()); s.err != nil {
					t.Fatal(s.err)
				}
			}
			if diff := cmp.Diff(tc.writes, b.writes); diff != "" {
				t.Errorf("\n%s\nwrites: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRemovalOfBorrowed checks that a disk that another VM has attached is not destroyed, although its name contains the VMID of its own VM.
func TestRemovalOfBorrowed(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000], b.vms[200] = ourVM("running"), theirVM()
	b.vms[10000].config["scsi1"], b.vms[200].config["virtio3"] = "s:vm-10000-disk-1,size=1G", "s:vm-10000-disk-1,size=1G"
	b.m.Annotations[object.AnnotationDevices] = `{"disks":{"data":"scsi1"},"seen":{"data":true},"made":{"disks/data":true}}`
	b.m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "data", Device: new("scsi1"), RemovalPolicy: new("Destroy")}}
	if s := b.reconcile(t.Context()); s.err != nil {
		t.Fatal(s.err)
	}
	b.m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{}
	b.m.Generation++
	s := b.reconcile(t.Context())
	if s.err == nil || !strings.Contains(s.err.Error(), "nothing is destroyed: volume s:vm-10000-disk-1 is used by VM 200") || len(b.writes) > 0 {
		t.Errorf("want the disk to stay, with who uses it, got %v, %v", s.err, b.writes)
	}
}

// TestMoveOfBorrowed checks that a disk that another VM has attached is not moved, and does not migrate: Proxmox VE would delete its source while
// that VM uses it.
func TestMoveOfBorrowed(t *testing.T) {
	const shared, local = "ceph:vm-10000-disk-1", "local-lvm:vm-10000-disk-1"
	cases := map[string]struct {
		reason string
		volume string
		node   string // of the other VM
		edit   func(*v1alpha1.MachineParameters)
		err    string
		writes int
	}{
		"Move": {
			reason: "Another node reaches what is on shared storage.", volume: shared, node: "pve2",
			edit: func(p *v1alpha1.MachineParameters) { p.Disks[0].Storage = new("local-lvm") },
			err:  `disk "data" (scsi1) is not moved, since its source would be deleted: volume ceph:vm-10000-disk-1 is used by VM 200`,
		},
		"MoveElsewhere": {
			reason: "Another node has a volume of its own on local storage.", volume: local, node: "pve2", writes: 1,
			edit: func(p *v1alpha1.MachineParameters) { p.Disks[0].Storage = new("ceph") },
		},
		"Migration": {
			reason: "What is on local storage is deleted on the node that the VM leaves.", volume: local, node: "pve1",
			edit: func(p *v1alpha1.MachineParameters) { p.Node = new("pve2") },
			err:  "the VM does not migrate, since its disks on local storage would be deleted here: volume local-lvm:vm-10000-disk-1 is used by VM 200",
		},
		"MigrationElsewhere": {
			reason: "Another node loses nothing by a migration.", volume: local, node: "pve2", writes: 1,
			edit: func(p *v1alpha1.MachineParameters) { p.Node = new("pve2") },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.vms[10000], b.vms[200] = ourVM("running"), theirVM()
			b.vms[200].node = tc.node
			b.vms[10000].config["scsi1"], b.vms[200].config["virtio3"] = tc.volume+",size=1G", tc.volume+",size=1G"
			b.migration = proxmox.MigrationCheck{Running: true}
			if tc.volume == local {
				b.migration.LocalDisks = []proxmox.LocalDisk{{Volume: local}}
			}
			b.m.Annotations[object.AnnotationDevices] = `{"disks":{"data":"scsi1"},"seen":{"data":true},"made":{"disks/data":true}}`
			b.m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "data", Device: new("scsi1")}}
			if s := b.reconcile(t.Context()); s.err != nil || len(b.writes) > 0 {
				t.Fatalf("want nothing to be done first, got %v, %q", s.err, b.writes)
			}
			tc.edit(&b.m.Spec.ForProvider)
			b.m.Generation++
			s := b.reconcile(t.Context())
			if got := fmt.Sprint(s.err); (s.err == nil) != (tc.err == "") || !strings.Contains(got, tc.err) || len(b.writes) != tc.writes {
				t.Errorf("\n%s\nwant the error %q and %d writes, got %v, %q", tc.reason, tc.err, tc.writes, s.err, b.writes)
			}
		})
	}
}

// TestDriveIsRenewed checks that a running guest finds its changes at its next boot, whatever else is changed with them.
func TestDriveIsRenewed(t *testing.T) {
	b := newBench(t, spec(func(p *v1alpha1.MachineParameters) {
		p.CloudInit = &v1alpha1.MachineCloudInit{User: new("joe")}
		p.Disks = []v1alpha1.MachineDisk{{Name: "new", Size: new("1G")}}
	}))
	g := ourVM("running")
	g.config["ide2"] = "local-lvm:vm-10000-cloudinit,media=cdrom"
	b.vms[10000] = g
	if s := b.reconcile(t.Context()); s.err != nil {
		t.Fatal(s.err)
	}
	g.config["ciuser"] = "joe"
	b.touch()
	if s := b.reconcile(t.Context()); s.err != nil {
		t.Fatal(s.err)
	}
	want := []string{"Configure 10000 set ciuser delete  digest d1", "RenewCloudInit 10000", "ConfigureAsync 10000 set scsi0 delete  digest d1"}
	if diff := cmp.Diff(want, b.writes); diff != "" {
		t.Errorf("writes: -want, +got:\n%s", diff)
	}
}

// TestDriveIsRenewedLater checks that the drive is finally written, even if PVE holds the VM's lock right after the change.
func TestDriveIsRenewedLater(t *testing.T) {
	b := newBench(t, spec(func(p *v1alpha1.MachineParameters) { p.CloudInit = &v1alpha1.MachineCloudInit{User: new("joe")} }))
	g := ourVM("running")
	g.config["ide2"] = "local-lvm:vm-10000-cloudinit,media=cdrom"
	b.vms[10000] = g
	b.errs["RenewCloudInit"] = refused(http.StatusInternalServerError, "can't lock file '/var/lock/qemu-server/lock-10000.conf' - got timeout")
	if s := b.reconcile(t.Context()); s.err == nil {
		t.Error("Want to hear that the drive has old data")
	}
	delete(b.errs, "RenewCloudInit")
	g.config["ciuser"] = "joe"
	for range 3 {
		b.touch()
		if s := b.reconcile(t.Context()); s.err != nil {
			t.Fatal(s.err)
		}
	}
	want := []string{"Configure 10000 set ciuser delete  digest d1", "RenewCloudInit 10000", "RenewCloudInit 10000"}
	if diff := cmp.Diff(want, b.writes); diff != "" {
		t.Errorf("writes: -want, +got:\n%s", diff)
	}
}
