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
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/api/backup"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/wire"
)

// RunBackupJob runs a backup job now, as the scheduler of each running node does when the job is due: root@pam backs up the guests on the node with the
// options of the job.
func (s *Server) RunBackupJob(ctx context.Context, id string) error {
	var job map[string]string
	var nodes []string
	s.Update(func(st *state.State) {
		job = maps.Clone(st.Backups[id])
		for _, name := range slices.Sorted(maps.Keys(st.Nodes)) {
			if n := st.Nodes[name]; !n.Offline && !n.CutOff && (job["node"] == "" || job["node"] == name) {
				nodes = append(nodes, name)
			}
		}
	})
	if job == nil {
		return errors.Wrapf(errUnknown, "cannot find backup job %q", id)
	}
	for _, node := range nodes {
		if err := s.runBackupJob(ctx, node, id, job); err != nil {
			return errors.Wrapf(err, "cannot run backup job %q on node %q", id, node)
		}
	}
	return nil
}

// runBackupJob runs a job on one node.
func (s *Server) runBackupJob(ctx context.Context, node, id string, job map[string]string) error {
	values := schema.Values{"job-id": id, "quiet": "1"}
	for _, option := range backup.RunOptions(job) {
		values[option] = job[option]
		if list := strings.Split(job[option], backup.Separator); len(list) > 1 {
			values[option] = list
		}
	}
	c := &engine.Call{Engine: s.Engine, Facts: s.Facts, Local: node, Path: "/nodes/" + node + "/vzdump", Who: state.Root}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Path, nil)
	if err != nil {
		return err
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	_, _, err = c.Perform(&wire.Request{Request: r, Endpoint: node}, values)
	return err
}

func (s *Server) controlBackupJob(r *http.Request) (any, error) {
	return nil, s.RunBackupJob(r.Context(), r.PathValue("id"))
}
