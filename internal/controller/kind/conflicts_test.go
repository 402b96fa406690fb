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

package kind

import (
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
)

// TestConflictsOlder checks that the oldest of several resources with the same claim wins, in whichever order they are listed.
func TestConflictsOlder(t *testing.T) {
	at := func(name string, second int64) *cluster.Machine {
		return &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(time.Unix(second, 0))}}
	}
	observed := at("observed", 1)
	observed.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
	other := at("other", 2)
	oldest, middle, youngest := at("b", 3), at("a", 4), at("c", 5)
	p := Conflicts{
		Reader: fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(observed, other, oldest, middle, youngest).Build(),
		Lists:  []resource.ManagedList{&cluster.MachineList{}},
	}
	claims := func(mg resource.Managed) bool { return mg.GetName() != "other" }
	for mg, want := range map[*cluster.Machine]string{youngest: "b", middle: "b", oldest: ""} {
		if got, err := p.Older(t.Context(), mg, claims); got != want && got != "/"+want || err != nil {
			t.Errorf("%s: want the name %q of the oldest, got %q, %v", mg.GetName(), want, got, err)
		}
	}
}
