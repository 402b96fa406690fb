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

package imageref

import (
	"strconv"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// imageOf returns an Image with an observation.
func imageOf(change func(*namespaced.Image)) *namespaced.Image {
	i := &namespaced.Image{ObjectMeta: metav1.ObjectMeta{Name: "debian", UID: "uid"}}
	i.Spec.ForProvider.Template = &v1alpha1.ImageTemplate{}
	i.Status.AtProvider = v1alpha1.ImageObservation{
		Revision: 2, Digest: "sha256:2", File: "two.qcow2",
		Replicas: []v1alpha1.ImageReplica{
			{Node: "pve2", Storage: "local", Volume: "local:import/two.qcow2", Ready: true},
			{Node: "pve3", Storage: "local", Volume: "local:import/two.qcow2"},
			{Node: "pve1", Storage: "nfs", Shared: true, Volume: "nfs:import/two.qcow2", Ready: true},
		},
		Templates: []v1alpha1.ImageTemplateObservation{
			{Node: "pve1", Storage: "local-lvm", VMID: new(int32(9001)), Ready: true},
			{Node: "pve2", Storage: "local-lvm", VMID: new(int32(9002))},
		},
		Revisions: []v1alpha1.ImageRevision{{Revision: 2}, {
			Revision: 1, File: "one.qcow2", Replicas: []v1alpha1.ImageReplica{{Node: "pve1", Storage: "local", Volume: "local:import/one.qcow2", Ready: true}},
		}},
	}
	i.SetConditions(xpv2.Available())
	if change != nil {
		change(i)
	}
	return i
}

func reasoned(reason, message string) xpv2.Condition {
	c := xpv2.Unavailable().WithMessage(message)
	c.Reason = xpv2.ConditionReason(reason)
	return c
}

func TestChoose(t *testing.T) {
	file, template := Reference{Name: "debian"}, Reference{Name: "debian", Template: true}
	pinned := &Pin{Name: "debian", UID: "uid", Revision: 1}
	now := metav1.Now()
	cases := map[string]struct {
		reason string
		image  func(*namespaced.Image)
		ask    Reference
		pinned *Pin
		want   string
		err    string
	}{
		"File":     {reason: "Files that are ready can be imported.", ask: file, want: "2: nfs:import/two.qcow2 on pve1, local:import/two.qcow2 on pve2"},
		"Template": {reason: "Templates that are ready can be cloned.", ask: template, want: "2: 9001 on pve1"},
		"Pinned":   {reason: "A revision that is pinned stands while it is there.", ask: file, pinned: pinned, want: "1: local:import/one.qcow2 on pve1"},
		"PinGone":  {reason: "One that is gone does not.", ask: template, pinned: pinned, want: "2: 9001 on pve1"},
		"PinOther": {
			reason: "A pin of another Image of the name does not count.", ask: file, pinned: &Pin{Name: "debian", UID: "before", Revision: 1},
			want: "2: nfs:import/two.qcow2 on pve1, local:import/two.qcow2 on pve2",
		},
		"Downloading": {
			reason: "How far a download is does not wake anybody.", ask: file, err: "image 'debian' is not ready: Downloading",
			image: func(i *namespaced.Image) {
				i.Status.AtProvider.Revision = 0
				i.SetConditions(reasoned("Downloading", "41%"))
			},
		},
		"Failed": {
			reason: "What is wrong is told.", ask: file, err: "image 'debian' is not ready: ChecksumMismatch: it is another file",
			image: func(i *namespaced.Image) {
				i.Status.AtProvider.Revision = 0
				i.SetConditions(reasoned("ChecksumMismatch", "it is another file"))
			},
		},
		"New": {
			reason: "An Image that nobody has looked at yet is waited for.", ask: file, err: "nothing was done about it yet",
			image: func(i *namespaced.Image) { i.Status = namespaced.ImageStatus{} },
		},
		"NotReconciled": {
			reason: "An Image that has the status of its definition is waited for.", ask: file, err: "nothing was done about it yet",
			image: func(i *namespaced.Image) {
				i.Status = namespaced.ImageStatus{}
				i.SetConditions(reasoned(string(v1alpha1.ReasonNotReconciled), "not reconciled yet"))
			},
		},
		"NoTemplate": {
			reason: "An Image without a template is told from one that has none yet.", ask: template, err: "has no template",
			image: func(i *namespaced.Image) { i.Spec.ForProvider.Template, i.Status.AtProvider.Templates = nil, nil },
		},
		"ISO": {
			reason: "What is no disk image cannot be imported.", ask: file, err: "none of it is what this Machine needs",
			image: func(i *namespaced.Image) {
				i.Status.AtProvider.Templates = nil
				i.Status.AtProvider.Replicas = []v1alpha1.ImageReplica{{Node: "pve1", Volume: "local:iso/a.iso", Ready: true}}
			},
		},
		"OnlyTemplates": {
			reason: "An Image of a Machine has templates only.", ask: file, err: "use templateRef",
			image: func(i *namespaced.Image) { i.Status.AtProvider.Replicas = nil },
		},
		"Deleted": {
			reason: "Nothing is made from an Image that goes.", ask: file, err: "is being deleted",
			image: func(i *namespaced.Image) { i.DeletionTimestamp = &now },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := Choose(imageOf(tc.image), tc.ask, tc.pinned)
			var wait *NotReadyError
			if tc.err != "" {
				if !errors.As(err, &wait) || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("\n%s\nwant a wait with %q, got %v", tc.reason, tc.err, err)
				}
				return
			}
			if got := described(c); err != nil || got != tc.want {
				t.Errorf("\n%s\nwant %s, got %s, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}

func described(c Choice) string {
	all := make([]string, 0, len(c.Replicas))
	for _, r := range c.Replicas {
		what := r.Volume
		if r.VMID != 0 {
			what = strconv.Itoa(r.VMID)
		}
		all = append(all, what+" on "+r.Node)
	}
	return strconv.Itoa(int(c.Pin.Revision)) + ": " + strings.Join(all, ", ")
}

func TestOn(t *testing.T) {
	c, err := Choose(imageOf(nil), Reference{Name: "debian"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	has := func(node, storage string) bool { return storage == "nfs" && node != "pve4" }
	for node, want := range map[string]string{"pve1": "nfs:import/two.qcow2", "pve2": "local:import/two.qcow2", "pve3": "nfs:import/two.qcow2", "pve4": ""} {
		if got, _ := c.On(node, has); got.Volume != want {
			t.Errorf("On(%s): want %q, got %q", node, want, got.Volume)
		}
	}
	if diff := cmp.Diff([]string{"pve1", "pve2", "pve3"}, c.Nodes([]string{"pve1", "pve2", "pve3", "pve4"}, has)); diff != "" {
		t.Errorf("Nodes: -want, +got:\n%s", diff)
	}
}

func TestChanged(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*namespaced.Image)
		want   bool
	}{
		"Nothing":  {reason: "The same Image wakes nobody.", change: func(*namespaced.Image) {}},
		"Progress": {reason: "The progress of a download wakes nobody.", change: func(i *namespaced.Image) { i.Status.AtProvider.Progress = new(int32(7)) }},
		"Revision": {reason: "A new revision wakes who waits.", change: func(i *namespaced.Image) { i.Status.AtProvider.Revision = 3 }, want: true},
		"Replica":  {reason: "A replica wakes who waits.", change: func(i *namespaced.Image) { i.Status.AtProvider.Replicas[1].Ready = true }, want: true},
		"Failure":  {reason: "A failure wakes who waits.", change: func(i *namespaced.Image) { i.SetConditions(reasoned("ServerError", "404")) }, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Changed(imageOf(nil), imageOf(tc.change)); got != tc.want {
				t.Errorf("\n%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

func TestPin(t *testing.T) {
	want := Pin{Name: "debian", UID: "uid", Revision: 3, Digest: "sha256:1", Volume: "local:import/a.qcow2", VMID: 9001, Template: true}
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationPin: want.String()}}}
	got, ok := PinOf(m)
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("what is kept is read back: -want, +got:\n%s", diff)
	}
	if o := got.Observation(); o.Revision != 3 || *o.TemplateVMID != 9001 || o.Volume != want.Volume {
		t.Errorf("the status shows it, got %+v", o)
	}
	if _, ok := PinOf(&namespaced.Machine{}); ok {
		t.Error("a Machine without a pin has none")
	}
}

func TestSharedName(t *testing.T) {
	url := "https://cloud.debian.org/images/debian-13-genericcloud-amd64.qcow2"
	base := &v1alpha1.MachineImage{URL: &url}
	name := SharedName(base, "ProviderConfig/default")
	if !strings.HasPrefix(name, "debian-13-genericcloud-amd64-") || len(name) > 63 {
		t.Errorf("the file is in the name, got %q", name)
	}
	others := map[string]string{
		"checksum": SharedName(&v1alpha1.MachineImage{URL: &url, Checksum: new("md5:0")}, "ProviderConfig/default"),
		"storages": SharedName(&v1alpha1.MachineImage{URL: &url, Storages: []string{"nfs"}}, "ProviderConfig/default"),
		"config":   SharedName(base, "ProviderConfig/other"),
	}
	for what, other := range others {
		if other == name {
			t.Errorf("another %s makes another Image, got %s twice", what, name)
		}
	}
	if again := SharedName(&v1alpha1.MachineImage{URL: &url, Storages: []string{"local"}, Disk: new("root")}, "ProviderConfig/default"); again != name {
		t.Errorf("what is asked for is the same, got %s and %s", name, again)
	}
	odd := "http://[::1]/%zz"
	if got := SharedName(&v1alpha1.MachineImage{URL: &odd}, ""); got == "" || strings.HasPrefix(got, "-") {
		t.Errorf("a URL that cannot be read has a name all the same, got %q", got)
	}
}

// TestTenantName checks that the name of a tenant's Image of a URL differs from those of others, and that Machines that name the URL are found.
func TestTenantName(t *testing.T) {
	url := "https://cloud.debian.org/images/" + strings.Repeat("debian-", 20) + ".qcow2"
	m := &namespaced.Machine{}
	m.Spec.ForProvider.Image = &v1alpha1.MachineImage{URL: &url}
	ref, _ := Of(m)
	own, theirs := TenantName(ref.Name, "a_shared_."), TenantName(ref.Name, "b_shared_.")
	if own == theirs || own == ref.Name || len(own) > 63 || TenantName(ref.Name, "") != ref.Name {
		t.Errorf("want a DNS label for each tenant, got %s and %s beside %s", own, theirs, ref.Name)
	}
	if !AsksForURL(m) || !IsNamed(m, own) || !IsNamed(m, ref.Name) || IsNamed(m, ref.Name+"0") || IsNamed(m, "debian") {
		t.Errorf("want the Machine found by %s and %s, and by no other name", own, ref.Name)
	}
	m.Spec.ForProvider.Image = &v1alpha1.MachineImage{Ref: &v1alpha1.Reference{Name: "debian"}}
	if AsksForURL(m) || !IsNamed(m, "debian") || IsNamed(m, "debian-13") {
		t.Error("an Image that is named has one name")
	}
}

func TestOf(t *testing.T) {
	url := "https://example.org/a.img"
	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		want   Reference
		ok     bool
	}{
		"None": {reason: "A volume is no Image.", spec: v1alpha1.MachineParameters{Image: &v1alpha1.MachineImage{Volume: "local:import/a.raw"}}},
		"Ref": {
			reason: "An Image is named.", spec: v1alpha1.MachineParameters{Image: &v1alpha1.MachineImage{Ref: &v1alpha1.Reference{Name: "a"}}},
			want: Reference{Name: "a"}, ok: true,
		},
		"Template": {
			reason: "The template of an Image is named.", spec: v1alpha1.MachineParameters{TemplateRef: &v1alpha1.Reference{Name: "a"}},
			want: Reference{Name: "a", Template: true}, ok: true,
		},
		"URL": {
			reason: "A URL stands for one.", spec: v1alpha1.MachineParameters{Image: &v1alpha1.MachineImage{URL: &url}},
			want: Reference{Name: SharedName(&v1alpha1.MachineImage{URL: &url}, "ProviderConfig/p")}, ok: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &namespaced.Machine{}
			m.Spec.ForProvider = tc.spec
			m.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "p"})
			if got, ok := Of(m); got != tc.want || ok != tc.ok {
				t.Errorf("\n%s\nwant %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestSameSource(t *testing.T) {
	url := "https://example.org/a.qcow2"
	i := &v1alpha1.MachineImage{URL: &url, Checksum: new("md5:0")}
	image := imageOf(func(x *namespaced.Image) {
		x.Spec.ForProvider = SharedParameters(i)
		x.UID = types.UID("other")
	})
	if !SameSource(image, i) {
		t.Error("what was made for it is the same")
	}
	if image.Spec.ForProvider.Source.Checksum = new("md5:1"); SameSource(image, i) {
		t.Error("another checksum is another source")
	}
}
