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
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

const (
	// labelPolicy has the name of the policy that has created a Snapshot.
	labelPolicy = "proxmox.vitistack.io/snapshot-policy"

	// annotationRun has the time of the run for which a Snapshot was created.
	annotationRun = "proxmox.vitistack.io/scheduled-time"
)

const (
	longestObject   = 253 // of the name of an object
	longestLabel    = 63  // of the value of a label
	longestSnapshot = 40  // of the name of a snapshot in PVE
	hashDigits      = 8
	runLayout       = "20060102-1504"
)

var reNotNamed = regexp.MustCompile(`[^a-zA-Z0-9-]`)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hashDigits]
}

// cut shortens a name to a length, and replaces its end by a hash of the whole name.
func cut(name string, length int) string {
	if len(name) <= length {
		return name
	}
	return strings.TrimRight(name[:length-hashDigits-1], "-.") + "-" + hashOf(name)
}

// objectName returns the name of the object for the Snapshot of a Machine for a run: policy, machine and time, and a hash of the first two, which a
// hyphen in their names could make ambiguous.
func objectName(policy, machine string, run time.Time) string {
	end := "-" + run.UTC().Format(runLayout) + "-" + hashOf(policy+"/"+machine)
	return strings.TrimRight(cut(policy+"-"+machine, longestObject-len(end)), "-.") + end
}

// snapshotName returns the name of the snapshot in PVE, which consists of policy and time. That is sufficient, because a VM belongs to one Machine.
func snapshotName(policy string, run time.Time) string {
	name, end := reNotNamed.ReplaceAllString(policy, "-"), "-"+run.UTC().Format(runLayout)
	if name != policy {
		name += "-" + hashOf(policy)
	}
	if first := name[0] | 0x20; first < 'a' || first > 'z' {
		name = "s-" + name
	}
	return cut(name, longestSnapshot-len(end)) + end
}

func labelOf(policy string) string { return cut(policy, longestLabel) }

// snapshotOf returns the Snapshot of a Machine for a run.
func (r *reconciler) snapshotOf(p Policy, m Machine, run time.Time) (Snapshot, error) {
	s, ok := r.kinds.Snapshot.Object.DeepCopyObject().(Snapshot)
	if !ok {
		return nil, errors.Errorf("%T is no Snapshot", r.kinds.Snapshot.Object)
	}
	s.SetName(objectName(p.GetName(), m.GetName(), run))
	s.SetNamespace(p.GetNamespace())
	labels := r.labels(p)
	labels[labelPolicy] = labelOf(p.GetName())
	if of := p.GetLabels()[tenancy.LabelClaimNamespace]; of != "" {
		labels[tenancy.LabelClaimNamespace] = of // The tenant is the policy's.
	}
	s.SetLabels(labels)
	s.SetAnnotations(map[string]string{annotationRun: run.UTC().Format(time.RFC3339)})
	s.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: r.kinds.GroupVersionKind.GroupVersion().String(), Kind: r.kinds.GroupVersionKind.Kind,
		Name: p.GetName(), UID: p.GetUID(), Controller: ptr.To(true),
	}})
	fill(s.Parameters(), p, m, run)
	v1alpha1.CopyConfiguration(s, m)
	return s, nil
}

// fill sets the parameters from the template. Only a running VM has memory.
func fill(to *v1alpha1.SnapshotParameters, p Policy, m Machine, run time.Time) {
	to.Machine, to.Name = ptr.To(m.GetName()), ptr.To(snapshotName(p.GetName(), run))
	t := p.Parameters().SnapshotTemplate
	if t == nil {
		return
	}
	to.Description, to.RemovalPolicy = t.Description, t.RemovalPolicy
	if ptr.Deref(t.IncludeMemory, false) && m.Observation().Phase == v1alpha1.MachineRunning {
		to.IncludeMemory = ptr.To(true)
	}
}

// runOf returns the run for which a Snapshot was created. It returns none if this policy would not have created it in that form.
func runOf(p Policy, s Snapshot) (time.Time, bool) {
	controller := metav1.GetControllerOf(s)
	run, err := time.Parse(time.RFC3339, s.GetAnnotations()[annotationRun])
	if err != nil || controller == nil || controller.UID != p.GetUID() {
		return time.Time{}, false
	}
	return run, s.GetName() == objectName(p.GetName(), ptr.Deref(s.Parameters().Machine, ""), run)
}

// mayTake and mayRemove report whether the management policies let Snapshots be created and
// deleted.
func mayTake(p Policy) bool   { return allows(p, "Create") }
func mayRemove(p Policy) bool { return allows(p, "Delete") }

func allows(p Policy, action string) bool {
	policies := p.GetManagementPolicies()
	if len(policies) == 0 {
		return true
	}
	for _, a := range policies {
		if a == "*" || string(a) == action {
			return true
		}
	}
	return false
}

// keepsAll reports whether the Snapshots stay when the policy is deleted.
func keepsAll(p Policy) bool {
	if o, ok := p.(resource.Orphanable); ok && o.GetDeletionPolicy() == "Orphan" {
		return true
	}
	return !mayRemove(p) || meta.FinalizerExists(p, metav1.FinalizerOrphanDependents)
}
