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

package act

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/vmstate"
)

// An Asked is the request of a spec.
type Asked struct {
	Token string

	// Target is the state that the VM is to go back to, as the spec names it.
	Target string

	// AllowRunning allows the act although the VM runs.
	AllowRunning bool
}

// A Texts contains the names of a kind of act.
type Texts struct {
	// Field of the spec and of the status that requests and shows the act.
	Field string

	// Annotation that contains its record.
	Annotation string

	// Noun of the act in sentences, such as rollback, and the preposition between it and its target, which is "to" by default.
	Noun, Preposition string

	// Refused and Failed are reasons of events and of the condition UpToDate.
	Refused, Failed xpv2.ConditionReason
}

// A Kind of act.
type Kind interface {
	Texts() Texts

	// Asked returns the request of the spec, or nil if there is none.
	Asked(m object.Machine) *Asked

	// Shown returns the record of an act as far as the status shows it, or nil if it shows none.
	Shown(m object.Machine) *Record

	// Show shows the record in the status.
	Show(m object.Machine, r *Record)

	// Settle determines the result of a recorded call. It starts nothing.
	Settle(ctx context.Context, m object.Machine, r *Record) error

	// Next makes the next call, and returns the task that it has started. It returns ErrRuns if the VM must first be shut down.
	Next(ctx context.Context, m object.Machine, r *Record) (proxmox.UPID, error)
}

// ErrRuns is returned if the VM must be shut down before the act continues.
var ErrRuns = errors.New("the VM is to be shut down")

// An Env is the reconcile that does an act.
type Env struct {
	Kube client.Client

	// Members of the cluster.
	Members inventory.Members

	// GroupVersion of the Machine, and of the resources that its spec names.
	GroupVersion schema.GroupVersion

	VM  *vmstate.VM
	Now func() time.Time

	// Start is true if PVE is to start a VM that ran afterwards, because its run strategy leaves it off.
	Start bool

	// Save saves the record where it outlives the provider.
	Save func(context.Context, *Record) error
}

// On returns the act on the VM of a Machine.
func (e Env) On(m object.Machine, c Client, r *Record) Act {
	return Act{PVE: c, Members: e.Members, Ref: e.VM.Ref, UUID: m.GetAnnotations()[object.AnnotationUUID], Record: r, Now: e.Now, Save: e.Save}
}

// Recorded reads the record of the last act of a kind. If the annotation was lost, the status shows that the act was begun.
func Recorded(k Kind, m object.Machine) (*Record, error) {
	annotation := k.Texts().Annotation
	r, err := Parse(m.GetAnnotations()[annotation])
	if err != nil {
		return nil, errors.Wrapf(err, "annotation %s", annotation)
	}
	shown := k.Shown(m)
	if shown != nil && shown.State != v1alpha1.ActPending && m.GetAnnotations()[annotation] == "" {
		shown.State, shown.Message = v1alpha1.ActUnknown, "annotation "+annotation+" was removed"
		return shown, nil
	}
	return r, nil
}

// Keep saves the record in the annotation of its kind, with a copy in the status. It reports an act that was not done in an event.
func Keep(ctx context.Context, kube client.Client, record xpevent.Recorder, k Kind, m object.Machine, r *Record) error {
	t := k.Texts()
	if err := kind.Annotate(ctx, kube, m, map[string]string{t.Annotation: r.String()}); err != nil {
		return err
	}
	k.Show(m, r)
	m.Observation().Annotations = object.PersistedAnnotations(m)
	if r.Final() && r.State != v1alpha1.ActSucceeded {
		reason, message := failure(t, r)
		record.Event(m, xpevent.Warning(xpevent.Reason(reason), errors.New(message)))
	}
	return nil
}

// RefuseEarly permanently refuses the requests in the manifest of a Machine without a VM. They are old: the manifest was applied again, to take over
// a VM that has continued since.
func RefuseEarly(ctx context.Context, kube client.Client, m object.Machine, now time.Time, kinds ...Kind) error {
	for _, k := range kinds {
		asked, annotation := k.Asked(m), k.Texts().Annotation
		if asked == nil || m.GetAnnotations()[annotation] != "" {
			continue
		}
		r := refusedRecord(asked.Token, asked.Target, "it was asked for before the Machine had a VM", now)
		if err := kind.Annotate(ctx, kube, m, map[string]string{annotation: r.String()}); err != nil {
			return err
		}
	}
	return nil
}

// Failure returns why the request of the spec was not carried out. It is empty if it was, or is still to be carried out.
func Failure(k Kind, m object.Machine, r *Record) (xpv2.ConditionReason, string) {
	asked := k.Asked(m)
	if r == nil || asked == nil || r.Token != asked.Token || !r.Final() || r.State == v1alpha1.ActSucceeded {
		return "", ""
	}
	return failure(k.Texts(), r)
}

func failure(t Texts, r *Record) (xpv2.ConditionReason, string) {
	did := map[v1alpha1.MachineActState]string{
		v1alpha1.ActRefused: "was refused", v1alpha1.ActFailed: "has failed", v1alpha1.ActUnknown: "has an unknown result",
	}
	reason := t.Failed
	if r.State == v1alpha1.ActRefused {
		reason = t.Refused
	}
	return reason, fmt.Sprintf("the %s %s %s %s: %s; it is not repeated: to ask again, set another %s.token",
		t.Noun, cmp.Or(t.Preposition, "to"), cmp.Or(r.Target, "an earlier state"), did[r.State], r.Message, t.Field)
}
