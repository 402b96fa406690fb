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

package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Ways to destroy data in Proxmox VE.
const (
	destroysVM      = "destroys a VM"
	destroysDisk    = "destroys a disk"
	destroysSource  = "moves a disk and destroys the source"
	deletesVolume   = "deletes a volume"
	removesSnapshot = "removes a snapshot"
	goesBack        = "goes back to a snapshot"
	restores        = "makes or replaces a VM from a backup"
)

// destroyers returns the packages that destroy data, or may, and how. Apart from deletions of what is deleted, is not wanted any more, or was created
// by a failed attempt, only rollbacks and restores in place do.
func destroyers() map[string][]string {
	return map[string][]string{
		"internal/controller/backup":                 {deletesVolume},
		"internal/controller/image":                  {deletesVolume, destroysVM},
		"internal/controller/machine":                {destroysDisk, destroysVM, destroysSource},
		"internal/controller/machine/cloudinit":      {deletesVolume}, // ISO images that were uploaded for the VM.
		"internal/controller/machine/recreation":     {destroysVM},
		"internal/controller/machine/restore":        {restores}, // An unused VMID.
		"internal/controller/machine/restoreinplace": {restores},
		"internal/controller/machine/rollback":       {goesBack},
		"internal/controller/snapshot":               {removesSnapshot},
		"internal/controller/volume":                 {destroysVM, destroysSource},
	}
}

// TestDestroyers checks that no other package makes calls that destroy data.
func TestDestroyers(t *testing.T) {
	found := map[string]map[string]bool{}
	err := walk(func(path string) error {
		dir := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), root+"/"))
		ours := strings.HasPrefix(dir, "internal/controller") || strings.HasPrefix(dir, "cmd/provider")
		if !ours || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(dir, "test") { // Such as configtest, which tests share.
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if how := destruction(n); how != "" {
				if found[dir] == nil {
					found[dir] = map[string]bool{}
				}
				found[dir][how] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]bool{}
	for dir, all := range destroyers() {
		want[dir] = map[string]bool{}
		for _, how := range all {
			want[dir][how] = true
		}
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("other packages throw data away in Proxmox VE (-want +got):\n%s", diff)
	}
}

// destruction returns how a call or its arguments destroy data. It is empty if they do not.
func destruction(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		if method, ok := n.Fun.(*ast.SelectorExpr); ok {
			return map[string]string{
				"RollbackSnapshot": goesBack, "RemoveSnapshot": removesSnapshot, "DeleteVolume": deletesVolume,
			}[method.Sel.Name]
		}
	case *ast.CompositeLit:
		if of, ok := n.Type.(*ast.SelectorExpr); ok {
			return destroyingValue(of.Sel.Name, n)
		}
	}
	return ""
}

// destroyingValue returns how a call destroys data if its argument is a value of a type of the client.
func destroyingValue(of string, n *ast.CompositeLit) string {
	if of == "DeleteOptions" {
		return destroysVM
	}
	for _, element := range n.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		name, isField := pair.Key.(*ast.Ident)
		key, isText := pair.Key.(*ast.BasicLit)
		switch {
		case of == "Change" && isField && name.Name == "Destroy":
			return destroysDisk
		case of == "MoveOptions" && isField && name.Name == "Delete":
			return destroysSource
		case of == "Params" && isText && (key.Value == `"archive"` || key.Value == `"force"`):
			return restores
		}
	}
	return ""
}
