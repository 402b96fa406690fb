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

package source

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/preflight"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/vmcache"
)

// guests of a cluster, with the times of their creation, if recorded.
type guests struct {
	all     []proxmox.Guest
	created map[int]int64
	read    []int

	// later are the guests that only a current list has, and lists counts such lists.
	later []proxmox.Guest
	lists int

	// configs of some VMs, and the node that does not answer.
	configs map[int]map[string]string
	silent  string
}

func (g *guests) Guests(_ context.Context, maxAge time.Duration) ([]proxmox.Guest, error) {
	if maxAge == inventory.Fresh {
		g.lists++
		g.all, g.later = slices.Concat(g.all, g.later), nil
	}
	return g.all, nil
}

func (g *guests) Config(_ context.Context, ref proxmox.Ref) (proxmox.VMConfig, error) {
	g.read = append(g.read, ref.VMID)
	if ref.Node == g.silent {
		return proxmox.VMConfig{}, &proxmox.Error{Status: 595, Message: "No route to host"}
	}
	c := proxmox.VMConfig{Values: maps.Clone(g.configs[ref.VMID])}
	if c.Values == nil {
		c.Values = map[string]string{}
	}
	if at := g.created[ref.VMID]; at != 0 {
		c.Values["meta"] = fmt.Sprintf("creation-qemu=9.2.0,ctime=%d", at)
	}
	return c, nil
}

func (*guests) Storages(context.Context) ([]proxmox.Storage, error) { return nil, nil }

