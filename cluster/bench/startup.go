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
	"context"
	"fmt"
	"strconv"
	"time"
)

// defaultRate is the provider's own limit of requests per second.
const defaultRate = 50

// startup starts the provider, which knows nothing of the VMs, and watches until it has looked at each of its Machines.
func (b *bench) startup(ctx context.Context, w *env, n int) ([]string, error) {
	if err := w.own.clearRequests(ctx); err != nil {
		return nil, err
	}
	j, err := w.own.requestLog(ctx, w.own.token.id)
	if err != nil {
		return nil, err
	}
	w.Console.Stepf("%d Machines: starting the provider again, with its defaults", n)
	begin := time.Now()
	if err := w.startProvider(ctx); err != nil {
		return nil, err
	}
	if err := w.until(ctx, "looking", func() int { return n - j.looked(ctx) }); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	calls, workers := len(j.rows), j.maxPerSecond(toWorkers)
	w.Console.Stepf("%d Machines: reconciled in %s", n, round(took))
	return []string{
		itoa(n), itoa(calls), number(float64(calls) / float64(n)), itoa(j.maxPerSecond(anything)), itoa(workers), round(took).String(), itoa(defaultRate),
	}, nil
}

// looked counts the VMs, but for the template, that were looked at so far.
func (j *requestLog) looked(ctx context.Context) int {
	if err := j.follow(ctx); err != nil {
		return 0
	}
	n := len(j.vms)
	if j.vms[itoa(templateID)] {
		n--
	}
	return n
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

func megabytes(bytes int64) string { return fmt.Sprintf("%d MiB", (bytes+1<<19)>>20) }

// number is a number with as many digits as are of interest.
func number(f float64) string {
	if f >= 10 {
		return fmt.Sprintf("%.0f", f)
	}
	return strconv.FormatFloat(f, 'g', 2, 64)
}
