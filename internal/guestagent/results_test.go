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

package guestagent

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A clock that stands still until it is set.
type clock struct{ time time.Time }

func newClock() *clock                { return &clock{time: time.Unix(1_800_000_000, 0)} }
func (c *clock) now() time.Time       { return c.time }
func (c *clock) wait(d time.Duration) { c.time = c.time.Add(d) }

func addresses(all ...string) []netip.Addr { return parseAddresses(all) }

func TestGuestTalks(t *testing.T) {
	c := newClock()
	g := New(c.now)
	boot, at := c.now(), Node{Name: "pve1"}
	m := &namespaced.Machine{}
	due := func(why string, want bool) {
		t.Helper()
		if got := g.Due(m, boot, at); got != want {
			t.Errorf("%s: want due %t, got %t", why, want, got)
		}
	}
	due("A guest that was just started", false)
	c.wait(initialBootTime)
	due("A guest that has told nothing", true)
	due("One that is being asked", false)
	if g.Record(m, boot, at, nil) {
		t.Error("No answer is no news")
	}
	due("One that did not answer", false)
	c.wait(firstPoll)
	due("Some time later", true)
	told := []proxmox.Interface{{Name: "eth0", Addresses: addresses("192.0.2.1")}}
	if !g.Record(m, boot, at, told) || len(g.Addresses(m, boot)) != 1 {
		t.Error("Addresses are news, and kept")
	}
	c.wait(maxPollDelay)
	due("One whose addresses are known", false)
	c.wait(knownPollDelay)
	due("Half an hour later", true)
	if g.Record(m, boot, at, told) {
		t.Error("The same addresses are no news")
	}
	boot = c.now()
	if g.Addresses(m, boot) != nil {
		t.Error("What was told before a start may hold no more")
	}
	c.wait(initialBootTime + firstPoll) // As long as before.
	due("After another start", true)
	other := &namespaced.Machine{}
	other.UID = "other"
	third := &namespaced.Machine{}
	third.UID = "third"
	if !g.Due(other, boot, at) || g.Due(third, boot, at) {
		t.Error("Two guests of a node are asked at once, and no more")
	}
}

// TestUpdateMACs removes a network card of a VM and adds another one, while its guest is being asked and while it is not.
func TestUpdateMACs(t *testing.T) {
	c := newClock()
	g := New(c.now)
	m, boot, at := &namespaced.Machine{}, c.now(), Node{Name: "pve1"}
	first, second := "BC:24:11:00:00:01", "BC:24:11:00:00:02"
	told := []proxmox.Interface{
		{Name: "eth0", MAC: strings.ToLower(first), Addresses: addresses("192.0.2.1")},
		{Name: "eth1", MAC: strings.ToLower(second), Addresses: addresses("192.0.2.2")},
	}
	shows := func(why string, want ...string) {
		t.Helper()
		if got := reachableOf(g.Addresses(m, boot)); !slices.Equal(got, want) {
			t.Errorf("%s: want %q, got %q", why, want, got)
		}
	}
	g.UpdateMACs(m, boot, []string{first, second})
	c.wait(initialBootTime)
	if !g.Due(m, boot, at) || !g.Record(m, boot, at, told) {
		t.Fatal("want the guest asked first")
	}
	g.UpdateMACs(m, boot, []string{first, second})
	c.wait(firstPoll)
	if shows("Nothing has changed", "192.0.2.1", "192.0.2.2"); g.Due(m, boot, at) {
		t.Error("Cards that stay are no reason to ask")
	}
	g.UpdateMACs(m, boot, []string{first})
	shows("A card has gone", "192.0.2.1")
	c.wait(firstPoll)
	if !g.Due(m, boot, at) {
		t.Error("A guest that has lost a card is asked soon")
	}
	g.UpdateMACs(m, boot, nil)
	if shows("The other goes meanwhile"); g.Record(m, boot, at, told[:1]) {
		t.Error("What was asked before that is no news")
	}
	shows("The answer is of before")
	c.wait(firstPoll)
	g.UpdateMACs(m, boot, []string{first})
	c.wait(firstPoll)
	if !g.Due(m, boot, at) || !g.Record(m, boot, at, told[:1]) {
		t.Error("A guest that has got a card is asked soon")
	}
	shows("The card is there", "192.0.2.1")
}

