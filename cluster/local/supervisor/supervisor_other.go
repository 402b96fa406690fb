//go:build !linux

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

package supervisor

import (
	"errors"
	"syscall"
)

// becomeSubreaper does nothing: only Linux makes a process the parent of its children's descendants.
func becomeSubreaper() {}

// workerAttributes puts the worker into a separate process group, because the supervisor forwards the terminal's signals.
func workerAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// isolate returns an error: only Linux has network namespaces.
func isolate(*syscall.SysProcAttr) error { return errors.New("cannot isolate a task: it needs Linux") }

// startLoopback does nothing: no task is isolated here.
func startLoopback() error { return nil }

// endDescendants does nothing: on this system only the worker stops the programs that it started.
func endDescendants() {}
