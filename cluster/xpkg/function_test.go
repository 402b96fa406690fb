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

package main

import (
	"strings"
	"testing"

	pkgmetav1 "github.com/crossplane/crossplane/apis/v2/pkg/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestFunctionContents has Crossplane run the function for Operations, and for nothing else.
func TestFunctionContents(t *testing.T) {
	contents, err := build{Root: "../.."}.functionContents()
	if err != nil {
		t.Fatal(err)
	}
	meta := &pkgmetav1.Function{}
	if err := yaml.UnmarshalStrict(contents.Package, meta); err != nil {
		t.Fatal(err)
	}
	if got := meta.Spec.Capabilities; len(got) != 1 || got[0] != pkgmetav1.FunctionCapabilityOperation {
		t.Errorf("the function has the capabilities %q", got)
	}
	if meta.Name != functionName {
		t.Errorf("the function's name is %q, want %q", meta.Name, functionName)
	}
	for _, kind := range []string{"Function", "Operation", "CronOperation"} {
		if !strings.Contains(string(contents.Examples), "\nkind: "+kind+"\n") {
			t.Errorf("the package shows no %s", kind)
		}
	}
}
