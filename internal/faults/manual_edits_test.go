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

package faults

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// The token for manual edits.
const (
	person       = "root@pam!hand"
	personSecret = "00000000-0000-4000-8000-00000000beef"
)

// firstTheirs is the first VMID of VMs that are created manually.
const firstTheirs = 20000

// enlist creates the token for manual edits.
func (w *env) enlist() {
	w.pve.Edit(func(s *simulator.State) {
		root := s.Users["root@pam"]
		if root.Tokens == nil {
			root.Tokens = map[string]*simulator.Token{}
		}
		root.Tokens["hand"] = &simulator.Token{Secret: personSecret, NoSeparation: true}
	})
}

func diff(before, after *v1alpha1.MachineParameters) string {
	var lines []string
	for line := range strings.SplitSeq(cmp.Diff(before, after), "\n") {
		if strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(lines, " ")
}

// during lets time pass during a call that may wait for PVE.
func (k *randomRun) during(call func()) {
	done := make(chan struct{})
	go func() { defer close(done); call() }()
	slow := time.NewTicker(20 * time.Millisecond)
	defer slow.Stop()
	for {
		select {
		case <-done:
			return
		case <-slow.C:
			k.clock.advance(time.Second)
		}
	}
}

// callTimeout is how long a manual call may take, by the wall clock.
const callTimeout = time.Second

// call calls the API for a manual edit, and returns a description of the result.
func (k *randomRun) call(method, path string, form url.Values) (answer string) {
	k.during(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		answer = k.send(ctx, method, path, form)
	})
	return fmt.Sprintf("%s %s %s: %s", method, path, form.Encode(), answer)
}

func (k *randomRun) send(ctx context.Context, method, path string, form url.Values) string {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(k.pve.CA())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	var body io.Reader
	if method == http.MethodDelete {
		path += "?" + form.Encode()
	} else {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(ctx, method, k.pve.URL()+"/api2/json"+path, body)
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Authorization", "PVEAPIToken="+person+"="+personSecret)
	if body != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return "no answer"
	}
	defer answer.Body.Close() //nolint:errcheck // It was read.
	return answer.Status
}

// A manualEdit is a manual edit of the VM of a Machine.
type manualEdit func(k *randomRun, l *subject, g simulator.Guest, r *rand.Rand) string

// byHand returns a step that does nothing without a VM.
func byHand(do manualEdit) step {
	return func(k *randomRun, l *subject, r *rand.Rand) string {
		g, ok := k.guest()
		if !ok {
			return "no VM"
		}
		return do(k, l, g, r)
	}
}

// calling returns a manual edit with a call of the API.
func calling(method, path string, form func(g simulator.Guest, r *rand.Rand) url.Values) step {
	return byHand(func(k *randomRun, _ *subject, g simulator.Guest, r *rand.Rand) string {
		values := url.Values{}
		if form != nil {
			values = form(g, r)
		}
		return k.call(method, vmPath(g)+path, values)
	})
}

// meddling returns an edit after which disks keep the options that it has set.
func meddling(do step) step {
	return func(k *randomRun, l *subject, r *rand.Rand) string {
		l.edited = true
		return do(k, l, r)
	}
}

// rewiring returns an edit after which networks have options that it has set.
func rewiring(do step) step {
	return func(k *randomRun, l *subject, r *rand.Rand) string {
		l.rewired = true
		return do(k, l, r)
	}
}

// migrating returns an edit that may change the names of local disks.
func migrating(do step) step {
	return func(k *randomRun, l *subject, r *rand.Rand) string {
		l.migrated = true
		return do(k, l, r)
	}
}

// editing returns an edit that may remove the boot order.
func editing(do step) step {
	return func(k *randomRun, l *subject, r *rand.Rand) string {
		told := do(k, l, r)
		l.reordered = l.reordered || strings.Contains(told, "delete=boot")
		return told
	}
}

func vmPath(g simulator.Guest) string { return fmt.Sprintf("/nodes/%s/qemu/%d", g.Node, g.VMID) }

// form returns a form with pairs of names and values.
func form(pairs ...string) func(simulator.Guest, *rand.Rand) url.Values {
	return func(_ simulator.Guest, r *rand.Rand) url.Values {
		i := 2 * r.IntN(len(pairs)/2)
		return url.Values{pairs[i]: {pairs[i+1]}}
	}
}

