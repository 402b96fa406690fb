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
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/crossplane/v2/proto/fn/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/cluster/functionserver"
	"github.com/vitistack/provider-proxmox/cluster/local/kube"
)

// machineOf returns a Machine in namespace shop that is Ready, on pve1, changed by fields such as "spec.forProvider.node: pve2".
func machineOf(t *testing.T, name string, fields ...string) *fnv1.Resource {
	t.Helper()
	o := map[string]any{
		"apiVersion": "proxmox.m.vitistack.io/v1alpha1", "kind": "Machine",
		"metadata": map[string]any{"namespace": "shop", "name": name, "uid": "uid-of-" + name},
		"status": map[string]any{
			"atProvider": map[string]any{"node": "pve1"},
			"conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
		},
	}
	for _, field := range fields {
		path, value, _ := strings.Cut(field, ": ")
		if path == "ready" {
			o["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": "Ready", "status": value}}
			continue
		}
		if err := unstructured.SetNestedField(o, value, strings.Split(path, ".")...); err != nil {
			t.Fatal(err)
		}
	}
	return resourceOf(t, o)
}

func resourceOf(t *testing.T, o map[string]any) *fnv1.Resource {
	t.Helper()
	s, err := structpb.NewStruct(o)
	if err != nil {
		t.Fatal(err)
	}
	return &fnv1.Resource{Resource: s}
}

// run runs the function with an input, whose kind and version it adds, and with the objects that the requirements have found.
func run(t *testing.T, input string, found map[string][]*fnv1.Resource) *fnv1.RunFunctionResponse {
	t.Helper()
	in := map[string]any{"apiVersion": inputVersion, "kind": inputKind}
	if err := yaml.Unmarshal([]byte(input), &in); err != nil {
		t.Fatal(err)
	}
	req := &fnv1.RunFunctionRequest{Input: resourceOf(t, in).GetResource(), RequiredResources: map[string]*fnv1.Resources{}}
	for name, items := range found {
		req.RequiredResources[name] = &fnv1.Resources{Items: items}
	}
	rsp, err := function{}.RunFunction(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return rsp
}

// fatal returns why a run applies nothing, or an empty string if it applies something.
func fatal(rsp *fnv1.RunFunctionResponse) string {
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			return r.GetMessage()
		}
	}
	return ""
}

// applied returns the desired objects of a run.
func applied(rsp *fnv1.RunFunctionResponse) map[string]any {
	out := map[string]any{}
	for name, r := range rsp.GetDesired().GetResources() {
		out[name], _, _ = unstructured.NestedFieldCopy(r.GetResource().AsMap(), "spec", "forProvider")
	}
	return out
}

