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

package machine

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

const (
	// agentTimeout is how long the guest agent is waited for.
	agentTimeout = 10 * time.Second

	// firstAsk and lastAsk are how soon a guest is asked again that does not say its
	// addresses: 2, 3, 4.5 seconds … 5 minutes.
	firstPoll    = 2 * time.Second
	maxPollDelay = 5 * time.Minute

	// soonest is how soon a guest is tried again that may not be asked just now.
	minPollDelay = time.Second

	// moreTries are how often a guest is asked again soon that has told addresses, but
	// none of IPv4 for one of its networks: 2, 3, 4.5, 6.75, 10 and 15 seconds later.
	moreTries = 6

	// asksAtOnce is how many guests of one node are asked at the same time. PVE has
	// three workers on each node for all such calls.
	maxParallelPolls = 2

	// soonTries are how often a guest is asked as soon as that. One that has been
	// silent for so long may have no agent at all, as a thousand others.
	soonTries = 11

	// askedAgain is how soon a guest is asked again at the soonest that has said its
	// addresses, and askedPace how far apart such calls of one cluster are at least,
	// and those to guests that stay silent.
	askedAgain = 30 * time.Minute
	askedPace  = 10 * time.Second
)

// agentResults remembers what guests have told through their agents. It is a memory
// only. Guests are asked in the background: an agent may take its time to answer.
type agentResults struct {
	now func() time.Time
	// background runs a function that takes its time, and later one at another time.
	background func(func())
	later      func(time.Duration, func())

	mu    sync.Mutex
	boots bootTimes
	all   map[types.UID]*guestState
	slots map[nodeKey]int
	paced map[Inventory]time.Time
}

// A nodeKey is a node of a cluster.
type nodeKey struct {
	at   Inventory
	node string
}

// A guestState is what a guest has told since a start.
type guestState struct {
	boot       time.Time
	made       string
	interfaces []proxmox.Interface
	denied     string // why it cannot be asked
	asking     bool
	tries      int
	more       int       // questions for addresses that may be yet to come
	partial    bool      // whether one of them is to be asked
	next       time.Time // zero before the first question
	awaited    time.Time // the question that the Machine is woken for
}

func newAgentResults(now func() time.Time) *agentResults {
	return &agentResults{
		now: now, background: func(ask func()) { go ask() }, later: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
		boots: newBootTimes(),
		all:   map[types.UID]*guestState{}, slots: map[nodeKey]int{}, paced: map[Inventory]time.Time{},
	}
}

// of a guest that was started at boot. What was told before a restart of this
// provider is in the status.
func (g *agentResults) of(m Machine, boot time.Time) *guestState {
	if r := g.since(m, boot); r != nil {
		return r
	}
	r := &guestState{boot: boot, made: bootKey(m)}
	o := m.Observation()
	if at := o.StartedAt; at != nil && boot.Sub(at.Time).Abs() <= time.Minute {
		if r.interfaces = interfacesOf(o); len(o.IPAddresses) > 0 {
			r.next = g.now().Add(askedAgain)
		}
	}
	g.all[m.GetUID()] = r
	return r
}

// since is what is known of a guest that was started at boot, or nil if that is nothing:
// it was started again, or is gone.
func (g *agentResults) since(m Machine, boot time.Time) *guestState {
	r := g.all[m.GetUID()]
	if r == nil || boot.Sub(r.boot).Abs() > time.Minute { // Uptimes are in whole seconds, and some old.
		return nil
	}
	return r
}

// interfacesOf a guest as far as the status tells.
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

// stillRunning says whether a guest that was started at boot was not started again, and is not
// gone.
func (g *agentResults) stillRunning(m Machine, boot time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.since(m, boot) != nil
}

// addresses by a guest so far.
func (g *agentResults) addresses(m Machine, boot time.Time) []proxmox.Interface {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.of(m, boot).interfaces
}

// denial is why a guest cannot be asked; empty if it can.
func (g *agentResults) denial(m Machine, boot time.Time) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.of(m, boot).denied
}

