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
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/wire"
)

// clusterFloor is the minimum number of recordings of the cluster that match word for word.
const clusterFloor = 826

// recordedCluster describes the cluster of the recordings.
type recordedCluster struct {
	Scenario simulator.Scenario `json:"scenario"`
	// Master is the node whose manager of HA was the first master.
	Master string `json:"master"`
	// Results are the resources that the nodes stopped last.
	Results map[string]string `json:"results"`
	// Tasks are tasks that ended before.
	Tasks []struct {
		Node  string `json:"node"`
		Type  string `json:"type"`
		ID    string `json:"id"`
		User  string `json:"user"`
		Exit  string `json:"exit"`
		Count int    `json:"count"`
	} `json:"tasks"`
	// Before are requests that were made before a section and not recorded.
	Before map[string][]string `json:"before"`
	// Between are requests that were made before a recording and not recorded, or that compensate for a request that ended differently from the recorded one,
	// by the number of the recording.
	Between map[int][]string `json:"between"`
	// Away are the nodes that lost power when a section began.
	Away map[string][]string `json:"away"`
	// Continued are the sections that followed at once, and count the time from the event of the section before.
	Continued []string `json:"continued"`
	// Complete are the sections that began when all nodes were on again.
	Complete []string `json:"complete"`
	// Boots are the times after a node's start at which its daemons run, from a recording on.
	Boots map[int]string `json:"boots"`
	// Pauses are the assumed pauses before requests, by the numbers of the requests. The recordings have no times. The pauses are inferred from the answers,
	// which show before which request a turn of the daemons occurred.
	Pauses map[int]string `json:"pauses"`
	// Interleaved are spans of recordings that two series made at the same time. Those of the second series come before the named recording of the first, by
	// the numbers of the recordings.
	Interleaved []struct {
		From   int `json:"from"`
		To     int `json:"to"`
		Before int `json:"before"`
	} `json:"interleaved"`
}

// TestClusterConformance replays the recordings of a real cluster of three nodes with their original timing. The clock advances at once when all
// goroutines wait.
func TestClusterConformance(t *testing.T) {
	synctest.Test(t, replayCluster)
}

