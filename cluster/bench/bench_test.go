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

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/cluster/local/console"
	"github.com/vitistack/provider-proxmox/cluster/local/machine"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
)

func TestParseUsage(t *testing.T) {
	stat := "4711 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 9 0 100 200 300"
	status := "Name:\ta\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n"
	got, err := parseUsage(stat, status)
	if err != nil {
		t.Fatal(err)
	}
	if want := (usage{cpu: 2 * time.Second, resident: 1 << 20, peak: 2 << 20}); got != want {
		t.Errorf("want %+v, got %+v", want, got)
	}
	for _, broken := range []string{"", "1 (a) S 1", "1 (a) S 1 2 3 4 5 6 7 8 9 10 x 50"} {
		if _, err := parseUsage(broken, status); err == nil {
			t.Errorf("%q: want an error", broken)
		}
	}
}

func TestReplace(t *testing.T) {
	document := "before\n<!-- bench:a -->\nold\n<!-- /bench:a -->\nafter\n<!-- bench:b -->\n<!-- /bench:b -->\n"
	results := table{name: "a", rows: [][]string{{"N", "bound"}, {"1,000", "≤ 80"}}}
	got, err := replace([]byte(document), results, "Here.")
	if err != nil {
		t.Fatal(err)
	}
	want := "before\n<!-- bench:a -->\n| N     | bound |\n|-------|-------|\n| 1,000 | ≤ 80  |\n\nHere.\n<!-- /bench:a -->\nafter\n" +
		"<!-- bench:b -->\n<!-- /bench:b -->\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	again, err := replace(got, results, "Here.")
	if err != nil || string(again) != want {
		t.Errorf("the second time nothing changes, got %v:\n%s", err, again)
	}
	if _, err := replace([]byte(document), table{name: "c"}, ""); err == nil {
		t.Error("want an error where there is no place for the table")
	}
}

func TestMaxPerSecond(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	j := &requestLog{rows: []request{
		{Time: at(0), Template: "/nodes/{node}/qemu/{vmid}/pending"},
		{Time: at(1900), Template: "/nodes/{node}/qemu/{vmid}/status/current"},
		{Time: at(1500), Template: "/nodes/{node}/qemu/{vmid}/agent/network-get-interfaces"},
		{Time: at(2400), Template: "/nodes/{node}/qemu/{vmid}/pending"},
		{Time: at(2500), Template: "/cluster/tasks"},
	}}
	if got := j.maxPerSecond(anything); got != 3 {
		t.Errorf("want the three between 1.5 s and 2.5 s, got %d", got)
	}
	if got := j.maxPerSecond(toWorkers); got != 2 {
		t.Errorf("want the agent and the status, got %d", got)
	}
	if got := (&requestLog{}).maxPerSecond(anything); got != 0 {
		t.Errorf("want none of none, got %d", got)
	}
}

