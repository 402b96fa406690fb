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

package tenancy

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox/guarded"
)

// Images decides what a tenant may have of Images: those from URLs of its hosts and on its storages. Prefixes of file names distinguish its files from
// those of others: the Image that creates a file chooses its name, and nothing else about the file is known.
type Images struct{ of *Tenant }

// ImagesOf returns the rules for the Images of a tenant.
func ImagesOf(t *Tenant) Images { return Images{of: t} }

// noneAllowed reports whether the resource may name no URL at all.
func (i Images) noneAllowed() bool {
	return i.of.denied != "" || len(i.of.ImageHosts) == 0 || i.prefix() == ""
}

// CheckURL refuses a URL of a host that is not one of the tenant's.
func (i Images) CheckURL(field, url string) error {
	if len(i.of.ImageHosts) > 0 && regexp.MustCompile(urlPattern(i.of.ImageHosts)).MatchString(url) {
		return nil
	}
	return i.of.refuse("imageHosts", "%s of a host but %s", field, listed(i.of.ImageHosts))
}

// urlPattern returns a regular expression for the URLs of these hosts. It allows only the scheme before the host, and only the listed port and a path
// after it, so that all programs that parse such a URL find the same host.
func urlPattern(hosts []string) string {
	all := make([]string, 0, len(hosts))
	for _, h := range hosts {
		name, wildcard := strings.CutPrefix(h, "*.")
		pattern := eachLetter.ReplaceAllStringFunc(regexp.QuoteMeta(name), func(c string) string { return "[" + c + strings.ToUpper(c) + "]" })
		if wildcard {
			pattern = `[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?\.` + pattern
		}
		all = append(all, pattern)
	}
	return `^https?://(` + strings.Join(all, "|") + `)(/\S*)?$`
}

// eachLetter matches a letter, to be replaced by a class with both cases: a case-insensitive expression would match letters of other alphabets too.
var eachLetter = regexp.MustCompile(`[a-z]`)

// Prefix returns the prefix of the file names that the resource may have. It is empty if the resource has no tenant or may name no URL.
func (i Images) Prefix() string {
	if i.of == nil || i.noneAllowed() {
		return ""
	}
	return i.prefix()
}

// prefix returns the namespace of the resource or of its claim. If only labels select the tenant, it returns the names of the tenant and the provider
// configuration. No name of a namespace, a tenant or a configuration has an underscore, so the prefix is unique, whatever dots the configuration's name
// has.
func (i Images) prefix() string {
	switch {
	case i.of.byNamespace:
		return i.of.subject.Namespace + "."
	case i.of.subject.Labels != nil && i.of.subject.Config != "":
		return i.of.Name + "_" + labelOf(i.of.subject.Config) + "_."
	}
	return ""
}

// ownsFile reports whether the name of a file, or the external name of an Image, has the prefix of the tenant's Images.
func (i Images) ownsFile(file string) bool {
	prefix := i.prefix()
	return prefix != "" && strings.HasPrefix(file, prefix) && !strings.ContainsAny(file, "/,")
}

// allowsVolume reports whether a volume is a file of such an Image, or the disk in one, which VMs may use.
func (i Images) allowsVolume(volume string) bool {
	storage, rest, _ := strings.Cut(volume, ":")
	content, file, _ := strings.Cut(rest, "/")
	file, disk, _ := strings.Cut(file, "/")
	return !i.noneAllowed() && slices.Contains(i.of.Storages, storage) && slices.Contains([]string{"import", "iso"}, content) && i.ownsFile(file) &&
		!strings.ContainsAny(disk, "/,") && disk != ".." && !nocloud.IsImage(volume)
}

// CheckMachine refuses the image of a Machine that is given by a URL.
func (i Images) CheckMachine(m *v1alpha1.MachineImage) error {
	switch {
	case i.of == nil:
		return nil
	case i.of.denied != "":
		return &refusedError{what: i.of.denied}
	}
	return join(i.checkMachineImage(m))
}

// checkMachineImage refuses the URL of a Machine's image by the Image that is created for it.
func (i Images) checkMachineImage(m *v1alpha1.MachineImage) []error {
	if i.noneAllowed() {
		return []error{i.of.refuse("kinds", "an Image, which image.url makes")}
	}
	p := imageref.SharedParameters(m)
	return i.checkParameters("image.", &p)
}

// checkSpec refuses an Image that the tenant may not have, by its spec, its external name, and the files of its record.
func (i Images) checkSpec(mg resource.Managed, p *v1alpha1.ImageParameters, o *v1alpha1.ImageObservation) error {
	if i.noneAllowed() {
		return i.of.refuse("kinds", "to have a resource of kind %s", KindOf(mg))
	}
	all := i.checkParameters("source.", p)
	names := []string{meta.GetExternalName(mg), ptr.Deref(p.FileName, "")}
	for _, text := range []string{mg.GetAnnotations()[AnnotationImage], o.Annotations[AnnotationImage]} {
		r := readImage(text)
		names = append(names, r.files()...)
		if r.templates() {
			all = append(all, i.of.refuse("kinds", "the template of an Image"))
		}
	}
	for _, name := range names {
		if name != "" && !i.ownsFile(name) {
			all = append(all, i.of.refuse("imageHosts", "file %s, whose name does not begin with %s", name, i.prefix()))
		}
	}
	return join(all)
}

