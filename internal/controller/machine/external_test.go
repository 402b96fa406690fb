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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

func fromTemplate(m *namespaced.Machine) {
	m.Spec.ForProvider.Template = new(intstr.FromString("debian"))
}

func named(vmid int32) func(*namespaced.Machine) {
	return func(m *namespaced.Machine) {
		m.Spec.ForProvider.VMID = &vmid
		delete(m.Annotations, AnnotationAllocated)
	}
}

func deleted(m *namespaced.Machine) {
	m.Finalizers = []string{"finalizer.managedresource.crossplane.io"}
	m.DeletionTimestamp = &metav1.Time{Time: time.Unix(1_800_000_000, 0)}
}

func observed(m *namespaced.Machine) {
	m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
}

func stopped(m *namespaced.Machine) { m.Spec.ForProvider.PowerState = new(v1alpha1.PowerStateStopped) }

func all(changes ...func(*namespaced.Machine)) func(*namespaced.Machine) {
	return func(m *namespaced.Machine) {
		for _, change := range changes {
			change(m)
		}
	}
}

// TestReconcile drives one reconcile: what is seen, what is done about it, and
// what the user is shown.
func TestReconcile(t *testing.T) {
	type want struct {
		Exists, UpToDate bool
		Writes           []string
		Phase            v1alpha1.MachinePhase
		// Reasons of the conditions, where there are any.
		Ready, Created, Allocated, Network xpv2.ConditionReason
	}
	const creation, gone = ReasonCreationSucceeded, xpv2.ReasonUnavailable
	running := func(w want) want {
		w.Exists, w.Phase = true, v1alpha1.MachineRunning
		w.Created, w.Allocated, w.Network = creation, ReasonAllocationSucceeded, ReasonNetworkReady
		if w.Ready == "" {
			w.Ready = xpv2.ReasonAvailable
		}
		return w
	}
	halted := func(w want) want {
		w = running(w)
		w.Phase = v1alpha1.MachineStopped
		return w
	}
	waiting := want{Exists: true, UpToDate: true, Phase: v1alpha1.MachineCreating, Ready: xpv2.ReasonCreating, Created: ReasonCreating}
	failed := func(w want) want {
		w.Phase, w.Ready = v1alpha1.MachineError, gone
		return w
	}
	cases := map[string]struct {
		reason  string
		machine func(*namespaced.Machine)
		pve     func(*bench)
		want    want
		err     string
	}{
		"Create": {
			reason: "Where there is no VM one is created.",
			want:   want{Phase: v1alpha1.MachinePending, Writes: []string{"Create pve1/10000"}},
		},
		"Clone": {
			reason: "A VM with a template is cloned from it.", machine: fromTemplate,
			pve:  func(b *bench) { b.vms[9000] = templateVM() },
			want: want{Phase: v1alpha1.MachinePending, Writes: []string{"Clone pve1/9000 to 10000"}},
		},
		"CloneToLocalStorage": {
			reason: "A clone on local storage is made where its template is.",
			machine: all(fromTemplate, func(m *namespaced.Machine) {
				delete(m.Annotations, AnnotationNode)
				m.Spec.ForProvider.Clone = &v1alpha1.MachineClone{Full: new(true), Storage: new("local-lvm")}
			}),
			pve: func(b *bench) {
				b.vms[9000] = &guest{node: "pve2", config: map[string]string{"name": "debian", "template": "1", "scsi0": "ceph:base-9000-disk-0,size=8G"}}
				b.on["Clone"] = func() {
					if got := b.m.GetAnnotations()[AnnotationNode]; got != "pve2" {
						b.errs["Clone"] = errors.Errorf("clone on %s", got)
					}
				}
			},
			want: want{Phase: v1alpha1.MachinePending, Writes: []string{"Clone pve2/9000 to 10000"}},
		},
		"CloneToSharedStorage": {
			reason: "A clone on shared storage is made where there is most memory.",
			machine: all(fromTemplate, func(m *namespaced.Machine) {
				delete(m.Annotations, AnnotationNode)
			}),
			pve: func(b *bench) {
				b.vms[9000] = &guest{node: "pve2", config: map[string]string{"name": "debian", "template": "1", "scsi0": "ceph:base-9000-disk-0,size=8G"}}
				b.on["Clone"] = func() {
					if got := b.m.GetAnnotations()[AnnotationNode]; got != "pve1" {
						b.errs["Clone"] = errors.Errorf("clone on %s", got)
					}
				}
			},
			want: want{Phase: v1alpha1.MachinePending, Writes: []string{"Clone pve2/9000 to 10000"}},
		},
		"LocalTemplateElsewhere": {
			reason:  "A linked clone of a template on local storage cannot be on another node.",
			machine: all(fromTemplate, func(m *namespaced.Machine) { m.Spec.ForProvider.Node = new("pve2") }),
			pve:     func(b *bench) { b.vms[9000] = templateVM() },
			want:    failed(want{Allocated: ReasonAllocationFailed}), err: "set clone.full to true for one on node pve2",
		},
		"LocalTemplateTravels": {
			reason: "A full clone of a template on local storage is made there, and goes to its node later.",
			machine: all(fromTemplate, func(m *namespaced.Machine) {
				m.Spec.ForProvider.Node, m.Spec.ForProvider.Clone = new("pve2"), &v1alpha1.MachineClone{Full: new(true)}
			}),
			pve: func(b *bench) {
				b.vms[9000] = templateVM()
				b.on["Clone"] = func() {
					if got := b.m.GetAnnotations()[AnnotationNode]; got != "pve1" {
						b.errs["Clone"] = errors.Errorf("clone on %s", got)
					}
				}
			},
			want: want{Phase: v1alpha1.MachinePending, Writes: []string{"Clone pve1/9000 to 10000"}},
		},
		"LocalTemplateCannotTravel": {
			reason: "Before a clone is made, the storage of its disks is looked for on the node that it goes to.",
			machine: all(fromTemplate, func(m *namespaced.Machine) {
				m.Spec.ForProvider.Node, m.Spec.ForProvider.Clone = new("pve2"), &v1alpha1.MachineClone{Full: new(true)}
			}),
			pve: func(b *bench) {
				b.vms[9000] = templateVM()
				b.storages = slices.DeleteFunc(b.storages, func(s proxmox.Storage) bool { return s.Name == "local-lvm" && s.Node == "pve2" })
			},
			want: failed(want{Allocated: ReasonAllocationFailed}), err: "storage 'local-lvm' not found on node pve2; the storages for disks there are ceph",
		},
		"NoTemplate": {
			reason: "Without its template a VM is not created.", machine: fromTemplate,
			want: failed(want{Created: ReasonCreationFailed}), err: "template 'debian' not found",
		},
		"NoStorage": {
			reason: "Without its storage a VM is not created.",
			machine: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a", Size: new("1G"), Storage: new("nowhere")}}
			},
			want: failed(want{Allocated: ReasonAllocationFailed}), err: "storage 'nowhere' not found on node pve1",
		},
		"WrongStorage": {
			reason: "A storage that holds no disks is named.",
			machine: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a", Size: new("1G"), Storage: new("iso")}}
			},
			want: failed(want{Allocated: ReasonAllocationFailed}), err: "storage 'iso' does not hold disks: its content is iso",
		},
		"NoBridge": {
			reason: "Without its bridge a VM is not created.",
			machine: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Networks = []v1alpha1.MachineNetwork{{Name: "a", Bridge: new("vmbr9")}}
			},
			want: failed(want{Network: ReasonNetworkError}), err: "bridge 'vmbr9' not found on node pve1",
		},
		"BridgesUnseen": {
			reason: "Who may not list bridges is not kept from using them.",
			machine: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Networks = []v1alpha1.MachineNetwork{{Name: "a", Bridge: new("vmbr9")}}
			},
			pve:  func(b *bench) { b.errs["Bridges"] = refused(403, "Permission check failed (/nodes/pve1, Sys.Audit)") },
			want: want{Phase: v1alpha1.MachinePending, Writes: []string{"Create pve1/10000"}},
		},
		"TooMuchMemory": {
			reason: "A VM that is larger than its node is not created.", machine: func(m *namespaced.Machine) { m.Spec.ForProvider.Memory = quantity("65Gi") },
			want: failed(want{Allocated: ReasonInsufficientResources}), err: "insufficient resources on node pve1",
		},
		"NodeOffline": {
			reason: "A VM that is not there yet goes to another node when the chosen one goes offline.",
			pve:    func(b *bench) { b.nodes[0].Status = "offline" },
			want:   want{Phase: v1alpha1.MachinePending, Writes: []string{"Create pve2/10000"}},
		},
		"WantedNodeOffline": {
			reason: "Nothing is created on a node that is offline.", machine: func(m *namespaced.Machine) { m.Spec.ForProvider.Node = new("pve1") },
			pve:  func(b *bench) { b.nodes[0].Status = "offline" },
			want: failed(want{Created: ReasonCreationFailed}), err: `node "pve1" is offline`,
		},
		"OtherNode": {
			reason: "A node that was changed before there is a VM counts.", machine: func(m *namespaced.Machine) { m.Spec.ForProvider.Node = new("pve2") },
			want: want{Phase: v1alpha1.MachinePending, Writes: []string{"Create pve2/10000"}},
		},
		"CreateRefused": {
			reason: "What PVE refuses is an error.", pve: func(b *bench) { b.errs["Create"] = refused(500, "no such pool 'x'") },
			want: want{Phase: v1alpha1.MachinePending, Writes: []string{"Create pve1/10000"}}, err: "no such pool",
		},
		"BeingCreated": {
			reason: "A VM that shows no identity yet is left alone.",
			pve: func(b *bench) {
				b.vms[10000] = &guest{node: "pve1", status: "stopped", config: map[string]string{"lock": "create"}}
			},
			want: waiting,
		},
		"BeingCloned": {
			reason: "A clone is left alone until its lock is gone.", machine: fromTemplate,
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.vms[10000].config["lock"] = "clone"
			},
			want: waiting,
		},
		"CreationUnseen": {
			reason: "While a task works on the VMID nothing is created.",
			pve: func(b *bench) {
				b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "qmcreate", ID: "10000", Running: true}}
			},
			want: waiting,
		},
		"CloneUnseen": {
			reason: "The clone whose answer was lost may be under way: its task names the source only.",
			machine: all(fromTemplate, func(m *namespaced.Machine) {
				m.Annotations[AnnotationSource] = "9000"
				meta.SetExternalCreatePending(m, newClock().now().Add(-time.Minute))
			}),
			pve: func(b *bench) {
				b.vms[9000] = templateVM()
				b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "qmclone", ID: "9000", Running: true}}
			},
			want: waiting,
		},
		"CloneOfOthers": {
			reason: "Clones of the template long after ours are somebody else's.",
			machine: all(fromTemplate, func(m *namespaced.Machine) {
				m.Annotations[AnnotationSource] = "9000"
				meta.SetExternalCreatePending(m, newClock().now().Add(-time.Hour))
			}),
			pve: func(b *bench) {
				b.vms[9000] = templateVM()
				b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "qmclone", ID: "9000", Running: true}}
			},
			want: want{Phase: v1alpha1.MachinePending, Writes: []string{"Clone pve1/9000 to 10000"}},
		},
		"UnknownOutcome": {
			reason: "A creation whose answer was lost is found by its identity, on the node where it was to be.",
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.hidden[10000] = true
			},
			want: running(want{UpToDate: true}),
		},
		"ForeignNamed": {
			reason: "Somebody else's VM at the VMID that the user named is not touched.", machine: named(10000),
			pve:  func(b *bench) { b.vms[10000] = theirVM() },
			want: want{Phase: v1alpha1.MachineError, Ready: ReasonNotOurs, Created: ReasonCreationFailed}, err: "VM 10000 already exists on node pve2",
		},
		"ForeignAllocated": {
			reason: "A VMID of our choice is exchanged for another.", pve: func(b *bench) { b.vms[10000] = theirVM() },
			want: want{Phase: v1alpha1.MachinePending, Writes: []string{"Create pve1/10001"}},
		},
		"ForeignAfterOurs": {
			reason:  "Once a VM was seen to be ours its VMID stays: who took its place is left alone.",
			machine: func(m *namespaced.Machine) { m.Status.AtProvider.UUID = ourUUID },
			pve:     func(b *bench) { b.vms[10000] = theirVM() },
			want:    want{Phase: v1alpha1.MachineError, Ready: ReasonNotOurs, Created: ReasonCreationFailed}, err: "is not this resource's",
		},
		"ForeignDeleted": {
			reason: "A resource whose VMID somebody else has is released without a call.", machine: all(named(10000), deleted),
			pve:  func(b *bench) { b.vms[10000] = theirVM() },
			want: want{},
		},
		"Moving": {
			reason: "A VM that is listed where it cannot be found is not taken for absent.",
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.errs["Pending"] = refused(500, "Configuration file 'nodes/pve1/qemu-server/10000.conf' does not exist")
			},
			want: want{}, err: "VM 10000 is listed on node",
		},
		"MovingDeleted": {
			reason: "Nor is it when the resource is deleted: the VM would be left behind.", machine: deleted,
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.errs["Pending"] = refused(500, "Configuration file 'nodes/pve1/qemu-server/10000.conf' does not exist")
			},
			want: want{}, err: "VM 10000 is listed on node",
		},
		"Migrated": {
			reason: "A VM is followed to where it is.",
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.vms[10000].node = "pve2"
			},
			want: running(want{UpToDate: true}),
		},
		"Unchanged": {
			reason: "A VM that is as it should be is left alone.", pve: func(b *bench) { b.vms[10000] = ourVM("running") },
			want: running(want{UpToDate: true}),
		},
		"Start": {
			reason: "A VM that was stopped is started.", pve: func(b *bench) { b.vms[10000] = ourVM("stopped") },
			want: halted(want{Ready: ReasonStopped, Writes: []string{"Start 10000"}}),
		},
		"Stop": {
			reason: "A VM that is to be stopped is asked to shut down first.",
			machine: all(stopped, func(m *namespaced.Machine) {
				m.Spec.ForProvider.ShutdownTimeoutSeconds = new(int32(30))
			}),
			pve:  func(b *bench) { b.vms[10000] = ourVM("running") },
			want: running(want{Ready: ReasonStopped, Writes: []string{"Shutdown 10000 30s force true"}}),
		},
		"Stopped": {
			reason: "A VM that is to be stopped is available when it is.", machine: stopped,
			pve:  func(b *bench) { b.vms[10000] = ourVM("stopped") },
			want: halted(want{UpToDate: true}),
		},
		"ChangeAndStart": {
			reason:  "Changes that take no task go before the start, with the digest of what was read.",
			machine: func(m *namespaced.Machine) { m.Spec.ForProvider.Memory = quantity("2Gi") },
			pve:     func(b *bench) { b.vms[10000] = ourVM("stopped") },
			want:    halted(want{Ready: ReasonStopped, Writes: []string{"Configure 10000 set memory delete  digest d1", "Start 10000"}}),
		},
		"CloneFinished": {
			reason: "A clone gets its identity before it starts.",
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.vms[10000].config["smbios1"] = "uuid=" + otherUUID
				b.vms[10000].config["description"] = qemu.Identity{UUID: ourUUID}.Mark("")
			},
			want: want{
				Exists: true, Phase: v1alpha1.MachineCreating, Ready: xpv2.ReasonCreating, Created: creation, Allocated: ReasonAllocationSucceeded, Network: ReasonNetworkReady,
				Writes: []string{"Configure 10000 set smbios1 delete description digest d1", "Start 10000"},
			},
		},
		"ChangeFailed": {
			reason:  "What follows a change waits for it.",
			machine: func(m *namespaced.Machine) { m.Spec.ForProvider.Memory = quantity("2Gi") },
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.errs["Configure"] = refused(500, "checksum mismatch (file change by other user?)")
			},
			want: halted(want{Ready: ReasonStopped, Writes: []string{"Configure 10000 set memory delete  digest d1"}}), err: "checksum mismatch",
		},
		"HotplugRefused": {
			reason:  "What a running VM does not take is pending, and no error.",
			machine: func(m *namespaced.Machine) { m.Spec.ForProvider.CPU = &v1alpha1.MachineCPU{Cores: new(int32(2))} },
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.errs["Configure"] = refused(400, "hotplug problem - cores")
			},
			want: running(want{Writes: []string{"Configure 10000 set cores delete  digest d1"}}),
		},
		"NewDisk": {
			reason: "What takes a task goes alone.",
			machine: all(stopped, func(m *namespaced.Machine) {
				m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a", Size: new("1G")}}
			}),
			pve:  func(b *bench) { b.vms[10000] = ourVM("running") },
			want: running(want{Ready: ReasonStopped, Writes: []string{"ConfigureAsync 10000 set scsi0 delete  digest d1"}}),
		},
		"Grow": {
			reason: "One disk grows at a time, after other changes and before the start.",
			machine: func(m *namespaced.Machine) {
				m.Annotations[AnnotationDevices] = `{"disks":{"a":"scsi0","b":"scsi1"}}`
				m.Spec.ForProvider.OnBoot = new(true)
				m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a", Size: new("2G")}, {Name: "b", Size: new("3G")}}
			},
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.vms[10000].config["scsi0"], b.vms[10000].config["scsi1"] = "s:a,size=1G", "s:b,size=1G"
			},
			want: halted(want{Ready: ReasonStopped, Writes: []string{"Configure 10000 set onboot delete  digest d1", "Resize 10000 scsi0 2G"}}),
		},
		"Refused": {
			reason: "A spec that asks for what cannot be is carried out in no part.",
			machine: func(m *namespaced.Machine) {
				m.Annotations[AnnotationDevices] = `{"disks":{"a":"scsi0"}}`
				m.Spec.ForProvider.OnBoot = new(true)
				m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a", Size: new("1G")}}
			},
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.vms[10000].config["scsi0"] = "s:a,size=2G"
			},
			want: halted(want{Ready: ReasonStopped}), err: "cannot shrink from 2G to 1G",
		},
		"NodeChanged": {
			reason: "A VM whose node is changed in the spec migrates.", machine: func(m *namespaced.Machine) { m.Spec.ForProvider.Node = new("pve2") },
			pve:  func(b *bench) { b.vms[10000] = ourVM("running") },
			want: running(want{Writes: []string{`Migrate 10000 to pve2 online true disks false storage ""`}}),
		},
		"Locked": {
			reason: "A VM that is locked is not written to.",
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.vms[10000].config["lock"] = "backup"
			},
			want: halted(want{UpToDate: true, Ready: ReasonLocked}),
		},
		"Busy": {
			reason: "A VM that somebody's task works on is not written to.",
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "qmigrate", ID: "10000", Running: true}}
			},
			want: halted(want{UpToDate: true, Ready: ReasonStopped}),
		},
		"BusyElsewhere": {
			reason: "Tasks of other VMs, and those that ended, are of no concern.",
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "qmigrate", ID: "10001", Running: true}, {UPID: "v", Type: "qmstop", ID: "10000", ExitStatus: "OK"}}
			},
			want: halted(want{Ready: ReasonStopped, Writes: []string{"Start 10000"}}),
		},
		"Observed": {
			reason: "A resource that may only observe writes nothing.", machine: all(observed, func(m *namespaced.Machine) {
				m.Spec.ForProvider.Memory = quantity("2Gi")
			}),
			pve:  func(b *bench) { b.vms[10000] = ourVM("stopped") },
			want: halted(want{Ready: ReasonStopped}),
		},
		"ObservedAbsent": {
			reason: "Nor does it create.", machine: observed,
			want: want{Phase: v1alpha1.MachinePending},
		},
		"NoVMID": {
			reason: "Without a VMID there is nothing to see.", machine: all(observed, func(m *namespaced.Machine) { delete(m.Annotations, meta.AnnotationKeyExternalName) }),
			want: want{Phase: v1alpha1.MachinePending},
		},
		"BadVMID": {
			reason: "An external name that is no VMID is an error.", machine: func(m *namespaced.Machine) { meta.SetExternalName(m, "web") },
			want: want{}, err: "must be a VMID",
		},
		"ChangedVMID": {
			reason: "A VMID cannot change.", machine: named(12345), want: want{}, err: "a VMID cannot change",
		},
		"ListFails": {
			reason: "Without the list nothing is known of a VM.", pve: func(b *bench) { b.errs["Guests"] = refused(599, "Connection timed out") },
			want: want{}, err: "Connection timed out",
		},
		"DeleteRunning": {
			reason: "A running VM is shut down before it is removed.", machine: deleted, pve: func(b *bench) { b.vms[10000] = ourVM("running") },
			want: running(want{Ready: xpv2.ReasonDeleting, Writes: []string{"Shutdown 10000 0s force true"}, UpToDate: true}),
		},
		"DeleteStopped": {
			reason: "A stopped VM is removed with all that refers to it.", machine: deleted, pve: func(b *bench) { b.vms[10000] = ourVM("stopped") },
			want: halted(want{Ready: xpv2.ReasonDeleting, Writes: []string{"Delete 10000 purge true"}}),
		},
		"DeleteProtected": {
			reason: "A protected VM stays, whether the spec says so or its template did.", machine: deleted,
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.vms[10000].config["protection"] = "1"
			},
			want: running(want{Ready: xpv2.ReasonDeleting, UpToDate: true}), err: "is protected",
		},
		"DeleteProtectedBySpec": {
			reason: "A VM that the spec protects stays, also if its flag was lost.", machine: all(deleted, func(m *namespaced.Machine) {
				m.Spec.ForProvider.Protection = new(true)
			}),
			pve:  func(b *bench) { b.vms[10000] = ourVM("running") },
			want: running(want{Ready: xpv2.ReasonDeleting, UpToDate: false}), err: "is protected",
		},
		"DeleteUnprotected": {
			reason: "A spec that lifts the protection lets the VM be removed.", machine: all(deleted, func(m *namespaced.Machine) {
				m.Spec.ForProvider.Protection = new(false)
			}),
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.vms[10000].config["protection"] = "1"
			},
			want: halted(want{Ready: xpv2.ReasonDeleting, Writes: []string{"Configure 10000 set protection delete  digest d1", "Delete 10000 purge true"}}),
		},
		"DeleteBeingCreated": {
			reason: "A VM that is being created is removed when it is there.", machine: deleted,
			pve: func(b *bench) {
				b.vms[10000] = &guest{node: "pve1", status: "stopped", config: map[string]string{"lock": "create"}}
				b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "qmcreate", ID: "10000", Running: true}}
			},
			want: want{Exists: true, UpToDate: true, Ready: xpv2.ReasonDeleting},
		},
		"DeleteCreationDied": {
			reason: "A VM whose creation died with its node is not waited for in silence.", machine: deleted,
			pve: func(b *bench) {
				b.vms[10000] = &guest{node: "pve1", status: "stopped", config: map[string]string{"lock": "create"}}
			},
			want: want{Exists: true, UpToDate: true, Ready: xpv2.ReasonDeleting}, err: "qm unlock 10000",
		},
		"DeleteCreationUnseen": {
			reason: "A VM whose creation is not seen yet is waited for.", machine: deleted,
			pve: func(b *bench) {
				b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "qmcreate", ID: "10000", Running: true}}
			},
			want: want{Exists: true, UpToDate: true, Ready: xpv2.ReasonDeleting},
		},
		"DeleteBusy": {
			reason: "A VM that a task works on is removed later.", machine: deleted,
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "qmshutdown", ID: "10000", Running: true}}
			},
			want: running(want{Ready: xpv2.ReasonDeleting, UpToDate: true}),
		},
		"DeleteLocked": {
			reason: "A VM that is locked cannot be removed.", machine: deleted,
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.vms[10000].config["lock"] = "backup"
			},
			want: running(want{Ready: xpv2.ReasonDeleting, UpToDate: true}), err: "VM 10000 is locked (backup)",
		},
		"DeleteAbsent": {
			reason: "What is not there need not be removed.", machine: deleted, want: want{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.machine)
			if tc.pve != nil {
				tc.pve(b)
			}
			s := b.reconcile(t.Context())
			if tc.err == "" && s.err != nil || tc.err != "" && (s.err == nil || !strings.Contains(s.err.Error(), tc.err)) {
				t.Errorf("\n%s\nwant error %q, got %v", tc.reason, tc.err, s.err)
			}
			got := want{
				Exists: s.exists, UpToDate: s.upToDate, Writes: b.writes, Phase: b.m.Observation().Phase,
				Ready: b.m.GetCondition(xpv2.TypeReady).Reason, Created: b.m.GetCondition(TypeVMCreated).Reason,
				Allocated: b.m.GetCondition(TypeResourcesAllocated).Reason, Network: b.m.GetCondition(TypeNetworkConfigured).Reason,
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nreconcile: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// kept is an annotation as the API server has it.
func (b *bench) kept(t *testing.T, name string) string {
	t.Helper()
	m := &namespaced.Machine{}
	if err := b.kube.Get(t.Context(), client.ObjectKeyFromObject(b.m), m); err != nil {
		t.Fatal(err)
	}
	return m.GetAnnotations()[name]
}

func TestTaskFails(t *testing.T) {
	b := newBench(t, nil)
	b.vms[10000] = ourVM("stopped")
	start := upid("pve1", "qmstart", 10000)
	reconcile := func(why string, wantErr bool, writes int) {
		t.Helper()
		s := b.reconcile(t.Context())
		if (s.err != nil) != wantErr || len(b.writes) != writes {
			t.Errorf("%s: want error %t and %d calls in all, got %v and %q", why, wantErr, writes, s.err, b.writes)
		}
	}
	reconcile("A stopped VM is started", false, 1)
	reconcile("A task that runs is waited for", false, 1)
	b.end(t, start, "KVM virtualisation configured, but not available")
	reconcile("A failure is shown, and not tried again at once", true, 1)
	if p := b.m.Observation().Phase; p != v1alpha1.MachineError {
		t.Errorf("The phase after a failure is %s", p)
	}
	if s := b.reconcile(t.Context()); !proxmox.IsTaskFailed(s.err) || !strings.Contains(s.err.Error(), "KVM virtualisation") {
		t.Errorf("Want the task's own message, got %v", s.err)
	}
	if l := b.m.Observation().LastTask; l == nil || l.Type != "qmstart" || !strings.Contains(l.Result, "KVM") {
		t.Errorf("The last task is shown, got %v", l)
	}
	b.m.Generation = 2
	reconcile("A changed spec is tried at once", false, 2)
	b.end(t, start, "boom")
	b.clock.wait(lastRetry)
	reconcile("Who looks late is told, too", true, 2)
	reconcile("In time it is tried again", false, 3)
	b.end(t, start, "WARNINGS: 1")
	b.vms[10000].status = "running"
	reconcile("Warnings are no failure", false, 3)
	if c := b.m.GetCondition(xpv2.TypeReady); c.Reason != xpv2.ReasonAvailable {
		t.Errorf("Ready is %v", c)
	}
}

func TestAdoptionIsKept(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) {
		delete(m.Annotations, AnnotationDevices)
		delete(m.Annotations, AnnotationAllocated)
		m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a"}, {Name: "b"}}
	})
	b.vms[10000] = ourVM("running")
	b.vms[10000].config["scsi0"], b.vms[10000].config["scsi1"], b.vms[10000].config["scsi2"] = "s:a,size=1G", "s:b,size=1G", "s:c,size=1G"
	for range 2 {
		if s := b.reconcile(t.Context()); s.err != nil {
			t.Fatal(s.err)
		}
	}
	if got, want := b.kept(t, AnnotationDevices), `{"disks":{"a":"scsi0","b":"scsi1"},"seen":{"a":true,"b":true}}`; got != want {
		t.Errorf("Which device an entry stands for is kept, got %s", got)
	}
	if s := b.reconcile(t.Context()); !s.upToDate || len(b.writes) != 0 {
		t.Errorf("Adoption changes nothing: %+v, %q", s, b.writes)
	}
	b.m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "new", Size: new("1G")}, {Name: "b"}, {Name: "a", Size: new("5G")}}
	b.reconcile(t.Context())
	if diff := cmp.Diff([]string{"ConfigureAsync 10000 set scsi3 delete  digest d1"}, b.writes); diff != "" {
		t.Errorf("A new entry is a new device, and an undeclared disk stays undeclared: -want, +got:\n%s", diff)
	}
}

