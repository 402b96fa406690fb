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

package image

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/checksum"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// ours is the proof that a VM belongs to a template.
const ours = qemu.Ours

// The conditions of an Image in addition to those of every kind.
const (
	// TypeVerified is True if PVE has compared each file with the checksum.
	TypeVerified xpv2.ConditionType = "Verified"

	// TypeReplicated is True if the image is at all places where it is to be.
	TypeReplicated xpv2.ConditionType = "Replicated"
)

// Reasons of the conditions of an Image, in addition to those of failed downloads.
const (
	reasonInvalid        xpv2.ConditionReason = "Invalid"
	reasonNotFound       xpv2.ConditionReason = "NotFound"
	reasonSourceNotFound xpv2.ConditionReason = "SourceNotFound"
	reasonCreating       xpv2.ConditionReason = "Creating"
	reasonDownloading    xpv2.ConditionReason = "Downloading"
	reasonMakingTemplate xpv2.ConditionReason = "MakingTemplate"
	reasonTemplateFailed xpv2.ConditionReason = "TemplateFailed"
	reasonInUse          xpv2.ConditionReason = "InUse"
	reasonVerified       xpv2.ConditionReason = "Verified"
	reasonMismatch       xpv2.ConditionReason = "ChecksumMismatch"
	reasonNotDownloaded  xpv2.ConditionReason = "NotDownloaded"
	reasonNoChecksum     xpv2.ConditionReason = "NoChecksum"
	reasonAdopted        xpv2.ConditionReason = "Adopted"
	reasonReplicated     xpv2.ConditionReason = "Replicated"
	reasonIncomplete     xpv2.ConditionReason = "Incomplete"
)

// Reasons of the events of an Image.
const (
	eventNewRevision    event.Reason = "NewRevision"
	eventDownloading    event.Reason = "Downloading"
	eventDownloaded     event.Reason = "Downloaded"
	eventDownloadFailed event.Reason = "DownloadFailed"
	eventTemplateMade   event.Reason = "TemplateMade"
	eventTemplateFailed event.Reason = "TemplateFailed"
	eventAdopted        event.Reason = "Adopted"
	eventLeftBehind                  = kind.EventLeftBehind
	eventRemovalFailed  event.Reason = "RemovalFailed"
)

// show shows the view as status and conditions.
func show(m Image, v *view, now time.Time) {
	o := m.Observation()
	before := *o
	*o = v1alpha1.ImageObservation{}
	shown := v.record.current()
	if shown != nil {
		o.Revision = shown.Number
	} else {
		shown = v.record.latest()
	}
	if shown != nil {
		showRevision(o, m, v, shown)
	}
	o.Progress = progress(v)
	for _, rev := range slices.Backward(v.record.Revisions) {
		r := v1alpha1.ImageRevision{
			Revision: rev.Number, Digest: rev.Checksum, File: rev.File, Created: unix(rev.Created), Ready: rev.Complete, UsedBy: v.users[rev.Number],
		}
		if rev != shown {
			r.Replicas, r.Templates = v.replicasOf(m, rev), v.templatesOf(m, rev)
		}
		o.Revisions = append(o.Revisions, r)
	}
	if l := v.record.Listed; l != nil {
		o.LastRefresh = unix(l.At)
	}
	if !v.next.IsZero() && v.next.After(now) {
		o.NextRefresh = ptr.To(metav1.NewTime(v.next))
	}
	o.Difference, o.Annotations = difference(v, m), persisted().Copy(m, before.Annotations)
	if len(o.Replicas) == 0 && len(v.items) == 0 {
		o.Replicas, o.Templates = before.Replicas, before.Templates
	}
	m.SetConditions(conditions(m, v, shown)...)
}

func unix(seconds int64) *metav1.Time {
	if seconds == 0 {
		return nil
	}
	return ptr.To(metav1.NewTime(time.Unix(seconds, 0)))
}

// showRevision shows the revision that Machines are created from.
func showRevision(o *v1alpha1.ImageObservation, m Image, v *view, rev *revision) {
	o.Digest, o.File = rev.Checksum, rev.File
	o.Replicas, o.Templates = v.replicasOf(m, rev), v.templatesOf(m, rev)
	for _, key := range rev.fileKeys() {
		f := rev.Files[key]
		ready := f.Done
		if i := v.itemOf(f, nil); i != nil {
			ready = i.ready()
		}
		if ready && o.Size == nil {
			o.Size = ptr.To(f.Size)
		}
	}
}

