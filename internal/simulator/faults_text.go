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

package simulator

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// ParseFault parses a fault from words: a method, a path, and settings such as status=500. Values with blanks are in double quotes, in which a backslash
// escapes the next character. The settings are those of FaultSettings.
func ParseFault(text string) (Fault, error) {
	words, err := splitWords(text)
	if err != nil {
		return Fault{}, errors.Wrapf(err, "cannot read the fault %q", text)
	}
	settings := map[string]string{}
	for _, word := range words {
		name, value := setting(word)
		if _, twice := settings[name]; twice {
			return Fault{}, errors.Errorf("cannot read the fault %q: it says %s twice", text, name)
		}
		settings[name] = value
	}
	f, err := newFault(settings)
	return f, errors.Wrapf(err, "cannot read the fault %q", text)
}

// setting returns the name and the value of a word. Methods and paths are recognised by their form.
func setting(word string) (name, value string) {
	switch {
	case strings.HasPrefix(word, "/"), strings.HasPrefix(word, "^"):
		return "path", word
	case !strings.Contains(word, "=") && word == strings.ToUpper(word):
		return "method", word
	}
	name, value, _ = strings.Cut(word, "=")
	return name, value
}

// splitWords splits a text at blanks outside of double quotes.
func splitWords(text string) ([]string, error) {
	words, word := []string{}, strings.Builder{}
	quoted, escaped, inside := false, false, false
	for _, r := range text {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(r)
		case quoted && r == '\\':
			escaped = true
		case r == '"':
			quoted, inside = !quoted, true
		case !quoted && (r == ' ' || r == '\t' || r == '\n'):
			if inside {
				words = append(words, word.String())
			}
			word.Reset()
			inside = false
		default:
			inside = true
			word.WriteRune(r)
		}
	}
	if quoted {
		return nil, errors.New("a quote is not closed")
	}
	if inside {
		words = append(words, word.String())
	}
	return words, nil
}

// A faultField is a setting of a fault: how it is parsed, and its text for a fault, which is empty if the setting is unset.
type faultField struct {
	name, help string
	set        func(*Fault, string) error
	get        func(Fault) string
}

// FaultSettings returns the settings of a fault, each with a line of help, in the order of a form.
func FaultSettings() [][2]string {
	out := [][2]string{}
	for _, field := range faultFields() {
		out = append(out, [2]string{field.name, field.help})
	}
	return out
}

func faultFields() []faultField {
	text := func(name, help string, at func(*Fault) *string) faultField {
		return faultField{
			name, help,
			func(f *Fault, value string) error { *at(f) = value; return nil },
			func(f Fault) string { return *at(&f) },
		}
	}
	number := func(name, help string, at func(*Fault) *int) faultField {
		return faultField{
			name, help,
			func(f *Fault, value string) (err error) { *at(f), err = parseCount(value); return err },
			func(f Fault) string { return strings.TrimPrefix(strconv.Itoa(*at(&f)), "0") },
		}
	}
	flag := func(name, help string, at func(*Fault) *bool) faultField {
		return faultField{
			name, help,
			func(f *Fault, value string) (err error) { *at(f), err = parseFlag(value); return err },
			func(f Fault) string { return strings.TrimPrefix(strconv.FormatBool(*at(&f)), "false") },
		}
	}
	return []faultField{
		text("method", "HTTP method of the requests that it hits", func(f *Fault) *string { return &f.Method }),
		text("path", "their path below /api2/json: * within a segment, ** across, or a regular expression that begins with ^",
			func(f *Fault) *string { return &f.Path }),
		text("task", "type of the tasks that it hits, such as qmclone", func(f *Fault) *string { return &f.Task }),
		text("id", "what those tasks are about, such as a VMID", func(f *Fault) *string { return &f.ID }),
		number("after", "so many matches pass first", func(f *Fault) *int { return &f.Skip }),
		number("count", "so many are hit then; 0 stands for all", func(f *Fault) *int { return &f.Count }),
		{"delay", "time that the request waits, such as 2s", setDelay, getDelay},
		number("status", "answers with this status, 400 to 599, and has no effect", func(f *Fault) *int { return &f.Status }),
		text("message", "message of that status", func(f *Fault) *string { return &f.Message }),
		{"cut", "closes the connection before or after the request takes effect", setCut, getCut},
		text("exit", "makes the task fail with this message", func(f *Fault) *string { return &f.TaskExit }),
		flag("hold", "true keeps the task from ending until the fault is taken away", func(f *Fault) *bool { return &f.Hold }),
		flag("refuse", "true makes the start of the task fail", func(f *Fault) *bool { return &f.Refuse }),
	}
}

