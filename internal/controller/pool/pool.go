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

// Package pool describes pools for the engine of configuration objects. This file contains the table, and members.go the members of a pool.
package pool

import (
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

type view = config.View[v1alpha1.PoolParameters, *v1alpha1.PoolObservation]

// collection returns the collection of all pools of a cluster.
func collection() proxmox.Collection {
	return proxmox.Collection{Noun: "pool", Path: "/pools", Key: "poolid", ByQuery: true, EmptyResets: true}
}

// Table returns the table of the kind Pool.
func Table() config.Table[v1alpha1.PoolParameters, *v1alpha1.PoolObservation] {
	return config.Table[v1alpha1.PoolParameters, *v1alpha1.PoolObservation]{
		Kind: "Pool", Collection: collection(),
		Name: func(p *v1alpha1.PoolParameters) *string { return p.Name },
		Declare: func(p *v1alpha1.PoolParameters) settings.Declared {
			d := settings.Declared{}
			d.Set("comment", p.Comment)
			return d
		},
		Privileges: privileges,
		Inspect:    inspect,
		Users:      users,
	}
}

// privileges returns the privileges that PVE requires for a pool.
func privileges(v config.Verb, name string, _ *v1alpha1.PoolParameters) []proxmox.Privilege {
	audit := proxmox.Privilege{Path: "/pool/" + name, Names: []string{"Pool.Audit"}}
	if v == config.See {
		return []proxmox.Privilege{audit}
	}
	return []proxmox.Privilege{audit, {Path: "/pool/" + name, Names: []string{"Pool.Allocate"}}}
}
