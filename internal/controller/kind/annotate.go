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
	"maps"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Rename renames annotations in a map. present maps their former names to their present ones. Rename reports whether it has changed any. An existing
// annotation with the present name is kept.
func Rename(annotations, present map[string]string) bool {
	changed := false
	for former, name := range present {
		value, ok := annotations[former]
		if !ok {
			continue
		}
		if _, there := annotations[name]; !there {
			annotations[name] = value
		}
		delete(annotations, former)
		changed = true
	}
	return changed
}

// hasFormer reports whether there is an annotation to rename.
func hasFormer(annotations, present map[string]string) bool {
	for former := range present {
		if _, has := annotations[former]; has {
			return true
		}
	}
	return false
}

// RenameAnnotations renames annotations of the object, in the Kubernetes API and in memory. present maps their former names to their present ones.
func RenameAnnotations(ctx context.Context, kube client.Writer, o client.Object, present map[string]string) error {
	if !hasFormer(o.GetAnnotations(), present) {
		return nil // This is the case at almost every reconcile, so nothing is copied.
	}
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("cannot copy a %T", o)
	}
	after, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("cannot copy a %T", o)
	}
	Rename(after.GetAnnotations(), present)
	if err := kube.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return errors.Wrap(err, "cannot rename annotations")
	}
	Rename(o.GetAnnotations(), present)
	o.SetResourceVersion(after.GetResourceVersion())
	return nil
}

// Annotate sets annotations of the object in the Kubernetes API and in memory, where everything else stays as it is, including the status. It returns
// a conflict if the object is no longer the version that was read, because the next write would undo the change of another client. Nothing is sent if
// the object has these annotations already.
func Annotate(ctx context.Context, kube client.Writer, o client.Object, annotations map[string]string) error {
	return patchMetadata(ctx, kube, o, withAnnotations(o, annotations), o.GetFinalizers())
}

// AnnotateWithFinalizer annotates the object as Annotate does, and adds the finalizer in the same write. The reconciler would add it in a separate
// one.
func AnnotateWithFinalizer(ctx context.Context, kube client.Writer, o client.Object, annotations map[string]string) error {
	finalizers := o.GetFinalizers()
	if !slices.Contains(finalizers, managed.FinalizerName) {
		finalizers = append(slices.Clone(finalizers), managed.FinalizerName)
	}
	return patchMetadata(ctx, kube, o, withAnnotations(o, annotations), finalizers)
}

// withAnnotations returns the annotations of an object with others.
func withAnnotations(o client.Object, others map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, o.GetAnnotations())
	maps.Copy(all, others)
	return all
}

type creationEndKey struct{}

// AtCreationEnd returns the context in which a successful creation records what it has begun. Annotate then changes the object in memory only,
// because crossplane-runtime writes the annotations next, with the one that records how the creation has ended. That write contains what differs from
// the cache, which may not have a removed annotation yet. RemoveAnnotation therefore writes immediately.
func AtCreationEnd(ctx context.Context) context.Context {
	return context.WithValue(ctx, creationEndKey{}, true)
}

// writingTime is the maximum duration of writing the outcome of a call.
const writingTime = 10 * time.Second

// AfterCall writes the outcome of a call to PVE, even if the time of the reconcile is over. One call may use up all of it.
func AfterCall(ctx context.Context, write func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writingTime)
	defer cancel()
	return write(ctx)
}

// RemoveAnnotation removes an annotation, in the Kubernetes API and in memory.
func RemoveAnnotation(ctx context.Context, kube client.Writer, o client.Object, name string) error {
	left := withAnnotations(o, nil)
	delete(left, name)
	ctx = context.WithValue(ctx, creationEndKey{}, false)
	return patchMetadata(ctx, kube, o, left, o.GetFinalizers())
}

// patchMetadata changes annotations and finalizers in the Kubernetes API and in memory, where everything else stays as it is. It returns a conflict
// if the object has changed meanwhile.
func patchMetadata(ctx context.Context, kube client.Writer, o client.Object, annotations map[string]string, finalizers []string) error {
	if maps.Equal(o.GetAnnotations(), annotations) && slices.Equal(o.GetFinalizers(), finalizers) {
		return nil
	}
	set := func(on client.Object) {
		on.SetAnnotations(annotations)
		on.SetFinalizers(finalizers)
	}
	if ctx.Value(creationEndKey{}) == true {
		set(o)
		return nil
	}
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("cannot copy a %T", o)
	}
	after, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("cannot copy a %T", o)
	}
	set(after)
	if err := kube.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return errors.Wrap(err, "cannot write annotations")
	}
	set(o)
	o.SetResourceVersion(after.GetResourceVersion())
	return nil
}
