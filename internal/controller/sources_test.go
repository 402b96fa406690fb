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
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

func TestUserData(t *testing.T) {
	t.Parallel()
	runVersions(t, map[string]scenario{
		"userdata":       {reason: "User-data reach the guest.", run: userData},
		"userdata-local": {reason: "User-data reach the guest whose disks are of its node.", run: localUserData},
		"password":       {reason: "A password reaches the guest.", run: withPassword},
		"generated":      {reason: "A password is generated.", run: withGeneratedPassword},
	})
}

func TestSources(t *testing.T) {
	t.Parallel()
	runVersions(t, map[string]scenario{
		"image":    {reason: "A VM has a disk of an image.", run: fromImage},
		"iso":      {reason: "A VM is installed by its user.", run: fromISO},
		"machine":  {reason: "A VM is a clone of another Machine's.", run: fromMachine},
		"snapshot": {reason: "A VM is a clone of what a snapshot has.", run: fromSnapshot},
		"newest":   {reason: "The newest of several templates of one name is cloned.", run: fromNewest},
		"tagged":   {reason: "A tag chooses the template.", run: fromTagged},
	})
}

const cloudImage = "local:import/debian-13-genericcloud-amd64.qcow2"

func fromImage(w *world) {
	w.create(v1alpha1.MachineParameters{
		Image:     &v1alpha1.MachineImage{Volume: cloudImage},
		Disks:     []v1alpha1.MachineDisk{{Name: "root", Size: new("10G"), Storage: new("local-lvm")}},
		Networks:  []v1alpha1.MachineNetwork{{Name: "lan", Bridge: new("vmbr0"), IPConfig: &v1alpha1.MachineIPConfig{Address: new("dhcp")}}},
		CloudInit: &v1alpha1.MachineCloudInit{User: new("debian")},
	})
	w.ready()
	v := w.vm()
	if d := v.Config["scsi0"]; !strings.HasPrefix(d, "local-lvm:vm-10000-disk-0") || !strings.Contains(d, "size=10G") {
		w.Errorf("the disk is %s", d)
	}
	if d := v.Config["ide2"]; !strings.HasPrefix(d, "local-lvm:vm-10000-cloudinit") || v.Config["ciuser"] != "debian" {
		w.Errorf("the cloud-init drive is %s", d)
	}
	if n := len(w.writes()); n > 4 {
		w.Errorf("want at most four writes, got %d:\n%s", n, w)
	}
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Disks = append(p.Disks, v1alpha1.MachineDisk{Name: "data", Size: new("4G"), Storage: new("local-lvm"), ImportFrom: new(cloudImage)})
	})
	w.eventually("another disk is filled from the image, and grows", func() bool {
		d := w.vm().Config["scsi1"]
		return strings.HasPrefix(d, "local-lvm:vm-10000-disk-") && strings.Contains(d, "size=4G")
	})
	w.ready()
	w.unchanged()
	w.finish()
}

// unchanged changes nothing in the VM twice, as others may do, so that it is read again, and expects no write.
func (w *world) unchanged() {
	w.Helper()
	writes := len(w.writes())
	for range 2 {
		before := w.looks()
		w.nudge()
		w.eventually("the VM is looked at", func() bool { return w.looks() > before })
	}
	if got := w.writes(); len(got) != writes {
		w.Errorf("nothing has changed, and %v was written", got[writes:])
	}
}

// looks returns how often the VM was read so far.
func (w *world) looks() int {
	return len(slices.DeleteFunc(w.pve.Requests(), func(r simulator.Request) bool { return !strings.HasSuffix(r.Path, "/pending") }))
}

// nudge makes a change to the VM that has no effect. If the VM is locked, it changes tags that no spec declares.
func (w *world) nudge() {
	w.Helper()
	if w.vm().Config["lock"] != "" {
		w.tamper(func(g *simulator.Guest) { g.Config["tags"] += "a" })
		return
	}
	if err := w.admin.Configure(w.Context(), w.ref(), proxmox.Change{Set: proxmox.Params{"name": w.vm().Config["name"]}}); err != nil {
		w.Fatal(err)
	}
}