func TestNamedTemplate(t *testing.T) {
	template := func(vmid int, node, name string, tags ...string) proxmox.Guest {
		return proxmox.Guest{VMID: vmid, Node: node, Name: name, Type: "qemu", Template: true, Status: "stopped", Tags: tags}
	}
	offline := template(9009, "pve4", "arch")
	offline.Status = "unknown"
	all := []proxmox.Guest{
		{VMID: 100, Node: "pve1", Name: "web", Type: "qemu"},
		{VMID: 200, Node: "pve1", Name: "container", Type: "lxc", Template: true},
		template(9000, "pve1", "debian"),
		template(9001, "pve1", "ubuntu"), template(9002, "pve2", "ubuntu", "lts"), template(9003, "pve2", "web", "lts", "hardened"),
		template(9004, "pve1", "fedora"), template(9005, "pve1", "fedora", "hardened"), template(9006, "pve2", "fedora"),
		template(9007, "pve1", "suse"), template(9008, "pve1", "suse"), template(9010, "pve3", "arch"), offline,
	}
	created := map[int]int64{9001: 1760000000, 9002: 1750000000, 9003: 1740000000, 9004: 1770000000, 9005: 1760000000, 9006: 1780000000, 9009: 1790000000}
	cases := map[string]struct {
		reason   string
		template string
		tags     []string
		node     string
		want     int
		err      string
	}{
		"Name":        {reason: "A name that is unique among templates will do, whatever VMs are called.", template: "web", want: 9003},
		"VMID":        {reason: "A number is a VMID.", template: "9001", want: 9001},
		"Missing":     {reason: "A template must be there.", template: "void", err: "template 'void' not found; the templates are "},
		"MissingVMID": {reason: "A VM whose VMID is named must be there.", template: "9999", err: "template '9999' not found"},
		"Container":   {reason: "Templates of containers are no templates of VMs.", template: "container", err: "not found"},
		"VM":          {reason: "A VM is not a template.", template: "100", err: "is a VM, not a template"},
		"SameNode":    {reason: "The newest of two templates of one node is meant, whatever their VMIDs.", template: "fedora", node: "pve1", want: 9004},
		"SameSecond":  {reason: "If nobody knows which is newer, it is the one with the highest VMID.", template: "suse", node: "pve1", want: 9008},
		"OnNode":      {reason: "The one on the VM's node is taken.", template: "ubuntu", node: "pve2", want: 9002},
		"OtherOfTwo":  {reason: "The one on the VM's node is taken where it has the lower VMID.", template: "ubuntu", node: "pve1", want: 9001},
		"Elsewhere":   {reason: "For a node that has none of them, it is the newest.", template: "ubuntu", node: "pve3", want: 9001},
		"AnyNode":     {reason: "Where no node was chosen, the newest is taken.", template: "fedora", want: 9006},
		"OtherNode":   {reason: "A template on another node is found.", template: "debian", node: "pve2", want: 9000},
		"Offline":     {reason: "One on a node that is offline cannot be cloned now.", template: "arch", want: 9010},
		"Tag":         {reason: "A tag alone finds the newest that has it.", tags: []string{"lts"}, want: 9002},
		"TagOnNode":   {reason: "The newest on the VM's node comes first among several with the tag.", tags: []string{"hardened"}, node: "pve2", want: 9003},
		"Tags":        {reason: "All tags are needed.", tags: []string{"lts", "hardened"}, want: 9003},
		"NameAndTag":  {reason: "A tag chooses among those of the name.", template: "fedora", tags: []string{"hardened"}, want: 9005},
		"NoSuchTag":   {reason: "What is missing is named.", template: "debian", tags: []string{"a", "b"}, err: "template 'debian' with tags a, b not found"},
		"NoTemplate":  {reason: "A tag that no template has is named without a name.", tags: []string{"void"}, err: "template with tags void not found"},
		"VMIDAndTag": {
			reason:   "A template that is named by its VMID has to have the tag.",
			template: "9000", tags: []string{"lts"}, err: "template '9000' with tags lts not found",
		},
		"VMIDWithTag":  {reason: "If it has it, it is that one.", template: "9002", tags: []string{"lts"}, want: 9002},
		"NotOfTheNode": {reason: "A node that has none leaves it to the newest.", tags: []string{"hardened"}, node: "pve3", want: 9005},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.MachineParameters{TemplateTags: tc.tags}
			if tc.template != "" {
				p.Template = new(intstr.FromString(tc.template))
			}
			inventory := &guests{all: all, created: created}
			s, err := Finder{Inventory: inventory, Checks: &preflight.Checks{Superuser: true}}.namedTemplate(t.Context(), p, tc.node)
			if tc.err != "" {
				var r conditions.ValidationError
				if !errors.As(err, &r) || r.Aspect != conditions.Creating || !strings.Contains(err.Error(), tc.err) || len(inventory.read) > 0 {
					t.Errorf("\n%s\nwant a refusal with %q before anything is read, got %v", tc.reason, tc.err, err)
				}
				return
			}
			if err != nil || s.VMID != tc.want {
				t.Fatalf("\n%s\nwant VMID %d, got %+v, %v", tc.reason, tc.want, s, err)
			}
			if !s.On(s.Node) {
				t.Errorf("\n%s\nit does not stand in for itself: %+v", tc.reason, s.Instead)
			}
		})
	}
}