// drive returns a random disk of a VM.
func drive(g simulator.Guest, r *rand.Rand) string {
	var all []string
	for _, option := range slices.Sorted(maps.Keys(g.Config)) {
		if isDrive(option) && !strings.Contains(g.Config[option], "media=cdrom") {
			all = append(all, option)
		}
	}
	if len(all) == 0 {
		return "scsi0"
	}
	return oneOf(r, all...)
}

func isDrive(option string) bool {
	bus := strings.TrimRight(option, "0123456789")
	return bus != option && slices.Contains([]string{"ide", "sata", "scsi", "virtio"}, bus)
}

// manualEdits returns the manual edits of VMs.
func manualEdits() map[string]step {
	const post, put, remove = http.MethodPost, http.MethodPut, http.MethodDelete
	snapshot := func(g simulator.Guest) string {
		return "/snapshot/" + strings.Join(slices.Sorted(maps.Keys(g.Snapshots))[:min(1, len(g.Snapshots))], "")
	}
	return map[string]step{
		"stop":      calling(post, "/status/stop", nil),
		"shutdown":  calling(post, "/status/shutdown", form("timeout", "5")),
		"start":     calling(post, "/status/start", nil),
		"freeze":    calling(post, "/status/suspend", form("todisk", "0")),
		"hibernate": calling(post, "/status/suspend", form("todisk", "1")),
		"resume":    calling(post, "/status/resume", nil),
		"reset":     calling(post, "/status/reset", nil),
		"reboot":    calling(post, "/status/reboot", nil),
		"edit": editing(calling(put, "/config", form("description", "theirs", "tags", "theirs", "cores", "3", "memory", "768", "name", "theirs",
			"onboot", "1", "cpuunits", "200", "balloon", "0", "protection", "1", "protection", "0", "delete", "description", "delete", "tags", "revert", "cores",
			"delete", "boot", "ostype", "other", "agent", "0", "keyboard", "fr", "hotplug", "0", "ciuser", "theirs"))),
		"pend":   calling(post, "/config", form("cores", "3", "memory", "640", "scsihw", "lsi", "vga", "std")),
		"unwire": rewiring(calling(put, "/config", form("delete", "net0", "delete", "net1", "net0", "e1000,bridge=vmbr1", "net5", "virtio,bridge=vmbr0"))),
		"migrate": migrating(calling(post, "/migrate", func(_ simulator.Guest, r *rand.Rand) url.Values {
			return url.Values{"target": {oneOf(r, "pve1", "pve2", "pve3")}, "online": {"1"}, "with-local-disks": {"1"}}
		})),
		"pull": meddling(calling(put, "/unlink", func(g simulator.Guest, r *rand.Rand) url.Values {
			return url.Values{"idlist": {drive(g, r)}}
		})),
		"shift": meddling(calling(post, "/move_disk", func(g simulator.Guest, r *rand.Rand) url.Values {
			return url.Values{"disk": {drive(g, r)}, "storage": {oneOf(r, "ceph", "local-lvm", "nfs")}, "delete": {oneOf(r, "0", "1")}}
		})),
		"extend": calling(put, "/resize", func(g simulator.Guest, r *rand.Rand) url.Values {
			return url.Values{"disk": {drive(g, r)}, "size": {"+1G"}}
		}),
		"plug":     meddling(calling(put, "/config", form("scsi9", "local-lvm:1", "virtio7", "ceph:1", "ide2", "none,media=cdrom", "delete", "ide2"))),
		"snapshot": calling(post, "/snapshot", form("snapname", "one", "snapname", "two")),
		"rollback": meddling(byHand(func(k *randomRun, _ *subject, g simulator.Guest, _ *rand.Rand) string {
			return k.call(post, vmPath(g)+snapshot(g)+"/rollback", nil)
		})),
		"forget": meddling(byHand(func(k *randomRun, _ *subject, g simulator.Guest, _ *rand.Rand) string {
			return k.call(remove, vmPath(g)+snapshot(g), nil)
		})),
		"copy": byHand(func(k *randomRun, _ *subject, g simulator.Guest, r *rand.Rand) string {
			return k.call(post, vmPath(g)+"/clone", url.Values{"newid": {fmt.Sprint(firstTheirs + r.IntN(1000))}, "full": {"1"}})
		}),
		"lock": byHand(func(k *randomRun, _ *subject, g simulator.Guest, _ *rand.Rand) string {
			k.pve.Edit(func(s *simulator.State) {
				if g := s.Guests[g.VMID]; g.Config["lock"] == "" {
					g.Config["lock"] = "backup"
				}
			})
			return "locked"
		}),
		"unlock": byHand(func(k *randomRun, _ *subject, g simulator.Guest, _ *rand.Rand) string {
			k.pve.Edit(func(s *simulator.State) { unlock(s.Guests[g.VMID]) })
			return "unlocked"
		}),
		"kill": byHand(func(k *randomRun, _ *subject, g simulator.Guest, _ *rand.Rand) string {
			k.pve.Edit(func(s *simulator.State) { s.Guests[g.VMID].Power = simulator.Stopped })
			return "killed"
		}),
		"destroy":   meddling(idle(destroyed)),
		"reuse":     meddling(idle(reused)),
		"identify":  meddling(idle(reidentified)),
		"strip":     strip,
		"forgetful": loseStatus,
	}
}

