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
	"strconv"
	"time"
)

// power starts a task that changes the power state of a VM. PVE starts most of these without checks, so only the task fails if the VM is missing or
// locked.
func (c GuestAPI) power(ctx context.Context, ref Ref, action string, form map[string]string) (UPID, error) {
	r := machine(action, http.MethodPost, ref, "/status/"+action)
	r.form = form
	return c.start(ctx, ref, r)
}

// Start starts a VM. If HA manages the VM, the task ends before the VM is running.
func (c GuestAPI) Start(ctx context.Context, ref Ref) (UPID, error) {
	return c.power(ctx, ref, "start", nil)
}

// StopOptions describes how to stop a VM.
type StopOptions struct {
	// OverruleShutdown ends a running shutdown of the VM, which would otherwise prevent the stop. It needs PVE 8.
	OverruleShutdown bool
}

// Stop stops a VM at once, like a power failure.
func (c GuestAPI) Stop(ctx context.Context, ref Ref, o StopOptions) (UPID, error) {
	form := map[string]string{}
	if o.OverruleShutdown {
		form["overrule-shutdown"] = "1"
	}
	return c.power(ctx, ref, "stop", form)
}

// ShutdownOptions describes how to shut down a VM.
type ShutdownOptions struct {
	// Timeout to wait for the guest, in whole seconds. Zero is PVE's default.
	Timeout time.Duration

	// ForceStop stops the VM after the timeout. Without it, the task fails.
	ForceStop bool
}

// Shutdown requests the guest to shut down. A guest that is still booting does not react, and the task fails after its timeout.
func (c GuestAPI) Shutdown(ctx context.Context, ref Ref, o ShutdownOptions) (UPID, error) {
	form := timeoutForm(o.Timeout)
	if o.ForceStop {
		form["forceStop"] = "1"
	}
	return c.power(ctx, ref, "shutdown", form)
}

// RebootOptions describes how to reboot a VM.
type RebootOptions struct {
	// Timeout to wait for the guest, in whole seconds. Zero is PVE's default.
	Timeout time.Duration
}

// Reboot shuts down a VM and starts it again, which applies pending changes. The task ends before the VM is running again.
func (c GuestAPI) Reboot(ctx context.Context, ref Ref, o RebootOptions) (UPID, error) {
	return c.power(ctx, ref, "reboot", timeoutForm(o.Timeout))
}

func timeoutForm(d time.Duration) map[string]string {
	if d <= 0 {
		return map[string]string{}
	}
	return map[string]string{"timeout": strconv.Itoa(int(d.Round(time.Second) / time.Second))}
}

// Reset resets a running VM, like its reset button. Pending changes stay pending.
func (c GuestAPI) Reset(ctx context.Context, ref Ref) (UPID, error) {
	return c.power(ctx, ref, "reset", nil)
}

// SuspendOptions describes how to suspend a VM.
type SuspendOptions struct {
	// ToDisk saves the VM's memory and stops it. Without it, the VM is paused.
	ToDisk bool
}

// Suspend suspends a running VM.
func (c GuestAPI) Suspend(ctx context.Context, ref Ref, o SuspendOptions) (UPID, error) {
	form := map[string]string{}
	if o.ToDisk {
		form["todisk"] = "1"
	}
	return c.power(ctx, ref, "suspend", form)
}

// Resume resumes a paused VM, or starts one that was suspended to disk.
func (c GuestAPI) Resume(ctx context.Context, ref Ref) (UPID, error) {
	return c.power(ctx, ref, "resume", nil)
}
