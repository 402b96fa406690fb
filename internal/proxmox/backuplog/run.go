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

package backuplog

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// The lines of a log from which a Run is read.
var (
	reSkipped  = regexp.MustCompile("^INFO: skip external VMs: (.*)")
	reBegun    = regexp.MustCompile("^INFO: Starting Backup of VM ([0-9]+) ")
	reDone     = regexp.MustCompile("^INFO: Finished Backup of VM ([0-9]+) ")
	reOneError = regexp.MustCompile("^ERROR: Backup of VM ([0-9]+) failed - ")

	reNoStorage = regexp.MustCompile(`^could not get storage information for '([^']*)'`)
)

// The exit statuses of a task for which its log has details.
const jobErrors, unexpected = "job errors", "unexpected status"

// A Run holds the content of the log of a backup task that has ended.
type Run struct {
	// Command with which the run was started. It is nil if the run failed before that, for example because the storage was not reachable.
	Command *Command

	// Guests that the run has processed, by VMID.
	Guests map[int]Outcome

	// Elsewhere are the guests that the run left to other nodes.
	Elsewhere []int

	// before are the lines before the run began.
	before []string
}

// Failure returns why a run has failed as a whole, and a sentence about it without its full stop. Both are empty if it has not.
func (r Run) Failure(t proxmox.Task) (Problem, string) {
	if t.OK() || t.ExitStatus == jobErrors {
		return "", ""
	}
	if r.Command == nil && t.ExitStatus == unexpected {
		if problem, message := Failure(jobErrors, r.before); problem != Failed {
			return problem, message
		}
	}
	return Failure(t.ExitStatus, nil)
}

// StorageOf returns the storage that a run could not use, if its exit status names one.
func StorageOf(t proxmox.Task) string {
	if m := first(t.ExitStatus, reStorage, reNoStorage); m != nil {
		return m[1]
	}
	return ""
}

// An Outcome is the result of a run for one guest.
type Outcome struct {
	// Finished is true if the backup was created.
	Finished bool

	// Archive is the log's name of the backup.
	Archive string

	// Problem and Message are the reason why a backup has failed. They are empty if it was neither created nor has failed, because the run ended before.
	Problem Problem
	Message string
}

// VolumeOn returns the volume of a finished backup on a storage.
func (o Outcome) VolumeOn(storage string) string {
	if !o.Finished || o.Archive == "" {
		return ""
	}
	return storage + ":backup/" + o.Archive[archiveName(o.Archive):]
}

// tail is the number of lines before an error in which its reason is searched.
const tail = 20

// A Reader reads the log of a run, line by line.
type Reader struct {
	run     Run
	current int
	recent  []string
}

// NewReader returns a Reader.
func NewReader() *Reader { return &Reader{run: Run{Guests: map[int]Outcome{}}} }

// Run returns the content of the lines that were read.
func (r *Reader) Run() Run { return r.run }

// Read reads a line.
func (r *Reader) Read(line string) {
	if r.run.Command == nil {
		if c, ok := commandOf(line); ok {
			r.run.Command = &c
		}
		r.run.before = r.run.before[max(0, len(r.run.before)-tail):]
		r.run.before = append(r.run.before, line)
		return
	}
	r.recent = append(r.recent, line)
	if len(r.recent) > tail {
		r.recent = slices.Delete(r.recent, 0, 1)
	}
	r.readGuest(line)
}

// readGuest reads a line about guests.
func (r *Reader) readGuest(line string) {
	switch m := first(line, reArchive, reSkipped); {
	case vmid(line, reBegun) > 0:
		r.current, r.recent = vmid(line, reBegun), nil
		r.run.Guests[r.current] = Outcome{}
	case vmid(line, reDone) > 0:
		r.end(vmid(line, reDone), func(o *Outcome) { o.Finished = true })
	case vmid(line, reOneError) > 0:
		r.end(vmid(line, reOneError), func(o *Outcome) { o.Problem, o.Message = Failure(jobErrors, r.recent) })
	case m != nil && strings.Contains(line, " archive ") && r.current > 0:
		o := r.run.Guests[r.current]
		o.Archive = m[1]
		r.run.Guests[r.current] = o
	case m != nil:
		r.run.Elsewhere = numbers(m[1])
	}
}

// end ends the backup of a guest.
func (r *Reader) end(guest int, set func(*Outcome)) {
	o := r.run.Guests[guest]
	set(&o)
	r.run.Guests[guest] = o
	r.current, r.recent = 0, nil
}

// first returns the first match of a line.
func first(line string, of ...*regexp.Regexp) []string {
	for _, re := range of {
		if m := re.FindStringSubmatch(line); m != nil {
			return m
		}
	}
	return nil
}

// vmid returns the VMID in a line, or 0.
func vmid(line string, by *regexp.Regexp) int {
	m := by.FindStringSubmatch(line)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}
