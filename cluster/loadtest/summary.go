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
	"time"

	"github.com/vitistack/provider-proxmox/cluster/percentile"
)

// summary returns the number of Machines, how long they took individually and together, and their rate per second.
func summary(took []time.Duration, all time.Duration) string {
	return fmt.Sprintf("%d in %s, each p50 %s, p95 %s, p99 %s, %.1f per second", len(took), all.Round(time.Millisecond),
		of(took, 50), of(took, 95), of(took, 99), float64(len(took))/all.Seconds())
}

func of(took []time.Duration, percent int) time.Duration {
	return percentile.Of(took, percent).Round(time.Millisecond)
}
