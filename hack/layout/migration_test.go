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
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asPublished are SHA-256 sums of the manifests in the documentation of other operators, by their files. Empty ones are of files that have a value
// for each field of what the documentation only describes.
func asPublished() map[string]string {
	return map[string]string{
		"proxmox-operator/cluster.yaml":            "",
		"proxmox-operator/machine.yaml":            "",
		"proxmox-operator/my-vm.yaml":              "0bc1b7cdac22c2c204d97e119970b1a3877b493e5e53f41a701abdeb5c7bc69c",
		"proxmox-operator/node.yaml":               "",
		"proxmox-operator/secret.yaml":             "",
		"sankofa/providerconfig.yaml":              "ee0d0035dcfec4af7da75c421c57325f46eb379c3b2dd9de4761cedf89b048c5",
		"sankofa/web-server-01.yaml":               "5e1e7a3bfed5b3351464f5ada871043288bc24201b1e07b1a10f89992ff038cc",
		"virtrigaud/before-upgrade.yaml":           "9a439d2fc3cd29b57d7868305d501c13977a8d05645d8b0e6cbbfa6a3eca8edb",
		"virtrigaud/class-high-performance.yaml":   "b3c0b7ec60206998c1eb98d7bed8564d62cfa1e88886333956a301e2372c3318",
		"virtrigaud/class-large.yaml":              "ec93fb160e6609d828915c7f5899d40b8443f9902ecc61533cd694fba0a0d5b7",
		"virtrigaud/class-small.yaml":              "e5cfc025724b4041a9279a4289a1e486078aa3ffcb3939b1dd0311c3d4962d6f",
		"virtrigaud/class-standard.yaml":           "ebded59a6ee05e73dc033586072f7245d7ab81c92e4ade53796d3f08b15c2edb",
		"virtrigaud/image-ubuntu-22.yaml":          "9f8f476041ea09525e1c455632311ef06645b9b7e6c6e87dba650f5b2d3d6b78",
		"virtrigaud/multi-nic-vm.yaml":             "0bbd96df7b0bd726b2fc0b2cd85f5b6e3be2b14b663ed938e56ec6c6f2fcbe98",
		"virtrigaud/placement-policy.yaml":         "d63c7dcbd5d9269021d0f5d3de307e24ca5fec77ba65703dfbda8ad883d6e4d3",
		"virtrigaud/provider-proxmox-cluster.yaml": "a7f23679dbb8a4b6cbea838007973ecbc954a8cc4654933ec15b8337e206d395",
		"virtrigaud/provider-proxmox-prod.yaml":    "a42b3f4a5be2109c4a0990b578dd11539baa90e088a57fede15e0577e80a6737",
		"virtrigaud/secret-token.yaml":             "42275958ec7745d38b7ad521822ad13217aa68e24ed15eb0d97d94d0a81fa4ff",
		"virtrigaud/web-server.yaml":               "1590928e7b29c7c3c4a00fac9927e10228fb2ef1e382a6514bb0af043b65b74f",
	}
}

// TestMigrationIsWordForWord sees that the manifests of other operators are as these publish them, in which somebody may have corrected something.
func TestMigrationIsWordForWord(t *testing.T) {
	folder := filepath.Join(root, "examples", "composition", "migration")
	var files []string
	for _, operator := range []string{"proxmox-operator", "sankofa", "virtrigaud"} {
		paths, err := filepath.Glob(filepath.Join(folder, operator, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			files = append(files, filepath.Join(operator, filepath.Base(path)))
		}
	}
	want := asPublished()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), files); diff != "" {
		t.Errorf("files: -want, +got:\n%s", diff)
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		if got := hex.EncodeToString(sum[:]); want[file] != "" && got != want[file] {
			t.Errorf("%s is not as published: its sum is %s", file, got)
		}
	}
}
