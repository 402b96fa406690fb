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

package pool_test

import (
	"testing"

	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/pool"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestPool(t *testing.T) {
	add := proxmox.PoolMembers{Storages: []string{"local-lvm"}}
	configtest.Run(t, configtest.Kind{
		Setup: config.Setup(pool.Table()), Kind: "Pool", Collection: pool.Table().Collection, Name: "crossplane/web",
		Spec: "{name: crossplane/web, comment: Web, storages: [local], vmids: [9000]}", Want: map[string]string{"comment": "Web"},
		Changed: `{name: crossplane/web, comment: "", storages: [local], vmids: [9000]}`, WantChanged: map[string]string{"comment": ""},
		Foreign: proxmox.Params{"comment": "Others"}, Same: proxmox.Params{"comment": "Web"},
		Complete: func(s configtest.Simulator) {
			s.Must(s.Client.AddPoolMembers(s.Context(), "crossplane/web", proxmox.PoolMembers{VMIDs: []int{9000}, Storages: []string{"local"}}))
		},
		Drift:   proxmox.Change{Set: proxmox.Params{"comment": "Drift"}},
		Use:     func(s configtest.Simulator) { s.Must(s.Client.AddPoolMembers(s.Context(), "crossplane/web", add)) },
		Release: func(s configtest.Simulator) { s.Must(s.Client.RemovePoolMembers(s.Context(), "crossplane/web", add)) },
		User:    `storage "local-lvm"`,
		Denied:  proxmox.Privilege{Path: "/pool/crossplane/web", Names: []string{"Pool.Allocate"}},
	})
}
