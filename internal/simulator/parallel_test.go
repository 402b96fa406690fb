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
	"fmt"
	"sync"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	luthermonson "github.com/luthermonson/go-proxmox"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// TestParallel runs several users on one cluster at the same time. At the end nothing of them must be left.
func TestParallel(t *testing.T) {
	s := simulatortest.NewTest(t, simulator.Options{Speed: 100}) // The lock timeout is ten seconds, which must not be shorter than the work takes here.
	c := luthermonson.NewClient(s.URL()+"/api2/json", luthermonson.WithHTTPClient(httpClient(t, s)),
		luthermonson.WithAPIToken(simulatortest.TestToken, simulatortest.TestSecret))
	before := len(s.Tasks())
	wg := sync.WaitGroup{}
	failures := make(chan error, 100)
	for user := range 6 {
		wg.Go(func() {
			for round := range 3 {
				if err := life(t, c, 1000+10*user+round); err != nil {
					failures <- err
				}
			}
		})
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	if got, want := len(s.Tasks())-before, 6*3*4; got < want {
		t.Errorf("%d tasks, want %d at least", got, want)
	}
	s.Edit(func(st *state.State) {
		for vmid := range st.Guests {
			if vmid >= 1000 && vmid < 9000 {
				t.Errorf("VM %d is left", vmid)
			}
		}
		for key, v := range st.Volumes {
			if v.VMID >= 1000 && v.VMID < 9000 {
				t.Errorf("volume %v is left", key)
			}
		}
	})
}

// life runs the life cycle of one machine: cloned, started, stopped, destroyed.
func life(t *testing.T, c *luthermonson.Client, vmid int) error {
	t.Helper()
	ctx := t.Context()
	path := fmt.Sprintf("/nodes/pve1/qemu/%d", vmid)
	for _, step := range []func(*luthermonson.UPID) error{
		func(u *luthermonson.UPID) error {
			return c.Post(ctx, "/nodes/pve1/qemu/9000/clone", map[string]any{"newid": vmid, "name": fmt.Sprintf("vm-%d", vmid)}, u)
		},
		func(u *luthermonson.UPID) error { return c.Post(ctx, path+"/status/start", nil, u) },
		func(u *luthermonson.UPID) error { return c.Post(ctx, path+"/status/stop", nil, u) },
		func(u *luthermonson.UPID) error { return c.Delete(ctx, path+"?purge=1", u) },
	} {
		upid := luthermonson.UPID("")
		if err := step(&upid); err != nil {
			return errors.Wrapf(err, "VM %d", vmid)
		}
		task := luthermonson.NewTask(upid, c)
		if err := await(t, task); err != nil {
			return errors.Wrapf(err, "VM %d", vmid)
		}
	}
	return nil
}

// await reads a task until it has ended successfully.
func await(t *testing.T, task *luthermonson.Task) error {
	t.Helper()
	for {
		if err := task.Ping(t.Context()); err != nil {
			return err
		}
		if task.Status == "stopped" && task.ExitStatus != "OK" {
			return errors.Errorf("%s: %s", task.UPID, task.ExitStatus)
		}
		if task.Status == "stopped" {
			return nil
		}
	}
}
