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

package image

import (
	"context"
	"fmt"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/checksum"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// intendFile records that a file is about to be downloaded, after no file of its name was found. If the download was begun before and the file
// exists, PVE compares it with the checksum.
func (e *external) intendFile(ctx context.Context, m Image, i *item) error {
	f := i.file
	if err := e.permit(ctx, m.Parameters(), i.place); err != nil {
		return err
	}
	again := f.Begun != 0 && !f.Done
	if !again {
		there, err := e.client.Volumes(ctx, i.place.Node, i.place.Storage, string(contentOf(m.Parameters())))
		if err != nil {
			return errors.Wrapf(err, "cannot look for the file on %s", i.place)
		}
		if v := volumeNamed(there, i.rev.File); v != nil {
			return errors.Errorf("cannot download to %s: %s exists and was not made for this Image", i.place, v.ID)
		}
	}
	before, _, err := e.reader().downloads(ctx, m, i.place.Node, i.rev.File)
	if err != nil {
		return err
	}
	*f = file{
		attempt: f.attempt, Node: i.place.Node, Storage: i.place.Storage, Shared: i.place.Shared,
	}
	f.Begun, f.Task = e.now().Unix(), ""
	f.noteBefore(before)
	return nil
}

// mostBefore limits the tasks that are recorded, because an annotation has no room for those of all attempts over weeks.
const mostBefore = 8

// noteBefore records the tasks that existed before, the newest first.
func (f *file) noteBefore(tasks []proxmox.Task) {
	slices.SortStableFunc(tasks, func(a, b proxmox.Task) int { return b.UPID.Start().Compare(a.UPID.Start()) })
	for _, t := range tasks[:min(len(tasks), mostBefore)] {
		f.Before = append(f.Before, string(t.UPID))
	}
}

// wasBefore reports whether a task existed before: it is recorded, or older than all recorded ones by the node's own clock.
func (f *file) wasBefore(t proxmox.Task) bool {
	if len(f.Before) < mostBefore || slices.Contains(f.Before, string(t.UPID)) {
		return slices.Contains(f.Before, string(t.UPID))
	}
	return !slices.ContainsFunc(f.Before, func(u string) bool { return proxmox.UPID(u).Start().Before(t.UPID.Start()) })
}

// permit returns an error that names the missing privileges for a download. PVE accepts two others in place of Sys.AccessNetwork, but not for a
// registry.
func (e *external) permit(ctx context.Context, m *v1alpha1.ImageParameters, p place) error {
	op := "download to storage " + p.Storage + " of node " + p.Node
	node, storage := "/nodes/"+p.Node, "/storage/"+p.Storage
	needed := []proxmox.Privilege{{Path: storage, Names: []string{"Datastore.AllocateTemplate"}}}
	if kind.CheckPrivileges(ctx, e.client, op, proxmox.Privilege{Path: node, Names: []string{"Sys.AccessNetwork"}}) == nil {
		return kind.CheckPrivileges(ctx, e.client, op, needed...)
	}
	old := []proxmox.Privilege{{Path: "/", Names: []string{"Sys.Audit"}}, {Path: "/", Names: []string{"Sys.Modify"}}}
	if m.Source.OCI == nil && kind.CheckPrivileges(ctx, e.client, op, old...) == nil {
		return kind.CheckPrivileges(ctx, e.client, op, needed...)
	}
	return kind.CheckPrivileges(ctx, e.client, op, append(needed, proxmox.Privilege{Path: node, Names: []string{"Sys.AccessNetwork"}})...)
}

// actOnFile carries out the decision about a file.
func (e *external) actOnFile(ctx context.Context, m Image, i *item) error {
	f := i.file
	switch i.action {
	case start:
		return e.download(ctx, m, i)
	case join:
		f.Task = string(i.task)
		e.follow(m, i.task)
	case settle:
		return e.settleFile(ctx, m, i)
	case fail:
		return e.failFile(ctx, m, i)
	case forget:
		f.Task = ""
		f.Begun = max(f.Begun, 1) // 0 would mean that no download was ever begun, and nothing would be looked for.
	case keep, wait, convert, stuck:
	}
	return nil
}

// fetch starts the task that downloads or pulls the file.
func (e *external) fetch(ctx context.Context, p *v1alpha1.ImageParameters, i *item) (proxmox.UPID, error) {
	if p.Source.OCI != nil {
		return e.client.PullOCI(ctx, i.place.Node, i.place.Storage, *p.Source.OCI, i.rev.File)
	}
	c, err := checksum.Parse(i.rev.Checksum)
	if err != nil {
		return "", err
	}
	return e.client.DownloadURL(ctx, i.place.Node, i.place.Storage, proxmox.Download{
		URL: e.view.record.chooseURL(p), Content: string(contentOf(p)), FileName: i.rev.File, Algorithm: c.Algorithm, Checksum: c.Sum,
		Compression: ptr.Deref(p.Source.Decompression, ""), Insecure: ptr.Deref(p.Source.InsecureSkipTLSVerify, false),
	})
}

// download starts the task, and follows it.
func (e *external) download(ctx context.Context, m Image, i *item) error {
	u, err := e.fetch(ctx, m.Parameters(), i)
	if err != nil {
		i.file.noteUnanswered(err, e.now())
		return err
	}
	i.file.Task = string(u)
	e.follow(m, u)
	e.event(m, event.Normal(eventDownloading, "downloading "+i.rev.File+" to "+i.place.String()))
	return nil
}

// settleFile records a file that was downloaded, in its present state.
func (e *external) settleFile(ctx context.Context, m Image, i *item) error {
	there, err := e.client.Volumes(ctx, i.place.Node, i.place.Storage, string(contentOf(m.Parameters())))
	if err != nil {
		return err
	}
	f := i.file
	v := volumeNamed(there, i.rev.File)
	if v == nil {
		f.fail(e.now().Unix(), m.GetGeneration(), string(reasonNotFound),
			"the download has ended without an error, and the storage does not list the file: it is downloaded again")
		return nil
	}
	*f = file{
		Node: f.Node, Storage: f.Storage, Shared: f.Shared,
		Done: true, Size: v.Size, Changed: v.Changed, Verified: i.rev.Checksum != "",
	}
	e.event(m, event.Normal(eventDownloaded, i.rev.File+" is on "+i.place.String()))
	return nil
}

// failureLines is how many lines of a log explain why a download has failed.
const failureLines = 20

// failFile records why a download has failed.
func (e *external) failFile(ctx context.Context, m Image, i *item) error {
	t, err := e.reader().task(ctx, i.file.Task)
	if err != nil || t == nil {
		return err
	}
	log, err := e.client.TaskLog(ctx, t.UPID, failureLines)
	if err != nil {
		return err
	}
	problem, why := proxmox.DownloadFailure(t.ExitStatus, log)
	message := fmt.Sprintf("cannot download to %s: %s%s", i.place, why, remedy(problem, m.Parameters().Source.OCI != nil))
	i.file.fail(e.now().Unix(), m.GetGeneration(), string(problem), message)
	e.event(m, event.Warning(eventDownloadFailed, errors.New(message)))
	return nil
}

// remedy returns the remedy for a problem, to end a message with.
func remedy(p proxmox.DownloadProblem, oci bool) string {
	if oci {
		return remedyOfPull(p)
	}
	switch p {
	case proxmox.DownloadMismatch:
		return "; the file is not used: check source.checksum and source.url"
	case proxmox.DownloadExists:
		return "; it is left alone: adopt it, remove it, or set fileName"
	case proxmox.DownloadAnswer:
		return "; check source.url"
	case proxmox.DownloadFormat:
		return "; set source.format"
	case proxmox.DownloadFull:
		return "; make room, or choose another storage"
	case proxmox.DownloadCertificate:
		return "; add its authority to the node, or set source.insecureSkipTLSVerify"
	case proxmox.DownloadNetwork, proxmox.DownloadStopped, proxmox.DownloadFailed:
	}
	return ""
}

// remedyOfPull returns the remedy for a problem with a registry.
func remedyOfPull(p proxmox.DownloadProblem) string {
	switch p {
	case proxmox.DownloadAnswer:
		return "; check source.oci, and the logins that the node has"
	case proxmox.DownloadFull:
		return "; make room, or choose another storage"
	case proxmox.DownloadCertificate:
		return "; add its authority to the node"
	case proxmox.DownloadExists, proxmox.DownloadMismatch, proxmox.DownloadFormat, proxmox.DownloadNetwork, proxmox.DownloadStopped, proxmox.DownloadFailed:
	}
	return ""
}
