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

// Package guestagent remembers what guests report through the QEMU guest agent, and decides when to ask them: their addresses, the host keys of their
// SSH server and the result of cloud-init. It keeps its data only in memory. After a restart of the provider, guests are asked again.
package guestagent

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/objectstate"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

const (
	// firstPoll and maxPollDelay limit the delay before a guest that reports no addresses is asked again: after 2, 3, 4.5 seconds … 5 minutes.
	firstPoll    = 2 * time.Second
	maxPollDelay = 5 * time.Minute

	// minPollDelay is the delay before retrying a guest that may not be asked at the moment.
	minPollDelay = time.Second

	// moreTries is how often a guest is asked again soon after it has reported addresses, but no IPv4 address for one of its networks: 2, 3, 4.5, 6.75, 10
	// and 15 seconds later.
	moreTries = 6

	// maxParallelPolls is how many guests of one node are asked at the same time. PVE has three workers on each node for such calls.
	maxParallelPolls = 2

	// soonTries is how often a guest that does not answer is asked at the delays that begin with firstPoll. After that it may have no agent at all.
	soonTries = 11

	// knownPollDelay is the delay before a guest that has reported its addresses is asked again.
	knownPollDelay = 30 * time.Minute

	// lowPriorityInterval is the least time within a cluster between such calls and calls to guests that do not answer.
	lowPriorityInterval = 10 * time.Second
)

// A Machine is a resource with a VM whose guest is asked.
type Machine interface {
	GetUID() types.UID
	Parameters() *v1alpha1.MachineParameters
	Observation() *v1alpha1.MachineObservation
}

// A Node is a node of a cluster. Any comparable value can identify the cluster.
type Node struct {
	Cluster any
	Name    string
}

// Results remembers the addresses that guests have reported. Guests are asked in the background, since an agent may take time to answer.
type Results struct {
	now        func() time.Time
	background func(func())
	later      func(time.Duration, func())

	// Provisionings has what guests have reported about cloud-init.
	Provisionings *Provisionings

	guests       objectstate.Store[guest] // Its lock protects all fields below.
	boots        bootTimes
	slots        map[Node]int
	delayedUntil map[any]time.Time
}

// A guest has what is known of a guest since a start.
type guest struct {
	boot       time.Time
	source     string // source of the VM
	interfaces []proxmox.Interface
	denied     string // reason why it cannot be asked
	asking     bool
	tries      int
	more       int       // questions for addresses that may appear later
	partial    bool      // whether one of them is due
	next       time.Time // zero before the first question
	awaited    time.Time // the question that wakes the Machine
	macs       []string  // of the VM's network cards
	stale      bool      // whether the question in progress is from before they changed
}

// An Option configures Results.
type Option func(*Results)

// WithBackground sets the function that runs slow functions in the background.
func WithBackground(run func(func())) Option { return func(r *Results) { r.background = run } }

// WithTimer sets the function that runs a function later.
func WithTimer(later func(time.Duration, func())) Option { return func(r *Results) { r.later = later } }

// WithInitialBootTime sets the estimated time until a guest can answer, if nothing is known of guests of the same source.
func WithInitialBootTime(d time.Duration) Option { return func(r *Results) { r.boots.first = d } }

// New returns empty Results.
func New(now func() time.Time, opts ...Option) *Results {
	r := &Results{
		now: now, background: func(ask func()) { go ask() }, later: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
		boots: newBootTimes(), slots: map[Node]int{}, delayedUntil: map[any]time.Time{},
	}
	for _, o := range opts {
		o(r)
	}
	r.Provisionings = &Provisionings{now: r.now, later: r.later}
	return r
}

// Background runs a function that asks a guest.
func (r *Results) Background(ask func()) { r.background(ask) }

// of returns the record of a guest that was started at boot. The status has what the guest reported before a restart of the provider.
func (r *Results) of(m Machine, boot time.Time) *guest {
	if g := r.since(m, boot); g != nil {
		return g
	}
	o := m.Observation()
	g := &guest{boot: boot, source: sourceOf(m)}
	for _, n := range o.Networks {
		g.macs = append(g.macs, n.MACAddress)
	}
	if at := o.StartedAt; at != nil && boot.Sub(at.Time).Abs() <= time.Minute {
		if g.interfaces = interfacesOf(o); len(o.IPAddresses) > 0 {
			g.next = r.now().Add(knownPollDelay)
		}
	}
	r.guests.Set(m, g)
	return g
}

