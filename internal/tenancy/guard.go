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

package tenancy

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/guarded"
)

// A Guard decides which writes to Proxmox VE are made for a resource.
type Guard struct {
	*Tenant

	// RecordedVMID is the VMID that the provider has recorded for a resource that is being deleted, otherwise 0. The provider may remove this VM and all
	// that belongs to it, whatever the tenant may do now.
	RecordedVMID int

	// DiskHolder is the VMID of the VM that has the disk of a Volume that is being deleted, as the provider has recorded it, or 0. The disk may return to
	// the stub VM that it was created for. That stub VM may migrate to the disk's node, and is protected if the disk is retained.
	DiskHolder int

	// UUID is that of the VM that the provider has recorded for the resource, or empty.
	UUID string

	// Backup returns the volume that the provider has recorded for the resource, which is a Backup, or an empty string. It is nil for other kinds. Deleted
	// is true for a resource that is being deleted.
	Backup  func() string
	Deleted bool

	// Image returns what the provider has recorded for the resource, which is an Image. It is nil for other kinds.
	Image func() ImageRecord

	// Archive returns an error if the VM of the resource may not be restored from a backup. It is nil for kinds other than Machine.
	Archive func(volume string) error

	// VMIDs that new VMs may have, for a tenant without a range. Nil allows all.
	VMIDs *v1alpha1.VMIDRange

	// Guest finds a VM in the cluster's list, which is read again if fresh is true. If there is no such VM, only the VMID of the result is set.
	Guest func(vmid int, fresh bool) (proxmox.Guest, error)
}

// Check refuses a write that the resource may not make. It refuses all writes that it does not know.
func (g Guard) Check(w guarded.Write) error {
	if g.Tenant == nil {
		return nil
	}
	if leaves, err := g.mayRemove(w); leaves || err != nil {
		return err
	}
	if g.denied != "" {
		return &refusedError{what: g.denied}
	}
	if check, ok := checks()[w.Method+" "+w.Path]; ok {
		return check(g, w)
	}
	return g.refuseUnknown(w)
}

// refuseUnknown refuses a write that only administrators may make.
func (g Guard) refuseUnknown(w guarded.Write) error { return g.refuse("kinds", "to %s", w.Op) }

// A check refuses writes of one kind.
type check func(Guard, guarded.Write) error

// checks returns the checks of all writes that tenants may make, by method and path.
func checks() map[string]check {
	const vm = "/nodes/{node}/qemu/{vmid}"
	own := []string{
		"POST status/start", "POST status/stop", "POST status/shutdown", "POST status/reboot", "POST status/reset", "POST status/suspend", "POST status/resume",
		"PUT cloudinit", "PUT resize", "POST template", "POST snapshot", "DELETE snapshot/{snapname}", "PUT snapshot/{snapname}/config",
		"POST snapshot/{snapname}/rollback",
	}
	all := map[string]check{
		"DELETE " + vm:                                Guard.checkVMOf,
		"POST /nodes/{node}/qemu":                     Guard.create,
		"POST " + vm + "/clone":                       Guard.clone,
		"PUT " + vm + "/config":                       Guard.configure,
		"POST " + vm + "/config":                      Guard.configure,
		"POST " + vm + "/move_disk":                   Guard.move,
		"POST " + vm + "/migrate":                     Guard.migrate,
		"PUT /pools":                                  Guard.join,
		"POST /nodes/{node}/storage/{storage}/upload": Guard.upload,
		"DELETE /nodes/{node}/storage/{storage}/content/{volume}": Guard.removeVolume,
		"PUT /nodes/{node}/storage/{storage}/content/{volume}":    Guard.changeBackup,
		"POST /nodes/{node}/vzdump":                               Guard.backUp,
		"POST /nodes/{node}/storage/{storage}/download-url":       Guard.download,
		"DELETE /nodes/{node}/tasks/{upid}":                       Guard.stopTask,
		"DELETE /cluster/replication/{id}":                        Guard.removeReplication,
		"POST /cluster/ha/rules":                                  Guard.rule,
		"PUT /cluster/ha/rules/{rule}":                            Guard.rule,
		"DELETE /cluster/ha/rules/{rule}":                         Guard.rule,
		"POST /cluster/ha/groups":                                 Guard.rule,
		"PUT /cluster/ha/groups/{group}":                          Guard.rule,
		"DELETE /cluster/ha/groups/{group}":                       Guard.rule,
		"POST /cluster/ha/resources":                              Guard.manageHA,
		"PUT /cluster/ha/resources/{sid}":                         Guard.manageHA,
		"DELETE /cluster/ha/resources/{sid}":                      Guard.manageHA,
	}
	for _, c := range own {
		method, path, _ := strings.Cut(c, " ")
		all[method+" "+vm+"/"+path] = Guard.checkVMOf
	}
	return all
}

