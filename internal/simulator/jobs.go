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
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// showBackup is a job with its values in the types of the parameters.
func (c *call) showBackup(id string) map[string]any {
	out := map[string]any{"id": id, "type": "vzdump"}
	properties := c.facts.Parameters("POST", "/cluster/backup")
	for key, value := range c.state.Backups[id] {
		out[key] = value
		if p := properties[key]; p == nil || (p.Type != "integer" && p.Type != "boolean") {
			continue
		}
		if n, err := strconv.Atoi(value); err == nil {
			out[key] = n
		}
	}
	return out
}

func (c *call) listBackups() (any, error) {
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(c.state.Backups)) {
		entry := c.showBackup(id)
		if next, ok := c.nextRun(c.state.Backups[id]); ok {
			entry["next-run"] = next.Unix()
		}
		out = append(out, entry)
	}
	return out, nil
}

// nextRun is when a job runs next; jobs that are off do not.
func (c *call) nextRun(job map[string]string) (time.Time, bool) {
	event, ok := schema.ParseCalendar(job["schedule"])
	if !ok || job["enabled"] == "0" {
		return time.Time{}, false
	}
	return event.Next(c.now())
}

func (c *call) createBackup() (any, error) {
	id := c.str("id")
	if id == "" {
		id = newUUID()
	}
	job, err := c.backupOptions()
	switch {
	case err != nil:
		return nil, err
	case job["schedule"] == "":
		return nil, paramError("schedule", "neither 'starttime' nor 'schedule' were set")
	case c.state.Backups[id] != nil:
		return nil, die("Job '%s' already exists", id)
	}
	if job["exclude"] != "" && job["pool"] == "" {
		job["all"] = "1"
	}
	if job["all"] != "1" && job["pool"] == "" && job["vmid"] == "" {
		return nil, paramError("vmid", "property is missing")
	}
	if job["enabled"] == "" {
		job["enabled"] = "1"
	}
	c.state.Backups[id] = job
	return nil, nil //nolint:nilnil // The answer is null.
}

// backupOptions are what a call says of a job, unless it contradicts itself or is not for the caller to say.
func (c *call) backupOptions() (map[string]string, error) {
	job := c.given("id", "starttime", "dow")
	if c.has("vmid") {
		job["vmid"] = c.str("vmid")
	}
	if c.has("schedule") && c.has("starttime") {
		return nil, paramError("starttime", "'starttime' and 'schedule' cannot both be set")
	}
	if c.has("starttime") {
		job["schedule"] = strings.TrimSpace(strings.ReplaceAll(c.str("dow"), " ", "") + " " + c.str("starttime"))
	}
	for _, key := range []string{"tmpdir", "dumpdir", "script", "job-id"} {
		if c.has(key) && c.who != root {
			return nil, paramError(key, "Only root may set this option.")
		}
	}
	if pool := job["pool"]; pool != "" && c.state.Pools[pool] == nil {
		return nil, forbidden(fmt.Sprintf("pool '%s' does not exist", pool))
	}
	for _, key := range []string{"all", "exclude", "pool"} {
		if job["vmid"] != "" && job[key] != "" && job[key] != "0" {
			return nil, paramError(key, "option conflicts with option 'vmid'")
		}
	}
	return job, nil
}

func (c *call) jobExists() error {
	if c.state.Backups[c.str("id")] == nil {
		return paramError("id", "No such job '%s'", c.str("id"))
	}
	return nil
}

func (c *call) getBackup() (any, error) {
	if err := c.jobExists(); err != nil {
		return nil, err
	}
	return c.showBackup(c.str("id")), nil
}

func (c *call) updateBackup() (any, error) {
	set, err := c.backupOptions()
	if err != nil {
		return nil, err
	}
	job := maps.Clone(c.state.Backups[c.str("id")])
	switch {
	case len(set) == 0 && len(c.deleted()) == 0:
		return nil, die("no options specified")
	case job == nil:
		return nil, die("no such vzdump job")
	}
	for _, key := range c.deleted() {
		if !c.knows(key) {
			return nil, paramError("delete", "unknown option '%s'", key)
		}
		delete(job, key)
	}
	maps.Copy(job, set)
	for _, key := range supersededBy(job, set) {
		delete(job, key)
	}
	if job["all"] != "1" && job["pool"] == "" && job["vmid"] == "" {
		return nil, paramError("vmid", "property is missing")
	}
	c.state.Backups[c.str("id")] = job
	return nil, nil //nolint:nilnil // The answer is null.
}

// supersededBy are the options that say which guests a job is for in another way than a change does.
func supersededBy(job, set map[string]string) []string {
	switch {
	case set["vmid"] != "":
		return []string{"all", "exclude", "pool"}
	case set["all"] == "1":
		return []string{"vmid", "pool"}
	case job["pool"] != "":
		return []string{"vmid", "all", "exclude"}
	}
	return nil
}

func (c *call) deleteBackup() (any, error) {
	err := c.jobExists()
	delete(c.state.Backups, c.str("id"))
	return nil, err
}
