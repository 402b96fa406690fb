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

package qemu

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestRead(t *testing.T) {
	type m = Config
	v := Read([]proxmox.PendingValue{
		{Key: "digest", Value: new("abc")},
		{Key: "name", Value: new("web")},
		{Key: "sockets", Value: new("1"), Pending: new("2")},
		{Key: "numa", Pending: new("1")},
		{Key: "balloon", Value: new("0"), Delete: 1},
		{Key: "net1", Value: new("virtio"), Delete: 2},
		{Key: "cores", Value: new("1"), Pending: new("4")},
		{Key: "tags", Value: new("")},
	})
	if v.Digest != "abc" {
		t.Errorf("The digest is %q", v.Digest)
	}
	if diff := cmp.Diff(m{"name": "web", "sockets": "2", "numa": "1", "cores": "4", "tags": ""}, v.Config); diff != "" {
		t.Errorf("Config has the pending changes applied: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(m{"name": "web", "sockets": "1", "balloon": "0", "net1": "virtio", "cores": "1", "tags": ""}, v.Active); diff != "" {
		t.Errorf("Active is what is in force: -want, +got:\n%s", diff)
	}
	var pending []string
	for _, p := range v.Pending {
		pending = append(pending, p.Key)
	}
	if diff := cmp.Diff([]string{"balloon", "cores", "net1", "numa", "sockets"}, pending); diff != "" {
		t.Errorf("Pending changes are in order: -want, +got:\n%s", diff)
	}
}
