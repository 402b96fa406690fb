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

// Package backup serves the backup jobs of the cluster and vzdump.
package backup

import (
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
)

// Routes returns the methods of backups and of their jobs.
func Routes() map[string]engine.Handler {
	return map[string]engine.Handler{
		"GET /cluster/backup":                    listBackups,
		"POST /cluster/backup":                   createBackup,
		"GET /cluster/backup/{id}":               getBackup,
		"PUT /cluster/backup/{id}":               updateBackup,
		"DELETE /cluster/backup/{id}":            deleteBackup,
		"POST /nodes/{node}/vzdump":              vzdump,
		"GET /nodes/{node}/vzdump/defaults":      backupDefaults,
		"GET /nodes/{node}/vzdump/extractconfig": extractConfig,
		"GET /nodes/{node}/vzdump":               engine.IndexOf("defaults", "extractconfig"),
	}
}
