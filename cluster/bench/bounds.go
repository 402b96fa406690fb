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
)

// atMost returns a bound as the tables show it, and notes a value that exceeds it, which fails the run. Without a bound, 0, there is nothing to show.
func (b *bench) atMost(what string, got, most float64, unit string) string {
	if most == 0 {
		return ""
	}
	if got > most {
		b.exceeds(fmt.Errorf("%s: %s%s exceeds the bound of %s%s", what, number(got), unit, number(most), unit))
	}
	return "≤ " + number(most) + unit
}

// within is atMost for times.
func (b *bench) within(what string, got, most time.Duration) string {
	if got > most {
		b.exceeds(fmt.Errorf("%s: %s exceeds the bound of %s", what, round(got), round(most)))
	}
	return "≤ " + round(most).String()
}

// exceeds notes that a bound was not kept.
func (b *bench) exceeds(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.exceeded = append(b.exceeded, err)
}
