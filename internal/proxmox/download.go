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
	"slices"
	"strconv"
	"strings"
)

// A Download is a file that a node fetches from the network.
type Download struct {
	// URL of the file, http or https.
	URL string

	// Content is what the file is: import, iso or vztmpl.
	Content string

	// FileName that it gets, with the extension that PVE wants for the content.
	FileName string

	// Algorithm and Checksum that the file must have; empty for no check.
	Algorithm, Checksum string

	// Compression that is undone after the download; empty for none. PVE does that
	// to ISO images only.
	Compression string

	// Insecure accepts any certificate.
	Insecure bool
}

func (d Download) form() map[string]string {
	f := map[string]string{"url": d.URL, "content": d.Content, "filename": d.FileName}
	if d.Checksum != "" {
		f["checksum-algorithm"], f["checksum"] = d.Algorithm, d.Checksum
	}
	if d.Compression != "" {
		f["compression"] = d.Compression
	}
	if d.Insecure {
		f["verify-certificates"] = "0"
	}
	return f
}

// DownloadURL starts to fetch a file into a storage of files, as a node sees it. A
// file that has the name already is never replaced: with a checksum the task succeeds
// without a download if the file has it, and fails otherwise. Two tasks for one name at
// the same time both succeed; the last one's file stays. The id of the task is the name
// of the file.
func (c *Client) DownloadURL(ctx context.Context, node, storage string, d Download) (UPID, error) {
	r, why := storageRequest("download "+strconv.Quote(d.FileName)+" to", http.MethodPost, node, storage, "/download-url")
	if why != "" {
		return "", r.refuse(why)
	}
	r.form = d.form()
	u, err := c.begin(ctx, r)
	if err == nil && u == "" {
		return "", newCall(r, nil).unexpected()
	}
	return u, err
}

// nodeTaskLimit is how many tasks of one type a node is asked for.
const nodeTaskLimit = 500

// NodeTasks returns the running and the latest ended tasks of one type on a node, newest
// first, as far as the user may see them. Unlike Tasks, it shows a token its own tasks
// whatever its privileges.
func (c *Client) NodeTasks(ctx context.Context, node, taskType string) ([]Task, error) {
	r := request{
		op: "list the tasks of node " + strconv.Quote(node), method: http.MethodGet, path: "/nodes/{node}/tasks", args: []string{node},
		query: url.Values{"source": {"all"}, "typefilter": {taskType}, "limit": {strconv.Itoa(nodeTaskLimit)}},
	}
	if !validNode(node) {
		return nil, r.refuse("node name is not valid")
	}
	var data list[taskData]
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	tasks := make([]Task, 0, len(data))
	for _, d := range data {
		running := d.Status == "" || strings.EqualFold(string(d.Status), "running")
		tasks = append(tasks, d.task(running, d.Status))
	}
	return tasks, nil
}

// StopTask stops a task, which then cleans up after itself. One that has ended is
// stopped already.
func (c *Client) StopTask(ctx context.Context, u UPID) error {
	r := request{
		op: "stop a task", method: http.MethodDelete,
		path: "/nodes/{node}/tasks/{upid}", args: []string{u.Node(), string(u)},
	}
	if !u.Valid() {
		return r.refuse("task id is not valid")
	}
	return c.do(ctx, r, nil)
}

// A DownloadProblem is why a download failed.
type DownloadProblem string

// The problems of downloads.
const (
	// DownloadMismatch means that the file does not have the checksum.
	DownloadMismatch DownloadProblem = "ChecksumMismatch"

	// DownloadExists means that another file has the name.
	DownloadExists DownloadProblem = "AlreadyExists"

	// DownloadAnswer means that the server answered with an error.
	DownloadAnswer DownloadProblem = "ServerError"

	// DownloadNetwork means that the server cannot be reached.
	DownloadNetwork DownloadProblem = "ServerUnreachable"

	// DownloadCertificate means that the server's certificate is not trusted.
	DownloadCertificate DownloadProblem = "CertificateNotTrusted"

	// DownloadFull means that the storage has no room.
	DownloadFull DownloadProblem = "StorageFull"

	// DownloadFormat means that the file is not what its extension says.
	DownloadFormat DownloadProblem = "WrongFormat"

	// DownloadStopped means that somebody stopped the task.
	DownloadStopped DownloadProblem = "Stopped"

	// DownloadFailed is any other problem.
	DownloadFailed DownloadProblem = "DownloadFailed"
)

// DownloadFailure returns why a download failed, from its exit status and the last
// lines of its log, and one sentence about it without its point.
func DownloadFailure(exit string, log []string) (DownloadProblem, string) {
	for _, f := range downloadFailures() {
		for _, text := range append([]string{exit}, log...) {
			if m := f.pattern.FindStringSubmatch(text); m != nil {
				return f.problem, scrub(f.sentence(m), nil)
			}
		}
	}
	return DownloadFailed, scrub(exit, nil)
}

// DownloadProgress returns how much of a download is done, in percent, from the last
// lines of its log. It is unknown for small files, and where the server does not report a
// size.
func DownloadProgress(log []string) (percent int, known bool) {
	for _, line := range slices.Backward(log) {
		if m := reDownloadPercent.FindStringSubmatch(line); m != nil {
			percent, err := strconv.Atoi(m[1])
			return min(percent, 100), err == nil
		}
		if reDownloadCheck.MatchString(line) {
			return 100, true
		}
	}
	return 0, false
}
