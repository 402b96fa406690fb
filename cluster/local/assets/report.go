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

package assets

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Reporter writes progress for people.
type Reporter struct {
	// Out receives the lines.
	Out io.Writer
	// Terminal is true if Out is a terminal: progress then rewrites one line every second, instead of
	// adding a line every ten seconds.
	Terminal bool
}

// Linef writes one line.
func (r Reporter) Linef(format string, args ...any) {
	_, _ = fmt.Fprintf(r.Out, format+"\n", args...)
}

// start announces a build and how long it takes with a cold cache. It shows the elapsed time until the returned function is called.
func (r Reporter) start(name string, cold time.Duration) func(error) {
	begin := time.Now()
	stop := make(chan struct{})
	var shown sync.WaitGroup
	r.open(name, cold)
	shown.Go(func() { r.tick(name, cold, begin, stop) })
	return func(err error) {
		close(stop)
		shown.Wait()
		r.close(name, time.Since(begin), err)
	}
}

func (r Reporter) tick(name string, cold time.Duration, begin time.Time, stop <-chan struct{}) {
	every := 10 * time.Second
	if r.Terminal {
		every = time.Second
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case now := <-t.C:
			r.progress(name, cold, now.Sub(begin))
		}
	}
}

func (r Reporter) open(name string, cold time.Duration) {
	if r.Terminal {
		r.progress(name, cold, 0)
		return
	}
	r.Linef("building %s: about %s from a cold cache", name, cold)
}

func (r Reporter) progress(name string, cold, elapsed time.Duration) {
	elapsed = elapsed.Round(time.Second)
	if r.Terminal {
		_, _ = fmt.Fprintf(r.Out, "\r\x1b[Kbuilding %s: %s (about %s from a cold cache)", name, elapsed, cold)
		return
	}
	r.Linef("building %s: %s so far", name, elapsed)
}

func (r Reporter) close(name string, elapsed time.Duration, err error) {
	if r.Terminal {
		_, _ = fmt.Fprint(r.Out, "\r\x1b[K")
	}
	if err == nil {
		r.Linef("built %s in %s", name, elapsed.Round(100*time.Millisecond))
	}
}
