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
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// defaultRate is the provider's own limit of requests per second.
const defaultRate = 50

// startup restarts the provider and watches until it has looked at each Machine.
func (b *bench) startup(ctx context.Context, w *world, c cluster, t *table) error {
	if err := w.provider.Stop(); err != nil {
		return err
	}
	if err := w.own.forget(ctx); err != nil {
		return err
	}
	begin := time.Now()
	w.Console.Stepf("%d Machines: starting the provider again", c.machines)
	if err := w.startProvider(ctx); err != nil {
		return err
	}
	peak := w.peak(ctx)
	err := w.until(ctx, "looking", func() int { return max(0, c.machines-w.reconciles(ctx)) })
	most := peak()
	if err != nil {
		return err
	}
	took := time.Since(begin)
	calls, err := w.own.counted(ctx, w.own.token.id)
	if err != nil {
		return err
	}
	rate := c.rate
	if rate == 0 {
		rate = defaultRate
	}
	t.rows = append(t.rows, []string{
		itoa(c.machines), itoa(calls.total()), number(float64(calls.total()) / float64(c.machines)), itoa(most), round(took).String(), itoa(rate),
	})
	b.show(*t)
	return nil
}

// peak finds, until the function that it returns is called, the second with the most requests.
func (w *world) peak(ctx context.Context) func() int {
	ctx, cancel := context.WithCancel(ctx)
	result := make(chan int, 1)
	go func() {
		most, before := 0, 0
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for ctx.Err() == nil {
			if calls, err := w.own.counted(ctx, w.own.token.id); err == nil {
				most, before = max(most, calls.total()-before), calls.total()
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		result <- most
	}()
	return func() int { cancel(); return <-result }
}

// reconciles counts how often the provider, since its start, has looked at a Machine; 0 if it does not say.
func (w *world) reconciles(ctx context.Context) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.metrics+"/metrics", http.NoBody)
	if err != nil {
		return 0
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close() //nolint:errcheck // Only read.
	total := 0.0
	for s := bufio.NewScanner(resp.Body); s.Scan(); {
		total += looks(s.Text())
	}
	return int(total)
}

// looks reads a line of the metrics that counts reconciles of Machines which the reconciler was let do: one that has to wait
// ends with requeue_after too, and is none. It returns 0 for other lines.
func looks(line string) float64 {
	if !strings.HasPrefix(line, "proxmox_operator_reconciliation_duration_seconds_count{") || !strings.Contains(line, "managed/machine.") {
		return 0
	}
	fields := strings.Fields(line)
	n, err := strconv.ParseFloat(fields[len(fields)-1], 64)
	if err != nil {
		return 0
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
