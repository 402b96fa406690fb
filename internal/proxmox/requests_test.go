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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const startUPID = "UPID:pve1:00000EF8:000629DA:6B00B985:qmstart:100:tester@pve!full:"

func task(_ UPID, err error) error { return err }

func TestRequests(t *testing.T) {
	full := true
	const qemu = "/api2/json/nodes/pve1/qemu"
	type want struct {
		Method, Path, Query string
		Form                map[string]string
	}
	cases := map[string]struct {
		reason string
		call   func(context.Context, *Client) error
		want   want
	}{
		"Create": {
			reason: "The VMID goes with the parameters.",
			call:   func(ctx context.Context, c *Client) error { return task(c.Create(ctx, vm100, Params{"name": "a"})) },
			want:   want{http.MethodPost, qemu, "", map[string]string{"vmid": "100", "name": "a"}},
		},
		"CreateEmpty": {
			reason: "A VM needs no parameters.",
			call:   func(ctx context.Context, c *Client) error { return task(c.Create(ctx, vm100, nil)) },
			want:   want{http.MethodPost, qemu, "", map[string]string{"vmid": "100"}},
		},
		"CloneDefault": {
			reason: "What is left open is left to PVE.",
			call:   func(ctx context.Context, c *Client) error { return task(c.Clone(ctx, vm100, CloneOptions{NewID: 101})) },
			want:   want{http.MethodPost, qemu + "/100/clone", "", map[string]string{"newid": "101"}},
		},
		"CloneFull": {
			reason: "All options have their names.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.Clone(ctx, vm100, CloneOptions{
					NewID: 101, Name: "n", Description: "d", Pool: "p", Snapshot: "s", Storage: "st", Format: "raw", TargetNode: "pve2", Full: &full,
				}))
			},
			want: want{http.MethodPost, qemu + "/100/clone", "", map[string]string{
				"newid": "101", "name": "n", "description": "d", "pool": "p", "snapname": "s", "storage": "st", "format": "raw", "target": "pve2", "full": "1",
			}},
		},
		"Configure": {
			reason: "Set, delete and digest in one request.",
			call: func(ctx context.Context, c *Client) error {
				return c.Configure(ctx, vm100, Change{Set: Params{"cores": "2"}, Delete: []string{"tags", "net1"}, Digest: "abc"})
			},
			want: want{http.MethodPut, qemu + "/100/config", "", map[string]string{"cores": "2", "delete": "tags,net1", "digest": "abc"}},
		},
		"ConfigureAsync": {
			reason: "The same as a task.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.ConfigureAsync(ctx, vm100, Change{Delete: []string{"unused0"}}))
			},
			want: want{http.MethodPost, qemu + "/100/config", "", map[string]string{"delete": "unused0"}},
		},
		"ConfigureDestroy": {
			reason: "Disks go with their data if told.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.ConfigureAsync(ctx, vm100, Change{Delete: []string{"scsi1"}, Destroy: true, Digest: "abc"}))
			},
			want: want{http.MethodPost, qemu + "/100/config", "", map[string]string{"delete": "scsi1", "force": "1", "digest": "abc"}},
		},
		"JoinPool": {
			reason: "A pool with its parents is a parameter.",
			call:   func(ctx context.Context, c *Client) error { return c.JoinPool(ctx, "a/b", 100) },
			want:   want{http.MethodPut, "/api2/json/pools", "", map[string]string{"poolid": "a/b", "vms": "100", "allow-move": "1"}},
		},
		"LeavePool": {
			reason: "One member goes, the others stay.",
			call:   func(ctx context.Context, c *Client) error { return c.LeavePool(ctx, "a/b", 100) },
			want:   want{http.MethodPut, "/api2/json/pools", "", map[string]string{"poolid": "a/b", "vms": "100", "delete": "1"}},
		},
		"AddHAResource": {
			reason: "A VM has its name in HA.",
			call: func(ctx context.Context, c *Client) error {
				return c.AddHAResource(ctx, 100, HASettings{"state": "stopped"})
			},
			want: want{http.MethodPost, "/api2/json/cluster/ha/resources", "", map[string]string{"sid": "vm:100", "state": "stopped"}},
		},
		"ChangeHAResource": {
			reason: "What is empty is left to its default.",
			call: func(ctx context.Context, c *Client) error {
				return c.ChangeHAResource(ctx, 100, HASettings{"state": "started", "group": ""})
			},
			want: want{http.MethodPut, "/api2/json/cluster/ha/resources/vm:100", "", map[string]string{"state": "started", "delete": "group"}},
		},
		"RemoveHAResource": {
			reason: "Removing a resource of HA has no parameters.",
			call:   func(ctx context.Context, c *Client) error { return c.RemoveHAResource(ctx, 100) },
			want:   want{http.MethodDelete, "/api2/json/cluster/ha/resources/vm:100", "", map[string]string{}},
		},
		"LeaveHA": {
			reason: "A resource of HA may go without its rules.",
			call:   func(ctx context.Context, c *Client) error { return c.LeaveHA(ctx, 100) },
			want:   want{http.MethodDelete, "/api2/json/cluster/ha/resources/vm:100", "purge=0", map[string]string{}},
		},
		"AddHARule": {
			reason: "A rule about nodes has the nodes and whether others will do.",
			call: func(ctx context.Context, c *Client) error {
				return c.AddHARule(ctx, HARule{Name: "r", Type: HANodeAffinity, Resources: []string{"vm:100"}, Nodes: []string{"pve1", "pve2"}, Strict: true, Comment: "x"})
			},
			want: want{
				http.MethodPost, "/api2/json/cluster/ha/rules", "",
				map[string]string{"rule": "r", "type": "node-affinity", "resources": "vm:100", "nodes": "pve1,pve2", "strict": "1", "comment": "x"},
			},
		},
		"AddHAGroup": {
			reason: "A group is another kind of thing.",
			call: func(ctx context.Context, c *Client) error {
				return c.AddHARule(ctx, HARule{Name: "g", Type: HAGroup, Nodes: []string{"pve1"}})
			},
			want: want{http.MethodPost, "/api2/json/cluster/ha/groups", "", map[string]string{"group": "g", "nodes": "pve1", "restricted": "0"}},
		},
		"ChangeHARule": {
			reason: "A rule between resources is changed as it was read.",
			call: func(ctx context.Context, c *Client) error {
				return c.ChangeHARule(ctx, HARule{Name: "r", Type: HAResourceAffinity, Resources: []string{"vm:100", "vm:101"}, Affinity: HANegative, Digest: "abc"})
			},
			want: want{
				http.MethodPut, "/api2/json/cluster/ha/rules/r", "",
				map[string]string{"type": "resource-affinity", "resources": "vm:100,vm:101", "affinity": "negative", "digest": "abc"},
			},
		},
		"RemoveHARule": {
			reason: "Removing a rule has no parameters.",
			call: func(ctx context.Context, c *Client) error {
				return c.RemoveHARule(ctx, HARule{Name: "r", Type: HANodeAffinity})
			},
			want: want{http.MethodDelete, "/api2/json/cluster/ha/rules/r", "", map[string]string{}},
		},
		"RemoveHAGroup": {
			reason: "A group is removed where it is.",
			call: func(ctx context.Context, c *Client) error {
				return c.RemoveHARule(ctx, HARule{Name: "g", Type: HAGroup})
			},
			want: want{http.MethodDelete, "/api2/json/cluster/ha/groups/g", "", map[string]string{}},
		},
		"RemoveReplication": {
			reason: "A job goes with the copies that it has made.",
			call:   func(ctx context.Context, c *Client) error { return c.RemoveReplication(ctx, "100-0") },
			want:   want{http.MethodDelete, "/api2/json/cluster/replication/100-0", "", map[string]string{}},
		},
		"Resize": {
			reason: "A size and a digest.",
			call:   func(ctx context.Context, c *Client) error { return task(c.Resize(ctx, vm100, "scsi0", "32G", "abc")) },
			want:   want{http.MethodPut, qemu + "/100/resize", "", map[string]string{"disk": "scsi0", "size": "32G", "digest": "abc"}},
		},
		"MoveDisk": {
			reason: "The source stays unless told.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.MoveDisk(ctx, vm100, MoveOptions{Disk: "scsi0", Storage: "st", Format: "raw"}))
			},
			want: want{http.MethodPost, qemu + "/100/move_disk", "", map[string]string{"disk": "scsi0", "storage": "st", "format": "raw", "delete": "0"}},
		},
		"ReassignDisk": {
			reason: "The configurations of both VMs are what was looked at.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.ReassignDisk(ctx, vm100, ReassignOptions{Disk: "unused0", Target: 101, TargetDisk: "unused1", Digest: "abc", TargetDigest: "def"}))
			},
			want: want{http.MethodPost, qemu + "/100/move_disk", "", map[string]string{
				"disk": "unused0", "target-vmid": "101", "target-disk": "unused1", "digest": "abc", "target-digest": "def",
			}},
		},
		"Migrate": {
			reason: "Offline on shared storage.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.Migrate(ctx, vm100, MigrateOptions{Target: "pve2"}))
			},
			want: want{http.MethodPost, qemu + "/100/migrate", "", map[string]string{"target": "pve2"}},
		},
		"MigrateOnline": {
			reason: "A VM that runs moves online with its disks.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.Migrate(ctx, vm100, MigrateOptions{Target: "pve2", Online: true, WithLocalDisks: true, TargetStorage: "st"}))
			},
			want: want{http.MethodPost, qemu + "/100/migrate", "", map[string]string{"target": "pve2", "online": "1", "with-local-disks": "1", "targetstorage": "st"}},
		},
		"Template": {
			reason: "Making a template has no parameters.",
			call:   func(ctx context.Context, c *Client) error { return task(c.ConvertToTemplate(ctx, vm100)) },
			want:   want{http.MethodPost, qemu + "/100/template", "", map[string]string{}},
		},
		"VMIDTaken": {
			reason: "The VMID is in the query.",
			call: func(ctx context.Context, c *Client) error {
				_, err := c.VMIDTaken(ctx, 100)
				return err
			},
			want: want{http.MethodGet, "/api2/json/cluster/nextid", "vmid=100", map[string]string{}},
		},
		"Start": {
			reason: "A start has no parameters.",
			call:   func(ctx context.Context, c *Client) error { return task(c.Start(ctx, vm100)) },
			want:   want{http.MethodPost, qemu + "/100/status/start", "", map[string]string{}},
		},
		"Stop": {
			reason: "A stop has no parameters by itself.",
			call:   func(ctx context.Context, c *Client) error { return task(c.Stop(ctx, vm100, StopOptions{})) },
			want:   want{http.MethodPost, qemu + "/100/status/stop", "", map[string]string{}},
		},
		"StopOverrule": {
			reason: "A shutdown may be in the way.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.Stop(ctx, vm100, StopOptions{OverruleShutdown: true}))
			},
			want: want{http.MethodPost, qemu + "/100/status/stop", "", map[string]string{"overrule-shutdown": "1"}},
		},
		"Shutdown": {
			reason: "Seconds, and the plug at their end.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.Shutdown(ctx, vm100, ShutdownOptions{Timeout: time.Minute, ForceStop: true}))
			},
			want: want{http.MethodPost, qemu + "/100/status/shutdown", "", map[string]string{"timeout": "60", "forceStop": "1"}},
		},
		"Reboot": {
			reason: "The timeout of a reboot is in seconds.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.Reboot(ctx, vm100, RebootOptions{Timeout: time.Minute}))
			},
			want: want{http.MethodPost, qemu + "/100/status/reboot", "", map[string]string{"timeout": "60"}},
		},
		"Reset": {
			reason: "A reset has no parameters.",
			call:   func(ctx context.Context, c *Client) error { return task(c.Reset(ctx, vm100)) },
			want:   want{http.MethodPost, qemu + "/100/status/reset", "", map[string]string{}},
		},
		"Suspend": {
			reason: "A VM may be suspended to disk.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.Suspend(ctx, vm100, SuspendOptions{ToDisk: true}))
			},
			want: want{http.MethodPost, qemu + "/100/status/suspend", "", map[string]string{"todisk": "1"}},
		},
		"Resume": {
			reason: "Resuming a VM has no parameters.",
			call:   func(ctx context.Context, c *Client) error { return task(c.Resume(ctx, vm100)) },
			want:   want{http.MethodPost, qemu + "/100/status/resume", "", map[string]string{}},
		},
		"Delete": {
			reason: "Nothing but the VM goes.",
			call:   func(ctx context.Context, c *Client) error { return task(c.Delete(ctx, vm100, DeleteOptions{})) },
			want:   want{http.MethodDelete, qemu + "/100", "", map[string]string{}},
		},
		"DeletePurge": {
			reason: "The VM goes with its jobs.",
			call: func(ctx context.Context, c *Client) error {
				return task(c.Delete(ctx, vm100, DeleteOptions{Purge: true}))
			},
			want: want{http.MethodDelete, qemu + "/100", "purge=1", map[string]string{}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pve := fixed(t, ok(`"`+startUPID+`"`))
			if err := tc.call(background(), pve.client(t, func(c *Config) { c.UserAgent = "provider-proxmox/test" })); err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			a := pve.asked()[0]
			if diff := cmp.Diff(tc.want, want{a.method, a.path, a.query, form(t, a.body)}); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if got := a.header.Get("User-Agent"); got != "provider-proxmox/test" {
				t.Errorf("User-Agent: got %q", got)
			}
		})
	}
}

