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

package sbom

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdxlib"

	"github.com/vitistack/provider-proxmox/cluster/xpkg/program"
)

func TestOfListsTheModulesOfAProgram(t *testing.T) {
	binary, err := program.Source{Root: "..", Package: "."}.Build(t.Context(), runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	built := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	first, err := Of(binary, "test", "v1", built)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Of(binary, "test", "v1", built)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("the second bill of the same program differs, with error %v", err)
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(first), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range *bom.Components {
		names[c.Name] = true
	}
	for _, want := range []string{"std", "github.com/CycloneDX/cyclonedx-go", "github.com/google/uuid"} {
		if !names[want] {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestSPDX(t *testing.T) {
	binary, err := program.Source{Root: "..", Package: "."}.Build(t.Context(), runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	built := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	first, err := SPDX(binary, "test", "v1", built)
	if err != nil {
		t.Fatal(err)
	}
	second, err := SPDX(binary, "test", "v1", built)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("the second document of the same program differs, with error %v", err)
	}
	read, err := spdxjson.Read(bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	if read.SPDXVersion != spdx.Version || read.CreationInfo.Created != "2026-05-04T03:02:01Z" || read.DocumentNamespace == "" {
		t.Errorf("the reader of SPDX sees %+v", read)
	}
	described, err := spdxlib.GetDescribedPackageIDs(read)
	if err != nil || len(described) != 1 {
		t.Errorf("want one package that is described, got %v, %v", described, err)
	}
	names := map[string]bool{}
	for _, p := range read.Packages {
		names[p.PackageName] = true
	}
	for _, want := range []string{"test", "std", "github.com/CycloneDX/cyclonedx-go", "github.com/google/uuid"} {
		if !names[want] {
			t.Errorf("%s is missing", want)
		}
	}
	if len(read.Relationships) != len(read.Packages) {
		t.Errorf("want a relation for each of %d packages, got %d", len(read.Packages), len(read.Relationships))
	}
}

func TestOfRefusesWhatIsNoProgram(t *testing.T) {
	for _, of := range []func([]byte, string, string, time.Time) ([]byte, error){Of, SPDX} {
		if _, err := of([]byte("#!/bin/sh"), "test", "v1", time.Time{}); err == nil {
			t.Error("a script has no modules")
		}
	}
}
