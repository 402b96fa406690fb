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

package inventory

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// TestUnchanged checks that the options of a VM are read again after a sign that it has changed, even one of ours, and otherwise once in half an hour.
func TestUnchanged(t *testing.T) {
	ours := upidOf("1", "qmmove", "101-scsi1>100-unused0", "we@pve")
	listed := func(t proxmox.Task) func(*pve, *Cluster) {
		return func(p *pve, _ *Cluster) { p.set(func() { p.tasks = []proxmox.Task{t} }) }
	}
	guest := func(g proxmox.Guest) func(*pve, *Cluster) {
		return func(p *pve, _ *Cluster) { p.set(func() { p.guests = []proxmox.Guest{g} }) }
	}
	cases := map[string]struct {
		reason string
		sign   func(*pve, *Cluster)
		pass   time.Duration
		reads  int64
	}{
		"Nothing":  {reason: "A list is kept while nothing happens.", sign: func(*pve, *Cluster) {}, pass: 15 * time.Minute, reads: 1},
		"TooOld":   {reason: "What is not told is seen some time.", sign: func(*pve, *Cluster) {}, pass: Unchanged + time.Second, reads: 2},
		"Task":     {reason: "A task of somebody else has begun.", sign: listed(running(upidOf("1", "qmstart", "100", "root@pam"))), reads: 2},
		"OwnTask":  {reason: "A task of ours has ended.", sign: listed(over(ours)), reads: 2},
		"Other":    {reason: "A task of another VM does not matter.", sign: listed(over(upidOf("1", "qmstart", "102", "root@pam"))), reads: 1},
		"OwnWrite": {reason: "We have changed the VM.", sign: func(_ *pve, c *Cluster) { c.InvalidateGuest(100) }, reads: 2},
		"Log": {reason: "A change without a task has a line in the log.", sign: func(p *pve, _ *Cluster) {
			p.set(func() {
				p.log = []proxmox.LogLine{line("2:pve1", "root@pam", "update VM 100: -delete scsi1"), line("1:pve1", "root@pam", "old")}
			})
		}, reads: 2},
		"Listed":    {reason: "The list says something else of it.", sign: guest(proxmox.Guest{VMID: 100, Name: "b"}), reads: 2},
		"Unlisted":  {reason: "The list has it no more.", sign: guest(proxmox.Guest{VMID: 101}), reads: 2},
		"Missed":    {reason: "Changes may have been missed.", sign: func(_ *pve, c *Cluster) { c.notifyMissed() }, reads: 2},
		"Unwatched": {reason: "Nobody looks for signs.", sign: func(_ *pve, c *Cluster) { c.Unwatch("a") }, pass: time.Minute, reads: 2},
		"WatchedAgain": {reason: "Nobody has looked for signs meanwhile.", sign: func(_ *pve, c *Cluster) {
			c.Unwatch("a")
			c.Watch(c.life, "a", 100, OnChange(func() {}))
		}, reads: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pve{
					guests: []proxmox.Guest{{VMID: 100, Name: "a"}}, privileges: proxmox.Privileges{syslog: true},
					log: []proxmox.LogLine{line("1:pve1", "root@pam", "old")}, ours: map[proxmox.UPID]string{ours: "sure"},
				}
				c := New(p)
				defer c.Close()
				c.Watch(t.Context(), "a", 100, OnChange(func() {}))
				read := func() {
					t.Helper()
					if _, err := c.Options(t.Context(), proxmox.Ref{Node: "pve1", VMID: 100}, Unchanged); err != nil {
						t.Fatal(err)
					}
				}
				read()
				pass(time.Minute)
				read()
				tc.sign(p, c)
				pass(max(tc.pass, time.Minute))
				read()
				if got := p.reads.Load(); got != tc.reads {
					t.Errorf("%s Want it read %d times, got %d", tc.reason, tc.reads, got)
				}
			})
		})
	}
}

// TestUnchangedUnseen checks that a user who cannot see the changes of others reads the options each time.
func TestUnchangedUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pve{}
		c := New(p)
		defer c.Close()
		c.Watch(t.Context(), "a", 100, OnChange(func() {}))
		for range 3 {
			if _, err := c.Options(t.Context(), proxmox.Ref{Node: "pve1", VMID: 100}, Unchanged); err != nil {
				t.Fatal(err)
			}
			pass(Current + time.Second)
		}
		if got := p.reads.Load(); got != 3 {
			t.Errorf("Want 3 reads, got %d", got)
		}
	})
}
