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
	"encoding/base64"
	"encoding/xml"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// repository begins the URLs of the files of this project on pages elsewhere.
const repository = "https://github.com/vitistack/provider-proxmox/blob/main/"

// TestChartPage checks what a marketplace of charts shows: the icon of the package, and links to existing files.
func TestChartPage(t *testing.T) {
	const chart = "cluster/charts/provider-proxmox/"
	var meta struct {
		Icon        string
		Annotations map[string]string
	}
	if err := yaml.Unmarshal([]byte(readText(t, chart+"Chart.yaml")), &meta); err != nil {
		t.Fatal(err)
	}
	if icon := "meta.crossplane.io/iconURI: " + meta.Icon + "\n"; meta.Icon == "" || !strings.Contains(readText(t, "package/crossplane.yaml"), icon) {
		t.Errorf("the package has another icon than %q", meta.Icon)
	}
	var links []struct{ Name, URL string }
	if err := yaml.UnmarshalStrict([]byte(meta.Annotations["artifacthub.io/links"]), &links); err != nil || len(links) == 0 {
		t.Errorf("the annotation artifacthub.io/links has no links: %v", err)
	}
	addresses := regexp.MustCompile(`https://\S+`).FindAllString(readText(t, chart+"README.md"), -1)
	if len(addresses) == 0 {
		t.Errorf("%sREADME.md leads to no document", chart)
	}
	for _, link := range links {
		addresses = append(addresses, link.URL)
	}
	for _, address := range addresses {
		file, ours := strings.CutPrefix(address, repository)
		if _, err := os.Stat(filepath.Join(root, file)); err != nil || !ours {
			t.Errorf("%q leads to no file of %s: %v", address, repository, err)
		}
	}
}

// TestPackageAnnotations checks what a marketplace of packages shows.
func TestPackageAnnotations(t *testing.T) {
	packages := []string{"package/crossplane.yaml"}
	for _, pattern := range []string{"examples/*/crossplane.yaml", "cluster/*/package/crossplane.yaml"} {
		more, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, more...)
	}
	if len(packages) < 4 {
		t.Errorf("want the provider, the configuration and two functions, got %q", packages)
	}
	for _, file := range packages {
		t.Run(file, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			var meta struct {
				Metadata struct{ Annotations map[string]string }
			}
			if err := yaml.Unmarshal(content, &meta); err != nil {
				t.Fatal(err)
			}
			has := meta.Metadata.Annotations
			for _, name := range []string{
				"friendly-name.meta.crossplane.io", "meta.crossplane.io/description", "meta.crossplane.io/license", "meta.crossplane.io/maintainer",
				"meta.crossplane.io/readme", "meta.crossplane.io/source",
			} {
				if strings.TrimSpace(has[name]) == "" {
					t.Errorf("there is no annotation %s", name)
				}
			}
			encoded, found := strings.CutPrefix(has["meta.crossplane.io/iconURI"], "data:image/svg+xml;base64,")
			if !found {
				t.Fatal("meta.crossplane.io/iconURI has no SVG image")
			}
			icon, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				t.Fatalf("the icon cannot be decoded: %v", err)
			}
			var image struct{ XMLName xml.Name }
			if err := xml.Unmarshal(icon, &image); err != nil || image.XMLName.Local != "svg" {
				t.Errorf("the icon is no SVG image but %q: %v", image.XMLName.Local, err)
			}
		})
	}
}
