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
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/vitistack/provider-proxmox/apis"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/checksum"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// mirror serves images, and the list of their checksums.
type mirror struct {
	*httptest.Server

	mu    sync.Mutex
	image []byte
	sum   string // in the list, instead of the image's
	gets  int
}

func newMirror(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{image: qcow2("first")}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

// qcow2 returns a file with the header of a disk image of 1 GiB.
func qcow2(content string) []byte {
	b := make([]byte, 104)
	copy(b, "QFI\xfb")
	binary.BigEndian.PutUint32(b[4:], 3)
	binary.BigEndian.PutUint64(b[24:], 1<<30)
	return slices.Concat(b, []byte(content))
}

// rawImage is a disk image without a header.
const rawImage = "a disk"

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ServeHTTP serves the image and the list.
func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch r.URL.Path {
	case "/debian.qcow2", "/debian.iso":
		if r.Method == http.MethodGet {
			m.gets++
		}
		_, _ = w.Write(m.image)
	case "/raw.img":
		_, _ = w.Write([]byte(rawImage))
	case "/SHA256SUMS":
		sum := digestOf(m.image)
		if m.sum != "" {
			sum = m.sum
		}
		_, _ = fmt.Fprintf(w, "%s  debian.qcow2\n", sum)
	default:
		http.NotFound(w, r)
	}
}

func (m *mirror) publish(image []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.image = image
}

// errKilled is the result of each call of a killed provider.
var errKilled = errors.New("killed")

// A fuse is a client that kills the provider after a number of writes. The last one is carried out, and its answer is lost.
type fuse struct {
	Client

	left  int // negative for never
	burnt bool
}

func (f *fuse) blow() bool {
	if f.burnt {
		return true
	}
	f.left--
	f.burnt = f.left == 0
	return false
}

func through[T any](f *fuse, call func() (T, error)) (T, error) {
	var none T
	if f.blow() {
		return none, errKilled
	}
	v, err := call()
	if f.burnt {
		return none, errKilled
	}
	return v, err
}

func (f *fuse) DownloadURL(ctx context.Context, node, storage string, d proxmox.Download) (proxmox.UPID, error) {
	return through(f, func() (proxmox.UPID, error) { return f.Client.DownloadURL(ctx, node, storage, d) })
}

func (f *fuse) PullOCI(ctx context.Context, node, storage, reference, fileName string) (proxmox.UPID, error) {
	return through(f, func() (proxmox.UPID, error) { return f.Client.PullOCI(ctx, node, storage, reference, fileName) })
}

func (f *fuse) DeleteVolume(ctx context.Context, node, volume string) (proxmox.UPID, error) {
	return through(f, func() (proxmox.UPID, error) { return f.Client.DeleteVolume(ctx, node, volume) })
}

func (f *fuse) Create(ctx context.Context, ref proxmox.Ref, p proxmox.Params) (proxmox.UPID, error) {
	return through(f, func() (proxmox.UPID, error) { return f.Client.Create(ctx, ref, p) })
}

func (f *fuse) ConvertToTemplate(ctx context.Context, ref proxmox.Ref) (proxmox.UPID, error) {
	return through(f, func() (proxmox.UPID, error) { return f.Client.ConvertToTemplate(ctx, ref) })
}

func (f *fuse) Delete(ctx context.Context, ref proxmox.Ref, o proxmox.DeleteOptions) (proxmox.UPID, error) {
	return through(f, func() (proxmox.UPID, error) { return f.Client.Delete(ctx, ref, o) })
}

// lab is a simulated cluster, a mirror, and an API server.
type lab struct {
	t      *testing.T
	pve    *simulator.Server
	client *proxmox.Client
	mirror *mirror
	kube   client.Client
	clock  *configtest.Clock
	fuse   *fuse
	killed bool // in the last reconcile

	// vmids of templates. The zero value is the default range.
	vmids v1alpha1.VMIDRange

	// view returns the cluster as a provider sees it, unless nil.
	view func(Inventory) Inventory
}

func newLab(t *testing.T, o simulator.Options) *lab {
	t.Helper()
	configtest.Once(t)
	scheme := runtime.NewScheme()
	if err := apis.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	scenario, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	scenario.Roles = append(scenario.Roles, simulator.ScenarioRole{ID: "Downloader", Privileges: []string{"Sys.AccessNetwork", "Sys.Audit"}})
	scenario.ACL = append(scenario.ACL, simulator.ScenarioGrant{Path: "/nodes", User: "crossplane@pve", Roles: []string{"Downloader"}})
	o.Scenario = scenario
	clock := configtest.NewClock()
	pve := simulatortest.NewTest(t, o)
	c, err := proxmox.New(proxmox.Config{
		Endpoints: []string{pve.URL()}, TLS: proxmox.TLS{CA: pve.CA()},
		Credentials: proxmox.Credentials{TokenID: simulatortest.TestToken, TokenSecret: simulatortest.TestSecret}, Clock: clock.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	l := &lab{t: t, pve: pve, client: c, mirror: newMirror(t), clock: clock, fuse: &fuse{Client: c, left: -1}}
	l.kube = interceptor.NewClient(
		fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&namespaced.Image{}).Build(),
		interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if l.fuse.burnt {
				return errKilled
			}
			return c.Patch(ctx, o, p, opts...)
		}})
	return l
}

// image creates an Image of the mirror on the local storages.
func (l *lab) image(change ...func(*v1alpha1.ImageParameters)) *namespaced.Image {
	l.t.Helper()
	return l.imageNamed("debian", "uid-1", change...)
}

