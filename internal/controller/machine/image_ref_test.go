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
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/images"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// debianImage has its file on both nodes, and a template on pve2.
func debianImage() *namespaced.Image {
	i := &namespaced.Image{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "debian", UID: "image-uid"}}
	i.Spec.ForProvider.Template = &v1alpha1.ImageTemplate{}
	i.Status.AtProvider = v1alpha1.ImageObservation{
		Revision: 2, Digest: "sha256:2",
		Replicas: []v1alpha1.ImageReplica{
			{Node: "pve1", Storage: "files", Volume: "files:import/two.qcow2", Ready: true},
			{Node: "pve2", Storage: "files", Volume: "files:import/two.qcow2", Ready: true},
		},
		Templates: []v1alpha1.ImageTemplateObservation{
			{Node: "pve1", Storage: "local-lvm", VMID: new(int32(9001)), Ready: true},
			{Node: "pve2", Storage: "local-lvm", VMID: new(int32(9002)), Ready: true},
		},
		Revisions: []v1alpha1.ImageRevision{{Revision: 2, Ready: true}, {
			Revision: 1, Ready: true, Replicas: []v1alpha1.ImageReplica{{Node: "pve1", Storage: "files", Volume: "files:import/one.qcow2", Ready: true}},
		}},
	}
	i.SetConditions(xpv2.Available())
	return i
}

func debianTemplate(node string) *guest {
	return &guest{node: node, status: "stopped", config: map[string]string{
		"name": "debian", "template": "1", "smbios1": "uuid=" + otherUUID, "scsi0": "local-lvm:base-9001-disk-0,size=8G",
	}}
}

// TestTemplateSinceReport clones a template that its node has reported as a VM: it was converted since.
func TestTemplateSinceReport(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*namespaced.Machine)
	}{
		"Image": {reason: "An Image knows that it has made its template.", change: byTemplate},
		"VMID": {reason: "A template is known by its VMID.", change: spec(func(p *v1alpha1.MachineParameters) {
			p.Template = new(intstr.FromInt32(9500))
		})},
		"Name": {reason: "A template is known by its name.", change: spec(func(p *v1alpha1.MachineParameters) {
			p.Template = new(intstr.FromString("base"))
		})},
	} {
		t.Run(name, func(t *testing.T) {
			c, ref := clusterOf(t, unreported()), proxmox.Ref{Node: "pve1", VMID: 9500}
			if _, err := c.client.Create(t.Context(), ref, proxmox.Params{"name": "base", "scsi0": "local-lvm:1"}); err != nil {
				t.Fatal(err)
			}
			c.report(t, ref.VMID)
			if _, err := c.client.ConvertToTemplate(t.Context(), ref); err != nil {
				t.Fatal(err)
			}
			if g := c.row(t, ref.VMID); g.Template || g.Name != "base" {
				t.Fatalf("want it listed as the VM that it was, got %+v", g)
			}
			r := c.rig(t)
			nothingMade(r.m)
			tc.change(r.m)
			image := debianImage()
			image.Status.AtProvider.Templates = []v1alpha1.ImageTemplateObservation{
				{Node: ref.Node, Storage: "local-lvm", VMID: new(int32(ref.VMID)), Ready: true},
			}
			if err := errors.Join(r.kube.Update(t.Context(), r.m), r.kube.Create(t.Context(), image)); err != nil {
				t.Fatal(err)
			}
			e := r.external()
			e.connectTo(r.client, r.inventory)
			e.checks.Superuser = true
			s := r.reconcileWith(t.Context(), e)
			if _, made := c.Guest(r.vmid()); s.err != nil || !made {
				t.Errorf("\n%s\nwant a clone, got %v: %+v", tc.reason, s.err, r.m.Status.Conditions)
			}
		})
	}
}

// byImage makes a Machine use the Image's file, and byTemplate its template.
func byImage(m *namespaced.Machine) {
	m.Spec.ForProvider.Image = &v1alpha1.MachineImage{Ref: &v1alpha1.Reference{Name: "debian"}}
	m.Spec.ForProvider.Disks = []v1alpha1.MachineDisk{{Name: "root"}}
}

func byTemplate(m *namespaced.Machine) {
	m.Spec.ForProvider.TemplateRef = &v1alpha1.Reference{Name: "debian"}
}

// nothingMade is a Machine for which nothing was done yet except to choose its VMID.
func nothingMade(m *namespaced.Machine) {
	delete(m.Annotations, meta.AnnotationKeyExternalCreatePending)
	delete(m.Annotations, object.AnnotationDevices)
	delete(m.Annotations, object.AnnotationNode)
}