// replicasOf returns the replicas of a revision, which are its files.
func (v *view) replicasOf(m Image, rev *revision) []v1alpha1.ImageReplica {
	var all []v1alpha1.ImageReplica
	for _, key := range rev.fileKeys() {
		f := rev.Files[key]
		r := v1alpha1.ImageReplica{
			Node: f.Node, Storage: f.Storage, Shared: f.Shared, Volume: volumeID(f.Storage, contentOf(m.Parameters()), rev.File),
			Verified: f.Verified, Ready: f.Done, Message: f.Message,
		}
		if i := v.itemOf(f, nil); i != nil {
			r.Ready, r.Progress = i.ready(), i.progress
			r.Message = i.message
		}
		all = append(all, r)
	}
	if m.Parameters().Source.Volume != nil {
		for _, p := range v.files.places {
			all = append(all, v1alpha1.ImageReplica{
				Node: p.Node, Storage: p.Storage, Shared: p.Shared, Volume: *m.Parameters().Source.Volume, Ready: true,
			})
		}
	}
	return all
}

// templatesOf returns the templates of a revision.
func (v *view) templatesOf(m Image, rev *revision) []v1alpha1.ImageTemplateObservation {
	var all []v1alpha1.ImageTemplateObservation
	for _, key := range rev.templateKeys() {
		t := rev.Templates[key]
		s := v1alpha1.ImageTemplateObservation{
			Node: t.Node, Storage: t.Storage, Shared: t.Shared, Name: templateName(m), Ready: t.Done, Message: t.Message,
		}
		if t.VMID != 0 {
			s.VMID = ptr.To(int32(t.VMID)) //nolint:gosec // No VMID is that large.
		}
		if i := v.itemOf(nil, t); i != nil {
			s.Ready, s.Message = i.ready(), i.message
		}
		all = append(all, s)
	}
	return all
}

// itemOf returns the item of a file or template, or nil.
func (v *view) itemOf(f *file, t *template) *item {
	for _, i := range v.items {
		if f != nil && i.file == f || t != nil && i.template == t {
			return i
		}
	}
	return nil
}

// progress returns the least progress of the downloads that are under way. Downloads that cannot be seen now are left out.
func progress(v *view) *int32 {
	var least *int32
	done := false
	for _, i := range v.items {
		switch {
		case i.file == nil || i.removing || i.file.Done && i.unlisted != "":
		case i.ready():
			done = true
		case least == nil || ptr.Deref(i.progress, 0) < *least:
			least = ptr.To(ptr.Deref(i.progress, 0))
		}
	}
	if least == nil && done {
		return ptr.To[int32](100)
	}
	return least
}

// difference returns the difference between the spec and the present state.
func difference(v *view, m Image) []v1alpha1.OptionDifference {
	var all []v1alpha1.OptionDifference
	if v.record.latest() == nil && fetches(m.Parameters()) {
		all = append(all, v1alpha1.OptionDifference{Option: "revision", Desired: "1"})
	}
	if v.begin != nil {
		all = append(all, v.another(m))
	}
	for _, i := range v.items {
		switch {
		case i.removing:
			all = append(all, v1alpha1.OptionDifference{Option: i.rev.String() + ": " + i.String(), Current: i.name()})
		case !i.ready():
			all = append(all, v1alpha1.OptionDifference{Option: i.String(), Desired: i.name()})
		}
	}
	return all
}

// another returns the difference between the newest revision and the one to begin.
func (v *view) another(m Image) v1alpha1.OptionDifference {
	last := v.record.latest()
	if v.begin.String() != last.Checksum {
		return v1alpha1.OptionDifference{Option: "checksum", Current: last.Checksum, Desired: v.begin.String()}
	}
	extension, _ := extensionOf(m.Parameters()) // No revision is begun without an extension.
	return v1alpha1.OptionDifference{Option: "source.format", Current: strings.TrimPrefix(path.Ext(last.File), "."), Desired: extension}
}

// name returns the name of the item in PVE.
func (i *item) name() string {
	if i.template == nil {
		return i.rev.File
	}
	if i.template.VMID == 0 {
		return "a template"
	}
	return fmt.Sprintf("VM %d", i.template.VMID)
}

// conditions returns the conditions of an Image.
func conditions(m Image, v *view, shown *revision) []xpv2.Condition {
	problems := slices.Clone(v.problems)
	var waits []kind.Problem
	for _, i := range v.items {
		if i.removing || i.ready() {
			continue
		}
		p := i.problem()
		if i.rev == shown {
			problems = append(problems, p)
		}
		waits = append(waits, p)
	}
	if v.record.latest() == nil && len(problems) == 0 {
		problems = append(problems, kind.Problem{Reason: reasonCreating, Message: "no file has been downloaded yet"})
	}
	if shown != nil && !shown.Complete && len(problems) == 0 {
		problems = append(problems, kind.Problem{Reason: reasonCreating, Message: "nothing is ready yet"})
	}
	upToDate := kind.UpToDate(difference(v, m), append(append(slices.Clone(v.problems), waits...), used(v)...)...)
	all := []xpv2.Condition{upToDate, verified(m.Parameters(), v, shown), replicated(v, problems)}
	if m.GetDeletionTimestamp() != nil {
		return append(all, deleting(v))
	}
	return append(all, kind.Ready(problems...).WithObservedGeneration(m.GetGeneration()))
}

