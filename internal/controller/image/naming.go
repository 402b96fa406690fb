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
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/checksum"
)

const (
	// longestStem is the maximum length of a file name that is derived from the resource's name, without checksum and extension. shortestName is the
	// minimum length that remains of the resource's name after that of its tenant.
	longestStem, shortestName = 100, 40

	// digestDigits is how many digits of the checksum are in the name of a file.
	digestDigits = 12
)

// contentOf returns the content type of an image.
func contentOf(p *v1alpha1.ImageParameters) v1alpha1.ImageContent {
	return ptr.Deref(p.Content, v1alpha1.ImageContentImport)
}

// fetches reports whether PVE creates the file, by a download or by pulling it from a registry.
func fetches(p *v1alpha1.ImageParameters) bool { return p.Source.URL != nil || p.Source.OCI != nil }

// ociFormat is the extension of a container template that PVE creates from an OCI image.
const ociFormat = "tar"

// formats returns the extensions that PVE accepts for a content type.
func formats(c v1alpha1.ImageContent) []string {
	switch c {
	case v1alpha1.ImageContentISO:
		return []string{"iso", "img"}
	case v1alpha1.ImageContentContainer:
		return []string{"tar.gz", "tar.xz", "tar.zst"}
	case v1alpha1.ImageContentImport:
	}
	return []string{"qcow2", "raw", "vmdk", "ova"}
}

// extensionOf returns the extension of the file in PVE.
func extensionOf(p *v1alpha1.ImageParameters) (string, error) {
	if p.Source.OCI != nil {
		return ociFormat, nil
	}
	if p.Source.Format != nil {
		return *p.Source.Format, nil
	}
	name := strings.ToLower(baseOf(ptr.Deref(p.Source.URL, "")))
	if c := ptr.Deref(p.Source.Decompression, ""); c != "" {
		name = strings.TrimSuffix(name, "."+c)
	}
	content := contentOf(p)
	for _, f := range formats(content) {
		if strings.HasSuffix(name, "."+f) {
			return f, nil
		}
	}
	if content == v1alpha1.ImageContentImport && strings.HasSuffix(name, ".img") {
		return "qcow2", nil
	}
	return "", errors.Errorf("source.url does not end in an extension of content %s (%s): set source.format", content, strings.Join(formats(content), ", "))
}

// baseOf returns the file name in an address.
func baseOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return path.Base(u.Path)
}

// stemOf returns the name of the image's files without checksum and extension. It begins with the prefix for a cluster-scoped Image of a tenant.
func stemOf(m Image, prefix string) string {
	if name := m.Parameters().FileName; name != nil {
		return *name
	}
	name := m.GetName()
	if m.GetNamespace() == "" && prefix != "" {
		return prefix + shortened(name, max(longestStem-len(prefix), shortestName))
	}
	if m.GetNamespace() != "" {
		name = m.GetNamespace() + "." + name
	}
	return shortened(name, longestStem)
}

// shortened returns a name of at most the given length. A longer name is cut, and made unique by a part of its hash.
func shortened(name string, longest int) string {
	if len(name) <= longest {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := "-" + hex.EncodeToString(sum[:])[:digestDigits]
	return strings.TrimRight(name[:longest-len(tail)], "-.") + tail
}

// fileName returns the name of the file of a revision. It differs for each checksum.
func fileName(stem string, c checksum.Checksum, extension string) string {
	if c.Algorithm == "" {
		return stem + "." + extension
	}
	return stem + "-" + c.Sum[:digestDigits] + "." + extension
}

// longestTemplateName is the maximum length of a DNS name, which PVE requires, less what a Machine may add.
const longestTemplateName = 90

var reNotDNS = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)

// templateName returns the name of the templates in PVE.
func templateName(m Image) string {
	if t := m.Parameters().Template; t != nil && t.Name != nil {
		return *t.Name
	}
	labels := strings.Split(reNotDNS.ReplaceAllString(m.GetName(), "-"), ".")
	for i := range labels {
		labels[i] = strings.Trim(labels[i], "-")
	}
	labels = slices.DeleteFunc(labels, func(l string) bool { return l == "" })
	return shortened(strings.Join(labels, "."), longestTemplateName)
}

// volumeID returns the volume ID of a file.
func volumeID(storage string, c v1alpha1.ImageContent, file string) string {
	return storage + ":" + string(c) + "/" + file
}
