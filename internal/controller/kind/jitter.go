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

package kind

import (
	"math/rand/v2"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
)

// spread is the part of a delay by which it varies both ways, so that what
// happened to many resources at once does not happen to them at once again.
const spread = 0.1

// random is a number of at least 0 and below 1.
func random() float64 { return rand.Float64() } //nolint:gosec // Nobody gains from guessing a delay.

// jitter varies a delay by up to a tenth of it.
func jitter(d time.Duration, random func() float64) time.Duration {
	return d + time.Duration((2*random()-1)*spread*float64(d))
}

// jittered is the hook, or none, with jitter.
func jittered(hook managed.PollIntervalHook, random func() float64) managed.PollIntervalHook {
	return func(mg resource.Managed, d time.Duration) time.Duration {
		if hook == nil {
			return jitter(d, random)
		}
		// Zero would mean never again to the reconciler.
		if wanted := hook(mg, d); wanted > 0 {
			d = wanted
		}
		return jitter(d, random)
	}
}
