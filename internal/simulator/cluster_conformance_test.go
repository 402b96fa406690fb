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
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// clusterFloor is how many recordings of the cluster match word for word, at least.
const clusterFloor = 590

// recordedCluster describes the cluster of the recordings.
type recordedCluster struct {
	Scenario simulator.Scenario `json:"scenario"`
	// Before are requests that were made before a section, and not written down.
	Before map[string][]string `json:"before"`
	// Complete are the sections that began when all nodes were on again.
	Complete []string `json:"complete"`
}

// TestClusterConformance replays what was recorded on a real cluster of three nodes.
func TestClusterConformance(t *testing.T) {
	cluster := &recordedCluster{}
	readYAML(t, "testdata/cluster.yaml", cluster)
	list := clusterRecordings(t)
	p := newClusterReplay(t, cluster)
	report, matched, sections := &strings.Builder{}, 0, map[string][2]int{}
	for i := range list {
		r := &list[i]
		if i == 0 || r.Section != list[i-1].Section {
			p.tickets = map[string][2]string{} // Time goes on, and tickets end.
			if slices.Contains(cluster.Complete, r.Section) {
				p.server.Edit(func(st *state.State) {
					for _, n := range st.Nodes {
						n.Offline = false
					}
				})
			}
			p.prepare(cluster.Before[r.Section])
		}
		p.clock.pass(reportEvery)
		want, got := p.run(r)
		count := sections[r.Section]
		count[1]++
		if want == got {
			matched++
			count[0]++
		} else {
			fmt.Fprintf(report, "## %s #%d\n%s\n%s", r.Section, i, r.Request, contrast(want, got))
		}
		sections[r.Section] = count
	}
	fmt.Fprintf(os.Stdout, "conformance cluster: %d of %d\n", matched, len(list))
	for section, count := range sections {
		t.Logf("%s: %d of %d", section, count[0], count[1])
	}
	if *mismatches != "" {
		if err := os.WriteFile(*mismatches+"cluster", []byte(report.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if matched < clusterFloor {
		t.Errorf("%d of %d recordings of the cluster match word for word, want at least %d", matched, len(list), clusterFloor)
	}
}

func clusterRecordings(t *testing.T) []recording {
	t.Helper()
	data, err := os.ReadFile("testdata/recordings-cluster.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var out []recording
	if err := json.NewDecoder(plain).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// clusterReplay sends the requests that were recorded on the cluster.
type clusterReplay struct{ *replay }

func newClusterReplay(t *testing.T, cluster *recordedCluster) *clusterReplay {
	t.Helper()
	clock := &stepClock{now: time.Now()}
	s := simulatortest.NewTest(t, simulator.Options{Scenario: &cluster.Scenario, Version: "9.2", Clock: clock, Reports: reportEvery})
	return &clusterReplay{&replay{
		t: t, server: s, clock: clock, node: &recordedNode{}, mask: newMasker(), ours: map[string]string{}, tickets: map[string][2]string{},
	}}
}

// prepare makes requests that were not written down.
func (p *clusterReplay) prepare(requests []string) {
	for _, request := range requests {
		x := (&recording{Request: request}).parse()
		x.header.Set("Authorization", testerToken)
		if status, body := p.send(x); !strings.Contains(status, " 200 ") {
			p.t.Errorf("%s: %s %s", request, status, body)
		}
	}
}

var (
	clusterRequest = regexp.MustCompile(`^(?s)(?:(.*?) — )?(GET|POST|PUT|DELETE) (\S+)(.*)$`)
	powerOf        = regexp.MustCompile(`\(power of (.*) (goes off|is on again)\)`)
)

// run sends a request and returns what was recorded and what came, as comparable lines.
func (p *clusterReplay) run(r *recording) (want, got string) {
	if m := powerOf.FindStringSubmatch(r.Request); m != nil {
		p.server.Edit(func(st *state.State) {
			for name := range strings.SplitSeq(m[1], " and ") {
				st.Nodes[name].Offline = m[2] == "goes off"
			}
			off := 0
			for _, n := range st.Nodes {
				off += schema.Flag(n.Offline)
			}
			st.NoQuorum = off > len(st.Nodes)/2
		})
		return "", ""
	}
	m := clusterRequest.FindStringSubmatch(r.Request)
	x := &exchange{verb: m[2], path: "/api2/json" + m[3], header: http.Header{}, params: map[string][]string{}}
	x.fill(strings.TrimSpace(strings.ReplaceAll(m[4], " -d ", " ")))
	if x.verb == http.MethodDelete && x.body != "" {
		x.path, x.body = x.path+"?"+x.body, ""
		x.header.Del("Content-Type")
	}
	p.actor(m[1], x)
	x.path = p.translateUPIDs(x.path)
	status, body := p.send(x)
	p.learn(r.Body, body)
	wants, gots := []string{r.Status, r.Task}, []string{status, p.outcome(r, body)}
	w, g := p.compare(r.Body, body)
	wants, gots = append(wants, w), append(gots, g)
	for _, after := range r.After {
		request, recorded, _ := strings.Cut(after, ": ")
		verb, path, _ := strings.Cut(request, " ")
		_, body := p.send(&exchange{verb: verb, path: "/api2/json" + path, header: p.admin()})
		if i := strings.Index(recorded, "{"); i > 0 {
			recorded = recorded[i:]
		}
		w, g := p.compare(recorded, body)
		wants, gots = append(wants, w), append(gots, g)
	}
	return p.mask.text(strings.Join(wants, "\n")), p.mask.text(strings.Join(gots, "\n"))
}

// actors are the credentials of who asks, by how the recording names them; others are the tester.
func actors() map[string]string {
	return map[string]string{
		"auditor": "auditor@pve!ro=33333333-3333-4333-8333-333333333333", "nobody": "nobody@pve!t1=55555555-5555-4555-8555-555555555555",
		"token vmone@pve!t0": "vmone@pve!t0=66666666-6666-4666-8666-666666666666", "token admpw@pve!full0": "admpw@pve!full0=77777777-7777-4777-8777-777777777777",
		"token admpw@pve!sep": "admpw@pve!sep=88888888-8888-4888-8888-888888888888", "token admpw@pve!bare": "admpw@pve!bare=99999999-9999-4999-8999-999999999999",
	}
}

// passwords are those of users who log in.
func passwords() map[string]string {
	return map[string]string{
		"user vmone@pve": "vmonepass", "user pooluser@pve": "poolpass1", "user admpw@pve": "admpass12", "root@pam": simulatortest.RootPassword,
	}
}

func (p *clusterReplay) actor(note string, x *exchange) {
	for name, token := range actors() {
		if strings.HasPrefix(note, name) {
			x.header.Set("Authorization", "PVEAPIToken="+token)
			return
		}
	}
	for name, password := range passwords() {
		if strings.HasPrefix(note, name) {
			p.useTicket(x, strings.TrimPrefix(name, "user "), password)
			return
		}
	}
	x.header.Set("Authorization", testerToken)
}

// translateUPIDs puts this run's last task of the same kind, subject and user in place of a recorded one.
func (p *clusterReplay) translateUPIDs(path string) string {
	return regexp.MustCompile(`UPID:[^/?\s]*`).ReplaceAllStringFunc(path, func(upid string) string {
		parts, tasks := strings.Split(upid, ":"), p.server.Tasks()
		for i := len(tasks) - 1; i >= 0 && len(parts) > 7; i-- {
			if t := tasks[i]; t.Node == parts[1] && t.Type == parts[5] && t.ID == parts[6] && t.User == parts[7] {
				return t.UPID
			}
		}
		return upid
	})
}

// compare returns two bodies as comparable texts: what the recording has masked matches anything.
func (p *clusterReplay) compare(recorded, body string) (want, got string) {
	if recorded == "(empty body)" {
		recorded = ""
	}
	recorded = strings.ReplaceAll(recorded, ":…:…:…:", ":…:") // Tasks are masked in one piece here.
	w, ok := decodeAny(recorded)
	g, fine := decodeAny(body)
	if !ok || !fine {
		return p.mask.body(recorded), p.mask.body(body)
	}
	w, g = ordered(p.mask.plain("", w)), ordered(p.mask.plain("", g))
	return encoded(w), encoded(veil(w, g))
}

// veil masks in a value what is masked in another one.
func veil(masked, v any) any {
	switch m := masked.(type) {
	case string:
		text := fmt.Sprint(v)
		if strings.Contains(m, "…") && regexp.MustCompile("^(?s)"+strings.ReplaceAll(regexp.QuoteMeta(m), "…", ".*?")+"$").MatchString(text) {
			return m
		}
	case map[string]any:
		if o, ok := v.(map[string]any); ok {
			for k := range o {
				o[k] = veil(m[k], o[k])
			}
		}
	case []any:
		if list, ok := v.([]any); ok && len(list) == len(m) {
			return veilList(m, list)
		}
	}
	return v
}

// veilList masks the entries of a list by those entries of the masked one that they match.
func veilList(masked, list []any) []any {
	out, left := []any{}, append([]any{}, list...)
	for _, m := range masked {
		for i, v := range left {
			if seen := veil(m, v); encoded(seen) == encoded(m) {
				out, left = append(out, seen), append(left[:i:i], left[i+1:]...)
				break
			}
		}
	}
	return append(out, left...)
}
