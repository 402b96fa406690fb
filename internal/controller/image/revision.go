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
	"strings"

	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/checksum"
)

// wanted returns the checksum that the newest revision is to have, or none if nothing is known of it. decided is false while the list has yet to be
// read.
func (r *record) wanted(p *v1alpha1.ImageParameters) (c checksum.Checksum, decided bool) {
	switch {
	case p.Source.Checksum != nil:
		c, err := checksum.Parse(*p.Source.Checksum)
		return c, err == nil
	case p.Source.ChecksumURL == nil:
		return checksum.Checksum{}, true
	case r.Listed == nil || r.Listed.For != listFor(p):
		return checksum.Checksum{}, false
	}
	c, err := checksum.Parse(r.Listed.Checksum)
	return c, err == nil
}

// needsRevision reports whether the newest revision differs from what the spec requires. An adopted file stays until another checksum is required.
// Another URL of a file with the same checksum needs no new revision.
func (r *record) needsRevision(p *v1alpha1.ImageParameters) (c checksum.Checksum, needed bool) {
	c, decided := r.wanted(p)
	last := r.latest()
	switch {
	case !decided:
		return c, false
	case last == nil:
		return c, true
	}
	return c, c.Algorithm != "" && c.String() != last.Checksum || last.otherFormat(p)
}

// otherFormat reports whether the spec requires another extension for the file, from which PVE derives its type.
func (rev *revision) otherFormat(p *v1alpha1.ImageParameters) bool {
	extension, err := extensionOf(p)
	return err == nil && rev.File != "" && !rev.adopted() && !strings.HasSuffix(rev.File, "."+extension)
}

// chooseURL chooses and records the URL from which the file of the newest revision is downloaded. The spec may have changed the URL of the same file
// since the revision was begun.
func (r *record) chooseURL(p *v1alpha1.ImageParameters) string {
	rev := r.latest()
	if c, decided := r.wanted(p); decided && c.Algorithm != "" && c.String() == rev.Checksum {
		rev.URL = ptr.Deref(p.Source.URL, rev.URL)
	}
	return rev.URL
}
