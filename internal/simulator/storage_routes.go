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

// storageRoutes are the methods of storages, on nodes and in the cluster.
func storageRoutes() map[string]handler {
	const node, storage = "/nodes/{node}", "/nodes/{node}/storage/{storage}"
	return map[string]handler{
		"GET /storage":                            (*call).listStorage,
		"GET /storage/{storage}":                  (*call).getStorage,
		"POST /storage":                           (*call).createStorage,
		"PUT /storage/{storage}":                  (*call).updateStorage,
		"DELETE /storage/{storage}":               (*call).deleteStorage,
		"GET " + node + "/storage":                (*call).listNodeStorage,
		"GET " + storage:                          (*call).nodeStorageIndex,
		"GET " + storage + "/status":              (*call).getStorageStatus,
		"GET " + storage + "/content":             (*call).listContent,
		"POST " + storage + "/content":            (*call).allocVolume,
		"GET " + storage + "/content/{volume}":    (*call).getVolume,
		"DELETE " + storage + "/content/{volume}": (*call).deleteVolume,
		"POST " + storage + "/upload":             (*call).uploadFile,
		"POST " + storage + "/download-url":       (*call).downloadURL,
		"GET " + node + "/query-url-metadata":     (*call).urlMetadata,
	}
}
