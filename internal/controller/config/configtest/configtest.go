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

// Package configtest runs each kind of the engine of configuration objects through the same life. Its objects are created, drift, are adopted,
// claimed by several resources, in use and deleted. Privileges are missing, answers are lost, and the provider is killed at each step. All of that
// happens in both scopes and on both versions of Proxmox VE.
package configtest

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// A Setup adds the controller of a kind in one scope to a manager.
type Setup = func(ctrl.Manager, kind.Options, kind.Scope) error

// A Simulator is the simulated cluster, and a client with all privileges.
type Simulator struct {
	*testing.T
	*simulator.Server

	Client *proxmox.Client
}

// Must fails the test if a change that others make in Proxmox VE fails.
func (s Simulator) Must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// A Kind describes a kind to configtest.
type Kind struct {
	Setup      Setup
	Kind       string
	Collection proxmox.Collection

	// Name of the object in Spec and Changed.
	Name string

	// Spec and Changed are forProvider in YAML, before and after a change. Want and WantChanged are the options that Proxmox VE then has.
	Spec, Changed     string
	Want, WantChanged map[string]string

	// Foreign are the options of an object of the same name that others have created, and that differs from Spec.
	Foreign proxmox.Params

	// Same are the options of an object that does not differ. Complete, which is optional, adds the rest.
	Same     proxmox.Params
	Complete func(Simulator)

	// Drift is the change of others to an object that matches Spec.
	Drift proxmox.Change

	// Settle puts the staged changes of others into force, after each of them. Optional.
	Settle func(Simulator)

	// Secrets are the data of Kubernetes Secrets in the namespace team, by name.
	Secrets map[string]map[string]string

	// Prepare prepares the cluster first. Optional.
	Prepare func(Simulator)

	// Use adds a user of the object, and Release removes it. User are words of the message. Nil for a kind that has no users.
	Use, Release func(Simulator)
	User         string

	// Once runs each life in one way, for another variety of a kind that is run in all of them.
	Once bool

	// OptionsOnly skips the tests that do not depend on the options, for varieties of a kind that is run in all tests.
	OptionsOnly bool

	// Denied is the privilege that the user lacks in one of the tests, with its path.
	Denied proxmox.Privilege
}

// Run runs the tests of a kind.
func Run(t *testing.T, k Kind) {
	t.Helper()
	lives := map[string]func(*env){
		"Create": created, "Change": changed, "Drift": drifted, "Observe": observed, "Exists": exists, "Adopt": adopted,
	}
	if !k.OptionsOnly {
		maps.Copy(lives, map[string]func(*env){
			"Conflict": conflicting, "InUse": inUse, "Denied": denied, "RightsRemoved": rightsRemoved, "LostAnswer": lostAnswer, "LostToOthers": lostToOthers,
			"Mismatch": mismatched, "Cost": cost, "Killed": killed, "Upgraded": upgraded,
		})
	}
	for name, live := range lives {
		for _, w := range waysOf(t.Name()+"/"+name, k.Once) {
			t.Run(w.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				live(newEnv(t, k, w))
			})
		}
	}
}

func same(a, b string) bool { return a == b || settings.SameList(a, b) }

func created(e *env) {
	mg := e.resource(1, e.kind.Spec, nil)
	e.Until(mg, "the object is as the spec asks", Settled(mg))
	e.has(e.kind.Want)
	if name := xpmeta.GetExternalName(mg); name != e.kind.Name {
		e.Errorf("the external name is %q, want %q", name, e.kind.Name)
	}
	e.quiet(mg)
	e.Delete(mg)
	if o := e.object(); o != nil {
		e.Errorf("the object is left: %v", o)
	}
}

// quiet checks that a resource that matches its spec costs no write.
func (e *env) quiet(mg resource.Managed) {
	e.Helper()
	e.Reconcile(mg) // It shows the result of the last change.
	before := len(e.Writes())
	version := mg.GetResourceVersion()
	for range 3 {
		e.Reconcile(mg)
		<-time.After(2 * maxAge) // Shared data is read again.
	}
	if after := e.Writes(); len(after) != before {
		e.Errorf("an unchanged resource costs writes to Proxmox VE: %v", after[before:])
	}
	if mg.GetResourceVersion() != version {
		e.Errorf("an unchanged resource costs writes to the Kubernetes API: %s", e.describe(mg))
	}
}

