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

package proxmox

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox/lenient"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
)

// A Version of PVE.
type Version struct {
	// Version is the whole version, such as 8.4.21.
	Version string

	// Release is the point release, such as 8.4.
	Release string

	// RepoID is the revision from which the release was built.
	RepoID string
}

// AtLeast reports whether this is release major.minor or a later one.
func (v Version) AtLeast(major, minor int) bool {
	parts := strings.SplitN(v.Version+"..", ".", 3)
	ma, err := strconv.Atoi(parts[0])
	if err != nil || ma != major {
		return err == nil && ma > major
	}
	mi, err := strconv.Atoi(parts[1])
	return err == nil && mi >= minor || minor <= 0
}

// Version returns the version of the node that answers. Any user may read it.
func (c ClusterAPI) Version(ctx context.Context) (Version, error) {
	var d struct {
		Version text `json:"version"`
		Release text `json:"release"`
		RepoID  text `json:"repoid"`
	}
	r := request{op: "read the PVE version", method: http.MethodGet, path: "/version"}
	if err := c.do(ctx, r, &d); err != nil {
		return Version{}, err
	}
	return Version{Version: string(d.Version), Release: string(d.Release), RepoID: string(d.RepoID)}, nil
}

// ClusterStatus holds what a node knows of its cluster.
type ClusterStatus struct {
	// Name of the cluster. It is empty for a node that is in none.
	Name string

	// Quorate reports whether writes are possible. They always are on a standalone node.
	Quorate bool

	// Nodes of the cluster.
	Nodes []ClusterNode

	// Standalone is true for a node that is known to belong to no cluster. A node that has not joined its cluster yet after a start has no Name either.
	Standalone bool
}

// HasNode reports whether a node is a member of the cluster.
func (s ClusterStatus) HasNode(name string) bool {
	return slices.ContainsFunc(s.Nodes, func(n ClusterNode) bool { return n.Name == name })
}

// A ClusterNode is a member of the cluster.
type ClusterNode struct {
	// Name of the node.
	Name string

	// Online reports whether the node is currently part of the cluster's membership.
	Online bool

	// Local reports whether this node has answered.
	Local bool

	// Address of the node in the cluster network.
	Address string
}

// ClusterStatus reads the name, quorum and members of the cluster.
func (c ClusterAPI) ClusterStatus(ctx context.Context) (ClusterStatus, error) {
	var data list[struct {
		Type    text `json:"type"`
		Name    text `json:"name"`
		Quorate flag `json:"quorate"`
		Online  flag `json:"online"`
		Local   flag `json:"local"`
		Address text `json:"ip"`
	}]
	r := request{op: "read the cluster status", method: http.MethodGet, path: "/cluster/status"}
	if err := c.do(ctx, r, &data); err != nil {
		return ClusterStatus{}, err
	}
	s := ClusterStatus{Quorate: true}
	for _, d := range data {
		if d.Type == "cluster" {
			s.Name, s.Quorate = string(d.Name), bool(d.Quorate)
			continue
		}
		s.Nodes = append(s.Nodes, ClusterNode{
			Name: string(d.Name), Online: bool(d.Online), Local: bool(d.Local), Address: string(d.Address),
		})
	}
	return s, nil
}

func seconds(n integer) time.Duration { return time.Duration(n) * time.Second }

// splitList splits lists of names, which PVE separates by commas, semicolons or spaces. Empty names are left out, and an empty list is nil.
func splitList(s string) []string {
	names := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(",; \t\n", r) })
	if len(names) == 0 {
		return nil
	}
	return names
}

// Settings holds options of a cluster or a node.
type Settings struct {
	// Values by option, as they are written. Values that PVE has split on reading are written as before: as property strings with sorted keys, or as lists
	// separated by semicolons.
	Values map[string]string

	// Digest of the content, if PVE returns one.
	Digest string
}

// setting is an option in an answer of PVE: a scalar, or an object or a list of scalars if PVE has split it.
type setting string

// UnmarshalJSON accepts all of these forms.
func (s *setting) UnmarshalJSON(b []byte) error {
	switch b = bytes.TrimSpace(b); {
	case isObject(b):
		return s.object(b)
	case len(b) > 0 && b[0] == '[':
		var parts []text
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		*s = setting(joinTexts(parts, ";"))
		return nil
	}
	*s = setting(lenient.Scalar(b))
	return nil
}

