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
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endTimeout is how long a program that was left behind may take to end before it is killed.
const endTimeout = 5 * time.Second

// becomeSubreaper makes this process the parent of programs that the worker leaves behind, and requests SIGUSR1 for the
// end of its own parent.
func becomeSubreaper() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGUSR1), 0, 0, 0)
}

// workerAttributes puts the worker into a separate process group, because the supervisor forwards the terminal's signals, and makes the kernel end it
// when the supervisor ends.
func workerAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// isolate makes the worker start in a new network namespace.
func isolate(attributes *syscall.SysProcAttr) error {
	attributes.Cloneflags |= syscall.CLONE_NEWNET
	return nil
}

// startLoopback switches the loopback interface on, which is off in a new network namespace.
func startLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket) //nolint:errcheck // Nothing was written.
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, lo); err != nil {
		return err
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo)
}

// endDescendants ends every descendant that is left and returns when there is none.
func endDescendants() {
	deadline := time.Now().Add(endTimeout)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		pids := children(os.Getpid())
		if len(pids) == 0 {
			return
		}
		s := unix.SIGTERM
		if time.Now().After(deadline) {
			s = unix.SIGKILL
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, s)
		}
		reap()
		<-tick.C
	}
}

// reap collects the children that have ended.
func reap() {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if err != nil || pid <= 0 {
			return
		}
	}
}

// children lists the direct children of a process.
func children(parent int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err == nil && parentOf(stat) == parent {
			out = append(out, pid)
		}
	}
	return out
}

// parentOf reads the parent's process id from the content of /proc/PID/stat, or returns -1. The second field, the program's name in parentheses, may
// contain spaces and parentheses itself.
func parentOf(stat []byte) int {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return -1
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 2 {
		return -1
	}
	ppid, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return -1
	}
	return ppid
}
