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

package composition

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource/unstructured/composite"
	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	xpextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	fnv1 "github.com/crossplane/crossplane/v2/proto/fn/v1"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	localkube "github.com/vitistack/provider-proxmox/cluster/local/kube"
)

// rounds is how often a composite resource may be reconciled until it must not change any more.
const rounds = 8

// pending is the phase of a VM whose Machine has none yet.
const pending = "Pending"

// manager is the field manager of what is composed, like Crossplane.
const manager = client.FieldOwner("composition-test")

// install installs the provider's definitions, Crossplane's own, and those of the XRDs in the API server. Crossplane's are those that this module
// requires, whose version may differ from that of the program that crossplane/core2 pins.
func install(ctx context.Context, cfg *rest.Config) error {
	core, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/crossplane/crossplane/v2").Output()
	if err != nil {
		return fmt.Errorf("cannot find Crossplane's definitions: %w", err)
	}
	objs, err := apis()
	if err != nil {
		return err
	}
	if err := installExternalDNS(ctx, cfg); err != nil {
		return fmt.Errorf("cannot install the definition of external-dns: %w", err)
	}
	var crds []*extv1.CustomResourceDefinition
	for _, obj := range objs {
		if obj.GetKind() != "CompositeResourceDefinition" {
			continue
		}
		found, err := definitions(obj)
		if err != nil {
			return fmt.Errorf("%s: %w", obj.GetName(), err)
		}
		crds = append(crds, found...)
	}
	_, err = envtest.InstallCRDs(cfg, envtest.CRDInstallOptions{
		MaxTime: callTimeout,
		Paths:   []string{checkout.Resolve("package/crds"), filepath.Join(strings.TrimSpace(string(core)), "cluster", "crds")},
		CRDs:    crds,
	})
	return err
}

// apis returns the objects of the Configuration, and of the example next to it.
func apis() ([]*unstructured.Unstructured, error) {
	all, err := below("apis")
	if err != nil {
		return nil, err
	}
	example, err := below(dnsExample)
	return append(all, example...), err
}

// below returns the objects in all files of a folder of examples/composition.
func below(folder string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	err := filepath.WalkDir(checkout.Resolve("examples/composition/"+folder), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		objs, err := localkube.ReadFile(path)
		out = append(out, objs...)
		return err
	})
	return out, err
}

// definitions returns the definitions that Crossplane creates from an XRD: one for the composite resource, and one for its claim.
func definitions(obj *unstructured.Unstructured) ([]*extv1.CustomResourceDefinition, error) {
	xrd := &xpextv1.CompositeResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, xrd); err != nil {
		return nil, err
	}
	xrd.SetUID("00000000-0000-4000-8000-000000000000") // It owns the definitions.
	xr, err := xcrd.ForCompositeResource(xrd)
	if err != nil || xrd.Spec.ClaimNames == nil {
		return []*extv1.CustomResourceDefinition{xr}, err
	}
	claim, err := xcrd.ForCompositeResourceClaim(xrd)
	return []*extv1.CustomResourceDefinition{xr, claim}, err
}

// A world is a small version of Crossplane: it reconciles composite resources until nothing changes any more.
type world struct {
	t         *testing.T
	namespace string
	// observe sets the status of a composed resource like a provider.
	observe func(obj *unstructured.Unstructured)
	// kinds has the Compositions of each kind, by apiVersion and kind, and names those that are selected by name.
	kinds map[string]*unstructured.Unstructured
	names map[string]*unstructured.Unstructured
	// made has the composed resources by the composite's UID and the name in its Composition.
	made map[string]map[string]*unstructured.Unstructured
	// connections has the connection details of composed resources.
	connections map[string][]byte
	warnings    []string
	// defined is when the definitions of composite resources were created.
	defined time.Time
	// refusable is true if a step may refuse a composite resource; refusal is its message.
	refusable bool
	refusal   string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ns := &unstructured.Unstructured{}
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	ns.SetGenerateName("world-")
	if err := kube.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, namespace: ns.GetName(), observe: running, kinds: map[string]*unstructured.Unstructured{},
		names: map[string]*unstructured.Unstructured{}, made: map[string]map[string]*unstructured.Unstructured{},
		connections: map[string][]byte{"endpoint": []byte("192.0.2.7"), "port": []byte("22"), "vmid": []byte("10000")},
		defined:     time.Unix(0, 0),
	}
	objs, err := apis()
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objs {
		if obj.GetKind() == "Composition" {
			w.learn(obj)
		}
	}
	return w
}

