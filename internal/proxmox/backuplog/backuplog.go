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

// Package backuplog reads the logs of backup tasks, which contain the details that the exit status only counts. Only this package knows these texts of
// PVE, of 8.x and 9.x.
package backuplog

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// The texts of backups.
var (
	reFailed    = regexp.MustCompile(`^ERROR: Backup of VM \d+ failed - (.*)`)
	reArchive   = regexp.MustCompile(`^INFO: creating \S.* archive '([^']+)'`)
	reContent   = regexp.MustCompile(`can't use storage '([^']*)' for backups - wrong content type`)
	reLimit     = regexp.MustCompile(`There is a max backup limit of (\d+) enforced`)
	reProtected = regexp.MustCompile(`The number of protected backups per guest is limited to (\d+)`)
	reHA        = regexp.MustCompile(`Cannot execute a backup with stop mode on a HA managed`)
	reFull      = regexp.MustCompile(`No space left on device|write error - Broken pipe|[Qq]uota exceeded|ENOSPC`)
	reStorage   = regexp.MustCompile(`^could not activate storage '([^']*)': (.*)`)
	reNoVM      = regexp.MustCompile(`unable to find VM '(\d+)'`)
	reKept      = regexp.MustCompile(`cannot remove protected (volume|archive)`)
	reWait      = regexp.MustCompile(`can't acquire lock '[^']*vzdump`)
	reLocked    = regexp.MustCompile(`\bVM is locked\b|can't lock file '[^']*'|cfs-lock '[^']*' error: got `)
	reStopped   = regexp.MustCompile(`^got interrupted by signal|^interrupted by signal|^unexpected status$|^stopped:|^received interrupt`)
)

// A failure is the meaning of a text.
type failure struct {
	pattern  *regexp.Regexp
	problem  Problem
	sentence func(m []string) string
}

// failures returns the meanings of the texts, the most specific first.
func failures() []failure {
	says := func(s string) func([]string) string { return func([]string) string { return s } }
	return []failure{
		{reContent, NotSupported, func(m []string) string {
			return "storage " + m[1] + " does not take backups: its content types lack backup"
		}},
		{reLimit, Limit, func(m []string) string {
			return "the storage keeps at most " + m[1] + " backups of the VM, and none is removed for this one"
		}},
		{reProtected, Limit, func(m []string) string { return "the storage keeps at most " + m[1] + " protected backups of the VM" }},
		{reHA, NotSupported, says("mode stop is not for a VM that HA keeps running")},
		{reFull, StorageFull, says("no space is left on the storage")},
		{reStorage, StorageUnavailable, func(m []string) string { return "storage " + m[1] + " cannot be used: " + m[2] }},
		{reNoVM, NoVM, func(m []string) string { return "VM " + m[1] + " does not exist" }},
		{reKept, IsProtected, says("the backup is protected in Proxmox VE")},
		{reWait, Locked, says("other backups have kept the node busy for too long")},
		{reLocked, Locked, says("the VM is locked by something else that works on it")},
		{reStopped, Stopped, says("the task was stopped")},
		{reFailed, Failed, func(m []string) string { return m[1] }},
	}
}

// Volume returns the volume that a backup task creates on a storage, from the first lines of its log, or nothing if they do not contain it. PVE logs it
// before it copies data.
func Volume(log []string, storage string) string {
	for _, line := range log {
		if m := reArchive.FindStringSubmatch(line); m != nil {
			return storage + ":backup/" + m[1][archiveName(m[1]):]
		}
	}
	return ""
}

// archiveName returns the position of the name in the archive of the log. The names of files follow their folder.
func archiveName(archive string) int {
	if strings.HasPrefix(archive, "/") {
		return strings.LastIndex(archive, "/") + 1
	}
	return 0
}

// Damaged reports whether the latest verification on a backup server has found a backup to be damaged.
func Damaged(v proxmox.Volume) bool { return v.Verification == "failed" }

// A Problem is the reason why a backup could not be created or removed.
type Problem string

// The problems of backups.
const (
	// NotSupported means that the storage does not accept backups, or that the VM does not support the mode.
	NotSupported Problem = "NotSupported"

	// Limit means that the storage has as many backups of the VM as it may keep.
	Limit Problem = "LimitReached"

	// StorageFull means that the storage has no free space.
	StorageFull Problem = "StorageFull"

	// StorageUnavailable means that the storage does not exist on the node, is
	// disabled or cannot be reached.
	StorageUnavailable Problem = "StorageUnavailable"

	// NoVM means that the VM no longer exists.
	NoVM Problem = "VMNotFound"

	// IsProtected means that the backup must not be removed.
	IsProtected Problem = "Protected"

	// Locked means that another operation has locked the VM.
	Locked Problem = "Locked"

	// Stopped means that a user stopped the task, or that its node went down.
	Stopped Problem = "Stopped"

	// Failed is any other problem.
	Failed Problem = "BackupFailed"
)

// Failure returns why a backup task has failed, from its exit status and the last lines of its log, and a sentence about it without its full stop.
func Failure(exit string, log []string) (Problem, string) {
	texts := slices.Clone(log)
	if exit != jobErrors {
		texts = []string{exit}
	}
	for _, f := range failures() {
		for _, text := range texts {
			if m := f.pattern.FindStringSubmatch(text); m != nil {
				return f.problem, proxmox.Scrub(f.sentence(m))
			}
		}
	}
	return Failed, proxmox.Scrub(exit)
}

// Lines returns lines of a log in a form that can be shown.
func Lines(log []string) []string {
	out := make([]string, 0, len(log))
	for _, line := range log {
		out = append(out, proxmox.Scrub(line))
	}
	return out
}
