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
	"testing"
	"time"
)

func TestSummary(t *testing.T) {
	var took []time.Duration
	for i := range 200 {
		took = append(took, time.Duration(200-i)*10*time.Millisecond)
	}
	want := "200 in 4s, each p50 1s, p95 1.9s, p99 1.98s, 50.0 per second"
	if got := summary(took, 4*time.Second); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestValidate(t *testing.T) {
	cases := map[string]struct {
		reason  string
		options options
		refused bool
	}{
		"Usual":    {"the default", options{Machines: 100, Timeout: time.Minute}, false},
		"None":     {"no Machine makes no test", options{Timeout: time.Minute}, true},
		"Too many": {"names have four digits", options{Machines: 10001, Timeout: time.Minute}, true},
		"No time":  {"without time nothing is ready", options{Machines: 1}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := tc.options.Validate(); (err != nil) != tc.refused {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}
