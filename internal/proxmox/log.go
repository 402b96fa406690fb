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
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A LogLine is a line of the cluster's log. What changes a guest has one, even
// where it makes no task.
type LogLine struct {
	// ID is different for each line, together with Time: nodes count anew when
	// they restart.
	ID string

	// Time of the line, to the second, by the clock of its node.
	Time time.Time

	// User or API token that the line is about.
	User string

	// Message is the line itself, such as "update VM 100: -cores 2".
	Message string
}

// Log is the cluster's log, newest line first and at most so many lines. Without
// Sys.Syslog on / PVE shows the lines of the user's own calls only.
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

// reGuest finds the guests that a line names.
var reGuest = regexp.MustCompile(`\b(?:VM|CT) ([1-9][0-9]{2,8})\b`)

// VMIDs of the guests that the line names, other than by a task.
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

// UPID is the task whose start or end the line tells, or empty.
func (l LogLine) UPID() UPID {
	for _, what := range []string{"starting task ", "end task "} {
		if rest, ok := strings.CutPrefix(l.Message, what); ok {
			u, _, _ := strings.Cut(rest, " ")
			return UPID(u)
		}
	}
	return ""
}

// Ended reports whether the line tells of the end of a task.
func (l LogLine) Ended() bool { return strings.HasPrefix(l.Message, "end task ") }
