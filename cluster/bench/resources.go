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
	"slices"
	"time"

	"github.com/vitistack/provider-proxmox/cluster/percentile"
)

// quickLink is how long the storage is locked for a linked clone where the provider is to be what takes time, and not the storage.
const quickLink = 10 * time.Millisecond

// Limits of the provider there: requests per second, clones of the template at once, and reconciles per second.
const (
	resourcesRate       = 500
	resourcesClones     = 100
	resourcesReconciles = "MAX_RECONCILE_RATE=200"
)

// published are the figures of the official providers: processor and memory on average, and memory at most. They are from the sizing
// guide of Upjet, https://github.com/crossplane/upjet/blob/main/docs/sizing-guide.md.
func published() [][]string {
	return [][]string{
		{"provider-aws (published)", "", "", "", "", "8 cores", "", "1.1 GB", "3 GB", ""},
		{"provider-azure (published)", "", "", "", "", "4 cores", "", "1 GB", "3.5 GB", ""},
		{"provider-gcp (published)", "", "", "", "", "3 cores", "", "750 MB", "2 GB", ""},
	}
}

// manyCreations are so many at once that the chart's limit of memory would have the garbage collector take most of the CPU time: the provider gets twice
// that.
const manyCreations = 5000

// memoryOfCreations returns the limit of the provider's container in MiB.
func memoryOfCreations(n int) int {
	if n >= manyCreations {
		return 2 * memoryBound
	}
	return memoryBound
}

// creating is a cluster in which the creation of so many Machines takes as long as the provider needs.
func creating(n int) cluster {
	c := newCluster(0)
	c.link, c.rate, c.clones, c.settings = quickLink, resourcesRate, resourcesClones, append(heapLimit(memoryOfCreations(n)), resourcesReconciles)
	return c
}

// sampleCreation creates Machines, and measures what Crossplane measures of providers: processor and memory, on average and at most, and the time to
// readiness.
func (b *bench) sampleCreation(ctx context.Context, w *env, n int) ([]string, error) {
	sampling, stop := context.WithCancel(ctx)
	defer stop()
	samples := make(chan load, 1)
	go func() { samples <- w.sample(sampling) }()
	made, err := b.createMachines(ctx, w, partlyStopped(created(n)))
	if err != nil {
		return nil, err
	}
	stop()
	l := <-samples
	bound := b.atMost(itoa(n)+" creations: memory", l.memory.most()/(1<<20), float64(memoryOfCreations(n)), " MiB")
	return append([]string{
		"provider-proxmox", itoa(n), round(made.took).String(), round(percentile.Of(made.each, 50)).String(), round(percentile.Of(made.each, 99)).String(),
	}, append(l.cells(), bound)...), nil
}

// series are samples, one a second.
type series []float64

func (s series) average() float64 {
	sum := 0.0
	for _, v := range s {
		sum += v
	}
	return sum / float64(max(len(s), 1))
}

func (s series) most() float64 { return slices.Max(append(s, 0)) }

// A load is what the provider used in each second: thousandths of a core, and bytes.
type load struct{ processor, memory series }

func (l load) cells() []string {
	return []string{
		fmt.Sprintf("%.0f m", l.processor.average()), fmt.Sprintf("%.0f m", l.processor.most()),
		megabytes(int64(l.memory.average())), megabytes(int64(l.memory.most())),
	}
}

// add what was used between two samples.
func (l load) add(before, after usage, passed time.Duration) load {
	return load{
		processor: append(l.processor, float64(after.cpu-before.cpu)/float64(passed)*1000),
		memory:    append(l.memory, float64(after.resident)),
	}
}

// sample what the provider uses, from its start until the context ends.
func (w *env) sample(ctx context.Context) load {
	var l load
	var before usage
	last := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return l
		case now := <-tick.C:
			p := w.running.Load()
			if p == nil {
				continue
			}
			after, err := usageOf(p.Pid())
			if err == nil && before.resident > 0 {
				l = l.add(before, after, now.Sub(last))
			}
			before, last = after, now
		}
	}
}
