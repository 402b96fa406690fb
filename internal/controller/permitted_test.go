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
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TestPermitted checks that a Machine that Proxmox VE refuses because of a missing privilege is created immediately when that is granted, although it
// has failed so often that it would wait for minutes. Only the next check of the configuration notices the grant.
func TestPermitted(t *testing.T) {
	t.Parallel()
	eachScope(t, func(t *testing.T, scopeName string) {
		t.Helper()
		w := emptyWorld(t, scopes()[scopeName], strings.ToLower(scopeName)+"-permitted", nil, "")
		w.poll = time.Hour
		w.configure()
		const role = "PVEVMAdmin"
		w.pve.Edit(func(s *simulator.State) {
			s.ACL = slices.DeleteFunc(s.ACL, func(g simulator.Grant) bool { return g.Role == role })
		})
		seen := watched(w)
		w.create(calm())
		w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "VM.Allocate")
		w.failOften(seen)

		before := seen.total(w)
		w.checkConfig("first")
		<-time.After(2 * time.Second)
		if more := seen.total(w) - before; more > 0 {
			t.Errorf("a check that finds nothing new wakes nobody, and there were %d more reconciles", more)
		}

		w.grant("/", role)
		granted := time.Now()
		w.checkConfig("second")
		w.ready()
		if took := time.Since(granted); took > 2*time.Minute {
			t.Errorf("want the VM made at once, not after %s", took)
		}
		w.finish()
	})
}

// failOften has the Machine reconciled until it waits for minutes, and its shorter waits are over.
func (w *world) failOften(seen *witness) {
	w.Helper()
	// The first wait takes 15.1 s, and a busy computer reconciles later than that. The waits after the other failures take minutes.
	const often, longestOfShort = 10, 30 * time.Second
	for i := range often {
		before := seen.total(w)
		w.edit(w.m, func() {
			meta.AddAnnotations(w.m, map[string]string{meta.AnnotationKeyReconcileRequestedAt: strconv.Itoa(i)})
		})
		w.eventually("the look that was requested", func() bool { return seen.total(w) > before })
	}
	for before := uint64(0); before != seen.total(w); <-time.After(longestOfShort) {
		before = seen.total(w)
	}
}

// total returns the number of reconciles of resources of all kinds.
func (s *witness) total(w *world) uint64 {
	w.Helper()
	all := uint64(0)
	for _, looks := range s.looks(w) {
		all += looks
	}
	return all
}

// checkConfig triggers a check of the provider configuration, by a key of its Secret that is not a credential.
func (w *world) checkConfig(key string) {
	w.Helper()
	checks := func() int {
		return len(slices.DeleteFunc(w.pve.Requests(), func(r simulator.Request) bool {
			return r.Method != http.MethodGet || r.Path != "/access/permissions" || strings.HasPrefix(r.User, "root@pam")
		}))
	}
	before := checks()
	secret := &corev1.Secret{}
	if err := w.kube.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: w.name}, secret); err != nil {
		w.Fatal(err)
	}
	secret.Data[key] = []byte("x")
	if err := w.kube.Update(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
	w.eventually("the configuration is checked", func() bool { return checks() > before })
}