// since returns the record of a guest that was started at boot, or nil if it was started again or no longer exists.
func (r *Results) since(m Machine, boot time.Time) *guest {
	g := r.guests.Get(m)
	if g == nil || boot.Sub(g.boot).Abs() > time.Minute { // Uptimes are in whole seconds, and may be old.
		return nil
	}
	return g
}

// interfacesOf returns the interfaces of a guest that the status shows.
func interfacesOf(o *v1alpha1.MachineObservation) []proxmox.Interface {
	var all []proxmox.Interface
	known := map[string]bool{}
	for _, n := range o.Networks {
		if n.Interface == "" {
			continue
		}
		all = append(all, proxmox.Interface{Name: n.Interface, MAC: strings.ToLower(n.MACAddress), Addresses: parseAddresses(n.IPAddresses)})
		for _, a := range n.IPAddresses {
			known[a] = true
		}
	}
	rest := slices.DeleteFunc(slices.Clone(o.IPAddresses), func(a string) bool { return known[a] })
	if len(rest) > 0 {
		all = append(all, proxmox.Interface{Addresses: parseAddresses(rest)})
	}
	return all
}

func parseAddresses(all []string) []netip.Addr {
	var out []netip.Addr
	for _, s := range all {
		if a, err := netip.ParseAddr(s); err == nil {
			out = append(out, a)
		}
	}
	return out
}

// Len returns the number of Machines with a known guest.
func (r *Results) Len() int {
	r.guests.Lock()
	defer r.guests.Unlock()
	return r.guests.Len()
}

// StillRunning reports whether a guest that was started at boot still exists and was not started again.
func (r *Results) StillRunning(m Machine, boot time.Time) bool {
	r.guests.Lock()
	defer r.guests.Unlock()
	return r.since(m, boot) != nil
}

// Addresses returns the interfaces that a guest has reported so far.
func (r *Results) Addresses(m Machine, boot time.Time) []proxmox.Interface {
	r.guests.Lock()
	defer r.guests.Unlock()
	return r.of(m, boot).interfaces
}

// UpdateMACs records the MAC addresses of the VM's network cards. If they have changed, the guest is asked again soon, and addresses of a removed card
// no longer count.
func (r *Results) UpdateMACs(m Machine, boot time.Time, macs []string) {
	r.guests.Lock()
	defer r.guests.Unlock()
	g := r.of(m, boot)
	gone := without(g.macs, macs)
	if g.interfaces == nil || len(gone)+len(without(macs, g.macs)) == 0 {
		g.macs = macs
		return
	}
	g.interfaces = slices.DeleteFunc(slices.Clone(g.interfaces), func(i proxmox.Interface) bool { return hasMAC(gone, i.MAC) })
	g.macs, g.stale = macs, g.asking
	g.partial, g.more, g.next = true, 0, r.now().Add(firstPoll)
}

// without returns the MAC addresses that are not in a second list.
func without(macs, others []string) []string {
	return slices.DeleteFunc(slices.Clone(macs), func(mac string) bool { return hasMAC(others, mac) })
}

func hasMAC(macs []string, mac string) bool {
	return slices.ContainsFunc(macs, func(m string) bool { return strings.EqualFold(m, mac) })
}

// Denial returns the reason why a guest cannot be asked. It is empty if the guest can be asked.
func (r *Results) Denial(m Machine, boot time.Time) string {
	r.guests.Lock()
	defer r.guests.Unlock()
	return r.of(m, boot).denied
}

// Deny records why a guest cannot be asked, or that it can, and reports whether that has changed.
func (r *Results) Deny(m Machine, boot time.Time, why error) bool {
	r.guests.Lock()
	defer r.guests.Unlock()
	g, text := r.since(m, boot), ""
	if g == nil {
		return false
	}
	if proxmox.IsAuthorization(why) {
		text = why.Error()
	}
	news := g.denied != text
	g.denied = text
	return news
}

