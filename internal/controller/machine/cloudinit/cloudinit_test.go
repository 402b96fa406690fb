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

package cloudinit

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/password"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/proxmoxtest"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

const (
	ourUUID    = "11111111-2222-4333-8444-55555555555a"
	ourImage   = "files:iso/cidata-10000-" + ourUUID + "-0123456789abcdef.iso"
	theirImage = "files:iso/cidata-10001-11111111-2222-4333-8444-555555555555-0123456789abcdef.iso"
	mac        = "virtio=BC:24:11:00:00:01,bridge=vmbr0"
)

// A pve is a Client, an Inventory and Nodes with three nodes.
type pve struct {
	storages  []proxmox.Storage
	volumes   map[string][]proxmox.Volume
	offline   string
	snapshots map[string]map[string]string

	// errs are the errors of calls, and on runs when a call arrives, both by its name.
	errs   map[string]error
	on     map[string]func()
	writes []string
}

func newPVE() *pve {
	return &pve{
		storages: []proxmox.Storage{
			{Name: "iso", Node: "pve1", Content: []string{"iso"}},
			{Name: "files", Node: "pve1", Content: []string{"iso", "import"}},
			{Name: "files", Node: "pve2", Content: []string{"iso", "import"}},
			{Name: "ceph", Node: "pve1", Content: []string{"images"}, Shared: true},
		},
		volumes: map[string][]proxmox.Volume{}, errs: map[string]error{}, on: map[string]func(){},
	}
}

func (p *pve) write(call, what string) error {
	p.writes = append(p.writes, call+" "+what)
	if on := p.on[call]; on != nil {
		on()
	}
	return p.errs[call]
}

func (p *pve) Storages(context.Context) ([]proxmox.Storage, error) { return p.storages, nil }

func (p *pve) NodeOffline(_ context.Context, node string) (bool, error) {
	return node == p.offline, nil
}

func (p *pve) NodeUnreachable(_ context.Context, node string) (bool, error) {
	return node == p.offline, nil
}

func (p *pve) Volumes(_ context.Context, node, _, _ string) ([]proxmox.Volume, error) {
	return p.volumes[node], p.errs["Volumes"]
}

func (p *pve) UploadISO(_ context.Context, node, storage, _ string, _ []byte) (proxmox.UPID, error) {
	return "upload", p.write("UploadISO", node+"/"+storage)
}

func (p *pve) DeleteVolume(_ context.Context, node, volume string) (proxmox.UPID, error) {
	return "remove", p.write("DeleteVolume", node+"/"+volume)
}

func (p *pve) Snapshots(context.Context, proxmox.Ref) ([]string, error) {
	return slices.Sorted(maps.Keys(p.snapshots)), nil
}

func (p *pve) SnapshotConfig(_ context.Context, _ proxmox.Ref, name string) (proxmox.VMConfig, error) {
	return proxmox.VMConfig{Values: p.snapshots[name]}, nil
}

func (p *pve) RenewCloudInit(context.Context, proxmox.Ref) error {
	return p.write("RenewCloudInit", "")
}

// now is when the tests run.
func now() time.Time { return time.Unix(1_800_000_000, 0) }

// newKeeper returns a Keeper for VM 10000 on pve1, and its Machine, with images in the annotation.
func newKeeper(t *testing.T, p *pve, config qemu.Config, annotation string) (Keeper, *namespaced.Machine) {
	t.Helper()
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "uid", Annotations: map[string]string{
		object.AnnotationUUID: ourUUID, object.AnnotationImages: annotation,
	}}}
	s := runtime.NewScheme()
	if err := namespaced.SchemeBuilder.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientBuilder().WithScheme(s).WithObjects(m).Build()
	return Keeper{
		Client: p, Inventory: p, Nodes: p, Checks: &preflight.Checks{Superuser: true}, Kube: kube, Secrets: kube,
		Tasks: tasktrack.New(now), Log: logging.NewNopLogger(), Now: now,
		Password: func(context.Context, object.Machine, *v1alpha1.MachineCloudInit) (*password.Password, error) {
			return nil, nil
		},
		VM: &vmstate.VM{Ref: proxmox.Ref{Node: "pve1", VMID: 10000}, State: qemu.State{Config: config}},
	}, m
}

func desired(c *v1alpha1.MachineCloudInit) qemu.Desired {
	return qemu.Desired{MachineParameters: &v1alpha1.MachineParameters{CloudInit: c}, Identity: qemu.Identity{UUID: ourUUID, VMID: 10000}}
}

