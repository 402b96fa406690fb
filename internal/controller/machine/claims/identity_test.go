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

package claims

import (
	"testing"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestClusterOf(t *testing.T) {
	alone := proxmox.ClusterStatus{Nodes: []proxmox.ClusterNode{{Name: "pve2"}, {Name: "pve1", Local: true}}}
	if got := clusterName(alone); got != "pve1" {
		t.Errorf("a node alone is %q", got)
	}
	alone.Name = "lab"
	if got := clusterName(alone); got != "lab" {
		t.Errorf("a cluster is %q", got)
	}
}
