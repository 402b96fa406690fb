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

// Command wrappers generates the kinds of both API groups from the types that they share. A kind is defined by a separate comment in a file of the shared
// package, with the marker +proxmox:kind:
//
//	// A Pool is a group of virtual machines and storages of Proxmox VE.
//	//
//	// +proxmox:kind=Pool,shortName=pvepool,forProvider=optional
//	// +kubebuilder:printcolumn:name="POOL",type="string",JSONPath=".status.atProvider.name"
//
// The types PoolParameters and PoolObservation describe the desired and the observed state of the kind. forProvider is required, unless the marker has
// forProvider=optional, or forProvider=default for one that defaults to {}. Other markers of the comment apply to the kind. If PoolParameters has a method
// ResolveReferences, the kind has one too.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

//go:embed kind.go.tmpl
var kindTemplate string

//go:embed kinds.go.tmpl
var kindsTemplate string

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: wrappers <header> <folder of shared types> <folder of API groups>")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// A scope is an API group of the provider.
type scope struct {
	Folder string
	Scope  string // of the resources
	Spec   string // that the specs of its kinds embed
}

func scopes() []scope {
	return []scope{
		{Folder: "cluster", Scope: "Cluster", Spec: "ClusterManagedResourceSpec"},
		{Folder: "namespaced", Scope: "Namespaced", Spec: "ManagedResourceSpec"},
	}
}

// A kind is described by its comment.
type kind struct {
	Name        string
	ShortName   string
	ForProvider string // optional, default, or empty for a required one
	Phase       string // before the first reconcile; empty for a kind without phases
	Doc         []string
	Markers     []string
	Resolves    bool // The parameters have a method ResolveReferences.
}

// Article returns the indefinite article for the kind's name.
func (k kind) Article() string {
	if strings.ContainsAny(k.Name[:1], "AEIOU") {
		return "an"
	}
	return "a"
}

// run writes the kinds of all scopes.
func run(header, shared, groups string) error {
	license, err := os.ReadFile(filepath.Clean(header))
	if err != nil {
		return errors.Wrapf(err, "cannot read %q", header)
	}
	all, err := kindsIn(shared)
	if err != nil {
		return err
	}
	for _, s := range scopes() {
		if err := writeScope(filepath.Join(groups, s.Folder, filepath.Base(shared)), string(license), s, all); err != nil {
			return err
		}
	}
	return nil
}

// writeScope writes a file for each kind of a scope and one that lists them. It removes the files of kinds that no longer exist.
func writeScope(folder, license string, s scope, all []kind) error {
	old, err := filepath.Glob(filepath.Join(folder, "zz_generated.kind*.go"))
	if err != nil {
		return errors.Wrapf(err, "cannot list %q", folder)
	}
	for _, f := range old {
		if err := os.Remove(f); err != nil { //nolint:gosec // The folder is an argument of the generator.
			return errors.Wrapf(err, "cannot remove %q", f)
		}
	}
	for _, k := range all {
		data := struct {
			kind
			scope

			License string
		}{k, s, license}
		if err := write(filepath.Join(folder, "zz_generated.kind."+strings.ToLower(k.Name)+".go"), kindTemplate, data); err != nil {
			return err
		}
	}
	data := struct {
		License string
		Kinds   []kind
	}{license, all}
	return write(filepath.Join(folder, "zz_generated.kinds.go"), kindsTemplate, data)
}

func write(file, text string, data any) error {
	t, err := template.New(filepath.Base(file)).Parse(text)
	if err != nil {
		return errors.Wrap(err, "cannot parse a template")
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return errors.Wrapf(err, "cannot write %q", file)
	}
	source, err := format.Source(b.Bytes())
	if err != nil {
		return errors.Wrapf(err, "cannot format %q", file)
	}
	return errors.Wrapf(os.WriteFile(file, source, 0o644), "cannot write %q", file) //nolint:gosec // It is source code.
}

// kindsIn returns the kinds in a folder of shared types, sorted by name.
func kindsIn(folder string) ([]kind, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, errors.Wrapf(err, "cannot list %q", folder)
	}
	var all []kind
	resolves := map[string]bool{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot parse %q", name)
		}
		for _, c := range f.Comments {
			if k, ok := parseKind(c); ok {
				all = append(all, k)
			}
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "ResolveReferences" {
				resolves[receiver(fn)] = true
			}
		}
	}
	for i, k := range all {
		all[i].Resolves = resolves[k.Name+"Parameters"]
	}
	slices.SortFunc(all, func(a, b kind) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// receiver returns the name of the receiver type of a method.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) != 1 {
		return ""
	}
	of := fn.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	name, ok := of.(*ast.Ident)
	if !ok {
		return ""
	}
	return name.Name
}

const marker = "+proxmox:kind="

// ruleMarker marks a rule for the whole object, spec and status.
const ruleMarker = "+proxmox:rule="

// parseKind parses the comment of a kind, and reports whether it is one.
func parseKind(c *ast.CommentGroup) (kind, bool) {
	k, found := kind{}, false
	for _, line := range c.List {
		text := strings.TrimPrefix(strings.TrimPrefix(line.Text, "//"), " ")
		switch after, ok := strings.CutPrefix(text, marker); {
		case ok:
			parseArguments(&k, after)
			found = true
		case strings.HasPrefix(text, ruleMarker): // As a rule of Kubebuilder it would also apply to the type below.
			k.Markers = append(k.Markers, "+kubebuilder:validation:XValidation:rule="+strings.TrimPrefix(text, ruleMarker))
		case strings.HasPrefix(text, "+"):
			k.Markers = append(k.Markers, text)
		default:
			k.Doc = append(k.Doc, text)
		}
	}
	for len(k.Doc) > 0 && k.Doc[len(k.Doc)-1] == "" {
		k.Doc = k.Doc[:len(k.Doc)-1]
	}
	return k, found
}

// parseArguments parses the arguments of the marker into a kind.
func parseArguments(k *kind, arguments string) {
	for i, a := range strings.Split(arguments, ",") {
		key, value, _ := strings.Cut(a, "=")
		switch {
		case i == 0:
			k.Name = key
		case key == "shortName":
			k.ShortName = value
		case key == "forProvider":
			k.ForProvider = value
		case key == "phase":
			k.Phase = value
		}
	}
}