func (s *setting) object(b []byte) error {
	var parts map[string]setting
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	var p propertystring.Properties
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		p.Set(key, string(parts[key]))
	}
	*s = setting(p.String())
	return nil
}

func joinTexts(parts []text, separator string) string {
	out := make([]string, 0, len(parts))
	for _, p := range parts {
		out = append(out, string(p))
	}
	return strings.Join(out, separator)
}

func newSettings(data map[string]setting) Settings {
	s := Settings{Digest: string(data[digest]), Values: make(map[string]string, len(data))}
	for name, v := range data {
		if name != digest {
			s.Values[name] = string(v)
		}
	}
	return s
}

// allowedTags is a key that PVE adds to the options of a cluster.
const allowedTags = "allowed-tags"

// ClusterOptions returns the options of the cluster that are set. Without Sys.Audit on / PVE returns only few of them, without an error.
func (c ClusterAPI) ClusterOptions(ctx context.Context) (Settings, error) {
	var data map[string]setting
	r := request{op: "read the cluster options", method: http.MethodGet, path: "/cluster/options"}
	if err := c.do(ctx, r, &data); err != nil {
		return Settings{}, err
	}
	delete(data, allowedTags)
	return newSettings(data), nil
}

// SetClusterOptions changes options of the cluster. An option with parts is replaced as a whole. PVE has no digest for them. An empty change is not sent.
func (c ClusterAPI) SetClusterOptions(ctx context.Context, change Change) error {
	if change.Empty() {
		return nil
	}
	r := request{op: "set cluster options", method: http.MethodPut, path: "/cluster/options"}
	change.Digest = ""
	r.form = change.form()
	return c.do(ctx, r, nil)
}

// A LogLine is a line of the cluster's log. Every change of a guest has one, even if it has no task.
type LogLine struct {
	// ID is unique for each line together with Time, because nodes start to count again when they restart.
	ID string

	// Time of the line, to the second, by the clock of its node.
	Time time.Time

	// User or API token that caused the line.
	User string

	// Message is the line itself, such as "update VM 100: -cores 2".
	Message string
}

// Log returns the cluster's log, newest line first, with up to most lines. Without Sys.Syslog on / PVE returns only lines of the user's own calls.
func (c ClusterAPI) Log(ctx context.Context, most int) ([]LogLine, error) {
	var data list[struct {
		ID      text    `json:"id"`
		UID     text    `json:"uid"`
		Node    text    `json:"node"`
		Time    integer `json:"time"`
		User    text    `json:"user"`
		Message text    `json:"msg"`
	}]
	r := request{
		op: "read the cluster log", method: http.MethodGet,
		path: "/cluster/log", query: url.Values{"max": {strconv.Itoa(most)}},
	}
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	lines := make([]LogLine, 0, len(data))
	for _, d := range data {
		id := string(d.ID)
		if id == "" {
			id = string(d.UID + ":" + d.Node)
		}
		lines = append(lines, LogLine{ID: id, Time: unix(d.Time), User: string(d.User), Message: string(d.Message)})
	}
	return lines, nil
}

// reGuest matches the guests that a line names.
var reGuest = regexp.MustCompile(`\b(?:VM|CT) ([1-9][0-9]{2,8})\b`)

// VMIDs returns the VMIDs of the guests that the line names, except those in UPIDs.
func (l LogLine) VMIDs() []int {
	if l.UPID() != "" {
		return nil
	}
	var ids []int
	for _, m := range reGuest.FindAllStringSubmatch(l.Message, -1) {
		if id, err := strconv.Atoi(m[1]); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// UPID returns the task whose start or end the line reports, or nothing.
func (l LogLine) UPID() UPID {
	for _, what := range []string{"starting task ", "end task "} {
		if rest, ok := strings.CutPrefix(l.Message, what); ok {
			u, _, _ := strings.Cut(rest, " ")
			return UPID(u)
		}
	}
	return ""
}

// Ended reports whether the line is about the end of a task.
func (l LogLine) Ended() bool { return strings.HasPrefix(l.Message, "end task ") }
