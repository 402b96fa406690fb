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

package simulator_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func save(t *testing.T, s *simulator.Server) string {
	t.Helper()
	b := &bytes.Buffer{}
	if err := s.WriteState(b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestState(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Version: "8.4"})
	c := connect(t, s)
	c.task("POST /nodes/pve1/qemu/9000/clone", "newid=300", "name=kept", "full=1", "storage=local-lvm")
	c.ok("PUT /nodes/pve1/qemu/300/config", "tags=blue", "cipassword=hidden")
	c.task("POST /nodes/pve1/qemu/300/status/start")
	c.ok("PUT /nodes/pve1/qemu/300/config", "cores=3")
	c.task("POST /nodes/pve1/qemu/300/snapshot", "snapname=one")
	ticket, _ := (&client{
		t: t, server: s, header: map[string]string{},
	}).ok("POST /access/ticket", "username=crossplane@pve", "password=crossplane").Data.(map[string]any)
	text := save(t, s)

	again := simulatortest.NewTest(t, simulator.Options{State: strings.NewReader(text)})
	if diff := cmp.Diff(text, save(t, again)); diff != "" {
		t.Errorf("what is written is not what was read: -want +got:\n%s", diff)
	}
	c2 := connect(t, again)
	for _, path := range []string{
		"/version", "/nodes/pve1/qemu/300/pending", "/nodes/pve1/qemu/300/snapshot", "/nodes/pve1/storage/local-lvm/content",
		"/nodes/pve1/qemu/300/agent/network-get-interfaces", "/cluster/tasks", "/cluster/log", "/access/permissions", "/nodes/pve1/network",
	} {
		if diff := cmp.Diff(c.do("GET "+path).Body, c2.do("GET "+path).Body); diff != "" {
			t.Errorf("%s: -before +after:\n%s", path, diff)
		}
	}
	text, _ = ticket["ticket"].(string)
	(&client{t: t, server: again, header: map[string]string{}}).with("Cookie", "PVEAuthCookie="+strings.ReplaceAll(text, "+", "%2B")).ok("GET /version")
}

// TestStateOfRunningTask ends a task like a crash.
func TestStateOfRunningTask(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Speed: 0.001})
	upid, _ := connect(t, s).ok("POST /nodes/pve1/qemu/9000/clone", "newid=300").Data.(string)
	for there := false; !there; _, there = s.Guest(300) {
		runtime.Gosched() // The task first creates the clone's configuration.
	}
	again := simulatortest.NewTest(t, simulator.Options{State: strings.NewReader(save(t, s))})
	c := connect(t, again)
	status, _ := c.ok("GET /nodes/pve1/tasks/" + upid + "/status").Data.(map[string]any)
	if status["status"] != "stopped" || status["exitstatus"] != "unexpected status" {
		t.Errorf("the task: %v", status)
	}
	if got := c.do("PUT /nodes/pve1/qemu/300/config", "cores=1").Line; got != "500 VM is locked (clone)" {
		t.Errorf("the clone that was not finished: %s", got)
	}
}

func TestStateRefuses(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{})
	good := save(t, s)
	for name, tc := range map[string]struct{ reason, text, version, want string }{
		"Empty":   {reason: "An empty file is no state.", want: "it was not written by pve-simulator"},
		"Foreign": {reason: "Another file is no state.", text: "version: \"9.2\"\nnodes: []\n", want: "it was not written by pve-simulator"},
		"Newer": {
			reason: "Other versions are not understood.", text: strings.Replace(good, " 1 ", " 2 ", 1),
			want: `it is of version "2", and this program knows version 1`,
		},
		"Cut":     {reason: "Half a file is damaged.", text: good[:len(good)/2], want: "it is damaged"},
		"Changed": {reason: "A file that was changed is damaged.", text: strings.Replace(good, "pve1", "pve9", 1), want: "it is damaged"},
		"Release": {reason: "A state stays with its release of PVE.", text: good, version: "8.4", want: "it is of Proxmox VE 9.2, not 8.4"},
		"NoObject": {
			reason: "The content must be a state.",
			text:   "pve-simulator-state 1 " + "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945" + "\n[]\n", want: "it is damaged",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := simulator.New(simulator.Options{State: strings.NewReader(tc.text), Version: tc.version})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// TestStateIsComplete finds fields that the saved state would lose, because JSON ignores unexported fields.
func TestStateIsComplete(t *testing.T) {
	forgotten := map[string]bool{
		"Guest.Report": true, "Guest.Sizes": true, // They are reported and read again.
		"Task.Cancel": true, "Task.Stopped": true, "Task.Gone": true, // No task is running.
		"State.Viewer":      true,                                                 // A node is the viewer for one call.
		"HAManager.Beating": true, "HAManager.Busy": true, "HANode.Watched": true, // HA is not running either.
	}
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(at reflect.Type) {
		if seen[at] {
			return
		}
		seen[at] = true
		switch at.Kind() { //nolint:exhaustive // Only some kinds have parts or a form.
		case reflect.Pointer, reflect.Slice:
			walk(at.Elem())
		case reflect.Map:
			walk(at.Key())
			walk(at.Elem())
		case reflect.Struct:
			if at.PkgPath() != reflect.TypeFor[state.State]().PkgPath() {
				return
			}
			for field := range at.Fields() {
				name := at.Name() + "." + field.Name
				if saved := field.IsExported() && field.Tag.Get("json") != "-"; saved == forgotten[name] {
					t.Errorf("%s: saved is %t", name, saved)
				}
				if !forgotten[name] {
					walk(field.Type)
				}
			}
		case reflect.Interface, reflect.Func, reflect.Chan:
			t.Errorf("a state has a %s, which cannot be saved", at)
		}
	}
	walk(reflect.TypeFor[state.State]())
}

func TestVolumeKeys(t *testing.T) {
	want := map[state.VolumeKey]int{{Storage: "local", Node: "pve1", Name: "iso/a:b.iso"}: 1, {Storage: "ceph", Name: "vm-1-disk-0"}: 2}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := map[state.VolumeKey]int{}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
