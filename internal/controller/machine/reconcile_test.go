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

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

func fromTemplate(m *namespaced.Machine) {
	m.Spec.ForProvider.Template = new(intstr.FromString("debian"))
}

func named(vmid int32) func(*namespaced.Machine) {
	return func(m *namespaced.Machine) {
		m.Spec.ForProvider.VMID = &vmid
		delete(m.Annotations, object.AnnotationAllocated)
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

// policies sets what a Machine may do.
func policies(actions ...xpv2.ManagementAction) func(*namespaced.Machine) {
	return func(m *namespaced.Machine) { m.SetManagementPolicies(actions) }
}

// rekeyed is a Machine whose UUID a user has changed since its VM was seen.
func rekeyed(m *namespaced.Machine) {
	m.Annotations[object.AnnotationUUID], m.Status.AtProvider = otherUUID, v1alpha1.MachineObservation{VMID: new(int32(10000)), UUID: ourUUID}
}

// known is a Machine whose VM was seen.
func known(m *namespaced.Machine) {
	m.Status.AtProvider = v1alpha1.MachineObservation{VMID: new(int32(10000)), UUID: ourUUID}
}

// overwritten returns a VM that a backup is restored over, as Proxmox VE shows it, and restores the task that does so.
func overwritten() *guest {
	return &guest{node: "pve1", status: "stopped", config: map[string]string{"memory": "128"}}
}

func restores() []proxmox.Task {
	return []proxmox.Task{{UPID: "UPID:pve1:1:1:1:qmrestore:10000:root@pam:", Type: "qmrestore", ID: "10000", Running: true}}
}

func all(changes ...func(*namespaced.Machine)) func(*namespaced.Machine) {
	return func(m *namespaced.Machine) {
		for _, change := range changes {
			change(m)
		}
	}
}

// A reconcile is a test case for a Machine: what is seen, what is done about it, and what the user is shown.
type reconcile struct {
	reason  string
	machine func(*namespaced.Machine)
	pve     func(*bench)
	want    outcome
	err     string
}

// An outcome of a reconcile.
type outcome struct {
	Exists, UpToDate bool
	Writes           []string
	Phase            v1alpha1.MachinePhase
	// Reasons of the conditions, where there are any.
	Ready, Created, Allocated, Network xpv2.ConditionReason
}

func (r reconcile) test(t *testing.T) {
	b := newBench(t, r.machine)
	if r.pve != nil {
		r.pve(b)
	}
	s := b.reconcile(t.Context())
	if r.err == "" && s.err != nil || r.err != "" && (s.err == nil || !strings.Contains(s.err.Error(), r.err)) {
		t.Errorf("\n%s\nwant error %q, got %v", r.reason, r.err, s.err)
	}
	got := outcome{
		Exists: s.exists, UpToDate: s.upToDate, Writes: b.writes, Phase: b.m.Observation().Phase,
		Ready: b.m.GetCondition(xpv2.TypeReady).Reason, Created: b.m.GetCondition(conditions.TypeVMCreated).Reason,
		Allocated: b.m.GetCondition(conditions.TypeResourcesAllocated).Reason, Network: b.m.GetCondition(conditions.TypeNetworkConfigured).Reason,
	}
	if diff := cmp.Diff(r.want, got); diff != "" {
		t.Errorf("\n%s\nreconcile: -want, +got:\n%s", r.reason, diff)
	}
}

// runningVM returns the outcome for a running VM, stoppedVM for one that does not run.
func runningVM(o outcome) outcome {
	o.Exists, o.Phase = true, v1alpha1.MachineRunning
	o.Created, o.Allocated, o.Network = conditions.ReasonCreationSucceeded, conditions.ReasonAllocationSucceeded, conditions.ReasonNetworkReady
	if o.Ready == "" {
		o.Ready = xpv2.ReasonAvailable
	}
	return o
}

func stoppedVM(o outcome) outcome {
	o = runningVM(o)
	o.Phase = v1alpha1.MachineStopped
	return o
}

// waiting returns the outcome for a VM that is being created.
func waiting() outcome {
	return outcome{Exists: true, UpToDate: true, Phase: v1alpha1.MachineCreating, Ready: xpv2.ReasonCreating, Created: conditions.ReasonCreating}
}

// missing returns the outcome where there is no VM and none is to be created.
func missing() outcome {
	return outcome{UpToDate: true, Phase: v1alpha1.MachinePending, Ready: xpv2.ReasonUnavailable, Created: conditions.ReasonCreationFailed}
}

// failed returns the outcome where a VM cannot be created.
func failed(o outcome) outcome {
	o.Phase, o.Ready = v1alpha1.MachineError, xpv2.ReasonUnavailable
	return o
}

// TestReconcileCreation covers Machines that have no VM yet.
func TestReconcileCreation(t *testing.T) {
	cases := map[string]reconcile{
		"Create": {
			reason: "Where there is no VM one is created.",
			want:   outcome{Phase: v1alpha1.MachinePending, Writes: []string{"Create pve1/10000"}},
		},
		"NoStorage": {
			reason: "A VM is not created without its storage.",
			machine: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a", Size: new("1G"), Storage: new("nowhere")}}
			},
			want: failed(outcome{Allocated: conditions.ReasonAllocationFailed}), err: "storage 'nowhere' not found on node pve1",
		},
		"WrongStorage": {
			reason: "A storage that holds no disks is named.",
			machine: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a", Size: new("1G"), Storage: new("iso")}}
			},
			want: failed(outcome{Allocated: conditions.ReasonAllocationFailed}), err: "storage 'iso' does not hold disks: its content is iso",
		},
		"NoBridge": {
			reason: "A VM is not created without its bridge.",
			machine: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Networks = []v1alpha1.MachineNetwork{{Name: "a", Bridge: new("vmbr9")}}
			},
			want: failed(outcome{Network: conditions.ReasonNetworkError}), err: "bridge 'vmbr9' not found on node pve1",
		},
		"BridgesUnseen": {
			reason: "Who may not list bridges is not kept from using them.",
			machine: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Networks = []v1alpha1.MachineNetwork{{Name: "a", Bridge: new("vmbr9")}}
			},
			pve:  func(b *bench) { b.errs["Bridges"] = refused(403, "Permission check failed (/nodes/pve1, Sys.Audit)") },
			want: outcome{Phase: v1alpha1.MachinePending, Writes: []string{"Create pve1/10000"}},
		},
		"TooMuchMemory": {
			reason: "A VM that is larger than its node is not created.", machine: func(m *namespaced.Machine) { m.Spec.ForProvider.Memory = quantity("65Gi") },
			want: failed(outcome{Allocated: conditions.ReasonInsufficientResources}), err: "insufficient resources on node pve1",
		},
		"NodeOffline": {
			reason: "A VM that is not there yet goes to another node when the chosen one goes offline.",
			pve:    func(b *bench) { b.nodes[0].Status = "offline" },
			want:   outcome{Phase: v1alpha1.MachinePending, Writes: []string{"Create pve2/10000"}},
		},
		"WantedNodeOffline": {
			reason: "Nothing is created on a node that is offline.", machine: func(m *namespaced.Machine) { m.Spec.ForProvider.Node = new("pve1") },
			pve:  func(b *bench) { b.nodes[0].Status = "offline" },
			want: failed(outcome{Created: conditions.ReasonCreationFailed}), err: `node "pve1" is offline`,
		},
		"WantedNodeUnknown": {
			reason:  "A node that the cluster does not have is named, and nothing is created.",
			machine: func(m *namespaced.Machine) { m.Spec.ForProvider.Node = new("pve9") },
			want:    failed(outcome{Allocated: conditions.ReasonAllocationFailed}), err: "pve9",
		},
		"OtherNode": {
			reason: "A node that was changed before there is a VM counts.", machine: func(m *namespaced.Machine) { m.Spec.ForProvider.Node = new("pve2") },
			want: outcome{Phase: v1alpha1.MachinePending, Writes: []string{"Create pve2/10000"}},
		},
		"CreateRefused": {
			reason: "What PVE refuses is an error.", pve: func(b *bench) { b.errs["Create"] = refused(500, "no such pool 'x'") },
			want: outcome{Phase: v1alpha1.MachinePending, Writes: []string{"Create pve1/10000"}}, err: "no such pool",
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.test)
	}
}

