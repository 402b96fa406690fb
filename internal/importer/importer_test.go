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

package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/export"
	"github.com/vitistack/provider-proxmox/internal/qemu/qemutest"
)

func TestFilter(t *testing.T) {
	g := proxmox.Guest{VMID: 100, Name: "web-1", Node: "pve1", Pool: "prod", Tags: []string{"blue", "web", "tenant_customer-123"}}
	cases := map[string]struct {
		reason string
		filter Filter
		want   bool
	}{
		"None": {reason: "No filter keeps all.", want: true},
		"All": {
			reason: "A guest that fits all is kept.",
			filter: Filter{Nodes: []string{"pve2", "pve1"}, Pools: []string{"prod"}, Tags: []string{"Blue"}, Names: []string{"web-?"}, VMIDs: []int{100}},
			want:   true,
		},
		"Tenant":    {reason: "The tag of a tenant finds its guests.", filter: Filter{Tags: []string{"tenant_customer-123"}}, want: true},
		"Others":    {reason: "The guests of one tenant are no other tenant's.", filter: Filter{Tags: []string{"tenant_customer-1"}}},
		"Node":      {reason: "Another node is not kept.", filter: Filter{Nodes: []string{"pve2"}}},
		"Pool":      {reason: "Another pool is not kept.", filter: Filter{Pools: []string{"test"}}},
		"Tag":       {reason: "A part of a tag is no tag.", filter: Filter{Tags: []string{"blu"}}},
		"Name":      {reason: "A pattern is for the whole name.", filter: Filter{Names: []string{"web"}}},
		"VMID":      {reason: "Another VMID is not kept.", filter: Filter{VMIDs: []int{101}}},
		"OneOfMany": {reason: "All lists have to fit.", filter: Filter{Names: []string{"web*"}, VMIDs: []int{101}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.filter.keeps(g); got != tc.want {
				t.Errorf("\n%s\nkeeps: want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
	if err := (Filter{Names: []string{"[a"}}).Validate(); err == nil {
		t.Error("a pattern that is none must be an error")
	}
}

func TestResourceNames(t *testing.T) {
	cases := map[string]struct {
		reason string
		guests map[int]string
		want   map[int]string
	}{
		"Plain": {
			reason: "Names that Kubernetes takes stay.", guests: map[int]string{1: "web-1.example.com", 2: "db"},
			want: map[int]string{1: "web-1.example.com", 2: "db"},
		},
		"Capitals": {reason: "Capitals become small letters.", guests: map[int]string{1: "WinServer2019"}, want: map[int]string{1: "winserver2019"}},
		"Odd": {
			reason: "What a name cannot have becomes a hyphen.", guests: map[int]string{1: "-my_vm. (old).", 2: "ü"},
			want: map[int]string{1: "my-vm.old", 2: "vm-2"},
		},
		"Twins": {
			reason: "VMs of one name have their VMID.", guests: map[int]string{1: "web", 2: "WEB", 3: "db"},
			want: map[int]string{1: "web-1", 2: "web-2", 3: "db"},
		},
		"Taken": {
			reason: "A name that arises is not one that another has.", guests: map[int]string{1: "web", 2: "web", 3: "web-1"},
			want: map[int]string{1: "web-1-1", 2: "web-2", 3: "web-1-3"},
		},
		"Nameless": {reason: "A VM without a name has one of its VMID.", guests: map[int]string{7: ""}, want: map[int]string{7: "vm-7"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var guests []proxmox.Guest
			for id, n := range tc.guests {
				guests = append(guests, proxmox.Guest{VMID: id, Name: n})
			}
			got := resourceNames(guests)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nnames: -want, +got:\n%s", tc.reason, diff)
			}
			for _, n := range got {
				if wrong := validation.IsDNS1123Subdomain(n); len(wrong) > 0 {
					t.Errorf("\n%s\n%q: %q", tc.reason, n, wrong)
				}
			}
		})
	}
}

// A cluster with a few guests.
type cluster struct {
	guests []proxmox.Guest
	nodes  []proxmox.Node

	// options of all VMs, by VMID.
	options map[int]map[string]string
	ha      map[int]proxmox.HASettings
	err     error
}

func (c cluster) Guests(context.Context) ([]proxmox.Guest, error) { return c.guests, nil }

func (c cluster) Nodes(context.Context) ([]proxmox.Node, error) { return c.nodes, nil }

func (c cluster) Pending(_ context.Context, ref proxmox.Ref) ([]proxmox.PendingValue, error) {
	var values []proxmox.PendingValue
	for k, v := range c.options[ref.VMID] {
		values = append(values, proxmox.PendingValue{Key: k, Value: &v})
	}
	return values, c.err
}

func (c cluster) HAResource(_ context.Context, vmid int) (proxmox.HASettings, error) {
	if h, ok := c.ha[vmid]; ok {
		return h, nil
	}
	return nil, errors.New("not permitted")
}

const uuid = "smbios1"

func describe(t *testing.T, c cluster, managed map[string]string, existing bool) []Find {
	t.Helper()
	finds, err := Guests(t.Context(), c, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := NewSchema(os.DirFS("../../package"), "crds/proxmox.vitistack.io_machines.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := Describe(t.Context(), c, finds, Rules{
		Refuses: schema.Refuses, Namespace: "team-a", Managed: Machines{ByUUID: managed}, Existing: existing, Each: func() {},
	}); err != nil {
		t.Fatal(err)
	}
	return finds
}

func TestDescribe(t *testing.T) {
	up := []proxmox.Node{{Name: "pve1", Status: "online"}, {Name: "pve2", Status: "offline"}}
	vm := proxmox.Guest{VMID: 100, Name: "a", Node: "pve1", Type: "qemu"}
	id := map[string]string{uuid: "uuid=AAAAAAAA-0000-4000-8000-000000000001"}
	cases := map[string]struct {
		reason  string
		cluster cluster
		managed map[string]string
		guest   proxmox.Guest

		existing bool
		skipped  string
		err      string
		omitted  []export.Omission
	}{
		"VM":        {reason: "A VM is described.", cluster: cluster{options: map[int]map[string]string{100: id}}, guest: vm},
		"Container": {reason: "A container is no Machine.", guest: proxmox.Guest{VMID: 100, Node: "pve1", Type: "lxc"}, skipped: "container"},
		"Template":  {reason: "A template is no Machine.", guest: proxmox.Guest{VMID: 100, Node: "pve1", Type: "qemu", Template: true}, skipped: "template"},
		"NoUUID":    {reason: "What cannot be adopted is skipped.", guest: vm, skipped: "SMBIOS UUID"},
		"Stub": {
			reason: "The VM of a Volume's disk is no Machine.", guest: vm, skipped: "stub VM of a Volume",
			cluster: cluster{options: map[int]map[string]string{100: {uuid: id[uuid], "description": qemu.MarkStub("It has a disk.")}}},
		},
		"Managed": {
			reason: "A VM that has a Machine gets no other.", cluster: cluster{options: map[int]map[string]string{100: id}},
			managed: map[string]string{"aaaaaaaa-0000-4000-8000-000000000001": "default/a"}, guest: vm, skipped: "Machine default/a already",
		},
		"Own": {
			reason: "What was done to a Machine since is not undone by its first manifest.", cluster: cluster{options: map[int]map[string]string{100: id}},
			managed: map[string]string{"aaaaaaaa-0000-4000-8000-000000000001": "team-a/a"}, guest: vm, skipped: "Machine team-a/a already: --existing",
		},
		"Existing": {
			reason: "Who asks for it gets it.", cluster: cluster{options: map[int]map[string]string{100: id}}, existing: true,
			managed: map[string]string{"aaaaaaaa-0000-4000-8000-000000000001": "team-a/a"}, guest: vm,
		},
		"ExistingElsewhere": {
			reason: "Nobody gets a second Machine of a VM.", cluster: cluster{options: map[int]map[string]string{100: id}}, existing: true,
			managed: map[string]string{"aaaaaaaa-0000-4000-8000-000000000001": "default/a"}, guest: vm, skipped: "Machine default/a already",
		},
		"Offline": {reason: "A node that is offline is not asked.", guest: proxmox.Guest{VMID: 100, Node: "pve2", Type: "qemu"}, err: `node "pve2" is offline`},
		"Unread":  {reason: "What goes wrong with a VM is noted.", cluster: cluster{err: errors.New("boom")}, guest: vm, err: "boom"},
		"HA": {
			reason: "What HA does not tell is noted.", cluster: cluster{options: map[int]map[string]string{100: id}},
			guest:   proxmox.Guest{VMID: 100, Name: "a", Node: "pve1", Type: "qemu", HAState: "started"},
			omitted: []export.Omission{{Option: "ha", Reason: "not permitted"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.cluster.guests, tc.cluster.nodes = []proxmox.Guest{tc.guest}, up
			got := describe(t, tc.cluster, tc.managed, tc.existing)[0]
			message := ""
			if got.Err != nil {
				message = got.Err.Error()
			}
			if (tc.skipped == "") != (got.Skipped == "") || !strings.Contains(got.Skipped, tc.skipped) || message != tc.err {
				t.Errorf("\n%s\nskipped %q, error %q: want %q, %q", tc.reason, got.Skipped, message, tc.skipped, tc.err)
			}
			if wanted := tc.skipped == "" && tc.err == ""; wanted != (got.Description != nil) {
				t.Fatalf("\n%s\ndescription: want %t, got %+v", tc.reason, wanted, got.Description)
			}
			if got.Description != nil {
				if diff := cmp.Diff(tc.omitted, got.Description.Omissions); diff != "" {
					t.Errorf("\n%s\nomissions: -want, +got:\n%s", tc.reason, diff)
				}
			}
			if err := Unread([]Find{got}); (err != nil) != (tc.err != "") {
				t.Errorf("\n%s\nUnread: got %v", tc.reason, err)
			}
		})
	}
}

// rich returns a cluster with a VM that has values of all sorts.
func rich() cluster {
	return cluster{
		guests: []proxmox.Guest{{VMID: 100, Name: "Web", Node: "pve1", Type: "qemu", Status: "running", Pool: "prod", Tags: []string{"a"}, HAState: "started"}},
		nodes:  []proxmox.Node{{Name: "pve1", Status: "online"}},
		options: map[int]map[string]string{100: {
			uuid: "uuid=aaaaaaaa-0000-4000-8000-000000000001", "name": "Web", "cpulimit": "1.5", "memory": "2048", "description": "two\nlines\n",
			"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,rate=10", "scsi0": "ceph:vm-100-disk-0,serial=0001,size=8G,bps=1", "unused0": "ceph:vm-100-disk-1",
			"boot": "order=scsi0", "onboot": "0", "tags": "yes", "searchdomain": "a.example", "digest": "x",
		}},
		ha: map[int]proxmox.HASettings{100: {"state": "started", "max_restart": "2"}},
	}
}

const manifestOfRich = `# VM 100 (Web) on node pve1
# Not in here, and left alone:
#   scsi0 bps: no field of the spec sets it
#   searchdomain: the VM has no cloud-init drive that it would be written to
#   unused0: it is a detached disk: list it in disks with its volume to attach it
apiVersion: group/v1
kind: Machine
metadata:
  namespace: team-a
  name: web
  annotations:
    crossplane.io/external-name: "100"
spec:
  managementPolicies:
    - Observe
  providerConfigRef:
    kind: ProviderConfig
    name: site
  forProvider:
    name: Web
    pool: prod
    cpu:
      limit: "1.5"
    memory: 2Gi
    disks:
      - name: scsi0
        size: 8G
        storage: ceph
        device: scsi0
        serial: "0001"
    networks:
      - name: net0
        device: net0
        bridge: vmbr0
        model: virtio
        macAddress: BC:24:11:00:00:01
        rateMBps: 10
    bootOrder:
      - scsi0
    description: |-
      two
      lines
    tags:
      - "yes"
    onBoot: false
    highAvailability:
      state: started
      maxRestart: 2
`

func form() Form {
	return Form{
		APIVersion: "group/v1", Kind: "Machine", Namespace: "team-a", Policies: []string{"Observe"},
		ProviderConfig: &ProviderConfig{Kind: "ProviderConfig", Name: "site"},
	}
}

func TestManifest(t *testing.T) {
	var got bytes.Buffer
	if err := form().WriteStream(&got, describe(t, rich(), nil, false)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(manifestOfRich, got.String()); diff != "" {
		t.Errorf("manifest: -want, +got:\n%s", diff)
	}
}

func TestStream(t *testing.T) {
	finds := describe(t, rich(), nil, false)
	var got bytes.Buffer
	if err := form().WriteStream(&got, []Find{finds[0], {Skipped: "no"}, finds[0]}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(manifestOfRich+"---\n"+manifestOfRich, got.String()); diff != "" {
		t.Errorf("stream: -want, +got:\n%s", diff)
	}
}

// TestPlainYAML checks that text in a manifest has the same value for all YAML parsers.
func TestPlainYAML(t *testing.T) {
	for text, want := range map[string]string{
		"a b": "text: a b", "yes": `text: "yes"`, "12:30:45:10:20:30": `text: "12:30:45:10:20:30"`, "a\u0085b": `text: "a\Nb"`,
	} {
		b, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := plainYAML(b); err != nil || string(got) != want+"\n" {
			t.Errorf("%q: want %s, got %s, %v", text, want, got, err)
		}
	}
}

func TestWriteFiles(t *testing.T) {
	folder, finds := t.TempDir(), describe(t, rich(), nil, false)
	name := filepath.Join(folder, "web.yaml")
	write := func(force bool) (string, error) {
		err := form().WriteFiles(folder, finds, force)
		b, read := os.ReadFile(name)
		return string(b), errors.Join(err, read)
	}
	for _, reason := range []string{"A file is written.", "The same is written again."} {
		if got, err := write(false); err != nil || got != manifestOfRich {
			t.Errorf("%s: %v, %s", reason, err, got)
		}
	}
	if err := os.WriteFile(name, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := write(false); err == nil || got != "mine" {
		t.Errorf("What somebody has changed stays: %v, %s", err, got)
	}
	if got, err := write(true); err != nil || got != manifestOfRich {
		t.Errorf("It is overwritten by force: %v, %s", err, got)
	}
}

func TestLists(t *testing.T) {
	machines := Machines{ByUUID: map[string]string{"aaaaaaaa-0000-4000-8000-000000000001": "team-a/web"}, VMIDs: map[int]bool{100: true}}
	finds := append(describe(t, rich(), machines.ByUUID, true), Find{Guest: proxmox.Guest{VMID: 101, Type: "lxc", Node: "pve1"}, Skipped: "it is a container"},
		Find{Guest: proxmox.Guest{VMID: 102, Type: "qemu", Node: "pve2"}, Resource: "vm-102", Err: errors.New("boom")})
	if err := machines.Find(t.Context(), rich(), finds); err != nil {
		t.Fatal(err)
	}
	var table, report, asJSON, asYAML bytes.Buffer
	if err := errors.Join(WriteTable(&table, finds), WriteReport(&report, finds), WriteJSON(&asJSON, finds), WriteYAML(&asYAML, finds)); err != nil {
		t.Fatal(err)
	}
	wantTable := "VMID  NAME  NODE  STATUS   POOL  TAGS  MACHINE\n" +
		"100   Web   pve1  running  prod  a     team-a/web\n" +
		"101         pve1                       - (it is a container)\n" +
		"102         pve2                       ? (boom)\n"
	if diff := cmp.Diff(wantTable, table.String()); diff != "" {
		t.Errorf("table: -want, +got:\n%s", diff)
	}
	wantReport := "VM 100 (Web) on node pve1: left alone: scsi0 bps: no field of the spec sets it\n" +
		"VM 100 (Web) on node pve1: left alone: searchdomain: the VM has no cloud-init drive that it would be written to\n" +
		"VM 100 (Web) on node pve1: left alone: unused0: it is a detached disk: list it in disks with its volume to attach it\n" +
		"Container 101 on node pve1: no manifest: it is a container\n" +
		"VM 102 on node pve2: no manifest: boom\n" +
		"1 of 3 guests have a manifest\n"
	if diff := cmp.Diff(wantReport, report.String()); diff != "" {
		t.Errorf("report: -want, +got:\n%s", diff)
	}
	var entries []entry
	if err := json.Unmarshal(asJSON.Bytes(), &entries); err != nil {
		t.Fatal(err)
	}
	if got := []string{
		entries[0].Machine, entries[0].Manifest, entries[1].Skipped, entries[2].Error,
	}; !cmp.Equal(got, []string{"team-a/web", "web", "it is a container", "boom"}) || len(entries[0].Omissions) != 3 {
		t.Errorf("JSON: got %s", asJSON.String())
	}
	if !strings.HasPrefix(asYAML.String(), "- vmid: 100\n  name: Web\n") {
		t.Errorf("YAML: got %s", asYAML.String())
	}
}

// TestMachinesFind records Machines for the guests that are proven to be theirs.
func TestMachinesFind(t *testing.T) {
	const id = "aaaaaaaa-0000-4000-8000-000000000001"
	cases := map[string]struct {
		reason   string
		machines Machines
		skipped  string
		err      error
		want     string
		fails    bool
	}{
		"Own":   {reason: "The UUID proves it.", machines: Machines{ByUUID: map[string]string{id: "team-a/web"}, VMIDs: map[int]bool{100: true}}, want: "team-a/web"},
		"Other": {reason: "A VMID does not.", machines: Machines{ByUUID: map[string]string{"b": "team-a/web"}, VMIDs: map[int]bool{100: true}}},
		"None":  {reason: "A guest whose VMID no Machine has is not read.", machines: Machines{ByUUID: map[string]string{}}, err: errors.New("boom")},
		"Container": {
			reason: "A guest that is no VM is not read.", machines: Machines{VMIDs: map[int]bool{100: true}}, skipped: "it is a container", err: errors.New("boom"),
		},
		"Unread": {reason: "What cannot be read is not known.", machines: Machines{VMIDs: map[int]bool{100: true}}, err: errors.New("boom"), fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := rich()
			c.err = tc.err
			finds := []Find{{Guest: c.guests[0], Skipped: tc.skipped}}
			if err := tc.machines.Find(t.Context(), c, finds); err != nil {
				t.Fatal(err)
			}
			if got := finds[0]; got.Machine != tc.want || (got.Err != nil) != tc.fails {
				t.Errorf("%s\nwant Machine %q, got %q and error %v", tc.reason, tc.want, got.Machine, got.Err)
			}
		})
	}
}

func TestSchema(t *testing.T) {
	schema, err := NewSchema(os.DirFS("../../package"), "crds/proxmox.m.vitistack.io_machines.yaml")
	if err != nil {
		t.Fatal(err)
	}
	memory := resource.MustParse("2Gi")
	cases := map[string]struct {
		reason string
		p      v1alpha1.MachineParameters
		want   []string
	}{
		"Good":  {reason: "What admission takes is not refused.", p: v1alpha1.MachineParameters{Name: new("a"), Memory: &memory}},
		"Field": {reason: "A value that does not match is.", p: v1alpha1.MachineParameters{Name: new("a b")}, want: []string{"name"}},
		"Entry": {
			reason: "One in a list has its place.",
			p:      v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{{Name: "a"}, {Name: "b", Cache: new("much")}}},
			want:   []string{"disks[1].cache"},
		},
		"Item": {reason: "An item has its number.", p: v1alpha1.MachineParameters{Tags: []string{"a", "B"}}, want: []string{"tags[1]"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, schema.Refuses(tc.p)); diff != "" {
				t.Errorf("\n%s\nRefuses: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	if _, err := NewSchema(os.DirFS("../../package"), "crds/none.yaml"); err == nil {
		t.Error("a definition that is not there must be an error")
	}
}

// TestProgress checks that nothing is shown without a terminal.
func TestProgress(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	each := Progress(f, 2)
	each()
	each()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(name); err != nil || len(b) > 0 {
		t.Errorf("shown: %v, %q", err, b)
	}
}

// TestDescribeFound checks that options that no field can express are left out, and nothing else.
func TestDescribeFound(t *testing.T) {
	configs, err := qemutest.Configs()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"asleep":  {"boot", "ciuser", "lock", "unused1", "vcpus"},
		"cloud":   {"balloon", "cipassword", "ipconfig3"},
		"gaming":  {"parent"},
		"old":     {"boot", "bootdisk", "unused0"},
		"storage": {"lock", "unused0", "unused7"},
	}
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			c := cluster{
				guests: []proxmox.Guest{{VMID: 100, Name: name, Node: "pve1", Type: "qemu"}}, nodes: []proxmox.Node{{Name: "pve1", Status: "online"}},
				options: map[int]map[string]string{100: config},
			}
			f := describe(t, c, nil, false)[0]
			if f.Description == nil {
				t.Fatalf("it has no description: %q, %v", f.Skipped, f.Err)
			}
			var got []string
			for _, o := range f.Description.Omissions {
				got = append(got, o.Option)
			}
			if diff := cmp.Diff(want[name], got); diff != "" {
				t.Errorf("omissions: -want, +got:\n%s\n%+v", diff, f.Description.Omissions)
			}
		})
	}
}