func TestImageAsSource(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*namespaced.Machine)
		image  func(*namespaced.Image)
		before func(*bench)

		write, disk string
		pin         imageref.Pin
		err         string
	}{
		"File": {
			reason: "The file of an Image fills the disk.", change: byImage, write: "Create pve1/10000", disk: "local-lvm:0,import-from=files:import/two.qcow2",
			pin: imageref.Pin{Name: "debian", UID: "image-uid", Revision: 2, Digest: "sha256:2", Volume: "files:import/two.qcow2"},
		},
		"Elsewhere": {
			reason: "Placement takes a node that has the file.", change: byImage,
			image: func(i *namespaced.Image) { i.Status.AtProvider.Replicas[0].Ready = false }, write: "Create pve2/10000",
		},
		"NotOnNode": {
			reason: "The node of the spec must have it.", err: "image 'debian' is not on node pve1; the nodes that have it are pve2",
			change: func(m *namespaced.Machine) {
				byImage(m)
				m.Spec.ForProvider.Node = new("pve1")
			},
			image: func(i *namespaced.Image) { i.Status.AtProvider.Replicas[0].Ready = false },
		},
		"Default": {
			reason: "A default node that has it not is no obstacle.", change: byImage,
			image:  func(i *namespaced.Image) { i.Status.AtProvider.Replicas[0].Ready = false },
			before: func(b *bench) { b.defaultNode = "pve1" }, write: "Create pve2/10000",
		},
		"Shared": {
			reason: "Any node that has a shared storage has its file.", change: func(m *namespaced.Machine) {
				byImage(m)
				m.Spec.ForProvider.Node = new("pve2")
			},
			image: func(i *namespaced.Image) {
				i.Status.AtProvider.Replicas = []v1alpha1.ImageReplica{{Node: "pve1", Storage: "ceph", Shared: true, Volume: "ceph:import/two.qcow2", Ready: true}}
			},
			write: "Create pve2/10000", disk: "local-lvm:0,import-from=ceph:import/two.qcow2",
		},
		"Pinned": {
			reason: "A revision that a VM may have been made of stands.", disk: "local-lvm:0,import-from=files:import/one.qcow2", write: "Create pve1/10000",
			change: func(m *namespaced.Machine) {
				byImage(m)
				m.Annotations[object.AnnotationNode], m.Annotations[meta.AnnotationKeyExternalCreatePending] = "pve1", "2001-01-01T00:00:00Z"
				m.Annotations[imageref.AnnotationPin] = imageref.Pin{Name: "debian", UID: "image-uid", Revision: 1}.String()
			},
			pin: imageref.Pin{Name: "debian", UID: "image-uid", Revision: 1, Volume: "files:import/one.qcow2"},
		},
		"Template": {
			reason: "The template on the chosen node is cloned.", change: byTemplate, write: "Clone pve1/9001 to 10000",
			pin: imageref.Pin{Name: "debian", UID: "image-uid", Revision: 2, Digest: "sha256:2", Template: true, VMID: 9001},
		},
		"TemplateOnNode": {
			reason: "The template on the node of the spec is cloned.", write: "Clone pve2/9002 to 10000",
			change: func(m *namespaced.Machine) {
				byTemplate(m)
				m.Spec.ForProvider.Node = new("pve2")
			},
		},
		"TemplateDefault": {
			reason: "The template on the default node is cloned.",
			change: byTemplate, before: func(b *bench) { b.defaultNode = "pve2" }, write: "Clone pve2/9002 to 10000",
		},
		"TemplatePlaced": {
			reason: "Placement chooses among the nodes that have one.", write: "Clone pve2/9002 to 10000",
			change: func(m *namespaced.Machine) {
				byTemplate(m)
				m.Spec.ForProvider.Placement = &v1alpha1.MachinePlacement{Nodes: []string{"pve2"}}
			},
		},
		"TemplateFull": {
			reason: "A full clone is made where it is to be, if there is a template.", write: "Clone pve2/9002 to 10000",
			change: func(m *namespaced.Machine) {
				byTemplate(m)
				m.Spec.ForProvider.Clone = &v1alpha1.MachineClone{Full: new(true)}
				m.Spec.ForProvider.Placement = &v1alpha1.MachinePlacement{Nodes: []string{"pve2"}}
			},
		},
		"TemplateGone": {
			reason: "A template that nobody sees is told.", change: byTemplate, err: "no template of image 'debian' found",
			before: func(b *bench) {
				delete(b.vms, 9001)
				delete(b.vms, 9002)
			},
		},
		"SameName": {
			reason: "A template is cloned whose name several have.", write: "Clone pve1/9001 to 10000",
			change: func(m *namespaced.Machine) { m.Spec.ForProvider.Template = new(intstr.FromString("debian")) },
		},
		"VM": {
			reason: "Any VM can be cloned by its name: it is a full clone.", write: "Clone pve1/200 to 10000",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Clone = &v1alpha1.MachineClone{VM: new(intstr.FromString("golden"))}
			},
			before: func(b *bench) { b.vms[200] = goldenVM() },
		},
		"VMID": {
			reason: "Any VM can be cloned by its VMID: it is a full clone.", write: "Clone pve1/200 to 10000",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Clone = &v1alpha1.MachineClone{VM: new(intstr.FromString("200"))}
			},
			before: func(b *bench) { b.vms[200] = goldenVM() },
		},
		"NoVM": {
			reason: "A VM that is to be cloned must be there.", err: "VM 'golden' to clone not found",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Clone = &v1alpha1.MachineClone{VM: new(intstr.FromString("golden"))}
			},
		},
		"TwoVMs": {
			reason: "A name of two VMs is not guessed.", err: "clone.vm 'debian' is the name of 2 VMs (VMID 9001, 9002)",
			change: func(m *namespaced.Machine) {
				m.Spec.ForProvider.Clone = &v1alpha1.MachineClone{VM: new(intstr.FromString("debian"))}
			},
		},
		"ClusterMismatch": {
			reason: "An Image of another cluster is none.", change: byImage, err: "image 'debian' is in another cluster",
			before: func(b *bench) { b.sharesCluster = func(mg resource.Managed) bool { return mg.GetName() != "debian" } },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) {
				nothingMade(m)
				tc.change(m)
			})
			image := debianImage()
			if tc.image != nil {
				tc.image(image)
			}
			if err := b.kube.Create(t.Context(), image); err != nil {
				t.Fatal(err)
			}
			b.vms[9001], b.vms[9002] = debianTemplate("pve1"), debianTemplate("pve2")
			if tc.before != nil {
				tc.before(b)
			}
			s := b.reconcile(t.Context())
			if tc.err != "" {
				if s.err == nil || !strings.Contains(s.err.Error(), tc.err) || len(b.writes) > 0 {
					t.Errorf("\n%s\nwant error %q and no write, got %v and %q", tc.reason, tc.err, s.err, b.writes)
				}
				return
			}
			if s.err != nil || strings.Join(b.writes, "; ") != tc.write {
				t.Errorf("\n%s\nwant %q, got %q and %v", tc.reason, tc.write, b.writes, s.err)
			}
			if tc.disk != "" && b.created["scsi0"] != tc.disk {
				t.Errorf("\n%s\nwant the disk %q, got %q", tc.reason, tc.disk, b.created["scsi0"])
			}
			pin, _ := imageref.PinOf(b.m)
			if diff := cmp.Diff(tc.pin, pin); tc.pin.Name != "" && diff != "" {
				t.Errorf("\n%s\npin: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWaitForImage(t *testing.T) {
	cases := map[string]struct {
		reason string
		image  *namespaced.Image
		named  bool // Whether the Machine already has its VMID.
		want   string
	}{
		"Missing": {reason: "An Image may be applied later.", want: "waiting: image 'debian' not found"},
		"Downloading": {
			reason: "One that is on its way is waited for.", image: unready("Downloading", "40%"),
			want: "waiting: image 'debian' is not ready: Downloading",
		},
		"Failed": {
			reason: "An image that has failed is waited for, and why it failed is told.", image: unready("ChecksumMismatch", "another file"),
			want: "waiting: image 'debian' is not ready: ChecksumMismatch: another file",
		},
		"Later": {
			reason: "An image is waited for also once the Machine has its VMID.", image: unready("Downloading", "40%"), named: true,
			want: "waiting: image 'debian' is not ready: Downloading",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) {
				nothingMade(m)
				byImage(m)
				if !tc.named {
					m.Annotations = nil
				}
			})
			if tc.image != nil {
				if err := b.kube.Create(t.Context(), tc.image); err != nil {
					t.Fatal(err)
				}
			}
			calls := 0
			for _, call := range []string{"Tasks", "RecentTasks", "Guests", "Nodes", "Storages"} {
				b.on[call] = func() { calls++ }
			}
			s := b.reconcile(t.Context())
			if !tc.named && (s.err != nil || !s.exists || !s.upToDate) {
				t.Errorf("\n%s\nto wait is no error, and nothing is to be done: %+v", tc.reason, s)
			}
			if len(b.writes) > 0 || !tc.named && calls > 0 {
				t.Errorf("\n%s\nPVE is not asked: %d calls, %v", tc.reason, calls, b.writes)
			}
			for _, c := range []xpv2.ConditionType{xpv2.TypeReady, conditions.TypeVMCreated} {
				if got := b.m.GetCondition(c); got.Status != "False" || got.Message != tc.want {
					t.Errorf("\n%s\n%s: want %q, got %s %q", tc.reason, c, tc.want, got.Status, got.Message)
				}
			}
			if got := b.m.GetCondition(conditions.TypeVMCreated).Reason; got != conditions.ReasonWaitingForImage ||
				b.m.Status.AtProvider.Phase != v1alpha1.MachinePending {
				t.Errorf("\n%s\nwant the reason %s, got %s in phase %s", tc.reason, conditions.ReasonWaitingForImage, got, b.m.Status.AtProvider.Phase)
			}
		})
	}
}

