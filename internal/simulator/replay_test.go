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
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// replay sends the requests of one series to a separate server.
type replay struct {
	t      *testing.T
	server *simulator.Server
	clock  *stepClock
	node   *recordedNode
	mask   *masker
	// ours maps recorded UPIDs and digests to those of this run.
	ours map[string]string
	// tickets holds the tickets and CSRF tokens of users, by their names.
	tickets map[string][2]string
	// section is the current section.
	section string
	// direct, if it is set, calls the server without a connection.
	direct func(*exchange) (status, body string)
	// before is the configuration of the guest before the request.
	before map[string]string
}

func (p *replay) remember(x *exchange) {
	if m := vmidPattern.FindStringSubmatch(x.path); m != nil {
		g, _ := p.server.Guest(schema.Int(m[1]))
		p.before = g.Config
	}
}

// reportEvery is how often the recorded node reported its guests.
const reportEvery = 10 * time.Second

// stepClock is a clock that only moves when it is told to.
type stepClock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the current time of the clock.
func (c *stepClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After waits in real time. With instant tasks, only lock waits use it.
func (c *stepClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

func (c *stepClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// slowSpeed is the speed in sections in which tasks take time.
const slowSpeed = 20

func newReplay(t *testing.T, version string, node *recordedNode, r *recording) *replay {
	t.Helper()
	scenario := node.Scenario
	scenario.Guests = slices.Clone(node.Series[r.Series].Guests)
	scenario.Storages = slices.Clone(scenario.Storages)
	mini, left, speed := node.Series[r.Series].Mini, node.left(version, r.Series), 0.0
	if node.slow(r.Section) {
		speed = slowSpeed
	}
	scenario.StockQEMU = true
	if version == "8.4" {
		scenario.QEMU = "7.2.22" // The release's own version was not on the node.
	}
	for _, l := range left {
		scenario.Guests = append(scenario.Guests, l.Guests...)
		mini = mini || l.Mini
	}
	files := maps.Clone(scenario.Storages[0].Files)
	if mini {
		files["import/mini.qcow2"] = "19M 19005440"
	}
	if node.Series[r.Series].Mini {
		files["iso/mini.iso"] = "19M"
	}
	for _, l := range left {
		maps.Copy(files, l.Files)
	}
	scenario.Storages[0].Files = files
	clock, options := &stepClock{now: time.Now()}, simulator.Options{Scenario: &scenario, Version: version, Speed: speed}
	if speed == 0 {
		options.Clock, options.Reports = clock, reportEvery
	}
	s := simulatortest.NewTest(t, options)
	for _, l := range left {
		s.Edit(l.leave)
	}
	return &replay{t: t, server: s, clock: clock, node: node, mask: newMasker(), ours: map[string]string{}, tickets: map[string][2]string{}}
}

// run sends a request and returns the recorded and the actual answer, as comparable lines.
func (p *replay) run(r *recording) (want, got string) {
	p.section = r.Section
	p.unrecorded(r, false)
	x := r.parse()
	p.remember(x)
	p.translate(r, x)
	p.authenticate(r, x)
	p.install()
	status, body := p.send(x)
	p.unrecorded(r, true)
	p.learn(r.Body, body)
	wanted := p.mask.body(strings.Replace(r.Body, "(empty body)", "", 1))
	if cut(r.Body) && p.mask.begins(r.Body, body) {
		wanted = p.mask.body(body)
	}
	lines := [2][]string{{r.Status, wanted, r.Task}, {status, p.mask.body(body), p.outcome(r, body)}}
	for _, after := range r.After {
		w, g := p.after(x, after)
		lines[0], lines[1] = append(lines[0], w), append(lines[1], g)
	}
	return p.mask.text(strings.Join(lines[0], "\n")), p.mask.text(strings.Join(lines[1], "\n"))
}

// install sets the systems that ran in guests.
func (p *replay) install() {
	p.server.Edit(func(st *state.State) {
		for vmid, system := range p.node.Systems {
			if g := st.Guests[vmid]; g != nil && g.Agent == nil {
				g.Agent = &state.Agent{OS: system.OS, Addresses: map[int][]string{0: system.Addresses}}
			}
		}
	})
}

var (
	upidPattern   = regexp.MustCompile(`UPID(:|%3A)[^/"\s]+`)
	digestPattern = regexp.MustCompile(`\b[0-9a-f]{40}\b`)
)

// learn records which identifiers of this run correspond to the recorded ones.
func (p *replay) learn(recorded, ours string) {
	for _, re := range []*regexp.Regexp{upidPattern, digestPattern} {
		if a, b := re.FindString(recorded), re.FindString(ours); a != "" && b != "" {
			p.ours[a] = b
		}
	}
}

// translate replaces recorded identifiers in a request by those of this run.
func (p *replay) translate(r *recording, x *exchange) {
	x.path = upidPattern.ReplaceAllStringFunc(x.path, func(upid string) string {
		plain, err := url.PathUnescape(upid)
		ours := p.ours[plain]
		if ours == "" {
			ours = p.latest(plain)
		}
		switch {
		case err != nil || ours == "":
			return upid
		case plain == upid:
			return ours
		}
		return strings.ReplaceAll(url.PathEscape(ours), ":", "%3A")
	})
	if head, pid, ok := strings.Cut(x.path, "?"); ok && p.ours[pid] != "" {
		x.path = head + "?" + p.ours[pid]
	}
	x.body = digestPattern.ReplaceAllStringFunc(x.body, func(digest string) string {
		if ours := p.ours[digest]; ours != "" {
			return ours
		}
		if strings.Contains(r.Status, "checksum") {
			return digest
		}
		return p.digest(x.path)
	})
}

// digest reads the current digest of a guest.
func (p *replay) digest(path string) string {
	_, body := p.send(&exchange{verb: http.MethodGet, path: path, header: p.admin()})
	return digestPattern.FindString(body)
}

const testerToken = "PVEAPIToken=tester@pve!full=11111111-1111-4111-8111-111111111111"

func (p *replay) admin() http.Header { return http.Header{"Authorization": {testerToken}} }

func (p *replay) authenticate(r *recording, x *exchange) {
	title, _, curl := strings.Cut(r.Request, " — ")
	switch {
	case x.header.Get("CSRFPreventionToken") == "…" && !curl:
		p.useTicket(x, "root@pam", simulatortest.RootPassword)
	case strings.Contains(x.header.Get("Cookie")+x.header.Get("Authorization"), "<ticket>"):
		p.curlTicket(title, x)
	case x.header.Get("Authorization") != "" || strings.HasPrefix(title, "no credentials") || strings.HasPrefix(title, "GET / html") ||
		x.path == "/api2/json/access/ticket":
	default:
		x.header.Set("Authorization", testerToken)
		for _, a := range p.node.Actors {
			if strings.HasPrefix(r.Section, a.Section) && r.place >= a.From && r.place <= a.To {
				x.header.Set("Authorization", "PVEAPIToken="+a.Token)
			}
		}
	}
}

func (p *replay) useTicket(x *exchange, user, password string) {
	t := p.ticket(user, password)
	x.header.Set("Cookie", "PVEAuthCookie="+url.QueryEscape(t[0]))
	x.header.Set("CSRFPreventionToken", t[1])
}

// curlTicket adds the ticket to a request of the first series.
func (p *replay) curlTicket(title string, x *exchange) {
	t := p.ticket("tester@pve", "testpass123")
	if strings.Contains(title, "bad ticket") {
		t[0] = "PVE:tester@pve:00000000::AAAA"
	}
	if x.header.Get("CSRFPreventionToken") != "" {
		x.header.Set("CSRFPreventionToken", t[1])
		if strings.Contains(title, "wrong CSRF") {
			x.header.Set("CSRFPreventionToken", "00000000:AAAA")
		}
	}
	for _, name := range []string{"Cookie", "Authorization"} {
		if v := x.header.Get(name); v != "" {
			x.header.Set(name, strings.Replace(v, "<ticket>", url.QueryEscape(t[0]), 1))
		}
	}
}

func (p *replay) ticket(user, password string) [2]string {
	if t, ok := p.tickets[user]; ok {
		return t
	}
	form := url.Values{"username": {user}, "password": {password}}.Encode()
	_, body := p.send(&exchange{
		verb: http.MethodPost, path: "/api2/json/access/ticket", body: form,
		header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
	})
	var out struct {
		Data struct {
			Ticket string `json:"ticket"`
			CSRF   string `json:"CSRFPreventionToken"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil || out.Data.Ticket == "" {
		p.t.Fatalf("cannot log in as %s: %s", user, body)
	}
	p.tickets[user] = [2]string{out.Data.Ticket, out.Data.CSRF}
	return p.tickets[user]
}

// outcome returns the outcome of the task that the call has started, if it was recorded.
func (p *replay) outcome(r *recording, body string) string {
	if r.Task == "" {
		return ""
	}
	upid := upidPattern.FindString(body)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(time.Millisecond) {
		i := slices.IndexFunc(p.server.Tasks(), func(t state.Task) bool { return t.UPID == upid })
		if i < 0 {
			return ""
		}
		if t := p.server.Tasks()[i]; !t.Running() {
			return t.Exit
		}
	}
	return ""
}

// unrecorded makes the requests before another one that were not recorded.
func (p *replay) unrecorded(r *recording, during bool) {
	for _, u := range p.node.Unrecorded {
		if strings.HasPrefix(r.Section, u.Section) && r.place == u.Before && u.During == during {
			x := (&recording{Request: u.Request}).parse()
			x.header.Set("Authorization", testerToken)
			_, body := p.send(x)
			if u.As != "" {
				p.ours[u.As] = "pid=" + regexp.MustCompile(`\d+`).FindString(body)
			}
		}
	}
}

// latest returns this run's last task of the kind and subject of a recorded UPID.
func (p *replay) latest(upid string) string {
	parts := strings.Split(upid, ":")
	for _, t := range slices.Backward(p.server.Tasks()) {
		if len(parts) > 6 && t.Type == parts[5] && t.ID == parts[6] && p.node.slow(p.section) {
			return t.UPID
		}
	}
	return ""
}

var vmidPattern = regexp.MustCompile(`/qemu/(\d+)`)

// after repeats the reads after a call.
func (p *replay) after(x *exchange, recorded string) (want, got string) {
	kind, text, _ := strings.Cut(recorded, ": ")
	vmid := x.params.Get("newid") + x.params.Get("vmid")
	if m := vmidPattern.FindStringSubmatch(x.path); m != nil && x.params.Get("newid") == "" {
		vmid = m[1]
	}
	what := "config"
	if kind == "pending" {
		what = "pending"
	}
	_, body := p.send(&exchange{verb: http.MethodGet, path: "/api2/json/nodes/pve1/qemu/" + vmid + "/" + what, header: p.admin()})
	p.learn(text, body)
	if kind == "conf afterwards" {
		return p.mask.body(text), p.mask.body(body)
	}
	return p.mask.body(text), p.mask.body(unwrap(body, kind == "pending"))
}

// unwrap returns the data of a body. With pending, it contains only the pending values.
func unwrap(body string, pending bool) string {
	var out struct {
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal([]byte(body), &out) != nil {
		return body
	}
	if !pending {
		return string(out.Data)
	}
	var list []map[string]any
	if json.Unmarshal(out.Data, &list) != nil {
		return string(out.Data)
	}
	list = slices.DeleteFunc(list, func(e map[string]any) bool { return e["pending"] == nil && e["delete"] == nil })
	text, err := json.Marshal(list)
	if err != nil {
		return body
	}
	return string(text)
}
