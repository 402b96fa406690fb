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
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/types"
)

// detailHostKeys is the connection detail that has the public keys by which the
// guest's SSH server shows who it is, one a line.
const detailHostKeys = "sshHostKeys"

// hostKeyFiles are where OpenSSH keeps these keys.
func hostKeyFiles() []string {
	return []string{"/etc/ssh/ssh_host_ed25519_key.pub", "/etc/ssh/ssh_host_ecdsa_key.pub", "/etc/ssh/ssh_host_rsa_key.pub"}
}

// A guest may make its keys some time after its agent answers, and may have none.
const (
	hostKeyTries = 4
	hostKeyRetry = 30 * time.Second

	// hostKeysPace is how far apart guests of one cluster are asked that were started
	// long ago.
	hostKeysPace = time.Minute
)

// hostKeys remembers what guests have told of their keys. It is a memory only:
// what it forgets in a restart is asked again.
type hostKeys struct {
	now func() time.Time

	mu  sync.Mutex
	all map[types.UID]*hostKeyRecord
}

type hostKeyRecord struct {
	keys  string
	boot  time.Time
	tries int
	next  time.Time
}

func newHostKeys(now func() time.Time) *hostKeys {
	return &hostKeys{now: now, all: map[types.UID]*hostKeyRecord{}}
}

// due says whether a guest that started at boot is to be asked now, and takes it
// to be asked. One that has told its keys is asked again after its next start.
func (h *hostKeys) due(mg resource.Managed, boot time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.at(mg, boot)
	if !h.open(r) {
		return false
	}
	r.tries++
	r.next = h.now().Add(hostKeyRetry << r.tries)
	return true
}

// wait says whether due would be true.
func (h *hostKeys) wait(mg resource.Managed, boot time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open(h.at(mg, boot))
}

func (h *hostKeys) open(r *hostKeyRecord) bool {
	return r.tries != hostKeyTries && !h.now().Before(r.next)
}

// at is what is known of a guest that started at boot.
func (h *hostKeys) at(mg resource.Managed, boot time.Time) *hostKeyRecord {
	r := h.all[mg.GetUID()]
	if r == nil {
		r = &hostKeyRecord{}
		h.all[mg.GetUID()] = r
	}
	if boot.Sub(r.boot).Abs() > time.Minute { // Uptimes are in whole seconds, and some old.
		r.boot, r.tries, r.next = boot, 0, time.Time{}
	}
	return r
}

// keep what a guest told, which is asked no more until its next start. One that tells
// nothing keeps what it told before.
func (h *hostKeys) keep(mg resource.Managed, keys string) {
	if keys != "" {
		h.note(mg, func(r *hostKeyRecord) { r.tries, r.keys = hostKeyTries, keys })
	}
}

// giveUp asking a guest until its next start.
func (h *hostKeys) giveUp(mg resource.Managed) {
	h.note(mg, func(r *hostKeyRecord) { r.tries = hostKeyTries })
}

// note something of a guest, unless its Machine has gone while it was asked.
func (h *hostKeys) note(mg resource.Managed, what func(*hostKeyRecord)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.all[mg.GetUID()]; r != nil {
		what(r)
	}
}

func (h *hostKeys) of(mg resource.Managed) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.all[mg.GetUID()]; r != nil {
		return r.keys
	}
	return ""
}

func (h *hostKeys) forget(mg resource.Managed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, mg.GetUID())
}

// wantsHostKeys says whether somebody wants host keys that the guest may have.
func (e *external) wantsHostKeys(m Machine) bool {
	return connectionSecret(m).Name != "" && !strings.HasPrefix(e.vm.Config["ostype"], "w")
}

// hostKeysWanted says whether a guest whose agent answers is to be asked for its keys,
// which it is once for each start. Those that were started long ago are asked one
// after another: after a restart of this provider all would be at once.
func (e *external) hostKeysWanted(m Machine, boot time.Time) bool {
	return e.wantsHostKeys(m) && e.hostKeys.wait(m, boot) &&
		(e.vm.Status.Uptime < addressesWithin || e.agents.takeSlot(e.inventory, hostKeysPace))
}

// withHostKeys adds the guest's host keys to connection details that somebody
// wants.
func (e *external) withHostKeys(m Machine, d managed.ConnectionDetails) managed.ConnectionDetails {
	if !e.wantsHostKeys(m) {
		return d
	}
	if keys := e.hostKeys.of(m); keys != "" {
		d[detailHostKeys] = []byte(keys)
	}
	return d
}

// askHostKeys reads those of the keys that can be read, and says whether they are
// others than before: a guest need not have each kind, and the token need not be
// allowed to read files.
func (e *external) askHostKeys(ctx context.Context, m Machine) bool {
	if may, err := e.mayReadFiles(ctx); err != nil || !may {
		e.log.Debug("Cannot read host keys of guest", "vmid", e.vm.VMID, "allowed", may, "error", err)
		e.hostKeys.giveUp(m)
		return false
	}
	var keys []string
	for _, file := range hostKeyFiles() {
		content, err := e.client.ReadFile(ctx, e.vm.Ref, file)
		if err != nil {
			e.log.Debug("Cannot read host key of guest", "vmid", e.vm.VMID, "file", file, "error", err)
			continue
		}
		if key := hostKey(content); key != "" {
			keys = append(keys, key)
		}
	}
	before := e.hostKeys.of(m)
	e.hostKeys.keep(m, strings.Join(keys, "\n"))
	return e.hostKeys.of(m) != before
}

// mayReadFiles says whether the token may have the agent read files: reading is
// for who is given it in addition, and is not to be refused at each start.
func (e *external) mayReadFiles(ctx context.Context) (bool, error) {
	path := "/vms/" + strconv.Itoa(e.vm.VMID)
	all, err := e.client.Permissions(ctx, path)
	for _, privilege := range []string{"VM.GuestAgent.FileRead", "VM.GuestAgent.Unrestricted", "VM.Monitor"} {
		if _, has := all[path][privilege]; has {
			return true, nil
		}
	}
	return false, err
}

// hostKey is the key in a file, without what the guest says beside it. The file is
// the guest's: what is no key, or too long to be one, is left out.
func hostKey(content string) string {
	const longest = 4096
	fields := strings.Fields(content)
	if len(fields) < 2 || len(content) > longest || !strings.HasPrefix(fields[0], "ssh-") && !strings.HasPrefix(fields[0], "ecdsa-sha2-") {
		return ""
	}
	return fields[0] + " " + fields[1]
}
