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
	"io/fs"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryShare is the share of a container's memory that the garbage collector aims to stay within, in percent. The rest is for memory that the garbage
// collector does not count: of the chart's 256 MiB, the pages of the program itself take almost 50.
const memoryShare = 80

// limitMemory lets the garbage collector work harder when the memory of the container runs short, so that the container is not killed. GOMEMLIMIT takes
// precedence if it is set. The folder is that of the container's control group.
func limitMemory(group fs.FS) {
	if debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return
	}
	if limit := memoryLimit(group); limit > 0 {
		debug.SetMemoryLimit(limit / 100 * memoryShare)
	}
}

// memoryLimit returns the memory limit of a control group, of version 2 or 1, in bytes; 0 if there is none.
func memoryLimit(group fs.FS) int64 {
	for _, name := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		text, err := fs.ReadFile(group, name)
		if err != nil {
			continue
		}
		// "max" means that there is no limit, and so does a number beyond all memory in version 1.
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && limit < math.MaxInt64/2 {
			return limit
		}
	}
	return 0
}