// TestUnreported finds sources among guests for which the cluster's list has neither the name nor that they are templates.
func TestUnreported(t *testing.T) {
	guest := func(vmid int, node string) proxmox.Guest {
		return proxmox.Guest{VMID: vmid, Node: node, Type: "qemu", Status: "unknown"}
	}
	all := []proxmox.Guest{
		{VMID: 100, Node: "pve1", Name: "web", Type: "qemu", Status: "running"},
		{VMID: 9000, Node: "pve1", Name: "debian", Type: "qemu", Status: "stopped", Template: true},
		guest(9001, "pve1"), guest(101, "pve1"), guest(9002, "pve2"),
	}
	configs := map[int]map[string]string{9001: {"name": "ubuntu", "template": "1"}, 101: {"name": "db"}, 9002: {"name": "suse", "template": "1"}}
	template := func(v string) v1alpha1.MachineParameters {
		return v1alpha1.MachineParameters{Template: new(intstr.Parse(v))}
	}
	clone := func(v string) v1alpha1.MachineParameters {
		return v1alpha1.MachineParameters{Clone: &v1alpha1.MachineClone{VM: new(intstr.Parse(v))}}
	}
	image := &imageref.Choice{Pin: imageref.Pin{Template: true}, Replicas: []imageref.Replica{{VMID: 9001}}}
	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		image  *imageref.Choice
		want   int
		linked bool
		read   []int
		err    string
	}{
		"VMID":         {reason: "A template is known by its configuration.", spec: template("9001"), want: 9001, linked: true},
		"Name":         {reason: "A template that is named by its name is cloned as a template.", spec: template("ubuntu"), want: 9001, linked: true},
		"NoTemplate":   {reason: "A VM is a VM.", spec: template("101"), err: "is a VM, not a template"},
		"Missing":      {reason: "What is nowhere is missing.", spec: template("void"), err: "template 'void' not found"},
		"Silent":       {reason: "What cannot be read is not taken for a VM.", spec: template("9002"), err: "cannot be read on node pve2"},
		"CloneLinked":  {reason: "A template is cloned linked.", spec: clone("9001"), want: 9001, linked: true},
		"CloneVM":      {reason: "A VM is copied.", spec: clone("101"), want: 101},
		"CloneByName":  {reason: "A VM has a name.", spec: clone("db"), want: 101},
		"TemplateOf":   {reason: "An Image knows its templates.", image: image, want: 9001, linked: true},
		"NotDependent": {reason: "Nothing is read that does not matter.", spec: template("debian"), want: 9000, linked: true, read: []int{9000}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inventory := &guests{all: all, configs: configs, silent: "pve2"}
			m := &namespaced.Machine{Spec: namespaced.MachineSpec{ForProvider: tc.spec}}
			s, err := Finder{Inventory: inventory, Checks: &preflight.Checks{Superuser: true}}.sourceOf(t.Context(), m, tc.image, "")
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("\n%s\nwant an error with %q, got %v", tc.reason, tc.err, err)
				}
				return
			}
			if err != nil || s.VMID != tc.want || IsFull(tc.spec.Clone, s) == tc.linked {
				t.Errorf("\n%s\nwant VMID %d, linked %v, got %+v, %v", tc.reason, tc.want, tc.linked, s, err)
			}
			if tc.read != nil && !slices.Equal(inventory.read, tc.read) {
				t.Errorf("\n%s\nwant the VMs %v read, got %v", tc.reason, tc.read, inventory.read)
			}
		})
	}
}

