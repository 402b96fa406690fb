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

package kind

import (
	"context"
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A grants has the privileges of a user by path.
type grants struct {
	all   map[string]string
	super bool
	asked []string
}

func (g *grants) Superuser() bool { return g.super }

func (g *grants) Permissions(_ context.Context, path string) (map[string]proxmox.Privileges, error) {
	g.asked = append(g.asked, path)
	p := proxmox.Privileges{}
	for name := range strings.FieldsSeq(g.all[path]) {
		p[name] = true
	}
	return map[string]proxmox.Privileges{path: p}, nil
}

func TestCheckPrivileges(t *testing.T) {
	on := func(path string, names ...string) proxmox.Privilege {
		return proxmox.Privilege{Path: path, Names: names}
	}
	cases := map[string]struct {
		reason string
		grants grants
		needed []proxmox.Privilege
		want   string
		asked  int
	}{
		"Superuser": {reason: "Proxmox VE asks root@pam for nothing.", grants: grants{super: true}, needed: []proxmox.Privilege{on("/pool/a", "Pool.Allocate")}},
		"Granted": {
			reason: "One of the names is enough, and each path is asked for once.",
			grants: grants{all: map[string]string{"/storage/a": "Datastore.Audit Datastore.Allocate"}}, asked: 1,
			needed: []proxmox.Privilege{on("/storage/a", "Datastore.AllocateSpace", "Datastore.Audit"), on("/storage/a", "Datastore.Allocate")},
		},
		"Missing": {
			reason: "All that are missing are named with their paths.", asked: 2,
			needed: []proxmox.Privilege{on("/pool/a", "Pool.Allocate"), on("/pool/b", "Pool.Audit", "Pool.Allocate")},
			want:   "cannot create pool: Permission check failed (/pool/a, Pool.Allocate), (/pool/b, Pool.Audit|Pool.Allocate)",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := CheckPrivileges(t.Context(), &tc.grants, "create pool", tc.needed...)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tc.want || len(tc.grants.asked) != tc.asked {
				t.Errorf("%s CheckPrivileges(): got %q after %v, want %q", tc.reason, got, tc.grants.asked, tc.want)
			}
		})
	}
}
