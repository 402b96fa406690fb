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
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
		"None":  {reason: "Nothing is found where no other Machine has the label.", others: []runtime.Object{named("other", "z")}},
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

// What has no references is left as it is by ResolveReferences, which reads nothing for it, and all others do.
func TestHasReferences(t *testing.T) {
	name, selector := "z", &v1alpha1.Selector{MatchLabels: map[string]string{"role": "golden"}}
	cases := map[string]struct {
		reason string
		p      v1alpha1.MachineParameters
		want   bool
	}{
		"None":             {reason: "An empty spec refers to nothing."},
		"Template":         {reason: "A template is named, not referred to.", p: v1alpha1.MachineParameters{Template: new(intstr.FromString(name))}},
		"TemplateRef":      {reason: "An Image that is named is not looked for.", p: v1alpha1.MachineParameters{TemplateRef: &v1alpha1.Reference{Name: name}}},
		"TemplateSelector": {reason: "Labels are to be resolved.", p: v1alpha1.MachineParameters{TemplateSelector: selector}, want: true},
		"CloneByName":      {reason: "A clone may name its source.", p: v1alpha1.MachineParameters{Clone: &v1alpha1.MachineClone{Machine: &name}}},
		"CloneRef": {
			reason: "A clone may refer to a Machine.", want: true,
			p: v1alpha1.MachineParameters{Clone: &v1alpha1.MachineClone{MachineRef: &v1alpha1.Reference{Name: name}}},
		},
		"CloneSelector": {
			reason: "A clone may select a Machine.", want: true,
			p: v1alpha1.MachineParameters{Clone: &v1alpha1.MachineClone{MachineSelector: selector}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.p.HasReferences(); got != tc.want {
				t.Errorf("%s HasReferences(): want %t, got %t", tc.reason, tc.want, got)
			}
			before, m := tc.p.DeepCopy(), &namespaced.Machine{}
			r := &countingReader{}
			_ = tc.p.ResolveReferences(t.Context(), r, m, namespaced.Kinds())
			if changed := !equality.Semantic.DeepEqual(before, &tc.p); (changed || r.reads > 0) != tc.want {
				t.Errorf("%s ResolveReferences(): want it to do something: %t; it has read %d times and changed the spec: %t", tc.reason, tc.want, r.reads, changed)
			}
		})
	}
}

// A countingReader finds nothing.
type countingReader struct{ reads int }

func (r *countingReader) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	r.reads++
	return kerrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (r *countingReader) List(context.Context, client.ObjectList, ...client.ListOption) error {
	r.reads++
	return nil
}

// A Backup, and a Volume, go to the storage of a Storage, which may come to be later.
func TestResolveStorage(t *testing.T) {
	s := runtime.NewScheme()
	if err := namespaced.SchemeBuilder.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"for": "backups"}
	storage := func(namespace, external string) *namespaced.Storage {
		x := &namespaced.Storage{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nightly", Labels: labels}}
		if external != "" {
			x.Annotations = map[string]string{"crossplane.io/external-name": external}
		}
		return x
	}
	ref, selector := &v1alpha1.Reference{Name: "nightly"}, &v1alpha1.Selector{MatchLabels: labels}
	cases := map[string]struct {
		reason   string
		storages []runtime.Object
		declared v1alpha1.BackupParameters
		want     string
	}{
		"Reference": {
			reason:   "A reference is resolved to what the Storage stands for.",
			storages: []runtime.Object{storage("team", "nas")}, declared: v1alpha1.BackupParameters{StorageRef: ref}, want: "nas",
		},
		"Selector": {
			reason:   "A Storage is found by its labels.",
			storages: []runtime.Object{storage("team", "nas")}, declared: v1alpha1.BackupParameters{StorageSelector: selector}, want: "nas",
		},
		"Named": {
			reason:   "What is named stays.",
			storages: []runtime.Object{storage("team", "nas")}, declared: v1alpha1.BackupParameters{Storage: "pbs", StorageRef: ref}, want: "pbs",
		},
		"Later":         {reason: "A Storage that is not there yet is waited for.", declared: v1alpha1.BackupParameters{StorageRef: ref}},
		"SelectedLater": {reason: "A Storage with the labels is waited for.", declared: v1alpha1.BackupParameters{StorageSelector: selector}},
		"Unready": {
			reason:   "A Storage without its storage is waited for.",
			storages: []runtime.Object{storage("team", "")}, declared: v1alpha1.BackupParameters{StorageRef: ref},
		},
		"Elsewhere": {
			reason:   "A Storage of another namespace is not meant.",
			storages: []runtime.Object{storage("other", "nas")}, declared: v1alpha1.BackupParameters{StorageSelector: selector},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := &namespaced.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "b"}}
			b.Spec.ForProvider = tc.declared
			v := &namespaced.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "v"}}
			of := &v.Spec.ForProvider
			of.StorageRef, of.StorageSelector = tc.declared.StorageRef, tc.declared.StorageSelector
			if tc.declared.Storage != "" {
				of.Storage = &tc.declared.Storage
			}
			kube := fake.NewClientBuilder().WithScheme(s).WithRuntimeObjects(append(tc.storages, b, v)...).Build()
			if err := b.ResolveReferences(t.Context(), kube); err != nil || b.Spec.ForProvider.Storage != tc.want {
				t.Errorf("%s Got %q and error %v, want %q", tc.reason, b.Spec.ForProvider.Storage, err, tc.want)
			}
			if err := v.ResolveReferences(t.Context(), kube); err != nil || (of.Storage == nil) != (tc.want == "") || of.Storage != nil && *of.Storage != tc.want {
				t.Errorf("%s A Volume has %v and error %v, want %q", tc.reason, of.Storage, err, tc.want)
			}
			if tc.declared.StorageRef != nil && (b.Spec.ForProvider.StorageRef == nil || of.StorageRef == nil) {
				t.Errorf("%s The reference is gone", tc.reason)
			}
		})
	}
}
