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

package proxmox_test

import (
	"testing"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// Proxmox VE deletes a rule or a group that is not there with success, so a rule that somebody else has removed meanwhile is no error.
func TestRemoveUnknownHARule(t *testing.T) {
	for version, what := range map[string]string{"9.2": proxmox.HANodeAffinity, "8.4": proxmox.HAGroup} {
		t.Run(version, func(t *testing.T) {
			l := newLab(t, simulator.Options{Version: version}, func(c *proxmox.Config) {
				c.Credentials = proxmox.Credentials{Username: "root@pam", Password: simulatortest.RootPassword}
			})
			if err := l.RemoveHARule(t.Context(), proxmox.HARule{Name: "gone", Type: what}); err != nil {
				t.Errorf("want no error, got %v", err)
			}
			all, err := l.HARules(t.Context())
			if err != nil || len(all.Rules) > 0 {
				t.Errorf("want no rules, got %v, %v", all, err)
			}
		})
	}
}