// annotate annotates the Machine, so that it is reconciled.
func (w *world) annotate(key, value string) {
	w.Helper()
	w.eventually("the annotation is set", func() bool {
		w.exists()
		a := w.m.GetAnnotations()
		a[key] = value
		w.m.SetAnnotations(a)
		return w.kube.Update(w.Context(), w.m) == nil
	})
}

func fromISO(w *world) {
	w.create(v1alpha1.MachineParameters{
		ISO:   new("local:iso/debian-13.1.0-amd64-netinst.iso"),
		Disks: []v1alpha1.MachineDisk{{Name: "root", Size: new("10G")}},
	})
	w.ready()
	if d := w.vm().Config["ide2"]; !strings.HasPrefix(d, "local:iso/debian-13.1.0-amd64-netinst.iso") {
		w.Errorf("the CD-ROM drive is %s", d)
	}
	if n := len(w.writes()); n != 2 {
		w.Errorf("want two writes, to create and to start:\n%s", w)
	}
	w.unchanged()
	w.change(func(p *v1alpha1.MachineParameters) { p.ISO = new("") })
	w.eventually("the medium is ejected", func() bool { return w.vm().Config["ide2"] == "none,media=cdrom" })
	w.finish()
}

// cloneOf creates a clone of the world's Machine, which becomes the world's Machine.
func (w *world) cloneOf(clone v1alpha1.MachineClone) (of machine.Machine) {
	w.Helper()
	of = w.m
	w.create(v1alpha1.MachineParameters{Clone: &clone}, func(m machine.Machine) {
		m.SetName(w.name + "-copy")
		switch m := m.(type) {
		case *cluster.Machine:
			m.Spec.WriteConnectionSecretToReference.Name += "-copy"
		case *namespaced.Machine:
			m.Spec.WriteConnectionSecretToReference.Name += "-copy"
		}
	})
	w.ready()
	return of
}

func fromMachine(w *world) {
	w.create(ubuntu(), func(m machine.Machine) { m.SetLabels(map[string]string{label: w.name, "role": "golden-" + w.name}) })
	w.ready()
	of := w.cloneOf(v1alpha1.MachineClone{MachineSelector: &v1alpha1.Selector{MatchLabels: map[string]string{"role": "golden-" + w.name}}})
	if c := w.m.Parameters().Clone; c.Machine == nil || *c.Machine != w.name || c.MachineRef == nil || c.MachineRef.Name != w.name {
		w.Errorf("the selector was resolved to %+v", c)
	}
	if v := w.vm(); v.Power != simulator.Running || strings.Contains(v.Config["scsi0"], "base-") || v.VMID == int(*of.Observation().VMID) {
		w.Errorf("want a full clone that runs, got %+v", v)
	}
	w.delete()
	w.gone()
	w.m = of
	if ours := w.ours(); !slices.Equal(ours, []int{10000}) {
		w.Errorf("want the first VM, got %v", ours)
	}
	w.finish()
}

// anotherTemplate adds a template with the name of the cluster's, on the same node, with tags and another time of creation.
func (w *world) anotherTemplate(vmid int, created, cores, tags string) {
	w.Helper()
	w.pve.Edit(func(s *simulator.State) {
		g := &simulator.Guest{VMID: vmid, Node: s.Guests[9000].Node, Config: maps.Clone(s.Guests[9000].Config), Power: simulator.Stopped}
		maps.Copy(g.Config, map[string]string{"meta": "creation-qemu=9.0.2,ctime=" + created, "cores": cores, "tags": tags})
		s.Guests[vmid] = g
	})
}

func fromNewest(w *world) {
	w.pve.Edit(func(s *simulator.State) { s.Guests[9000].Config["meta"] = "creation-qemu=9.0.2,ctime=1750000000" })
	w.anotherTemplate(9100, "1760000000", "3", "")
	w.anotherTemplate(9200, "1740000000", "5", "")
	w.create(ubuntu())
	w.ready()
	if got := w.vm().Config["cores"]; got != "3" {
		w.Errorf("want a clone of the newest template, VM 9100 with 3 cores, got %s", got)
	}
	w.unchanged()
	w.finish()
}

