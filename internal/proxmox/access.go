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

package proxmox

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox/transport"
)

// A Feature is a function of the provider that needs separate privileges.
type Feature string

// Features. All except FeatureObserve need their privileges in addition to those of FeatureObserve.
const (
	FeatureObserve   Feature = "Observe"
	FeatureMachines  Feature = "Machines"
	FeatureMigration Feature = "Migration"
	FeatureSnapshots Feature = "Snapshots"
	FeatureUserData  Feature = "UserData"
	FeatureImages    Feature = "Images"
	FeaturePools     Feature = "Pools"
	FeatureStorages  Feature = "Storages"
	FeatureNodes     Feature = "Nodes"
	FeatureCluster   Feature = "Cluster"
)

// Features returns all features, in the order of the table of privileges.
func Features() []Feature {
	var all []Feature
	for _, n := range needs() {
		if !slices.Contains(all, n.feature) {
			all = append(all, n.feature)
		}
	}
	return all
}

// A need holds privileges that a feature needs. Each of them is needed on the path, on something below it, or in a pool where that counts.
type need struct {
	feature    Feature
	path       string
	privileges []string
	role       string // a built-in role with these privileges
}

// own stands for a role where the built-in ones have too many privileges.
const own = "of your own with it"

// needs returns the needs of all features, which follow the permissions in the API's description.
func needs() []need {
	return []need{
		{FeatureObserve, "/vms", []string{"VM.Audit"}, "PVEAuditor"},
		{FeatureObserve, "/storage", []string{"Datastore.Audit"}, "PVEAuditor"},
		{FeatureMachines, "/vms", []string{
			"VM.Allocate", "VM.Clone", "VM.Config.CDROM", "VM.Config.CPU", "VM.Config.Cloudinit", "VM.Config.Disk",
			"VM.Config.HWType", "VM.Config.Memory", "VM.Config.Network", "VM.Config.Options", agentPrivilege, "VM.PowerMgmt",
		}, "PVEVMAdmin"},
		{FeatureMachines, "/storage", []string{"Datastore.AllocateSpace"}, "PVEDatastoreUser"},
		{FeatureMachines, "/sdn", []string{"SDN.Use"}, "PVESDNUser"},
		{FeatureMigration, "/vms", []string{"VM.Migrate"}, "PVEVMAdmin"},
		{FeatureSnapshots, "/vms", []string{"VM.Snapshot", "VM.Snapshot.Rollback"}, "PVEVMAdmin"},
		{FeatureUserData, "/storage", []string{"Datastore.AllocateTemplate", "Datastore.Allocate"}, "PVEDatastoreAdmin"},
		{FeatureImages, "/storage", []string{"Datastore.AllocateTemplate", "Datastore.Allocate"}, "PVEDatastoreAdmin"},
		{FeatureImages, "/nodes", []string{"Sys.AccessNetwork"}, own},
		{FeaturePools, "/pool", []string{"Pool.Allocate", "Pool.Audit"}, "PVEPoolAdmin"},
		{FeatureStorages, "/storage", []string{"Datastore.Allocate", "Datastore.AllocateSpace"}, "PVEDatastoreAdmin"},
		{FeatureNodes, "/nodes", []string{"Sys.Audit"}, "PVEAuditor"},
		{FeatureNodes, "/nodes", []string{"Sys.Modify"}, own},
		{FeatureCluster, "/", []string{"Sys.Audit"}, "PVEAuditor"},
		{FeatureCluster, "/", []string{"Sys.Modify"}, own},
	}
}

// agentPrivilege stands for the privilege to query the guest agent, whose name has changed in 9.0.
const agentPrivilege = "VM.GuestAgent.Audit"

func (v Version) named(privilege string) string {
	if privilege == agentPrivilege && !v.AtLeast(9, 0) {
		return "VM.Monitor"
	}
	return privilege
}

// Needed returns the privileges that the features need, by path and sorted, under their names in the version.
func Needed(v Version, features ...Feature) map[string][]string {
	needed := map[string][]string{}
	for _, n := range needs() {
		if n.feature != FeatureObserve && !slices.Contains(features, n.feature) {
			continue
		}
		for _, p := range n.privileges {
			needed[n.path] = append(needed[n.path], v.named(p))
		}
	}
	for path, names := range needed {
		slices.Sort(names)
		needed[path] = slices.Compact(names)
	}
	return needed
}

