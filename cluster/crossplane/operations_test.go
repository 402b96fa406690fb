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

package crossplane

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
)

// operations is the folder of the examples of Operations.
const operations = "examples/operations"

// testOperations checks that the examples of Operations work on two Machines of a team, and do nothing to another.
func (s *suite) testOperations(t *testing.T) {
	before := s.vmNames(t)
	if err := s.PushLayout(s.ctx, "vitistack/function-proxmox-operations", "v0.1.0", checkout.Resolve("_output/e2e/function")); err != nil {
		t.Fatal(err)
	}
	const manifests = "cluster/crossplane/testdata/operations.yaml"
	objs := s.apply(t, manifests)
	s.untilTrue(t, s.apply(t, operations+"/function.yaml"), "Installed", "Healthy")
	s.untilTrue(t, slices.DeleteFunc(objs, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" }), "Ready", "Synced")

	t.Run("Snapshot", s.testSnapshotOperation)
	t.Run("Reboot", s.testRebootOperation)
	t.Run("Drain", s.testDrainOperation)
	for field, want := range map[string]string{"powerAction.token": "", "node": "pve1"} {
		if got := s.field(t, "another-team", "spec.forProvider."+field); got != want {
			t.Errorf("the %s of the Machine that no Operation selects is %q, want %q", field, got, want)
		}
	}
	s.kubectl(t, "delete", "operations.ops.crossplane.io", "--all", patience)
	// In a namespace that is being deleted, the provider could not create events of the deleted objects.
	s.kubectl(t, "delete", "--namespace", "shop", "machines.proxmox.m.vitistack.io,proxmoxnodes.proxmox.m.vitistack.io", "--all", patience)
	s.kubectl(t, "delete", patience, "-f", manifests, "--ignore-not-found")
	s.kubectl(t, "delete", patience, "-f", operations+"/function.yaml")
	s.untilVMs(t, before)
}

// testSnapshotOperation waits for the snapshots with the command of the example.
func (s *suite) testSnapshotOperation(t *testing.T) {
	s.untilTrue(t, s.apply(t, operations+"/snapshot-before-upgrade.yaml"), "Succeeded")
	const snapshots, label = "snapshots.proxmox.m.vitistack.io", "operations.proxmox.vitistack.io/snapshot=before-upgrade"
	s.kubectl(t, "wait", "--namespace", "shop", snapshots, "--selector", label, "--for", "condition=Ready", patience)
	names := strings.Fields(s.kubectl(t, "get", "--namespace", "shop", snapshots, "--selector", label, "--output=jsonpath={.items[*].spec.forProvider.machine}"))
	if slices.Sort(names); !slices.Equal(names, []string{"back", "front"}) {
		t.Errorf("there are snapshots of %q, want back and front", names)
	}
	s.kubectl(t, "delete", "--namespace", "shop", snapshots, "--selector", label, patience)
}

// testRebootOperation checks that one Machine reboots after the other. The first one reboots when the CronOperation is due, at a full minute.
func (s *suite) testRebootOperation(t *testing.T) {
	cron := s.schedule(t, operations+"/rolling-reboot.yaml")
	due := outputOf(t, s.untilDue(t, cron))
	applied := append(s.runUntilNoneRemains(t, cron), due["applied"])
	if slices.Max(applied) != 1 {
		t.Errorf("the runs have rebooted %v Machines, want one in each", applied)
	}
	for _, name := range []string{"front", "back"} {
		if got := s.field(t, name, "status.atProvider.powerAction.result"); got != "OK" {
			t.Errorf("the reboot of %s ended with %q", name, got)
		}
	}
}

// testDrainOperation checks that the Machines are spread over the other nodes, and that placement leaves out the drained one.
func (s *suite) testDrainOperation(t *testing.T) {
	s.runUntilNoneRemains(t, s.schedule(t, operations+"/drain-node.yaml"))
	nodes := []string{s.field(t, "front", "status.atProvider.node"), s.field(t, "back", "status.atProvider.node")}
	if slices.Sort(nodes); !slices.Equal(nodes, []string{"pve2", "pve3"}) {
		t.Errorf("the Machines are on %q, want pve2 and pve3", nodes)
	}
	schedulable := s.kubectl(t, "get", "--namespace", "shop", "proxmoxnodes.proxmox.m.vitistack.io", "pve1", "--output=jsonpath={.spec.forProvider.schedulable}")
	if schedulable != "false" {
		t.Errorf("schedulable of the drained node is %q", schedulable)
	}
}

// schedule lets Crossplane schedule a CronOperation.
func (s *suite) schedule(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	cron := s.apply(t, manifest)[0]
	s.untilTrue(t, []*unstructured.Unstructured{cron}, "Scheduling")
	return cron
}

// runUntilNoneRemains deletes a CronOperation, and runs its template repeatedly without waiting for the minute. It returns how many objects each run
// has applied, without runs that applied none.
func (s *suite) runUntilNoneRemains(t *testing.T, cron *unstructured.Unstructured) []int64 {
	t.Helper()
	s.kubectl(t, "delete", "cronoperations.ops.crossplane.io", cron.GetName(), patience)
	spec, _, err := unstructured.NestedMap(cron.Object, "spec", "operationTemplate", "spec")
	if err != nil {
		t.Fatal(err)
	}
	var applied []int64
	run := 0
	s.until(t, func() string {
		run++
		o := object(cron.GetAPIVersion(), "Operation", fmt.Sprintf("%s-run-%d", cron.GetName(), run))
		o.Object["spec"] = spec
		if err := s.Kube.Apply(s.ctx, o); err != nil {
			t.Fatal(err)
		}
		s.untilTrue(t, []*unstructured.Unstructured{o}, "Succeeded")
		output := outputOf(t, o)
		if output["applied"] > 0 {
			applied = append(applied, output["applied"])
		}
		if output["remaining"] > 0 {
			return fmt.Sprintf("%d Machines remain", output["remaining"])
		}
		return ""
	})
	if len(applied) == 0 {
		t.Fatal("no run has applied anything")
	}
	return applied
}

// untilDue waits until a CronOperation has created an Operation by itself, and the Operation has succeeded.
func (s *suite) untilDue(t *testing.T, cron *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	made := &unstructured.UnstructuredList{}
	made.SetAPIVersion(cron.GetAPIVersion())
	made.SetKind("OperationList")
	s.until(t, func() string {
		if err := s.Kube.List(s.ctx, made, client.MatchingLabels{"ops.crossplane.io/cronoperation": cron.GetName()}); err != nil {
			return err.Error()
		}
		if len(made.Items) == 0 {
			return fmt.Sprintf("CronOperation %q has made no Operation", cron.GetName())
		}
		return ""
	})
	s.untilTrue(t, []*unstructured.Unstructured{&made.Items[0]}, "Succeeded")
	return &made.Items[0]
}

// outputOf returns the output of the only step of an Operation.
func outputOf(t *testing.T, operation *unstructured.Unstructured) map[string]int64 {
	t.Helper()
	steps, _, _ := unstructured.NestedSlice(operation.Object, "status", "pipeline")
	if len(steps) != 1 {
		t.Fatalf("%s has the steps %v, want one", operation.GetName(), steps)
	}
	output, _, _ := unstructured.NestedMap(steps[0].(map[string]any), "output")
	numbers := map[string]int64{}
	for name, value := range output {
		number, ok := value.(int64)
		if !ok {
			t.Fatalf("%s of %s is %v, want a number", name, operation.GetName(), value)
		}
		numbers[name] = number
	}
	return numbers
}

// field returns a field of a Machine of the team.
func (s *suite) field(t *testing.T, name, path string) string {
	t.Helper()
	args := machine.Key{Namespace: "shop", Name: name}.Arguments()
	return s.kubectl(t, append([]string{"get", "--output=jsonpath={." + path + "}"}, args...)...)
}
