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

package vmcache

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"golang.org/x/sync/errgroup"

	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// Disks are volumes as one node has them: another one has volumes of its own by the same IDs on storage that is local.
type Disks struct {
	Volumes  []string
	Node     string
	Storages []proxmox.Storage

	// Tells reports whether messages may name a VM, and its node. Nil has all named.
	Tells func(g proxmox.Guest) (vm, node bool)

	// Snapshots reads the configurations of a VM's snapshots, for volumes that these need too. Nil has them left out.
	Snapshots func(ctx context.Context, ref proxmox.Ref) ([]qemu.Config, error)
}

// tells reports whether messages may name a VM, and its node.
func (d Disks) tells(g proxmox.Guest) (vm, node bool) {
	if d.Tells == nil {
		return true, true
	}
	return d.Tells(g)
}

// on are the volumes that VMs of a node can use.
func (d Disks) on(node string) []string {
	return slices.DeleteFunc(slices.Clone(d.Volumes), func(volume string) bool {
		disk := proxmox.Disk{Volume: volume}
		local := func(s proxmox.Storage) bool { return s.Name == disk.Storage() && !s.Shared } // One that may not be seen may be shared.
		return node != d.Node && slices.ContainsFunc(d.Storages, local)
	})
}

// A UsedError says which VM uses a volume.
type UsedError struct {
	Volume string

	// VMID of the VM, or 0 for one that is not to be named.
	VMID int
}

func (e UsedError) Error() string { return fmt.Sprintf("volume %s is used by %s", e.Volume, e.User()) }

// User is what the VM is called in a sentence.
func (e UsedError) User() string {
	if e.VMID == 0 {
		return "another VM"
	}
	return fmt.Sprintf("VM %d", e.VMID)
}

// A withheldError is one of a VM or a node that is not to be named.
type withheldError struct {
	error

	text string
}

// Error tells of nobody.
func (e withheldError) Error() string { return e.text }

// Unwrap is the whole error, for who tells errors apart.
func (e withheldError) Unwrap() error { return e.error }

// CheckUnused returns an error if a VM uses one of the volumes, other than the VM that may: a UsedError, or an OfflineError if that cannot be
// seen, because a VM that could is on a node which cannot be asked. PVE does not look: it attaches a volume to two VMs, and renames or
// destroys it while another one has it. VMs that the user may not see are not found. It reads the VMs now, so call it before a write only.
func (e *Reader) CheckUnused(ctx context.Context, disks Disks, may int) error {
	guests, err := e.readable(ctx, disks, may)
	if err != nil {
		return err
	}
	return each(ctx, guests, func(ctx context.Context, g proxmox.Guest) error { return e.checkUnusedBy(ctx, disks, g) })
}

// Users returns the VMs that use one of the volumes, as they are called in a sentence, or an OfflineError if that cannot be seen of one.
func (e *Reader) Users(ctx context.Context, disks Disks) ([]string, error) {
	guests, err := e.readable(ctx, disks, 0)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var users []string
	err = each(ctx, guests, func(ctx context.Context, g proxmox.Guest) error {
		err := e.checkUnusedBy(ctx, disks, g)
		used := UsedError{}
		if !errors.As(err, &used) {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		users = append(users, used.User())
		return nil
	})
	return users, err
}

// readable returns the VMs that could use a volume, other than the one that may, or an error if one cannot be read.
func (e *Reader) readable(ctx context.Context, disks Disks, may int) ([]proxmox.Guest, error) {
	guests, err := e.inventory.Guests(ctx, inventory.Fresh)
	if err != nil {
		return nil, err
	}
	guests = slices.DeleteFunc(slices.Clone(guests), func(g proxmox.Guest) bool {
		return g.VMID == may || g.Type != "qemu" || len(disks.on(g.Node)) == 0
	})
	return guests, e.checkNodesOnline(ctx, disks, guests)
}

// each does something about VMs, several at the same time.
func each(ctx context.Context, guests []proxmox.Guest, do func(context.Context, proxmox.Guest) error) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(min(1+len(guests)/50, mostReads))
	for _, g := range guests {
		all.Go(func() error { return do(ctx, g) })
	}
	return all.Wait()
}

