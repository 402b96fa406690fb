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

package transport

import (
	"math"
	"net/http"

	"golang.org/x/time/rate"
)

// limit delays requests. It is not part of the chain if there are no limits.
type limit struct {
	next  http.RoundTripper
	rate  *rate.Limiter
	slots chan struct{}
}

func newLimit(l Limits, next http.RoundTripper) http.RoundTripper {
	if l.PerSecond <= 0 && l.Concurrency <= 0 {
		return next
	}
	lim := &limit{next: next, rate: rate.NewLimiter(rate.Inf, 0)}
	if l.PerSecond > 0 {
		burst := l.Burst
		if burst <= 0 {
			burst = int(math.Ceil(l.PerSecond))
		}
		lim.rate = rate.NewLimiter(rate.Limit(l.PerSecond), burst)
	}
	if l.Concurrency > 0 {
		lim.slots = make(chan struct{}, l.Concurrency)
	}
	return lim
}

func (l *limit) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if l.slots != nil {
		select {
		case l.slots <- struct{}{}:
			defer func() { <-l.slots }()
		case <-ctx.Done():
			return nil, &Failure{Message: "too many requests of ours are under way", Cause: ctx.Err()}
		}
	}
	if err := l.rate.Wait(ctx); err != nil {
		return nil, &Failure{Message: "our request rate limit leaves no time for the call", Cause: ctx.Err()}
	}
	return l.next.RoundTrip(r)
}
