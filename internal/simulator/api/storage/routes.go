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

// Package storage serves /storage and the storages of nodes: definitions, volumes, uploads, downloads.
package storage

import (
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
)

// Routes returns the methods of storages, on nodes and in the cluster.
func Routes() map[string]engine.Handler {
	const node, storage = "/nodes/{node}", "/nodes/{node}/storage/{storage}"
	return map[string]engine.Handler{
		"GET /storage":                            listStorage,
		"GET /storage/{storage}":                  getStorage,
		"POST /storage":                           createStorage,
		"PUT /storage/{storage}":                  updateStorage,
		"DELETE /storage/{storage}":               deleteStorage,
		"GET " + node + "/storage":                listNodeStorage,
		"GET " + storage:                          nodeStorageIndex,
		"GET " + storage + "/status":              getStorageStatus,
		"GET " + storage + "/content":             listContent,
		"POST " + storage + "/content":            allocVolume,
		"GET " + storage + "/content/{volume}":    getVolume,
		"PUT " + storage + "/content/{volume}":    setAttributes,
		"DELETE " + storage + "/content/{volume}": deleteVolume,
		"POST " + storage + "/upload":             uploadFile,
		"POST " + storage + "/download-url":       downloadURL,
		"POST " + storage + "/oci-registry-pull":  pullOCI,
		"GET " + node + "/query-url-metadata":     urlMetadata,
	}
}
