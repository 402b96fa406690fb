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
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var mismatches = flag.String("mismatches", "", "write the recordings that do not match to this file, followed by the version") //nolint:gochecknoglobals // A flag.

// floors are how many recordings of a version match word for word, at least.
func floors() map[string]int { return map[string]int{"8.4": 843, "9.2": 842} }

// known is a reason for which recordings do not match word for word. Every entry needs at least one such recording.
type known struct {
	// Reason says why.
	Reason string `json:"reason"`
	// Versions are those it holds for; all of them when empty.
	Versions []string `json:"versions,omitempty"`
	// Section and Request match the recorded request, Recorded what PVE answered: status line, body, outcome of the task and
	// what was read afterwards, one per line. All of them are regular expressions.
	Section  string `json:"section,omitempty"`
	Request  string `json:"request,omitempty"`
	Recorded string `json:"recorded,omitempty"`
	// Answer is a pattern of what the simulator answers, in the same lines.
	Answer string `json:"answer"`
	// Fail makes the request, or the task that it starts, fail as it was recorded, so that what follows can match.
	Fail bool `json:"fail,omitempty"`
	// Busy is "VMID device": the device stays attached until the next start, as where a guest holds on to it.
	Busy string `json:"busy,omitempty"`
	used int
}

func (k *known) matches(version string, r *recording, want, got string) bool {
	match := func(pattern, text string) bool { return regexp.MustCompile("(?s)" + pattern).MatchString(text) }
	return (len(k.Versions) == 0 || slices.Contains(k.Versions, version)) && match(k.Section, r.Section) &&
		match(k.Request, r.Request) && match(k.Recorded, want) && (got == "" || match(k.Answer, got))
}

// TestConformance replays what was recorded on real servers, series by series.
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
	var p *replay
	for i := range list {
		r := &list[i]
		if i == 0 || r.Series != list[i-1].Series || node.slow(r.Section) != node.slow(list[i-1].Section) {
			p = newReplay(t, version, node, r)
		}
		p.prepare(version, r, reasons)
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

// causes returns the reasons that make something happen at a request.
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
		p.server.Inject(Fault{TaskExit: r.Task, Count: 1})
	default:
		_, status, _ := strings.Cut(r.Status, " ")
		code, message, _ := strings.Cut(status, " ")
		p.server.Inject(Fault{Status: atoi(code), Message: message, Count: 1})
	}
}