// Due reports whether a guest should be asked now. If so, it counts as being asked until Record is called.
func (r *Results) Due(m Machine, boot time.Time, at Node) bool {
	r.guests.Lock()
	defer r.guests.Unlock()
	g, now := r.of(m, boot), r.now()
	low := g.lowPriority()
	if g.asking || now.Before(r.nextPoll(g)) || r.slots[at] >= maxParallelPolls || low && now.Before(r.delayedUntil[at.Cluster]) {
		return false
	}
	if low {
		r.delaySlot(at.Cluster, lowPriorityInterval)
	}
	g.asking = true
	r.slots[at]++
	return true
}

// lowPriority reports whether the guest's answer is unlikely to contain anything new.
func (g *guest) lowPriority() bool {
	return len(reachableOf(g.interfaces)) > 0 && !g.partial || g.tries > soonTries
}

// nextPoll returns when a guest should be asked next. The first question is due when guests of the same source could answer.
func (r *Results) nextPoll(g *guest) time.Time {
	if g.next.IsZero() {
		return g.boot.Add(r.boots.estimate(g.source))
	}
	return g.next
}

// WakeForPoll wakes the Machine of a guest in time for the next question, if that is due soon. Polling by reconciles would be later on average, or cost
// more.
func (r *Results) WakeForPoll(m Machine, boot time.Time, wake func()) {
	r.guests.Lock()
	defer r.guests.Unlock()
	g, now := r.since(m, boot), r.now()
	if g == nil || g.asking || g.lowPriority() || g.awaited.After(now) {
		return
	}
	wait := max(r.nextPoll(g).Sub(now), minPollDelay)
	g.awaited = now.Add(wait)
	r.later(wait, wake)
}

// TakeSlot reports whether no guest of a cluster was given a slot within a period, and takes the slot.
func (r *Results) TakeSlot(cluster any, period time.Duration) bool {
	r.guests.Lock()
	defer r.guests.Unlock()
	if r.now().Before(r.delayedUntil[cluster]) {
		return false
	}
	r.delaySlot(cluster, period)
	return true
}

// delaySlot delays the next slot of a cluster. It removes clusters whose delay is over, since they may not be used any more.
func (r *Results) delaySlot(cluster any, period time.Duration) {
	maps.DeleteFunc(r.delayedUntil, func(_ any, until time.Time) bool { return !r.now().Before(until) })
	r.delayedUntil[cluster] = r.now().Add(period)
}

// Record records what a guest has reported, or nil if it did not answer. It reports whether that has changed.
func (r *Results) Record(m Machine, boot time.Time, at Node, reported []proxmox.Interface) bool {
	r.guests.Lock()
	defer r.guests.Unlock()
	if r.slots[at]--; r.slots[at] <= 0 {
		delete(r.slots, at)
	}
	g := r.since(m, boot)
	if g == nil {
		return false
	}
	g.asking = false
	if g.stale {
		g.stale, g.next = false, r.now().Add(firstPoll)
		return false
	}
	news := reported != nil && (g.interfaces == nil || !slices.Equal(reachableOf(reported), reachableOf(g.interfaces)))
	if reported != nil {
		g.interfaces = reported
	}
	if len(reachableOf(reported)) > 0 {
		if g.more == 0 {
			r.boots.learn(g.source, r.now().Sub(g.boot), g.tries)
		}
		g.tries, g.partial, g.next = 0, false, r.now().Add(knownPollDelay)
		return news
	}
	g.next = r.now().Add(retryDelay(g.tries))
	g.tries++
	return news
}

// PollAgain schedules another question soon for a guest that has not reported all addresses that can be expected: routers announce IPv6 sooner than
// DHCP assigns IPv4, and networks come up one after the other. The guest may have no more addresses, so it is asked only a few times.
func (r *Results) PollAgain(m Machine, boot time.Time) {
	r.guests.Lock()
	defer r.guests.Unlock()
	g := r.since(m, boot)
	if g == nil || g.more == moreTries || len(reachableOf(g.interfaces)) == 0 {
		return
	}
	g.partial, g.next = true, r.now().Add(retryDelay(g.more))
	g.more++
}

// retryDelay returns the delay after a number of unanswered questions.
func retryDelay(tries int) time.Duration {
	d := firstPoll
	for range min(tries, 20) {
		d += d / 2
	}
	return min(d, maxPollDelay)
}

// Forget forgets a Machine that no longer exists.
func (r *Results) Forget(m objectstate.Object) {
	r.Provisionings.Forget(m)
	r.guests.Lock()
	defer r.guests.Unlock()
	r.guests.Delete(m)
}
