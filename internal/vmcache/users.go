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

// Disks lists volumes as one node sees them. On local storage, another node has different volumes under the same IDs.
type Disks struct {
	Volumes  []string
	Node     string
	Storages []proxmox.Storage

	// MayName reports whether messages may name a VM, and whether they may name its node. If it is nil, they may name all.
	MayName func(g proxmox.Guest) (vm, node bool)

	// Snapshots reads the configurations of a VM's snapshots, to find volumes that only snapshots use. If it is nil, snapshots are ignored.
	Snapshots func(ctx context.Context, ref proxmox.Ref) ([]qemu.Config, error)
}

// mayName reports whether messages may name a VM, and whether they may name its node.
func (d Disks) mayName(g proxmox.Guest) (vm, node bool) {
	if d.MayName == nil {
		return true, true
	}
	return d.MayName(g)
}

// on returns the volumes that VMs of a node can use.
func (d Disks) on(node string) []string {
	return slices.DeleteFunc(slices.Clone(d.Volumes), func(volume string) bool {
		disk := proxmox.Disk{Volume: volume}
		local := func(s proxmox.Storage) bool { return s.Name == disk.Storage() && !s.Shared } // A storage that the user may not see may be shared.
		return node != d.Node && slices.ContainsFunc(d.Storages, local)
	})
}

// A UsedError reports a VM that uses a volume.
type UsedError struct {
	Volume string

	// VMID of the VM, or 0 if the VM must not be named.
	VMID int
}

func (e UsedError) Error() string { return fmt.Sprintf("volume %s is used by %s", e.Volume, e.User()) }

// User returns how a sentence refers to the VM.
func (e UsedError) User() string {
	if e.VMID == 0 {
		return "another VM"
	}
	return fmt.Sprintf("VM %d", e.VMID)
}

// A withheldError is an error about a VM or a node that must not be named.
type withheldError struct {
	error

	text string
}

// Error returns a text that names neither the VM nor the node.
func (e withheldError) Error() string { return e.text }

// Unwrap returns the original error, for callers that distinguish errors.
func (e withheldError) Unwrap() error { return e.error }

// CheckUnused returns an error if a VM other than the VM may uses one of the volumes. The error is a UsedError, or an OfflineError if a VM that could use
// a volume is on a node which cannot be asked. PVE does not check this: it attaches a volume to two VMs, and renames or destroys it while another VM has
// it. VMs that the user may not see are not found. CheckUnused reads the VMs now, so call it only before a write.
func (e *Reader) CheckUnused(ctx context.Context, disks Disks, may int) error {
	guests, err := e.readable(ctx, disks, may)
	if err != nil {
		return err
	}
	return each(ctx, guests, func(ctx context.Context, g proxmox.Guest) error { return e.checkUnusedBy(ctx, disks, g) })
}

// Users returns the VMs that use one of the volumes, as a sentence refers to them. It returns an OfflineError if a VM cannot be read for that reason.
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

// readable returns the VMs that could use a volume, except the VM may, or an error if the node of one of them cannot be asked.
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

// each calls do for each guest, several at the same time.
func each(ctx context.Context, guests []proxmox.Guest, do func(context.Context, proxmox.Guest) error) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(min(1+len(guests)/50, mostReads))
	for _, g := range guests {
		all.Go(func() error { return do(ctx, g) })
	}
	return all.Wait()
}

// checkNodesOnline returns an error that names all guests whose nodes cannot be asked, and these nodes, so that users see every obstacle at once.
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
		if _, node := disks.mayName(g); !node {
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

// mostReads is the maximum number of VMs that are read at the same time, because a cluster may have thousands.
const mostReads = 8

// checkUnusedBy returns an error if a guest uses one of the volumes, or if that cannot be seen. It looks again for a guest that was moved or removed since
// it was listed.
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
			if vm, _ := disks.mayName(g); !vm {
				return UsedError{Volume: volume}
			}
			return UsedError{Volume: volume, VMID: g.VMID}
		}
	}
	return nil
}

// mostNamed is the maximum number of guests that a message names.
const mostNamed = 10

// unnamedNode is the reason in messages if a VM cannot be read and its node must not be named.
const unnamedNode = "a node cannot be asked"

// unseen returns the error if it is not known whether a guest uses a volume. It withholds the text of PVE where necessary, because that names the node.
func (d Disks) unseen(err error, g proxmox.Guest) error {
	vm, node := d.mayName(g)
	switch off := errors.As(err, &OfflineError{}); {
	case off && !node:
		err = withheldError{error: err, text: unnamedNode}
	case !off && (!vm || !node):
		err = withheldError{error: err, text: "it cannot be read"}
	}
	return errors.Wrap(err, d.whether(g))
}

// whether names the guests of which it is not known whether they use a volume. It omits those that must not be named.
func (d Disks) whether(guests ...proxmox.Guest) string {
	var vmids []int
	for _, g := range guests {
		if vm, _ := d.mayName(g); vm {
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