func inDrive(volume string) qemu.Config { return qemu.Config{"ide2": volume + ",media=cdrom"} }

func TestStorage(t *testing.T) {
	nfs := proxmox.Storage{Name: "nfs", Node: "pve1", Content: []string{"iso"}, Shared: true}
	off := nfs
	off.Status = "unknown"
	cases := map[string]struct {
		reason  string
		node    string
		wanted  *string
		present string
		more    []proxmox.Storage
		want    string
		refused string
	}{
		"First":   {reason: "Any storage for ISO images will do.", node: "pve1", want: "files"},
		"Shared":  {reason: "A storage that all nodes have is preferred.", node: "pve1", more: []proxmox.Storage{nfs}, want: "nfs"},
		"Silent":  {reason: "A storage that does not answer is not preferred.", node: "pve1", more: []proxmox.Storage{off}, want: "files"},
		"Present": {reason: "The storage of the present image stays.", node: "pve1", more: []proxmox.Storage{nfs}, present: ourImage, want: "files"},
		"Moved":   {reason: "The storage of the spec comes before that of the present image.", node: "pve1", present: ourImage, wanted: new("iso"), want: "iso"},
		"Source":  {reason: "The image of a clone's source decides nothing.", node: "pve1", more: []proxmox.Storage{nfs}, present: theirImage, want: "nfs"},
		"Elsewhere": {
			reason: "The storage has to be on the node.", node: "pve2", wanted: new("iso"),
			refused: "storage 'iso' does not hold ISO images on node pve2",
		},
		"Disks": {
			reason: "The storage has to hold ISO images.", node: "pve1", wanted: new("ceph"),
			refused: "storage 'ceph' does not hold ISO images on node pve1",
		},
		"None": {reason: "A node may have no storage for images.", node: "pve3", refused: "no storage of node pve3 holds ISO images"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPVE()
			p.storages = append(p.storages, tc.more...)
			before := slices.Clone(p.storages)
			k, _ := newKeeper(t, p, nil, "")
			got, err := k.Storage(t.Context(), desired(&v1alpha1.MachineCloudInit{Storage: tc.wanted}), tc.node, tc.present)
			if diff := cmp.Diff(before, p.storages); diff != "" {
				t.Errorf("%s The list that others read was changed: -before, +after:\n%s", tc.reason, diff)
			}
			if got != tc.want || (err != nil) != (tc.refused != "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s Want %q or refusal %q, got %q, %v", tc.reason, tc.want, tc.refused, got, err)
			}
		})
	}
}

