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

// Package recreation creates VMs again, under another VMID, whose creation was lost with their nodes, at most once for each token. kind.go reads the
// request of a Machine, lost.go proves that a creation was lost and gives the Machine another identity, and remains.go watches for remains that
// return with the node.
package recreation

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/act"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Kind handles the recreations of a Machine. If its VM can be read, it need not be created again.
type Kind struct {
	act.Env
}

// Texts returns the texts of recreations.
func (Kind) Texts() act.Texts {
	return act.Texts{
		Field: "recreation", Annotation: object.AnnotationRecreation, Noun: "recreation", Preposition: "after the loss of",
		Refused: "RecreationRefused", Failed: "RecreationFailed",
	}
}

// Asked returns the recreation that a spec asks for.
func (Kind) Asked(m object.Machine) *act.Asked {
	s := m.Parameters().Recreation
	if s == nil {
		return nil
	}
	return &act.Asked{Token: s.Token, Target: s.LostNode, AllowRunning: true}
}

// Shown returns the record of a recreation as far as the status shows it.
func (Kind) Shown(m object.Machine) *act.Record {
	o := m.Observation().Recreation
	if o == nil {
		return nil
	}
	r := &act.Record{Token: o.Token, Target: o.LostNode, State: o.State, Message: o.Message}
	for _, v := range o.Remains {
		r.Remains = append(r.Remains, act.Remains{VMID: int(v.VMID), UUID: v.UUID, Node: v.Node})
	}
	return r
}

// Show shows the record in the status.
func (Kind) Show(m object.Machine, r *act.Record) {
	if r.Token == "" {
		return
	}
	o := &v1alpha1.MachineRecreationObservation{
		Token: r.Token, LostNode: r.Target, State: r.State, Message: r.Message, Time: ptr.To(metav1.NewTime(time.Unix(r.At, 0))),
	}
	for _, v := range r.Remains {
		o.Remains = append(o.Remains, v1alpha1.MachineRemains{VMID: int32(v.VMID), UUID: v.UUID, Node: v.Node}) //nolint:gosec // A VMID.
	}
	m.Observation().Recreation = o
}

// Settle does nothing: a token causes a single write to the Machine.
func (Kind) Settle(context.Context, object.Machine, *act.Record) error { return nil }

// Next refuses the request: the VM was read.
func (k Kind) Next(ctx context.Context, m object.Machine, r *act.Record) (proxmox.UPID, error) {
	r.Target = m.Parameters().Recreation.LostNode
	a := k.On(m, nil, r)
	return "", a.Refuse(ctx, fmt.Sprintf("VM %d is on node %s and complete", k.VM.VMID, k.VM.Node))
}