func changed(e *env) {
	mg := e.resource(1, e.kind.Spec, nil)
	e.Until(mg, "the object is as the spec asks", Settled(mg))
	e.edit(mg, e.kind.Changed)
	e.Until(mg, "the object is as the changed spec asks", Settled(mg))
	e.has(e.kind.WantChanged)
}

func drifted(e *env) {
	mg := e.resource(1, e.kind.Spec, nil)
	e.Until(mg, "the object is as the spec asks", Settled(mg))
	e.Must(e.Client.UpdateObject(e.Context(), e.kind.Collection, e.kind.Name, e.kind.Drift))
	e.settle()
	e.Until(mg, "the drift is put right", func() bool {
		o := e.object()
		for option, value := range e.kind.Want {
			if !same(o.Values[option], value) {
				return false
			}
		}
		return Settled(mg)()
	})
}

// observed tests a dry run.
func observed(e *env) {
	e.Must(e.Client.CreateObject(e.Context(), e.kind.Collection, e.kind.Name, e.kind.Foreign))
	e.settle()
	mg := e.resource(1, e.kind.Spec, nil)
	e.Change(mg, func() { mg.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve}) })
	e.Until(mg, "the difference is shown", Says(mg, kind.TypeUpToDate, kind.ReasonDifferent))
	if c := mg.GetCondition(xpv2.TypeReady); c.Status != corev1.ConditionTrue {
		e.Errorf("an object that is there is ready to be looked at: %v", c)
	}
	e.Delete(mg)
	e.untouched()
}

// untouched checks that the provider has written nothing, and that the object of others exists.
func (e *env) untouched() {
	e.Helper()
	if w := e.Writes(); len(w) > 0 {
		e.Errorf("the provider has written: %v", w)
	}
	if e.object() == nil {
		e.Error("somebody else's object is gone")
	}
}

// makeSame creates an object of others that matches the spec.
func (e *env) makeSame() {
	e.Helper()
	e.Must(e.Client.CreateObject(e.Context(), e.kind.Collection, e.kind.Name, e.kind.Same))
	e.settle()
	if e.kind.Complete != nil {
		e.kind.Complete(e.Simulator)
	}
}

// settle puts the staged changes of others into force.
func (e *env) settle() {
	e.Helper()
	if e.kind.Settle != nil {
		e.kind.Settle(e.Simulator)
	}
}

func exists(e *env) {
	e.makeSame()
	mg := e.resource(1, e.kind.Spec, nil)
	e.Until(mg, "the object is found to be somebody else's", Says(mg, xpv2.TypeReady, kind.ReasonAlreadyExists, "external-name"))
	if c := mg.GetCondition(kind.TypeUpToDate); c.Status != corev1.ConditionFalse {
		e.Errorf("what is not managed is not up to date: %v", c)
	}
	e.Delete(mg)
	e.untouched()
}

func adopted(e *env) {
	e.makeSame()
	mg := e.resource(1, e.kind.Spec, map[string]string{xpmeta.AnnotationKeyExternalName: e.kind.Name})
	e.Until(mg, "the object is adopted", Settled(mg))
	e.untouched()
	e.edit(mg, e.kind.Changed)
	e.Until(mg, "the adopted object is managed", Settled(mg))
	e.has(e.kind.WantChanged)
}

func conflicting(e *env) {
	name := map[string]string{xpmeta.AnnotationKeyExternalName: e.kind.Name}
	e.makeSame()
	older, younger := e.resource(1, e.kind.Spec, name), e.resource(2, e.kind.Changed, name)
	e.Until(older, "the older one has the object", Settled(older))
	e.Until(younger, "the younger one leaves it alone", Says(younger, xpv2.TypeReady, kind.ReasonOwnershipConflict, "older"))
	e.Delete(younger)
	e.untouched()
}