// checkParameters refuses sources, storages and nodes of an Image. The names of the source's fields get a prefix.
func (i Images) checkParameters(source string, p *v1alpha1.ImageParameters) []error {
	t, all := i.of, []error{}
	if p.Source.URL == nil {
		all = append(all, t.refuse("kinds", "an Image of anything but source.url"))
	}
	if p.Source.URL != nil {
		all = append(all, i.CheckURL(source+"url", *p.Source.URL))
	}
	if p.Source.ChecksumURL != nil {
		all = append(all, i.CheckURL(source+"checksumURL", *p.Source.ChecksumURL))
	}
	if p.Template != nil {
		all = append(all, t.refuse("kinds", "the template of an Image"))
	}
	if ptr.Deref(p.Content, "") == v1alpha1.ImageContentContainer {
		all = append(all, t.refuse("kinds", "an Image with a container template"))
	}
	if p.StorageSelector != nil {
		all = append(all, t.refuse("storages", "an Image by storageSelector: name its storages"))
	}
	for _, name := range p.Storages {
		all = append(all, t.checkStorage(name, "an Image"))
	}
	for _, node := range p.Nodes {
		all = append(all, t.CheckNode(node))
	}
	return all
}

// The annotations of an Image with its record and the record's signature. The record names tasks and files, of which only those that the provider
// itself has started may be stopped or removed.
const (
	AnnotationImage          = "proxmox.vitistack.io/image-record"
	AnnotationImageSignature = "proxmox.vitistack.io/image-record-signature"
)

// An ImageRecord has the files and tasks of an Image's record.
type ImageRecord struct {
	Revisions []struct {
		File  string `json:"file"`
		Files map[string]struct {
			Storage string `json:"storage"`
			Task    string `json:"task"`
		} `json:"files"`
		Templates map[string]json.RawMessage `json:"templates"`
	} `json:"revisions"`
}

// readImage reads the record of an Image. It returns an empty record for text that it cannot read.
func readImage(text string) ImageRecord {
	r := ImageRecord{}
	if text == "" || json.Unmarshal([]byte(text), &r) != nil {
		return ImageRecord{}
	}
	return r
}

// files returns the names of all files.
func (r ImageRecord) files() []string {
	var all []string
	for _, rev := range r.Revisions {
		all = append(all, rev.File)
	}
	return all
}

// templates reports whether there are template VMs.
func (r ImageRecord) templates() bool {
	for _, rev := range r.Revisions {
		if len(rev.Templates) > 0 {
			return true
		}
	}
	return false
}

// has reports whether a volume, or a task that creates one, is in the record.
func (r ImageRecord) has(volume, task string) bool {
	for _, rev := range r.Revisions {
		for _, f := range rev.Files {
			storage, rest, _ := strings.Cut(volume, ":")
			_, file, _ := strings.Cut(rest, "/")
			if volume != "" && storage == f.Storage && file == rev.File || task != "" && task == f.Task {
				return true
			}
		}
	}
	return false
}

// SignImage returns the signature of the record of an Image, or an empty string if nothing is signed.
func (r Records) SignImage(mg resource.Managed, record string) string {
	return r.sign(mg, AnnotationImage+"\n"+record)
}

// Image returns the record of an Image if the provider has written it with this provider configuration.
func (r Records) Image(mg resource.Managed) (i ImageRecord, signed bool) {
	if !IsImage(mg) || !r.read(mg, AnnotationImage, AnnotationImageSignature, &i) {
		return ImageRecord{}, false
	}
	return i, true
}

// IsImage reports whether a resource is an Image.
func IsImage(mg resource.Managed) bool {
	_, is := mg.(image)
	return is
}

// download refuses a file unless the tenant may use its name, its host, its storage and the node.
func (g Guard) download(w guarded.Write) error {
	i := ImagesOf(g.Tenant)
	if g.Image == nil || i.noneAllowed() || !i.ownsFile(w.Form["filename"]) || !slices.Contains([]string{"import", "iso"}, w.Form["content"]) {
		return g.refuseUnknown(w)
	}
	for name := range w.Form {
		if !slices.Contains([]string{"url", "content", "filename", "checksum-algorithm", "checksum", "compression", "verify-certificates"}, name) {
			return g.refuseUnknown(w)
		}
	}
	return join([]error{i.CheckURL("a download", w.Form["url"]), g.CheckNode(w.Args[0]), g.checkStorage(w.Args[1], "an Image")})
}

// stopTask refuses a task that the Image has not started.
func (g Guard) stopTask(w guarded.Write) error {
	if g.isOfImage(w) {
		return nil
	}
	return g.refuseUnknown(w)
}

// isOfImage reports whether a write removes a file of the resource, which is an Image, or stops a task that creates one.
func (g Guard) isOfImage(w guarded.Write) bool {
	if g.Image == nil || w.Method != http.MethodDelete || len(w.Args) == 0 {
		return false
	}
	switch w.Path {
	case "/nodes/{node}/storage/{storage}/content/{volume}":
		return g.Image().has(last(w.Args), "")
	case "/nodes/{node}/tasks/{upid}":
		return g.Image().has("", last(w.Args))
	}
	return false
}
