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

package main

import (
	"fmt"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/crossplane/v2/proto/fn/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
)

// An object is an object of the provider, of either scope.
type object struct{ unstructured.Unstructured }

// required returns the objects that an Operation's requirement has found, sorted by name. It leaves out objects that are being deleted.
func required(req *fnv1.RunFunctionRequest, requirement, kind string) ([]object, error) {
	var found []object
	for _, item := range req.GetRequiredResources()[requirement].GetItems() {
		o := object{unstructured.Unstructured{Object: item.GetResource().AsMap()}}
		group := o.GroupVersionKind().Group
		if o.GetKind() != kind || (group != machine.ClusterGroup && group != machine.NamespacedGroup) {
			return nil, fmt.Errorf("the requirement %q selects %s of %s, want %s of this provider", requirement, o.GetKind(), o.GetAPIVersion(), kind)
		}
		if o.GetDeletionTimestamp() == nil {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b object) int { return strings.Compare(a.String(), b.String()) })
	return found, nil
}

// String returns the kind and the name, with the namespace if there is one.
func (o object) String() string {
	return o.GetKind() + " " + strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")
}

// declared returns a string field of spec.forProvider.
func (o object) declared(field ...string) string {
	return o.text(append([]string{"spec", "forProvider"}, field...)...)
}

// observed returns a string field of status.atProvider.
func (o object) observed(field ...string) string {
	return o.text(append([]string{"status", "atProvider"}, field...)...)
}

// text returns an empty string if there is none.
func (o object) text(field ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, field...)
	return text
}

func (o object) ready() bool { return machine.Of(&o.Unstructured).Ready == "True" }

// with returns a part of the object with declared fields. It has the UID of the object, so that applying it fails if the object was deleted meanwhile,
// instead of creating another one.
func (o object) with(declared map[string]any) object {
	out := o.named(o.GetKind(), o.GetName())
	out.SetUID(o.GetUID())
	out.Object["spec"] = map[string]any{"forProvider": declared}
	return out
}

// named returns an object with another name, in the group and namespace of this one.
func (o object) named(kind, name string) object {
	out := object{unstructured.Unstructured{Object: map[string]any{}}}
	out.SetAPIVersion(o.GetAPIVersion())
	out.SetKind(kind)
	out.SetName(name)
	if o.GetNamespace() != "" {
		out.SetNamespace(o.GetNamespace())
	}
	return out
}
