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

package image

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// everywhere returns the files that each node is to have.
func (l *lab) everywhere() []string {
	file := "local:import/team.debian-" + digestOf(l.mirror.image)[:12] + ".qcow2"
	return []string{"pve1 " + file, "pve2 " + file, "pve3 " + file}
}

// TestKilled kills the provider at each of its writes, and checks that there is exactly one file and one template for each node in the end, and
// nothing after a deletion that is interrupted in the same way.
func TestKilled(t *testing.T) {
	templates := []string{"pve1 debian template=true", "pve2 debian template=true", "pve3 debian template=true"}
	for k := 1; ; k++ {
		l := newLab(t, simulator.Options{})
		m := l.image(withTemplate)
		l.fuse.left = k
		l.settle(m)
		if diff := cmp.Diff(l.everywhere(), l.files("import")); diff != "" {
			t.Errorf("killed at call %d: files: -want, +got:\n%s", k, diff)
		}
		if diff := cmp.Diff(templates, l.templates()); diff != "" {
			t.Errorf("killed at call %d: templates: -want, +got:\n%s", k, diff)
		}
		if l.mirror.gets != 3 {
			t.Errorf("killed at call %d: %d downloads", k, l.mirror.gets)
		}
		made := l.killed
		l.killed, l.fuse.left, l.fuse.burnt = false, k, false
		l.delete(m)
		if files, vms := l.files("import"), l.templates(); len(files)+len(vms) > 0 {
			t.Errorf("killed at call %d of the deletion: %v and %v are left", k, files, vms)
		}
		if !made && !l.killed {
			return
		}
	}
}

// delete deletes the Image, and waits until nothing is left to do.
func (l *lab) delete(m *namespaced.Image) {
	l.t.Helper()
	m.Finalizers = []string{"test/keep"}
	if err := l.kube.Update(l.t.Context(), m); err != nil {
		l.t.Fatal(err)
	}
	if err := l.kube.Delete(l.t.Context(), m); err != nil {
		l.t.Fatal(err)
	}
	l.settle(m)
}

// TestLostAnswer loses the answer of each write once, after it was carried out.
func TestLostAnswer(t *testing.T) {
	for _, path := range []string{"/nodes/*/storage/*/download-url", "/nodes/*/qemu", "/nodes/*/qemu/*/template"} {
		t.Run(path, func(t *testing.T) {
			l := newLab(t, simulator.Options{})
			l.pve.Inject(simulator.Fault{Method: "POST", Path: path, Count: 2, CutAfter: true})
			m := l.image(withTemplate)
			for range 20 {
				_, _ = l.reconcile(m) // The lost answers are errors.
				l.clock.Pass(2 * time.Second)
			}
			l.settle(m)
			if diff := cmp.Diff(l.everywhere(), l.files("import")); diff != "" {
				t.Errorf("files: -want, +got:\n%s", diff)
			}
			if n := len(l.templates()); n != 3 || l.mirror.gets != 3 {
				t.Errorf("%d templates and %d downloads, want three each: %v", n, l.mirror.gets, l.templates())
			}
		})
	}
}

// A lateClient carries out the first call that creates a VM, whose answer was lost, only together with the second one.
type lateClient struct {
	Client

	calls map[int]int
}

func (c *lateClient) Create(ctx context.Context, ref proxmox.Ref, p proxmox.Params) (proxmox.UPID, error) {
	if c.calls[ref.VMID]++; c.calls[ref.VMID] == 2 {
		if _, err := c.Client.Create(ctx, ref, p); err != nil {
			return "", err
		}
	}
	return c.Client.Create(ctx, ref, p)
}

// TestLostLate creates a template by a call that is carried out when it is repeated, and checks that its VM is kept, and no other one is created.
func TestLostLate(t *testing.T) {
	l := newLab(t, simulator.Options{})
	late := &lateClient{Client: l.client, calls: map[int]int{}}
	l.fuse = &fuse{Client: late, left: -1}
	l.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: "/nodes/*/qemu", Count: 3, CutBefore: true})
	m := l.image(withTemplate)
	for range 60 {
		_, _ = l.reconcile(m) // The lost answers are errors.
		l.clock.Pass(2 * time.Second)
	}
	l.settle(m)
	if diff := cmp.Diff([]string{"pve1 debian template=true", "pve2 debian template=true", "pve3 debian template=true"}, l.templates()); diff != "" {
		t.Errorf("templates: -want, +got:\n%s", diff)
	}
	if len(late.calls) != 3 || late.calls[int(*m.Status.AtProvider.Templates[0].VMID)] != 2 {
		t.Errorf("want two calls for each of three VMs, got %v", late.calls)
	}
	l.delete(m)
	if left := l.templates(); len(left) > 0 {
		t.Errorf("want nothing left, got %v", left)
	}
}

