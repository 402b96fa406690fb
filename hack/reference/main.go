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

// Command reference writes the API reference from the custom resource
// definitions: a page for each kind, which both API groups share.
package main

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// The templates of a page and of the list of pages.
var (
	//go:embed page.md.tmpl
	page string

	//go:embed index.md.tmpl
	index string
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: reference <folder of definitions> <folder of pages> <activation policy>")
		os.Exit(2)
	}
	if err := errors.Join(write(os.Args[1], os.Args[2]), activate(os.Args[1], os.Args[3])); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// write writes a page for each kind whose definition is in a folder, and the list of them.
func write(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil {
		return errors.Wrapf(err, "cannot list %q", from)
	}
	kinds := map[string][]definition{}
	for _, f := range files {
		d, err := read(f)
		if err != nil {
			return err
		}
		kinds[d.Kind()] = append(kinds[d.Kind()], d)
	}
	folder, err := os.OpenRoot(to)
	if err != nil {
		return errors.Wrapf(err, "cannot open %q", to)
	}
	defer folder.Close() //nolint:errcheck // Nothing is written through it any more.
	var all []doc
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		d := document(kind, kinds[kind])
		if err := render(folder, d.File(), page, d); err != nil {
			return err
		}
		all = append(all, d)
	}
	return render(folder, "README.md", index, all)
}

// render writes a file from a template.
func render(to *os.Root, file, text string, data any) error {
	t, err := template.New(file).Parse(text)
	if err != nil {
		return errors.Wrapf(err, "cannot parse the template of %q", file)
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return errors.Wrapf(err, "cannot make %q", file)
	}
	return errors.Wrapf(to.WriteFile(file, []byte(b.String()), 0o600), "cannot write %q", file)
}

// A definition is the definition of a kind in one API group.
type definition struct {
	extv1.CustomResourceDefinition
}

func read(file string) (definition, error) {
	raw, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return definition{}, errors.Wrapf(err, "cannot read %q", file)
	}
	d := definition{}
	return d, errors.Wrapf(yaml.UnmarshalStrict(raw, &d.CustomResourceDefinition), "cannot parse %q", file)
}

// Kind returns the defined kind.
func (d definition) Kind() string { return d.Spec.Names.Kind }

// APIVersion returns the API version of its objects.
func (d definition) APIVersion() string { return d.Spec.Group + "/" + d.Spec.Versions[0].Name }

// Scope returns the scope of its objects, as a word in a sentence.
func (d definition) Scope() string {
	if d.Spec.Scope == extv1.ClusterScoped {
		return "cluster-scoped"
	}
	return "namespaced"
}

func (d definition) schema() *extv1.JSONSchemaProps { return d.Spec.Versions[0].Schema.OpenAPIV3Schema }

// A doc is the content of the page for a kind.
type doc struct {
	Kind        string
	Description string
	Served      []definition
	Names       extv1.CustomResourceDefinitionNames
	Columns     []extv1.CustomResourceColumnDefinition
	Sections    []section
}

// File returns the name of the page.
func (d doc) File() string { return strings.ToLower(d.Kind) + ".md" }

// Summary returns the first sentence of the description, without its subject.
func (d doc) Summary() string {
	first, _, _ := strings.Cut(strings.ReplaceAll(d.Description, "\n", " "), ". ")
	for _, article := range []string{"A ", "An "} {
		first = strings.TrimPrefix(first, article+d.Kind+" ")
	}
	return strings.TrimSuffix(first, ".")
}

// document documents a kind that is served in one API group or more.
func document(kind string, served []definition) doc {
	slices.SortFunc(served, func(a, b definition) int { return strings.Compare(a.APIVersion(), b.APIVersion()) })
	first := served[0]
	d := doc{
		Kind: kind, Description: sentence(first.schema().Description), Served: served,
		Names: first.Spec.Names, Columns: first.Spec.Versions[0].AdditionalPrinterColumns,
	}
	for _, s := range served {
		d.Sections = merge(d.Sections, s.sections())
	}
	if len(served) > 1 {
		tellApart(d.Sections, len(served))
	}
	return d
}