func fromTagged(w *world) {
	w.anotherTemplate(9100, "1760000000", "3", "hardened;lts")
	w.anotherTemplate(9200, "1750000000", "5", "hardened;edge")
	w.create(v1alpha1.MachineParameters{TemplateTags: []string{"edge", "hardened"}})
	w.ready()
	if got := w.vm().Config["cores"]; got != "5" {
		w.Errorf("want a clone of the template with both tags, VM 9200 with 5 cores, got %s", got)
	}
	w.unchanged()
	w.finish()
}

func fromSnapshot(w *world) {
	w.create(ubuntu())
	w.ready()
	w.pve.Edit(func(s *simulator.State) {
		g := s.Guests[w.vmid()]
		g.Snapshots = map[string]*simulator.Snapshot{"before": {Config: maps.Clone(g.Config)}}
		g.Snapshots["before"].Config["cores"] = "3"
	})
	of := w.cloneOf(v1alpha1.MachineClone{MachineRef: &v1alpha1.Reference{Name: w.name}, Snapshot: new("before")})
	if got := w.vm().Config["cores"]; got != "3" {
		w.Errorf("the clone has %q cores", got)
	}
	w.delete()
	w.gone()
	w.m = of
	w.finish()
}

// images returns the NoCloud images on a storage of a node.
func (w *world) images(node, storage string) []string {
	w.Helper()
	volumes, err := w.admin.Volumes(w.Context(), node, storage, "iso")
	if err != nil {
		w.Fatal(err)
	}
	var ids []string
	for _, v := range volumes {
		if strings.Contains(v.ID, ":iso/cidata-") {
			ids = append(ids, v.ID)
		}
	}
	return ids
}

const secretText = "a-text-that-nobody-may-see"

// withUserData returns a spec whose user-data are in a Secret.
func (w *world) withUserData() v1alpha1.MachineParameters {
	w.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "data-" + w.name},
		StringData: map[string]string{"user-data": "#cloud-config\n# " + secretText + "\n"},
	}
	if err := w.kube.Create(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
	spec := ubuntu()
	spec.CloudInit = &v1alpha1.MachineCloudInit{
		User:     new("admin"),
		UserData: &v1alpha1.CloudInitData{SecretRef: &v1alpha1.SecretKeyReference{Namespace: new(namespace), Name: secret.Name, Key: "user-data"}},
	}
	spec.Networks = []v1alpha1.MachineNetwork{{Name: "lan", IPConfig: &v1alpha1.MachineIPConfig{Address: new("dhcp")}}}
	return spec
}

func userData(w *world) {
	w.create(w.withUserData())
	w.ready()
	first := w.images("pve1", "nfs")
	if len(first) != 1 || !strings.HasPrefix(w.vm().Config["ide2"], first[0]) {
		w.Errorf("the images are %v, and the drive has %s", first, w.vm().Config["ide2"])
	}
	if n := len(w.writes()); n != 4 {
		w.Errorf("want four writes: clone, upload, configure, start; got %d:\n%s", n, w)
	}
	w.unchanged()
	w.change(func(p *v1alpha1.MachineParameters) { p.CloudInit.User = new("root") })
	w.eventually("the image is replaced, and the old one gone", func() bool {
		now := w.images("pve1", "nfs")
		return len(now) == 1 && now[0] != first[0] && strings.HasPrefix(w.vm().Config["ide2"], now[0])
	})
	w.ready()
	if strings.Contains(w.String(), secretText) {
		w.Errorf("the secret is shown:\n%s", w)
	}
	w.finish()
	if left := w.images("pve1", "nfs"); len(left) > 0 {
		w.Errorf("images %v are left", left)
	}
}