// checkNodesOnline returns an error that names the guests whose nodes cannot be asked, and these nodes, so that somebody sees all that is in the way.
func (e *Reader) checkNodesOnline(ctx context.Context, disks Disks, guests []proxmox.Guest) error {
	var unasked []proxmox.Guest
	var why []string
	for _, g := range guests {
		err := e.checkNodeOnline(ctx, g.Node)
		switch {
		case err == nil:
			continue
		case !errors.As(err, &OfflineError{}):
			return disks.unseen(err, g)
		}
		unasked = append(unasked, g)
		text := err.Error()
		if _, node := disks.tells(g); !node {
			text = unnamedNode
		}
		if !slices.Contains(why, text) {
			why = append(why, text)
		}
	}
	if len(unasked) == 0 {
		return nil
	}
	return errors.Wrap(OfflineError{errors.New(strings.Join(why, "; "))}, disks.whether(unasked...))
}

// mostReads is how many VMs are read at the same time, at most: a cluster may have thousands.
const mostReads = 8

// checkUnusedBy returns an error if a guest uses one of the volumes, or if that cannot be seen. One that was moved or removed since it was
// listed is looked for again.
func (e *Reader) checkUnusedBy(ctx context.Context, disks Disks, g proxmox.Guest) error {
	v, err := e.GetConfig(ctx, g.Ref())
	if v == nil && err == nil {
		guests, failed := e.inventory.Guests(ctx, inventory.Fresh)
		now, there := proxmox.GuestOf(guests, g.VMID)
		if failed == nil && !there {
			return nil
		}
		if err = failed; err == nil {
			v, err = e.GetListed(ctx, now)
		}
	}
	if err != nil {
		return disks.unseen(err, g)
	}
	configs := []qemu.Config{v.Config, v.Active}
	if disks.Snapshots != nil {
		snapshots, err := disks.Snapshots(ctx, v.Ref)
		if err != nil {
			return disks.unseen(err, g)
		}
		configs = append(configs, snapshots...)
	}
	for _, c := range configs {
		if volume := c.Uses(disks.on(v.Node)...); volume != "" {
			if vm, _ := disks.tells(g); !vm {
				return UsedError{Volume: volume}
			}
			return UsedError{Volume: volume, VMID: g.VMID}
		}
	}
	return nil
}

// mostNamed is how many guests a message names.
const mostNamed = 10

// unnamedNode is why a VM cannot be seen whose node is not to be named.
const unnamedNode = "a node cannot be asked"

// unseen is why it is not known whether a guest uses a volume. What PVE says of a guest has its node.
func (d Disks) unseen(err error, g proxmox.Guest) error {
	vm, node := d.tells(g)
	switch off := errors.As(err, &OfflineError{}); {
	case off && !node:
		err = withheldError{error: err, text: unnamedNode}
	case !off && (!vm || !node):
		err = withheldError{error: err, text: "it cannot be read"}
	}
	return errors.Wrap(err, d.whether(g))
}

// whether names guests of which it is not known whether they use a volume, but those that are not to be named.
func (d Disks) whether(guests ...proxmox.Guest) string {
	var vmids []int
	for _, g := range guests {
		if vm, _ := d.tells(g); vm {
			vmids = append(vmids, g.VMID)
		}
	}
	slices.Sort(vmids)
	var names []string
	for _, vmid := range vmids[:min(len(vmids), mostNamed)] {
		names = append(names, strconv.Itoa(vmid))
	}
	if more := len(vmids) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	all, others := strings.Join(names, ", "), len(vmids) < len(guests)
	switch {
	case len(vmids) == 0:
		return "cannot see whether another VM uses the volume"
	case others:
		return fmt.Sprintf("cannot see whether VM %s or another one uses the volume", all)
	case len(vmids) == 1:
		return fmt.Sprintf("cannot see whether VM %s uses the volume", all)
	}
	return fmt.Sprintf("cannot see whether VMs %s use the volume", all)
}
