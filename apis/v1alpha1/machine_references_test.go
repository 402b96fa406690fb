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

package v1alpha1_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A Machine whose labels its own selector matches is not a clone of itself.
func TestResolveReferences(t *testing.T) {
	s := runtime.NewScheme()
	if err := namespaced.SchemeBuilder.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"role": "golden"}
	named := func(namespace, name string) *namespaced.Machine {
		return &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
	}
	cases := map[string]struct {
		reason string
		others []runtime.Object
		want   string
	}{
		"Other": {reason: "Another Machine is meant.", others: []runtime.Object{named("team", "z")}, want: "z"},
		"None":  {reason: "Without another one, nothing is found.", others: []runtime.Object{named("other", "z")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := named("team", "copy")
			p := &m.Spec.ForProvider
			p.Clone = &v1alpha1.MachineClone{MachineSelector: &v1alpha1.Selector{MatchLabels: labels}}
			kube := fake.NewClientBuilder().WithScheme(s).WithRuntimeObjects(append(tc.others, m)...).Build()
			err := p.ResolveReferences(t.Context(), kube, m, namespaced.Kinds())
			if got := p.Clone.Machine; (err == nil) != (tc.want != "") || got != nil && *got != tc.want || got == nil && tc.want != "" {
				t.Errorf("%s Got %v and error %v, want %q", tc.reason, got, err, tc.want)
			}
		})
	}
}
