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

package tenant

import (
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/imageref"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// checks of a tenant that may use some images.
func checks() Checks {
	return Checks{Tenant: tenancy.TenantNamed([]v1alpha1.ProviderTenant{{Name: "a", Images: []string{"nas:import/debian-*.qcow2"}}}, "a")}
}

func TestImports(t *testing.T) {
	cases := map[string]struct {
		reason string
		checks Checks
		files  []string
		want   []string
		err    string
	}{
		"All": {reason: "Without a tenant all files may be used.", files: []string{"nas:import/x.qcow2"}, want: []string{"nas:import/x.qcow2"}},
		"Some": {
			reason: "What is for it is left.", checks: checks(), files: []string{"local:import/debian-13.qcow2", "nas:import/debian-13.qcow2"},
			want: []string{"nas:import/debian-13.qcow2"},
		},
		"None": {
			reason: "Without any there is nothing to make it of.", checks: checks(), files: []string{"nas:import/x.qcow2"},
			err: `tenant "a" may not (images): image.ref is nas:import/x.qcow2`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &imageref.Choice{}
			for _, f := range tc.files {
				c.Replicas = append(c.Replicas, imageref.Replica{Volume: f})
			}
			err := tc.checks.Imports(c)
			if (err != nil) != (tc.err != "") || err != nil && err.Error() != tc.err {
				t.Errorf("%s Want error %q, got %v", tc.reason, tc.err, err)
			}
			var got []string
			for _, r := range c.Replicas {
				got = append(got, r.Volume)
			}
			if strings.Join(got, " ") != strings.Join(tc.want, " ") {
				t.Errorf("%s Want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestBrief(t *testing.T) {
	waits := &imageref.NotReadyError{Message: "image 'x' is not ready: StorageNotFound: storage 'ssd' not found on nodes pve3"}
	if got := (Checks{}).Brief(waits); !errors.Is(got, waits) {
		t.Errorf("want all told without a tenant, got %v", got)
	}
	if got := checks().Brief(waits).Error(); got != "image 'x' is not ready: StorageNotFound" {
		t.Errorf("want no storages and nodes told to a tenant, got %q", got)
	}
	if other := errors.New("boom: a: b"); !errors.Is(checks().Brief(other), other) {
		t.Error("want other errors as they are")
	}
}
