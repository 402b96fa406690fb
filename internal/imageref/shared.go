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

package imageref

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// LabelShared marks an Image that was created for the Machines that name its URL. It is deleted with the last of them.
const LabelShared = "proxmox.vitistack.io/shared-image"

// defaultStorage is the storage that a file is downloaded to if the Machine names none. Every installation of Proxmox VE has it.
const defaultStorage = "local"

const (
	// longestStem is the length of the part of a URL that is in the name of an Image.
	longestStem = 40

	// hashDigits is the length of the hash of the request in the name of an Image, and tenantDigits that of the tenant's hash, if it belongs to a tenant.
	// The whole name is a DNS label.
	hashDigits, tenantDigits = 12, 9
)

var reNotName = regexp.MustCompile(`[^a-z0-9]+`)

// SharedParameters returns the parameters of the Image of a URL.
func SharedParameters(i *v1alpha1.MachineImage) v1alpha1.ImageParameters {
	p := v1alpha1.ImageParameters{
		Source:   v1alpha1.ImageSource{URL: i.URL, Checksum: i.Checksum, ChecksumURL: i.ChecksumURL, Format: i.Format},
		Storages: i.Storages,
	}
	if len(p.Storages) == 0 {
		p.Storages = []string{defaultStorage}
	}
	return *p.DeepCopy()
}

// SharedName returns the name of the Image of a URL that a Machine names. It consists of the file's name and a hash of the whole request and the
// provider config.
func SharedName(i *v1alpha1.MachineImage, config string) string {
	p := SharedParameters(i)
	asked := []string{config}
	for _, s := range []*string{p.Source.URL, p.Source.Checksum, p.Source.ChecksumURL, p.Source.Format} {
		if s == nil {
			s = new(string)
		}
		asked = append(asked, *s)
	}
	sum := sha256.Sum256([]byte(strings.Join(append(asked, p.Storages...), "\n")))
	stem := strings.Trim(reNotName.ReplaceAllString(strings.ToLower(fileOf(*i.URL)), "-"), "-")
	stem = strings.Trim(stem[:min(len(stem), longestStem)], "-")
	return strings.TrimLeft(stem+"-"+hex.EncodeToString(sum[:])[:hashDigits], "-")
}

// TenantName returns the name of the Image of a URL that belongs to one tenant. The prefix of its files distinguishes it from that of other tenants.
// Without a prefix it is the shared name.
func TenantName(name, prefix string) string {
	if prefix == "" {
		return name
	}
	sum := sha256.Sum256([]byte(prefix))
	return name + "-" + hex.EncodeToString(sum[:])[:tenantDigits]
}

// IsNamed reports whether a Machine may refer to an Image by its name or by a URL, whichever tenant it belongs to.
func IsNamed(m Machine, image string) bool {
	ref, refers := Of(m)
	return refers && (ref.Name == image || AsksForURL(m) && strings.HasPrefix(image, ref.Name+"-"))
}

// AsksForURL reports whether the spec of a Machine refers to an Image by a URL.
func AsksForURL(m Machine) bool {
	p := m.Parameters()
	return p.TemplateRef == nil && p.Image != nil && p.Image.Ref == nil && p.Image.URL != nil
}

// fileOf returns the file of a URL, without its extension.
func fileOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	base := path.Base(u.Path)
	return strings.TrimSuffix(base, path.Ext(base))
}

// SameSource reports whether an Image matches the URL that a Machine names. It may also have a template and more.
func SameSource(image Image, i *v1alpha1.MachineImage) bool {
	wanted, has := SharedParameters(i), image.Parameters()
	return reflect.DeepEqual(wanted.Source, has.Source) && reflect.DeepEqual(wanted.Storages, has.Storages)
}

// ConfigOf returns a name for the provider config of a resource.
func ConfigOf(mg resource.Managed) string {
	switch mg := mg.(type) {
	case resource.TypedProviderConfigReferencer:
		if r := mg.GetProviderConfigReference(); r != nil {
			return r.Kind + "/" + r.Name
		}
	case resource.ProviderConfigReferencer:
		if r := mg.GetProviderConfigReference(); r != nil {
			return r.Name
		}
	}
	return ""
}
