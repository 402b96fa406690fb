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
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/checksum"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// A mirror publishes an image, with the list of its checksums.
type mirror struct {
	*httptest.Server

	mu        sync.Mutex
	content   []byte
	downloads int
}

func newMirror(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{}
	m.publish("first")
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

// publish publishes an image: the header of a disk of 1 GiB in the format qcow2, and a text that distinguishes it from others.
func (m *mirror) publish(what string) {
	head := make([]byte, 104)
	copy(head, "QFI\xfb")
	binary.BigEndian.PutUint32(head[4:], 3)
	binary.BigEndian.PutUint64(head[24:], 1<<30)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.content = slices.Concat(head, []byte(what))
}

func (m *mirror) digest() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := sha256.Sum256(m.content)
	return hex.EncodeToString(sum[:])
}

// downloaded returns how often the image was downloaded.
func (m *mirror) downloaded() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.downloads
}

// ServeHTTP serves the image and the list.
func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/debian-13.qcow2":
		m.mu.Lock()
		defer m.mu.Unlock()
		if r.Method == http.MethodGet {
			m.downloads++
		}
		_, _ = w.Write(m.content)
	case "/SHA256SUMS":
		_, _ = fmt.Fprintf(w, "%s  debian-13.qcow2\n", m.digest())
	default:
		http.NotFound(w, r)
	}
}

// An imageWorld is a fresh cluster of three nodes with local storages only, and a mirror.
type imageWorld struct {
	*world

	mirror *mirror
}

// TestImages checks Machines that wait for Images, and are created from them.
func TestImages(t *testing.T) {
	t.Parallel()
	all := map[string]struct {
		reason string
		poll   time.Duration // A second if not set.
		run    func(*imageWorld)
	}{
		"image-nothing": {reason: "One file makes an Image and Machines of it on a fresh cluster.", run: fromNothing},
		"image-wrong":   {reason: "Nothing is used of an image with another checksum.", run: wrongChecksum},
		"image-refresh": {reason: "A newer image changes no Machine.", run: newRevision},
		"image-url":     {reason: "Machines that ask for one URL share an Image.", run: sharedURL},
		"image-wait":    {reason: "Machines that wait for an Image cost no call.", poll: 10 * time.Second, run: waitsWithoutCalls},
	}
	for version, name := range pairs(versions(), all) {
		t.Run(versions()[version]+"/"+name+"-"+version[:1], func(t *testing.T) {
			t.Parallel()
			t.Log(all[name].reason)
			all[name].run(newImageWorld(t, versions()[version], name, version, all[name].poll))
		})
	}
}

func newImageWorld(t *testing.T, scopeName, name, version string, poll time.Duration) *imageWorld {
	t.Helper()
	scenario, err := simulator.Quickstart()
	if err != nil {
		t.Fatal(err)
	}
	scenario.Guests = nil
	scenario.Storages = slices.DeleteFunc(scenario.Storages, func(s simulator.ScenarioStorage) bool { return s.Shared })
	for i := range scenario.Storages {
		scenario.Storages[i].Files = nil
	}
	scenario.Roles = append(scenario.Roles, simulator.ScenarioRole{ID: "Downloader", Privileges: []string{"Sys.AccessNetwork"}})
	scenario.ACL = append(scenario.ACL, simulator.ScenarioGrant{Path: "/nodes", User: "crossplane@pve", Roles: []string{"Downloader"}})
	durations := map[string]string{"download": "400ms"}
	w := &imageWorld{
		world: worldOf(t, scopes()[scopeName], strings.ToLower(scopeName)+"-"+name, scenario, durations, version), mirror: newMirror(t),
	}
	w.poll = poll
	w.options = func(mgr ctrl.Manager) kind.Options {
		o := kindOptions(mgr)
		o.Checksums = checksum.Fetcher{AllowLocal: true}
		return o
	}
	w.begin()
	return w
}

// image returns an Image of the mirror, with a template.
func (w *imageWorld) image(change ...func(*v1alpha1.ImageParameters)) imageref.Image {
	w.Helper()
	p := v1alpha1.ImageParameters{
		Source:   v1alpha1.ImageSource{URL: new(w.mirror.URL + "/debian-13.qcow2"), ChecksumURL: new(w.mirror.URL + "/SHA256SUMS")},
		Storages: []string{"local"},
		Template: &v1alpha1.ImageTemplate{Storage: new("local-lvm")},
	}
	for _, c := range change {
		c(&p)
	}
	i := w.emptyImage(w.name)
	*i.Parameters() = p
	if err := w.kube.Create(w.Context(), i); err != nil {
		w.Fatal(err)
	}
	return i
}

// emptyImage returns an Image of the scope with a name.
func (w *imageWorld) emptyImage(name string) imageref.Image {
	o := w.meta()
	o.Name = name
	if w.scope.namespaced() {
		o.Namespace = namespace
		i := &namespaced.Image{ObjectMeta: o}
		i.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: w.name})
		return i
	}
	i := &cluster.Image{ObjectMeta: o}
	i.SetProviderConfigReference(&xpv2.Reference{Name: w.name})
	return i
}