func TestForgetDetached(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) { m.Annotations[AnnotationDevices] = `{"disks":{"a":"scsi0","b":"scsi1"}}` })
	b.m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a"}}
	b.vms[10000] = ourVM("running")
	b.vms[10000].config["scsi0"], b.vms[10000].config["scsi1"] = "s:a,size=1G", "s:b,size=1G"
	b.reconcile(t.Context())
	if diff := cmp.Diff([]string{"Configure 10000 set  delete scsi1 digest d1"}, b.writes); diff != "" {
		t.Errorf("A disk that was taken off the list is detached: -want, +got:\n%s", diff)
	}
	delete(b.vms[10000].config, "scsi1")
	b.reconcile(t.Context())
	b.vms[10000].config["scsi1"] = "s:hers,size=1G"
	if s := b.reconcile(t.Context()); !s.upToDate || len(b.writes) != 1 {
		t.Errorf("What a person attaches in its place stays: %+v, %q", s, b.writes)
	}
}

func TestDifferenceIsShown(t *testing.T) {
	b := newBench(t, all(observed, func(m *namespaced.Machine) {
		m.Spec.ForProvider.Memory = quantity("2Gi")
		m.Spec.ForProvider.Description = new("")
	}))
	b.vms[10000] = ourVM("running")
	b.vms[10000].config["memory"], b.vms[10000].config["description"] = "1024", "x"
	b.vms[10000].pending = map[string]string{"memory": "4096"}
	b.reconcile(t.Context())
	want := []v1alpha1.MachinePendingChange{{Option: "memory", Current: "4096", Desired: "2048"}, {Option: "description", Current: "x"}}
	if diff := cmp.Diff(want, b.m.Observation().Difference); diff != "" {
		t.Errorf("The difference is shown without being made: -want, +got:\n%s", diff)
	}
	if len(b.writes) != 0 {
		t.Errorf("Nothing may be written, got %q", b.writes)
	}
}

