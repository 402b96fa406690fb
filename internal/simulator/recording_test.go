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
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// recording is one request to a real Proxmox VE with its answer, and what was read after it.
type recording struct {
	Section string   `json:"section"`
	Series  string   `json:"file"`
	Request string   `json:"request"`
	Status  string   `json:"status"`
	Body    string   `json:"body"`
	Task    string   `json:"task"`
	After   []string `json:"after"`
	// place is the recording's number in its section.
	place int
}

// recordedNode describes the node of the recordings.
type recordedNode struct {
	Scenario simulator.Scenario        `json:"scenario"`
	Series   map[string]recordedSeries `json:"series"`
	// Leftovers are objects that other series had left on the node of one release.
	Leftovers []leftover `json:"leftovers"`
	// Slow are the prefixes of the names of sections in which tasks take time.
	Slow []string `json:"slow"`
	// Unrecorded are requests that were not recorded.
	Unrecorded []struct {
		Section string `json:"section"`
		Before  int    `json:"before"`
		// During is true for requests after the answer at that position, before anything was read.
		During  bool   `json:"during"`
		Request string `json:"request"`
		// As is the name of the started process in later requests.
		As string `json:"as"`
	} `json:"unrecorded"`
	// Races are the prefixes of the names of sections in which pairs of requests ran at the same time. The winner goes first.
	Races []string `json:"races"`
	// Systems are the systems in guests, by their VMIDs: the data of their agents, and the addresses of net0.
	Systems map[int]struct {
		OS        map[string]string `json:"os"`
		Addresses []string          `json:"addresses"`
	} `json:"systems"`
	// Quiet are spans of requests during which the node did not report its guests. Between other requests there is time for that.
	Quiet []struct {
		Version string `json:"version"`
		Series  string `json:"series"`
		Section string `json:"section"`
		From    int    `json:"from"`
		To      int    `json:"to"`
	} `json:"quiet"`
	Actors []struct {
		Section string `json:"section"`
		From    int    `json:"from"`
		To      int    `json:"to"`
		Token   string `json:"token"`
	} `json:"actors"`
}

type leftover struct {
	Version string                    `json:"version"`
	Series  string                    `json:"series"`
	Mini    bool                      `json:"mini"`
	Guests  []simulator.ScenarioGuest `json:"guests"`
	Volumes map[string]int64          `json:"volumes"`
	Files   map[string]string         `json:"files"`
	User    string                    `json:"user"`
	Note    string                    `json:"note"`
	// VNets are the virtual networks that are still running, by their names, with their zones.
	VNets map[string]string `json:"vnets"`
}

// leave adds the leftovers to the state.
func (l leftover) leave(st *state.State) {
	for id, size := range l.Volumes {
		storage, name, _ := state.SplitVolume(id)
		owner, file, _ := strings.Cut(name, "/")
		st.Volumes[state.VolumeKey{Storage: storage, Node: "pve1", Name: name}] = &state.Volume{
			VMID: schema.Int(owner), Format: file[strings.LastIndex(file, ".")+1:], Content: "images", Size: size,
		}
	}
	if l.User != "" {
		st.Users[l.User] = &state.User{Groups: map[string]bool{}, Tokens: map[string]*state.Token{}}
	}
	if l.Note != "" {
		st.Nodes["pve1"].Description = l.Note
	}
	for name, zone := range l.VNets {
		st.SDN.AppliedVNets = state.Sections{name: {"type": "vnet", "zone": zone}}
		st.SDN.AppliedZones = state.Sections{zone: {"type": "simple"}}
	}
}

// left returns the leftovers of a series.
func (n *recordedNode) left(version, series string) []leftover {
	return slices.DeleteFunc(slices.Clone(n.Leftovers), func(l leftover) bool { return l.Version != version || l.Series != series })
}

// quiet reports whether the node did not report before a request.
func (n *recordedNode) quiet(version string, r *recording) bool {
	for _, q := range n.Quiet {
		if q.Version == version && q.Series == r.Series && strings.HasPrefix(r.Section, q.Section) && r.place >= q.From && r.place <= q.To {
			return true
		}
	}
	return false
}

// settle moves the winners of races first.
func (n *recordedNode) settle(list []recording) {
	for i := range len(list) - 1 {
		races := slices.ContainsFunc(n.Races, func(s string) bool { return strings.HasPrefix(list[i].Section, s) })
		if races && list[i].Section == list[i+1].Section && strings.Contains(list[i].Status, " 500 ") && strings.Contains(list[i+1].Status, " 200 ") {
			list[i], list[i+1] = list[i+1], list[i]
		}
	}
}

// slow reports whether tasks take time in a section.
func (n *recordedNode) slow(section string) bool {
	return slices.ContainsFunc(n.Slow, func(s string) bool { return strings.HasPrefix(section, s) })
}

type recordedSeries struct {
	Mini   bool                      `json:"mini"`
	Guests []simulator.ScenarioGuest `json:"guests"`
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatal(err)
	}
}

// recordings returns the recordings of a version in the order in which the requests were made.
func recordings(t *testing.T, version string) []recording {
	t.Helper()
	data, err := os.ReadFile("testdata/recordings-" + version + ".json.gz")
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
	for i := range out {
		if i > 0 && out[i].Section == out[i-1].Section && out[i].Series == out[i-1].Series {
			out[i].place = out[i-1].place + 1
		}
	}
	return out
}

