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

package backup

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/random"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// objects returns the options that calls give as property strings and PVE shows as objects, with the parts that need no name.
func objects() map[string]string {
	return map[string]string{"fleecing": "enabled", "performance": "", "prune-backups": ""}
}

// parts returns the parts of a property string.
func parts(text, unnamed string) map[string]any {
	out := map[string]any{}
	for _, part := range schema.SplitList(text) {
		name, value, named := strings.Cut(part, "=")
		if !named {
			name, value = unnamed, part
		}
		out[name] = value
		if name != "enabled" && name != "keep-all" {
			continue
		}
		out[name] = 0
		if slices.Contains([]string{"1", "on", "yes", "true"}, strings.ToLower(value)) {
			out[name] = 1
		}
	}
	return out
}

// Separator separates the values of a list in a stored job.
const Separator = "\x00"

// RunOptions are the options of a job that apply to its runs.
func RunOptions(job map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(job)), func(option string) bool {
		return slices.Contains([]string{"id", "type", "schedule", "enabled", "comment", "repeat-missed", "node"}, option)
	})
}

// showBackup returns a job with its values in the types of the parameters.
func showBackup(c *engine.Call, id string) map[string]any {
	out := map[string]any{"id": id, "type": "vzdump"}
	properties := c.Facts.Parameters("POST", "/cluster/backup")
	for key, value := range c.State.Backups[id] {
		out[key] = value
		if unnamed, ok := objects()[key]; ok {
			out[key] = parts(value, unnamed)
		}
		p := properties[key]
		if p != nil && p.Type == "array" {
			out[key] = strings.Split(value, Separator)
		}
		if p == nil || (p.Type != "integer" && p.Type != "boolean") {
			continue
		}
		if n, err := strconv.Atoi(value); err == nil {
			out[key] = n
		}
	}
	return out
}

func listBackups(c *engine.Call) (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.State.Backups)) {
		entry := showBackup(c, id)
		if next, ok := nextRun(c, c.State.Backups[id]); ok {
			entry["next-run"] = next.Unix()
		}
		out = append(out, entry)
	}
	return out, nil
}

// nextRun returns when the schedule of a job is next due. PVE also returns that for disabled jobs.
func nextRun(c *engine.Call, job map[string]string) (time.Time, bool) {
	event, ok := schema.ParseCalendar(job["schedule"])
	if !ok {
		return time.Time{}, false
	}
	return event.Next(c.Now())
}

func createBackup(c *engine.Call) (any, error) {
	id := c.Str("id")
	if id == "" {
		id = random.UUID()
	}
	job, err := backupOptions(c)
	switch {
	case err != nil:
		return nil, err
	case job["schedule"] == "":
		return nil, apierr.Param("schedule", "neither 'starttime' nor 'schedule' were set")
	case c.State.Backups[id] != nil:
		return nil, apierr.Errorf("Job '%s' already exists", id)
	}
	if job["all"] != "1" && job["pool"] == "" && job["vmid"] == "" {
		return nil, apierr.Param("vmid", "property is missing")
	}
	if job["enabled"] == "" {
		job["enabled"] = "1"
	}
	c.State.Backups[id] = job
	return nil, nil //nolint:nilnil // The answer is null.
}

// backupOptions returns the options of a job in a call. It fails if they conflict, or if the caller may not set them.
func backupOptions(c *engine.Call) (map[string]string, error) {
	job := c.Given("id", "starttime", "dow")
	for _, key := range []string{"vmid", "node"} { // They describe the job, and not where the call goes.
		if c.Has(key) {
			job[key] = c.Str(key)
		}
	}
	for name, list := range c.Lists {
		job[name] = strings.Join(list, Separator)
	}
	if err := permitJob(c, job); err != nil {
		return nil, err
	}
	if c.Has("schedule") && c.Has("starttime") {
		return nil, apierr.Param("starttime", "'starttime' and 'schedule' cannot both be set")
	}
	if c.Has("starttime") {
		job["schedule"] = strings.TrimSpace(strings.ReplaceAll(c.Str("dow"), " ", "") + " " + c.Str("starttime"))
	}
	for _, key := range []string{"all", "exclude", "pool"} {
		if job["vmid"] != "" && job[key] != "" && job[key] != "0" {
			return nil, apierr.Param(key, "option conflicts with option 'vmid'")
		}
	}
	if why := templateError(job["notes-template"]); why != "" {
		return nil, apierr.Param("notes-template", "%s", why)
	}
	if _, excludes := job["exclude"]; excludes && job["pool"] == "" {
		job["all"] = "1"
	}
	return job, nil
}