// crossplaneNamespace is the namespace of Crossplane, and of the Secrets of resources without a namespace.
const crossplaneNamespace = "crossplane-system"

// makeNamespace creates the namespace of Crossplane.
func makeNamespace(ctx context.Context) error {
	ns := &unstructured.Unstructured{}
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	ns.SetName(crossplaneNamespace)
	return kube.Create(ctx, ns)
}

func (w *world) learn(composition *unstructured.Unstructured) {
	ref, _, _ := unstructured.NestedStringMap(composition.Object, "spec", "compositeTypeRef")
	w.kinds[ref["apiVersion"]+" "+ref["kind"]] = composition
	w.names[composition.GetName()] = composition
}

// compositionOf returns the Composition that is selected by name, or that of the kind.
func (w *world) compositionOf(xr *unstructured.Unstructured) *unstructured.Unstructured {
	if name, ok, _ := unstructured.NestedString(xr.Object, "spec", "crossplane", "compositionRef", "name"); ok {
		return w.names[name]
	}
	return w.kinds[xr.GetAPIVersion()+" "+xr.GetKind()]
}

// composite reports whether an object names its Composition, whether or not that exists.
func (w *world) composite(obj *unstructured.Unstructured) bool {
	_, named, _ := unstructured.NestedString(obj.Object, "spec", "crossplane", "compositionRef", "name")
	return named
}

// create creates a composite resource in the world's namespace, if its kind has one.
func (w *world) create(xr *unstructured.Unstructured) error {
	if xr.GetNamespace() != "" || w.namespaced(xr) {
		xr.SetNamespace(w.namespace)
	}
	if err := kube.Create(w.t.Context(), xr); err != nil {
		return err
	}
	w.t.Cleanup(func() { _ = kube.Delete(context.Background(), xr) })
	return nil
}

func (w *world) namespaced(obj *unstructured.Unstructured) bool {
	is, err := kube.IsObjectNamespaced(obj)
	if err != nil {
		w.t.Fatal(err)
	}
	return is
}

// settle reconciles a composite resource, and those that it is composed of, until nothing changes. It reports whether the composite resource is then
// ready.
func (w *world) settle(xr *unstructured.Unstructured) bool {
	w.t.Helper()
	before := ""
	for range rounds {
		ready := w.reconcile(xr)
		now := text(w.t, w.tree(xr))
		if now == before {
			return ready
		}
		before = now
	}
	w.t.Fatalf("%s %q does not stand still after %d rounds", xr.GetKind(), xr.GetName(), rounds)
	return false
}

func (w *world) reconcile(xr *unstructured.Unstructured) bool {
	w.t.Helper()
	composition := w.compositionOf(xr)
	if composition == nil {
		return false // It may be created later: an API server accepts objects in any order.
	}
	made := w.made[string(xr.GetUID())]
	if made == nil {
		made = map[string]*unstructured.Unstructured{}
		w.made[string(xr.GetUID())] = made
	}
	desired, conditions := w.pipeline(xr, composition, made)
	if w.refusal != "" {
		return false
	}
	ready := desired.GetComposite().GetReady() != fnv1.Ready_READY_FALSE
	for _, name := range slices.Sorted(maps.Keys(desired.GetResources())) {
		resource := desired.GetResources()[name]
		made[name] = w.apply(xr, name, made[name], resource.GetResource().AsMap())
		ready = ready && resource.GetReady() == fnv1.Ready_READY_TRUE
	}
	w.setStatus(xr, desired.GetComposite().GetResource().AsMap()["status"], append(conditions, ofReadiness(ready)))
	return ready
}