// checkHeld refuses a VMID whose VM is not the tenant's.
func (g Guard) checkHeld(vmid int) error {
	if err := g.checkVMID(vmid); err != nil && !mayAdoptAny(g.Tenant) {
		return err
	}
	return CheckListed(vmid, g.Guest, g.CheckGuest)
}

// CheckListed checks a VM by its entry in the cluster's list. Before it refuses the VM, it reads the list again: in an older list, a VM that was just
// created is in no pool.
func CheckListed(vmid int, find func(vmid int, fresh bool) (proxmox.Guest, error), check func(proxmox.Guest) error) error {
	var refused error
	for _, fresh := range []bool{false, true} {
		guest, err := find(vmid, fresh)
		if err != nil {
			return err
		}
		if refused = check(guest); refused == nil {
			return nil
		}
	}
	return refused
}

// vmOf returns the VMID in the path of a write.
func vmOf(w guarded.Write) int {
	if len(w.Args) < 2 {
		return 0
	}
	id, _ := strconv.Atoi(w.Args[1])
	return id
}

// checkVMOf refuses a call about a VM that is not the tenant's. It is for calls that change nothing else.
func (g Guard) checkVMOf(w guarded.Write) error { return g.checkHeld(vmOf(w)) }

// create refuses a VM in a place or with options that the tenant may not use.
func (g Guard) create(w guarded.Write) error {
	vmid, _ := strconv.Atoi(w.Form["vmid"])
	options := map[string]string{}
	for name, value := range w.Form {
		if !slices.Contains([]string{"vmid", "pool", "storage", "start", "unique", "archive", "force"}, name) {
			options[name] = value
		}
	}
	if w.Form["archive"] != "" || w.Form["force"] != "" {
		return g.restore(w, options)
	}
	if err := g.checkAdoptTags(vmid, w.Form["tags"]); err != nil {
		return err
	}
	return join([]error{g.newVMID(vmid), g.CheckNode(w.Args[0]), g.checkPool(w.Form["pool"]), g.CheckOptions(vmid, options)})
}

// newVMID refuses a VMID for a new VM, even if the tenant's VMs are known by their pools: a new VM also gets what is left of earlier VMs with its VMID.
func (g Guard) newVMID(id int) error {
	if r := g.VMIDs; r != nil && g.VMIDRange == nil && (id < int(r.Min) || id > int(r.Max)) {
		return g.refuse("vmidRange", "VMID %d is not within %d and %d", id, r.Min, r.Max)
	}
	return g.checkVMID(id)
}

// clone refuses a source that the tenant may not use, and a clone in a place that it may not use.
func (g Guard) clone(w guarded.Write) error {
	if err := CheckListed(vmOf(w), g.Guest, g.CheckClone); err != nil {
		return err
	}
	vmid, _ := strconv.Atoi(w.Form["newid"])
	all := []error{g.newVMID(vmid), g.checkPool(w.Form["pool"]), g.CheckNode(cmp.Or(w.Form["target"], w.Args[0]))}
	if storage := w.Form["storage"]; storage != "" {
		all = append(all, g.checkStorage(storage, "the disks of a clone"))
	}
	return join(all)
}