// TestAskMore lets a guest report IPv6 addresses before it gets an IPv4 address by DHCP.
func TestAskMore(t *testing.T) {
	c := newClock()
	g := New(c.now)
	m, boot, at := &namespaced.Machine{}, c.now(), Node{Name: "pve1"}
	const mac = "bc:24:11:00:00:01"
	docker := proxmox.Interface{Name: "docker0", MAC: "02:42:00:00:00:01", Addresses: addresses("172.17.0.1")}
	some := []proxmox.Interface{docker, {Name: "eth0", MAC: mac, Addresses: addresses("2001:db8::1", "169.254.0.1")}}
	all := []proxmox.Interface{docker, {Name: "eth0", MAC: mac, Addresses: addresses("2001:db8::1", "192.0.2.1")}}
	// asked asks a guest for some time, and returns how often.
	asked := func(told []proxmox.Interface, long time.Duration) (n int) {
		for until := c.now().Add(long); c.now().Before(until); c.wait(minPollDelay) {
			if !g.Due(m, boot, at) {
				continue
			}
			n++
			g.Record(m, boot, at, told)
			if MissesIPv4([]string{"BC:24:11:00:00:01"}, told) {
				g.PollAgain(m, boot)
			}
		}
		return n
	}
	if n := asked(some, initialBootTime+minPollDelay); n != 1 {
		t.Fatalf("Want one question at first, got %d", n)
	}
	if n := asked(all, firstPoll+minPollDelay); n != 1 {
		t.Errorf("A guest that may get more addresses is asked again soon, not %d times", n)
	}
	if n := asked(all, knownPollDelay/2); n != 0 {
		t.Errorf("One that has one for each network is not, but was asked %d times", n)
	}
	boot = c.now()
	if n := asked(some, knownPollDelay/2); n != 1+moreTries {
		t.Errorf("One that has no more is asked %d times more, not %d times", moreTries, n-1)
	}
}

// TestQuestions starts guests from one template one after the other, and checks that after the first few, most need one or two questions, and none has
// its addresses late.
func TestQuestions(t *testing.T) {
	cases := map[string]struct {
		reason string
		needs  func(guest int) time.Duration // time until its agent answers
		first  int                           // maximum number of questions to the first guest
		each   float64                       // average number of questions to those after the first five
		late   time.Duration                 // maximum delay of these after the agent is up
	}{
		"Fast": {
			reason: "Guests that boot fast are asked soon.", needs: func(int) time.Duration { return 3 * time.Second }, first: 1, each: 1.5,
			late: 2 * time.Second,
		},
		"Usual": {
			reason: "Usual ones cost one question or two.", needs: func(int) time.Duration { return 15 * time.Second }, first: 5, each: 2,
			late: 2 * time.Second,
		},
		"Slow": {
			reason: "Guests that boot slowly cost two questions each.",
			needs:  func(int) time.Duration { return 30 * time.Second }, first: 7, each: 2, late: 3 * time.Second,
		},
		"Varying": {
			reason: "Agents that take now more and now less time are waited for.",
			needs:  func(i int) time.Duration { return time.Duration(10+i*7%20) * time.Second }, first: 5, each: 2, late: 16 * time.Second,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			g := New(c.now)
			at, told := Node{Name: "pve1"}, []proxmox.Interface{{Name: "eth0", Addresses: addresses("192.0.2.1")}}
			const guests, learning = 105, 5
			asked, latest := 0, time.Duration(0)
			for i := range guests {
				m := &namespaced.Machine{}
				m.UID = types.UID(strconv.Itoa(i))
				boot, n := c.now(), 0
				woken := boot // After the VM was started.
				g.later = func(d time.Duration, _ func()) { woken = c.now().Add(d) }
				for up := boot.Add(tc.needs(i)); ; {
					c.wait(woken.Sub(c.now()))
					if !g.Due(m, boot, at) {
						g.WakeForPoll(m, boot, nil)
						continue
					}
					n++
					if !c.now().Before(up) {
						g.Record(m, boot, at, told)
						if i >= learning {
							latest = max(latest, c.now().Sub(up))
						}
						break
					}
					g.Record(m, boot, at, nil)
					g.WakeForPoll(m, boot, nil)
				}
				if i == 0 && n > tc.first {
					t.Errorf("%s\nwant at most %d questions to the first guest, got %d", tc.reason, tc.first, n)
				}
				if i >= learning {
					asked += n
				}
				c.wait(time.Minute)
			}
			each := float64(asked) / (guests - learning)
			t.Logf("%.2f questions each, addresses at most %s late", each, latest)
			if each > tc.each || latest > tc.late {
				t.Errorf("%s\nwant at most %.1f questions each and addresses within %s, got %.2f and %s", tc.reason, tc.each, tc.late, each, latest)
			}
		})
	}
}

