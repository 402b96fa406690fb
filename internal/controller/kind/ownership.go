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
	"context"
	"encoding/json"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An object in Proxmox VE belongs to a resource in one of two cases. In the first case, the object's name is the external name of the resource. A
// user wrote it, which is adoption, or the provider wrote it after it had created the object. In the second case, the resource has an Intent, and the
// object is exactly what the intent describes: the provider recorded the intent after it had seen that there was no such object, and the answer to
// the creation was lost. Any other object does not belong to the resource.

// AnnotationIntent records what a resource is about to create in Proxmox VE, from before the call until the object is known to exist.
const AnnotationIntent = "proxmox.vitistack.io/create-intent"

// AnnotationRemoved is the name of the object that Proxmox VE has removed for a resource that is being deleted. For some objects, the permissions on
// them are removed too, so that the provider may no longer check that they are deleted.
const AnnotationRemoved = "proxmox.vitistack.io/removed"

// AnnotationOwned is the name of the object that belongs to the resource. The external name does not prove that, because users write it and may name
// another object.
const AnnotationOwned = "proxmox.vitistack.io/owned"

// AnnotationCluster is the name of the cluster with the object. If the provider configuration later leads to another cluster, an object of the same
// name there does not belong to the resource. A user may change the annotation to continue in that cluster.
const AnnotationCluster = "proxmox.vitistack.io/cluster"

// Reasons why a resource is not ready that concern the ownership of an object.
const (
	// ReasonAlreadyExists means that the object was not created by this resource.
	ReasonAlreadyExists xpv2.ConditionReason = "AlreadyExists"

	// ReasonOwnershipConflict means that another resource manages the object.
	ReasonOwnershipConflict xpv2.ConditionReason = "OwnershipConflict"

	// ReasonClusterMismatch means that the connection leads to another cluster than the one with the object.
	ReasonClusterMismatch xpv2.ConditionReason = "ClusterMismatch"
)

// An Intent describes what a resource is about to create.
type Intent struct {
	// Name of the object in Proxmox VE.
	Name string `json:"name"`

	// Options that it is created with, without secrets.
	Options map[string]string `json:"options,omitempty"`
}

// NoteIntent records the intent in an annotation, in the Kubernetes API and in memory. If that fails, the call that creates the object must not be
// made.
func NoteIntent(ctx context.Context, kube client.Writer, mg resource.Managed, i Intent) error {
	raw, err := json.Marshal(i)
	if err != nil {
		return errors.Wrap(err, "cannot encode the intent to create")
	}
	return Annotate(ctx, kube, mg, map[string]string{AnnotationIntent: string(raw)})
}

// IntentOf returns the intent of a resource, and reports whether it has one.
func IntentOf(mg resource.Managed) (Intent, bool) {
	i := Intent{}
	raw, ok := mg.GetAnnotations()[AnnotationIntent]
	return i, ok && json.Unmarshal([]byte(raw), &i) == nil
}

// DropIntent removes the intent, because Proxmox VE reports that the object does not exist, or because it belongs to this resource by its external
// name.
func DropIntent(ctx context.Context, kube client.Writer, mg resource.Managed) error {
	return RemoveAnnotation(ctx, kube, mg, AnnotationIntent)
}

// Own makes the object belong to this resource: its name becomes the external name, and the intent is removed. Further annotations may record where
// the object is.
func Own(ctx context.Context, kube client.Writer, mg resource.Managed, name string, further map[string]string) error {
	all := withAnnotations(mg, further)
	all[meta.AnnotationKeyExternalName] = name
	delete(all, AnnotationIntent)
	return patchMetadata(ctx, kube, mg, all, mg.GetFinalizers())
}

// AlreadyExists returns the problem that an object exists that was not created by the resource. The noun names the object's kind, such as pool.
func AlreadyExists(noun, name string) Problem {
	return Problem{Reason: ReasonAlreadyExists, Message: fmt.Sprintf(
		"%s %q exists in Proxmox VE and was not created by this resource: to adopt it, set the annotation %s to %q",
		noun, name, meta.AnnotationKeyExternalName, name,
	)}
}

// OwnershipConflict returns the problem that another resource manages the object.
func OwnershipConflict(noun, name, owner string) Problem {
	return Problem{Reason: ReasonOwnershipConflict, Message: fmt.Sprintf(
		"%s %q is managed by %q, which is older: this resource changes nothing", noun, name, owner,
	)}
}

// ClusterMismatch returns the problem that the connection leads to another cluster than the one with the object.
func ClusterMismatch(noun, name, in, now string) Problem {
	return Problem{Reason: ReasonClusterMismatch, Message: fmt.Sprintf(
		"%s %q is in cluster %q, but the provider configuration leads to %q: correct the configuration or, to go on there, set the annotation %s to %q",
		noun, name, in, now, AnnotationCluster, now,
	)}
}

// MayChange reports whether the management policies of a resource allow anything but observing.
func MayChange(mg resource.Managed) bool {
	policies := mg.GetManagementPolicies()
	if len(policies) == 0 {
		return true
	}
	for _, p := range policies {
		if p != xpv2.ManagementActionObserve && p != xpv2.ManagementActionLateInitialize {
			return true
		}
	}
	return false
}