// TestOutdated finds templates that were converted since their nodes last reported them.
func TestOutdated(t *testing.T) {
	stopped := func(vmid int, name string) proxmox.Guest {
		return proxmox.Guest{VMID: vmid, Node: "pve1", Name: name, Type: "qemu", Status: "stopped"}
	}
	known := stopped(9000, "base-old")
	known.Template = true
	running := stopped(101, "web")
	running.Status = "running"
	all := []proxmox.Guest{running, stopped(102, "db"), known, stopped(9001, "base-new"), {VMID: 9003, Node: "pve1", Type: "qemu", Status: "unknown"}}
	later := []proxmox.Guest{stopped(9002, "base-newest")}
	configs := map[int]map[string]string{
		9000: {"name": "base-old", "template": "1"}, 9001: {"name": "base-new", "template": "1"}, 9002: {"name": "base-newest", "template": "1"},
		9003: {"name": "base-unreported", "template": "1"}, 102: {"name": "db"},
	}
	template := func(v string) v1alpha1.MachineParameters {
		return v1alpha1.MachineParameters{Template: new(intstr.Parse(v))}
	}
	cases := map[string]struct {
		reason string
		spec   v1alpha1.MachineParameters
		image  []int
		want   int
		read   []int
		lists  int
		err    string
	}{
		"Listed":     {reason: "What is listed as a template needs no further call.", image: []int{9000}, want: 9000, read: []int{9000}},
		"Image":      {reason: "An Image that has made its template is believed.", image: []int{9001}, want: 9001, read: []int{9001, 9001}},
		"ImageOther": {reason: "One on another node does not hide the newer one.", image: []int{9000, 9001}, want: 9001, read: []int{9001, 9001}},
		"ImageUnreported": {
			reason: "A template that was not reported at all is read.", image: []int{9003}, want: 9003, read: []int{9003, 9003},
		},
		"ImageUnlisted": {
			reason: "A template that the list lacks is looked for in a newer one.", image: []int{9002}, want: 9002, read: []int{9002, 9002}, lists: 1,
		},
		"ImageGone": {reason: "A template that no list has is missing.", image: []int{9009}, lists: 1, err: "no template of image 'base' found"},
		"ImageVM":   {reason: "A VM of the Image that is no template is none.", image: []int{102}, read: []int{102}, err: "no template of image 'base' found"},
		"VMID":      {reason: "A template that is named by its VMID is read.", spec: template("9001"), want: 9001, read: []int{9001, 9003, 9001}},
		"Name":      {reason: "A template that is named by its name is read.", spec: template("base-new"), want: 9001, read: []int{9001, 9003, 9001}},
		"VM":        {reason: "A VM that is off is none.", spec: template("102"), read: []int{102, 9003}, err: "template '102' is a VM, not a template"},
		"Running":   {reason: "A VM that runs is not read.", spec: template("101"), read: []int{9003}, err: "template '101' is a VM, not a template"},
		"CloneVM": {
			reason: "A template that is cloned as any VM is cloned linked.", want: 9001, read: []int{9001},
			spec: v1alpha1.MachineParameters{Clone: &v1alpha1.MachineClone{VM: new(intstr.Parse("9001"))}},
		},
	}
	team, err := tenancy.Of(
		[]v1alpha1.ProviderTenant{{Name: "a", Namespaces: []string{"team"}, Pools: []string{"a"}, Templates: []string{"base-*"}}}, tenancy.Subject{Namespace: "team"},
	)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var image *imageref.Choice
			if tc.image != nil {
				image = &imageref.Choice{Pin: imageref.Pin{Name: "base", Template: true}}
				for _, id := range tc.image {
					image.Replicas = append(image.Replicas, imageref.Replica{VMID: id})
				}
			}
			m := &namespaced.Machine{Spec: namespaced.MachineSpec{ForProvider: tc.spec}}
			g := &guests{all: all, later: later, configs: configs}
			s, err := Finder{Inventory: g, Checks: &preflight.Checks{Superuser: true}}.Find(t.Context(), m, image, "")
			if !slices.Equal(g.read, tc.read) || g.lists != tc.lists {
				t.Errorf("\n%s\nwant the VMs %v read and %d lists, got %v and %d", tc.reason, tc.read, tc.lists, g.read, g.lists)
			}
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("\n%s\nwant an error with %q, got %v", tc.reason, tc.err, err)
				}
				return
			}
			if err != nil || s.VMID != tc.want || IsFull(tc.spec.Clone, s) {
				t.Fatalf("\n%s\nwant VMID %d, linked, got %+v, %v", tc.reason, tc.want, s, err)
			}
			if tc.spec.Clone != nil {
				return // Which VMs a tenant may clone does not depend on that.
			}
			e := Finder{Inventory: &guests{all: all, later: later, configs: configs}, Checks: &preflight.Checks{Superuser: true}, Tenant: team}
			if s, err := e.Find(t.Context(), m, image, ""); err != nil || s.VMID != tc.want {
				t.Errorf("\n%s\nwant a tenant that may clone it to find VMID %d, got %+v, %v", tc.reason, tc.want, s, err)
			}
		})
	}
}

// machines has one Machine.
type machines struct {
	client.Reader

	one *namespaced.Machine
}

func (m machines) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if into, is := o.(*namespaced.Machine); is && key.Name == m.one.Name {
		m.one.DeepCopyInto(into)
		return nil
	}
	return kerrors.NewNotFound(schema.GroupResource{Resource: "machines"}, key.Name)
}

