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
	"strconv"
	"strings"
	"time"
)

// A UPID is PVE's name of a task,
// UPID:node:pid:pstart:starttime:type:id:user: with hexadecimal numbers.
type UPID string

const (
	upidNode  = 1
	upidStart = 4
	upidType  = 5
	upidID    = 6
	upidUser  = 7
	upidParts = 9
)

// Valid reports whether the UPID has PVE's form.
func (u UPID) Valid() bool {
	parts := strings.Split(string(u), ":")
	if len(parts) != upidParts || parts[0] != "UPID" || parts[upidParts-1] != "" {
		return false
	}
	for _, hex := range parts[2:upidType] {
		if _, err := strconv.ParseUint(hex, 16, 64); err != nil {
			return false
		}
	}
	return validNode(parts[upidNode]) && parts[upidType] != "" && parts[upidUser] != ""
}

// Node is the name of the node that runs the task.
func (u UPID) Node() string { return u.part(upidNode) }

// Type is PVE's type of the task, such as qmstart.
func (u UPID) Type() string { return u.part(upidType) }

// ID is what the task works on: the VMID for tasks of VMs. It may be empty.
func (u UPID) ID() string { return u.part(upidID) }

// User is the user or the API token that started the task.
func (u UPID) User() string { return u.part(upidUser) }

// Start is when the task started, to the second.
func (u UPID) Start() time.Time {
	s, err := strconv.ParseInt(u.part(upidStart), 16, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(s, 0)
}

// part is the i-th part of a valid UPID, or empty.
func (u UPID) part(i int) string {
	if !u.Valid() {
		return ""
	}
	return strings.Split(string(u), ":")[i]
}

// validNode reports whether s can be the name of a node, which PVE restricts to
// letters, digits and inner hyphens.
func validNode(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
