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

package machine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A source is the template that a VM is cloned from.
type source struct {
	proxmox.Guest

	Config map[string]string

	// Shared says whether all nodes reach its disks.
	Shared bool
}

// A refusal is a spec that cannot be carried out, found before anything is
// created. It says which condition shows it.
type refusal struct {
	error

	condition conditionOf
}

type conditionOf int

const (
	creating conditionOf = iota
	allocating
	networking
	overcommitting
)

func refuse(c conditionOf, format string, args ...any) error {
	return refusal{error: errors.Errorf(format, args...), condition: c}
}

// prepare decides how a VM is created, and checks that it can be.
func (e *external) prepare(ctx context.Context, m Machine, id identity) (*creation, error) {
	c := &creation{desired: e.desired(m, id)}
	var err error
	if c.source, err = e.findSource(ctx, m.Parameters()); err != nil {
		return nil, err
	}
	if c.node, err = e.chooseNode(ctx, m, c.source); err != nil {
		return nil, err
	}
	// Nothing is there yet, so that what an earlier attempt assigned is void.
	if c.devices, err = (devices{}).assign(m.Parameters(), c.sourceConfig()); err != nil {
		return nil, refusal{error: err, condition: allocating}
	}
	prohibited, err := e.prohibited(ctx, c.difference(c.sourceConfig()), c.sourceConfig())
	if err != nil {
		return nil, err
	}
	if no := append(c.refusals(c.sourceConfig()), prohibited...); len(no) > 0 {
		return nil, refuse(allocating, "%s", strings.Join(no, "; "))
	}
	return c, e.check(ctx, c)
}

// sourceConfig is the configuration that a clone starts with, or nil.
func (c *creation) sourceConfig() map[string]string {
	switch {
	case c.source == nil:
		return nil
	case c.Clone == nil || c.Clone.Storage == nil:
		return c.source.Config
	}
	config := maps.Clone(c.source.Config)
	for _, device := range disksOf(config) {
		config[device] = movedTo(config[device], *c.Clone.Storage)
	}
	return config
}

// movedTo is a disk as it is on another storage, where its volume has yet to get
// its name.
func movedTo(disk, storage string) string {
	d, err := proxmox.ParseDisk(disk)
	if err != nil {
		return disk
	}
	d.Volume = storage + ":" + strings.TrimPrefix(d.Volume, d.Storage()+":")
	return d.String()
}

// findSource resolves the template of the spec, or returns nil if it has none.
func (e *external) findSource(ctx context.Context, p *v1alpha1.MachineParameters) (*source, error) {
	if p.Template == nil {
		return nil, nil
	}
	guests, err := e.inventory.Guests(ctx)
	if err != nil {
		return nil, err
	}
	g, err := matchTemplate(guests, p.Template.String(), value(p.Node))
	if err != nil {
		return nil, err
	}
	config, err := e.client.Config(ctx, g.Ref())
	if err != nil {
		return nil, err
	}
	shared, err := e.shared(ctx, config.Values, p.Clone)
	return &source{Guest: g, Config: config.Values, Shared: shared}, err
}

// matchTemplate finds a template by its VMID or name. Of templates that have the
// same name, the one on the node that the spec names is meant.
func matchTemplate(guests []proxmox.Guest, template, node string) (proxmox.Guest, error) {
	id, err := strconv.Atoi(template)
	byID := err == nil
	var found []proxmox.Guest
	for _, g := range guests {
		if g.Type == "qemu" && (byID && g.VMID == id || !byID && g.Template && g.Name == template) {
			found = append(found, g)
		}
	}
	if here := onNode(found, node); len(found) > 1 && len(here) > 0 {
		found = here
	}
	switch {
	case len(found) == 0:
		return proxmox.Guest{}, refuse(creating, "template '%s' not found", template)
	case len(found) > 1:
		return proxmox.Guest{}, refuse(creating, "template '%s' is the name of %d templates (VMID %s): name it by its VMID", template, len(found), vmids(found))
	case !found[0].Template:
		return proxmox.Guest{}, refuse(creating, "template '%s' is a VM, not a template", template)
	}
	return found[0], nil
}

func onNode(guests []proxmox.Guest, node string) []proxmox.Guest {
	var here []proxmox.Guest
	for _, g := range guests {
		if g.Node == node {
			here = append(here, g)
		}
	}
	return here
}

func vmids(guests []proxmox.Guest) string {
	ids := make([]string, 0, len(guests))
	for _, g := range guests {
		ids = append(ids, strconv.Itoa(g.VMID))
	}
	slices.Sort(ids)
	return strings.Join(ids, ", ")
}

// firmwareDisks are the disks of a VM that are on no bus.
//
//nolint:gochecknoglobals // A constant.
var firmwareDisks = []string{efiDevice, tpmDevice}

// shared says whether all disks of a configuration are on shared storage, and
// those of its clone too.
func (e *external) shared(ctx context.Context, config map[string]string, c *v1alpha1.MachineClone) (bool, error) {
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return false, err
	}
	shared := map[string]bool{}
	for _, s := range storages {
		shared[s.Name] = s.Shared
	}
	if c != nil && c.Storage != nil && !shared[*c.Storage] {
		return false, nil
	}
	for device, value := range config {
		if b := busOf(device); (b == "" || b == "net") && !slices.Contains(firmwareDisks, device) {
			continue
		}
		d, err := proxmox.ParseDisk(value)
		if err == nil && d.Storage() != "" && !shared[d.Storage()] {
			return false, nil
		}
	}
	return true, nil
}

