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
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

func jobRoutes() map[string]handler {
	return map[string]handler{
		"GET /cluster/backup":         method((*call).listBackups),
		"POST /cluster/backup":        method((*call).createBackup),
		"GET /cluster/backup/{id}":    method((*call).getBackup),
		"PUT /cluster/backup/{id}":    method((*call).updateBackup),
		"DELETE /cluster/backup/{id}": method((*call).deleteBackup),
	}
}

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
	if c.state.Backups[id] != nil {
		return nil, paramError("id", "Job '%s' already exists", id)
	}
	job := c.given("id")
	if job["enabled"] == "" {
		job["enabled"] = "1"
	}
	c.state.Backups[id] = job
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) backup() (map[string]string, error) {
	job := c.state.Backups[c.str("id")]
	if job == nil {
		return nil, paramError("id", "No such job '%s'", c.str("id"))
	}
	return job, nil
}

func (c *call) getBackup() (any, error) {
	if _, err := c.backup(); err != nil {
		return nil, err
	}
	return c.showBackup(c.str("id")), nil
}

func (c *call) updateBackup() (any, error) {
	job, err := c.backup()
	if err != nil {
		return nil, err
	}
	for _, key := range c.deleted() {
		delete(job, key)
	}
	maps.Copy(job, c.given("id"))
	return nil, nil //nolint:nilnil // The answer is null.
}

func (c *call) deleteBackup() (any, error) {
	_, err := c.backup()
	delete(c.state.Backups, c.str("id"))
	return nil, err
}
