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
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Command holds the options with which a run of backups was started, from its log, or those with which a backup job starts one. The log does not name
// the job.
type Command struct {
	// Scheduled is true if the scheduler of PVE started the run.
	Scheduled bool

	// Guests are the named VMIDs, in order. There are none for a pool, and for all guests except excluded ones.
	Guests []int

	// Excluded are the VMIDs that are excluded from all guests.
	Excluded []int

	// Options are the other options of the run. Values with the same meaning compare equal.
	Options map[string]string
}

// unlike returns the options to ignore: those of jobs that runs do not have, and those of runs that show nothing of the job. The node of a job is for the
// scheduler, and the node of a call is the one that it is sent to.
func unlike() []string {
	return []string{
		"id", "type", "schedule", "enabled", "comment", "repeat-missed", "next-run", "starttime", "dow", "digest",
		"quiet", "job-id", "node", "stdout", "vmid", "exclude",
	}
}

// unnamed returns, for options with parts, the name of the part that may be written without a name.
func unnamed() map[string]string {
	return map[string]string{"prune-backups": "", "performance": "", "fleecing": "enabled"}
}

// Started returns the command that a backup job with these options starts.
func Started(options map[string]string) Command {
	c := Command{Options: map[string]string{}, Scheduled: options["quiet"] == "1"}
	c.Guests, c.Excluded = numbers(options["vmid"]), numbers(options["exclude"])
	for option, value := range options {
		if value != "" && !slices.Contains(unlike(), option) {
			c.Options[option] = normal(option, value)
		}
	}
	if len(c.Excluded) > 0 && c.Options["pool"] == "" {
		c.Options["all"] = "1"
	}
	if c.Options["all"] == "0" {
		delete(c.Options, "all")
	}
	return c
}

// normal returns a value in the one form for all values with the same meaning.
func normal(option, value string) string {
	name, hasParts := unnamed()[option]
	if !hasParts && option != "mailto" && option != "exclude-path" {
		return value
	}
	parts := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(",; \x00", r) })
	for i, part := range parts {
		key, v, named := strings.Cut(part, "=")
		if !named && hasParts {
			key, v = name, part
		}
		if key == "enabled" || key == "keep-all" {
			v = map[bool]string{true: "1", false: "0"}[slices.Contains([]string{"1", "on", "yes", "true"}, strings.ToLower(v))]
		}
		if hasParts {
			parts[i] = key + "=" + v
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// numbers returns the numbers of a list, in order.
func numbers(list string) []int {
	var all []int
	for _, text := range strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(",; \x00", r) }) {
		if n, err := strconv.Atoi(text); err == nil {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Equal reports whether two commands back up the same guests in the same way, regardless of what starts them.
func (c Command) Equal(d Command) bool {
	return c.Alike(d) && slices.Equal(c.Guests, d.Guests) && slices.Equal(c.Excluded, d.Excluded)
}

// Alike reports whether two commands differ only in the guests that they name or exclude.
func (c Command) Alike(d Command) bool {
	return maps.Equal(c.Options, d.Options) && (len(c.Guests) > 0) == (len(d.Guests) > 0)
}

var reCommand = regexp.MustCompile("^INFO: starting new backup job: vzdump(.*)")

// commandOf returns the command in a line of a log, if there is one.
func commandOf(line string) (Command, bool) {
	m := reCommand.FindStringSubmatch(line)
	if m == nil {
		return Command{}, false
	}
	options, option := map[string]string{}, "vmid"
	for _, word := range words(m[1]) {
		if name, ok := strings.CutPrefix(word, "--"); ok && option == "vmid" {
			option = name
			continue
		}
		options[option] += "\x00" + word // The VMIDs and some options may occur several times.
		option = "vmid"
	}
	for option, value := range options {
		options[option] = strings.TrimPrefix(value, "\x00")
	}
	return Started(options), true
}

// words splits a command line into words like a shell.
func words(line string) []string {
	var all []string
	word, begun, quote, escaped := strings.Builder{}, false, rune(0), false
	for _, r := range line {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(r)
		case r == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case quote == 0 && r == ' ':
			if begun {
				all = append(all, word.String())
			}
			word.Reset()
			begun = false
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if begun {
		all = append(all, word.String())
	}
	return all
}