// TestReconcileClone covers Machines whose VM is to be cloned from a template.
func TestReconcileClone(t *testing.T) {
	cases := map[string]reconcile{
		"Clone": {
			reason: "A VM with a template is cloned from it.", machine: fromTemplate,
			pve:  func(b *bench) { b.vms[9000] = templateVM() },
			want: outcome{Phase: v1alpha1.MachinePending, Writes: []string{"Clone pve1/9000 to 10000"}},
		},
		"CloneToLocalStorage": {
			reason: "A clone on local storage is made where its template is.",
			machine: all(fromTemplate, func(m *namespaced.Machine) {
				delete(m.Annotations, object.AnnotationNode)
				m.Spec.ForProvider.Clone = &v1alpha1.MachineClone{Full: new(true), Storage: new("local-lvm")}
			}),
			pve: func(b *bench) {
				b.vms[9000] = &guest{node: "pve2", config: map[string]string{"name": "debian", "template": "1", "scsi0": "ceph:base-9000-disk-0,size=8G"}}
				b.on["Clone"] = func() {
					if got := b.m.GetAnnotations()[object.AnnotationNode]; got != "pve2" {
						b.errs["Clone"] = errors.Errorf("clone on %s", got)
					}
				}
			},
			want: outcome{Phase: v1alpha1.MachinePending, Writes: []string{"Clone pve2/9000 to 10000"}},
		},
		"CloneToSharedStorage": {
			reason: "A clone on shared storage is made where there is most memory.",
			machine: all(fromTemplate, func(m *namespaced.Machine) {
				delete(m.Annotations, object.AnnotationNode)
			}),
			pve: func(b *bench) {
				b.vms[9000] = &guest{node: "pve2", config: map[string]string{"name": "debian", "template": "1", "scsi0": "ceph:base-9000-disk-0,size=8G"}}
				b.on["Clone"] = func() {
					if got := b.m.GetAnnotations()[object.AnnotationNode]; got != "pve1" {
						b.errs["Clone"] = errors.Errorf("clone on %s", got)
					}
				}
			},
			want: outcome{Phase: v1alpha1.MachinePending, Writes: []string{"Clone pve2/9000 to 10000"}},
		},
		"LocalTemplateElsewhere": {
			reason:  "A linked clone of a template on local storage cannot be on another node.",
			machine: all(fromTemplate, func(m *namespaced.Machine) { m.Spec.ForProvider.Node = new("pve2") }),
			pve:     func(b *bench) { b.vms[9000] = templateVM() },
			want:    failed(outcome{Allocated: conditions.ReasonAllocationFailed}), err: "set clone.full to true for one on node pve2",
		},
		"LocalTemplateMigrates": {
			reason: "A full clone of a template on local storage is made there, and goes to its node later.",
			machine: all(fromTemplate, func(m *namespaced.Machine) {
				m.Spec.ForProvider.Node, m.Spec.ForProvider.Clone = new("pve2"), &v1alpha1.MachineClone{Full: new(true)}
			}),
			pve: func(b *bench) {
				b.vms[9000] = templateVM()
				b.on["Clone"] = func() {
					if got := b.m.GetAnnotations()[object.AnnotationNode]; got != "pve1" {
						b.errs["Clone"] = errors.Errorf("clone on %s", got)
					}
				}
			},
			want: outcome{Phase: v1alpha1.MachinePending, Writes: []string{"Clone pve1/9000 to 10000"}},
		},
		"LocalTemplateCannotMigrate": {
			reason: "Before a clone is made, the storage of its disks is looked for on the node that it goes to.",
			machine: all(fromTemplate, func(m *namespaced.Machine) {
				m.Spec.ForProvider.Node, m.Spec.ForProvider.Clone = new("pve2"), &v1alpha1.MachineClone{Full: new(true)}
			}),
			pve: func(b *bench) {
				b.vms[9000] = templateVM()
				b.storages = slices.DeleteFunc(b.storages, func(s proxmox.Storage) bool { return s.Name == "local-lvm" && s.Node == "pve2" })
			},
			want: failed(outcome{
				Allocated: conditions.ReasonAllocationFailed,
			}), err: "storage 'local-lvm' not found on node pve2; the storages for disks there are ceph",
		},
		"NoTemplate": {
			reason: "A VM is not created without its template.", machine: fromTemplate,
			want: failed(outcome{Created: conditions.ReasonCreationFailed}), err: "template 'debian' not found",
		},
		"CloneOfOthers": {
			reason: "Clones of the template long after ours are somebody else's.",
			machine: all(fromTemplate, func(m *namespaced.Machine) {
				m.Annotations[object.AnnotationSource] = "9000"
				meta.SetExternalCreatePending(m, newClock().now().Add(-time.Hour))
			}),
			pve:  clonesTemplate,
			want: outcome{Phase: v1alpha1.MachinePending, Writes: []string{"Clone pve1/9000 to 10000"}},
		},
		"CloneEnded": {
			reason:  "The clone whose task this process knows to have ended is sent again, although others clone the same template.",
			machine: all(fromTemplate, sentClone),
			pve: func(b *bench) {
				clonesTemplate(b)
				const u = proxmox.UPID("UPID:pve1:1:2:3:qmclone:9000:u@pve:")
				b.tasks.Started(b.m, u)
				b.tasks.Ended(b.m, proxmox.Task{UPID: u, Type: "qmclone", ID: "9000", ExitStatus: "OK"}, nil)
			},
			want: outcome{Phase: v1alpha1.MachinePending, Writes: []string{"Clone pve1/9000 to 10000"}},
		},
		"CloneFinished": {
			reason: "A clone gets its identity before it starts.",
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.vms[10000].config["smbios1"] = "uuid=" + otherUUID
				b.vms[10000].config["description"] = qemu.Identity{UUID: ourUUID}.Mark("")
			},
			want: outcome{
				Exists: true, Phase: v1alpha1.MachineCreating, Ready: xpv2.ReasonCreating, Created: conditions.ReasonCreationSucceeded,
				Allocated: conditions.ReasonAllocationSucceeded, Network: conditions.ReasonNetworkReady,
				Writes: []string{"Configure 10000 set smbios1 delete description digest d1", "Start 10000"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.test)
	}
}

// sentClone is a Machine whose VM was cloned two minutes ago, by a call that was answered.
func sentClone(m *namespaced.Machine) {
	m.Annotations[object.AnnotationSource] = "9000"
	sent := newClock().now().Add(-2 * time.Minute)
	meta.SetExternalCreatePending(m, sent)
	meta.SetExternalCreateSucceeded(m, sent)
}

// clonesTemplate lets another client clone the template.
func clonesTemplate(b *bench) {
	b.vms[9000] = templateVM()
	b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "qmclone", ID: "9000", Running: true}}
}