// configure refuses options that the tenant may not set, and changes that destroy disks.
func (g Guard) configure(w guarded.Write) error {
	if err := g.checkVMOf(w); err != nil {
		return err
	}
	if err := g.checkAdoptTags(vmOf(w), w.Form["tags"]); err != nil {
		return err
	}
	options := map[string]string{}
	for name, value := range w.Form {
		if name != "delete" && name != "force" && name != "revert" {
			options[name] = value
		}
	}
	if destroys(w) {
		return join([]error{g.destroy(w), g.CheckOptions(vmOf(w), options)})
	}
	return g.CheckOptions(vmOf(w), options)
}

// destroys reports whether a change of the configuration destroys disks. Deleting a detached disk always does.
func destroys(w guarded.Write) bool {
	return w.Form["force"] == "1" || strings.Contains(w.Form["delete"], "unused")
}

func (g Guard) destroy(w guarded.Write) error {
	if g.may(func(a *v1alpha1.TenantPermissions) *bool { return a.DestroyDisks }) {
		return nil
	}
	return g.refuse("allow.destroyDisks", "to destroy disks of VM %d", vmOf(w))
}

// move refuses a storage, and a VM that receives a disk.
func (g Guard) move(w guarded.Write) error {
	if err := g.checkVMOf(w); err != nil {
		return err
	}
	if to := w.Form["target-vmid"]; to != "" {
		vmid, _ := strconv.Atoi(to)
		return g.checkHeld(vmid)
	}
	return g.checkStorage(w.Form["storage"], "disk "+w.Form["disk"])
}

// migrate refuses a node and a storage.
func (g Guard) migrate(w guarded.Write) error {
	if err := g.checkVMOf(w); err != nil {
		return err
	}
	all := []error{g.CheckNode(w.Form["target"])}
	if storage := w.Form["targetstorage"]; storage != "" {
		all = append(all, g.checkStorage(storage, "disks"))
	}
	return join(all)
}

// join refuses a pool, and VMs that join or leave one.
func (g Guard) join(w guarded.Write) error {
	all := []error{g.checkPool(w.Form["poolid"])}
	for name := range w.Form {
		if !slices.Contains([]string{"poolid", "vms", "delete", "allow-move"}, name) {
			return g.refuseUnknown(w)
		}
	}
	for id := range strings.SplitSeq(w.Form["vms"], ",") {
		vmid, _ := strconv.Atoi(id)
		// By an older list, a VM that was taken out of the tenant's pool a moment ago would return to it.
		guest, err := g.Guest(vmid, true)
		if err != nil {
			return err
		}
		all = append(all, g.CheckGuest(guest), g.checkVMID(vmid)) // An adopted VM would otherwise be in no pool of a tenant.
		if heldByTagAlone(g.Tenant, guest) {
			all = append(all, g.refuse("allow.adoptTags", "another pool of VM %d, which its tag tells to be the tenant's", vmid))
		}
	}
	if w.Form["delete"] == "1" {
		all = append(all, g.checkPool(""))
	}
	return join(all)
}

// upload refuses a storage for cloud-init images. Nothing else is uploaded.
func (g Guard) upload(w guarded.Write) error { return g.checkStorage(w.Args[1], "cloud-init images") }

// backUp refuses a backup of a VM that is not the tenant's, a backup on another storage, and one that removes other backups.
func (g Guard) backUp(w guarded.Write) error {
	vmid, err := strconv.Atoi(w.Form["vmid"])
	if err != nil || w.Form["remove"] != "0" {
		return g.refuseUnknown(w)
	}
	for name := range w.Form {
		if !slices.Contains([]string{"vmid", "storage", "remove", "mode", "compress", "notes-template", "protected"}, name) {
			return g.refuseUnknown(w)
		}
	}
	if err := g.checkHeld(vmid); err != nil {
		return err
	}
	return g.checkStorage(w.Form["storage"], "a backup")
}