func TestForeignFile(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image()
	_, file, _ := strings.Cut(l.everywhere()[1], "local:import/")
	put(t, l, "pve2", file, "somebody's")
	for range 6 {
		if _, err := l.reconcile(m); err != nil {
			t.Fatal(err)
		}
	}
	if got := status(m, xpv2.TypeReady); got != "False AlreadyExists" {
		t.Errorf("Ready: got %s", got)
	}
	if len(m.Status.AtProvider.Replicas) != 3 || m.Status.AtProvider.Replicas[1].Ready || !m.Status.AtProvider.Replicas[0].Ready {
		t.Errorf("the others are there, this one is not: %+v", m.Status.AtProvider.Replicas)
	}
	before := l.volume(t, "pve2", file)
	l.delete(m)
	if after := l.volume(t, "pve2", file); after != before || len(l.files("import")) != 1 {
		t.Errorf("what is not ours must stay as it was: %+v, now %+v", before, after)
	}
}

func TestReplacedFile(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image()
	l.settle(m)
	_, file, _ := strings.Cut(l.everywhere()[0], "local:import/")
	put(t, l, "pve1", file, "somebody's, and longer than the first")
	if _, err := l.reconcile(m); err != nil {
		t.Fatal(err)
	}
	if m.Status.AtProvider.Replicas[0].Ready {
		t.Error("a file that somebody has replaced must not be used")
	}
	l.delete(m)
	if got := l.files("import"); len(got) != 1 {
		t.Errorf("nor may it be deleted: %v are left", got)
	}
}

// put creates a file on a storage as someone else.
func put(t *testing.T, l *lab, node, file, content string) {
	t.Helper()
	before := l.mirror.image
	l.mirror.publish(qcow2(content))
	defer l.mirror.publish(before)
	if v := l.volume(t, node, file); v.ID != "" {
		l.ended(t)(l.client.DeleteVolume(t.Context(), node, v.ID))
	}
	l.ended(t)(l.client.DownloadURL(t.Context(), node, "local", proxmox.Download{URL: l.mirror.URL + "/debian.qcow2", Content: "import", FileName: file}))
	l.mirror.gets--
}

func (l *lab) ended(t *testing.T) func(proxmox.UPID, error) {
	t.Helper()
	return func(u proxmox.UPID, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		task, err := l.client.Task(t.Context(), u)
		if err != nil || !task.OK() {
			t.Fatalf("%+v, %v", task, err)
		}
	}
}

func (l *lab) volume(t *testing.T, node, file string) proxmox.Volume {
	t.Helper()
	all, err := l.client.Volumes(t.Context(), node, "local", "import")
	if err != nil {
		t.Fatal(err)
	}
	if v := volumeNamed(all, file); v != nil {
		return *v
	}
	return proxmox.Volume{}
}

func TestAdoption(t *testing.T) {
	l := newLab(t, simulator.Options{})
	for _, node := range []string{"pve1", "pve2", "pve3"} {
		put(t, l, node, "mine.qcow2", "first")
	}
	l.pve.ClearRequests()
	m := l.image(func(p *v1alpha1.ImageParameters) { p.Template = &v1alpha1.ImageTemplate{Storage: new("ceph")} })
	m.Annotations = map[string]string{meta.AnnotationKeyExternalName: "mine.qcow2,9000"}
	if err := l.kube.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	l.settle(m)
	for _, r := range l.pve.Requests() {
		if r.Method != http.MethodGet {
			t.Errorf("adoption writes nothing, got %s %s", r.Method, r.Path)
		}
	}
	if got := status(m, TypeVerified); got != "Unknown Adopted" {
		t.Errorf("Verified: got %s", got)
	}
	if o := m.Status.AtProvider; o.File != "mine.qcow2" || len(o.Replicas) != 3 || len(o.Templates) != 1 || *o.Templates[0].VMID != 9000 {
		t.Errorf("the status is %+v", o)
	}
}