// ofReadiness returns the condition that Crossplane sets by itself.
func ofReadiness(ready bool) xpv2.Condition {
	if ready {
		return xpv2.Available()
	}
	return xpv2.Creating()
}

// pipeline runs the steps of a Composition, and returns their desired state and their conditions.
func (w *world) pipeline(xr, composition *unstructured.Unstructured, made map[string]*unstructured.Unstructured) (*fnv1.State, []xpv2.Condition) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), callTimeout)
	defer cancel()
	observed := &fnv1.State{Composite: &fnv1.Resource{Resource: w.message(asSeen(xr, composition))}, Resources: map[string]*fnv1.Resource{}}
	for name, obj := range made {
		observed.Resources[name] = &fnv1.Resource{Resource: w.message(obj.Object), ConnectionDetails: w.connections}
	}
	desired, known := &fnv1.State{}, &structpb.Struct{}
	w.warnings, w.refusal = nil, ""
	var conditions []xpv2.Condition
	steps, _, _ := unstructured.NestedSlice(composition.Object, "spec", "pipeline")
	for _, step := range steps {
		input, _, _ := unstructured.NestedMap(step.(map[string]any), "input")
		name, _, _ := unstructured.NestedString(step.(map[string]any), "functionRef", "name")
		run, ok := functions[name]
		if !ok {
			w.t.Fatalf("%s %q: there is no function %q", xr.GetKind(), xr.GetName(), name)
		}
		rsp, err := run(ctx, &fnv1.RunFunctionRequest{
			Input: w.message(input), Observed: observed, Desired: desired, Context: known, RequiredResources: w.required(xr, step.(map[string]any)),
		})
		if err != nil {
			w.t.Fatal(err)
		}
		conditions = append(conditions, w.conditions(rsp.GetConditions())...)
		for _, r := range rsp.GetResults() {
			if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
				return w.refused(xr, r.GetMessage()), conditions
			}
			w.warnings = append(w.warnings, r.GetMessage())
		}
		desired, known = rsp.GetDesired(), rsp.GetContext()
	}
	return desired, conditions
}

// refused ends the test. If the test expects the refusal, it returns a state without resources.
func (w *world) refused(xr *unstructured.Unstructured, message string) *fnv1.State {
	w.t.Helper()
	if !w.refusable {
		w.t.Fatalf("%s %q: %s", xr.GetKind(), xr.GetName(), message)
	}
	w.refusal = message
	return &fnv1.State{}
}

// required returns the objects that a step of a Composition requires. The only one is the definition of the composite resource.
func (w *world) required(xr *unstructured.Unstructured, step map[string]any) map[string]*fnv1.Resources {
	w.t.Helper()
	out := map[string]*fnv1.Resources{}
	requirements, _, _ := unstructured.NestedSlice(step, "requirements", "requiredResources")
	for _, r := range requirements {
		r := r.(map[string]any)
		mapping, err := kube.RESTMapper().RESTMapping(xr.GroupVersionKind().GroupKind())
		if err != nil {
			w.t.Fatal(err)
		}
		if name := mapping.Resource.GroupResource().String(); r["kind"] != "CompositeResourceDefinition" || r["name"] != name {
			w.t.Fatalf("the Composition of %s requires %v, want the definition %q", xr.GetKind(), r, name)
		}
		out[r["requirementName"].(string)] = &fnv1.Resources{Items: []*fnv1.Resource{{Resource: w.message(map[string]any{
			"apiVersion": r["apiVersion"], "kind": r["kind"],
			"metadata": map[string]any{"name": r["name"], "creationTimestamp": w.defined.UTC().Format(time.RFC3339)},
		})}}}
	}
	return out
}

