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
	"time"
)

// summary tells how many there were, how long they took, each and together, and how many that makes in a second.
func summary(took []time.Duration, all time.Duration) string {
	return fmt.Sprintf("%d in %s, each p50 %s, p95 %s, p99 %s, %.1f per second", len(took), all.Round(time.Millisecond),
		percentile(took, 50), percentile(took, 95), percentile(took, 99), float64(len(took))/all.Seconds())
}

// percentile is the duration that so many in a hundred do not exceed, in milliseconds; 0 of none.
func percentile(all []time.Duration, percent int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[(len(all)*percent+99)/100-1].Round(time.Millisecond)
}