// TestLostAnnotations removes the annotations of an Image, as a full update by its manifest does.
func TestLostAnnotations(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image(withTemplate)
	l.settle(m)
	if err := l.kube.Status().Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	m.Annotations = nil
	if err := l.kube.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	l.pve.ClearRequests()
	l.settle(m)
	for _, r := range l.pve.Requests() {
		if r.Method != http.MethodGet {
			t.Errorf("what was made is known: nothing is written, got %s %s", r.Method, r.Path)
		}
	}
	if m.Annotations[AnnotationRecord] == "" || m.Status.AtProvider.Revision != 1 {
		t.Errorf("want the annotations back, got %v and %+v", m.Annotations, m.Status.AtProvider)
	}
	l.delete(m)
	if len(l.files("import"))+len(l.templates()) > 0 {
		t.Errorf("what was made goes with the Image: %v, %v are left", l.files("import"), l.templates())
	}
}

func TestRefresh(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image(withTemplate, func(p *v1alpha1.ImageParameters) {
		p.Template.Storage, p.Template.DiskFormat = new("local"), new("qcow2")
		p.Source.Checksum, p.Source.ChecksumURL = nil, new(l.mirror.URL+"/SHA256SUMS")
		p.Refresh = &v1alpha1.ImageRefresh{Schedule: "0 3 * * *"}
		p.Keep = new(int32(0))
	})
	l.settle(m)
	first := digestOf(l.mirror.image)[:12]
	l.linkedClone(t, 600, *m.Status.AtProvider.Templates[0].VMID)
	l.mirror.publish(qcow2("second"))
	if _, err := l.reconcile(m); err != nil {
		t.Fatal(err)
	}
	if m.Status.AtProvider.Revision != 1 {
		t.Error("nothing is looked for before its time")
	}
	l.clock.Pass(24 * time.Hour)
	for range 12 {
		if _, err := l.reconcile(m); err != nil {
			t.Fatal(err)
		}
		l.clock.Pass(2 * time.Second)
	}
	o := m.Status.AtProvider
	if o.Revision != 2 || !strings.Contains(o.File, digestOf(l.mirror.image)[:12]) {
		t.Errorf("another checksum makes another revision, got %d with %s", o.Revision, o.File)
	}
	if old := o.Revisions[1]; len(o.Revisions[0].Replicas) > 0 || len(old.Replicas) != 3 || len(old.Templates) != 3 || !old.Replicas[0].Ready {
		t.Errorf("where the older revision is, it says itself: %+v", o.Revisions)
	}
	if len(o.Revisions) != 2 || len(o.Revisions[1].UsedBy) != 1 || o.Revisions[1].UsedBy[0] != "VM 600" {
		t.Errorf("a revision that a linked clone needs stays, with whose it is: %+v", o.Revisions)
	}
	if got := strings.Join(l.files("import"), " "); strings.Count(got, first) != 3 {
		t.Errorf("its files are there: %s", got)
	}
	l.ended(t)(l.client.Delete(t.Context(), proxmox.Ref{Node: "pve1", VMID: 600}, proxmox.DeleteOptions{}))
	for range 12 {
		if _, err := l.reconcile(m); err != nil {
			t.Fatal(err)
		}
		l.clock.Pass(2 * time.Second)
	}
	if got := l.files("import"); len(got) != 3 || strings.Contains(strings.Join(got, " "), first) || len(l.templates()) != 3 {
		t.Errorf("once nobody needs it, it goes: %v, %v", got, l.templates())
	}
}

// linkedClone creates a linked clone of a template as someone else.
func (l *lab) linkedClone(t *testing.T, vmid int, template int32) {
	t.Helper()
	l.ended(t)(l.client.Clone(t.Context(), proxmox.Ref{Node: "pve1", VMID: int(template)}, proxmox.CloneOptions{NewID: vmid, Full: new(false)}))
}

