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
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Rename renames annotations in a map, given their present names by their former ones, and
// reports whether it changed any. A present annotation that is there already is kept.
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

// RenameAnnotations renames annotations of the object, in the Kubernetes API and in memory,
// given their present names by their former ones.
func RenameAnnotations(ctx context.Context, kube client.Writer, o client.Object, present map[string]string) error {
	if !hasFormer(o.GetAnnotations(), present) {
		return nil // As at almost every look, which is to copy nothing.
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

// Annotate annotates the object in the Kubernetes API and in memory, where everything else
// stays as it is, its status included. It is a conflict if the object is no
// longer the one that was read: what is written next would undo the change of
// somebody else. Nothing is sent if the object has these annotations already.
func Annotate(ctx context.Context, kube client.Writer, o client.Object, annotations map[string]string) error {
	return patchAnnotations(ctx, kube, o, func(all map[string]string) { maps.Copy(all, annotations) })
}

// writingTime is how long it may take to write what became of a call.
const writingTime = 10 * time.Second

// AfterCall writes what became of a call to PVE, though the time of the reconcile may be over: one call may take all of it.
func AfterCall(ctx context.Context, write func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writingTime)
	defer cancel()
	return write(ctx)
}

// RemoveAnnotation removes an annotation, in the Kubernetes API and in memory.
func RemoveAnnotation(ctx context.Context, kube client.Writer, o client.Object, name string) error {
	return patchAnnotations(ctx, kube, o, func(all map[string]string) { delete(all, name) })
}

// patchAnnotations changes annotations in the Kubernetes API and in memory, where
// everything else stays as it is. It is a conflict if the object has changed meanwhile.
func patchAnnotations(ctx context.Context, kube client.Writer, o client.Object, change func(map[string]string)) error {
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("cannot copy a %T", o)
	}
	after, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("cannot copy a %T", o)
	}
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	change(annotations)
	if maps.Equal(before.GetAnnotations(), annotations) {
		return nil
	}
	after.SetAnnotations(annotations)
	if err := kube.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return errors.Wrap(err, "cannot write annotations")
	}
	o.SetAnnotations(annotations)
	o.SetResourceVersion(after.GetResourceVersion())
	return nil
}