// A Lack holds missing privileges of a feature.
type Lack struct {
	// Feature that needs them.
	Feature Feature

	// Path on which, and below which, they are missing.
	Path string

	// Privileges that are missing.
	Privileges []string

	// Role that has them, such as PVEVMAdmin, or a hint to create one.
	Role string
}

// String returns the lack as a part of a sentence.
func (l Lack) String() string {
	return fmt.Sprintf("%s on %s (role %s)", strings.Join(l.Privileges, ", "), l.Path, l.Role)
}

// Missing returns the privileges that features need and that the user has nowhere. Privileges on a part of the cluster suffice, because the resources may
// be in that part.
func (h Health) Missing(features ...Feature) []Lack {
	var lacks []Lack
	for _, n := range needs() {
		if n.feature != FeatureObserve && !slices.Contains(features, n.feature) {
			continue
		}
		l := Lack{Feature: n.feature, Path: n.path, Role: n.role}
		for _, p := range n.privileges {
			if name := h.Version.named(p); !h.granted(n.path, name) {
				l.Privileges = append(l.Privileges, name)
			}
		}
		if len(l.Privileges) > 0 {
			lacks = append(lacks, l)
		}
	}
	return lacks
}

// granted reports whether the user has the privilege on the path, below it, or on a pool that may contain VMs and storages.
func (h Health) granted(path, privilege string) bool {
	pooled := path == "/vms" || path == "/storage"
	for at, has := range h.Privileges {
		below := at == path || strings.HasPrefix(at, strings.TrimSuffix(path, "/")+"/")
		propagates, granted := has[privilege]
		switch {
		case !granted:
		case path == "/" && at != "/":
		case below, at == "/" && propagates, pooled && strings.HasPrefix(at, "/pool/"), pooled && at == "/pool" && propagates:
			return true
		}
	}
	return false
}

// Supported reports whether the provider supports the version.
func (v Version) Supported() bool { return v.AtLeast(oldestMajor, 0) }

// oldestMajor is the oldest supported major release of PVE.
const oldestMajor = 8

// Privileges holds the privileges of a user on a path. The value reports whether the paths below inherit the privilege.
type Privileges map[string]bool

// Permissions returns the privileges of the user or token itself, by path. An empty path asks for all paths. The answer to a single path includes
// privileges that are inherited from above.
func (c AccessAPI) Permissions(ctx context.Context, at string) (map[string]Privileges, error) {
	r := request{op: "read permissions", method: http.MethodGet, path: "/access/permissions"}
	if at != "" {
		r.query = url.Values{"path": {at}}
	}
	var data map[string]map[string]flag
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	all := make(map[string]Privileges, len(data))
	for at, privileges := range data {
		all[at] = make(Privileges, len(privileges))
		for name, propagate := range privileges {
			all[at][name] = bool(propagate)
		}
	}
	return all, nil
}

// PrivilegesOn returns the privileges on a path, from the result of Permissions for all paths. They are those of the path itself, or those that it
// inherits from the nearest path above. Proxmox VE leaves out a path without privileges, which is taken here for one that inherits.
func PrivilegesOn(all map[string]Privileges, at string) Privileges {
	if there, listed := all[at]; listed {
		return there
	}
	for at != "/" {
		at = path.Dir(at)
		if above, listed := all[at]; listed {
			inherited := maps.Clone(above)
			maps.DeleteFunc(inherited, func(_ string, propagates bool) bool { return !propagates })
			return inherited
		}
	}
	return nil
}

// Realms returns the authentication realms of the cluster. Any user may read them.
func (c AccessAPI) Realms(ctx context.Context) ([]string, error) {
	var data list[struct {
		Realm text `json:"realm"`
	}]
	r := request{op: "list authentication realms", method: http.MethodGet, path: "/access/domains"}
	if err := c.do(transport.Anonymous(ctx), r, &data); err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, errors.New("cannot list authentication realms: there are none")
	}
	realms := make([]string, 0, len(data))
	for _, d := range data {
		realms = append(realms, string(d.Realm))
	}
	return realms, nil
}