func TestTwoForOneFile(t *testing.T) {
	l := newLab(t, simulator.Options{})
	older := l.image(func(p *v1alpha1.ImageParameters) { p.FileName = new("same") })
	younger := older.DeepCopy()
	younger.ObjectMeta = metav1.ObjectMeta{
		Namespace: "other", Name: "a", UID: "uid-0", Generation: 1, CreationTimestamp: metav1.NewTime(l.clock.Now().Add(time.Hour)),
	}
	if err := l.kube.Create(t.Context(), younger); err != nil {
		t.Fatal(err)
	}
	if _, err := l.reconcile(younger); err != nil {
		t.Fatal(err)
	}
	if got := status(younger, xpv2.TypeReady); got != "False OwnershipConflict" {
		t.Errorf("Ready of the younger: got %s: %s", got, younger.GetCondition(xpv2.TypeReady).Message)
	}
	l.settle(older)
	l.delete(younger)
	if len(l.files("import")) != 3 {
		t.Error("the younger must not delete what the older has made")
	}
}

func TestMachineNeedsIt(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image()
	l.settle(m)
	pin := imageref.Pin{Name: m.Name, UID: string(m.UID), Revision: 1}
	x := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", Annotations: map[string]string{imageref.AnnotationPin: pin.String()}}}
	if err := l.kube.Create(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	m.Finalizers = []string{"test/keep"}
	if err := l.kube.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := l.kube.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := l.reconcile(m); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.GetCondition(xpv2.TypeReady); !strings.Contains(got.Message, "Machine team/web") || len(l.files("import")) != 3 {
		t.Errorf("the files of a Machine that is being made stay, with whose they are: %+v", got)
	}
	if err := l.kube.Delete(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	l.settle(m)
	if got := l.files("import"); len(got) > 0 {
		t.Errorf("then they go: %v", got)
	}
}

// namedTenants determines by their names whether Machines belong to the tenant of an Image, to operators or to another tenant.
type namedTenants struct{ withoutTenants }

func (namedTenants) OtherTenant(_, machine resource.Managed) bool {
	return machine.GetName() == "others"
}

// TestOthersNeedIt checks that the Image of a tenant is not kept by Machines of other tenants with an annotation that they are created from it.
func TestOthersNeedIt(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image()
	pin := imageref.Pin{Name: m.Name, UID: string(m.UID), Revision: 1}
	for _, name := range []string{"own", "operators", "others"} {
		x := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, Annotations: map[string]string{imageref.AnnotationPin: pin.String()}}}
		if err := l.kube.Create(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	for of, want := range map[*tenancy.Tenant][]string{
		nil:                       {"Machine team/operators", "Machine team/others", "Machine team/own"},
		tenancy.DenyAll("nobody"): {"Machine team/operators", "Machine team/own"},
	} {
		e := l.external()
		e.tenant, e.isolation = of, func(context.Context) isolation { return namedTenants{} }
		got, err := e.usage().machineUsers(t.Context(), m, &revision{Number: 1})
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("want %q, got %q, %v", want, got, err)
		}
	}
}

func TestProblems(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.ImageParameters)
		fault  *simulator.Fault
		want   string
	}{
		"Storage": {
			reason: "A storage that is not there is named.", change: func(p *v1alpha1.ImageParameters) { p.Storages = []string{"nowhere"} },
			want: "StorageNotFound",
		},
		"Content": {
			reason: "A storage without the content type is named.",
			change: func(p *v1alpha1.ImageParameters) { p.Storages = []string{"local-lvm"} }, want: "NotSupported",
		},
		"Missing": {reason: "A file that is not there is the server's.", change: func(p *v1alpha1.ImageParameters) {
			p.Source.URL = new(strings.Replace(*p.Source.URL, "debian", "nosuch", 1))
		}, want: "ServerError"},
		"NoServer": {
			reason: "A server that is not there is named.",
			change: func(p *v1alpha1.ImageParameters) { p.Source.URL = new("http://127.0.0.1:1/debian.qcow2") }, want: "ServerUnreachable",
		},
		"Format": {reason: "A file that is not what it says is not kept.", change: func(p *v1alpha1.ImageParameters) {
			p.Source.Checksum, p.Source.URL = nil, new(strings.Replace(*p.Source.URL, "debian.qcow2", "SHA256SUMS", 1))
			p.Source.Format = new("qcow2")
		}, want: "WrongFormat"},
		"Name": {reason: "An extension that PVE does not know is told before.", change: func(p *v1alpha1.ImageParameters) {
			p.Source.URL = new(strings.Replace(*p.Source.URL, ".qcow2", ".zip", 1))
		}, want: "Invalid"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, simulator.Options{})
			m := l.image(tc.change)
			for range 6 {
				_, _ = l.reconcile(m) // What cannot be done may also be an error.
			}
			if _, err := l.reconcile(m); err != nil {
				t.Logf("the error is: %v", err)
			}
			if got := string(m.GetCondition(xpv2.TypeReady).Reason); got != tc.want {
				t.Errorf("\n%s\nwant %s, got %s: %s", tc.reason, tc.want, got, m.GetCondition(xpv2.TypeReady).Message)
			}
			if got := l.files("import"); len(got) > 0 {
				t.Errorf("\n%s\nnothing may be left: %v", tc.reason, got)
			}
		})
	}
}

