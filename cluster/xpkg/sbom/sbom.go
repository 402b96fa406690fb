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

// Package sbom lists the modules of a Go program as bills of materials of CycloneDX and of SPDX.
package sbom

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"runtime/debug"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// MediaType is the media type of the documents of Of.
const MediaType = "application/vnd.cyclonedx+json"

// Of returns the bill of materials of a program: its modules with the hashes of go.sum, and the Go version. The same program always results in the same
// bytes.
func Of(binary []byte, name, version string, built time.Time) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, fmt.Errorf("cannot read what %s was built from: %w", name, err)
	}
	bom := cdx.NewBOM()
	bom.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceOID, binary).String()
	bom.Metadata = &cdx.Metadata{Timestamp: built.UTC().Format(time.RFC3339), Component: subject(info, name, version)}
	bom.Components = components(info)

	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return nil, fmt.Errorf("cannot write the bill of materials of %s: %w", name, err)
	}
	return out.Bytes(), nil
}

func subject(info *buildinfo.BuildInfo, name, version string) *cdx.Component {
	return &cdx.Component{
		BOMRef: info.Main.Path, Type: cdx.ComponentTypeApplication, Name: name, Version: version,
		PackageURL: "pkg:golang/" + info.Main.Path + "@" + version,
	}
}

func components(info *buildinfo.BuildInfo) *[]cdx.Component {
	out := []cdx.Component{{
		BOMRef: "std", Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion,
		PackageURL: "pkg:golang/std@" + info.GoVersion,
	}}
	for _, module := range info.Deps {
		out = append(out, component(module))
	}
	return &out
}

func component(m *debug.Module) cdx.Component {
	if m.Replace != nil {
		m = m.Replace
	}
	purl := "pkg:golang/" + m.Path + "@" + m.Version
	return cdx.Component{
		BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: purl,
		Properties: &[]cdx.Property{{Name: "go:sum", Value: m.Sum}},
	}
}
