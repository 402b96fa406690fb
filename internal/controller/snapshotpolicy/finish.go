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

package snapshotpolicy

import (
	"context"
	"fmt"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// finish completes the deletion of a policy. Its Snapshots are removed first, as many at a time as the policy allows. Snapshots that are retained
// stay. All Snapshots stay if the policy keeps them, or if it is deleted only because its definition is. Their owner reference is removed, because
// Kubernetes would otherwise delete them with their owner.
func (r *reconciler) finish(ctx context.Context, p Policy) (reconcile.Result, error) {
	keeps := keepsAll(p) || r.DeletedWithCRD(ctx, p) != nil
	all, err := r.snapshots(ctx, p)
	if err != nil {
		return reconcile.Result{}, err
	}
	apart, err := r.apart(ctx, p, all)
	if err != nil {
		return reconcile.Result{}, err
	}
	free, left, waits := int(ptr.Deref(p.Parameters().MaxConcurrent, defaultConcurrent)), 0, 0
	for _, s := range all {
		switch {
		case apart[s.GetName()] && !keeps && !isRetained(s):
			left++
			waits++
		case s.GetDeletionTimestamp() != nil || r.issued.isDeleted(p, s.GetName()):
			free--
			left++
		case keeps || isRetained(s):
			err = r.release(ctx, p, s)
		default:
			left++
		}
		if err != nil {
			return reconcile.Result{}, err
		}
	}
	if left == 0 || keeps {
		r.issued.forget(p)
		return reconcile.Result{}, errors.Wrap(r.finalizer.RemoveFinalizer(ctx, p), "cannot remove the finalizer")
	}
	message := fmt.Sprintf("%d Snapshots are to be removed", left)
	if waits > 0 {
		message += fmt.Sprintf(", %d of them when their VMs can be reached, or the nodes of their tasks", waits)
	}
	conditions(p, xpv2.Deleting().WithMessage(message), xpv2.ReconcileSuccess())
	if err := r.write(ctx, p); err != nil {
		return reconcile.Result{}, err
	}
	all = slices.DeleteFunc(all, func(s Snapshot) bool { return apart[s.GetName()] })
	return reconcile.Result{RequeueAfter: r.Interval(p)}, r.removeSome(ctx, p, all, free)
}

// apart returns the Snapshots that wait for nodes, or whose VMs cannot be reached. They do not count towards the limit. A Snapshot that was not begun
// may be deleted anyway.
func (r *reconciler) apart(ctx context.Context, p Policy, all []Snapshot) (map[string]bool, error) {
	v := &view{}
	if _, err := r.allMachines(ctx, p, v); err != nil {
		return nil, err
	}
	for _, s := range all {
		v.snapshots = append(v.snapshots, r.seen(p, s))
	}
	of, found := &plan{view: v}, map[string]bool{}
	of.reach()
	for _, s := range v.snapshots {
		found[s.name] = s.state != waiting && (s.offline || of.apart[s.machine] != "")
	}
	return found, nil
}

func (r *reconciler) removeSome(ctx context.Context, p Policy, all []Snapshot, free int) error {
	for _, s := range all {
		if free <= 0 {
			return nil
		}
		if s.GetDeletionTimestamp() != nil || r.issued.isDeleted(p, s.GetName()) || isRetained(s) {
			continue
		}
		free--
		if err := r.remove(ctx, p, s.GetName()); err != nil {
			return err
		}
	}
	return nil
}

// release removes the policy as an owner of a Snapshot.
func (r *reconciler) release(ctx context.Context, p Policy, s Snapshot) error {
	after, ok := s.DeepCopyObject().(Snapshot) // The object may belong to the cache.
	if !ok {
		return errors.Errorf("cannot copy a %T", s)
	}
	owners := slices.DeleteFunc(slices.Clone(s.GetOwnerReferences()), func(o metav1.OwnerReference) bool { return o.UID == p.GetUID() })
	after.SetOwnerReferences(owners)
	err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(s, client.MergeFromWithOptimisticLock{}))
	return errors.Wrapf(client.IgnoreNotFound(err), "cannot release Snapshot %q", s.GetName())
}