// TestFull checks a storage without room: it is named in one sentence, and nothing is left.
func TestFull(t *testing.T) {
	l := newLab(t, simulator.Options{})
	l.pve.Edit(func(s *simulator.State) {
		s.Storages["local"].Total = 1
	})
	m := l.image()
	for range 4 {
		if _, err := l.reconcile(m); err != nil {
			t.Fatal(err)
		}
	}
	if c := m.GetCondition(xpv2.TypeReady); c.Reason != "StorageFull" || !strings.Contains(c.Message, "make room") || len(l.files("import")) > 0 {
		t.Errorf("want StorageFull and no file, got %s: %s, %v", c.Reason, c.Message, l.files("import"))
	}
}

// TestDenied checks a token without a privilege: the privilege is named with its path before anything is done.
func TestDenied(t *testing.T) {
	cases := map[string]struct {
		reason string
		grants []simulator.Grant
		roles  map[string][]string
		want   []string
	}{
		"Network": {
			reason: "The node must be allowed to reach the network.", roles: map[string][]string{"Downloader": {}, "NetworkReader": {}},
			want: []string{"Sys.AccessNetwork", "/nodes/pve1"},
		},
		"Storage": {
			reason: "The user must be allowed to put files on the storage.", roles: map[string][]string{"Uploader": {"Datastore.Audit"}},
			want: []string{"Datastore.AllocateTemplate", "/storage/local"},
		},
		"Modify": {
			reason: "Who may change the cluster may download.",
			roles:  map[string][]string{"Downloader": {}, "NetworkReader": {}, "Cluster": {"Sys.Audit", "Sys.Modify"}},
			grants: []simulator.Grant{{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "Cluster", Propagate: true}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, simulator.Options{})
			l.pve.Edit(func(s *simulator.State) {
				for role, names := range tc.roles {
					privileges := map[string]bool{}
					for _, p := range names {
						privileges[p] = true
					}
					s.Roles[role] = &simulator.Role{Privileges: privileges}
				}
				s.ACL = append(s.ACL, tc.grants...)
			})
			m := l.image()
			var last error
			for range 3 {
				if _, err := l.reconcile(m); err != nil {
					last = err
				}
			}
			if len(tc.want) == 0 {
				if last != nil || len(l.files("import")) != 3 {
					t.Errorf("\n%s\nwant three files, got %v, %v", tc.reason, l.files("import"), last)
				}
				return
			}
			for _, want := range tc.want {
				if last == nil || !strings.Contains(last.Error(), want) {
					t.Errorf("\n%s\nwant an error with %s, got %v", tc.reason, want, last)
				}
			}
			for _, r := range l.pve.Requests() {
				if strings.HasSuffix(r.Path, "/download-url") {
					t.Errorf("\n%s\nnothing may be begun, got %s %s", tc.reason, r.Method, r.Path)
				}
			}
		})
	}
}

