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
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	telmate "github.com/Telmate/proxmox-api-go/proxmox"
)

// A Collection is a collection of configuration objects of the cluster or of a node, such as storages and pools. Each object has a name and options. A
// Collection can be the key of a map.
type Collection struct {
	// Noun for one object in sentences, such as storage.
	Noun string

	// Path of the collection, such as /storage.
	Path string

	// Node that has the collection, or empty for a collection of the cluster. The names of its objects begin with the node, such as pve1/vmbr0.
	Node string

	// Key is the option with an object's name, such as storage.
	Key string

	// ByQuery is true if objects are changed and removed at the path of the collection, with their names as a parameter. Otherwise each object has a path.
	ByQuery bool

	// EmptyResets is true if an empty value resets an option. Otherwise the parameter delete names the options to reset.
	EmptyResets bool
}

// The path of pools, which have members in addition to their options, and the option with a pool's name.
const (
	poolsPath = "/pools"
	poolKey   = "poolid"
)

// An Object is a configuration object of PVE.
type Object struct {
	// Name of the object in its collection.
	Name string

	// Settings of the object, without its name. The digest is that of the whole collection, if PVE returns one.
	Settings
}

// own returns the name of an object within its collection.
func (of Collection) own(name string) string { return strings.TrimPrefix(name, of.Node+"/") }

// args returns the values of the braces in a path of the collection.
func (of Collection) args(more ...string) []string {
	if of.Node == "" {
		return more
	}
	return append([]string{of.Node}, more...)
}

// URL returns the path of the collection with its values.
func (of Collection) URL() string { return request{path: of.Path, args: of.args()}.url() }

// Objects returns the objects of a collection that the user may see.
func (c ObjectAPI) Objects(ctx context.Context, of Collection) ([]Object, error) {
	if of.Node != "" {
		all, err := c.interfaces(ctx, of.Node)
		return all.Objects, err
	}
	var data list[map[string]setting]
	r := request{op: "list " + of.Noun + "s", method: http.MethodGet, path: of.Path}
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	all := make([]Object, 0, len(data))
	for _, d := range data {
		name := string(d[of.Key])
		delete(d, of.Key)
		all = append(all, Object{Name: name, Settings: newSettings(d)})
	}
	return all, nil
}

// CreateObject adds an object to a collection. PVE rejects a name that is taken.
func (c ObjectAPI) CreateObject(ctx context.Context, of Collection, name string, options Params) error {
	r := of.request("create", http.MethodPost, name)
	if of.Path == poolsPath {
		return c.createPool(ctx, r, name, options)
	}
	r.path, r.args = of.Path, of.args()
	r.form = Change{Set: options}.form()
	r.form[of.Key] = of.own(name)
	return c.do(ctx, r, nil)
}

// createPool uses the library's interface, which sends exactly this. The library's other calls for pools do not: see the package's documentation.
func (c ObjectAPI) createPool(ctx context.Context, r request, name string, options Params) error {
	config := telmate.ConfigPool{Name: telmate.PoolName(name)}
	if comment, ok := options["comment"]; ok {
		config.Comment = &comment
	}
	return c.call(ctx, r, func(ctx context.Context) error { return c.library.Pool.CreateNoCheck(ctx, config) })
}

// UpdateObject changes options of an object. An empty change is not sent.
func (c ObjectAPI) UpdateObject(ctx context.Context, of Collection, name string, change Change) error {
	if change.Empty() {
		return nil
	}
	r := of.request("change", http.MethodPut, name)
	r.form = of.resetting(change).form()
	if of.ByQuery {
		r.form[of.Key] = name
	}
	return c.do(ctx, r, nil)
}

// resetting returns the change in the form that the collection accepts.
func (of Collection) resetting(change Change) Change {
	if !of.EmptyResets || len(change.Delete) == 0 {
		return change
	}
	set := Params{}
	maps.Copy(set, change.Set)
	for _, option := range change.Delete {
		set[option] = ""
	}
	change.Set, change.Delete = set, nil
	return change
}

// DeleteObject removes an object from a collection.
func (c ObjectAPI) DeleteObject(ctx context.Context, of Collection, name string) error {
	r := of.request("delete", http.MethodDelete, name)
	if of.ByQuery {
		r.query = url.Values{of.Key: {name}}
	}
	return c.do(ctx, r, nil)
}