// deleting returns what the deletion waits for.
func deleting(v *view) xpv2.Condition {
	c := xpv2.Deleting()
	if u := used(v); len(u) > 0 {
		c = c.WithMessage(u[0].Message)
		c.Reason = reasonInUse
		return c
	}
	var away []string
	for _, i := range v.items {
		if i.away(v) {
			away = append(away, i.String())
		}
	}
	if len(away) > 0 {
		c = c.WithMessage("waiting for nodes that are not online, or storages that are not available: " + strings.Join(away, ", "))
	}
	return c
}

// used returns the problems for the revisions that stay because they are in use.
func used(v *view) []kind.Problem {
	var all []kind.Problem
	for _, rev := range v.record.Revisions {
		if users := v.users[rev.Number]; len(users) > 0 {
			all = append(all, kind.Problem{Reason: reasonInUse, Message: fmt.Sprintf("%s stays: it is used by %s", rev, strings.Join(users, ", "))})
		}
		if why := v.unseen[rev.Number]; why != "" {
			all = append(all, kind.Problem{Reason: reasonInUse, Message: fmt.Sprintf("%s stays: %s", rev, why)})
		}
	}
	return all
}

// problem returns the problem of an item that is not ready.
func (i *item) problem() kind.Problem {
	a := i.attempt()
	switch {
	case i.offline != "":
		return kind.Problem{Reason: reasonNodeOffline, Message: i.String() + ": " + i.offline}
	case i.unlisted != "":
		return kind.Problem{Reason: reasonUnavailable, Message: i.String() + ": " + i.unlisted}
	case i.foreign && i.file != nil:
		p := kind.AlreadyExists("file", i.rev.File)
		p.Message = i.message + "; " + p.Message
		return p
	case i.foreign:
		return kind.Problem{Reason: kind.ReasonOwnershipConflict, Message: i.message}
	case a.Count > 0:
		return kind.Problem{Reason: xpv2.ConditionReason(a.Problem), Message: a.Message}
	}
	reason := reasonDownloading
	if i.template != nil {
		reason = reasonMakingTemplate
	}
	message := i.message
	if message == "" {
		message = "not there yet"
	}
	return kind.Problem{Reason: reason, Message: i.String() + ": " + message}
}

// verified returns the condition Verified of a revision.
func verified(p *v1alpha1.ImageParameters, v *view, rev *revision) xpv2.Condition {
	c := xpv2.Condition{Type: TypeVerified, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.Now()}
	for _, i := range v.items {
		if i.attempt().Problem == string(proxmox.DownloadMismatch) {
			c.Status, c.Reason, c.Message = corev1.ConditionFalse, reasonMismatch, i.attempt().Message
			return c
		}
	}
	if rev == nil || len(rev.Files) == 0 {
		c.Reason, c.Message = reasonNotDownloaded, "no file was downloaded"
		return c
	}
	if sum, err := checksum.Parse(rev.Checksum); err != nil || sum.Algorithm == "" {
		c.Reason, c.Message = reasonNoChecksum, "no checksum is known: set source.checksum or source.checksumURL"
		if p.Source.OCI != nil {
			c.Message = "Proxmox VE reports no checksum of what it pulls from a registry"
		}
		return c
	}
	for _, f := range rev.Files {
		switch {
		case f.Adopted:
			c.Reason, c.Message = reasonAdopted, "Proxmox VE reports no checksum of a file that is there: it was not compared"
			return c
		case !f.Verified:
			c.Reason, c.Message = reasonDownloading, "not all files were compared yet"
			return c
		}
	}
	c.Status, c.Reason = corev1.ConditionTrue, reasonVerified
	return c
}

// replicated returns the condition Replicated.
func replicated(v *view, problems []kind.Problem) xpv2.Condition {
	c := xpv2.Condition{Type: TypeReplicated, Status: corev1.ConditionTrue, Reason: reasonReplicated, LastTransitionTime: metav1.Now()}
	var missing []string
	for _, p := range problems {
		missing = append(missing, p.Message)
	}
	for _, p := range slices.Concat(v.files.away, v.templates.away) {
		if rev := v.record.latest(); rev == nil || !rev.has(p) {
			missing = append(missing, p.String()+": the node is not online")
		}
	}
	if len(missing) > 0 {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, reasonIncomplete, strings.Join(missing, "; ")
	}
	return c
}