func TestReboot(t *testing.T) {
	const asked, ended = "spec.forProvider.powerAction.token: t", "status.atProvider.powerAction.token: t"
	const well = "status.atProvider.powerAction.result: OK"
	cases := map[string]struct {
		reason    string
		input     string
		machines  map[string][]string
		want      []string
		remaining float64
		fatal     string
	}{
		"First": {
			reason: "one Machine reboots, the first by name", input: "reboot: {token: t}",
			machines: map[string][]string{"b": nil, "a": nil}, want: []string{"Machine shop/a"}, remaining: 2,
		},
		"Under way": {
			reason: "while one reboots, no other does", input: "reboot: {token: t}",
			machines: map[string][]string{"a": {asked}, "b": nil}, remaining: 2,
		},
		"Not Ready after it": {
			reason: "a Machine that has rebooted and is not Ready holds up the others", input: "reboot: {token: t}",
			machines: map[string][]string{"a": {asked, ended, well, "ready: False"}, "b": nil}, remaining: 2,
		},
		"Next": {
			reason: "the next reboots when the one before has, and is Ready", input: "reboot: {token: t}",
			machines: map[string][]string{"a": {asked, ended, well}, "b": nil}, want: []string{"Machine shop/b"}, remaining: 1,
		},
		"Another token": {
			reason: "a reboot by another token is another reboot", input: "reboot: {token: t2}",
			machines: map[string][]string{"a": {asked, ended, well}}, want: []string{"Machine shop/a"}, remaining: 1,
		},
		"Unseen end": {
			reason: "an end that was not seen counts when the Machine is Ready", input: "reboot: {token: t}",
			machines: map[string][]string{"a": {asked, ended, "status.atProvider.powerAction.result: unknown: the node is off"}},
		},
		"Warnings": {
			reason: "a reboot with warnings is done", input: "reboot: {token: t}",
			machines: map[string][]string{"a": {asked, ended, "status.atProvider.powerAction.result: WARNINGS: 1"}},
		},
		"Two at once": {
			reason: "as many are unavailable as may be", input: "reboot: {token: t, maxUnavailable: 2}",
			machines: map[string][]string{"a": {"ready: False"}, "b": nil, "c": nil}, want: []string{"Machine shop/b"}, remaining: 3,
		},
		"Failed": {
			reason: "a reboot that has failed ends it all", input: "reboot: {token: t, maxUnavailable: 3}",
			machines: map[string][]string{"a": {asked, ended, "status.atProvider.powerAction.result: got no lock"}, "b": nil},
			fatal:    "the reboot of Machine shop/a has failed: got no lock",
		},
		"Off": {
			reason: "a Machine that is not to run is left alone", input: "reboot: {token: t}",
			machines: map[string][]string{"a": {"spec.forProvider.powerState: Stopped", "ready: False"}, "b": nil},
			want:     []string{"Machine shop/b"}, remaining: 1,
		},
		"Deleted": {
			reason: "a Machine that is being deleted is left alone", input: "reboot: {token: t}",
			machines: map[string][]string{"a": {"metadata.deletionTimestamp: 2026-11-26T00:00:00Z"}, "b": nil}, want: []string{"Machine shop/b"}, remaining: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var machines []*fnv1.Resource
			for name, fields := range tc.machines {
				machines = append(machines, machineOf(t, name, fields...))
			}
			rsp := run(t, tc.input, map[string][]*fnv1.Resource{machinesRequired: machines})
			if diff := cmp.Diff(tc.fatal, fatal(rsp)); diff != "" {
				t.Fatalf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, slices.Sorted(maps.Keys(applied(rsp)))); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if got := rsp.GetOutput().GetFields()["remaining"].GetNumberValue(); got != tc.remaining {
				t.Errorf("%s: %v remain, want %v", tc.reason, got, tc.remaining)
			}
		})
	}
}

