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
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// run is the folder of one launch. The supervisor holds a lock in it, which distinguishes it from a folder that was left behind.
type run struct {
	path string
	lock *os.File
}

// lockName is the file that the supervisor of a run keeps locked.
const lockName = "lock"

// newRun creates a run folder and removes those whose supervisor has ended.
func newRun(runs, name string) (*run, error) {
	if err := os.MkdirAll(runs, 0o750); err != nil {
		return nil, err
	}
	// A launch that starts at the same time must not remove the new folder before it is locked.
	mutex, err := os.OpenFile(filepath.Join(runs, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer mutex.Close() //nolint:errcheck // Closing releases the lock.
	if err := unix.Flock(int(mutex.Fd()), unix.LOCK_EX); err != nil {
		return nil, err
	}

	removeStale(runs)
	path, err := os.MkdirTemp(runs, name+"-")
	if err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(path, lockName))
	if err != nil {
		return nil, err
	}
	return &run{path: path, lock: lock}, nil
}

func removeStale(runs string) {
	stale, _ := filepath.Glob(filepath.Join(runs, "*", lockName))
	for _, path := range stale {
		lock, err := lockFile(path)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(filepath.Dir(path))
		_ = lock.Close()
	}
}

// lockFile creates and locks a file. It fails at once if another process has locked it.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// remove removes the folder.
func (r *run) remove() {
	_ = os.RemoveAll(r.path)
	_ = r.lock.Close()
}

// keepLogs removes everything but the logs of all folders, which explain the failure, and the lock, by which the next launch
// recognizes the folder and removes it.
func (r *run) keepLogs() {
	keepLogsIn(r.path)
	_ = r.lock.Close()
}

func keepLogsIn(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			keepLogsIn(path)
		} else if filepath.Ext(path) != ".log" && e.Name() != lockName {
			_ = os.Remove(path)
		}
	}
	_ = os.Remove(dir) // It fails if the folder is not empty.
}
