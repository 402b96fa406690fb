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

import "time"

const (
	// initialBootTime is the estimated time until a guest can answer, if no guest of the same source was measured.
	initialBootTime = 4 * time.Second

	// minBootTime is less than any guest needs.
	minBootTime = 2 * time.Second

	// maxBootTime is the longest measured time that counts.
	maxBootTime = 5 * time.Minute

	// bootSlack is the largest delay of a question that still shows when a guest can answer.
	bootSlack = 5 * time.Second

	// maxBootTimes is how many times are remembered.
	maxBootTimes = 1000
)

// bootTimes estimates how long guests need from their start until they can answer, by the source of their VM. Guests of the same source need about as
// long, so that most of them need one or two questions. Without the estimate they need four or five: TestQuestions.
type bootTimes struct {
	first time.Duration
	by    map[string]time.Duration
}

func newBootTimes() bootTimes {
	return bootTimes{first: initialBootTime, by: map[string]time.Duration{}}
}

// sourceOf returns the source that a Machine's VM was created from.
func sourceOf(m Machine) string {
	p := m.Parameters()
	switch {
	case p.Template != nil:
		return "template " + p.Template.String()
	case p.TemplateRef != nil:
		return "template of image " + p.TemplateRef.Name
	case p.Image != nil && p.Image.Ref != nil:
		return "image " + p.Image.Ref.Name
	case p.Image != nil && p.Image.URL != nil:
		return "image " + *p.Image.URL
	case p.Image != nil:
		return "image " + p.Image.Volume
	}
	return ""
}

// estimate returns how long a guest is expected to need.
func (b bootTimes) estimate(source string) time.Duration {
	if d, ok := b.by[source]; ok {
		return d
	}
	return b.first
}

// learn updates the estimate with a guest that has answered for the first time since its start, after a number of unanswered questions. A guest that
// answers the first question may have been able to answer earlier, so the next guest is asked a little sooner. A later answer counts half, so that
// guests that boot faster than others do not wait for long.
func (b bootTimes) learn(source string, took time.Duration, unanswered int) {
	known, ok := b.by[source]
	switch {
	case took > maxBootTime, unanswered == 0 && took > b.estimate(source)+bootSlack:
		return // The question was late.
	case unanswered == 0:
		took -= took / 16
	case ok:
		took = (known + took) / 2
	}
	if len(b.by) >= maxBootTimes {
		clear(b.by)
	}
	b.by[source] = max(took, minBootTime)
}
