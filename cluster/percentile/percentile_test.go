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

package percentile_test

import (
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/cluster/percentile"
)

func TestOf(t *testing.T) {
	hundred := []time.Duration{}
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i))
	}
	cases := map[string]struct {
		reason  string
		all     []time.Duration
		percent int
		want    time.Duration
	}{
		"None":   {reason: "Nothing took no time.", percent: 99},
		"One":    {reason: "Every percentile of one value is that value.", all: []time.Duration{7}, percent: 50, want: 7},
		"Median": {reason: "Half of them are not longer.", all: hundred, percent: 50, want: 50},
		"High":   {reason: "All but one in a hundred are not longer.", all: hundred, percent: 99, want: 99},
		"Few":    {reason: "The highest percentile of a few values is the longest.", all: []time.Duration{3, 1, 2}, percent: 99, want: 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := percentile.Of(tc.all, tc.percent); got != tc.want {
				t.Errorf("\n%s\nOf(): want %d, got %d", tc.reason, tc.want, got)
			}
		})
	}
}