func parseCount(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return 0, errors.New("want a number that is not negative")
	}
	return n, nil
}

func setDelay(f *Fault, value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return errors.New("want a duration such as 500ms or 2s")
	}
	f.Delay = d
	return nil
}

func getDelay(f Fault) string {
	if f.Delay == 0 {
		return ""
	}
	return f.Delay.String()
}

func setCut(f *Fault, value string) error {
	f.CutBefore, f.CutAfter = value == "before", value == "after"
	if !f.CutBefore && !f.CutAfter {
		return errors.New("want before or after")
	}
	return nil
}

func getCut(f Fault) string {
	switch {
	case f.CutBefore:
		return "before"
	case f.CutAfter:
		return "after"
	}
	return ""
}

func parseFlag(value string) (bool, error) {
	is, err := strconv.ParseBool(value)
	if err != nil {
		return false, errors.New("want true or false")
	}
	return is, nil
}

// newFault creates a fault from settings.
func newFault(settings map[string]string) (Fault, error) {
	f, known := Fault{}, map[string]bool{}
	names := []string{}
	for _, field := range faultFields() {
		known[field.name] = true
		names = append(names, field.name)
		value, there := settings[field.name]
		if !there {
			continue
		}
		if err := field.set(&f, value); err != nil {
			return Fault{}, errors.Wrapf(err, "cannot use %s=%s", field.name, value)
		}
	}
	for name := range settings {
		if !known[name] {
			return Fault{}, errors.Errorf("there is no setting %q: want a method, a path or one of %s", name, strings.Join(names, ", "))
		}
	}
	return f, f.check()
}

// hasOneEffect reports whether a fault of tasks has a single effect.
func (f Fault) hasOneEffect() bool {
	effects := 0
	for _, has := range []bool{f.TaskExit != "", f.Hold, f.Refuse} {
		if has {
			effects++
		}
	}
	return effects == 1
}

// check returns an error for settings that cannot be combined.
func (f Fault) check() error {
	_, err := compile(f.Path)
	request := f.Method != "" || f.Path != "" || f.Delay > 0 || f.Status > 0 || f.Message != "" || f.CutBefore || f.CutAfter
	switch {
	case err != nil:
		return errors.Wrap(err, "cannot use the path")
	case f.Path != "" && f.Path[0] != '/' && f.Path[0] != '^':
		return errors.New("the path must begin with / or ^")
	case f.forTasks() && request:
		return errors.New("it hits requests or tasks: task, id, exit, hold and refuse do not go with the others")
	case f.forTasks() && !f.hasOneEffect():
		return errors.New("a fault of tasks has exit, hold or refuse")
	case f.forTasks():
		return nil
	case f.Delay == 0 && f.Status == 0 && !f.CutBefore && !f.CutAfter:
		return errors.New("it does nothing: want delay, status, cut, exit, hold or refuse")
	case !slices.Contains([]string{"", http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete}, f.Method):
		return errors.New("the method must be GET, POST, PUT or DELETE")
	case f.Status > 0 && (f.CutBefore || f.CutAfter), f.Status == 0 && f.Message != "":
		return errors.New("status goes with message, and not with cut")
	case f.Status > 0 && (f.Status < http.StatusBadRequest || f.Status > 599):
		return errors.New("the status must be 400 to 599")
	}
	return nil
}

// settings returns the fault as names and texts, without unset settings.
func (f Fault) settings() map[string]string {
	out := map[string]string{}
	for _, field := range faultFields() {
		if value := field.get(f); value != "" {
			out[field.name] = value
		}
	}
	return out
}

// String returns the fault in the format of ParseFault.
func (f Fault) String() string {
	words := []string{}
	for _, field := range faultFields() {
		value := field.get(f)
		switch {
		case value == "":
		case field.name == "method" || (field.name == "path" && !strings.ContainsAny(value, " \t\n\"")):
			words = append(words, value)
		case strings.ContainsAny(value, " \t\n\""):
			words = append(words, field.name+`="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)+`"`)
		default:
			words = append(words, field.name+"="+value)
		}
	}
	return strings.Join(words, " ")
}