// offered is the discovery of an API server that offers to create resources of every kind.
type offered struct {
	discovery.ServerResourcesInterface

	kind string
}

func (o offered) ServerResourcesForGroupVersion(version string) (*metav1.APIResourceList, error) {
	return &metav1.APIResourceList{GroupVersion: version, APIResources: []metav1.APIResource{{Kind: o.kind, Verbs: metav1.Verbs{"create"}}}}, nil
}

// upgraded checks a resource whose definition was deleted and which an earlier release has marked. The mark gets its present name, and counts.
func upgraded(e *env) {
	setup := e.setup
	e.setup = func(mgr ctrl.Manager, o kind.Options, s kind.Scope) error {
		o.Discovery = offered{kind: e.kind.Kind}
		return setup(mgr, o, s)
	}
	marks := map[string]string{}
	for former := range kind.FormerAnnotations() {
		marks[former] = "true"
	}
	mg := e.resource(1, e.kind.Spec, marks)
	e.Until(mg, "the object is as the spec asks", Settled(mg))
	for former, present := range kind.FormerAnnotations() {
		if a := mg.GetAnnotations(); a[former] != "" || a[present] != "true" {
			e.Fatalf("%s is not renamed to %s: %v", former, present, a)
		}
	}
	e.StartDelete(mg)
	e.Until(mg, "the deletion is refused", Says(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, "was deleted while this resource was there"))
	if e.object() == nil {
		e.Error("the object is gone although nobody has asked for that")
	}
}

func inUse(e *env) {
	if e.kind.Use == nil {
		e.Skip("nobody uses such an object")
	}
	mg := e.resource(1, e.kind.Spec, nil)
	e.Until(mg, "the object is as the spec asks", Settled(mg))
	e.kind.Use(e.Simulator)
	e.StartDelete(mg)
	e.Until(mg, "the deletion is refused", Says(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, "in use", e.kind.User))
	if e.object() == nil {
		e.Error("the object is gone although it is in use")
	}
	e.kind.Release(e.Simulator)
	e.Until(mg, Gone, func() bool { return false })
	if e.object() != nil {
		e.Error("the object is left although nobody uses it any more")
	}
}

func denied(e *env) {
	e.Edit(func(s *simulator.State) {
		s.ACL = nil
		s.ACL = append(s.ACL, simulator.Grant{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "PVEAuditor", Propagate: true})
	})
	mg := e.resource(1, e.kind.Spec, nil)
	e.Until(mg, "the missing privilege is named", Says(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, e.kind.Denied.String()))
	if w := e.Writes(); len(w) > 0 {
		e.Errorf("the provider has tried it nevertheless: %v", w)
	}
}

// rightsRemoved checks a user with rights only on the path of the object, which Proxmox VE removes with the object.
func rightsRemoved(e *env) {
	if !strings.HasSuffix(e.kind.Denied.Path, "/"+e.kind.Name) {
		e.Skip("there are no rights on such an object alone")
	}
	e.Edit(func(s *simulator.State) {
		s.ACL = nil
		for _, path := range []string{e.kind.Denied.Path, "/storage", "/vms"} {
			s.ACL = append(s.ACL, simulator.Grant{Path: path, Kind: "user", ID: "crossplane@pve", Role: "Administrator", Propagate: true})
		}
	})
	mg := e.resource(1, e.kind.Spec, nil)
	e.Until(mg, "the object is as the spec asks", Settled(mg))
	e.StartDelete(mg)
	e.Until(mg, Gone, func() bool { return false })
	if e.object() != nil {
		e.Error("the object is left")
	}
}

// lostAnswer loses the request for the creation, and its answer.
func lostAnswer(e *env) {
	e.Inject(simulator.Fault{Method: http.MethodPost, Path: e.kind.Collection.URL(), CutBefore: true, Count: 1})
	e.Inject(simulator.Fault{Method: http.MethodPost, Path: e.kind.Collection.URL(), CutAfter: true, Count: 1})
	mg := e.resource(1, e.kind.Spec, nil)
	e.Until(mg, "the object is as the spec asks", Settled(mg))
	e.has(e.kind.Want)
	if n := count(e.Writes(), http.MethodPost+" "+e.kind.Collection.URL()); n != 2 {
		e.Errorf("the object is created by %d calls, want one that was lost and one whose answer was", n)
	}
}