// request returns a request about one object.
func (of Collection) request(op, method, name string) request {
	r := request{op: op + " " + of.Noun + " " + strconv.Quote(name), method: method, path: of.Path}
	if !of.ByQuery {
		r.path, r.args = of.Path+"/{"+of.Key+"}", of.args(of.own(name))
	}
	return r
}

// PoolMembers holds the VMs, containers and storages in a pool.
type PoolMembers struct {
	VMIDs    []int
	Storages []string
}

// PoolMembers reads the members of a pool, without those that do not exist.
func (c ObjectAPI) PoolMembers(ctx context.Context, pool string) (PoolMembers, error) {
	r := request{
		op: "read pool " + strconv.Quote(pool), method: http.MethodGet, path: poolsPath, query: url.Values{poolKey: {pool}},
	}
	var data list[struct {
		Members list[struct {
			VMID    integer `json:"vmid"`
			Storage text    `json:"storage"`
		}] `json:"members"`
	}]
	if err := c.do(ctx, r, &data); err != nil {
		return PoolMembers{}, err
	}
	m := PoolMembers{}
	for _, d := range data {
		for _, one := range d.Members {
			if one.VMID != 0 {
				m.VMIDs = append(m.VMIDs, int(one.VMID))
			} else if one.Storage != "" {
				m.Storages = append(m.Storages, string(one.Storage))
			}
		}
	}
	slices.Sort(m.VMIDs)
	slices.Sort(m.Storages)
	return m, nil
}

// PoolVMs returns the VMIDs of the guests in the result of a call of PoolMembers, and whether the pool exists.
func PoolVMs(m PoolMembers, err error) (vmids []int, exists bool, _ error) {
	if IsUnknownReference(err) {
		return nil, false, nil
	}
	return m.VMIDs, err == nil, err
}

// PoolVMs returns the VMIDs of the guests in a pool, and whether the pool exists. Any user may read them, even one that may see nothing else of the pool.
func (c ObjectAPI) PoolVMs(ctx context.Context, pool string) (vmids []int, exists bool, err error) {
	return PoolVMs(c.PoolMembers(ctx, pool))
}

// AddPoolMembers adds VMs and storages to a pool. PVE rejects VMs of another pool, and those that already are members.
func (c ObjectAPI) AddPoolMembers(ctx context.Context, pool string, m PoolMembers) error {
	return c.changePoolMembers(ctx, "add members to", pool, m, nil)
}

// RemovePoolMembers removes VMs and storages from a pool.
func (c ObjectAPI) RemovePoolMembers(ctx context.Context, pool string, m PoolMembers) error {
	return c.changePoolMembers(ctx, "take members out of", pool, m, Params{"delete": "1"})
}

// changePoolMembers uses the form of the call that supports nested pools.
func (c ObjectAPI) changePoolMembers(ctx context.Context, op, pool string, m PoolMembers, options Params) error {
	r := request{op: op + " pool " + strconv.Quote(pool), method: http.MethodPut, path: poolsPath, form: Change{Set: options}.form()}
	for _, vmid := range m.VMIDs {
		if why := validVMID(vmid); why != "" {
			return r.refuse(why)
		}
	}
	r.form[poolKey] = pool
	if len(m.VMIDs) > 0 {
		r.form["vms"] = joinNumbers(m.VMIDs)
	}
	if len(m.Storages) > 0 {
		r.form["storage"] = strings.Join(m.Storages, ",")
	}
	return c.do(ctx, r, nil)
}

func joinNumbers(all []int) string {
	texts := make([]string, 0, len(all))
	for _, n := range all {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, ",")
}

// JoinPool makes a VM a member of a pool and removes it from its current one. Other members stay. It needs Pool.Allocate on both pools.
func (c ObjectAPI) JoinPool(ctx context.Context, pool string, vmid int) error {
	return c.changePoolMembers(ctx, "add VM to", pool, PoolMembers{VMIDs: []int{vmid}}, Params{"allow-move": "1"})
}

// LeavePool removes a VM from a pool. Other members stay.
func (c ObjectAPI) LeavePool(ctx context.Context, pool string, vmid int) error {
	return c.changePoolMembers(ctx, "take VM out of", pool, PoolMembers{VMIDs: []int{vmid}}, Params{"delete": "1"})
}
