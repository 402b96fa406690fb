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
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

//nolint:gochecknoglobals // A flag.
var mismatches = flag.String("mismatches", "", "write the recordings that do not match to this file, followed by the version")

// floors returns the minimum numbers of recordings of a version that match word for word.
func floors() map[string]int { return map[string]int{"8.4": 872, "9.2": 866} }

// known is a reason why recordings do not match word for word. Every entry needs at least one such recording.
type known struct {
	// Reason explains the entry.
	Reason string `json:"reason"`
	// Versions are the versions to which it applies. If it is empty, it applies to all.
	Versions []string `json:"versions,omitempty"`
	// Section and Request match the recorded request. Recorded matches PVE's answer: status line, body, outcome of the task and what was read afterwards, one
	// per line. All of them are regular expressions.
	Section  string `json:"section,omitempty"`
	Request  string `json:"request,omitempty"`
	Recorded string `json:"recorded,omitempty"`
	// Answer is a pattern of the simulator's answer, in the same lines.
	Answer string `json:"answer"`
	// Fail makes the request, or the task that it starts, fail as in the recording, so that later requests can match.
	Fail bool `json:"fail,omitempty"`
	// Busy is "VMID device": the device stays attached until the next start, as when a guest does not release it.
	Busy string `json:"busy,omitempty"`
	used int
}

func (k *known) matches(version string, r *recording, want, got string) bool {
	match := func(pattern, text string) bool { return regexp.MustCompile("(?s)" + pattern).MatchString(text) }
	return (len(k.Versions) == 0 || slices.Contains(k.Versions, version)) && match(k.Section, r.Section) &&
		match(k.Request, r.Request) && match(k.Recorded, want) && (got == "" || match(k.Answer, got))
}

// TestConformance replays the recordings of real servers, series by series.
func TestConformance(t *testing.T) {
	for version, floor := range floors() {
		t.Run(version, func(t *testing.T) {
			node := &recordedNode{}
			readYAML(t, "testdata/recorded.yaml", node)
			var reasons []known
			readYAML(t, "testdata/known.yaml", &reasons)
			matched, total := replayAll(t, version, node, reasons)
			fmt.Fprintf(os.Stdout, "conformance %s: %d of %d\n", version, matched, total)
			if matched < floor {
				t.Errorf("%d of %d recordings match word for word, want at least %d", matched, total, floor)
			}
			for _, k := range reasons {
				t.Logf("%d: %s", k.used, k.Reason)
				if k.used == 0 && (len(k.Versions) == 0 || slices.Contains(k.Versions, version)) {
					t.Errorf("no recording needs the reason %q for %q any more", k.Reason, k.Section+" "+k.Request)
				}
			}
		})
	}
}

func replayAll(t *testing.T, version string, node *recordedNode, reasons []known) (matched, total int) {
	t.Helper()
	report, all := &strings.Builder{}, &strings.Builder{}
	list := recordings(t, version)
	node.settle(list)
	var p *replay
	for i := range list {
		r := &list[i]
		if i == 0 || r.Series != list[i-1].Series || node.slow(r.Section) != node.slow(list[i-1].Section) {
			p = newReplay(t, version, node, r)
		}
		p.prepare(version, r, reasons)
		if !node.quiet(version, r) {
			p.clock.pass(reportEvery)
		}
		want, got := p.run(r)
		p.busy(version, r, reasons)
		if want == got && !failed(version, r, reasons) {
			matched++
			continue
		}
		line := fmt.Sprintf("## %s #%d\n%s\n%s", r.Section, r.place, r.Request, contrast(want, got))
		all.WriteString(line)
		if !explained(version, r, reasons, want, got) {
			report.WriteString(line)
		}
	}
	if *mismatches != "" {
		if err := os.WriteFile(*mismatches+version, []byte(all.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if report.Len() > 0 {
		t.Errorf("recordings that neither match nor are known:\n%s", report)
	}
	return matched, len(list)
}

// causes returns the reasons that have an effect at a request.
func causes(version string, r *recording, reasons []known) []known {
	return slices.DeleteFunc(slices.Clone(reasons), func(k known) bool {
		return (!k.Fail && k.Busy == "") || !k.matches(version, r, r.Status+"\n"+r.Body+"\n"+r.Task, "")
	})
}

func failed(version string, r *recording, reasons []known) bool {
	return slices.ContainsFunc(causes(version, r, reasons), func(k known) bool { return k.Fail })
}

// prepare injects the failure of a task that only the recorded node had.
func (p *replay) prepare(version string, r *recording, reasons []known) {
	p.server.ClearFaults()
	switch {
	case !failed(version, r, reasons):
	case r.Task != "":
		p.server.Inject(simulator.Fault{TaskExit: r.Task, Count: 1})
	default:
		_, status, _ := strings.Cut(r.Status, " ")
		code, message, _ := strings.Cut(status, " ")
		p.server.Inject(simulator.Fault{Status: schema.Int(code), Message: message, Count: 1})
	}
}

// busy marks a device that the recorded node could not remove.
func (p *replay) busy(version string, r *recording, reasons []known) {
	for _, k := range causes(version, r, reasons) {
		vmid, device, ok := strings.Cut(k.Busy, " ")
		if !ok {
			continue
		}
		p.server.Edit(func(st *state.State) {
			g := st.Guests[schema.Int(vmid)]
			if g.Config[device] == "" {
				g.Config[device] = p.before[device]
			}
			g.Delete[device] = false
			maps.DeleteFunc(g.Config, func(key, value string) bool { return guest.IsUnused(key) && strings.HasPrefix(p.before[device], value) })
		})
	}
}

func explained(version string, r *recording, reasons []known, want, got string) bool {
	for i := range reasons {
		if reasons[i].matches(version, r, want, got) {
			reasons[i].used++
			return true
		}
	}
	return false
}

// contrast shows the lines that differ.
func contrast(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	out := &strings.Builder{}
	for i := range max(len(w), len(g)) {
		a, b := "", ""
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			fmt.Fprintf(out, "  - %s\n  + %s\n", a, b)
		}
	}
	return out.String()
}