// imageNamed creates one of several Images.
func (l *lab) imageNamed(name string, uid types.UID, change ...func(*v1alpha1.ImageParameters)) *namespaced.Image {
	l.t.Helper()
	m := &namespaced.Image{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: uid, Generation: 1}}
	m.Spec.ForProvider = v1alpha1.ImageParameters{
		Source:   v1alpha1.ImageSource{URL: new(l.mirror.URL + "/debian.qcow2"), Checksum: new("sha256:" + digestOf(l.mirror.image))},
		Storages: []string{"local"},
	}
	for _, c := range change {
		c(&m.Spec.ForProvider)
	}
	if err := l.kube.Create(l.t.Context(), m); err != nil {
		l.t.Fatal(err)
	}
	return m
}

func withTemplate(p *v1alpha1.ImageParameters) {
	p.Template = &v1alpha1.ImageTemplate{Storage: new("local-lvm"), Agent: new(true), Tags: []string{"golden"}}
}

// external returns the external client of a reconcile, with a separate view of the cluster.
func (l *lab) external() *external {
	inv := inventory.New(l.client, inventory.WithMaxAge(0), inventory.WithClock(l.clock.Now))
	l.t.Cleanup(inv.Close)
	var seen Inventory = inv
	if l.view != nil {
		seen = l.view(inv)
	}
	return &external{
		client: l.fuse, inventory: seen, kube: l.kube, record: event.NewNopRecorder(), now: l.clock.Now,
		kinds: Kinds{
			Machine: &namespaced.Machine{}, Machines: []resource.ManagedList{&namespaced.MachineList{}},
		},
		peers:     kind.Conflicts{Reader: l.kube, Lists: []resource.ManagedList{&namespaced.ImageList{}}},
		fetcher:   checksum.Fetcher{AllowLocal: true},
		shares:    func(context.Context) func(resource.Managed) bool { return func(resource.Managed) bool { return true } },
		isolation: func(context.Context) isolation { return withoutTenants{} },
		vmids:     cmp.Or(l.vmids, (&v1alpha1.ProviderConfigSpec{}).VMIDs()),
	}
}

// withoutTenants is the isolation of a cluster that no tenants share.
type withoutTenants struct{}

func (withoutTenants) SpecCounts(resource.Managed, resource.Managed) bool { return true }
func (withoutTenants) ImagePrefix(resource.Managed) string                { return "" }
func (withoutTenants) SameTenant(resource.Managed, resource.Managed) (same, operators bool) {
	return true, false
}
func (withoutTenants) OtherTenant(resource.Managed, resource.Managed) bool { return false }

// reconcile reconciles once, as the managed reconciler does, and reports whether anything is left to do.
func (l *lab) reconcile(m *namespaced.Image) (bool, error) {
	l.t.Helper()
	ctx := l.t.Context()
	if err := l.kube.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
		l.t.Fatal(err)
	}
	e := l.external()
	o, err := e.Observe(ctx, m)
	if err != nil {
		return true, err
	}
	switch {
	case meta.WasDeleted(m) && !o.ResourceExists:
		return false, nil
	case meta.WasDeleted(m):
		_, err = e.Delete(ctx, m)
		return true, err
	case !o.ResourceExists:
		if _, err = e.Create(ctx, m); err == nil {
			err = managed.NewRetryingCriticalAnnotationUpdater(l.kube).UpdateCriticalAnnotations(ctx, m)
		}
		return true, err
	case !o.ResourceUpToDate:
		_, err = e.Update(ctx, m)
		return true, err
	}
	return m.GetCondition(xpv2.TypeReady).Status != "True", nil
}

// settle reconciles until nothing is left to do. A provider that was killed starts again.
func (l *lab) settle(m *namespaced.Image) {
	l.t.Helper()
	for range 200 {
		more, err := l.reconcile(m)
		if errors.Is(err, errKilled) {
			l.fuse = &fuse{Client: l.client, left: -1}
			l.killed = true
			continue
		}
		if err != nil {
			l.t.Fatalf("cannot reconcile: %v", err)
		}
		if !more {
			return
		}
		l.clock.Pass(2 * time.Second)
	}
	l.t.Fatalf("it does not settle: %v\n%s", m.Status.Conditions, m.GetAnnotations()[AnnotationRecord])
}

// files returns the images on the local storages, by their nodes.
func (l *lab) files(content string) []string {
	l.t.Helper()
	var all []string
	for _, node := range l.nodes() {
		volumes, err := l.client.Volumes(l.t.Context(), node, "local", content)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, v := range volumes {
			if !strings.Contains(v.ID, "genericcloud") { // It is part of the scenario.
				all = append(all, node+" "+v.ID)
			}
		}
	}
	return all
}

// nodes returns the nodes of the cluster.
func (l *lab) nodes() []string {
	l.t.Helper()
	var all []string
	l.pve.Edit(func(s *simulator.State) { all = slices.Sorted(maps.Keys(s.Nodes)) })
	return all
}

// templates returns the VMs and templates in the range of VMIDs, by their nodes.
func (l *lab) templates() []string {
	l.t.Helper()
	r, err := l.client.Resources(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	var all []string
	for _, g := range r.Guests {
		if g.VMID >= 10000 {
			all = append(all, fmt.Sprintf("%s %s template=%t", g.Node, g.Name, g.Template))
		}
	}
	slices.Sort(all)
	return all
}

func status(m *namespaced.Image, t xpv2.ConditionType) string {
	c := m.GetCondition(t)
	return string(c.Status) + " " + string(c.Reason)
}