func (s scope) namespaced() bool {
	return s.machine(metav1.ObjectMeta{}, v1alpha1.MachineParameters{}).GetNamespace() != ""
}

// machine returns another Machine of the world.
func (w *imageWorld) machine(suffix string, p v1alpha1.MachineParameters) machine.Machine {
	w.Helper()
	w.create(p, func(m machine.Machine) {
		m.SetName(w.name + "-" + suffix)
		switch m := m.(type) {
		case *cluster.Machine:
			m.Spec.WriteConnectionSecretToReference.Name += "-" + suffix
		case *namespaced.Machine:
			m.Spec.WriteConnectionSecretToReference.Name += "-" + suffix
		}
	})
	return w.m
}

// isReady waits until a Machine is ready.
func (w *imageWorld) isReady(m machine.Machine) {
	w.Helper()
	w.m = m
	w.ready()
}

// byFile returns a Machine from the Image's file, and byTemplate one from its template.
func (w *imageWorld) byFile() v1alpha1.MachineParameters {
	return v1alpha1.MachineParameters{
		Image: &v1alpha1.MachineImage{Ref: &v1alpha1.Reference{Name: w.name}},
		Disks: []v1alpha1.MachineDisk{{Name: "root", Storage: new("local-lvm"), Size: new("2G")}},
	}
}

func (w *imageWorld) byTemplate() v1alpha1.MachineParameters {
	return v1alpha1.MachineParameters{TemplateRef: &v1alpha1.Reference{Name: w.name}}
}

// files returns the files on the nodes.
func (w *imageWorld) files() []string {
	var all []string
	w.pve.Edit(func(s *simulator.State) {
		for key, v := range s.Volumes {
			if v.Content == "import" {
				all = append(all, key.Node+" "+key.Name)
			}
		}
	})
	slices.Sort(all)
	return all
}

func fromNothing(w *imageWorld) {
	file := w.machine("file", w.byFile())
	clone := w.machine("clone", w.byTemplate())
	selected := w.machine("selected", v1alpha1.MachineParameters{TemplateSelector: &v1alpha1.Selector{MatchLabels: map[string]string{label: w.name}}})
	i := w.image()
	for _, m := range []machine.Machine{file, clone, selected} {
		w.isReady(m)
		if o := m.Observation().Image; o == nil || o.Name != i.GetName() || o.Revision != 1 || o.Digest != "sha256:"+w.mirror.digest() {
			w.Errorf("want the revision shown that %s is made from, got %+v", m.GetName(), o)
		}
	}
	if ref := selected.Parameters().TemplateRef; ref == nil || ref.Name != i.GetName() {
		w.Errorf("the selector was resolved to %+v", ref)
	}
	w.m = clone
	if disk := w.vm().Config["scsi0"]; !strings.Contains(disk, "local-lvm:") {
		w.Errorf("want a clone on local storage, got %q", disk)
	}
	w.well(i) // Machines are created before all nodes have it.
	if got, downloads := w.files(), w.mirror.downloaded(); len(got) != 3 || downloads != 3 {
		w.Errorf("want one file on each node, got %v by %d downloads", got, downloads)
	}
	templates := 0
	w.pve.Edit(func(s *simulator.State) {
		for _, g := range s.Guests {
			if g.Config["template"] == "1" {
				templates++
			}
		}
	})
	if templates != 3 {
		w.Errorf("want one template on each node, got %d", templates)
	}
	w.m = file
	w.keepsPin()
}

// keepsPin removes the annotations of the Machine, as a full update by its manifest does.
func (w *imageWorld) keepsPin() {
	w.Helper()
	vmid := w.vmid()
	w.eventually("the annotations are gone", func() bool {
		w.exists()
		w.m.SetAnnotations(nil)
		return w.kube.Update(w.Context(), w.m) == nil
	})
	w.eventually("the pin is back", func() bool {
		w.exists()
		pin, ok := imageref.PinOf(w.m)
		return ok && pin.Revision == 1
	})
	w.ready()
	if w.vmid() != vmid || w.m.Observation().Image == nil {
		w.Errorf("it is VM %d, and was VM %d:\n%s", w.vmid(), vmid, w)
	}
}

func wrongChecksum(w *imageWorld) {
	i := w.image(func(p *v1alpha1.ImageParameters) {
		p.Source.ChecksumURL, p.Source.Checksum = nil, new("sha256:"+strings.Repeat("0", 64))
	})
	m := w.machine("file", w.byFile())
	w.says(conditions.TypeVMCreated, conditions.ReasonWaitingForImage, "ChecksumMismatch")
	if len(w.ours()) > 0 || len(w.files()) > 0 {
		w.Errorf("nothing may be used: VMs %v, files %v", w.ours(), w.files())
	}
	if c := m.GetCondition(xpv2.TypeReady); c.Status != corev1.ConditionFalse {
		w.Errorf("Ready: got %+v", c)
	}
	w.changeImage(i, func(p *v1alpha1.ImageParameters) { p.Source.Checksum = new("sha256:" + w.mirror.digest()) })
	w.isReady(m)
}

