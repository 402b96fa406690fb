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
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// BackupOptions describe a backup that is to be made.
type BackupOptions struct {
	// Storage that the backup goes to.
	Storage string

	// Mode is snapshot, suspend or stop; empty for the default, snapshot.
	Mode string

	// Compress is zstd, gzip, lzo or 0 for none; empty for the default of the node.
	Compress string

	// Notes of the backup, as they are to be.
	Notes string

	// Protected backups are not removed before they are not protected any more.
	Protected bool

	// Bandwidth limit in KiB/s; nil for the default of the node.
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

// notesTemplate is the template of which PVE makes exactly these notes, if they have no
// variable of PVE.
func notesTemplate(notes string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(strings.ReplaceAll(notes, "\r\n", "\n"))
}

// A NotOnNodeError is that the VM is on another node than the one that was to back it up,
// where nothing was started then.
type NotOnNodeError struct{ error }

func (e NotOnNodeError) Unwrap() error { return e.error }

// IsNotOnNode reports whether nothing was started because the VM is on another node.
func IsNotOnNode(err error) bool { return errors.As(err, &NotOnNodeError{}) }

// BackUp starts to back a VM up. It removes no other backup. What is wrong with the storage,
// the VM or the room is found by the task only. Backups of one node wait for one another.
func (c StorageAPI) BackUp(ctx context.Context, ref Ref, o BackupOptions) (UPID, error) {
	r := request{
		op: "back up VM " + strconv.Itoa(ref.VMID), method: http.MethodPost, path: "/nodes/{node}/vzdump", args: []string{ref.Node},
		form: o.form(ref.VMID),
	}
	if why := ref.validate(); why != "" {
		return "", r.refuse(why)
	}
	answer, err := c.beginAnswer(ctx, r)
	switch {
	case err != nil:
		return "", err
	case answer == elsewhere:
		return "", NotOnNodeError{errors.Errorf("VM %d is not on node %q any more", ref.VMID, ref.Node)}
	case !UPID(answer).Valid():
		return "", newCall(r, nil).unexpected()
	}
	return UPID(answer), nil
}

// elsewhere is what PVE answers if the VM is on another node, where it has nothing to do.
const elsewhere = "OK"

// VolumeNotes returns the whole notes of a backup.
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

// A VolumeChange changes a backup. What is nil stays.
type VolumeChange struct {
	Notes     *string
	Protected *bool
}

// ChangeVolume changes the notes of a backup, or whether it is protected. PVE does not notice
// that there is no such backup.
func (c StorageAPI) ChangeVolume(ctx context.Context, node, volume string, change VolumeChange) error {
	r, why := volumeRequest("change", http.MethodPut, node, volume)
	if why != "" {
		return r.refuse(why)
	}
	r.form = map[string]string{}
	if change.Notes != nil {
		r.form["notes"] = *change.Notes
	}
	if change.Protected != nil {
		r.form["protected"] = formBool(*change.Protected)
	}
	return c.do(ctx, r, nil)
}

// volumeRequest is a request about one volume.
func volumeRequest(op, method, node, volume string) (request, string) {
	storage, _, _ := strings.Cut(volume, ":")
	return storageRequest(op+` volume "`+volume+`" on`, method, node, storage, "/content/{volume}", volume)
}

// BackupConfig returns the configuration of a VM that a backup holds, by its options.
func (c StorageAPI) BackupConfig(ctx context.Context, node, volume string) (map[string]string, error) {
	r := request{
		op: `read the configuration in backup "` + volume + `"`, method: http.MethodGet, path: "/nodes/{node}/vzdump/extractconfig",
		args: []string{node}, query: url.Values{"volume": {volume}},
	}
	if !validNode(node) {
		return nil, r.refuse("node name is not valid")
	}
	var raw text
	if err := c.do(ctx, r, &raw); err != nil {
		return nil, err
	}
	config := map[string]string{}
	for line := range strings.SplitSeq(string(raw), "\n") {
		key, value, ok := strings.Cut(line, ": ")
		if ok && !strings.HasPrefix(line, "#") {
			config[key] = value
		}
	}
	return config, nil
}

// BackupVolume returns the volume that a task of a backup makes on a storage, by the first
// lines of its log, or nothing if they do not tell. It tells before it copies.
func BackupVolume(log []string, storage string) string {
	for _, line := range log {
		if m := reBackupArchive.FindStringSubmatch(line); m != nil {
			return storage + ":backup/" + m[1][archiveName(m[1]):]
		}
	}
	return ""
}

// archiveName is where the name begins in what the log calls the archive: files have their
// folder before it.
func archiveName(archive string) int {
	if strings.HasPrefix(archive, "/") {
		return strings.LastIndex(archive, "/") + 1
	}
	return 0
}

// A BackupProblem is why a backup could not be made or removed.
type BackupProblem string

// The problems of backups.
const (
	// BackupNotSupported means that the storage takes no backups, or the VM not this mode.
	BackupNotSupported BackupProblem = "NotSupported"

	// BackupLimit means that the storage keeps as many backups of the VM as it may.
	BackupLimit BackupProblem = "LimitReached"

	// BackupStorageFull means that the storage has no room.
	BackupStorageFull BackupProblem = "StorageFull"

	// BackupStorageUnavailable means that the storage does not exist on the node, is
	// disabled or cannot be reached.
	BackupStorageUnavailable BackupProblem = "StorageUnavailable"

	// BackupNoVM means that the VM is gone.
	BackupNoVM BackupProblem = "VMNotFound"

	// BackupIsProtected means that the backup is not to be removed.
	BackupIsProtected BackupProblem = "Protected"

	// BackupLocked means that something else works on the VM.
	BackupLocked BackupProblem = "Locked"

	// BackupStopped means that somebody stopped the task, or its node went down.
	BackupStopped BackupProblem = "Stopped"

	// BackupFailed is any other problem.
	BackupFailed BackupProblem = "BackupFailed"
)

// BackupFailure returns why a task of a backup has failed, from its exit status and the last
// lines of its log, and one sentence about it without its point.
func BackupFailure(exit string, log []string) (BackupProblem, string) {
	texts := slices.Clone(log)
	if !reJobErrors.MatchString(exit) {
		texts = []string{exit}
	}
	for _, f := range backupFailures() {
		for _, text := range texts {
			if m := f.pattern.FindStringSubmatch(text); m != nil {
				return f.problem, scrub(f.sentence(m), nil)
			}
		}
	}
	return BackupFailed, scrub(exit, nil)
}

// LogLines returns lines of a task's log as they can be shown: without names of tasks and
// times, which change from one attempt to the next.
func LogLines(log []string) []string {
	out := make([]string, 0, len(log))
	for _, line := range log {
		out = append(out, scrub(line, nil))
	}
	return out
}
