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
	"regexp"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// ownFile returns an expression that holds for a volume that is a file of the tenant's Images. It follows other expressions in a disjunction.
func (t admission) ownFile(field string) string {
	if len(t.ImageHosts) == 0 || len(t.Storages) == 0 {
		return ""
	}
	storages := make([]string, 0, len(t.Storages))
	for _, s := range t.Storages {
		storages = append(storages, regexp.QuoteMeta(s))
	}
	return " || " + field + ".matches(" + quote("^("+strings.Join(storages, "|")+"):(iso|import)/[^/,]+(/[^/,]+)?$") + ") && " +
		t.named(field+".split('/')[1]")
}

// named returns an expression that holds for the name of a file with the prefix of the tenant's Images.
func (t admission) named(file string) string {
	if t.of.ClusterScoped {
		return "variables.prefixes.exists(p, " + file + ".startsWith(p))"
	}
	return file + ".startsWith(object.metadata.namespace + '.')"
}

// imageURLRules refuses URLs of images of Machines.
func (t admission) imageURLRules() []admissionv1.Validation {
	const image = "variables.vm.image"
	if len(t.ImageHosts) == 0 {
		return []admissionv1.Validation{t.validation("kinds", "an Image, which image.url makes", unset(image, "!has("+image+".url)"))}
	}
	url := quote(urlPattern(t.ImageHosts))
	return []admissionv1.Validation{
		t.validation("imageHosts", "image.url of a host but "+listed(t.ImageHosts), unset(image,
			"("+unset(image+".url", image+".url.matches("+url+")")+") && ("+unset(image+".checksumURL", image+".checksumURL.matches("+url+")")+")")),
		t.validation("storages", "an image on a storage but "+listed(t.Storages), unset(image,
			"!has("+image+".url) || (has("+image+".storages) ? "+image+".storages.all(s, s in "+list(t.Storages)+") : 'local' in "+list(t.Storages)+")")),
	}
}

// imageRules refuses Images, as far as tenants may have any.
func (t admission) imageRules() []admissionv1.Validation {
	if len(t.ImageHosts) == 0 {
		return nil
	}
	const p = "object.spec.forProvider."
	url, storages := quote(urlPattern(t.ImageHosts)), list(t.Storages)
	rule := func(rule, what, expression string) admissionv1.Validation {
		return t.validation(rule, what, "!("+ofImages+") || "+expression)
	}
	all := []admissionv1.Validation{
		rule("kinds", "an Image of anything but source.url, with a template, or that is a container template", "has("+p+"source.url) && !has("+p+"template) && ("+
			unset(p+"content", p+"content != 'vztmpl'")+")"),
		rule("imageHosts", "an Image of a host but "+listed(t.ImageHosts), "("+unset(p+"source.url", p+"source.url.matches("+url+")")+") && ("+
			unset(p+"source.checksumURL", p+"source.checksumURL.matches("+url+")")+")"),
		rule("imageHosts", "an Image whose file is not named after "+t.of.namedAfter(), "("+
			unset(p+"fileName", t.named(p+"fileName"))+") && (request.operation != 'CREATE' || size("+externalName("object")+
			") == 0 || "+t.named(externalName("object"))+")"),
		rule("storages", "an Image on a storage but "+listed(t.Storages), "!has("+p+"storageSelector) && ("+
			unset(p+"storages", p+"storages.all(s, s in "+storages+")")+")"),
	}
	if len(t.Nodes) > 0 {
		all = append(all, rule("nodes", "an Image on a node but "+listed(t.Nodes), unset(p+"nodes", p+"nodes.all(n, n in "+list(t.Nodes)+")")))
	}
	return all
}
