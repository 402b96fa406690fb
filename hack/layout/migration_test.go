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

// asPublished returns SHA-256 sums of the manifests in the documentation of other operators, by their files. They are empty for files with a value for
// each field that the documentation only describes. Manifests of others cannot be applied together with those of migration, which have the same names.
func asPublished() map[string]string {
	return map[string]string{
		"migration/proxmox-operator/cluster.yaml":              "",
		"migration/proxmox-operator/machine.yaml":              "",
		"migration/proxmox-operator/my-vm.yaml":                "0bc1b7cdac22c2c204d97e119970b1a3877b493e5e53f41a701abdeb5c7bc69c",
		"migration/proxmox-operator/node.yaml":                 "",
		"migration/proxmox-operator/secret.yaml":               "",
		"migration/sankofa/providerconfig.yaml":                "ee0d0035dcfec4af7da75c421c57325f46eb379c3b2dd9de4761cedf89b048c5",
		"migration/sankofa/web-server-01.yaml":                 "5e1e7a3bfed5b3351464f5ada871043288bc24201b1e07b1a10f89992ff038cc",
		"migration/virtrigaud/before-upgrade.yaml":             "9a439d2fc3cd29b57d7868305d501c13977a8d05645d8b0e6cbbfa6a3eca8edb",
		"migration/virtrigaud/class-high-performance.yaml":     "b3c0b7ec60206998c1eb98d7bed8564d62cfa1e88886333956a301e2372c3318",
		"migration/virtrigaud/class-large.yaml":                "ec93fb160e6609d828915c7f5899d40b8443f9902ecc61533cd694fba0a0d5b7",
		"migration/virtrigaud/class-small.yaml":                "e5cfc025724b4041a9279a4289a1e486078aa3ffcb3939b1dd0311c3d4962d6f",
		"migration/virtrigaud/class-standard.yaml":             "ebded59a6ee05e73dc033586072f7245d7ab81c92e4ade53796d3f08b15c2edb",
		"migration/virtrigaud/image-ubuntu-22.yaml":            "9f8f476041ea09525e1c455632311ef06645b9b7e6c6e87dba650f5b2d3d6b78",
		"migration/virtrigaud/multi-nic-vm.yaml":               "0bbd96df7b0bd726b2fc0b2cd85f5b6e3be2b14b663ed938e56ec6c6f2fcbe98",
		"migration/virtrigaud/placement-policy.yaml":           "d63c7dcbd5d9269021d0f5d3de307e24ca5fec77ba65703dfbda8ad883d6e4d3",
		"migration/virtrigaud/provider-proxmox-cluster.yaml":   "a7f23679dbb8a4b6cbea838007973ecbc954a8cc4654933ec15b8337e206d395",
		"migration/virtrigaud/provider-proxmox-prod.yaml":      "a42b3f4a5be2109c4a0990b578dd11539baa90e088a57fede15e0577e80a6737",
		"migration/virtrigaud/secret-token.yaml":               "42275958ec7745d38b7ad521822ad13217aa68e24ed15eb0d97d94d0a81fa4ff",
		"migration/virtrigaud/web-server.yaml":                 "1590928e7b29c7c3c4a00fac9927e10228fb2ef1e382a6514bb0af043b65b74f",
		"others/proxmox-operator/secret.yaml":                  "700a3c9733ad3039d3269df6fadafe81e66f12661236d2552b85780d2f03a0f0",
		"others/virtrigaud/before-upgrade-memory.yaml":         "72e6097fff9115813f057f4058eb288e441377b27382f37f059e1e18fa9b2463",
		"others/virtrigaud/secret-ca.yaml":                     "0fdd119cb12e2d5c530608df17e608cb612a3a1d9ed052bf2abf5d10fc436049",
		"others/virtrigaud/secret-password.yaml":               "c50f6c72700c514513ce1a33d134973c6cd6ff065e9440d4ef68ef24c222c090",
		"others/virtrigaud/secret-variables-of-namespace.yaml": "11eb7f30b8632ed806cf69a3130f515d5c588e37e20d27f9aed3fe7c03870188",
		"others/virtrigaud/secret-variables.yaml":              "9e641058b6b6790d840d939c7f1011aad5f583276dcdabec33330ab6b6a75b1f",
		"others/virtrigaud/web-clone.yaml":                     "8b91e60def47f9f3e724109816dc2c5075460a09936580f84c29a2ef1fe3f87c",
	}
}

// TestMigrationIsWordForWord checks that the manifests of other operators are as published, and were not corrected.
func TestMigrationIsWordForWord(t *testing.T) {
	folder := filepath.Join(root, "examples", "composition")
	var files []string
	for _, pattern := range []string{"migration/*/*", "others/*/*"} {
		paths, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if file, err := filepath.Rel(folder, path); err != nil {
				t.Fatal(err)
			} else if filepath.Dir(file) != "migration/before" {
				files = append(files, file)
			}
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
