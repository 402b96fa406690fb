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

package configtest

import (
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// A Singleton describes to configtest a kind whose resources stand for objects that Proxmox VE itself provides.
type Singleton struct {
	Setup Setup
	Kind  string

	// Spec and Changed are forProvider in YAML, before and after a change. Want and WantChanged are the settings that Proxmox VE then has, as Read
	// returns them.
	Spec, Changed     string
	Want, WantChanged map[string]string
	Read              func(Simulator) map[string]string

	// Left are settings that Proxmox VE has once the resource was deleted.
	Left map[string]string

	// Prepare prepares the cluster first. Optional.
	Prepare func(Simulator)

	// Drift makes the changes of others to settings that match Spec.
	Drift func(Simulator)

	// Path of the first write.
	Path string

	// Denied is a privilege that the user lacks in one of the tests.
	Denied string
}

// RunSingleton runs the tests of a kind. Its settings are changed, drift, and are only observed, privileges are missing, answers are lost, and the
// provider is killed at each side effect.
func RunSingleton(t *testing.T, k Singleton) {
	t.Helper()
	lives := map[string]func(*singletonEnv){
		"Change": singletonChanged, "Drift": singletonDrifted, "Observe": singletonObserved, "Denied": singletonDenied,
		"LostAnswer": singletonLostAnswer, "Killed": singletonKilled,
	}
	for name, live := range lives {
		for _, w := range waysOf(t.Name()+"/"+name, false) {
			t.Run(w.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				live(&singletonEnv{env: newEnv(t, Kind{Setup: k.Setup, Kind: k.Kind, Prepare: k.Prepare}, w), of: k})
			})
		}
	}
}

// A singletonEnv is an env with the description of the kind.
type singletonEnv struct {
	*env

	of Singleton
}

// settings checks the settings in Proxmox VE.
func (e *singletonEnv) settings(want map[string]string) {
	e.Helper()
	has := e.of.Read(e.Simulator)
	for name, value := range want {
		if got := has[name]; !same(got, value) {
			e.Errorf("%s is %q, want %q", name, got, value)
		}
	}
}

// settled creates a resource whose settings match its spec.
func (e *singletonEnv) settled(number int) resource.Managed {
	e.Helper()
	mg := e.resource(number, e.of.Spec, nil)
	e.Until(mg, "the settings are as the spec asks", Settled(mg))
	e.settings(e.of.Want)
	return mg
}

func singletonChanged(e *singletonEnv) {
	mg := e.settled(1)
	e.edit(mg, e.of.Changed)
	e.Until(mg, "the settings are as the changed spec asks", Settled(mg))
	e.settings(e.of.WantChanged)
	before := len(e.Writes())
	for range 3 {
		e.Reconcile(mg)
	}
	if w := e.Writes()[before:]; len(w) > 0 {
		e.Errorf("settings that do not differ cost writes: %v", w)
	}
	e.Delete(mg)
	e.settings(e.of.Left)
}

func singletonDrifted(e *singletonEnv) {
	mg := e.settled(1)
	before := len(e.Writes())
	e.of.Drift(e.Simulator)
	e.Until(mg, "the drift is put right", func() bool { return len(e.Writes()) > before && Settled(mg)() })
	e.settings(e.of.Want)
}

func singletonObserved(e *singletonEnv) {
	mg := e.resource(1, e.of.Spec, nil)
	e.Change(mg, func() { mg.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve}) })
	e.Until(mg, "the difference is shown", Says(mg, kind.TypeUpToDate, kind.ReasonDifferent))
	if c := mg.GetCondition(xpv2.TypeReady); c.Status != corev1.ConditionTrue {
		e.Errorf("what is there is ready to be looked at: %v", c)
	}
	e.Delete(mg)
	if w := e.Writes(); len(w) > 0 {
		e.Errorf("the provider has written: %v", w)
	}
}

func singletonDenied(e *singletonEnv) {
	e.Edit(func(s *simulator.State) {
		s.ACL = []simulator.Grant{{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "PVEAuditor", Propagate: true}}
	})
	mg := e.resource(1, e.of.Spec, nil)
	denied, different := Says(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, e.of.Denied), Says(mg, kind.TypeUpToDate, kind.ReasonDifferent)
	e.Until(mg, "the missing privilege is named, and what differs", func() bool { return denied() && different() })
}

// singletonLostAnswer loses the first request, and the answer to the next one.
func singletonLostAnswer(e *singletonEnv) {
	for _, fault := range []simulator.Fault{{CutBefore: true}, {CutAfter: true}} {
		fault.Method, fault.Path, fault.Count = "PUT", e.of.Path, 1
		e.Inject(fault)
	}
	e.settled(1)
	if n := count(e.Writes(), "PUT "+e.of.Path); n != 2 {
		e.Errorf("the settings are written by %d calls, want one that was lost and one whose answer was", n)
	}
}

// singletonKilled kills the provider at each step of the life of a resource.
func singletonKilled(e *singletonEnv) {
	for fatal := 1; ; fatal++ {
		e.KillAfter(fatal)
		mg := e.settled(fatal)
		e.edit(mg, e.of.Changed)
		e.Until(mg, "the settings are as the changed spec asks", Settled(mg))
		e.settings(e.of.WantChanged)
		e.Delete(mg)
		e.settings(e.of.Left)
		if e.Deaths == 0 {
			e.Logf("%d side effects", len(e.process.effectsOf()))
			return
		}
	}
}