func TestBoots(t *testing.T) {
	cases := map[string]struct {
		reason     string
		knows      time.Duration
		took       time.Duration
		unanswered int
		want       time.Duration
	}{
		"New": {reason: "What a guest needed is learned.", took: 20 * time.Second, unanswered: 3, want: 20 * time.Second},
		"Slower": {
			reason: "A guest that needed longer than others counts half.", knows: 16 * time.Second, took: 20 * time.Second, unanswered: 1,
			want: 18 * time.Second,
		},
		"At once": {
			reason: "One that answers the first question may have been up earlier.", knows: 16 * time.Second, took: 16 * time.Second,
			want: 15 * time.Second,
		},
		"Shortest": {reason: "No guest is asked at once.", knows: 2 * time.Second, took: 2 * time.Second, want: minBootTime},
		"Late":     {reason: "Who was asked late tells nothing.", knows: 16 * time.Second, took: time.Minute, want: 16 * time.Second},
		"Longest":  {reason: "An agent that needed too long tells nothing.", knows: 16 * time.Second, took: time.Hour, unanswered: 9, want: 16 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBootTimes()
			if tc.knows != 0 {
				b.by["template x"] = tc.knows
			}
			b.learn("template x", tc.took, tc.unanswered)
			if got := b.estimate("template x"); got != tc.want || b.estimate("else") != initialBootTime {
				t.Errorf("%s\nwant %s, got %s, and %s of others", tc.reason, tc.want, got, b.estimate("else"))
			}
		})
	}
	b := newBootTimes()
	for i := range 3 * maxBootTimes {
		b.learn(strconv.Itoa(i), 10*time.Second, 1)
	}
	if len(b.by) > maxBootTimes {
		t.Errorf("want at most %d remembered, got %d", maxBootTimes, len(b.by))
	}
}

// TestSilentGuests checks that agents that never answer cost a cluster no more than a few calls a minute.
func TestSilentGuests(t *testing.T) {
	c := newClock()
	g := New(c.now)
	boot, at, asked := c.now(), Node{Name: "pve1"}, 0
	for minute := range 3 * 60 {
		for i := range 100 {
			m := &namespaced.Machine{}
			m.UID = types.UID(strconv.Itoa(i))
			if !g.Due(m, boot, at) {
				continue
			}
			g.Record(m, boot, at, nil)
			if minute >= 120 {
				asked++
			}
		}
		c.wait(time.Minute)
	}
	if want := 60; asked == 0 || asked > want {
		t.Errorf("A hundred silent guests are asked %d times in an hour in which nothing happens, want at most %d", asked, want)
	}
}

func TestPacesLetGo(t *testing.T) {
	c := newClock()
	g := New(c.now)
	if !g.TakeSlot(new(int), time.Minute) {
		t.Error("The first has a turn.")
	}
	c.wait(time.Minute)
	if !g.TakeSlot(new(int), time.Minute) || len(g.delayedUntil) != 1 {
		t.Errorf("Views that are used no more are kept: %d", len(g.delayedUntil))
	}
}

func TestHostKeysAreAskedFor(t *testing.T) {
	c := newClock()
	h, m := NewHostKeys(c.now), &namespaced.Machine{}
	boot := c.now()
	times := 0
	for range 600 {
		if h.Due(m, boot) {
			times++
		}
		c.wait(time.Second)
	}
	if times != hostKeyTries {
		t.Errorf("a guest that has no keys was asked %d times, want %d", times, hostKeyTries)
	}
	if !h.Due(m, c.now()) {
		t.Error("after its next start it may have some")
	}
	h.Record(m, "ssh-ed25519 AAAAC3")
	c.wait(time.Hour)
	if h.Due(m, c.now().Add(-time.Hour+time.Second)) {
		t.Error("it has told them since it started")
	}
	h.Record(m, "")
	if got := h.Of(m); got != "ssh-ed25519 AAAAC3" {
		t.Errorf("what it told is %q now", got)
	}
	if h.Forget(m); h.Of(m) != "" {
		t.Error("a Machine that is gone has none")
	}
}
