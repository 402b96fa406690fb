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
	"strings"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

// says waits until a condition has a reason and a text in its message. It sees each state of the Machine since it was last read, even one that lasts
// for less time than reading takes.
func (w *world) says(t xpv2.ConditionType, r xpv2.ConditionReason, text string) {
	w.Helper()
	late := time.After(slowest)
	for states := w.states(); ; {
		if c := w.m.GetCondition(t); c.Reason == r && strings.Contains(c.Message, text) {
			return
		}
		select {
		case e := <-states.ResultChan():
			if !w.take(e.Object) { // The API server no longer has, or sends, the states since then.
				states.Stop()
				w.exists()
				states = w.states()
			}
		case <-late:
			w.Fatalf("never happened: %s is %s: %s\n%s", t, r, text, w)
		}
	}
}

// take takes a state of the Machine, and reports whether it is one.
func (w *world) take(state runtime.Object) bool {
	switch m := w.m.(type) {
	case *cluster.Machine:
		if s, ok := state.(*cluster.Machine); ok {
			s.DeepCopyInto(m)
			return true
		}
	case *namespaced.Machine:
		if s, ok := state.(*namespaced.Machine); ok {
			s.DeepCopyInto(m)
			return true
		}
	}
	return false
}

// states returns the states of the Machine after the one that was last read, until the test ends.
func (w *world) states() watch.Interface {
	w.Helper()
	var list client.ObjectList = &cluster.MachineList{}
	if w.inNamespace() {
		list = &namespaced.MachineList{}
	}
	states, err := w.kube.Watch(w.Context(), list, &client.ListOptions{
		Namespace:     w.m.GetNamespace(),
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, w.m.GetName()),
		Raw:           &metav1.ListOptions{ResourceVersion: w.m.GetResourceVersion()},
	})
	if err != nil {
		w.Fatalf("cannot watch the Machine: %v", err)
	}
	w.Cleanup(states.Stop)
	return states
}