// TestReconcileUnderWay covers VMs that are not complete yet.
func TestReconcileUnderWay(t *testing.T) {
	cases := map[string]reconcile{
		"BeingCreated": {
			reason: "A VM that shows no identity yet is left alone.",
			pve: func(b *bench) {
				b.vms[10000] = &guest{node: "pve1", status: "stopped", config: map[string]string{"lock": "create"}}
			},
			want: waiting(),
		},
		"BeingCloned": {
			reason: "A clone is left alone until its lock is gone.", machine: fromTemplate,
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.vms[10000].config["lock"] = "clone"
			},
			want: waiting(),
		},
		"CreationUnseen": {
			reason: "While a task works on the VMID nothing is created.",
			pve: func(b *bench) {
				b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "qmcreate", ID: "10000", Running: true}}
			},
			want: waiting(),
		},
		"CloneUnseen": {
			reason: "The clone whose answer was lost may be under way: its task names the source only.",
			machine: all(fromTemplate, func(m *namespaced.Machine) {
				m.Annotations[object.AnnotationSource] = "9000"
				meta.SetExternalCreatePending(m, newClock().now().Add(-time.Minute))
			}),
			pve:  clonesTemplate,
			want: waiting(),
		},
		"CloneUnseenAfterRestart": {
			reason:  "A provider that was restarted after the clone was sent knows no task, and does not send it again while a clone of the template runs.",
			machine: all(fromTemplate, sentClone),
			pve:     clonesTemplate,
			want:    waiting(),
		},
		"UnknownOutcome": {
			reason: "A creation whose answer was lost is found by its identity, on the node where it was to be.",
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.hidden[10000] = true
			},
			want: runningVM(outcome{UpToDate: true}),
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.test)
	}
}

