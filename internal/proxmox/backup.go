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
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox/configfile"
)

// BackupOptions describes a new backup.
type BackupOptions struct {
	// Storage of the backup. Mode is snapshot, suspend or stop, and Compress zstd, gzip, lzo or 0 for none. Empty values are the defaults of the node.
	Storage, Mode, Compress string

	// Notes of the backup, whether it is Protected from its removal, and the limit of Bandwidth in KiB/s, or nil for the default of the node.
	Notes     string
	Protected bool
	Bandwidth *int64
}

func (o BackupOptions) form(vmid int) map[string]string {
	// Without remove=0 PVE removes older backups by the retention of the storage.
	f := map[string]string{"vmid": strconv.Itoa(vmid), "storage": o.Storage, "remove": formBool(false)}
	for key, value := range map[string]string{"mode": o.Mode, "compress": o.Compress, "notes-template": notesTemplate(o.Notes)} {
		if value != "" {
			f[key] = value
		}
	}
	if o.Protected {
		f["protected"] = formBool(true)
	}
	if o.Bandwidth != nil {
		f["bwlimit"] = strconv.FormatInt(*o.Bandwidth, 10)
	}
	return f
}

// notesTemplate returns the template from which PVE creates exactly these notes, if they contain no variable of PVE.
func notesTemplate(notes string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(strings.ReplaceAll(notes, "\r\n", "\n"))
}

// ErrNotOnNode reports that a VM is on another node than the request was sent to. Nothing was started.
var ErrNotOnNode = errors.New("the VM is not on the node any more")

// BackupJobCollection returns the backup jobs of the cluster.
func BackupJobCollection() Collection {
	return Collection{Noun: "backup job", Path: "/cluster/backup", Key: "id"}
}

// BackUp starts a backup of a VM. It removes no other backup. Only the task finds problems with the storage, the VM or the free space. Backups on one node
// wait for each other.
func (c StorageAPI) BackUp(ctx context.Context, ref Ref, o BackupOptions) (UPID, error) {
	r := request{
		op: "back up VM " + strconv.Itoa(ref.VMID), method: http.MethodPost, path: "/nodes/{node}/vzdump", args: []string{ref.Node},
		form: o.form(ref.VMID),
	}
	if why := ref.validate(r.method); why != "" {
		return "", r.refuse(why)
	}
	answer, err := c.beginAnswer(ctx, r)
	switch {
	case err != nil:
		return "", err
	case answer == "OK": // PVE has nothing to do here.
		return "", ErrNotOnNode
	case !UPID(answer).Valid():
		return "", newCall(r, nil).unexpected()
	}
	return UPID(answer), nil
}

// VolumeNotes returns the complete notes of a backup.
func (c StorageAPI) VolumeNotes(ctx context.Context, node, volume string) (string, error) {
	r, why := volumeRequest("read the notes of", http.MethodGet, node, volume)
	if why != "" {
		return "", r.refuse(why)
	}
	var data struct {
		Notes text `json:"notes"`
	}
	err := c.do(ctx, r, &data)
	return string(data.Notes), err
}

// ChangeVolume changes the notes of a backup and its protection, each if it is not nil. PVE reports no error if the backup does not exist.
func (c StorageAPI) ChangeVolume(ctx context.Context, node, volume string, notes *string, protected *bool) error {
	r, why := volumeRequest("change", http.MethodPut, node, volume)
	if why != "" {
		return r.refuse(why)
	}
	r.form = map[string]string{}
	if notes != nil {
		r.form["notes"] = *notes
	}
	if protected != nil {
		r.form["protected"] = formBool(*protected)
	}
	return c.do(ctx, r, nil)
}

// BackupConfig returns the configuration in a backup, as a VM restored from it has it: without the disks that were excluded from the backup. It needs
// VM.Backup on the VM of the backup, and Datastore.AllocateSpace on the storage.
func (c StorageAPI) BackupConfig(ctx context.Context, node, volume string) (VMConfig, error) {
	r := request{
		op: "read the configuration in backup " + volume, method: http.MethodGet, path: "/nodes/{node}/vzdump/extractconfig", args: []string{node},
		query: url.Values{"volume": {volume}},
	}
	if !validNode(node) {
		return VMConfig{}, r.refuse("node name is not valid")
	}
	var data text
	if err := c.do(ctx, r, &data); err != nil {
		return VMConfig{}, err
	}
	return VMConfig{Values: configfile.Parse(string(data))}, nil
}

// volumeRequest returns a request about one volume.
func volumeRequest(op, method, node, volume string) (request, string) {
	storage, _, _ := strings.Cut(volume, ":")
	return storageRequest(op+` volume "`+volume+`" on`, method, node, storage, "/content/{volume}", volume)
}
