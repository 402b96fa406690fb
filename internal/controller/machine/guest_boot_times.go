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
	"time"
)

const (
	// firstBoot is how long a guest is taken to need until it can answer, if none that
	// was made of the same has been seen to. No guest needs less than shortestBoot, and
	// from one that needs more than longestBoot there is nothing to learn.
	initialBootTime = 4 * time.Second
	minBootTime     = 2 * time.Second
	maxBootTime     = 5 * time.Minute

	// bootSlack is how late a question may be that still tells when a guest can answer.
	bootSlack = 5 * time.Second

	// mostBoots are remembered.
	maxBootTimes = 1000
)

// bootTimes are how long guests need from their start until they can answer, by what they
// were made of. Those that were made of the same need about as long, so that one
// question or two are enough for most. It is a memory only.
type bootTimes struct {
	first time.Duration
	by    map[string]time.Duration
}

func newBootTimes() bootTimes {
	return bootTimes{first: initialBootTime, by: map[string]time.Duration{}}
}

// bootKey is what a Machine's VM was made of.
func bootKey(m Machine) string {
	p := m.Parameters()
	switch {
	case p.Template != nil:
		return "template " + p.Template.String()
	case p.Image != nil:
		return "image " + p.Image.Volume
	}
	return ""
}

// estimate is how long a guest is expected to need.
func (b bootTimes) estimate(made string) time.Duration {
	if d, ok := b.by[made]; ok {
		return d
	}
	return b.first
}

// learn from a guest that has answered for the first time since it was started, so long
// ago, after so many questions in vain. One that has answered the first may have been
// able to for a while: the next is asked a little sooner. One that has not counts half,
// so that those that boot faster than others do not wait for long.
func (b bootTimes) learn(made string, took time.Duration, vain int) {
	known, ok := b.by[made]
	switch {
	case took > maxBootTime, vain == 0 && took > b.estimate(made)+bootSlack:
		return // It was asked late.
	case vain == 0:
		took -= took / 16
	case ok:
		took = (known + took) / 2
	}
	if len(b.by) >= maxBootTimes {
		clear(b.by)
	}
	b.by[made] = max(took, minBootTime)
}