func TestTasksThatPVEStarts(t *testing.T) {
	got, err := fixed(t, ok(`"`+startUPID+`"`)).client(t).Start(background(), vm100)
	if err != nil || got != startUPID {
		t.Errorf("Start(...): got %q and error %v, want the UPID", got, err)
	}
	got, err = fixed(t, ok("null")).client(t).ConfigureAsync(background(), vm100, Change{Set: Params{"cores": "2"}})
	if err != nil || got != "" {
		t.Errorf("ConfigureAsync(...) without a task: got %q and error %v", got, err)
	}
}

func TestEmptyChangeIsNotSent(t *testing.T) {
	pve := fixed(t, ok("null"))
	c := pve.client(t)
	if err := c.Configure(background(), vm100, Change{Digest: "abc"}); err != nil {
		t.Error(err)
	}
	if _, err := c.ConfigureAsync(background(), vm100, Change{Set: Params{}}); err != nil {
		t.Error(err)
	}
	if n := len(pve.asked()); n != 0 {
		t.Errorf("requests: got %d, want none", n)
	}
}

func TestParamsAreNotChanged(t *testing.T) {
	p := Params{"name": "a"}
	if _, err := fixed(t, ok("null")).client(t).Create(background(), vm100, p); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Params{"name": "a"}, p); diff != "" {
		t.Errorf("the caller's parameters: -want, +got:\n%s", diff)
	}
}