// deny notes why a guest cannot be asked, or that it can, and says whether that is news.
func (g *agentResults) deny(m Machine, boot time.Time, why error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, text := g.since(m, boot), ""
	if r == nil {
		return false
	}
	if proxmox.IsAuthorization(why) {
		text = why.Error()
	}
	news := r.denied != text
	r.denied = text
	return news
}

// due says whether a guest is to be asked now, and takes it to be asked.
func (g *agentResults) due(m Machine, boot time.Time, at nodeKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, now := g.of(m, boot), g.now()
	unhurried := r.lowPriority()
	if r.asking || now.Before(g.nextPoll(r)) || g.slots[at] >= maxParallelPolls || unhurried && now.Before(g.paced[at.at]) {
		return false
	}
	if unhurried {
		g.pace(at.at, askedPace)
	}
	r.asking = true
	g.slots[at]++
	return true
}

// lowPriority says whether the guest's answer would hardly be news.
func (r *guestState) lowPriority() bool {
	return len(addressesOf(r.interfaces)) > 0 && !r.partial || r.tries > soonTries
}

// nextPoll is when a guest is to be asked next: first when others like it could answer.
func (g *agentResults) nextPoll(r *guestState) time.Time {
	if r.next.IsZero() {
		return r.boot.Add(g.boots.estimate(r.made))
	}
	return r.next
}

// wakeForPoll has the Machine of a guest woken in time for the next question, if that is to
// come soon. Looking at it again and again would be later on average, or cost more.
func (g *agentResults) wakeForPoll(m Machine, boot time.Time, wake func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, now := g.since(m, boot), g.now()
	if r == nil || r.asking || r.lowPriority() || r.awaited.After(now) {
		return
	}
	wait := max(g.nextPoll(r).Sub(now), minPollDelay)
	r.awaited = now.Add(wait)
	g.later(wait, wake)
}

// takeSlot says whether nobody of a cluster was given a turn for a while, and takes it.
func (g *agentResults) takeSlot(at Inventory, pace time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.now().Before(g.paced[at]) {
		return false
	}
	g.pace(at, pace)
	return true
}

// pace the turns of a cluster. Views that are used no more are let go.
func (g *agentResults) pace(at Inventory, pace time.Duration) {
	maps.DeleteFunc(g.paced, func(_ Inventory, until time.Time) bool { return !g.now().Before(until) })
	g.paced[at] = g.now().Add(pace)
}

// record what a guest has told, nil if nothing, and says whether that is news.
func (g *agentResults) record(m Machine, boot time.Time, at nodeKey, told []proxmox.Interface) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.slots[at]--; g.slots[at] <= 0 {
		delete(g.slots, at)
	}
	r := g.since(m, boot)
	if r == nil {
		return false
	}
	r.asking = false
	news := told != nil && (r.interfaces == nil || !slices.Equal(addressesOf(told), addressesOf(r.interfaces)))
	if told != nil {
		r.interfaces = told
	}
	if len(addressesOf(told)) > 0 {
		if r.more == 0 {
			g.boots.learn(r.made, g.now().Sub(r.boot), r.tries)
		}
		r.tries, r.partial, r.next = 0, false, g.now().Add(askedAgain)
		return news
	}
	r.next = g.now().Add(retryDelay(r.tries))
	r.tries++
	return news
}

// pollAgain has a guest asked again soon that has not told all yet that can be expected:
// routers tell of IPv6 sooner than DHCP does of IPv4, and one network comes up after
// the other. It may have no more, so that it is asked a few times only.
func (g *agentResults) pollAgain(m Machine, boot time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.since(m, boot)
	if r == nil || r.more == moreTries || len(addressesOf(r.interfaces)) == 0 {
		return
	}
	r.partial, r.next = true, g.now().Add(retryDelay(r.more))
	r.more++
}

