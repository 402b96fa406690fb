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
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// SPDXMediaType is the media type of the documents of SPDX.
const SPDXMediaType = "application/spdx+json"

const (
	noAssertion = "NOASSERTION" // SPDX's word for an unknown value.
	subjectID   = "SPDXRef-Package"
	documentID  = "SPDXRef-DOCUMENT"
)

// A document is an SPDX 2.3 document, with the required fields and the relations of a program to its modules.
type document struct {
	Version      string         `json:"spdxVersion"`
	License      string         `json:"dataLicense"`
	ID           string         `json:"SPDXID"`
	Name         string         `json:"name"`
	Namespace    string         `json:"documentNamespace"`
	Creation     creation       `json:"creationInfo"`
	Packages     []spdxPackage  `json:"packages"`
	Relationship []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID            string     `json:"SPDXID"`
	Name          string     `json:"name"`
	Version       string     `json:"versionInfo"`
	Location      string     `json:"downloadLocation"`
	FilesAnalyzed bool       `json:"filesAnalyzed"`
	Comment       string     `json:"comment,omitempty"`
	Refs          []external `json:"externalRefs"`
}

type external struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// SPDX returns the same information as Of, as an SPDX 2.3 document. The same program always results in the same bytes.
func SPDX(binary []byte, name, version string, built time.Time) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, fmt.Errorf("cannot read what %s was built from: %w", name, err)
	}
	d := document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: documentID, Name: name + "-" + version,
		Namespace: "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceOID, binary).String(),
		Creation:  creation{Created: built.UTC().Format(time.RFC3339), Creators: []string{"Organization: The provider-proxmox Authors"}},
	}
	d.add(subjectID, name, version, info.Main.Path, "")
	d.relate(documentID, "DESCRIBES", subjectID)
	d.add("SPDXRef-Package-0", "std", info.GoVersion, "std", "")
	d.relate(subjectID, "DEPENDS_ON", "SPDXRef-Package-0")
	for i, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		id := fmt.Sprintf("SPDXRef-Package-%d", i+1)
		d.add(id, m.Path, m.Version, m.Path, m.Sum)
		d.relate(subjectID, "DEPENDS_ON", id)
	}
	out, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("cannot write the SPDX document of %s: %w", name, err)
	}
	return append(out, '\n'), nil
}

// add adds a package for a Go module with a hash of go.sum. That hash is one of the module's tree, and therefore not a checksum in SPDX.
func (d *document) add(id, name, version, module, sum string) {
	p := spdxPackage{
		ID: id, Name: name, Version: version, Location: noAssertion,
		Refs: []external{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: "pkg:golang/" + module + "@" + version}},
	}
	if sum != "" {
		p.Comment = "go.sum: " + sum
	}
	d.Packages = append(d.Packages, p)
}

func (d *document) relate(element, kind, related string) {
	d.Relationship = append(d.Relationship, relationship{Element: element, Type: kind, Related: related})
}