func unready(reason xpv2.ConditionReason, message string) *namespaced.Image {
	i := debianImage()
	i.Status.AtProvider = v1alpha1.ImageObservation{}
	c := xpv2.Unavailable().WithMessage(message)
	c.Reason = reason
	i.SetConditions(c)
	return i
}

// TestSharedImage checks that one Image is created for all Machines that ask for a URL.
func TestSharedImage(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) {
		m.Annotations, m.Labels = nil, map[string]string{"team": "blue", "crossplane.io/composite": "x"}
		m.Spec.ForProvider.Image = &v1alpha1.MachineImage{URL: new("https://example.org/debian.qcow2"), Checksum: new("md5:0")}
		m.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: "lab"})
	})
	second := b.m.DeepCopy()
	second.ObjectMeta = metav1.ObjectMeta{Namespace: "team", Name: "second", UID: "uid-2"}
	for range 2 {
		for _, m := range []*namespaced.Machine{b.m, second} {
			if err := b.imageReader().Ensure(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := &namespaced.ImageList{}
	if err := b.kube.List(t.Context(), all); err != nil || len(all.Items) != 1 {
		t.Fatalf("want one Image, got %d, %v", len(all.Items), err)
	}
	i := all.Items[0]
	if len(i.OwnerReferences) != 2 || i.OwnerReferences[0].UID != "uid" || i.OwnerReferences[1].UID != "uid-2" || i.OwnerReferences[1].Kind != "Machine" {
		t.Errorf("it stays as long as either Machine does, got %+v", i.OwnerReferences)
	}
	if diff := cmp.Diff(map[string]string{imageref.LabelShared: "true", "team": "blue"}, i.Labels); diff != "" {
		t.Errorf("labels: -want, +got:\n%s", diff)
	}
	p := i.Spec.ForProvider
	if *p.Source.URL != "https://example.org/debian.qcow2" || *p.Source.Checksum != "md5:0" || p.Storages[0] != "local" {
		t.Errorf("it is what was asked for, got %+v", p)
	}
	if r := i.GetProviderConfigReference(); r == nil || r.Name != "lab" || r.Kind != "ClusterProviderConfig" {
		t.Errorf("it is in the Machine's cluster, got %+v", r)
	}
	i.Labels, i.OwnerReferences = nil, nil
	if err := b.kube.Update(t.Context(), &i); err != nil {
		t.Fatal(err)
	}
	if err := b.imageReader().Ensure(t.Context(), b.m); err != nil {
		t.Fatal(err)
	}
	if err := b.kube.Get(t.Context(), client.ObjectKeyFromObject(&i), &i); err != nil || len(i.OwnerReferences) > 0 {
		t.Errorf("an Image that is somebody's own does not go with the Machine: %+v, %v", i.OwnerReferences, err)
	}
	i.Spec.ForProvider.Source.Checksum = new("md5:1")
	if err := b.kube.Update(t.Context(), &i); err != nil {
		t.Fatal(err)
	}
	if err := b.imageReader().Ensure(t.Context(), b.m); err == nil {
		t.Error("another source of that name is told")
	}
}

// TestWokenByImage checks that the Machines that wait for the Image are woken.
func TestWokenByImage(t *testing.T) {
	b := newBench(t, byImage)
	made, other := b.m.DeepCopy(), b.m.DeepCopy()
	made.ObjectMeta = metav1.ObjectMeta{Namespace: "team", Name: "made"}
	made.Status.AtProvider.UUID = ourUUID
	other.ObjectMeta = metav1.ObjectMeta{Namespace: "elsewhere", Name: "other"}
	for _, m := range []*namespaced.Machine{made, other} {
		if err := b.kube.Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	c := &connector{shared: &shared{kube: b.kube, wake: func(m Machine) { b.woken <- m }}}
	c.wakeWaitingFor(&namespaced.MachineList{}, client.ObjectKey{Namespace: "team", Name: "debian"}, images.WaitingFor)
	if len(b.woken) != 1 || (<-b.woken).GetName() != "web" {
		t.Errorf("want the Machine woken that waits, and no other: %d", len(b.woken))
	}
	told := 0
	w := images.NewNotifier()
	w.Notify("g", debianImage()) // No controller has subscribed yet.
	w.Subscribe("g", func(imageref.Image) { told++ })
	w.Notify("g", debianImage())
	w.Notify("other", debianImage())
	if told != 1 {
		t.Errorf("want to be told of Images of the own group once, got %d", told)
	}
}

// TestPinnedVolume checks that a VM is compared with the file that it was created from.
func TestPinnedVolume(t *testing.T) {
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		imageref.AnnotationPin: imageref.Pin{Name: "debian", Revision: 1, Volume: "files:import/one.qcow2"}.String(),
	}}}
	byImage(m)
	p := specReader{}.desired(m, qemu.Identity{VMID: 10000, UUID: ourUUID}).MachineParameters
	if got := p.Disks[0].ImportFrom; got == nil || *got != "files:import/one.qcow2" {
		t.Errorf("want the pinned file, got %v", got)
	}
	if m.Spec.ForProvider.Disks[0].ImportFrom != nil {
		t.Error("the spec stays as it is")
	}
	if o := images.Pinned(m); o == nil || o.Revision != 1 {
		t.Errorf("want the revision shown, got %+v", o)
	}
}