// TestReconcileIdentity covers VMs on other nodes, of others, or that cannot be seen.
func TestReconcileIdentity(t *testing.T) {
	cases := map[string]reconcile{
		"NoVMID": {
			reason: "Without a VMID there is nothing to see.", machine: all(observed, func(m *namespaced.Machine) {
				delete(m.Annotations, meta.AnnotationKeyExternalName)
			}),
			want: missing(),
		},
		"BadVMID": {
			reason: "An external name that is no VMID is an error.", machine: func(m *namespaced.Machine) { meta.SetExternalName(m, "web") },
			want: outcome{}, err: "must be a VMID",
		},
		"ChangedVMID": {
			reason: "A VMID cannot change.", machine: named(12345), want: outcome{}, err: "a VMID cannot change",
		},
		"ListFails": {
			reason: "Without the list nothing is known of a VM.", pve: func(b *bench) { b.errs["Guests"] = refused(599, "Connection timed out") },
			want: outcome{}, err: "Connection timed out",
		},
		"ForeignNamed": {
			reason: "Somebody else's VM at the VMID that the user named is not touched.", machine: named(10000),
			pve: func(b *bench) { b.vms[10000] = theirVM() },
			want: outcome{
				Phase: v1alpha1.MachineError, Ready: conditions.ReasonOwnershipConflict, Created: conditions.ReasonCreationFailed,
			}, err: "VM 10000 already exists on node pve2",
		},
		"ForeignAllocated": {
			reason: "A VMID of our choice is exchanged for another.", pve: func(b *bench) { b.vms[10000] = theirVM() },
			want: outcome{Phase: v1alpha1.MachinePending, Writes: []string{"Create pve1/10001"}},
		},
		"ForeignAfterOurs": {
			reason:  "Once a VM was seen to be ours its VMID stays: who took its place is left alone.",
			machine: func(m *namespaced.Machine) { m.Status.AtProvider.UUID = ourUUID },
			pve:     func(b *bench) { b.vms[10000] = theirVM() },
			want: outcome{
				Phase: v1alpha1.MachineError, Ready: conditions.ReasonOwnershipConflict, Created: conditions.ReasonCreationFailed,
			}, err: "is not this resource's",
		},
		"ForeignDeleted": {
			reason: "A resource whose VMID somebody else has is released without a call.", machine: all(named(10000), deleted),
			pve:  func(b *bench) { b.vms[10000] = theirVM() },
			want: outcome{},
		},
		"Overwritten": {
			reason: "A VM that somebody restores a backup over is waited for.", machine: all(named(10000), known),
			pve:  func(b *bench) { b.vms[10000], b.pve.tasks = overwritten(), restores() },
			want: outcome{Exists: true, UpToDate: true, Ready: conditions.ReasonLocked},
		},
		"OverwrittenDeleted": {
			reason: "The deletion of a VM that is overwritten waits as well, and leaves nothing behind.", machine: all(named(10000), known, deleted),
			pve:  func(b *bench) { b.vms[10000], b.pve.tasks = overwritten(), restores() },
			want: outcome{Exists: true, UpToDate: true, Ready: xpv2.ReasonDeleting}, err: "the provider waits for it",
		},
		"OverwrittenAgain": {
			reason: "What such a restore has left that failed is not destroyed unasked.", machine: all(named(10000), known, deleted),
			pve:  func(b *bench) { b.vms[10000] = overwritten() },
			want: outcome{Exists: true, UpToDate: true, Ready: xpv2.ReasonDeleting}, err: "restore a backup over VM 10000 once more, or remove the VM",
		},
		"OverwrittenUnlisted": {
			reason: "Without the list of tasks nothing is concluded.", machine: all(named(10000), known),
			pve: func(b *bench) {
				b.vms[10000] = overwritten()
				b.errs["RecentTasks"] = refused(599, "Connection timed out")
			},
			want: outcome{Exists: true, UpToDate: true, Ready: conditions.ReasonLocked}, err: "Connection timed out",
		},
		"RestoredByOthers": {
			reason: "A VM that others restore for the first time is theirs.", machine: named(10000),
			pve: func(b *bench) { b.vms[10000], b.pve.tasks = overwritten(), restores() },
			want: outcome{
				Phase: v1alpha1.MachineError, Ready: conditions.ReasonOwnershipConflict, Created: conditions.ReasonCreationFailed,
			}, err: "is not this resource's",
		},
		"Gone": {
			reason: "A VM that is gone and may not be created again is missed.", machine: policies("Observe", "Update", "Delete"),
			want: missing(),
		},
		"OtherUUID": {
			reason: "A Machine whose UUID somebody has changed makes no other VM.", machine: rekeyed,
			pve: func(b *bench) { b.vms[10000] = ourVM("running") },
			want: outcome{
				Phase: v1alpha1.MachineError, Ready: conditions.ReasonOwnershipConflict,
			}, err: "has the UUID " + ourUUID + ", and is left alone: set the annotation back",
		},
		"OtherUUIDDeleted": {
			reason: "A Machine whose UUID somebody has changed does not leave its VM behind when it is deleted.", machine: all(rekeyed, deleted),
			pve:  func(b *bench) { b.vms[10000] = ourVM("running") },
			want: outcome{Phase: v1alpha1.MachineError, Ready: conditions.ReasonOwnershipConflict}, err: "set the annotation back",
		},
		"Moving": {
			reason: "A VM that is listed where it cannot be found is not taken for absent.",
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.errs["Pending"] = refused(500, "Configuration file 'nodes/pve1/qemu-server/10000.conf' does not exist")
			},
			want: outcome{}, err: "VM 10000 is listed on node",
		},
		"MovingDeleted": {
			reason: "A VM that is listed where it cannot be found is not taken for absent when its resource is deleted: it would be left behind.", machine: deleted,
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.errs["Pending"] = refused(500, "Configuration file 'nodes/pve1/qemu-server/10000.conf' does not exist")
			},
			want: outcome{}, err: "VM 10000 is listed on node",
		},
		"Removed": {
			reason: "A VM whose configuration goes before its status is read is not taken for one that is off: nothing is started.",
			pve: func(b *bench) {
				b.vms[10000] = managedByHA(ourVM("stopped"), "started")
				b.errs["Status"] = refused(500, "Configuration file 'nodes/pve1/qemu-server/10000.conf' does not exist")
			},
			want: outcome{}, err: "10000.conf' does not exist",
		},
		"Migrated": {
			reason: "A VM is followed to where it is.",
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.vms[10000].node = "pve2"
			},
			want: runningVM(outcome{UpToDate: true}),
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.test)
	}
}

