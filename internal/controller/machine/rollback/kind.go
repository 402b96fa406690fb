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

// Package rollback rolls a VM back to a snapshot, at most once for each token. kind.go reads the request of a Machine, preflight.go checks whether
// the rollback can be done, and act.go does it.
package rollback

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A Kind does the rollbacks of a Machine.
type Kind struct {
	act.Env

	Client   Client
	Storages func(context.Context) ([]proxmox.Storage, error)

	// Allows returns an error if the VM may not have a configuration that it is to go back to.
	Allows func(qemu.Config) error

	// Room returns why a quota has no room for a configuration that the VM is to go back to, or an empty string if it has.
	Room func(context.Context, qemu.Config) (string, error)

	// NoSafety is why no safety snapshot may be taken, or empty if one may be taken.
	NoSafety string
}

// Texts returns the texts of rollbacks.
func (Kind) Texts() act.Texts {
	return act.Texts{
		Field: "rollback", Annotation: object.AnnotationRollback, Noun: "rollback", Refused: "RollbackRefused", Failed: "RollbackFailed",
	}
}

// Asked returns the rollback that a spec asks for.
func (Kind) Asked(m object.Machine) *act.Asked {
	s := m.Parameters().Rollback
	if s == nil {
		return nil
	}
	return &act.Asked{Token: s.Token, Target: s.Snapshot, AllowRunning: ptr.Deref(s.AllowRunning, false)}
}

// Shown returns the record of a rollback as far as the status shows it.
func (Kind) Shown(m object.Machine) *act.Record {
	o := m.Observation().Rollback
	if o == nil {
		return nil
	}
	return &act.Record{Token: o.Token, Target: o.Snapshot, State: o.State, Message: o.Message}
}

// Show shows the record in the status.
func (Kind) Show(m object.Machine, r *act.Record) {
	if r.Token == "" {
		return
	}
	o := &v1alpha1.MachineRollbackObservation{
		Token: r.Token, Snapshot: r.Target, State: r.State, Message: r.Explanation(), Time: ptr.To(metav1.NewTime(time.Unix(r.At, 0))),
	}
	if r.Taken {
		o.SafetySnapshot = r.Safety
	}
	m.Observation().Rollback = o
}

// Settle determines the result of a recorded call.
func (k Kind) Settle(ctx context.Context, m object.Machine, r *act.Record) error {
	return k.on(m, r).settle(ctx)
}

// Next makes the next call.
func (k Kind) Next(ctx context.Context, m object.Machine, r *act.Record) (proxmox.UPID, error) {
	q, err := k.request(ctx, m, r)
	if err != nil {
		return "", err
	}
	return k.on(m, r).next(ctx, q)
}

func (k Kind) on(m object.Machine, r *act.Record) *rollback {
	return &rollback{Act: k.On(m, k.Client, r), pve: k.Client, storages: k.Storages, allows: k.Allows, room: k.Room}
}

// request returns the request of the spec.
func (k Kind) request(ctx context.Context, m object.Machine, r *act.Record) (request, error) {
	s := ptr.Deref(m.Parameters().Rollback, v1alpha1.MachineRollback{Snapshot: r.Target})
	q := request{
		Token: s.Token, AllowRunning: ptr.Deref(s.AllowRunning, false), Safety: ptr.Deref(s.SafetySnapshot, false), Start: k.Start,
	}
	if q.Safety && !r.Taken {
		q.Problem = k.NoSafety
	}
	return q, k.resolve(ctx, m, s.Snapshot, &q)
}

// A snapshotResource is a Snapshot of either scope.
type snapshotResource interface {
	client.Object

	Observation() *v1alpha1.SnapshotObservation
}

// resolve finds the name in PVE of a Snapshot of the Machine's scope and namespace. If there is no such Snapshot, the name is used as it is.
func (k Kind) resolve(ctx context.Context, m object.Machine, name string, q *request) error {
	if q.Snapshot = name; q.Problem != "" {
		return nil
	}
	empty, err := k.Kube.Scheme().New(k.GroupVersion.WithKind("Snapshot"))
	if err != nil {
		return errors.Wrap(err, "cannot make a Snapshot")
	}
	s, ok := empty.(snapshotResource)
	if !ok {
		return errors.Errorf("%T is no Snapshot", empty)
	}
	err = k.Kube.Get(ctx, client.ObjectKey{Namespace: m.GetNamespace(), Name: name}, s)
	switch {
	case kerrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		return nil
	case err != nil:
		return errors.Wrapf(err, "cannot read Snapshot %q", name)
	}
	o := s.Observation()
	switch {
	case !strings.EqualFold(o.VMUUID, m.GetAnnotations()[object.AnnotationUUID]):
		q.Problem = fmt.Sprintf("Snapshot %q is not of the VM of this Machine", name)
	case !o.ReadyToUse || o.Name == "" || o.Time == nil:
		q.Problem = fmt.Sprintf("Snapshot %q is not ready to use", name)
	default:
		q.Snapshot, q.Taken = o.Name, o.Time.Time
	}
	return nil
}