// chooseNode decides where a VM is created. What was decided before stands,
// unless the spec has come to name another node, or that node is offline.
func (e *external) chooseNode(ctx context.Context, m Machine, s *source) (string, error) {
	wanted := value(m.Parameters().Node)
	before := m.GetAnnotations()[AnnotationNode]
	off, err := e.offline(ctx, before)
	if err != nil || before != "" && !off && (wanted == "" || wanted == before) {
		return before, err
	}
	nodes, err := e.inventory.Nodes(ctx)
	if err != nil {
		return "", err
	}
	if s != nil && !s.Shared {
		if wanted != "" && wanted != s.Node {
			return "", refuse(allocating, "template '%s' is on node %s, and it or its clone on local storage: a clone on node %s is not served yet",
				m.Parameters().Template, s.Node, wanted)
		}
		wanted = s.Node
	}
	return pickNode(nodes, cmp.Or(wanted, e.defaults.Node))
}

// pickNode is the node wanted, or without one the online node with the most free
// memory.
func pickNode(nodes []proxmox.Node, wanted string) (string, error) {
	var best *proxmox.Node
	for i, n := range nodes {
		switch {
		case wanted != "" && n.Name != wanted:
		case wanted != "" && !n.Online():
			return "", errors.Errorf("node %q is %s", wanted, n.Status)
		case n.Online() && (best == nil || freer(n, *best)):
			best = &nodes[i]
		}
	}
	if best != nil {
		return best.Name, nil
	}
	if wanted != "" {
		return "", refuse(allocating, "node '%s' not found", wanted)
	}
	return "", errors.New("no node of the cluster is online")
}

func freer(a, b proxmox.Node) bool {
	x, y := a.MaxMemory-a.Memory, b.MaxMemory-b.Memory
	return x > y || x == y && a.Name < b.Name
}

// check looks whether what the spec names exists where the VM is to be.
func (e *external) check(ctx context.Context, c *creation) error {
	if err := e.checkMemory(ctx, c); err != nil {
		return err
	}
	if err := e.checkStorages(ctx, c); err != nil {
		return err
	}
	return e.checkBridges(ctx, c)
}

func (e *external) checkMemory(ctx context.Context, c *creation) error {
	nodes, err := e.inventory.Nodes(ctx)
	if err != nil || c.Memory == nil {
		return err
	}
	for _, n := range nodes {
		if n.Name == c.node && n.MaxMemory > 0 && c.Memory.Value() > n.MaxMemory {
			return refuse(overcommitting, "insufficient resources on node %s: memory %s of %s requested",
				n.Name, mib(c.Memory.Value()), mib(n.MaxMemory))
		}
	}
	return nil
}

func mib(bytes int64) string { return fmt.Sprintf("%d MiB", bytes/int64(proxmox.MiB)) }

func (e *external) checkStorages(ctx context.Context, c *creation) error {
	storages, err := e.inventory.Storages(ctx)
	if err != nil {
		return err
	}
	for _, name := range c.storages() {
		i := slices.IndexFunc(storages, func(s proxmox.Storage) bool { return s.Name == name && s.Node == c.node })
		switch {
		case i < 0:
			return refuse(allocating, "storage '%s' not found on node %s", name, c.node)
		case !slices.Contains(storages[i].Content, "images"):
			return refuse(allocating, "storage '%s' does not hold disks: its content is %s", name, strings.Join(storages[i].Content, ", "))
		}
	}
	return nil
}

// storages that new disks are made on.
func (c *creation) storages() []string {
	var names []string
	if c.Clone != nil && c.Clone.Storage != nil {
		names = append(names, *c.Clone.Storage)
	}
	for _, f := range firmware(c.MachineParameters) {
		if f.wanted() && c.sourceConfig()[f.device] == "" {
			names = append(names, cmp.Or(value(f.storage), c.defaults.Storage))
		}
	}
	for _, k := range c.Disks {
		if c.sourceConfig()[c.devices.Disks[k.Name]] == "" {
			names = append(names, cmp.Or(value(k.Storage), c.defaults.Storage))
		}
	}
	return names
}

// checkBridges does without the check if the user may not list bridges.
func (e *external) checkBridges(ctx context.Context, c *creation) error {
	var names []string
	for _, n := range c.Networks {
		if n.Bridge != nil {
			names = append(names, *n.Bridge)
		} else if c.sourceConfig()[c.devices.Networks[n.Name]] == "" {
			names = append(names, c.defaults.Bridge)
		}
	}
	if len(names) == 0 {
		return nil
	}
	bridges, err := e.client.Bridges(ctx, c.node)
	if proxmox.IsAuthorization(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(bridges, func(b proxmox.Bridge) bool { return b.Name == name }) {
			return refuse(networking, "bridge '%s' not found on node %s", name, c.node)
		}
	}
	return nil
}