func TestStorageTakenOff(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image(func(p *v1alpha1.ImageParameters) { p.Storages = []string{"local", "nfs"} })
	l.settle(m)
	if n := len(m.Status.AtProvider.Replicas); n != 4 {
		t.Errorf("a shared storage has one file, each local one too: got %d", n)
	}
	m.Spec.ForProvider.Nodes, m.Spec.ForProvider.Storages = []string{"pve2"}, []string{"local"}
	if err := l.kube.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	l.settle(m)
	for range 4 {
		if _, err := l.reconcile(m); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(l.everywhere()[1:2], l.files("import")); diff != "" || len(m.Status.AtProvider.Replicas) != 1 {
		t.Errorf("what is asked for no more goes: -want, +got:\n%s", diff)
	}
}

func TestVolume(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image(withTemplate, func(p *v1alpha1.ImageParameters) {
		p.Source, p.Storages = v1alpha1.ImageSource{Volume: new("local:import/debian-13-genericcloud-amd64.qcow2")}, nil
	})
	l.settle(m)
	if n := len(l.templates()); n != 3 {
		t.Errorf("a template is made of it on each node that has it, got %v", l.templates())
	}
	l.delete(m)
	if v := l.volume(t, "pve1", "debian-13-genericcloud-amd64.qcow2"); v.ID == "" || len(l.templates()) > 0 {
		t.Errorf("templates go, the file stays: %v, %v", l.templates(), v)
	}
}

func TestTemplateNotMade(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image(withTemplate)
	l.settle(m)
	id := int(*m.Status.AtProvider.Templates[0].VMID)
	if err := l.client.Configure(t.Context(), proxmox.Ref{Node: "pve1", VMID: id}, proxmox.Change{Set: proxmox.Params{"template": "0"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.reconcile(m); err != nil {
		t.Fatal(err)
	}
	if m.GetCondition(xpv2.TypeReady).Status == "True" {
		t.Error("a template that is none any more is seen")
	}
	l.settle(m)
	if diff := cmp.Diff([]string{"pve1 debian template=true", "pve2 debian template=true", "pve3 debian template=true"}, l.templates()); diff != "" {
		t.Errorf("it is made one again: -want, +got:\n%s", diff)
	}
}

func TestSteady(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image(withTemplate)
	l.settle(m)
	e := l.external()
	look := func() {
		t.Helper()
		if err := l.kube.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
			t.Fatal(err)
		}
		if o, err := e.Observe(t.Context(), m); err != nil || !o.ResourceUpToDate {
			t.Fatalf("%+v, %v", o, err)
		}
	}
	look()
	l.pve.ClearRequests()
	look()
	for _, r := range l.pve.Requests() {
		if r.Path != "/cluster/resources" && !strings.HasSuffix(r.Path, "/content") {
			t.Errorf("a look at what has not changed needs lists only, got %s %s", r.Method, r.Path)
		}
	}
}

// writesOfReplicas is the number of writes for an Image on three nodes: a file, a VM, and a template of it on each.
const writesOfReplicas = 9

// writes returns the number of requests that have changed something.
func (l *lab) writes() (n int) {
	for _, r := range l.pve.Requests() {
		if r.Method != http.MethodGet {
			n++
		}
	}
	return n
}

// TestCost reconciles Images with replicas on all nodes for two minutes, with shared data as old as it gets in use, and checks that the number of
// calls does not depend on the number of Images.
func TestCost(t *testing.T) {
	counts := map[int]int{}
	for _, n := range []int{2, 12} {
		l := newLab(t, simulator.Options{})
		var all []*namespaced.Image
		for i := range n {
			name := fmt.Sprintf("image-%d", i)
			m := l.imageNamed(name, types.UID(name), withTemplate)
			l.pve.ClearRequests()
			l.settle(m)
			if writes := l.writes(); writes > writesOfReplicas {
				t.Errorf("want an Image to be made with at most %d changes, got %d", writesOfReplicas, writes)
			}
			all = append(all, m)
		}
		inv := inventory.New(l.client, inventory.WithClock(l.clock.Now))
		t.Cleanup(inv.Close)
		look := func() {
			for _, m := range all {
				if err := l.kube.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
					t.Fatal(err)
				}
				e := l.external()
				e.inventory = inv
				if o, err := e.Observe(t.Context(), m); err != nil || !o.ResourceUpToDate {
					t.Fatalf("%+v, %v", o, err)
				}
			}
		}
		look()
		l.pve.ClearRequests()
		for range 4 {
			l.clock.Pass(30 * time.Second)
			look()
		}
		counts[n] = len(l.pve.Requests())
	}
	if counts[2] != counts[12] || counts[2] == 0 {
		t.Errorf("want the same calls for 2 Images and for 12, got %v", counts)
	}
}