func TestForOne(t *testing.T) {
	cases := map[string]struct {
		reason       string
		method, path string
		want         bool
	}{
		"Own":      {reason: "What is about a VM is for it.", method: "GET", path: "/nodes/pve1/qemu/10000/pending", want: true},
		"VM":       {reason: "A call at the path of the VM itself is about the VM.", method: "DELETE", path: "/nodes/pve1/qemu/10000", want: true},
		"Clone":    {reason: "A clone is made for one.", method: "POST", path: "/nodes/pve1/qemu/9000/clone", want: true},
		"Template": {reason: "The template is read for all.", method: "GET", path: "/nodes/pve1/qemu/9000/config"},
		"Shared":   {reason: "What tells of the whole cluster is shared.", method: "GET", path: "/cluster/resources"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := forOne(request{Method: tc.method, Path: tc.path}); got != tc.want {
				t.Errorf("\n%s\nforOne(): want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestCompetitors(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	plain := "plain script=$BENCH_REPOSITORY/hack/bench-competitor"
	if diff := cmp.Diff([]string{plain}, (&bench{}).competitors()); diff != "" {
		t.Errorf("what is not installed is not compared: -want, +got:\n%s", diff)
	}
	if err := os.WriteFile(filepath.Join(dir, "tofu"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	want := []string{plain, "tofu with bpg's provider=$BENCH_REPOSITORY/hack/bench-competitor-terraform"}
	if diff := cmp.Diff(want, (&bench{}).competitors()); diff != "" {
		t.Errorf("what is installed is: -want, +got:\n%s", diff)
	}
	asked := &bench{options: options{Competitors: []string{"mine=true"}}}
	if diff := cmp.Diff([]string{"mine=true"}, asked.competitors()); diff != "" {
		t.Errorf("what was asked for is all: -want, +got:\n%s", diff)
	}
}

func TestWithoutAddress(t *testing.T) {
	f := &machineSet{seen: map[string]observed{
		"reported":       {Machine: machine.Machine{Phase: "Running", IP: "192.0.2.10"}},
		"withoutAddress": {Machine: machine.Machine{Phase: "Running"}},
		"stopped":        {Machine: machine.Machine{Phase: "Stopped"}},
	}}
	if got := f.withoutAddress(); got != 1 {
		t.Errorf("want the one that runs without an address, got %d", got)
	}
}

func TestScenario(t *testing.T) {
	var got struct {
		Guests []struct {
			VMID, Count int
			Running     bool
		}
	}
	if err := yaml.Unmarshal(newCluster(100).scenario(), &got); err != nil {
		t.Fatal(err)
	}
	type guests = struct {
		VMID, Count int
		Running     bool
	}
	want := []guests{{VMID: 9000}, {VMID: 10_000, Count: 90, Running: true}, {VMID: 10_090, Count: 10}}
	if diff := cmp.Diff(want, got.Guests); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if err := yaml.Unmarshal(newCluster(0).scenario(), &got); err != nil || len(got.Guests) != 1 {
		t.Errorf("without Machines there is the template alone, got %v, %v", got.Guests, err)
	}
}

// TestPlan sees that each change is made to a VM of its own, which runs or not as the change wants it.
func TestPlan(t *testing.T) {
	incidents := plan(newCluster(40), 5)
	seen, sorts := map[string]bool{}, map[string]int{}
	for _, i := range incidents {
		if seen[i.vmid] || (i.stopped != (i.vmid >= "10036")) {
			t.Errorf("%s of VM %s: want one that no other change is made to, and that runs or not as it must", i.name, i.vmid)
		}
		seen[i.vmid] = true
		sorts[i.name]++
	}
	want := map[string]int{"options, PUT config": 5, "options, POST config": 5, "stop": 5, "deletion": 4, "migration": 5}
	if diff := cmp.Diff(want, sorts); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestFind(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	log := []request{
		{Number: 1, Time: at(1), Method: "PUT", Path: "/nodes/n/qemu/100/config", Status: 200},
		{Number: 2, Time: at(20), Method: "GET", Path: "/nodes/n/qemu/100/config", Status: 200},
		{Number: 3, Time: at(21), Method: "PUT", Path: "/nodes/n/qemu/101/config", Status: 200},
		{Number: 4, Time: at(25), Method: "PUT", Path: "/nodes/n/qemu/100/config", Status: 200},
	}
	taken := map[int]bool{}
	first := &incident{change: change{answer: writes("/config")}, vmid: "100", done: at(10)}
	first.find(nil, log, taken)
	if first.took() != 15*time.Second {
		t.Errorf("want the first write to the VM after the change, got %s", first.took())
	}
	second := &incident{change: change{answer: writes("/config")}, vmid: "100", done: at(10)}
	second.find(nil, log, taken)
	if !second.noticed.IsZero() {
		t.Error("one request answers one change")
	}
}

// TestOperations sees that no operation counts as done before it was, and that each does once it was.
func TestOperations(t *testing.T) {
	seen := func(spec map[string]any, generation int64, phase string, handled any, upToDate string) *unstructured.Unstructured {
		conditions := []any{}
		for kind, status := range map[string]string{"Synced": "True", "Ready": "True", "UpToDate": upToDate} {
			conditions = append(conditions, map[string]any{"type": kind, "status": status})
		}
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "vm-0", "generation": int64(2)}, "spec": map[string]any{"forProvider": spec},
			"status": map[string]any{
				"observedGeneration": generation, "lastHandledReconcileAt": handled, "conditions": conditions, "atProvider": map[string]any{"phase": phase},
			},
		}}
	}
	limited := map[string]any{"cpu": map[string]any{"limit": "1500m"}}
	off, on := map[string]any{"powerState": "Stopped"}, map[string]any{"powerState": "Running"}
	ready := &unstructured.Unstructured{Object: map[string]any{
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
	}}
	cases := map[string]struct{ before, after []*unstructured.Unstructured }{
		"describe (a reconcile that is requested)": {
			before: []*unstructured.Unstructured{seen(nil, 2, "Running", "", "True"), seen(nil, 2, "Running", "other", "True")},
			after:  []*unstructured.Unstructured{seen(nil, 2, "Running", "bench", "True")},
		},
		"reconfigure CPU (its limit, while the VM runs)": {
			before: []*unstructured.Unstructured{
				seen(nil, 2, "Running", "", "True"), seen(limited, 1, "Running", "", "True"), seen(limited, 2, "Running", "", "False"),
			},
			after: []*unstructured.Unstructured{seen(limited, 2, "Running", "", "True")},
		},
		"power off": {
			before: []*unstructured.Unstructured{seen(on, 2, "Stopped", "", "True"), seen(off, 2, "Running", "", "True"), seen(off, 1, "Stopped", "", "True")},
			after:  []*unstructured.Unstructured{seen(off, 2, "Stopped", "", "True")},
		},
		"prepare hot-plug": {
			before: []*unstructured.Unstructured{seen(off, 2, "Stopped", "", "True"), seen(withCPUs(2), 1, "Stopped", "", "True")},
			after:  []*unstructured.Unstructured{seen(withCPUs(2), 2, "Stopped", "", "True")},
		},
		"reconfigure CPU (hot-plug)": {
			before: []*unstructured.Unstructured{
				seen(withCPUs(2), 2, "Running", "", "True"), seen(withCPUs(3), 1, "Running", "", "True"), seen(withCPUs(3), 2, "Running", "", "False"),
			},
			after: []*unstructured.Unstructured{seen(withCPUs(3), 2, "Running", "", "True")},
		},
		"power on": {
			before: []*unstructured.Unstructured{seen(off, 2, "Running", "", "True"), seen(on, 2, "Stopped", "", "True"), seen(on, 2, "Running", "", "False")},
			after:  []*unstructured.Unstructured{seen(on, 2, "Running", "", "True")},
		},
		"snapshot with memory": {before: []*unstructured.Unstructured{{}}, after: []*unstructured.Unstructured{ready}},
	}
	for _, o := range operations() {
		tc, ok := cases[o.name]
		if !ok {
			t.Errorf("%q has no case", o.name)
		}
		for _, u := range tc.before {
			if o.done(u) {
				t.Errorf("%q is not done by %v", o.name, u.Object)
			}
		}
		for _, u := range tc.after {
			if !o.done(u) {
				t.Errorf("%q is done by %v", o.name, u.Object)
			}
		}
	}
	if got := len(operations()); got != len(cases) {
		t.Errorf("want %d operations, got %d", len(cases), got)
	}
}

// TestOperationRow sees that a row has what each took from its own begin, and how many there were in the time of all.
func TestOperationRow(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	e := newEnds(operation{done: func(*unstructured.Unstructured) bool { return true }}, 4)
	for name, s := range map[string]int{"vm-0": 3, "vm-1": 7, "vm-2": 31, "vm-9": 1} { // The last was not asked.
		u := &unstructured.Unstructured{}
		u.SetName(name)
		e.see(u, at(s))
		e.see(u, at(s+10)) // The first time counts.
	}
	if left := e.left(); left != 1 {
		t.Errorf("want one to be left, got %d", left)
	}
	each, whole := e.since(map[string]time.Time{"vm-0": at(1), "vm-1": at(2), "vm-2": at(3)})
	want := []string{"power off", "3", "5s", "28s", "6"}
	if diff := cmp.Diff(want, operationRow("power off", each, whole)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestBounds sees that a bound is shown, and that one that is exceeded fails the run, which has nothing else to do.
func TestBounds(t *testing.T) {
	b := &bench{}
	shown := []string{
		b.atMost("calls", 80, 80, ""), b.atMost("memory", 400, 256, " MiB"), b.atMost("nothing", 1, 0, ""),
		b.within("kept", time.Second, time.Second), b.within("exceeded", 2*time.Second, time.Second),
	}
	if diff := cmp.Diff([]string{"≤ 80", "≤ 256 MiB", "", "≤ 1s", "≤ 1s"}, shown); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	err := b.run(t.Context())
	if want := "memory: 400 MiB exceeds the bound of 256 MiB\nexceeded: 2s exceeds the bound of 1s"; err == nil || err.Error() != want {
		t.Errorf("want %q, got %v", want, err)
	}
}

// TestLoad sees what becomes of samples.
func TestLoad(t *testing.T) {
	l := load{}.add(usage{cpu: time.Second}, usage{cpu: 1200 * time.Millisecond, resident: 10 << 20}, time.Second)
	l = l.add(usage{cpu: 1200 * time.Millisecond}, usage{cpu: 2200 * time.Millisecond, resident: 30 << 20}, 2*time.Second)
	if diff := cmp.Diff([]string{"350 m", "500 m", "20 MiB", "30 MiB"}, l.cells()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"0 m", "0 m", "0 MiB", "0 MiB"}, load{}.cells()); diff != "" {
		t.Errorf("of nothing: -want, +got:\n%s", diff)
	}
	for _, row := range published() {
		if len(row) != len(l.cells())+6 {
			t.Errorf("%q has %d cells", row[0], len(row))
		}
	}
}

// TestSites sees that each simulated cluster has a connection and Machines of its own.
func TestSites(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"data": {"smbios1": "uuid=%s,base64=1"}}`, path.Base(path.Dir(r.URL.Path)))
	}))
	t.Cleanup(server.Close)
	operator := &pve{url: server.URL, http: server.Client()}
	sites := []*site{{name: "site-0", operator: operator}, {name: "site-1", operator: operator}}
	objs, err := provider.Connection{Endpoints: []string{"https://a"}}.Objects()
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, o := range sites[1].objects(objs, 0) {
		made = append(made, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()+" "+text(o, "spec", "credentials", "secretRef", "name"))
	}
	if diff := cmp.Diff([]string{"Secret crossplane-system/site-1 ", "ClusterProviderConfig /site-1 site-1"}, made); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	restored, err := machinesOf(t.Context(), sites, newCluster(2))
	if err != nil {
		t.Fatal(err)
	}
	var machines []string
	for _, m := range restored {
		is := m.GetAnnotations()[externalName] + " " + m.GetAnnotations()[uuidAnnotation]
		machines = append(machines, m.GetName()+" of "+text(m, "spec", "providerConfigRef", "name")+" is "+is)
	}
	want := []string{
		"site-0-vm-0 of site-0 is 10000 10000", "site-0-vm-1 of site-0 is 10001 10001",
		"site-1-vm-0 of site-1 is 10000 10000", "site-1-vm-1 of site-1 is 10001 10001",
	}
	if diff := cmp.Diff(want, machines); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestFootprint(t *testing.T) {
	few := footprint{connections: 1, memory: 60 << 20}
	if got := (footprint{connections: 11, memory: 70 << 20}).each(few); got != "1024 KiB" {
		t.Errorf("want 1024 KiB for each of ten more, got %s", got)
	}
	if got := few.each(footprint{}); got != "" {
		t.Errorf("want nothing where there is nothing to compare with, got %s", got)
	}
}

func TestDeletionRow(t *testing.T) {
	j := &requestLog{rows: []request{
		{Method: "POST", Path: "/nodes/n/qemu/100/status/shutdown"},
		{Method: "DELETE", Path: "/nodes/n/qemu/100"},
		{Method: "GET", Path: "/nodes/n/qemu/100/agent/ping", Template: "/nodes/{node}/qemu/{vmid}/agent/ping"},
		{Method: "GET", Path: "/cluster/tasks"},
	}}
	want := []string{"provider", "2", "3s", "", "1", "2"}
	if diff := cmp.Diff(want, deletionTime{took: 3 * time.Second, calls: j}.row("provider", 2)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestKinds sees what is made of each kind.
func TestKinds(t *testing.T) {
	b := &bench{options: options{Snapshots: 10, Volumes: 20, Images: 30}}
	var made []string
	for _, k := range b.manyOf(imageFile{url: "http://a/b.iso", checksum: "sha256:0"}) {
		u := (&group{manyOf: k, site: &site{name: "site-1"}, number: k.number}).named(3)
		spec, _, _ := unstructured.NestedMap(u.Object, "spec", "forProvider")
		made = append(made, fmt.Sprint(u.GetAPIVersion(), " ", u.GetKind(), " ", u.GetName(), " ", text(u, "spec", "providerConfigRef", "name"), " ", spec))
	}
	want := []string{
		"proxmox.m.vitistack.io/v1alpha1 Snapshot snapshots-10-3 site-1 map[allowUnmanaged:true vmid:10003]",
		"proxmox.m.vitistack.io/v1alpha1 Volume volumes-20-3 site-1 map[size:1G storage:ceph]",
		"proxmox.m.vitistack.io/v1alpha1 Image images-30-3 site-1 map[content:iso source:map[checksum:sha256:0 url:http://a/b.iso] storages:[local]]",
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestKindRows compares the many of a kind with the few of the same kind.
func TestKindRows(t *testing.T) {
	b := &bench{options: options{Window: 40 * time.Second}} // They are watched for two minutes.
	of := func(kind string, n int) *group {
		return &group{manyOf: manyOf{kind: kind, resource: kind}, number: n}
	}
	rows := b.kindRows([]*group{of("a", 1), of("a", 10), of("b", 2), of("b", 20)}, []counts{
		{"c": 16, listOfResources: 4}, {"c": 16, listOfResources: 12}, {"c": 40, listOfResources: 12}, {"c": 200, listOfResources: 12},
	})
	want := [][]string{{"a", "1", "10", ""}, {"a", "10", "14", "≤ 17"}, {"b", "2", "26", ""}, {"b", "20", "106", "≤ 31"}}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if len(b.exceeded) != 1 {
		t.Errorf("want one bound to be exceeded, got %v", b.exceeded)
	}
}

// TestServeImage sees that what is downloaded is what its checksum says.
func TestServeImage(t *testing.T) {
	file, end, err := serveImage()
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	resp, err := http.Get(file.url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // Only read.
	content, err := io.ReadAll(resp.Body)
	if sum := sha256.Sum256(content); err != nil || file.checksum != "sha256:"+hex.EncodeToString(sum[:]) {
		t.Errorf("want %s, got %x, %v", file.checksum, sum, err)
	}
}

// TestMeasure runs scenarios at the same time, but alone what asks for that, all of them although one fails.
func TestMeasure(t *testing.T) {
	b := &bench{options: options{Parallel: 3}}
	var besides, most, done atomic.Int32
	meet := make(chan struct{})
	waits := func(context.Context) error {
		return b.concurrent(func() error {
			if n := besides.Add(1); n == 2 {
				close(meet)
			}
			<-meet // The other one is under way too.
			besides.Add(-1)
			done.Add(1)
			return nil
		})
	}
	works := func(context.Context) error {
		<-meet
		return b.alone(func() error {
			most.Store(max(most.Load(), besides.Load()))
			done.Add(1)
			return errors.New("boom")
		})
	}
	ended, err := b.measure(t.Context(), []scenario{{name: "a", run: waits}, {name: "b", run: waits}, {name: "c", run: works}, {name: "d", run: works}})
	if err == nil || strings.Count(err.Error(), "boom") != 2 {
		t.Errorf("want both errors, got %v", err)
	}
	if done.Load() != 4 || most.Load() != 0 || len(ended) != 4 || slices.Min(ended) <= 0 {
		t.Errorf("want four to have ended, and none beside what is alone, got %d, %d, %v", done.Load(), most.Load(), ended)
	}
}

// TestTimes sees that the time of a whole run has a bound, and that of a part none.
func TestTimes(t *testing.T) {
	b := &bench{console: console.New(os.Stderr)}
	all := b.scenarios()
	ended := make([]time.Duration, len(all))
	ended[2] = time.Hour
	b.addTimes(all[:3], ended[:3])
	if len(b.tables) != 0 || len(b.exceeded) != 0 {
		t.Errorf("want no times of a part, got %v, %v", b.tables, b.exceeded)
	}
	b.addTimes(all, ended)
	if len(b.tables) != 1 || len(b.exceeded) != 1 || len(b.tables[0].rows) != len(all)+2 {
		t.Errorf("want the times of the whole, and a bound that is exceeded, got %v, %v", b.tables, b.exceeded)
	}
	b.Scenarios = []string{"steady", "drift"}
	var names []string
	for _, s := range b.plan() {
		names = append(names, s.name)
	}
	if diff := cmp.Diff([]string{"scale", "drift"}, names); diff != "" {
		t.Errorf("plan: -want, +got:\n%s", diff)
	}
}

// TestSizes sees for which numbers of Machines something is measured, and in which of them nothing rests.
func TestSizes(t *testing.T) {
	cases := map[string]struct {
		reason    string
		scenarios []string
		want      []int
	}{
		"Steady":    {reason: "The creation of Machines is not asked for.", scenarios: []string{"steady"}, want: []int{1000, 100}},
		"Resources": {reason: "Nothing is asked for but the creation of Machines.", scenarios: []string{"resources"}, want: []int{1000, 10}},
		"All": {
			reason:    "Each number of Machines is made once for all that is measured with it.",
			scenarios: []string{"resources", "startup", "steady"}, want: []int{1000, 100, 10},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := &bench{options: options{Scenarios: tc.scenarios, Machines: []int{1000, 100}, Resources: []int{10, 1000}}}
			if diff := cmp.Diff(tc.want, b.sizes()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
	stopped := 0
	for _, m := range partlyStopped(created(20)) {
		if power, _, _ := unstructured.NestedString(m.Object, "spec", "forProvider", "powerState"); power == "Stopped" {
			stopped++
		}
	}
	if stopped != 2 {
		t.Errorf("want two of twenty Machines stopped, got %d", stopped)
	}
	rows := table{}
	if rows.take(nil, []string{"measured"}, nil); len(rows.rows) != 1 {
		t.Errorf("want the row that was measured, got %v", rows.rows)
	}
}

// TestPlaces sees that the document has a place for each table of a whole run.
func TestPlaces(t *testing.T) {
	document, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"create", "create-endpoints", "resources", "delete", "operations", "drift", "kinds", "connections", "steady", "steady-endpoints", "startup",
		"competitors", "times",
	} {
		if _, err := replace(document, table{name: name}, ""); err != nil {
			t.Error(err)
		}
	}
}

func withCPUs(n int64) map[string]any { return map[string]any{"cpu": map[string]any{"vcpus": n}} }

// TestHotPlug sees that VMs are prepared for CPUs that are plugged in while they are off, that one is plugged in while they run, and that only this is a row.
func TestHotPlug(t *testing.T) {
	var order, measured []string
	specs := map[string]any{}
	for _, o := range operations() {
		order = append(order, o.name)
		if !o.prepares {
			measured = append(measured, o.name)
		}
		specs[o.name], _, _ = unstructured.NestedMap(o.write("vm-0"), "spec", "forProvider")
	}
	const prepare, plug = "prepare hot-plug", "reconfigure CPU (hot-plug)"
	wanted := []string{"power off", prepare, "power on", plug}
	at := slices.Index(order, wanted[0])
	if at < 0 || len(order) < at+4 || !slices.Equal(order[at:at+4], wanted) {
		t.Errorf("want %q one after the other, got %q", wanted, order)
	}
	if slices.Contains(measured, prepare) || !slices.Contains(measured, plug) || len(measured) != len(order)-1 {
		t.Errorf("want all but the preparation to be measured, got %q", measured)
	}
	want := map[string]any{
		"hotplug": []any{"network", "disk", "usb", "cpu"}, "cpu": map[string]any{"cores": int64(4), "vcpus": int64(2), "numa": true},
	}
	if diff := cmp.Diff(want, specs[prepare]) + cmp.Diff(withCPUs(3), specs[plug]); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