func replayCluster(t *testing.T) {
	cluster := &recordedCluster{}
	readYAML(t, "testdata/cluster.yaml", cluster)
	list := cluster.inOrder(clusterRecordings(t))
	p := newClusterReplay(t, cluster)
	defer p.server.Close()
	report, matched, sections, last := &strings.Builder{}, 0, map[string][2]int{}, ""
	p.known = knownMisses(t)
	for _, r := range list {
		if r.Section != last && sections[r.Section][1] == 0 {
			p.begin(cluster, r.Section, last)
		}
		last = r.Section
		if d, err := time.ParseDuration(cluster.Boots[r.place]); err == nil {
			p.server.Edit(func(*state.State) { p.server.Durations["daemons"] = d })
		}
		p.unrecorded(cluster.Between[r.place])
		want, got := p.run(r)
		count := sections[r.Section]
		count[1]++
		if want == got {
			matched++
			count[0]++
		} else {
			fmt.Fprintf(report, "## %s #%d\n%s\n%s", r.Section, r.place, r.Request, contrast(want, got))
		}
		p.check(r, want == got)
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

// knownMiss is a reason why recordings of the cluster do not match word for word.
type knownMiss struct {
	Reason string `json:"reason"`
	// Recordings are the numbers of the recordings.
	Recordings []int `json:"recordings"`
}

// knownMisses returns the recordings that do not match, by their numbers.
func knownMisses(t *testing.T) map[int]*knownMiss {
	t.Helper()
	list, out := []*knownMiss{}, map[int]*knownMiss{}
	readYAML(t, "testdata/known-cluster.yaml", &list)
	for _, k := range list {
		if k.Reason == "" {
			t.Errorf("the recordings %v have no reason", k.Recordings)
		}
		for _, place := range k.Recordings {
			if out[place] != nil {
				t.Errorf("recording %d is listed twice", place)
			}
			out[place] = k
		}
	}
	return out
}

// check compares a result with the list of recordings that do not match.
func (p *clusterReplay) check(r *recording, match bool) {
	p.t.Helper()
	switch k := p.known[r.place]; {
	case match && k != nil:
		p.t.Errorf("recording %d of %q matches, and is listed as one that does not: %s", r.place, r.Section, r.Request)
	case !match && k == nil:
		p.t.Errorf("recording %d of %q does not match, and is not listed in known-cluster.yaml: %s", r.place, r.Section, r.Request)
	}
}

// inOrder returns the recordings in the order in which they were made.
func (c *recordedCluster) inOrder(list []recording) []*recording {
	moved, out := map[int][]*recording{}, []*recording{}
	for i := range list {
		list[i].place = i
		at := slices.IndexFunc(c.Interleaved, func(s struct {
			From   int `json:"from"`
			To     int `json:"to"`
			Before int `json:"before"`
		},
		) bool {
			return i >= s.From && i <= s.To
		})
		if at >= 0 {
			moved[c.Interleaved[at].Before] = append(moved[c.Interleaved[at].Before], &list[i])
		}
	}
	for i := range list {
		out = append(out, moved[i]...)
		if !slices.ContainsFunc(slices.Concat(slices.Collect(maps.Values(moved))...), func(r *recording) bool { return r == &list[i] }) {
			out = append(out, &list[i])
		}
	}
	return out
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

// clusterReplay sends the requests of the recordings of the cluster.
type clusterReplay struct {
	*replay
	turns *turnClock
	// events are the times when the last event of each section began. The recordings contain how long ago that was.
	events map[string]time.Time
	// pauses are the pauses before requests, by their numbers.
	pauses map[int]time.Duration
	// known are the recordings that do not match.
	known map[int]*knownMiss
}

// betweenSections is the time from one section to the next.
const betweenSections = 5 * time.Minute

func newClusterReplay(t *testing.T, cluster *recordedCluster) *clusterReplay {
	t.Helper()
	turns := &turnClock{taken: map[time.Time]bool{}}
	s, err := simulator.New(simulator.Options{Scenario: &cluster.Scenario, Version: "9.2", Speed: 1, Clock: turns})
	if err != nil {
		t.Fatal(err)
	}
	s.Edit(func(st *state.State) {
		st.HAManager.Master, st.HAManager.Seen = cluster.Master, time.Now()
		for node, sid := range cluster.Results {
			st.HAManager.Nodes[node] = &state.HANode{State: "online", Online: time.Now(), Results: map[int]state.HAResult{0: {SID: sid, State: "request_stop"}}}
		}
		for _, past := range cluster.Tasks {
			for range past.Count {
				task := st.NewTask(past.Node, past.Type, past.ID, state.Identity(past.User), time.Now())
				task.Ended, task.Exit = time.Now(), past.Exit
			}
		}
	})
	p := &clusterReplay{turns: turns, events: map[string]time.Time{}, replay: &replay{
		t: t, server: s, node: &recordedNode{}, mask: newMasker(), ours: map[string]string{}, tickets: map[string][2]string{},
	}}
	p.direct = p.ask
	p.pauses = map[int]time.Duration{}
	for place, text := range cluster.Pauses {
		if p.pauses[place], err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// begin creates the initial state of a section.
func (p *clusterReplay) begin(cluster *recordedCluster, section, last string) {
	if off := cluster.Away[section]; len(off) > 0 {
		defer func() { p.events[section] = time.Now() }()
		defer p.letPass(8 * time.Second)
		defer p.power(off, false)
	}
	if !slices.Contains(cluster.Continued, section) {
		p.letPass(betweenSections)
	}
	if slices.Contains(cluster.Complete, section) {
		p.server.PowerOn("pve1", "pve2", "pve3")
		p.server.Edit(func(st *state.State) { st.NoQuorum = false })
		defer func() { p.events[section] = time.Now() }()
	}
	p.tickets = map[string][2]string{} // Tickets expire.
	p.unrecorded(cluster.Before[section])
	if slices.Contains(cluster.Continued, section) {
		p.events[section] = p.events[last]
		return
	}
	p.letPass(20 * time.Second)
	p.events[section] = time.Now()
}

// unrecorded sends requests that were not recorded, one after another.
func (p *clusterReplay) unrecorded(requests []string) {
	p.t.Helper()
	for _, request := range requests {
		if node, ok := strings.CutPrefix(request, "power of "); ok {
			p.power([]string{node}, true)
			continue
		}
		x := (&recording{Request: request}).parse()
		x.header.Set("Authorization", testerToken)
		status, body := p.ask(x)
		if !strings.Contains(status, " 200 ") {
			p.t.Errorf("%s: %s %s", request, status, body)
		}
		p.exit(upidPattern.FindString(body))
	}
}

var (
	clusterRequest = regexp.MustCompile(`^(?s)(?:(.*?) — )?(GET|POST|PUT|DELETE) (\S+)(.*)$`)
	powerOf        = regexp.MustCompile(`\(power of (.*) (goes off|is on again)\)`)
	tightLoop      = regexp.MustCompile(`^in a tight loop while VM (\d+) is destroyed`)
	since          = regexp.MustCompile(`\bt\+(\d+)s`)
)

const (
	// tolerance is how much later than in the recording a list may show the recorded values, because daemons run at their own times.
	tolerance = 12 * time.Second
	// lookEvery is the time between two checks.
	lookEvery = time.Second
	// lookForEnd is the time between two checks whether a task has ended. It is not a round number, so that it does not coincide with other events.
	lookForEnd = 370 * time.Millisecond
	// booting is how long a node takes to start until it answers.
	booting = 3 * time.Second
	// joining is how long it then takes until the nodes have quorum.
	joining = 500 * time.Millisecond
	// losing is how long it takes until a node notices that it has no quorum.
	losing = 8 * time.Second
)

// letPass advances the time, and lets everything happen that is due then.
func (p *clusterReplay) letPass(d time.Duration) {
	<-p.turns.After(d)
	synctest.Wait()
}

// later calls a function after a while.
func (p *clusterReplay) later(d time.Duration, fn func()) {
	after := p.turns.After(d)
	go func() {
		<-after
		fn()
	}()
}

// turnClock ensures that no two waits end at the same moment. The one that began first ends first, so that each replay runs in the same order.
type turnClock struct {
	mu    sync.Mutex
	taken map[time.Time]bool
}

// Now returns the time of the test.
func (c *turnClock) Now() time.Time { return time.Now() }

// After waits for d, or the next nanosecond at which no other wait ends.
func (c *turnClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := time.Now().Add(d)
	for c.taken[end] {
		end = end.Add(1)
	}
	c.taken[end] = true
	return time.After(time.Until(end))
}

// run sends a request and returns the recorded and the actual answer, as comparable lines.
func (p *clusterReplay) run(r *recording) (want, got string) {
	if m := since.FindStringSubmatch(r.Request); m != nil {
		at := time.Duration(schema.Int(m[1])) * time.Second
		if at == 0 {
			p.events[r.Section] = time.Now()
		}
		p.letPass(time.Until(p.events[r.Section].Add(at)))
	}
	if m := powerOf.FindStringSubmatch(r.Request); m != nil {
		p.power(strings.Split(m[1], " and "), m[2] == "is on again")
		return "", ""
	}
	p.letPass(100*time.Millisecond + p.pauses[r.place])
	if m := tightLoop.FindStringSubmatch(r.Request); m != nil {
		return p.untilMatch(r, m[1])
	}
	x := p.exchange(r)
	want, got = p.once(r, x)
	wait := patienceFor(x.path)
	if p.known[r.place] != nil {
		wait = 0 // The following request is in time.
	}
	for end := time.Now().Add(wait); want != got && x.verb == http.MethodGet && time.Now().Before(end); want, got = p.once(r, x) {
		p.letPass(lookEvery)
	}
	return want, got
}

// untilMatch creates a VM, destroys it, and meanwhile sends a request until its answer is the recorded one.
func (p *clusterReplay) untilMatch(r *recording, vmid string) (want, got string) {
	send := func(request string) string {
		x := (&recording{Request: request}).parse()
		x.header.Set("Authorization", testerToken)
		_, body := p.ask(x)
		return upidPattern.FindString(body)
	}
	p.exit(send("POST /nodes/pve1/qemu vmid=" + vmid + " memory=64"))
	send("DELETE /nodes/pve1/qemu/" + vmid)
	for range 20_000 {
		if want, got = p.once(r, p.exchange(r)); want == got {
			break
		}
		p.letPass(time.Millisecond)
	}
	return want, got
}

// patienceFor returns how long an answer may take to match the recorded one. It is longer only for what nodes report or do by themselves.
func patienceFor(path string) time.Duration {
	if strings.Contains(path, "/cluster/resources") || strings.Contains(path, "/ha/status/current") || strings.Contains(path, "/migrate") {
		return tolerance
	}
	return lookEvery
}

// power turns nodes off or on.
func (p *clusterReplay) power(nodes []string, on bool) {
	quorum := func() {
		p.server.Edit(func(st *state.State) {
			off := 0
			for _, n := range st.Nodes {
				off += schema.Flag(n.Offline)
			}
			st.NoQuorum = off > len(st.Nodes)/2
		})
	}
	if !on {
		p.server.PowerOff(nodes...)
		p.later(losing, quorum)
		return
	}
	p.server.Edit(func(st *state.State) {
		for _, name := range nodes {
			st.Nodes[name].Starting = true
		}
	})
	p.later(booting, func() {
		p.server.PowerOn(nodes...)
		p.later(joining, quorum)
	})
}

// exchange returns the request of a recording.
func (p *clusterReplay) exchange(r *recording) *exchange {
	m := clusterRequest.FindStringSubmatch(r.Request)
	x := &exchange{verb: m[2], path: "/api2/json" + m[3], header: http.Header{}, params: map[string][]string{}}
	x.fill(strings.TrimSpace(strings.ReplaceAll(m[4], " -d ", " ")))
	if x.verb == http.MethodDelete && x.body != "" {
		x.path, x.body = x.path+"?"+x.body, ""
		x.header.Del("Content-Type")
	}
	for name, password := range passwords() {
		if user := strings.TrimPrefix(name, "user "); strings.Contains(x.body, "username="+url.QueryEscape(user)+"&password=") {
			x.body = "username=" + url.QueryEscape(user) + "&password=" + password
		}
	}
	p.actor(m[1], x)
	x.path = p.translateUPIDs(x.path)
	return x
}

// once sends the request of a recording, and those that were made after it.
func (p *clusterReplay) once(r *recording, x *exchange) (want, got string) {
	status, body := p.ask(x)
	p.learn(r.Body, body)
	wants, gots := []string{r.Status, r.Task}, []string{status, ""}
	if r.Task != "" {
		gots[1] = p.exit(upidPattern.FindString(body))
	}
	w, g := p.compare(r.Body, body)
	wants, gots = append(wants, w), append(gots, g)
	for _, after := range r.After {
		w, g := p.after(after)
		for end := time.Now().Add(tolerance); w != g && time.Now().Before(end); w, g = p.after(after) {
			p.letPass(lookEvery)
		}
		wants, gots = append(wants, w), append(gots, g)
	}
	return p.mask.text(strings.Join(wants, "\n")), p.mask.text(strings.Join(gots, "\n"))
}

func (p *clusterReplay) after(after string) (want, got string) {
	request, recorded, _ := strings.Cut(after, ": ")
	verb, path, _ := strings.Cut(request, " ")
	_, body := p.ask(&exchange{verb: verb, path: "/api2/json" + path, header: p.admin()})
	if i := strings.Index(recorded, "{"); i > 0 {
		recorded = recorded[i:]
	}
	return p.compare(recorded, body)
}

// ask passes a request to the server like its listener.
func (p *clusterReplay) ask(x *exchange) (status, body string) {
	p.t.Helper()
	plain, err := http.NewRequestWithContext(context.Background(), x.verb, strings.ReplaceAll(x.path, " ", "%20"), http.NoBody)
	if err != nil {
		p.t.Fatal(err)
	}
	plain.Header = x.header
	r := &wire.Request{Request: plain, Content: []byte(x.body), Endpoint: "pve1"}
	resp := p.server.Admit(r)
	if resp == nil {
		resp = p.server.Answer(r)
	}
	synctest.Wait() // A task that the request has started runs as far as it can.
	if resp.Cut {
		return "no answer: connection closed", ""
	}
	reason := resp.Reason
	if reason == "" {
		reason = http.StatusText(resp.Status)
	}
	reason, _, _ = strings.Cut(reason, "\n")
	return fmt.Sprintf("HTTP/1.1 %d %s", resp.Status, reason), string(resp.Content)
}

// exit waits for a task and returns its exit status.
func (p *clusterReplay) exit(upid string) string {
	for end := time.Now().Add(5 * time.Minute); upid != "" && time.Now().Before(end); p.letPass(lookForEnd) {
		for _, t := range p.server.Tasks() {
			if t.UPID == upid && !t.Running() {
				p.letPass(lookEvery / 2) // The tester checked about once a second.
				return t.Exit
			}
		}
	}
	return ""
}

// actors returns credentials by the names of their users in the recordings. Others are the tester.
func actors() map[string]string {
	return map[string]string{
		"auditor": "auditor@pve!ro=33333333-3333-4333-8333-333333333333", "nobody": "nobody@pve!t1=55555555-5555-4555-8555-555555555555",
		"token vmone@pve!t0": "vmone@pve!t0=66666666-6666-4666-8666-666666666666", "token admpw@pve!full0": "admpw@pve!full0=77777777-7777-4777-8777-777777777777",
		"token admpw@pve!sep": "admpw@pve!sep=88888888-8888-4888-8888-888888888888", "token admpw@pve!bare": "admpw@pve!bare=99999999-9999-4999-8999-999999999999",
	}
}

// passwords returns the passwords of users who log in.
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

// translateUPIDs replaces a recorded UPID by that of this run's last task of the same kind, subject and user.
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

// compare returns two bodies as comparable texts. What the recording has masked matches anything.
func (p *clusterReplay) compare(recorded, body string) (want, got string) {
	if recorded == "(empty body)" {
		recorded = ""
	}
	recorded = strings.ReplaceAll(recorded, ":…:…:…:", ":…:") // The masker masks a task as a whole.
	w, ok := decodeAny(recorded)
	g, fine := decodeAny(body)
	if !ok || !fine {
		return p.mask.body(recorded), p.mask.body(body)
	}
	g = sameKeys(w, g)
	w, g = ordered(p.mask.plain("", unmonitored(w))), ordered(p.mask.plain("", unmonitored(g)))
	return encoded(w), encoded(maskLike(w, g))
}

// sameKeys keeps, of the entries whose names are masked, the one that the recording contains, because it has kept only one of several.
func sameKeys(masked, v any) any {
	m, isMap := masked.(map[string]any)
	o, ok := v.(map[string]any)
	if !isMap || !ok {
		return v
	}
	if want, single := m["…"]; single && len(m) == 1 {
		for _, got := range o {
			if encoded(got) == encoded(want) {
				return map[string]any{"…": got}
			}
		}
	}
	for k := range o {
		o[k] = sameKeys(m[k], o[k])
	}
	return o
}

// maskLike masks in a value what is masked in another one.
func maskLike(masked, v any) any {
	switch m := masked.(type) {
	case string:
		text := fmt.Sprint(v)
		if strings.Contains(m, "…") && fits(m, text) {
			return m
		}
	case map[string]any:
		if o, ok := v.(map[string]any); ok {
			for k := range o {
				o[k] = maskLike(m[k], o[k])
			}
		}
	case []any:
		if list, ok := v.([]any); ok {
			return maskList(m, list)
		}
	}
	return v
}

// fits reports whether a text matches a masked one, which contains the parts around the marks in their order.
func fits(masked, text string) bool {
	parts := strings.Split(masked, "…")
	last := len(parts) - 1
	if !strings.HasPrefix(text, parts[0]) || !strings.HasSuffix(text, parts[last]) || len(text) < len(parts[0])+len(parts[last]) {
		return false
	}
	text = text[len(parts[0]) : len(text)-len(parts[last])]
	for _, part := range parts[1:last] {
		_, rest, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// unmonitored leaves out what the recorded nodes did not report about running guests, because their QEMU lacks Proxmox' patches.
func unmonitored(v any) any {
	o, ok := v.(map[string]any)
	data, isGuest := o["data"].(map[string]any)
	if ok && isGuest && data["qmpstatus"] == "running" {
		for _, key := range []string{"blockstat", "diskread", "diskwrite", "proxmox-support", "running-machine", "running-qemu", "balloon", "ballooninfo"} {
			delete(data, key)
		}
	}
	return v
}

// maskList masks the entries of a list by those entries of the masked one that they match, or otherwise by the one of the same name.
func maskList(masked, list []any) []any {
	out, left := []any{}, append([]any{}, list...)
	for _, m := range masked {
		want, name := encoded(m), named(m)
		for i, v := range left {
			if name != named(v) && !strings.Contains(name, "…") {
				continue
			}
			if seen := maskLike(m, v); encoded(seen) == want {
				out, left = append(out, seen), append(left[:i:i], left[i+1:]...)
				break
			}
		}
	}
	for i, v := range left {
		for _, m := range masked {
			if named(m) != "" && named(m) == named(v) {
				left[i] = maskLike(m, v)
			}
		}
	}
	return append(out, left...)
}

// named returns the name of a list's entry.
func named(v any) string {
	o, _ := v.(map[string]any)
	for _, key := range []string{"id", "sid", "volid", "name"} {
		if text, ok := o[key].(string); ok {
			return text
		}
	}
	return ""
}