// busy marks a device that the recorded node could not take away.
func (p *replay) busy(version string, r *recording, reasons []known) {
	for _, k := range causes(version, r, reasons) {
		vmid, device, ok := strings.Cut(k.Busy, " ")
		if !ok {
			continue
		}
		p.server.Edit(func(st *State) {
			g := st.Guests[atoi(vmid)]
			if g.Config[device] == "" {
				g.Config[device] = p.before[device]
			}
			g.Delete[device] = false
			maps.DeleteFunc(g.Config, func(key, value string) bool { return isUnused(key) && strings.HasPrefix(p.before[device], value) })
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

// replay sends the requests of one series to a server of its own.
type replay struct {
	t      *testing.T
	server *Server
	node   *recordedNode
	mask   *masker
	// ours are this run's words for recorded ones: UPIDs and digests.
	ours map[string]string
	// ticket and token authenticate users, by their names.
	tickets map[string][2]string
	// section is where the replay is.
	section string
	// before is the configuration of the guest that a request is for.
	before map[string]string
}

func (p *replay) remember(x *exchange) {
	if m := vmidPattern.FindStringSubmatch(x.path); m != nil {
		g, _ := p.server.Guest(atoi(m[1]))
		p.before = g.Config
	}
}

// slowSpeed is how fast tasks are in sections in which they take their time.
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
	if version == "8.4" {
		scenario.QEMU = "7.2.22" // The release's own was not on the node.
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
	s := NewTest(t, Options{Scenario: &scenario, Version: version, Speed: speed})
	for _, l := range left {
		s.Edit(l.leave)
	}
	return &replay{t: t, server: s, node: node, mask: newMasker(), ours: map[string]string{}, tickets: map[string][2]string{}}
}

// run sends a request and returns what was recorded and what came, as comparable lines.
func (p *replay) run(r *recording) (want, got string) {
	p.section = r.Section
	p.unrecorded(r)
	x := r.parse()
	p.remember(x)
	p.translate(r, x)
	p.authenticate(r, x)
	status, body := p.send(x)
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

var (
	upidPattern   = regexp.MustCompile(`UPID(:|%3A)[^/"\s]+`)
	digestPattern = regexp.MustCompile(`\b[0-9a-f]{40}\b`)
)

// learn remembers which of this run's identifiers stand for the recorded ones.
func (p *replay) learn(recorded, ours string) {
	for _, re := range []*regexp.Regexp{upidPattern, digestPattern} {
		if a, b := re.FindString(recorded), re.FindString(ours); a != "" && b != "" {
			p.ours[a] = b
		}
	}
}

// translate puts this run's identifiers into a request.
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
		p.useTicket(x, "root@pam", RootPassword)
	case strings.Contains(x.header.Get("Cookie")+x.header.Get("Authorization"), "<ticket>"):
		p.curlTicket(title, x)
	case x.header.Get("Authorization") != "" || strings.HasPrefix(title, "no credentials") || strings.HasPrefix(title, "GET / html") || x.path == "/api2/json/access/ticket":
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

// curlTicket fills the ticket into a request of the first series.
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

// send makes a request as curl does and returns status line and body.
func (p *replay) send(x *exchange) (status, body string) {
	p.t.Helper()
	conn := p.dial(x.plain)
	defer conn.Close() //nolint:errcheck // A test's connection.
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		p.t.Fatal(err)
	}
	head := &strings.Builder{}
	fmt.Fprintf(head, "%s %s HTTP/1.1\r\nHost: pve1:8006\r\n", x.verb, strings.ReplaceAll(x.path, " ", "%20"))
	for name, values := range x.header {
		fmt.Fprintf(head, "%s: %s\r\n", name, values[0])
	}
	if x.header.Get("Transfer-Encoding") != "" {
		x.body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(x.body), x.body)
	} else if x.body != "" || x.verb == http.MethodPost || x.verb == http.MethodPut {
		fmt.Fprintf(head, "Content-Length: %d\r\n", len(x.body))
	}
	if _, err := io.WriteString(conn, head.String()+"\r\n"+x.body); err != nil {
		p.t.Fatal(err)
	}
	return p.receive(conn, x.verb)
}

func (p *replay) receive(conn net.Conn, verb string) (status, body string) {
	reader := bufio.NewReader(conn)
	for {
		resp, err := http.ReadResponse(reader, &http.Request{Method: verb})
		if err != nil {
			p.t.Fatal(err)
		}
		content, err := io.ReadAll(resp.Body)
		if err != nil {
			p.t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusContinue {
			return resp.Proto + " " + resp.Status, string(content)
		}
	}
}

func (p *replay) dial(plain bool) net.Conn {
	p.t.Helper()
	address := strings.TrimPrefix(p.server.URL(), "https://")
	var conn net.Conn
	var err error
	if plain {
		conn, err = (&net.Dialer{}).DialContext(context.Background(), "tcp", address)
	} else {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(p.server.CA())
		conn, err = (&tls.Dialer{Config: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}).DialContext(context.Background(), "tcp", address)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return conn
}

// outcome is how the task ended that the call started, when that was recorded.
func (p *replay) outcome(r *recording, body string) string {
	if r.Task == "" {
		return ""
	}
	upid := upidPattern.FindString(body)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(time.Millisecond) {
		i := slices.IndexFunc(p.server.Tasks(), func(t Task) bool { return t.UPID == upid })
		if i < 0 {
			return ""
		}
		if t := p.server.Tasks()[i]; !t.Running() {
			return t.Exit
		}
	}
	return ""
}

// unrecorded makes the requests that were made before one, and were not written down.
func (p *replay) unrecorded(r *recording) {
	for _, u := range p.node.Unrecorded {
		if strings.HasPrefix(r.Section, u.Section) && r.place == u.Before {
			x := (&recording{Request: u.Request}).parse()
			x.header.Set("Authorization", testerToken)
			_, body := p.send(x)
			if u.As != "" {
				p.ours[u.As] = "pid=" + regexp.MustCompile(`\d+`).FindString(body)
			}
		}
	}
}

// latest is the last task of the kind and subject that a recorded UPID tells, as it is here.
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

// after repeats what was read after a call.
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

// unwrap returns the data of a body; of pending values only those that are.
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