func unlock(g *simulator.Guest) {
	if g.Config["lock"] == "backup" {
		delete(g.Config, "lock")
	}
}

// idle returns an edit that waits until nothing is in progress and all calls to PVE have arrived. A call that arrives later could not know that it
// changes another VM.
func idle(do manualEdit) step {
	return byHand(func(k *randomRun, l *subject, _ simulator.Guest, r *rand.Rand) string {
		k.drainOf(k.vmid())
		k.watch()
		g, ok := k.guest()
		if !ok {
			return "no VM"
		}
		return do(k, l, g, r)
	})
}

// remove removes a VM and its volumes, like a manual deletion.
func remove(s *simulator.State, vmid int) {
	delete(s.Guests, vmid)
	delete(s.HA, fmt.Sprintf("vm:%d", vmid))
	for _, p := range s.Pools {
		delete(p.VMs, vmid)
	}
	for key, v := range s.Volumes {
		if v.VMID == vmid && v.Content == "images" {
			delete(s.Volumes, key)
		}
	}
}

func destroyed(k *randomRun, _ *subject, g simulator.Guest, _ *rand.Rand) string {
	k.pve.Edit(func(s *simulator.State) { remove(s, g.VMID) })
	return "destroyed"
}

func reused(k *randomRun, _ *subject, g simulator.Guest, r *rand.Rand) string {
	k.pve.Edit(func(s *simulator.State) {
		remove(s, g.VMID)
		node := oneOf(r, "pve1", "pve2", "pve3")
		s.NewGuest(g.VMID, node, map[string]string{"name": "theirs", "scsi0": fmt.Sprintf("ceph:vm-%d-disk-7,size=1G", g.VMID), "memory": "512"})
		s.Volumes[simulator.VolumeKey{Storage: "ceph", Name: fmt.Sprintf("vm-%d-disk-7", g.VMID)}] = &simulator.Volume{
			VMID: g.VMID, Format: "raw", Content: "images", Size: 1 << 30,
		}
	})
	k.theirs(g.VMID)
	return fmt.Sprintf("VM %d is another one", g.VMID)
}

// reidentified replaces a VM by another one with the same options. A running VM can only be replaced by one that was started later.
func reidentified(k *randomRun, _ *subject, g simulator.Guest, _ *rand.Rand) string {
	k.pve.Edit(func(s *simulator.State) {
		now := s.Guests[g.VMID]
		now.Config["smbios1"] = "uuid=11111111-1111-4111-8111-111111111111"
		s.Sequence++
		now.Started, now.PID = k.clock.Now(), s.Sequence
	})
	k.theirs(g.VMID)
	return fmt.Sprintf("VM %d has another UUID", g.VMID)
}

// strip removes annotations of the Machine, like tools that restore backups, if the status also identifies its VM.
func strip(k *randomRun, _ *subject, r *rand.Rand) string {
	if k.m.Observation().UUID == "" {
		return "nobody else knows the VM yet"
	}
	one := oneOf(r, "", object.AnnotationUUID, object.AnnotationDevices, "crossplane.io/external-name")
	k.update(func(m *namespaced.Machine) {
		a := maps.Clone(m.GetAnnotations())
		maps.DeleteFunc(a, func(name, _ string) bool { return one == "" || name == one })
		m.SetAnnotations(a)
	})
	return "annotations " + one
}

// loseStatus clears the status of the Machine, unless only the status identifies its VM.
func loseStatus(k *randomRun, _ *subject, _ *rand.Rand) string {
	if !k.exists(k.t) || k.vmid() == 0 || k.uuid() == "none" {
		return "nobody else knows the VM"
	}
	k.m.Status = namespaced.MachineStatus{}
	if err := k.kube.Status().Update(k.t.Context(), k.m); err != nil {
		k.t.Fatal(err)
	}
	return "no status"
}