// isBackup reports whether a write concerns only the backup of the resource.
func (g Guard) isBackup(w guarded.Write) bool {
	return g.Backup != nil && len(w.Args) > 0 && g.Backup() != "" && last(w.Args) == g.Backup()
}

// changeBackup refuses a volume that is not the backup of the resource.
func (g Guard) changeBackup(w guarded.Write) error {
	for name := range w.Form {
		if name != "notes" && name != "protected" {
			return g.refuseUnknown(w)
		}
	}
	if !g.isBackup(w) {
		return g.refuseUnknown(w)
	}
	return nil
}

// removeVolume refuses a volume unless its name is that of a VM of the tenant, or it is the backup or a file of the resource.
func (g Guard) removeVolume(w guarded.Write) error {
	if g.isBackup(w) || g.isOfImage(w) {
		return nil
	}
	vmid := OwnerOf(last(w.Args))
	if vmid == 0 {
		return g.refuseUnknown(w)
	}
	return g.checkHeld(vmid)
}

// removeReplication refuses a job of a VM that is not the tenant's.
func (g Guard) removeReplication(w guarded.Write) error {
	id, _, _ := strings.Cut(last(w.Args), "-")
	vmid, err := strconv.Atoi(id)
	if err != nil {
		return g.refuseUnknown(w)
	}
	return g.checkHeld(vmid)
}

// manageHA refuses high availability. Removing a VM from high availability is always allowed.
func (g Guard) manageHA(w guarded.Write) error {
	sid := w.Form["sid"]
	if sid == "" {
		sid = last(w.Args)
	}
	vmid, err := strconv.Atoi(strings.TrimPrefix(sid, "vm:"))
	if err != nil {
		return g.refuseUnknown(w)
	}
	if err := g.checkHeld(vmid); err != nil || w.Method == http.MethodDelete {
		return err
	}
	return g.checkHighAvailability(w.Form["group"])
}

// rule refuses HA rules that name VMs of others.
func (g Guard) rule(w guarded.Write) error {
	name := cmp.Or(w.Form["rule"], w.Form["group"], last(w.Args))
	if !g.ownRule(name) && !sharedRule.MatchString(name) {
		return g.refuseUnknown(w)
	}
	for _, sid := range w.Resources {
		vmid, err := strconv.Atoi(strings.TrimPrefix(sid, "vm:"))
		if err != nil {
			return g.refuseUnknown(w)
		}
		if err := g.checkHeld(vmid); err != nil {
			return err
		}
	}
	if w.Method == http.MethodDelete {
		return nil
	}
	for node := range strings.SplitSeq(w.Form["nodes"], ",") {
		if err := g.CheckNode(node); node != "" && err != nil {
			return err
		}
	}
	return g.checkHighAvailability("")
}

// sharedRule matches the name of a rule about several Machines.
var sharedRule = regexp.MustCompile(`^crossplane-(together|apart)-`)

// ownRule reports whether a rule or a group is that of the resource's VM.
func (g Guard) ownRule(name string) bool {
	return g.UUID != "" && strings.TrimPrefix(name, "ha-group-") == "crossplane-"+strings.ToLower(g.UUID)
}

// checkHighAvailability refuses the HA manager, and a group that limits the nodes.
func (g Guard) checkHighAvailability(group string) error {
	switch {
	case !g.may(func(a *v1alpha1.TenantPermissions) *bool { return a.HighAvailability }):
		return g.refuse("allow.highAvailability", "high availability")
	case group != "" && len(g.Nodes) > 0:
		return g.refuse("nodes", "HA group %s, whose nodes are its own", group)
	}
	return nil
}

func last(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[len(args)-1]
}