// missesIPv4 says whether a network of the VM has no IPv4 address that its guest tells of.
func (v *vm) missesIPv4(told []proxmox.Interface) bool {
	has := func(i proxmox.Interface) bool {
		return slices.ContainsFunc(i.Addresses, func(a netip.Addr) bool { return a.Is4() && !a.IsLinkLocalUnicast() })
	}
	return slices.ContainsFunc(v.macs(), func(mac string) bool {
		return !slices.ContainsFunc(told, func(i proxmox.Interface) bool { return strings.EqualFold(i.MAC, mac) && has(i) })
	})
}

// macs of the VM's networks that are plugged in.
func (v *vm) macs() []string {
	var all []string
	for _, device := range v.Active.NICs() {
		if n, err := proxmox.ParseNIC(v.Active[device]); err == nil && n.MAC != "" && n.Options.Get("link_down") != "1" {
			all = append(all, n.MAC)
		}
	}
	return all
}

// retryDelay after so many questions in vain and one more.
func retryDelay(tries int) time.Duration {
	d := firstPoll
	for range min(tries, 20) {
		d += d / 2
	}
	return min(d, maxPollDelay)
}

// addressesOf the guest that others can reach.
func addressesOf(all []proxmox.Interface) []string {
	var found []netip.Addr
	for _, i := range all {
		found = append(found, i.Addresses...)
	}
	return global(found)
}

func (g *agentResults) forget(m Machine) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.all, m.GetUID())
}

// pollAgent adds what the guest has told, and has it asked if it is time to.
func (e *external) pollAgent(m Machine) {
	if !e.vm.on() || !e.vm.agentOn() || e.vm.beingCreated() {
		return
	}
	boot := e.now().Add(-e.vm.Status.Uptime)
	at := nodeKey{at: e.inventory, node: e.vm.Node}
	switch {
	case e.agents.due(m, boot, at):
		e.askAgent(m, func(ctx context.Context, asker *external, later Machine) bool {
			return asker.readAddresses(ctx, later, boot, at)
		})
	case e.agents.addresses(m, boot) != nil && e.hostKeysWanted(m, boot) && e.hostKeys.due(m, boot):
		e.askAgent(m, func(ctx context.Context, asker *external, later Machine) bool { return asker.askHostKeys(ctx, later) })
	default:
		e.agents.wakeForPoll(m, boot, e.waker(m))
	}
	e.vm.Interfaces, e.vm.agentUnavailable = e.agents.addresses(m, boot), e.agents.denial(m, boot)
}

// askAgent the guest in the background, and wake the Machine if it tells news.
func (e *external) askAgent(m Machine, ask func(context.Context, *external, Machine) bool) {
	later, _ := m.DeepCopyObject().(Machine) // The reconciler goes on with these.
	asker, v := *e, *e.vm
	asker.vm = &v
	e.agents.background(func() {
		ctx, cancel := context.WithTimeout(context.Background(), agentTimeout)
		defer cancel()
		if ask(ctx, &asker, later) {
			go asker.wake(later)
		}
	})
}

// readAddresses asks the guest for its addresses, and for its host keys if it answers.
func (e *external) readAddresses(ctx context.Context, m Machine, boot time.Time, at nodeKey) bool {
	told, err := e.client.Interfaces(ctx, e.vm.Ref)
	if err != nil {
		// An agent that is not up yet, or ever, is no error: the condition
		// NetworkConfigured tells.
		e.log.Debug("Cannot ask guest agent", "vmid", e.vm.VMID, "error", err)
		told = nil
	}
	news := e.agents.record(m, boot, at, told)
	if e.vm.missesIPv4(told) {
		e.agents.pollAgain(m, boot)
	}
	news = e.agents.deny(m, boot, err) || news
	if !news {
		e.agents.wakeForPoll(m, boot, e.waker(m))
	}
	if told != nil && e.wantsHostKeys(m) && e.agents.stillRunning(m, boot) && e.hostKeys.due(m, boot) {
		news = e.askHostKeys(ctx, m) || news
	}
	return news
}
