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

package guestagent

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// HostKeyFiles returns the paths where OpenSSH keeps the public host keys of a server.
func HostKeyFiles() []string {
	return []string{"/etc/ssh/ssh_host_ed25519_key.pub", "/etc/ssh/ssh_host_ecdsa_key.pub", "/etc/ssh/ssh_host_rsa_key.pub"}
}

// A guest may generate its keys some time after its agent answers, and may have none.
const (
	hostKeyTries = 4
	hostKeyRetry = 30 * time.Second
)

// HostKeys remembers the host keys that guests have reported.
type HostKeys struct {
	now    func() time.Time
	guests objectstate.Store[hostKeyRecord]
}

type hostKeyRecord struct {
	keys  string
	boot  time.Time
	tries int
	next  time.Time
}

// NewHostKeys returns empty HostKeys.
func NewHostKeys(now func() time.Time) *HostKeys { return &HostKeys{now: now} }

// Len returns the number of Machines with a known guest.
func (h *HostKeys) Len() int {
	h.guests.Lock()
	defer h.guests.Unlock()
	return h.guests.Len()
}

// Due reports whether a guest that was started at boot should be asked now, and records that it was asked. A guest that has reported its keys is asked
// again after its next start.
func (h *HostKeys) Due(o objectstate.Object, boot time.Time) bool {
	h.guests.Lock()
	defer h.guests.Unlock()
	r := h.at(o, boot)
	if !h.open(r) {
		return false
	}
	r.tries++
	r.next = h.now().Add(hostKeyRetry << r.tries)
	return true
}

// Waiting reports whether Due would be true.
func (h *HostKeys) Waiting(o objectstate.Object, boot time.Time) bool {
	h.guests.Lock()
	defer h.guests.Unlock()
	return h.open(h.at(o, boot))
}

func (h *HostKeys) open(r *hostKeyRecord) bool {
	return r.tries != hostKeyTries && !h.now().Before(r.next)
}

// at returns the record of a guest that was started at boot.
func (h *HostKeys) at(o objectstate.Object, boot time.Time) *hostKeyRecord {
	r := h.guests.Ensure(o)
	if boot.Sub(r.boot).Abs() > time.Minute { // Uptimes are in whole seconds, and may be old.
		r.boot, r.tries, r.next = boot, 0, time.Time{}
	}
	return r
}

// Record records the keys that a guest has reported. The guest is not asked again until its next start. If it reports no keys, the former ones are
// kept.
func (h *HostKeys) Record(o objectstate.Object, keys string) {
	if keys != "" {
		h.update(o, func(r *hostKeyRecord) { r.tries, r.keys = hostKeyTries, keys })
	}
}

// giveUp stops asking a guest until its next start.
func (h *HostKeys) giveUp(o objectstate.Object) {
	h.update(o, func(r *hostKeyRecord) { r.tries = hostKeyTries })
}

// update changes the record of a guest, unless its Machine was deleted meanwhile.
func (h *HostKeys) update(o objectstate.Object, change func(*hostKeyRecord)) {
	h.guests.Lock()
	defer h.guests.Unlock()
	if r := h.guests.Get(o); r != nil {
		change(r)
	}
}

// Of returns the keys of a guest, one per line.
func (h *HostKeys) Of(o objectstate.Object) string {
	h.guests.Lock()
	defer h.guests.Unlock()
	if r := h.guests.Get(o); r != nil {
		return r.keys
	}
	return ""
}

// Forget forgets a Machine that no longer exists.
func (h *HostKeys) Forget(o objectstate.Object) {
	h.guests.Lock()
	defer h.guests.Unlock()
	h.guests.Delete(o)
}

// A FileReader reads files of guests, and returns its permissions.
type FileReader interface {
	Permissions(ctx context.Context, path string) (map[string]proxmox.Privileges, error)
	ReadFile(ctx context.Context, ref proxmox.Ref, path string) (string, error)
}

// mayReadFiles reports whether the token may read files through the agent. This needs a separate privilege, which the provider does not require.
func mayReadFiles(ctx context.Context, c FileReader, vmid int) (bool, error) {
	path := "/vms/" + strconv.Itoa(vmid)
	all, err := c.Permissions(ctx, path)
	for _, privilege := range []string{"VM.GuestAgent.FileRead", "VM.GuestAgent.Unrestricted", "VM.Monitor"} {
		if _, has := all[path][privilege]; has {
			return true, nil
		}
	}
	return false, err
}

// Ask asks a guest for its host keys, and reports whether they have changed. It does nothing if the token may not read files.
func (h *HostKeys) Ask(ctx context.Context, c FileReader, o objectstate.Object, ref proxmox.Ref, log logging.Logger) bool {
	if may, err := mayReadFiles(ctx, c, ref.VMID); err != nil || !may {
		log.Debug("Cannot read host keys of guest", "vmid", ref.VMID, "allowed", may, "error", err)
		h.giveUp(o)
		return false
	}
	before := h.Of(o)
	h.Record(o, readHostKeys(ctx, c, ref, func(file string, err error) {
		log.Debug("Cannot read host key of guest", "vmid", ref.VMID, "file", file, "error", err)
	}))
	return h.Of(o) != before
}

// readHostKeys reads the keys that can be read, one per line. A guest need not have each kind. It calls failed for files that cannot be read.
func readHostKeys(ctx context.Context, c FileReader, ref proxmox.Ref, failed func(file string, err error)) string {
	var keys []string
	for _, file := range HostKeyFiles() {
		content, err := c.ReadFile(ctx, ref, file)
		if err != nil {
			failed(file, err)
			continue
		}
		if key := hostKey(content); key != "" {
			keys = append(keys, key)
		}
	}
	return strings.Join(keys, "\n")
}

// hostKey returns the key in a file, without the comment. The guest can write anything there, so hostKey leaves out what is not a key or is too long.
func hostKey(content string) string {
	const longest = 4096
	fields := strings.Fields(content)
	if len(fields) < 2 || len(content) > longest || !strings.HasPrefix(fields[0], "ssh-") && !strings.HasPrefix(fields[0], "ecdsa-sha2-") {
		return ""
	}
	return fields[0] + " " + fields[1]
}