// TestPart checks that what is applied to a Machine applies only to that Machine, and not to a later one with its name.
func TestPart(t *testing.T) {
	rsp := run(t, "reboot: {token: t}", map[string][]*fnv1.Resource{machinesRequired: {machineOf(t, "a", "spec.forProvider.template: debian")}})
	want := map[string]any{
		"apiVersion": "proxmox.m.vitistack.io/v1alpha1", "kind": "Machine",
		"metadata": map[string]any{"namespace": "shop", "name": "a", "uid": "uid-of-a"},
		"spec":     map[string]any{"forProvider": map[string]any{"powerAction": map[string]any{"action": "Reboot", "token": "t"}}},
	}
	if diff := cmp.Diff(want, rsp.GetDesired().GetResources()["Machine shop/a"].GetResource().AsMap()); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestDrain(t *testing.T) {
	const input = "drain: {node: pve1, to: [pve2, pve3], maxMigrations: 2}"
	cases := map[string]struct {
		reason    string
		machines  map[string][]string
		want      map[string]any
		remaining float64
	}{
		"Spread": {
			reason:   "Machines go to the nodes with the fewest, no more at once than may be",
			machines: map[string][]string{"a": nil, "b": nil, "c": nil, "d": {"status.atProvider.node: pve2"}},
			want:     map[string]any{"Machine shop/a": map[string]any{"node": "pve3"}, "Machine shop/b": map[string]any{"node": "pve2"}}, remaining: 3,
		},
		"Under way": {
			reason:   "those that are on their way count",
			machines: map[string][]string{"a": {"spec.forProvider.node: pve2"}, "b": nil, "c": nil},
			want:     map[string]any{"Machine shop/b": map[string]any{"node": "pve3"}}, remaining: 3,
		},
		"Named": {
			reason:   "a Machine that names the node is moved, also before it has a VM",
			machines: map[string][]string{"a": {"spec.forProvider.node: pve1"}, "b": {"spec.forProvider.node: pve1", "status.atProvider.node: "}},
			want:     map[string]any{"Machine shop/a": map[string]any{"node": "pve2"}, "Machine shop/b": map[string]any{"node": "pve3"}}, remaining: 2,
		},
		"Elsewhere": {
			reason:   "Machines on other nodes, and those that are not placed yet, are left alone",
			machines: map[string][]string{"a": {"status.atProvider.node: pve4"}, "b": {"status.atProvider.node: "}},
			want:     map[string]any{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var machines []*fnv1.Resource
			for name, fields := range tc.machines {
				machines = append(machines, machineOf(t, name, fields...))
			}
			rsp := run(t, input, map[string][]*fnv1.Resource{machinesRequired: machines})
			if diff := cmp.Diff(tc.want, applied(rsp)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if got := rsp.GetOutput().GetFields()["remaining"].GetNumberValue(); got != tc.remaining || fatal(rsp) != "" {
				t.Errorf("%s: %v remain, want %v; %s", tc.reason, got, tc.remaining, fatal(rsp))
			}
		})
	}
}

// TestDrainedNode checks that placement does not choose the drained node any more, because of its ProxmoxNode.
func TestDrainedNode(t *testing.T) {
	node := func(name string, spec map[string]any) *fnv1.Resource {
		return resourceOf(t, map[string]any{
			"apiVersion": "proxmox.vitistack.io/v1alpha1", "kind": "ProxmoxNode", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"forProvider": spec},
		})
	}
	rsp := run(t, "drain: {node: pve1, to: [pve2]}", map[string][]*fnv1.Resource{
		machinesRequired: {machineOf(t, "a", "status.atProvider.node: pve2")},
		nodesRequired: {
			node("first", map[string]any{"nodeName": "pve1"}), node("pve1", map[string]any{"nodeName": "pve9"}), node("pve2", map[string]any{}),
			node("third", map[string]any{"nodeName": "pve1", "schedulable": false}),
		},
	})
	if diff := cmp.Diff(map[string]any{"ProxmoxNode first": map[string]any{"schedulable": false}}, applied(rsp)); diff != "" {
		t.Errorf("-want, +got:\n%s%s", diff, fatal(rsp))
	}
}

func TestSnapshot(t *testing.T) {
	rsp := run(t, "snapshot: {name: before, description: Before, includeMemory: true}", map[string][]*fnv1.Resource{machinesRequired: {machineOf(t, "a")}})
	want := map[string]any{
		"apiVersion": "proxmox.m.vitistack.io/v1alpha1", "kind": "Snapshot",
		"metadata": map[string]any{"namespace": "shop", "name": "a-before", "labels": map[string]any{snapshotLabel: "before"}},
		"spec": map[string]any{"forProvider": map[string]any{
			"machineRef": map[string]any{"name": "a"}, "description": "Before", "includeMemory": true,
		}},
	}
	if diff := cmp.Diff(want, rsp.GetDesired().GetResources()["Snapshot shop/a-before"].GetResource().AsMap()); diff != "" {
		t.Errorf("-want, +got:\n%s%s", diff, fatal(rsp))
	}
}

func TestRefused(t *testing.T) {
	machine := []*fnv1.Resource{machineOf(t, "a")}
	cases := map[string]struct {
		reason, input, want string
		machines            []*fnv1.Resource
	}{
		"Nothing":      {"an input has to say what is done", "{}", "set one of", machine},
		"Two":          {"one thing is done at once", "{reboot: {token: t}, snapshot: {name: s}}", "set one of", machine},
		"Unknown":      {"what an unknown field means would not be done", "reboot: {token: t, maxUnavailible: 2}", "maxUnavailible", machine},
		"Kind":         {"the input of another function is none", "{kind: Resources, reboot: {token: t}}", "it is Resources", machine},
		"No token":     {"a reboot has a token", "reboot: {}", "reboot.token", machine},
		"None at once": {"with none at once nothing would ever be done", "reboot: {token: t, maxUnavailable: 0}", "1 or more", machine},
		"To itself":    {"a node cannot take its own Machines", "drain: {node: pve1, to: [pve2, pve1]}", "not \"pve1\" itself", machine},
		"Nowhere":      {"the Machines have to go somewhere", "drain: {node: pve1}", "drain.to", machine},
		"No name":      {"a snapshot has a name", "snapshot: {}", "snapshot.name", machine},
		"No Machine":   {"an Operation that selects nothing is a mistake", "reboot: {token: t}", "there is no Machine", nil},
		"Another kind": {"nothing but Machines is changed", "reboot: {token: t}", "selects ConfigMap of v1", []*fnv1.Resource{
			resourceOf(t, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c"}}),
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rsp := run(t, tc.input, map[string][]*fnv1.Resource{machinesRequired: tc.machines})
			if got := fatal(rsp); !strings.Contains(got, tc.want) {
				t.Errorf("%s: want an error with %q, got %q", tc.reason, tc.want, got)
			}
			if got := applied(rsp); len(got) != 0 {
				t.Errorf("%s: it applies %v", tc.reason, got)
			}
		})
	}
}

// TestEarlierSteps checks that the results of earlier steps of a pipeline are kept.
func TestEarlierSteps(t *testing.T) {
	req := &fnv1.RunFunctionRequest{
		Input:             resourceOf(t, map[string]any{"apiVersion": inputVersion, "kind": inputKind, "snapshot": map[string]any{"name": "s"}}).GetResource(),
		RequiredResources: map[string]*fnv1.Resources{machinesRequired: {Items: []*fnv1.Resource{machineOf(t, "a")}}},
		Desired:           &fnv1.State{Resources: map[string]*fnv1.Resource{"earlier": machineOf(t, "b")}},
	}
	rsp, err := function{}.RunFunction(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Snapshot shop/a-s", "earlier"}, slices.Sorted(maps.Keys(rsp.GetDesired().GetResources()))); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestExamples checks that the function accepts the inputs of all examples.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/operations/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		objs, err := kube.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objs {
			for _, in := range inputsOf(o) {
				s, err := structpb.NewStruct(in)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := functionserver.Read[input](s); err != nil {
					t.Errorf("%s: %v", file, err)
				}
				seen++
			}
		}
	}
	if seen < 3 {
		t.Errorf("the examples have %d inputs, want 3", seen)
	}
}

// inputsOf returns the inputs of an Operation, or of an Operation's template.
func inputsOf(o *unstructured.Unstructured) []map[string]any {
	path := []string{"spec", "pipeline"}
	if strings.HasSuffix(o.GetKind(), "CronOperation") {
		path = []string{"spec", "operationTemplate", "spec", "pipeline"}
	}
	steps, _, _ := unstructured.NestedSlice(o.Object, path...)
	var out []map[string]any
	for _, step := range steps {
		in, ok, _ := unstructured.NestedMap(step.(map[string]any), "input")
		if !ok {
			panic(fmt.Sprintf("%s has a step without an input", o.GetName()))
		}
		out = append(out, in)
	}
	return out
}