// TestReconcileChange covers VMs that differ from their specs.
func TestReconcileChange(t *testing.T) {
	cases := map[string]reconcile{
		"Unchanged": {
			reason: "A VM that is as it should be is left alone.", pve: func(b *bench) { b.vms[10000] = ourVM("running") },
			want: runningVM(outcome{UpToDate: true}),
		},
		"ChangeAndStart": {
			reason:  "Changes that take no task go before the start, with the digest of what was read.",
			machine: func(m *namespaced.Machine) { m.Spec.ForProvider.Memory = quantity("2Gi") },
			pve:     func(b *bench) { b.vms[10000] = ourVM("stopped") },
			want:    stoppedVM(outcome{Ready: conditions.ReasonPowerMismatch, Writes: []string{"Configure 10000 set memory delete  digest d1", "Start 10000"}}),
		},
		"ChangeFailed": {
			reason:  "What follows a change waits for it.",
			machine: func(m *namespaced.Machine) { m.Spec.ForProvider.Memory = quantity("2Gi") },
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.errs["Configure"] = refused(500, "checksum mismatch (file change by other user?)")
			},
			want: stoppedVM(outcome{Ready: conditions.ReasonPowerMismatch, Writes: []string{"Configure 10000 set memory delete  digest d1"}}), err: "checksum mismatch",
		},
		"HotplugRefused": {
			reason:  "What a running VM does not take is pending, and no error.",
			machine: func(m *namespaced.Machine) { m.Spec.ForProvider.CPU = &v1alpha1.MachineCPU{Cores: new(int32(2))} },
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.errs["Configure"] = refused(400, "hotplug problem - cores")
			},
			want: runningVM(outcome{Writes: []string{"Configure 10000 set cores delete  digest d1"}}),
		},
		"NewDisk": {
			reason: "What takes a task goes alone.",
			machine: all(stopped, func(m *namespaced.Machine) {
				m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a", Size: new("1G")}}
			}),
			pve:  func(b *bench) { b.vms[10000] = ourVM("running") },
			want: runningVM(outcome{Ready: conditions.ReasonPowerMismatch, Writes: []string{"ConfigureAsync 10000 set scsi0 delete  digest d1"}}),
		},
		"Grow": {
			reason: "One disk grows at a time, after other changes and before the start.",
			machine: func(m *namespaced.Machine) {
				m.Annotations[object.AnnotationDevices] = `{"disks":{"a":"scsi0","b":"scsi1"}}`
				m.Spec.ForProvider.OnBoot = new(true)
				m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a", Size: new("2G")}, {Name: "b", Size: new("3G")}}
			},
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.vms[10000].config["scsi0"], b.vms[10000].config["scsi1"] = "s:a,size=1G", "s:b,size=1G"
			},
			want: stoppedVM(outcome{Ready: conditions.ReasonPowerMismatch, Writes: []string{"Configure 10000 set onboot delete  digest d1", "Resize 10000 scsi0 2G"}}),
		},
		"Refused": {
			reason: "A spec that asks for what cannot be is carried out in no part.",
			machine: func(m *namespaced.Machine) {
				m.Annotations[object.AnnotationDevices] = `{"disks":{"a":"scsi0"}}`
				m.Spec.ForProvider.OnBoot = new(true)
				m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "a", Size: new("1G")}}
			},
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.vms[10000].config["scsi0"] = "s:a,size=2G"
			},
			want: stoppedVM(outcome{Ready: conditions.ReasonPowerMismatch}), err: "cannot shrink from 2G to 1G",
		},
		"NodeChanged": {
			reason: "A VM whose node is changed in the spec migrates.", machine: func(m *namespaced.Machine) { m.Spec.ForProvider.Node = new("pve2") },
			pve:  func(b *bench) { b.vms[10000] = ourVM("running") },
			want: runningVM(outcome{Writes: []string{`Migrate 10000 to pve2 online true disks false storage ""`}}),
		},
		"Observed": {
			reason: "A resource that may only observe writes nothing.", machine: all(observed, func(m *namespaced.Machine) {
				m.Spec.ForProvider.Memory = quantity("2Gi")
			}),
			pve:  func(b *bench) { b.vms[10000] = ourVM("stopped") },
			want: stoppedVM(outcome{Ready: conditions.ReasonPowerMismatch}),
		},
		"ObservedAbsent": {
			reason: "A resource that may only observe does not create.", machine: observed,
			want: missing(),
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.test)
	}
}