func localUserData(w *world) {
	spec := w.withUserData()
	spec.CloudInit.Storage, spec.CloudInit.ChangePolicy = new("local"), new("Ignore")
	w.create(spec)
	w.ready()
	node := w.vm().Node
	first := w.images(node, "local")
	if len(first) != 1 || !strings.HasPrefix(w.vm().Config["ide2"], first[0]) {
		w.Errorf("the images are %v, and the drive has %s", first, w.vm().Config["ide2"])
	}
	n := len(w.writes())
	w.change(func(p *v1alpha1.MachineParameters) { p.CloudInit.User = new("root"); p.OnBoot = new(true) })
	w.eventually("the other change is made", func() bool { return w.vm().Config["onboot"] == "1" })
	w.ready()
	if got := w.writes()[n:]; len(got) != 1 || w.vm().Config["ciuser"] != "admin" {
		w.Errorf("want nothing of cloud-init written, got %v", got)
	}
	w.finish()
	if left := w.images(node, "local"); len(left) > 0 {
		w.Errorf("images %v are left", left)
	}
}

func withPassword(w *world) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "password-" + w.name},
		StringData: map[string]string{"password": secretText},
	}
	if err := w.kube.Create(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
	spec := ubuntu()
	spec.CloudInit = &v1alpha1.MachineCloudInit{
		PasswordSecretRef: &v1alpha1.SecretKeyReference{Namespace: new(namespace), Name: secret.Name, Key: "password"},
	}
	w.create(spec)
	w.ready()
	first := w.vm().Config["cipassword"]
	if first == "" || len(w.writes()) != 3 {
		w.Errorf("want a password, and three writes:\n%s", w)
	}
	w.unchanged()
	secret.StringData = map[string]string{"password": secretText + "-2"}
	if err := w.kube.Update(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
	w.eventually("the new password is sent, and on the drive", func() bool {
		return w.vm().Config["cipassword"] != first && w.asked("/nodes/{node}/qemu/{vmid}/cloudinit") > 0
	})
	w.ready()
	writes := len(w.writes())
	secret.Labels = map[string]string{"team": "a"}
	if err := w.kube.Update(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
	w.eventually("it is seen that the Secret has changed", func() bool {
		w.exists()
		return strings.HasSuffix(w.m.GetAnnotations()[object.AnnotationPassword], "/"+secret.ResourceVersion)
	})
	if got := w.writes()[writes:]; len(got) > 0 {
		w.Errorf("the password is the same, and %v was written", got)
	}
	if strings.Contains(w.String(), secretText) {
		w.Errorf("the secret is shown:\n%s", w)
	}
	w.finish()
}

func withGeneratedPassword(w *world) {
	w.create(v1alpha1.MachineParameters{
		Disks:     []v1alpha1.MachineDisk{{Name: "root", Size: new("10G"), Storage: new("local-lvm")}},
		CloudInit: &v1alpha1.MachineCloudInit{User: new("admin"), GeneratePassword: new(true)},
	})
	w.ready()
	password := func() string {
		s := &corev1.Secret{}
		if err := w.kube.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: "connection-" + w.name}, s); err != nil {
			w.Fatal(err)
		}
		return string(s.Data["password"])
	}
	first, sent := password(), w.vm().Config["cipassword"]
	if len(first) < 24 || sent == "" || len(w.writes()) != 2 {
		w.Errorf("want a password of %q, and it set by two writes:\n%s", first, w)
	}
	w.unchanged()
	if got := password(); got != first || strings.Contains(w.String(), first) {
		w.Errorf("want the password to stay %q, and nowhere else, got %q\n%s", first, got, w)
	}
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "connection-" + w.name}}
	w.eventually("a new password is sent", func() bool {
		if password() == first { // A reconcile that was under way may have restored it.
			if err := w.kube.Patch(w.Context(), s, client.RawPatch(types.MergePatchType, []byte(`{"data":{"password":null}}`))); err != nil {
				w.Fatal(err)
			}
		}
		return w.vm().Config["cipassword"] != sent && password() != first
	})
	w.finish()
}
