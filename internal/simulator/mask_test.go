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

package simulator_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// masks returns what differs between two runs of one request: identifiers, times and random values.
func masks() []struct{ find, replace string } {
	return []struct{ find, replace string }{
		{`UPID:(\w+):[0-9A-F]{8,9}:[0-9A-F]{8,9}:[0-9A-F]{8}:`, `UPID:$1:…:`},
		{`\b[0-9a-f]{40}\b`, `…`},
		{`\b\d{22}\b`, `…`},
		{`\.tmp\.\d+`, `.tmp.…`},
		{`got '[0-9a-f]{64}'`, `got '…'`},
		{`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`, `…`},
		{`creation-qemu=[0-9.]+`, `creation-qemu=…`},
		{`ctime=\d+`, `ctime=…`},
		{`state-suspend-[0-9-]+`, `state-suspend-…`},
		{`BC:24:11(:[0-9A-F]{2}){3}`, `BC:24:11:…`},
		{`pveupload-[0-9a-f]+`, `pveupload-…`},
		{`\$5\$[^$\s]+\$\S+`, `$$5$$…`},
		{`Perl.* line \d+\.`, `…`},
	}
}

// measured returns fields whose numbers a node measures or counts: times, loads and process numbers.
func measured() []string {
	return []string{
		"starttime", "endtime", "pid", "pstart", "uptime", "snaptime", "ctime", "time", "next-run", "used", "used_fraction", "avail", "total",
		"diskread", "diskwrite", "netin", "netout", "mem", "memhost", "cpu", "disk", "freemem", "expire_time", "localtime", "uid", "tot",
		"pressurecpusome", "pressurecpufull", "pressureiosome", "pressureiofull", "pressurememorysome", "pressurememoryfull", "free", "idle", "wait",
	}
}

type masker struct {
	texts    []*regexp.Regexp
	replaced []string
	numbers  []string
}

func newMasker() *masker {
	m := &masker{numbers: measured()}
	for _, k := range masks() {
		m.texts, m.replaced = append(m.texts, regexp.MustCompile(k.find)), append(m.replaced, k.replace)
	}
	return m
}

func (m *masker) text(s string) string {
	for i, re := range m.texts {
		s = re.ReplaceAllString(s, m.replaced[i])
	}
	return s
}

// body returns a body in a normalised form, so that equal bodies have equal texts. Perl orders the keys of objects, and the entries of lists made from
// them, randomly.
func (m *masker) body(s string) string {
	v, ok := decodeAny(s)
	if !ok {
		return m.text(strings.TrimSpace(s))
	}
	return m.canonical(v)
}

func decodeAny(s string) (any, bool) {
	var v any
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	err := dec.Decode(&v)
	return v, err == nil && !dec.More()
}

// cut reports whether a body was recorded without its end.
func cut(s string) bool {
	_, ok := decodeAny(s)
	return !ok && strings.HasPrefix(s, `{"`)
}

// begins reports whether another body contains everything that is left of a cut body.
func (m *masker) begins(cutBody, whole string) bool {
	w, ok := decodeAny(whole)
	if !ok {
		return false
	}
	for end := len(cutBody); end > 0; end = strings.LastIndexAny(cutBody[:end], ",") {
		if v, ok := decodeAny(cutBody[:end] + closers(cutBody[:end])); ok {
			return within(m.plain("", v), m.plain("", w))
		}
	}
	return false
}

// closers returns the brackets that close the open brackets of a text.
func closers(s string) string {
	out, quoted := "", false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			out = "}" + out
		case c == '[':
			out = "]" + out
		case c == '}', c == ']':
			out = out[1:]
		}
	}
	return out
}

// within reports whether a value is part of another: objects by their keys, lists by their entries.
func within(part, whole any) bool {
	switch p := part.(type) {
	case map[string]any:
		w, ok := whole.(map[string]any)
		for k, v := range p {
			other, has := w[k]
			ok = ok && has && within(v, other)
		}
		return ok
	case []any:
		w, ok := whole.([]any)
		for _, v := range p {
			ok = ok && slices.ContainsFunc(w, func(other any) bool { return within(v, other) })
		}
		return ok
	}
	return fmt.Sprint(part) == fmt.Sprint(whole)
}

func (m *masker) canonical(v any) string {
	out, err := json.Marshal(ordered(m.plain("", v)))
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(out)
}

// plain masks a value.
func (m *masker) plain(key string, v any) any {
	switch t := v.(type) {
	case map[string]any:
		return m.object(key, t)
	case []any:
		out := make([]any, 0, len(t))
		for _, e := range t {
			out = append(out, m.plain(key, e))
		}
		return out
	case json.Number:
		if slices.Contains(m.numbers, key) {
			return "…"
		}
	case string:
		return m.field(key, t)
	}
	return v
}

func (m *masker) field(key, text string) any {
	switch {
	case key == "saved":
		return json.Number(text) // It is a text once it has been read from a file.
	case slices.Contains([]string{"ticket", "CSRFPreventionToken", "ssl_fingerprint"}, key),
		slices.Contains(m.numbers, key) && strings.Trim(text, "0123456789.") == "":
		return "…"
	case key == "content" && strings.Contains(text, ","):
		parts := strings.Split(text, ",")
		slices.Sort(parts)
		return strings.Join(parts, ",")
	}
	return m.text(text)
}

func (m *masker) object(key string, o map[string]any) any {
	out := map[string]any{}
	for k, v := range o {
		if key == "blockstat" || key == "statistics" || key == "nics" {
			out[m.text(k)] = m.counters(v)
			continue
		}
		out[m.text(k)] = m.plain(k, v)
	}
	return out
}

// counters masks all numbers.
func (m *masker) counters(v any) any {
	switch t := v.(type) {
	case json.Number:
		return "…"
	case map[string]any:
		delete(t, "idle_time_ns") // It exists once the drive has been used.
		for k := range t {
			t[k] = m.counters(t[k])
		}
	}
	return v
}

// ordered sorts lists by the text of their entries.
func ordered(v any) any {
	switch t := v.(type) {
	case map[string]any:
		for k := range t {
			t[k] = ordered(t[k])
		}
	case []any:
		for i := range t {
			t[i] = ordered(t[i])
		}
		slices.SortFunc(t, func(a, b any) int { return strings.Compare(encoded(a), encoded(b)) })
	}
	return v
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
