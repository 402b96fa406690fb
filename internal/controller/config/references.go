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

package config

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
)

// Referenced returns the external names of the resources of a kind that references and a selector select, sorted, and the names of those that have
// none in this cluster yet. Unlike references that are resolved once and written into the spec, they follow the referenced resources: a Machine may
// have another VM tomorrow.
func (v View[P, O]) Referenced(ctx context.Context, of string, refs []v1alpha1.Reference, s *v1alpha1.Selector) (names, pending []string, err error) {
	if len(refs) == 0 && s == nil {
		return nil, nil, nil
	}
	all, err := v.list(ctx, of)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range refs {
		if !slices.ContainsFunc(all, func(mg resource.Managed) bool { return mg.GetName() == r.Name }) {
			pending = append(pending, r.Name)
		}
	}
	for _, mg := range all {
		name, other := standsFor(mg), v.inOtherCluster(mg)
		switch {
		case !v.means(mg, refs, s) || other && !named(mg, refs):
		case name == "" || other:
			pending = append(pending, mg.GetName())
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	slices.Sort(pending)
	return slices.Compact(names), slices.Compact(pending), nil
}

// list lists the resources of a kind in the scope and namespace of the resource, except those that are being deleted.
func (v View[P, O]) list(ctx context.Context, of string) ([]resource.Managed, error) {
	empty := v.Scope.Identity(of).List
	if empty == nil {
		return nil, errors.Errorf("there is no kind %s", of)
	}
	all, err := kind.List(ctx, v.Kube, empty, client.InNamespace(v.Resource.GetNamespace()))
	return slices.DeleteFunc(all, func(mg resource.Managed) bool { return meta.WasDeleted(mg) }), err
}

// A machine is a Machine of either scope.
type machine interface {
	resource.Managed

	Observation() *v1alpha1.MachineObservation
}

// standsFor returns the name or VMID of the object that a resource stands for, or an empty name if there is none yet. For a Machine, only the status
// is used. The external name can be set before the VM is proven to belong to the Machine, and users can write it.
func standsFor(mg resource.Managed) string {
	m, ok := mg.(machine)
	switch {
	case !ok:
		return meta.GetExternalName(mg)
	case !kind.HasVM(m.Observation()):
		return ""
	}
	return strconv.Itoa(int(*m.Observation().VMID))
}

// A MachineVM is the VM that a Machine has.
type MachineVM struct {
	// Machine is its name.
	Machine string

	// Created is when the call that has created the VM was recorded; zero for an adopted VM.
	Created time.Time
}

// MachineVMs returns the VMs, by VMID, of the Machines in the scope and namespace of the resource that are in its cluster.
func (v View[P, O]) MachineVMs(ctx context.Context) (map[int]MachineVM, error) {
	all, err := v.list(ctx, "Machine")
	if err != nil {
		return nil, err
	}
	vms := map[int]MachineVM{}
	for _, mg := range all {
		if id, err := strconv.Atoi(standsFor(mg)); err == nil && !v.inOtherCluster(mg) {
			vms[id] = MachineVM{Machine: mg.GetName(), Created: meta.GetExternalCreatePending(mg)}
		}
	}
	return vms, nil
}

// inOtherCluster reports whether a resource is known to stand for an object in another cluster, where its VMID or name refers to a different object.
func (v View[P, O]) inOtherCluster(mg resource.Managed) bool {
	in := mg.GetAnnotations()[kind.AnnotationCluster]
	if m, ok := mg.(machine); ok {
		in = m.Observation().Cluster
	}
	own := v.Resource.Observation().Common().Cluster
	return in != "" && own != "" && in != own
}

// means reports whether one of the references or the selector selects a resource.
func (v View[P, O]) means(mg resource.Managed, refs []v1alpha1.Reference, s *v1alpha1.Selector) bool {
	if named(mg, refs) {
		return true
	}
	if s == nil {
		return false
	}
	if s.MatchControllerRef != nil && *s.MatchControllerRef && !sameController(mg, v.Resource) {
		return false
	}
	for key, value := range s.MatchLabels {
		if is, ok := mg.GetLabels()[key]; !ok || is != value {
			return false
		}
	}
	return true
}

func named(mg resource.Managed, refs []v1alpha1.Reference) bool {
	return slices.ContainsFunc(refs, func(r v1alpha1.Reference) bool { return r.Name == mg.GetName() })
}

// sameController reports whether two resources have the same controller.
func sameController(a, b resource.Managed) bool {
	x, y := metav1.GetControllerOf(a), metav1.GetControllerOf(b)
	return x != nil && y != nil && x.UID == y.UID
}