func TestAgent(t *testing.T) {
	eth0 := []proxmox.Interface{{Name: "eth0", Addresses: addrs("192.0.2.1")}}
	cases := map[string]struct {
		reason  string
		agent   string
		answer  []proxmox.Interface
		err     error
		before  []string
		want    []string
		network xpv2.ConditionReason
	}{
		"Answers": {reason: "What the agent reports is shown.", agent: "1", answer: eth0, want: []string{"192.0.2.1"}, network: ReasonNetworkReady},
		"Boots":   {reason: "An agent that is not up yet is waited for.", agent: "1", err: refused(500, "QEMU guest agent is not running"), network: ReasonNetworkPending},
		"Silent":  {reason: "What it reported before stays while it does not answer.", agent: "1", err: refused(500, "QEMU guest agent is not running"), before: []string{"192.0.2.2"}, want: []string{"192.0.2.2"}, network: ReasonNetworkReady},
		"Off":     {reason: "An agent that was turned off is not asked, and what it reported is out of date.", agent: "0", answer: eth0, before: []string{"192.0.2.2"}, network: ReasonNetworkReady},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.vms[10000] = ourVM("running")
			b.vms[10000].config["agent"], b.vms[10000].config["net0"] = tc.agent, "virtio=BC:24:11:00:00:01,bridge=vmbr0"
			b.vms[10000].agent, b.errs["Interfaces"] = tc.answer, tc.err
			if tc.err != nil {
				b.vms[10000].agent = nil
			}
			b.m.Observation().IPAddresses = tc.before
			if s := b.reconcile(t.Context()); s.err != nil || !s.upToDate {
				t.Errorf("\n%s\nan agent is no reason to stop: %+v", tc.reason, s)
			}
			if diff := cmp.Diff(tc.want, b.m.Observation().IPAddresses); diff != "" {
				t.Errorf("\n%s\naddresses: -want, +got:\n%s", tc.reason, diff)
			}
			if got := b.m.GetCondition(TypeNetworkConfigured).Reason; got != tc.network {
				t.Errorf("\n%s\nwant %s, got %s", tc.reason, tc.network, got)
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	for _, call := range []string{"Status", "Pending", "RecentTasks", "Nodes", "FreshGuests", "Storages"} {
		t.Run(call, func(t *testing.T) {
			b := newBench(t, nil)
			if call == "Status" || call == "Pending" {
				b.vms[10000] = ourVM("stopped")
				b.pve.tasks = []proxmox.Task{{ID: "10000", UPID: upid("pve1", "qmstop", 10000)}} // The list of VMs may be older.
			}
			b.errs[call] = refused(595, "No route to host")
			if s := b.reconcile(t.Context()); !proxmox.IsUnavailable(s.err) || len(b.writes) != 0 {
				t.Errorf("What cannot be read must be an error and nothing may be done, got %v and %q", s.err, b.writes)
			}
		})
	}
}

func TestBrokenAnnotation(t *testing.T) {
	b := newBench(t, nil)
	b.m.Annotations[AnnotationDevices] = "scsi0"
	b.vms[10000] = ourVM("stopped")
	if s := b.reconcile(t.Context()); s.err == nil || len(b.writes) != 0 {
		t.Errorf("Devices that cannot be read must be an error and nothing may be done, got %v and %q", s.err, b.writes)
	}
}

func TestWithoutObserve(t *testing.T) {
	e := newBench(t, nil).external()
	m := resourceOf("a", 1)
	if _, err := e.Create(t.Context(), m); err == nil {
		t.Error("Nothing may be created that was not looked for")
	}
	if _, err := e.Update(t.Context(), m); err == nil {
		t.Error("Nothing may be changed that was not looked at")
	}
	if _, err := e.Delete(t.Context(), m); err != nil {
		t.Errorf("What is not there is deleted: %v", err)
	}
	if err := e.Disconnect(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRefusalCondition(t *testing.T) {
	type want struct {
		Type   xpv2.ConditionType
		Reason xpv2.ConditionReason
	}
	cases := map[string]struct {
		reason string
		err    error
		want   want
	}{
		"Other":      {reason: "An error that is no refusal is one of creation.", err: errors.New("boom"), want: want{TypeVMCreated, ReasonCreationFailed}},
		"Creating":   {reason: "A template that is missing is one of creation.", err: refuse(creating, "boom"), want: want{TypeVMCreated, ReasonCreationFailed}},
		"Allocating": {reason: "A storage that is missing is one of resources.", err: errors.Wrap(refuse(allocating, "boom"), "x"), want: want{TypeResourcesAllocated, ReasonAllocationFailed}},
		"Overcommit": {reason: "A node that is too small has too few of them.", err: refuse(overcommitting, "boom"), want: want{TypeResourcesAllocated, ReasonInsufficientResources}},
		"Networking": {reason: "A bridge that is missing is one of the network.", err: refuse(networking, "boom"), want: want{TypeNetworkConfigured, ReasonNetworkError}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := refusalCondition(tc.err)
			if diff := cmp.Diff(tc.want, want{c.Type, c.Reason}); diff != "" || c.Message != tc.err.Error() {
				t.Errorf("\n%s\nrefusalCondition: %q, -want, +got:\n%s", tc.reason, c.Message, diff)
			}
		})
	}
}