// TestImageOfVM changes the list of a VM that was created from an image, before it was recorded which disk the image has filled.
func TestImageOfVM(t *testing.T) {
	disk := func(name string) v1alpha1.MachineDisk { return v1alpha1.MachineDisk{Name: name, Size: new("8G")} }
	blank := disk("data")
	blank.Volume = new("")
	cases := map[string]struct {
		reason string
		disks  []v1alpha1.MachineDisk
		gone   bool
		want   string // What the VM gets.
		err    string
	}{
		"Same":    {reason: "The disk that is there stays.", disks: []v1alpha1.MachineDisk{disk("root")}},
		"Renamed": {reason: "A disk with another name is the same.", disks: []v1alpha1.MachineDisk{disk("system")}},
		"Behind":  {reason: "An entry behind it is an empty disk.", disks: []v1alpha1.MachineDisk{disk("root"), disk("data")}, want: "local-lvm:8"},
		"Front": {
			reason: "An entry in front of the disk can be read in two ways.", disks: []v1alpha1.MachineDisk{disk("data"), disk("root")},
			err: `disk "data" can be read in two ways: as scsi0, which the image has filled and which is disk "root" here, or as a new disk`,
		},
		"Blank": {reason: "Unless it asks for an empty one.", disks: []v1alpha1.MachineDisk{blank, disk("root")}, want: "local-lvm:8"},
		"Gone": {
			reason: "What is gone is filled again.", disks: []v1alpha1.MachineDisk{disk("system")}, gone: true,
			want: "local-lvm:0,import-from=files:import/one.qcow2",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, spec(func(p *v1alpha1.MachineParameters) {
				p.Image, p.Disks = &v1alpha1.MachineImage{Volume: "files:import/one.qcow2"}, tc.disks
			}))
			b.vms[10000], b.volumes = ourVM("stopped"), map[string][]string{"pve1": {"files:import/one.qcow2"}}
			b.m.Annotations[object.AnnotationDevices] = `{}`
			if !tc.gone {
				b.m.Annotations[object.AnnotationDevices] = `{"disks":{"root":"scsi0"},"seen":{"root":true},"made":{"disks/root":true}}`
				b.vms[10000].config["scsi0"], b.vms[10000].config["boot"] = "local-lvm:vm-10000-disk-0,size=8G", "order=scsi0"
			}
			e := b.external()
			_, err := e.Observe(t.Context(), b.m)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(e.planned.rejections, "; "); (tc.err == "") != (got == "") || !strings.Contains(got, tc.err) {
				t.Errorf("\n%s\nwant it refused with %q, got %q", tc.reason, tc.err, got)
			}
			got := slices.Concat(slices.Collect(maps.Values(e.planned.change.Set)), e.planned.change.Delete)
			got = slices.DeleteFunc(got, func(v string) bool { return strings.HasPrefix(v, "order=") })
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("\n%s\nchange: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