// changeImage changes the spec of an Image.
func (w *imageWorld) changeImage(i imageref.Image, change func(*v1alpha1.ImageParameters)) {
	w.Helper()
	w.eventually("the change is taken", func() bool {
		if err := w.kube.Get(w.Context(), client.ObjectKeyFromObject(i), i); err != nil {
			w.Fatal(err)
		}
		change(i.Parameters())
		err := w.kube.Update(w.Context(), i)
		if err != nil && !kerrors.IsConflict(err) {
			w.Fatal(err)
		}
		return err == nil
	})
}

func newRevision(w *imageWorld) {
	i := w.image(func(p *v1alpha1.ImageParameters) {
		p.Source.ChecksumURL, p.Source.Checksum = nil, new("sha256:"+w.mirror.digest())
	})
	old := w.machine("old", w.byTemplate())
	w.ready()
	before := w.vm().Config
	w.mirror.publish("second")
	w.changeImage(i, func(p *v1alpha1.ImageParameters) { p.Source.Checksum = new("sha256:" + w.mirror.digest()) })
	w.eventually("the Image has another revision", func() bool {
		return w.kube.Get(w.Context(), client.ObjectKeyFromObject(i), i) == nil && i.Observation().Revision == 2
	})
	younger := w.machine("new", w.byTemplate())
	w.ready()
	if o := younger.Observation().Image; o == nil || o.Revision != 2 {
		w.Errorf("a new Machine is made from the newest revision, got %+v", o)
	}
	w.isReady(old)
	if o := old.Observation().Image; o == nil || o.Revision != 1 || w.vm().Power != simulator.Running {
		w.Errorf("the other one stays what it is, got %+v", o)
	}
	for option, value := range w.vm().Config {
		if before[option] != value {
			w.Errorf("%s of it was %q and is %q", option, before[option], value)
		}
	}
}

func sharedURL(w *imageWorld) {
	p := w.byFile()
	p.Image = &v1alpha1.MachineImage{URL: new(w.mirror.URL + "/debian-13.qcow2"), ChecksumURL: new(w.mirror.URL + "/SHA256SUMS")}
	first, second := w.machine("first", p), w.machine("second", p)
	w.isReady(first)
	w.isReady(second)
	name := first.Observation().Image.Name
	i := w.emptyImage(name)
	w.well(i) // Machines are created before all nodes have it.
	if downloads := w.mirror.downloaded(); second.Observation().Image.Name != name || !strings.HasPrefix(name, "debian-13-") || downloads != 3 {
		w.Errorf("want one Image for both, got %q and %q by %d downloads", name, second.Observation().Image.Name, downloads)
	}
	var owners []string
	for _, o := range i.GetOwnerReferences() {
		owners = append(owners, string(o.UID))
	}
	slices.Sort(owners)
	want := []string{string(first.GetUID()), string(second.GetUID())}
	slices.Sort(want)
	if !slices.Equal(owners, want) {
		w.Errorf("it goes with the last of them: want owners %v, got %v", want, owners)
	}
	for _, m := range []machine.Machine{first, second} {
		w.m = m
		w.delete()
		w.gone()
	}
	if err := w.kube.Delete(w.Context(), i); err != nil { // The garbage collector would do this, which the test's API server lacks.
		w.Fatal(err)
	}
	w.eventually("its files are gone", func() bool { return len(w.files()) == 0 })
}

func waitsWithoutCalls(w *imageWorld) {
	const many = 50
	all := make([]machine.Machine, 0, many)
	for n := range many {
		all = append(all, w.machine(fmt.Sprintf("wait-%d", n), w.byTemplate()))
	}
	before := len(w.calls())
	for _, m := range all {
		w.m = m
		w.says(conditions.TypeVMCreated, conditions.ReasonWaitingForImage, "not found")
	}
	for _, m := range all {
		if m.GetAnnotations()["crossplane.io/external-name"] != "" {
			w.Errorf("%s has a VMID before there is anything to make it from", m.GetName())
		}
	}
	if got := w.calls()[before:]; len(got) > 0 {
		w.Errorf("%d Machines that wait ask nothing of PVE, got:\n%s", many, strings.Join(got, "\n"))
	}
	i := w.image()
	w.eventually("they learn what has become of the Image", func() bool {
		return slices.ContainsFunc(w.pve.Tasks(), func(t simulator.Task) bool { return t.Type == "download" })
	})
	for _, m := range all[1:] {
		w.m = m
		w.delete()
	}
	for _, m := range all[1:] {
		w.m = m
		w.gone()
	}
	woken := time.Now()
	w.isReady(all[0])
	if o := all[0].Observation().Image; o == nil || o.Name != i.GetName() {
		w.Errorf("after %s it is made of the Image, got %+v", time.Since(woken), o)
	}
}