func TestBuild(t *testing.T) {
	data := &v1alpha1.CloudInitData{Inline: new("#cloud-config\n")}
	ignore := &v1alpha1.MachineCloudInit{UserData: data, ChangePolicy: new(ChangeIgnore)}
	full := qemu.Config{}
	for _, device := range []string{"ide0", "ide1", "ide2", "ide3", "sata0", "sata1", "sata2", "sata3", "sata4", "sata5"} {
		full[device] = "local-lvm:vm-10000-disk-0,size=8G"
	}
	cases := map[string]struct {
		reason  string
		spec    *v1alpha1.MachineCloudInit
		config  qemu.Config
		running bool
		want    *Image // Without its name.
		err     string
	}{
		"New": {reason: "The image goes into a free drive.", config: qemu.Config{"net0": mac}, want: &Image{Node: "pve1", Storage: "files", Device: "ide2"}},
		"Replaced": {
			reason: "The image takes the place of PVE's own drive, which a stopped VM gives up at once.",
			config: qemu.Config{"net0": mac, "ide0": "local-lvm:vm-10000-cloudinit,media=cdrom"},
			want:   &Image{Node: "pve1", Storage: "files", Device: "ide0"},
		},
		"Running": {
			reason: "A running VM has to have PVE's own drive emptied first.", running: true,
			config: qemu.Config{"net0": mac, "ide0": "local-lvm:vm-10000-cloudinit,media=cdrom"},
			want:   &Image{Node: "pve1", Storage: "files", Device: "ide0", EjectFirst: true},
		},
		"Kept": {reason: "The image stays where the spec ignores changes.", spec: ignore, config: inDrive(ourImage)},
		"Replaces": {
			reason: "The image of another VM does not stay.", spec: ignore, config: inDrive(theirImage),
			want: &Image{Node: "pve1", Storage: "files", Device: "ide2"},
		},
		"Full": {reason: "The image needs a drive.", config: full, err: "no ide or sata device is free"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, m := newKeeper(t, newPVE(), tc.config, "")
			if tc.running {
				k.VM.Status.Status = "running"
			}
			spec := tc.spec
			if spec == nil {
				spec = &v1alpha1.MachineCloudInit{UserData: data}
			}
			got, err := k.Build(t.Context(), m, desired(spec))
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s Want error %q, got %v", tc.reason, tc.err, err)
			}
			if got != nil && (!nocloud.IsImageOf(ourUUID, got.Volume()) || len(got.content) == 0) {
				t.Errorf("%s Want an image of the VM, got %q of %d bytes", tc.reason, got.Volume(), len(got.content))
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(Image{}), cmpopts.IgnoreFields(Image{}, "Name")); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestHolds covers a VM that was up to date, with its image in its drive or without one.
func TestHolds(t *testing.T) {
	const has, hasToo = "pve1=" + ourImage, "pve1=" + ourImage + " pve1=files:iso/cidata-10000-" + ourUUID + "-fedcba9876543210.iso"
	uncertain := func(d time.Duration) string {
		return has + " " + nocloud.Ref{Node: "pve1", Volume: strings.Split(hasToo, "pve1=")[2], UncertainUntil: now().Add(d)}.String()
	}
	data := &v1alpha1.CloudInitData{Inline: new("a")}
	withData := &v1alpha1.MachineCloudInit{UserData: data}
	frozen := &v1alpha1.MachineCloudInit{UserData: data, ChangePolicy: new(ChangeIgnore)}
	user := &v1alpha1.MachineCloudInit{User: new("joe")}
	withoutFiles := func(p *pve) { p.storages = p.storages[:1] }
	for name, tc := range map[string]struct {
		reason     string
		spec       *v1alpha1.MachineCloudInit
		annotation string
		config     qemu.Config
		pve        func(*pve)
		want       bool
	}{
		"User":    {reason: "Options of cloud-init have no image.", spec: user, want: true},
		"Image":   {reason: "The image is in its drive.", spec: withData, annotation: has, config: inDrive(ourImage), want: true},
		"Storage": {reason: "The storage of the image is gone.", spec: withData, annotation: has, config: inDrive(ourImage), pve: withoutFiles},
		"Frozen": {
			reason: "An image that stays needs no storage for another one.", spec: frozen, annotation: has, config: inDrive(ourImage), pve: withoutFiles, want: true,
		},
		"Ejected": {reason: "The VM does not have its image.", spec: withData, annotation: has, config: qemu.Config{"ide2": "none,media=cdrom"}},
		"Unused":  {reason: "Another image is to be removed.", spec: withData, annotation: hasToo, config: inDrive(ourImage)},
		"Doubted": {reason: "Another image may still arrive.", spec: withData, annotation: uncertain(time.Minute), config: inDrive(ourImage), want: true},
		"Certain": {reason: "Another image has had time to arrive.", spec: withData, annotation: uncertain(0), config: inDrive(ourImage)},
		"Left":    {reason: "The image of data that the spec has no more is to be removed.", spec: user, annotation: has},
		"Node off": {
			reason: "An unused image on a node that is off waits for it.", spec: user, annotation: "pve2=" + ourImage,
			pve: func(p *pve) { p.offline = "pve2" }, want: true,
		},
		"Node back": {reason: "The node of an unused image is back.", spec: user, annotation: "pve2=" + ourImage},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPVE()
			if tc.pve != nil {
				tc.pve(p)
			}
			k, m := newKeeper(t, p, tc.config, tc.annotation)
			m.Spec.ForProvider.CloudInit = tc.spec
			if got := k.Holds(t.Context(), m, qemu.Identity{UUID: ourUUID, VMID: 10000}); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

func TestEnsureUploaded(t *testing.T) {
	content, upload, noted := []byte("image"), []string{"UploadISO pve1/files"}, "pve1="+ourImage
	image := Image{Node: "pve1", Storage: "files", Name: strings.TrimPrefix(ourImage, "files:iso/"), Device: "ide2", content: content}
	deferred, eject := image, image
	deferred.Deferred, eject.EjectFirst = true, true
	there := func(size int) func(*pve) {
		return func(p *pve) { p.volumes["pve1"] = []proxmox.Volume{{ID: ourImage, Size: int64(size)}} }
	}
	fails := func(call string, err error) func(*pve) { return func(p *pve) { p.errs[call] = err } }
	uncertain := func(d time.Duration) string {
		return nocloud.Ref{Node: "pve1", Volume: ourImage, UncertainUntil: now().Add(d)}.String()
	}
	cases := map[string]struct {
		reason string
		image  *Image
		medium string
		pve    func(*pve)
		asked  bool // It was uploaded a moment ago.
		before string
		writes []string
		after  string
		err    string
	}{
		"None":     {reason: "A VM without custom data needs no image."},
		"Deferred": {reason: "An image that cannot be made yet is not uploaded.", image: &deferred},
		"Eject":    {reason: "An image whose drive has to be emptied first is not uploaded.", image: &eject},
		"InDrive":  {reason: "An image that is in its drive is not uploaded.", image: &image, medium: ourImage},
		"There":    {reason: "An image that its storage has is not uploaded.", image: &image, pve: there(len(content))},
		"Upload":   {reason: "An image is noted before it is uploaded.", image: &image, writes: upload, after: noted},
		"Cut":      {reason: "An image that was cut short is uploaded again.", image: &image, pve: there(2), writes: upload, after: noted},
		"Asked": {
			reason: "An image is not uploaded again at once.", image: &image, asked: true, before: noted, after: noted,
			err: "was uploaded, but storage 'files' of node pve1 does not list it",
		},
		"Unlisted": {reason: "Without the list of the storage nothing is uploaded.", image: &image, pve: fails("Volumes", errors.New("no list")), err: "no list"},
		"Refused": {
			reason: "A refusal is shown.", image: &image, pve: fails("UploadISO", errors.New("no space left")), writes: upload, after: noted,
			err: "no space left",
		},
		"Lost": {
			reason: "An image whose upload had no answer may still arrive.", image: &image, pve: fails("UploadISO", proxmoxtest.LostAnswer(t)), writes: upload,
			after: uncertain(maxUploadTime), err: "connection closed before the answer",
		},
		"Followed": {
			reason: "An earlier upload may still arrive when the next one is answered.", image: &image, before: uncertain(time.Minute), writes: upload,
			after: uncertain(time.Minute),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPVE()
			if tc.pve != nil {
				tc.pve(p)
			}
			k, m := newKeeper(t, p, inDrive(tc.medium), tc.before)
			p.on["UploadISO"] = func() {
				if got := m.GetAnnotations()[object.AnnotationImages]; got != uncertain(maxUploadTime) {
					t.Errorf("%s Want %q noted while it is uploaded, got %q", tc.reason, uncertain(maxUploadTime), got)
				}
			}
			if tc.asked {
				k.Tasks.Asked(m, "upload "+image.Volume(), uploadAgain)
			}
			_, err := k.EnsureUploaded(t.Context(), m, tc.image, qemu.Difference{})
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s Want error %q, got %v", tc.reason, tc.err, err)
			}
			if diff := cmp.Diff(tc.writes, p.writes); diff != "" {
				t.Errorf("%s Calls: -want, +got:\n%s", tc.reason, diff)
			}
			if got := m.GetAnnotations()[object.AnnotationImages]; got != tc.after {
				t.Errorf("%s Want %q noted, got %q", tc.reason, tc.after, got)
			}
		})
	}
}

func TestStale(t *testing.T) {
	at := func(node string) []nocloud.Ref { return []nocloud.Ref{{Node: node, Volume: ourImage}} }
	one, two := "pve1="+ourImage, "pve2="+ourImage
	offline := func(p *pve) { p.offline = "pve2" }
	shared := func(nodes ...string) func(*pve) {
		return func(p *pve) {
			for _, node := range nodes {
				p.storages = append(p.storages, proxmox.Storage{Name: "files", Node: node, Shared: true})
			}
		}
	}
	cases := map[string]struct {
		reason   string
		noted    string
		medium   string
		image    *Image
		pve      func(*pve)
		gone     bool   // The VM no longer exists.
		unproven bool   // This reconcile has not proven it ours.
		snapshot string // What a snapshot has in the drive.
		want     []nocloud.Ref
	}{
		"None": {reason: "A VM that never had an image leaves none."},
		"Used": {reason: "The image in the drive stays.", noted: one, medium: ourImage},
		"Coming": {
			reason: "The image that the drive is to have stays.", noted: one,
			image: &Image{Storage: "files", Name: strings.TrimPrefix(ourImage, "files:iso/")},
		},
		"Next":   {reason: "No image is removed before the next one is made.", noted: one, image: &Image{Deferred: true}},
		"Left":   {reason: "The image of a node that the VM has left is removed.", noted: one + " " + two, medium: ourImage, want: at("pve2")},
		"Shared": {reason: "On shared storage it is the same image on all nodes.", noted: two, medium: ourImage, pve: shared("")},
		"SharedOffline": {
			reason: "On shared storage an image is reached by another node.", noted: two, gone: true, want: at("pve2"),
			pve: func(p *pve) { offline(p); shared("pve2", "pve1")(p) },
		},
		"Offline":  {reason: "The image of a node that is offline waits.", noted: two, pve: offline},
		"Gone":     {reason: "All images are removed with the VM.", noted: one, gone: true, want: at("pve1")},
		"Snapshot": {reason: "The image of a snapshot stays, without which PVE cannot go back to it.", noted: one, medium: "none", snapshot: ourImage},
		"Unproven": {reason: "The snapshots of a VM that is not proven ours are not read.", noted: one, medium: "none", snapshot: "none", unproven: true},
		"Since":    {reason: "An image that no snapshot has is removed.", noted: one, medium: "none", snapshot: "none", want: at("pve1")},
		"Foreign": {
			reason: "What was not made for the VM stays, whatever the annotation has.", noted: "pve1=" + theirImage + " pve1=local:iso/debian.iso",
			gone: true,
		},
		"Doubted": {reason: "An image that may still arrive is not removed.", noted: one + "@9999999999", gone: true},
		"Certain": {
			reason: "An image that can arrive no more is removed.", noted: one + "@1", gone: true,
			want: []nocloud.Ref{{Node: "pve1", Volume: ourImage, UncertainUntil: time.Unix(1, 0)}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPVE()
			if tc.pve != nil {
				tc.pve(p)
			}
			k, m := newKeeper(t, p, inDrive(tc.medium), tc.noted)
			if tc.snapshot != "" {
				k.VM.Config["parent"], k.OwnershipProven = "before", !tc.unproven
				p.snapshots = map[string]map[string]string{"before": inDrive(tc.snapshot)}
			}
			if tc.gone {
				k.VM = nil
			}
			got, err := k.Stale(t.Context(), m, tc.image)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(nocloud.Ref{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRemoveStale checks that an image that no VM has is removed, and forgotten where it does not exist.
func TestRemoveStale(t *testing.T) {
	one := "pve1=" + ourImage
	answers := func(text string) func(*pve) {
		return func(p *pve) { p.errs["Volumes"] = &proxmox.Error{Status: 500, Message: text} }
	}
	cases := map[string]struct {
		reason string
		pve    func(*pve)
		writes []string
		after  string
		err    string
	}{
		"There": {
			reason: "The image is removed.", pve: func(p *pve) { p.volumes["pve1"] = []proxmox.Volume{{ID: ourImage}} },
			writes: []string{"DeleteVolume pve1/" + ourImage}, after: one,
		},
		"Gone":      {reason: "An image that its storage does not have is forgotten.", pve: func(*pve) {}},
		"Undefined": {reason: "The storage of the image is not defined any more.", pve: answers("storage 'files' does not exist")},
		"Disabled": {
			reason: "The image is there again once its storage is enabled.", pve: answers("storage 'files' is disabled"), after: one, err: "is disabled",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPVE()
			tc.pve(p)
			k, m := newKeeper(t, p, inDrive(""), one)
			k.VM = nil
			_, err := k.RemoveStale(t.Context(), m, Refs(m))
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s RemoveStale(): %v, want %q", tc.reason, err, tc.err)
			}
			if got := m.GetAnnotations()[object.AnnotationImages]; got != tc.after || !cmp.Equal(p.writes, tc.writes) {
				t.Errorf("%s noted is %q, want %q; calls: %v", tc.reason, got, tc.after, p.writes)
			}
		})
	}
}

// TestRefsOfOthers checks that an annotation that names an image of another VM, or any other volume, is ignored.
func TestRefsOfOthers(t *testing.T) {
	annotation := "pve1=local:iso/debian.iso pve1=" + theirImage + " pve1=" + ourImage
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		object.AnnotationUUID: ourUUID, object.AnnotationImages: annotation,
	}}}
	if got := Refs(m); len(got) != 1 || got[0].Volume != ourImage {
		t.Errorf("want the image of this VM only, got %v", got)
	}
}
