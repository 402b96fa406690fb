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

package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
)

const (
	// longestName is the longest name that PVE accepts for a snapshot.
	longestName = 40

	// hashDigits is how many digits of the hash of a resource's name are in the derived name.
	hashDigits = 8
)

var (
	reName     = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]+$`)
	reNotNamed = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
)

// validName reports whether PVE accepts the name for a snapshot.
func validName(name string) bool {
	return reName.MatchString(name) && len(name) <= longestName && name != "current" && !strings.EqualFold(name, "pending")
}

// derivedName returns the name of the snapshot of a resource that names none. It is the name of the resource, or derived from it if PVE does not
// accept that. Different names result in different ones.
func derivedName(resource string) string {
	if validName(resource) {
		return resource
	}
	name := reNotNamed.ReplaceAllString(resource, "-")
	if first := name[:min(1, len(name))]; !reName.MatchString(first + "x") {
		name = "s-" + name
	}
	sum := sha256.Sum256([]byte(resource))
	name = name[:min(len(name), longestName-hashDigits-1)]
	return name + "-" + hex.EncodeToString(sum[:])[:hashDigits]
}

// nameOf returns the name of the snapshot in PVE: the external name, or the name in the spec, which defaults to one derived from the resource's name.
func nameOf(m Snapshot) (string, error) {
	external, declared := meta.GetExternalName(m), m.Parameters().Name
	switch {
	case external == "" && declared == nil:
		return derivedName(m.GetName()), nil
	case external == "":
		return *declared, nil
	case declared != nil && *declared != external:
		return "", errors.Errorf("the spec names snapshot %q, but this resource stands for %q, its external name: a snapshot cannot be renamed",
			*declared, external)
	case !validName(external):
		return "", errors.Errorf("annotation %s is %q, which is no name of a snapshot: 2 to %d letters, digits, hyphens and underscores, the first a letter",
			meta.AnnotationKeyExternalName, external, longestName)
	}
	return external, nil
}