// conditions returns the conditions of a function. Crossplane accepts them unless they are its own.
func (w *world) conditions(returned []*fnv1.Condition) []xpv2.Condition {
	w.t.Helper()
	statuses := map[fnv1.Status]corev1.ConditionStatus{
		fnv1.Status_STATUS_CONDITION_TRUE: corev1.ConditionTrue, fnv1.Status_STATUS_CONDITION_FALSE: corev1.ConditionFalse,
		fnv1.Status_STATUS_CONDITION_UNKNOWN: corev1.ConditionUnknown,
	}
	var out []xpv2.Condition
	for _, c := range returned {
		next := xpv2.Condition{
			Type: xpv2.ConditionType(c.GetType()), Status: statuses[c.GetStatus()], Reason: xpv2.ConditionReason(c.GetReason()), Message: c.GetMessage(),
			LastTransitionTime: metav1.Now(),
		}
		if xpextv1.IsSystemConditionType(next.Type) || next.Status == "" || next.Reason == "" || c.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
			w.t.Fatalf("a function returns the condition %v", c)
		}
		out = append(out, next)
	}
	return out
}

// asSeen returns a composite resource with the name of its Composition, which Crossplane records. Resources of claims have it in another field, as in
// Crossplane 1.
func asSeen(xr, composition *unstructured.Unstructured) map[string]any {
	seen := xr.DeepCopy().Object
	if schemaOf(xr) == composite.SchemaModern {
		_ = unstructured.SetNestedField(seen, composition.GetName(), "spec", "crossplane", "compositionRef", "name")
	}
	return seen
}

// apply applies a composed resource like Crossplane, and sets its status.
func (w *world) apply(xr *unstructured.Unstructured, name string, now *unstructured.Unstructured, desired map[string]any) *unstructured.Unstructured {
	w.t.Helper()
	obj := &unstructured.Unstructured{Object: integers(w.t, desired)}
	switch {
	case now != nil:
		obj.SetName(now.GetName())
	case obj.GetName() == "":
		obj.SetName(xr.GetName() + "-" + name)
	}
	if xr.GetNamespace() != "" && !w.namespaced(obj) {
		w.t.Fatalf("%s %q has a namespace and composes %s %q, which has none", xr.GetKind(), xr.GetName(), obj.GetKind(), obj.GetName())
	}
	if xr.GetNamespace() != "" {
		obj.SetNamespace(xr.GetNamespace())
	}
	obj.SetManagedFields(nil)
	if err := kube.Patch(w.t.Context(), obj, client.Apply, client.ForceOwnership, manager); err != nil { //nolint:staticcheck // As Crossplane does.
		w.t.Fatalf("%s %q composes what is refused: %v\n%s", xr.GetKind(), xr.GetName(), err, text(w.t, desired))
	}
	w.t.Cleanup(func() { _ = kube.Delete(context.Background(), obj) })
	switch {
	case obj.GetKind() == "Composition":
		w.learn(obj)
	case w.compositionOf(obj) != nil:
		w.reconcile(obj)
	case w.composite(obj): // It does not change: without its Composition it is not reconciled.
	default:
		w.observe(obj)
	}
	return obj
}

// setStatus writes the status like Crossplane, so that the schema applies. Conditions that are not set again do not change.
func (w *world) setStatus(xr *unstructured.Unstructured, status any, conditions []xpv2.Condition) {
	w.t.Helper()
	seen := composite.New(composite.WithSchema(schemaOf(xr)))
	seen.SetUnstructuredContent(xr.DeepCopy().Object)
	before, claimed := seen.GetConditions(), seen.GetClaimConditionTypes()
	next := xr.DeepCopy()
	delete(next.Object, "status")
	if status != nil {
		next.Object["status"] = integers(w.t, status.(map[string]any))
	}
	seen.SetUnstructuredContent(next.Object)
	seen.SetConditions(append(before, conditions...)...)
	for _, c := range conditions {
		if !xpextv1.IsSystemConditionType(c.Type) {
			claimed = append(claimed, c.Type)
		}
	}
	if err := seen.SetClaimConditionTypes(claimed...); err != nil {
		w.t.Fatal(err)
	}
	sent := next.DeepCopy()
	if err := kube.Status().Update(w.t.Context(), next); err != nil {
		w.t.Fatalf("%s %q: its status is refused: %v", xr.GetKind(), xr.GetName(), err)
	}
	_, there, _ := unstructured.NestedString(sent.Object, "status", "phase")
	if phase, _, _ := unstructured.NestedString(next.Object, "status", "phase"); !there && phase == pending {
		_ = unstructured.SetNestedField(sent.Object, phase, "status", "phase") // By default.
	}
	if got, want := text(w.t, next.Object["status"]), text(w.t, sent.Object["status"]); got != want {
		w.t.Errorf("%s %q: of its status %s the schema keeps %s", xr.GetKind(), xr.GetName(), want, got)
	}
	next.DeepCopyInto(xr)
}