// exchange is a recorded request, ready to be sent.
type exchange struct {
	verb, path string
	// plain requests are sent to the TLS port without TLS.
	plain  bool
	header http.Header
	body   string
	params url.Values
}

var (
	requestLine = regexp.MustCompile(`^(?s)(GET|POST|PUT|DELETE) (\S+) ?(.*)$`)
	headerFlag  = regexp.MustCompile(`^(?s)(.*?)-H ([A-Za-z-]+): (application/json; charset=utf-8|application/x-www-form-urlencoded; ` +
		`charset=utf-8|PVEAPIToken \S+|\S+) ?(.*)$`)
	paramStart = regexp.MustCompile(` (?:[A-Za-z][A-Za-z0-9_-]*[=@])`)
	curlFlag   = regexp.MustCompile(` (?:-X |-H |-d |-b |-I|-F |--data-urlencode |/|http://)`)
)

const breakMark = " ⏎ "

// trailer matches the text after a request of two concurrent ones.
var trailer = regexp.MustCompile(` ⏎ [^!-~]{3,}(?s:.*)$`)

// split cuts the text before each match.
func split(text string, at *regexp.Regexp) []string {
	var out []string
	last := 0
	for _, m := range at.FindAllStringIndex(text, -1) {
		out = append(out, strings.TrimSpace(text[last:m[0]]))
		last = m[0]
	}
	out = append(out, strings.TrimPrefix(text[last:], " "))
	return slices.DeleteFunc(out, func(s string) bool { return strings.TrimSpace(s) == "" })
}

func (r *recording) parse() *exchange {
	if _, flags, ok := strings.Cut(r.Request, " — "); ok {
		return parseCurl(flags)
	}
	text := r.Request
	if m := trailer.FindStringIndex(text); m != nil {
		text = text[:m[0]]
	}
	if end := text[max(0, len(text)-100):]; strings.Trim(end, end[:1]) == "" {
		text += strings.Repeat(end, 100) // A long value was recorded without its end.
	}
	m := requestLine.FindStringSubmatch(strings.ReplaceAll(text, breakMark, "\n"))
	x := &exchange{verb: m[1], path: "/api2/json" + m[2], header: http.Header{}, params: url.Values{}}
	rest := m[3]
	if h := headerFlag.FindStringSubmatch(rest); h != nil {
		x.header.Set(h[2], h[3])
		rest = h[1] + h[4]
		if strings.HasPrefix(h[3], "application/json") {
			x.body = h[4]
			return x
		}
	}
	x.fill(strings.TrimRight(rest, " "))
	return x
}

// parseCurl parses a request that was written as the flags of curl.
func parseCurl(flags string) *exchange {
	x := &exchange{verb: http.MethodGet, path: "/api2/json", header: http.Header{}, params: url.Values{}}
	var form []string
	for _, f := range split(" "+flags, curlFlag) {
		f = strings.TrimSpace(f)
		name, value, _ := strings.Cut(f, " ")
		switch {
		case name == "-X":
			x.verb = value
		case name == "-I":
			x.verb = http.MethodHead
		case name == "-H":
			k, v, _ := strings.Cut(value, ": ")
			x.header.Set(k, v)
		case name == "-b":
			x.header.Set("Cookie", value)
		case name == "-d", name == "--data-urlencode":
			form = append(form, value)
		case strings.HasPrefix(f, "http://"):
			x.plain, x.path = true, "/api2/json/version"
		case strings.HasPrefix(f, "/api2"):
			x.path = f
		default:
			x.path += f
		}
	}
	if kind := x.header.Get("Content-Type"); kind != "" || len(form) == 1 && strings.HasPrefix(form[0], "{") {
		x.body = strings.Join(form, "&")
		return x
	}
	if len(form) > 0 {
		x.fill(strings.Join(form, " "))
	}
	return x
}

// fill creates the body of a form.
func (x *exchange) fill(text string) {
	if strings.HasPrefix(text, "-F ") {
		x.multipart(text)
		return
	}
	if text == "" {
		return
	}
	var pairs []string
	for _, p := range split(" "+text, paramStart) {
		p = strings.TrimPrefix(p, " ")
		k, v, ok := strings.Cut(p, "=")
		if !ok {
			k, _, _ = strings.Cut(p, "@")
			v = strings.Repeat("x", 600*1024)
		}
		x.params.Add(k, v)
		pairs = append(pairs, url.QueryEscape(k)+"="+strings.ReplaceAll(url.QueryEscape(v), "+", "%20"))
	}
	x.body = strings.Join(pairs, "&")
	if x.header.Get("Content-Type") == "" {
		x.header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
}

// multipart creates the body of an upload.
func (x *exchange) multipart(text string) {
	buffer := &bytes.Buffer{}
	w := multipart.NewWriter(buffer)
	for f := range strings.SplitSeq(strings.TrimPrefix(text, "-F "), " -F ") {
		k, v, _ := strings.Cut(f, "=")
		if !strings.HasPrefix(v, "@") {
			_ = w.WriteField(k, v) // Writes to a buffer never fail.
			continue
		}
		name := strings.TrimPrefix(v, "@")
		if _, other, ok := strings.Cut(v, ";filename="); ok {
			name = other
		}
		part, _ := w.CreateFormFile(k, name)
		_, _ = part.Write(bytes.Repeat([]byte{0}, 512))
	}
	_ = w.Close()
	x.body = buffer.String()
	x.header.Set("Content-Type", w.FormDataContentType())
}