// permitJob checks which options of a job the caller may set, in addition to the privileges for the method.
func permitJob(c *engine.Call, job map[string]string) error {
	for _, key := range []string{"tmpdir", "dumpdir", "script", "job-id"} {
		if c.Has(key) && c.Who != state.Root {
			return apierr.Param(key, "Only root may set this option.")
		}
	}
	fleecing := parts(job["fleecing"], objects()["fleecing"])
	switch storage, ok := fleecing["storage"].(string); {
	case ok:
		if err := c.State.Check(c.Who, "/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
			return err
		}
	case fleecing["enabled"] == 1:
		return apierr.Param("fleecing", "invalid format - 'storage' parameter is required when 'enabled' is set\n")
	}
	if err := permitStorage(c, job); err != nil {
		return err
	}
	pool := job["pool"]
	switch {
	case pool == "":
		return nil
	case c.State.Pools[pool] == nil:
		return apierr.Forbidden(fmt.Sprintf("pool '%s' does not exist", pool))
	}
	return c.State.Check(c.Who, "/pool/"+pool, "VM.Backup")
}

// permitStorage checks the new and the current storage of a job. A job without a storage uses local.
func permitStorage(c *engine.Call, job map[string]string) error {
	storages := []string{job["storage"]}
	if c.Method.Verb == http.MethodPut {
		storages = nil
		if job["storage"] != "" || slices.Contains(c.Deleted(), "storage") {
			storages = append(storages, job["storage"])
		}
		if before := c.State.Backups[c.Str("id")]; before != nil {
			storages = append(storages, before["storage"])
		}
	}
	for _, storage := range storages {
		if storage == "" {
			storage = "local"
		}
		if err := c.State.Check(c.Who, "/storage/"+storage, "Datastore.Allocate"); err != nil {
			return err
		}
	}
	return nil
}

func jobExists(c *engine.Call) error {
	if c.State.Backups[c.Str("id")] == nil {
		return apierr.Param("id", "No such job '%s'", c.Str("id"))
	}
	return nil
}

func getBackup(c *engine.Call) (any, error) {
	if err := jobExists(c); err != nil {
		return nil, err
	}
	return showBackup(c, c.Str("id")), nil
}

func updateBackup(c *engine.Call) (any, error) {
	set, err := backupOptions(c)
	if err != nil {
		return nil, err
	}
	job := maps.Clone(c.State.Backups[c.Str("id")])
	switch {
	case len(set) == 0 && len(c.Deleted()) == 0:
		return nil, apierr.Errorf("no options specified")
	case job == nil:
		return nil, apierr.Errorf("no such vzdump job")
	}
	for _, key := range c.Deleted() {
		if !deletable(c, key) {
			return nil, apierr.Param("delete", "unknown option '%s'", key)
		}
		delete(job, key)
	}
	maps.Copy(job, set)
	for _, key := range supersededBy(job, set) {
		delete(job, key)
	}
	if job["all"] != "1" && job["pool"] == "" && job["vmid"] == "" {
		return nil, apierr.Param("vmid", "property is missing")
	}
	c.State.Backups[c.Str("id")] = job
	return nil, nil //nolint:nilnil // The answer is null.
}

// deletable reports whether an option can be reset, which applies to those of vzdump and few others.
func deletable(c *engine.Call, option string) bool {
	switch option {
	case "comment", "repeat-missed":
		return true
	case "id", "schedule", "enabled", "starttime", "dow", "delete":
		return false
	}
	return c.Knows(option)
}

// supersededBy returns the options that select the guests of a job in another way than a change does.
func supersededBy(job, set map[string]string) []string {
	switch {
	case has(set, "vmid"):
		return []string{"all", "exclude", "pool"}
	case set["all"] == "1":
		return []string{"vmid", "pool"}
	case job["pool"] != "":
		return []string{"vmid", "all", "exclude"}
	}
	return nil
}

func has(options map[string]string, name string) bool {
	_, ok := options[name]
	return ok
}

func deleteBackup(c *engine.Call) (any, error) {
	err := jobExists(c)
	delete(c.State.Backups, c.Str("id"))
	return nil, err
}