// schemaOf returns the schema of a composite resource: only XVirtualMachines are as in Crossplane 1, and have claims.
func schemaOf(xr *unstructured.Unstructured) composite.Schema {
	if xr.GetKind() == "XVirtualMachine" {
		return composite.SchemaLegacy
	}
	return composite.SchemaModern
}

// running sets the status of a VM that runs, as the provider shows it, and makes any other resource ready.
func running(obj *unstructured.Unstructured) {
	status := map[string]any{}
	if obj.GetKind() == "Machine" {
		status["atProvider"] = map[string]any{
			"phase": "Running", "powerState": "running", "vmid": int64(10000), "node": "pve1",
			"ipAddresses": []any{"192.0.2.7", "2001:db8::7"}, "lastUpdated": "2026-01-02T03:04:05Z",
		}
	}
	switch obj.GetKind() {
	case "ProviderConfig", "ClusterProviderConfig":
		status["version"] = "9.2"
	case "ProxmoxCluster":
		status["atProvider"] = map[string]any{
			"ready": true, "version": "9.2", "lastHealthCheck": "2026-01-02T03:04:05Z",
			"nodes": []any{map[string]any{"name": "pve1", "online": true, "status": "online", "address": "192.0.2.21"}},
		}
	case "ProxmoxNode":
		use := map[string]any{"total": int64(16), "used": int64(2)}
		status["atProvider"] = map[string]any{
			"ready": true, "vmCount": int64(7), "resources": map[string]any{"cpu": use, "memory": use, "storage": use},
		}
	}
	obj.Object["status"] = withReady(status)
	if obj.GetKind() == "Machine" {
		withMachineConditions(obj.Object["status"].(map[string]any))
	}
}

// withMachineConditions adds the conditions that only Machines have.
func withMachineConditions(status map[string]any) {
	conditions := status["conditions"].([]any)
	for _, c := range [][2]string{
		{"VMCreated", "CreationSucceeded"}, {"ResourcesAllocated", "AllocationSucceeded"}, {"NetworkConfigured", "NetworkReady"},
	} {
		conditions = append(conditions, map[string]any{
			"type": c[0], "status": "True", "reason": c[1], "lastTransitionTime": "2026-01-02T03:04:05Z",
		})
	}
	status["conditions"] = conditions
}

func withReady(status any) map[string]any {
	out := map[string]any{}
	if s, ok := status.(map[string]any); ok {
		maps.Copy(out, s)
	}
	out["conditions"] = []any{map[string]any{
		"type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": "2026-01-02T03:04:05Z",
	}}
	return out
}

// asAsked returns an object as its Composition specifies it.
func asAsked(obj *unstructured.Unstructured) map[string]any {
	out := map[string]any{"apiVersion": obj.GetAPIVersion(), "kind": obj.GetKind()}
	for _, part := range []string{"spec", "data", "type"} {
		if value, ok := obj.Object[part]; ok {
			out[part] = value
		}
	}
	if labels := obj.GetLabels(); len(labels) > 0 {
		out["labels"] = labels
	}
	return out
}

func (w *world) message(object map[string]any) *structpb.Struct {
	w.t.Helper()
	out := &structpb.Struct{}
	if err := out.UnmarshalJSON([]byte(text(w.t, object))); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// integers converts whole numbers to integers, since protobuf messages only have floating point numbers.
func integers(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON([]byte(text(t, map[string]any{"apiVersion": "v1", "kind": "Any", "object": object}))); err != nil {
		t.Fatal(err)
	}
	return out.Object["object"].(map[string]any)
}

func text(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