// TestReconcilePower covers VMs that are to run or not to run, and VMs that others are working on.
func TestReconcilePower(t *testing.T) {
	cases := map[string]reconcile{
		"Start": {
			reason: "A VM that was stopped is started.", pve: func(b *bench) { b.vms[10000] = ourVM("stopped") },
			want: stoppedVM(outcome{Ready: conditions.ReasonPowerMismatch, Writes: []string{"Start 10000"}}),
		},
		"Stop": {
			reason: "A VM that is to be stopped is asked to shut down first.",
			machine: all(stopped, func(m *namespaced.Machine) {
				m.Spec.ForProvider.ShutdownTimeoutSeconds = new(int32(30))
			}),
			pve:  func(b *bench) { b.vms[10000] = ourVM("running") },
			want: runningVM(outcome{Ready: conditions.ReasonPowerMismatch, Writes: []string{"Shutdown 10000 10s force false"}}),
		},
		"Stopped": {
			reason: "A VM that is to be stopped is available when it is.", machine: stopped,
			pve:  func(b *bench) { b.vms[10000] = ourVM("stopped") },
			want: stoppedVM(outcome{UpToDate: true}),
		},
		"Locked": {
			reason: "A VM that is locked is not written to.",
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.vms[10000].config["lock"] = "backup"
			},
			want: stoppedVM(outcome{UpToDate: true, Ready: conditions.ReasonLocked}),
		},
		"Busy": {
			reason: "A VM that somebody's task works on is not written to.",
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "qmigrate", ID: "10000", Running: true}}
			},
			want: stoppedVM(outcome{UpToDate: true, Ready: conditions.ReasonPowerMismatch}),
		},
		"BusyElsewhere": {
			reason: "Tasks of other VMs, and those that ended, are of no concern.",
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "qmigrate", ID: "10001", Running: true}, {UPID: "v", Type: "qmstop", ID: "10000", ExitStatus: "OK"}}
			},
			want: stoppedVM(outcome{Ready: conditions.ReasonPowerMismatch, Writes: []string{"Start 10000"}}),
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.test)
	}
}

