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

package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit in which Linux counts the time of processors, on every architecture that Go runs on.
const clockTick = 10 * time.Millisecond

// usage is what a process uses.
type usage struct {
	// cpu is the time of processors since its start.
	cpu time.Duration
	// resident is its memory now, peak at most; bytes.
	resident, peak int64
}

// usageOf reads what the kernel knows of a process.
func usageOf(pid int) (usage, error) {
	dir := "/proc/" + itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return usage{}, fmt.Errorf("cannot read what the provider uses: %w", err)
	}
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return usage{}, fmt.Errorf("cannot read what the provider uses: %w", err)
	}
	return parseUsage(string(stat), string(status))
}

func parseUsage(stat, status string) (usage, error) {
	// The name of the program, in parentheses, may have blanks in it.
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 13 {
		return usage{}, fmt.Errorf("cannot read the processes' time in %q", stat)
	}
	var u usage
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return usage{}, fmt.Errorf("cannot read the processes' time: %w", err)
		}
		u.cpu += time.Duration(n) * clockTick
	}
	u.resident, u.peak = kilobytes(status, "VmRSS:"), kilobytes(status, "VmHWM:")
	return u, nil
}

// kilobytes reads a line of /proc/PID/status or /proc/meminfo, in bytes; 0 if it is not there.
func kilobytes(text, name string) int64 {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != name {
			continue
		}
		n, err := strconv.ParseInt(fields[1], 10, 64)
		if err == nil {
			return n << 10
		}
	}
	return 0
}

// thisMachine describes where is measured.
func thisMachine() string {
	memory := "unknown memory"
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		memory = fmt.Sprintf("%d GiB of memory", (kilobytes(string(text), "MemTotal:")+1<<29)>>30)
	}
	return fmt.Sprintf("%d cores, %s, %s/%s, %s", runtime.NumCPU(), memory, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
