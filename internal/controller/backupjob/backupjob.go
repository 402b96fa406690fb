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

// Package backupjob describes backup jobs for the engine of configuration objects. This file contains the table, options.go the options, guests.go
// the guests that a job backs up, inspect.go the checks that Proxmox VE does not make, fresh.go the age of the newest backups, and lastrun.go the
// results of the last runs.
package backupjob

import (
	"time"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

type (
	parameters = v1alpha1.BackupJobParameters
	view       = config.View[parameters, *v1alpha1.BackupJobObservation]
)

// Table returns the table of the kind BackupJob.
func Table() config.Table[parameters, *v1alpha1.BackupJobObservation] {
	return config.Table[parameters, *v1alpha1.BackupJobObservation]{
		Kind: "BackupJob", Collection: proxmox.BackupJobCollection(),
		Name:       func(p *parameters) *string { return p.Name },
		Declare:    declare,
		Resolve:    resolve,
		Implied:    []string{"type", "enabled"},
		Computed:   []string{nextRun},
		Complete:   complete,
		Privileges: privileges,
		Inspect:    inspector{now: time.Now}.inspect,
	}
}

// privileges returns the privileges that PVE requires for a job. inspect.go contains those for what the job names.
func privileges(v config.Verb, _ string, _ *parameters) []proxmox.Privilege {
	see := proxmox.Privilege{Path: "/", Names: []string{"Sys.Audit"}}
	if v == config.See {
		return []proxmox.Privilege{see}
	}
	return []proxmox.Privilege{see, {Path: "/", Names: []string{"Sys.Modify"}}}
}

// complete adds the storage, without which PVE rejects changes of some options.
func complete(v view, c proxmox.Change) proxmox.Change {
	_, has := c.Set[storageOption]
	_, notes := c.Set["notes-template"]
	_, protects := c.Set["protected"]
	if has || !notes && !protects {
		return c
	}
	c.Set[storageOption] = storageOf(v)
	return c
}

// storageOf returns the storage of a job.
func storageOf(v view) string {
	if name := v.Seen.Values[storageOption]; name != "" {
		return name
	}
	return "local" // The default of PVE.
}