// mayRemove reports whether a write removes something of a resource that is being deleted, and that cannot be another tenant's now.
func (g Guard) mayRemove(w guarded.Write) (bool, error) {
	if g.removesOwnBackup(w) || g.Deleted && g.isOfImage(w) {
		return true, nil // Whichever tenant its VM or its namespace belongs to now.
	}
	if !g.removesRecorded(w) {
		return false, nil
	}
	for _, vmid := range slices.Compact([]int{g.RecordedVMID, cmp.Or(g.DiskHolder, g.RecordedVMID)}) {
		if was, err := g.othersMayHave(vmid); was || err != nil {
			return false, err
		}
	}
	return true, nil
}

// othersMayHave reports whether another tenant may have a VM now, or operators may have taken it back. If the resource's tenant does not hold the VM,
// or holds it because of a tag, the VMs are listed again: an older list may be from before the VM was moved.
func (g Guard) othersMayHave(vmid int) (bool, error) {
	vm, err := g.Guest(vmid, false)
	if err != nil || anyMayHave(g.others, vm) {
		return err == nil, err
	}
	if g.CheckGuest(vm) == nil && !heldByTagAlone(g.Tenant, vm) || len(g.others) == 0 && len(adoptTags(g.ProviderTenant)) == 0 {
		return false, nil
	}
	vm, err = g.Guest(vmid, true)
	return err == nil && (anyMayHave(g.others, vm) || mayBeWithdrawn(g.Tenant, vm)), err
}

// removesOwnBackup reports whether a write removes the backup of a resource that is being deleted, or the protection of that backup.
func (g Guard) removesOwnBackup(w guarded.Write) bool {
	if !g.Deleted || !g.isBackup(w) {
		return false
	}
	switch w.Method + " " + w.Path {
	case "DELETE /nodes/{node}/storage/{storage}/content/{volume}":
		return true
	case "PUT /nodes/{node}/storage/{storage}/content/{volume}":
		return len(w.Form) == 1 && w.Form["protected"] == "0"
	}
	return false
}

// removesRecorded reports whether a write removes something that is recorded for a resource that is being deleted.
func (g Guard) removesRecorded(w guarded.Write) bool {
	if g.RecordedVMID == 0 {
		return false
	}
	const vm = "/nodes/{node}/qemu/{vmid}"
	id := strconv.Itoa(g.RecordedVMID)
	switch w.Method + " " + w.Path {
	case "DELETE " + vm, "POST " + vm + "/status/stop", "POST " + vm + "/status/shutdown", "POST " + vm + "/status/resume",
		"DELETE " + vm + "/snapshot/{snapname}":
		return vmOf(w) == g.RecordedVMID
	case "PUT " + vm + "/config":
		alone := len(w.Form) == 1 || len(w.Form) == 2 && w.Form["digest"] != ""
		protects := g.DiskHolder != 0 && w.Form["protection"] == "1" // Of a disk that is retained.
		return vmOf(w) == g.RecordedVMID && alone && (protects || w.Form["protection"] == "0")
	case "DELETE /nodes/{node}/storage/{storage}/content/{volume}":
		return OwnerOf(last(w.Args)) == g.RecordedVMID
	case "POST " + vm + "/move_disk":
		return g.DiskHolder != 0 && vmOf(w) == g.DiskHolder && w.Form["target-vmid"] == id
	case "POST " + vm + "/migrate":
		return g.DiskHolder != 0 && vmOf(w) == g.RecordedVMID && len(w.Form) == 1 && w.Form["target"] != "" // To the node of the disk.
	case "DELETE /cluster/replication/{id}":
		return strings.HasPrefix(last(w.Args), id+"-")
	case "DELETE /cluster/ha/resources/{sid}":
		return last(w.Args) == "vm:"+id
	case "DELETE /cluster/ha/rules/{rule}", "DELETE /cluster/ha/groups/{group}":
		return g.ownRule(last(w.Args))
	}
	return false
}