// TestMachineOfOthers checks that nothing is disclosed of the VM that a Machine names, unless the tenant may clone it.
func TestMachineOfOthers(t *testing.T) {
	const uuid = "21111111-2222-4333-8444-555555555555"
	key := []byte("key")
	records := tenancy.Records{Key: key, Config: "site"}
	own := v1alpha1.ProviderTenant{Name: "a", Namespaces: []string{"team"}, Pools: []string{"a"}, Templates: []string{"base-*"}}
	team, err := tenancy.Of([]v1alpha1.ProviderTenant{own}, tenancy.Subject{Namespace: "team"})
	if err != nil {
		t.Fatal(err)
	}
	all := []proxmox.Guest{
		{VMID: 100, Node: "pve3", Type: "qemu", Pool: "b"},
		{VMID: 101, Node: "pve3", Type: "qemu", Lock: "create"},
		{VMID: 9000, Node: "pve3", Type: "qemu", Template: true, Name: "base-linux"},
	}
	const notFound = `machine 'source' to clone not found among what tenant "a" may have (templates)`
	cases := map[string]struct {
		reason string
		named  string
		vmid   string
		made   bool
		others bool
		want   string // Empty if it is looked for.
	}{
		"Missing": {
			reason: "A Machine that is not there is not found.", named: "missing", vmid: "100",
			want: `machine 'missing' to clone not found among what tenant "a" may have (templates)`,
		},
		"Bait":      {reason: "What it says of a VM of others is for users to write.", vmid: "100", want: "(templates): a clone of VM 100"},
		"Unlisted":  {reason: "There is no such VM.", vmid: "102"},
		"Making":    {reason: "A VM that somebody makes is not its own.", vmid: "101", want: "(templates): a clone of VM 101"},
		"Made":      {reason: "A VM that the provider makes for it is its own.", vmid: "101", made: true},
		"Others":    {reason: "A Machine of others is not there.", vmid: "100", others: true, want: notFound},
		"OthersNew": {reason: "A Machine of others without a VM is not found.", vmid: "", others: true, want: notFound},
		"Template":  {reason: "A template that is for the tenant is, whose ever.", vmid: "9000", others: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			other := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Name: "source", Namespace: "team", UID: "uid"}}
			if tc.vmid != "" {
				other.Annotations = map[string]string{meta.AnnotationKeyExternalName: tc.vmid, object.AnnotationUUID: uuid}
			}
			if tc.made {
				other.Annotations[object.AnnotationCreation] = records.SignCreation(other, 101, uuid, "pve3")
			}
			looked := &looks{guests: guests{all: all}}
			e := Finder{
				Inventory: looked, Reader: vmcache.NewReader(looked, looked), Kube: machines{one: other}, Object: &namespaced.Machine{}, Tenant: team, Records: records,
				SameTenant: func(context.Context) connect.SameTenantFunc {
					return func(_, _ resource.Managed) (own, operators bool) { return !tc.others, false }
				},
			}
			m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Name: "clone", Namespace: "team"}}
			_, err := e.machineSource(t.Context(), m, cmp.Or(tc.named, "source"))
			switch {
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || looked.at > 0 || strings.Contains(err.Error(), "pve3")):
				t.Errorf("\n%s\nwant %q before anything is looked for, got %v", tc.reason, tc.want, err)
			case tc.want == "" && err != nil && (tenancy.IsRefusal(err) || strings.Contains(err.Error(), "not found")):
				t.Errorf("\n%s\nwant it looked for, got %v", tc.reason, err)
			}
		})
	}
}

// looks counts how often a VM is looked for. No node answers.
type looks struct {
	guests

	at int
}

func (l *looks) Nodes(context.Context) ([]proxmox.Node, error) {
	l.at++
	return []proxmox.Node{{Name: "pve3", Status: "offline"}}, nil
}

func (*looks) ClusterStatus(context.Context, time.Duration) (proxmox.ClusterStatus, error) {
	return proxmox.ClusterStatus{}, nil
}

func (*looks) VMIDTaken(context.Context, int) (bool, error) { return false, nil }

func (*looks) Pending(context.Context, proxmox.Ref) ([]proxmox.PendingValue, error) { return nil, nil }