// TestReconcileDeletion covers Machines that are being deleted.
func TestReconcileDeletion(t *testing.T) {
	cases := map[string]reconcile{
		"Running": {
			reason: "A running VM is shut down before it is removed.", machine: deleted, pve: func(b *bench) { b.vms[10000] = ourVM("running") },
			want: runningVM(outcome{Ready: xpv2.ReasonDeleting, Writes: []string{"Shutdown 10000 0s force true"}, UpToDate: true}),
		},
		"Stopped": {
			reason: "A stopped VM is removed with all that refers to it.", machine: deleted, pve: func(b *bench) { b.vms[10000] = ourVM("stopped") },
			want: stoppedVM(outcome{Ready: xpv2.ReasonDeleting, Writes: []string{"Delete 10000 purge true"}}),
		},
		"Protected": {
			reason: "A protected VM stays, whether the spec says so or its template did.", machine: deleted,
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.vms[10000].config["protection"] = "1"
			},
			want: runningVM(outcome{Ready: xpv2.ReasonDeleting, UpToDate: true}), err: "is protected",
		},
		"ProtectedBySpec": {
			reason: "A VM that the spec protects stays, also if its flag was lost.", machine: all(deleted, func(m *namespaced.Machine) {
				m.Spec.ForProvider.Protection = new(true)
			}),
			pve:  func(b *bench) { b.vms[10000] = ourVM("running") },
			want: runningVM(outcome{Ready: xpv2.ReasonDeleting, UpToDate: false}), err: "is protected",
		},
		"Unprotected": {
			reason: "A spec that lifts the protection lets the VM be removed.", machine: all(deleted, func(m *namespaced.Machine) {
				m.Spec.ForProvider.Protection = new(false)
			}),
			pve: func(b *bench) {
				b.vms[10000] = ourVM("stopped")
				b.vms[10000].config["protection"] = "1"
			},
			want: stoppedVM(outcome{Ready: xpv2.ReasonDeleting, Writes: []string{"Configure 10000 set protection delete  digest d1", "Delete 10000 purge true"}}),
		},
		"BeingCreated": {
			reason: "A VM that is being created is removed when it is there.", machine: deleted,
			pve: func(b *bench) {
				b.vms[10000] = &guest{node: "pve1", status: "stopped", config: map[string]string{"lock": "create"}}
				b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "qmcreate", ID: "10000", Running: true}}
			},
			want: outcome{Exists: true, UpToDate: true, Ready: xpv2.ReasonDeleting},
		},
		"CreationDied": {
			reason: "A VM whose creation ended with its node is not waited for in silence.", machine: deleted,
			pve: func(b *bench) {
				b.vms[10000] = &guest{node: "pve1", status: "stopped", config: map[string]string{"lock": "create"}}
			},
			want: outcome{Exists: true, UpToDate: true, Ready: xpv2.ReasonDeleting}, err: "qm unlock 10000",
		},
		"CreationUnseen": {
			reason: "A VM whose creation is not seen yet is waited for.", machine: deleted,
			pve: func(b *bench) {
				b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "qmcreate", ID: "10000", Running: true}}
			},
			want: outcome{Exists: true, UpToDate: true, Ready: xpv2.ReasonDeleting},
		},
		"Busy": {
			reason: "A VM that a task works on is removed later.", machine: deleted,
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.pve.tasks = []proxmox.Task{{UPID: "u", Type: "qmshutdown", ID: "10000", Running: true}}
			},
			want: runningVM(outcome{Ready: xpv2.ReasonDeleting, UpToDate: true}),
		},
		"Locked": {
			reason: "A VM that is locked cannot be removed.", machine: deleted,
			pve: func(b *bench) {
				b.vms[10000] = ourVM("running")
				b.vms[10000].config["lock"] = "backup"
			},
			want: runningVM(outcome{Ready: xpv2.ReasonDeleting, UpToDate: true}), err: "VM 10000 is locked (backup)",
		},
		"Absent": {
			reason: "What is not there need not be removed.", machine: deleted, want: outcome{},
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.test)
	}
}
