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

package faults

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A proxyGate is a proxy between the provider and PVE. While it is closed, it refuses connections, and existing ones have ended.
type proxyGate struct {
	to, at string

	mu    sync.Mutex
	wall  net.Listener
	lines map[net.Conn]bool
}

// doors counts the ports of gates. They are below those that the kernel assigns to any program, so that no other program gets the port of a closed
// gate.
var doors atomic.Int64 //nolint:gochecknoglobals // Tests must not share ports.

const (
	firstDoor = 15000
	lastDoor  = 30000
)

// newDoor returns an open gate.
func newDoor(t *testing.T, to string) *proxyGate {
	t.Helper()
	d := &proxyGate{to: to, lines: map[net.Conn]bool{}}
	for range lastDoor - firstDoor {
		d.at = fmt.Sprintf("127.0.0.1:%d", firstDoor+doors.Add(1)%(lastDoor-firstDoor))
		if d.open() == nil {
			t.Cleanup(d.shut)
			return d
		}
	}
	t.Fatal("there is no port")
	return nil
}

// open opens the gate, unless it is open.
func (d *proxyGate) open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wall != nil {
		return nil
	}
	wall, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", d.at)
	if err != nil {
		return err
	}
	d.wall = wall
	go d.serve(wall)
	return nil
}

func (d *proxyGate) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wall == nil {
		return
	}
	_ = d.wall.Close()
	d.wall = nil
	for c := range d.lines {
		_ = c.Close()
	}
	clear(d.lines)
}

func (d *proxyGate) serve(wall net.Listener) {
	for {
		in, err := wall.Accept()
		if err != nil {
			return
		}
		go d.join(wall, in)
	}
}

// join joins a connection with one to PVE, until either ends.
func (d *proxyGate) join(wall net.Listener, in net.Conn) {
	out, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", d.to)
	if err != nil {
		_ = in.Close()
		return
	}
	if !d.keep(wall, in, out) {
		return
	}
	go func() {
		defer out.Close() //nolint:errcheck // It may be closed.
		_, _ = io.Copy(out, in)
	}()
	defer in.Close() //nolint:errcheck // It may be closed.
	_, _ = io.Copy(in, out)
}

// keep keeps connections, to close them with the gate. It returns false if the gate was closed meanwhile.
func (d *proxyGate) keep(wall net.Listener, ends ...net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range ends {
		if d.wall != wall {
			_ = c.Close()
			continue
		}
		d.lines[c] = true
	}
	return d.wall == wall
}

// downFor is how long an outage lasts, by the clock of the run.
const downFor = 90 * time.Second

// An outage begins after the response to a call: the next call is refused.
type outage struct {
	door  *proxyGate
	clock *clock
	after int

	mu    sync.Mutex
	calls int
	since time.Time
}

// called is called after each call that was answered.
func (o *outage) called() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls++; o.calls == o.after {
		o.since = o.clock.Now()
		o.door.shut()
	}
}

// pass ends the outage when its time is over.
func (o *outage) pass(t *testing.T) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() || o.clock.Now().Sub(o.since) < downFor {
		return
	}
	if err := o.door.open(); err != nil {
		t.Fatal(err)
	}
}

// fewestCalls returns the smallest number of calls of some runs: how often lists are read in the background depends on the speed of the computer.
func fewestCalls(t *testing.T, s scenario) int {
	t.Helper()
	fewest := 0
	for range 3 {
		calls := 0
		for _, d := range live(t, newEnv(t, s, 0), s) {
			if d.call() {
				calls++
			}
		}
		if fewest == 0 || calls < fewest {
			fewest = calls
		}
	}
	return fewest
}

// TestOutages makes PVE refuse connections for a while, beginning after each call of a Machine's life cycle.
func TestOutages(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := fewestCalls(t, s)
			var tried, happened atomic.Int32
			t.Cleanup(func() {
				if happened.Load() < tried.Load()*9/10 {
					t.Errorf("%d outages, %d of them happened", tried.Load(), happened.Load())
				}
			})
			for k := sample(); k <= calls; k += sample() {
				t.Run(fmt.Sprint(k), func(t *testing.T) {
					t.Parallel()
					w := newEnv(t, s, 0)
					w.outage = &outage{door: newDoor(t, strings.TrimPrefix(w.pve.URL(), "https://")), clock: w.clock, after: k}
					w.redirect(t)
					live(t, w, s)
					tried.Add(1)
					if w.outage.calls >= k { // The number of background calls varies.
						happened.Add(1)
					}
				})
			}
		})
	}
}
