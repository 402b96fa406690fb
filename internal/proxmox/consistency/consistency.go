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

// Package consistency determines the consistency of disk contents in a snapshot or a backup from what PVE reports. Only this package knows the log texts
// about frozen file systems, of 8.x and 9.x.
package consistency

import (
	"regexp"
	"slices"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
)

// A Level is the consistency of disk contents.
type Level string

// The levels.
const (
	// Memory means that the memory of the VM was saved at the same moment.
	Memory Level = "Memory"

	// Offline means that the VM was stopped, or was shut down for the backup.
	Offline Level = "Offline"

	// FileSystem means that the guest agent had frozen the file systems.
	FileSystem Level = "FileSystem"

	// Crash means that the guest was running and its file systems were not frozen. The disks are as after a power failure.
	Crash Level = "Crash"

	// Unknown means that PVE does not show it.
	Unknown Level = "Unknown"
)

// The texts of PVE about freezing. Texts of the guest agent's client are contained in others.
var (
	reFrozen       = regexp.MustCompile(`skipping guest filesystem freeze - already frozen`)
	reSkipped      = regexp.MustCompile(`skipping guest filesystem freeze - |skipping guest-agent 'fs-freeze', |^QEMU Guest Agent is not running`)
	reFreezeFailed = regexp.MustCompile(`guest-fsfreeze-freeze problems|'guest-fsfreeze-freeze' failed|` +
		`unable to freeze guest fs - |querying status after freezing guest fs failed`)
	reThawFailed = regexp.MustCompile(`guest-fsfreeze-thaw problems|'guest-fsfreeze-thaw' failed|unable to thaw guest filesystem`)
	reIssued     = regexp.MustCompile(`^INFO: issuing guest-agent 'fs-freeze' command`)
	reStatus     = regexp.MustCompile(`^INFO: status = (\w+)`)
	reMode       = regexp.MustCompile(`^INFO: backup mode: (\w+)`)
)

// A Power reports whether a VM was running at the moment of a snapshot.
type Power int

// The powers.
const (
	// Unclear means that the VM may have been running or not.
	Unclear Power = iota

	// Ran means that the VM was running.
	Ran

	// Off means that the VM was not running.
	Off
)

// A Snapshot holds what is known of a snapshot that was taken.
type Snapshot struct {
	// Memory is true if it contains the memory of the VM.
	Memory bool

	// Power of the VM at the time.
	Power Power

	// Agent is the option agent of the VM in the snapshot.
	Agent string

	// Log of the task that took the snapshot, complete. Logged is false if the log is not known.
	Log    []string
	Logged bool

	// Version of PVE.
	Version proxmox.Version
}

// Level returns the level of the snapshot. For snapshots, PVE only logs that nothing was frozen. A log without that means that file systems were frozen,
// if the VM was running and its agent was to freeze them.
func (s Snapshot) Level() Level {
	switch {
	case s.Memory:
		return Memory
	case s.Power == Off:
		return Offline
	case !s.Logged:
		return Unknown
	}
	enabled, freezes := agent(s.Agent)
	switch {
	case reports(s.Log):
		return froze(s.Log, s.Version)
	case s.Power == Unclear:
		return Unknown
	case !enabled:
		return Crash
	case !freezes: // Versions differ in whether this applies to snapshots.
		return Unknown
	}
	return froze(s.Log, s.Version)
}

// OfBackup returns the level of a backup of one VM, by the first lines of the log of its task.
func OfBackup(log []string, v proxmox.Version) Level {
	status, mode := first(log, reStatus), first(log, reMode)
	switch {
	case status == "" || mode == "":
		return Unknown
	case status != "running" || mode == "stop":
		return Offline
	case !has(log, reIssued) && !reports(log):
		return Crash // PVE 8 logs nothing for a guest without an agent.
	}
	return froze(log, v)
}

// froze returns the level after an attempt to freeze file systems.
func froze(log []string, v proxmox.Version) Level {
	switch {
	case has(log, reFrozen):
		return FileSystem
	case has(log, reSkipped), has(log, reFreezeFailed):
		return Crash
	case has(log, reThawFailed): // Windows thaws by itself after a while, and the command fails.
		return Unknown
	case !v.AtLeast(9, 1): // Such versions ignore an error in the agent's answer.
		return Unknown
	}
	return FileSystem
}

// reports returns whether a log contains a result of freezing, not only the attempt.
func reports(log []string) bool {
	return slices.ContainsFunc([]*regexp.Regexp{reFrozen, reSkipped, reFreezeFailed, reThawFailed}, func(re *regexp.Regexp) bool { return has(log, re) })
}

// agent reads the option agent. It returns whether there is an agent, and whether it is to freeze file systems.
func agent(value string) (enabled, freezes bool) {
	p, err := propertystring.Parse(value, "enabled")
	if err != nil {
		return false, false
	}
	freezes = true
	for _, key := range []string{"freeze-fs", "guest-fsfreeze", "freeze-fs-on-backup"} {
		if p.Has(key) {
			freezes = on(p.Get(key))
		}
	}
	return on(p.Get("enabled")), freezes
}

// on reads a flag as PVE does.
func on(flag string) bool { return slices.Contains([]string{"1", "on", "yes", "true"}, flag) }

func has(log []string, re *regexp.Regexp) bool { return slices.ContainsFunc(log, re.MatchString) }

// first returns the first match of a pattern.
func first(log []string, re *regexp.Regexp) string {
	for _, line := range log {
		if m := re.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return ""
}
