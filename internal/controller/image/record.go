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
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// AnnotationRecord records what was created for an Image: its revisions with their files and templates, and what is being created. Nothing else
// proves to which Image a file on a storage belongs.
const AnnotationRecord = tenancy.AnnotationImage

// A record describes what was created for an Image.
type record struct {
	// Revisions, oldest first.
	Revisions []*revision `json:"revisions,omitempty"`

	// Listed is the last result of reading the list of checksums.
	Listed *listed `json:"listed,omitempty"`
}

// A listed checksum is one that was read from a list.
type listed struct {
	// For is the pair of URLs for which it was read.
	For string `json:"for"`

	Checksum string `json:"checksum"`

	// At is when it was read, in seconds.
	At int64 `json:"at"`
}

// A revision of an image.
type revision struct {
	Number int32 `json:"revision"`

	// File is the name of its file on every storage; empty for an image without one.
	File string `json:"file,omitempty"`

	// URL that it was downloaded from, and Checksum that it must have.
	URL      string `json:"url,omitempty"`
	Checksum string `json:"checksum,omitempty"`

	// Created is when it was begun, in seconds.
	Created int64 `json:"created,omitempty"`

	// Complete is true once all of its files and templates were there.
	Complete bool `json:"complete,omitempty"`

	// Files by place, and Templates by place.
	Files     map[string]*file     `json:"files,omitempty"`
	Templates map[string]*template `json:"templates,omitempty"`
}

// An attempt to create an object in PVE with a task.
type attempt struct {
	// Begun is when the intent was recorded, in seconds, when the object did not exist. If an answer was lost, it is the time of that.
	Begun int64 `json:"begun,omitempty"`

	// Task that creates it. It is empty if the start is not confirmed.
	Task string `json:"task,omitempty"`

	// Removal is the task that removes it.
	Removal string `json:"removal,omitempty"`

	// Failures to create it.
	kind.Failures
}

// A file is a file on a storage.
type file struct {
	attempt

	// Node that downloads it, and Storage that it is on.
	Node    string `json:"node"`
	Storage string `json:"storage"`
	Shared  bool   `json:"shared,omitempty"`

	// Before are the newest tasks for a file of the name that existed before.
	Before []string `json:"before,omitempty"`

	// Done is true once the complete file existed, with this Size and time of its last change.
	Done    bool  `json:"done,omitempty"`
	Size    int64 `json:"size,omitempty"`
	Changed int64 `json:"changed,omitempty"`

	// Verified is true if PVE has compared it with the checksum.
	Verified bool `json:"verified,omitempty"`

	// Adopted is true if someone else has created it.
	Adopted bool `json:"adopted,omitempty"`
}

// A template is a template VM.
type template struct {
	attempt

	// Node that it is on, and Storage of its disks.
	Node    string `json:"node"`
	Storage string `json:"storage,omitempty"`
	Shared  bool   `json:"shared,omitempty"`

	// VMID of the VM, and UUID that proves that it is ours.
	VMID int    `json:"vmid"`
	UUID string `json:"uuid"`

	// Done is true once it was a template.
	Done bool `json:"done,omitempty"`

	// Adopted is true if someone else has created it.
	Adopted bool `json:"adopted,omitempty"`
}

// persisted returns the annotations of an Image that its status copies.
func persisted() kind.Persisted {
	return kind.Persisted{Record: AnnotationRecord, Others: []string{tenancy.AnnotationImageSignature}}
}

// recordOf reads the record of an Image.
func recordOf(m resource.Managed) (*record, error) {
	r := &record{}
	text := m.GetAnnotations()[AnnotationRecord]
	if i, ok := m.(Image); ok {
		text = persisted().Text(i, i.Observation().Annotations)
	}
	err := kind.ReadRecord(AnnotationRecord, text, r)
	r.omitEmpty()
	return r, err
}

// omitEmpty removes entries without content, which users can write into the annotation. The record of an Image is also read for other Images.
func (r *record) omitEmpty() {
	r.Revisions = slices.DeleteFunc(r.Revisions, func(rev *revision) bool { return rev == nil })
	for _, rev := range r.Revisions {
		maps.DeleteFunc(rev.Files, func(_ string, f *file) bool { return f == nil })
		maps.DeleteFunc(rev.Templates, func(_ string, t *template) bool { return t == nil })
	}
}

// String returns the text of the record, which is empty for an empty one.
func (r *record) String() string {
	if len(r.Revisions) == 0 && r.Listed == nil {
		return ""
	}
	return kind.RecordText(r)
}

// latest returns the newest revision, or nil.
func (r *record) latest() *revision {
	if len(r.Revisions) == 0 {
		return nil
	}
	return r.Revisions[len(r.Revisions)-1]
}

// current returns the newest revision that was complete, or nil.
func (r *record) current() *revision {
	for _, rev := range slices.Backward(r.Revisions) {
		if rev.Complete {
			return rev
		}
	}
	return nil
}

// begin adds a revision. It takes over the files of an older revision with the same file.
func (r *record) begin(rev *revision) {
	rev.Number = 1
	if last := r.latest(); last != nil {
		rev.Number = last.Number + 1
	}
	for _, old := range r.Revisions {
		if old.File == rev.File && old.Checksum == rev.Checksum && len(old.Files) > 0 {
			rev.Files, old.Files = old.Files, nil
		}
	}
	r.Revisions = append(r.Revisions, rev)
	r.drop()
}

// drop removes the revisions that have nothing left, except the newest.
func (r *record) drop() {
	last := r.latest()
	r.Revisions = slices.DeleteFunc(r.Revisions, func(rev *revision) bool { return rev != last && rev.empty() })
}

// empty reports whether nothing was created for the revision.
func (rev *revision) empty() bool { return len(rev.Files) == 0 && len(rev.Templates) == 0 }

// adopted reports whether someone else has created any of the files.
func (rev *revision) adopted() bool {
	for _, f := range rev.Files {
		if f.Adopted {
			return true
		}
	}
	return false
}

// file returns the file at a place. It adds the file if there is none.
func (rev *revision) file(p place) *file {
	if f := rev.Files[p.key()]; f != nil {
		return f
	}
	if rev.Files == nil {
		rev.Files = map[string]*file{}
	}
	f := &file{Node: p.Node, Storage: p.Storage, Shared: p.Shared}
	rev.Files[p.key()] = f
	return f
}

// has reports whether the file or the template of a place was created.
func (rev *revision) has(p place) bool {
	f, t := rev.Files[p.key()], rev.Templates[p.key()]
	return f != nil && f.Done || t != nil && t.Done
}

// fileKeys returns the places of the files, sorted.
func (rev *revision) fileKeys() []string { return slices.Sorted(maps.Keys(rev.Files)) }

// templateKeys returns the places of the templates, sorted.
func (rev *revision) templateKeys() []string { return slices.Sorted(maps.Keys(rev.Templates)) }

// String names the revision in messages.
func (rev *revision) String() string { return "revision " + strconv.Itoa(int(rev.Number)) }

// fail records that an attempt has failed.
func (a *attempt) fail(now, generation int64, problem, message string) {
	*a = attempt{Failures: a.Failures}
	a.Fail(now, generation, problem, message)
}

// noteUnanswered records a call that has failed. A refused call has begun nothing. What another failed call may have begun appears within a while
// from now.
func (a *attempt) noteUnanswered(err error, now time.Time) {
	if a.Begun = now.Unix(); refused(err) {
		a.Begun = 0
	}
}

// firstRetry is the delay after the first failure before an attempt is repeated, in seconds.
const firstRetry = 15