// lostToOthers checks an object that others create while the answer to our creation is lost.
func lostToOthers(e *env) {
	e.Inject(simulator.Fault{Method: http.MethodPost, Path: e.kind.Collection.URL(), CutBefore: true, Count: 1})
	mg := e.resource(1, e.kind.Spec, nil)
	e.Until(mg, "the creation is tried", func() bool { return len(e.Writes()) > 0 })
	e.Must(e.Client.CreateObject(e.Context(), e.kind.Collection, e.kind.Name, e.kind.Foreign))
	e.settle()
	e.Until(mg, "the object is found to be somebody else's", Says(mg, xpv2.TypeReady, kind.ReasonAlreadyExists))
	before := len(e.Writes())
	e.Delete(mg)
	if len(e.Writes()) != before || e.object() == nil {
		e.Errorf("somebody else's object is changed: %v", e.Writes())
	}
}

// mismatched leads the connection to another cluster, which has an object of that name.
func mismatched(e *env) {
	mg := e.resource(1, e.kind.Spec, nil)
	e.Until(mg, "the object is as the spec asks", Settled(mg))
	e.Until(mg, "the cluster is noted", func() bool { return mg.GetAnnotations()[kind.AnnotationCluster] != "" })
	e.Change(mg, func() { xpmeta.AddAnnotations(mg, map[string]string{kind.AnnotationCluster: "elsewhere"}) })
	before := len(e.Writes())
	e.Until(mg, "the wrong cluster is noticed", Says(mg, xpv2.TypeReady, kind.ReasonClusterMismatch, "elsewhere"))
	e.edit(mg, e.kind.Changed)
	e.StartDelete(mg)
	for range 3 {
		e.Reconcile(mg)
	}
	if w := e.Writes(); len(w) != before || e.object() == nil {
		e.Errorf("an object of another cluster is changed: %v", w[before:])
	}
}

// cost checks that the number of lists does not grow with the number of resources.
func cost(e *env) {
	mg := e.resource(1, e.kind.Spec, nil)
	e.Until(mg, "the object is as the spec asks", Settled(mg))
	e.process.cancel()
	e.process = start(e.T, e.Kube, e.kind.Setup, e.Scope, 0, inventory.WithMaxAge(time.Hour))
	e.Reconcile(mg)
	before := len(e.Requests())
	for range 20 {
		e.Reconcile(mg)
	}
	if all := e.Requests()[before:]; len(all) > 0 {
		e.Errorf("20 looks at what is known cost %d calls: %s %s", len(all), all[0].Method, all[0].Path)
	}
}

// killed kills the provider at each step from the creation to the removal.
func killed(e *env) {
	for fatal := 1; ; fatal++ {
		e.KillAfter(fatal)
		others := len(e.all())
		mg := e.resource(fatal, e.kind.Spec, nil)
		e.Until(mg, "the object is as the spec asks", Settled(mg))
		e.has(e.kind.Want)
		e.edit(mg, e.kind.Changed)
		e.Until(mg, "the object is as the changed spec asks", Settled(mg))
		e.has(e.kind.WantChanged)
		e.Delete(mg)
		if n := len(e.all()); n != others {
			e.Fatalf("killed at side effect %d: %d objects are there, want %d", fatal, n, others)
		}
		if e.Deaths == 0 {
			e.Logf("%d side effects", len(e.process.effectsOf()))
			return
		}
	}
}

// all returns the objects of the collection.
func (e *env) all() []string {
	e.Helper()
	objects, err := e.Client.Objects(e.Context(), e.kind.Collection)
	if err != nil {
		e.Fatal(err)
	}
	var names []string
	for _, o := range objects {
		names = append(names, o.Name)
	}
	return names
}

func count(all []string, one string) int {
	n := 0
	for _, s := range all {
		if strings.TrimSuffix(s, "/") == one {
			n++
		}
	}
	return n
}
