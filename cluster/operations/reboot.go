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

package main

import (
	"fmt"
	"slices"
	"strings"
)

// A reboot reboots every Machine that should run once, a few at a time.
type reboot struct {
	// Token identifies the reboot, like that of a Machine's powerAction.
	Token string `json:"token"`
	// MaxUnavailable is how many Machines may be rebooting or not Ready at once. Default: 1.
	MaxUnavailable *int `json:"maxUnavailable,omitempty"`
}

// plan reboots the next Machines while no more than a few are not Ready. It returns an error if a reboot has failed, so that a change that breaks one
// guest does not break all.
func (r reboot) plan(machines []object) (plan, error) {
	p := plan{}
	var next, busy []object
	for _, m := range machines {
		switch {
		case r.failed(m):
			return plan{}, fmt.Errorf("the reboot of %s has failed: %s", m, m.observed("powerAction", "result"))
		case !toRun(m):
		case !m.ready() || (r.asked(m) && !r.done(m)):
			busy = append(busy, m)
		case !r.asked(m):
			next = append(next, m)
		}
	}
	p.remaining = len(next) + len(busy)
	p.events = append(p.events, waiting(busy)...)
	for _, m := range next[:min(len(next), max(0, orOne(r.MaxUnavailable)-len(busy)))] {
		p.apply = append(p.apply, m.with(map[string]any{"powerAction": map[string]any{"action": "Reboot", "token": r.Token}}))
		p.events = append(p.events, m.String()+" reboots")
	}
	return p, nil
}

func waiting(busy []object) []string {
	var out []string
	for _, m := range busy {
		out = append(out, m.String()+" is waited for")
	}
	return out
}

// toRun reports whether a Machine should run: others cannot reboot.
func toRun(m object) bool { return slices.Contains([]string{"", "Running"}, m.declared("powerState")) }

func (r reboot) asked(m object) bool { return m.declared("powerAction", "token") == r.Token }

// done reports whether the reboot has ended, with success or not.
func (r reboot) done(m object) bool {
	return m.observed("powerAction", "token") == r.Token && m.observed("powerAction", "result") != ""
}

// failed reports whether the reboot ended in an error. If the end was not observed, it depends on whether the Machine is Ready.
func (r reboot) failed(m object) bool {
	result := m.observed("powerAction", "result")
	return r.done(m) && result != "OK" && !strings.HasPrefix(result, "WARNINGS") && !strings.HasPrefix(result, "unknown")
}
