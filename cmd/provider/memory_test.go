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
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func group(name, content string) fstest.MapFS {
	return fstest.MapFS{name: {Data: []byte(content)}}
}

func TestMemoryLimit(t *testing.T) {
	cases := map[string]struct {
		reason string
		group  fstest.MapFS
		want   int64
	}{
		"Version2":   {reason: "A container has a limit.", group: group("memory.max", "268435456\n"), want: 256 << 20},
		"Unlimited":  {reason: "A container may have no limit.", group: group("memory.max", "max\n")},
		"Version1":   {reason: "Older systems have it elsewhere.", group: group("memory/memory.limit_in_bytes", "1048576\n"), want: 1 << 20},
		"Unlimited1": {reason: "There a number says that there is none.", group: group("memory/memory.limit_in_bytes", "9223372036854771712\n")},
		"None":       {reason: "Other systems have no control groups."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := memoryLimit(tc.group); got != tc.want {
				t.Errorf("\n%s\nmemoryLimit(): want %d, got %d", tc.reason, tc.want, got)
			}
		})
	}
}

func TestLimitMemory(t *testing.T) {
	t.Cleanup(func() { debug.SetMemoryLimit(math.MaxInt64) })
	debug.SetMemoryLimit(math.MaxInt64)
	limitMemory(group("memory.max", "max"))
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("without a limit there is none, got %d", got)
	}
	limitMemory(group("memory.max", "1073741800"))
	if got := debug.SetMemoryLimit(-1); got != 858993440 {
		t.Errorf("want 80 %% of the container's memory, got %d", got)
	}
	limitMemory(group("memory.max", "1000000000"))
	if got := debug.SetMemoryLimit(-1); got != 858993440 {
		t.Errorf("a limit that is set stays, got %d", got)
	}
}
