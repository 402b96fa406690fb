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

package object

// tenantLabels are the labels whose value becomes the tag tenant_<value>.
//
//nolint:gochecknoglobals // A constant.
var tenantLabels = []string{"tenant.vitistack.io/id", "tenant-id"}

// TenantOf returns the tenant that a resource is labelled with, or an empty string.
func TenantOf(labels map[string]string) string {
	for _, l := range tenantLabels {
		if t := labels[l]; t != "" {
			return t
		}
	}
	return ""
}
