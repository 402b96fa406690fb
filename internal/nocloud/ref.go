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

package nocloud

import (
	"strconv"
	"strings"
	"time"
)

// A Ref is where a NoCloud image of the provider is, or may be.
type Ref struct {
	Node, Volume string

	// UncertainUntil is the time until which an upload may still arrive whose response was lost.
	UncertainUntil time.Time
}

// parseRef parses node=volume, or node=volume@second with the end of UncertainUntil.
func parseRef(s string) (Ref, bool) {
	node, rest, ok := strings.Cut(s, "=")
	volume, doubt, doubted := strings.Cut(rest, "@")
	p := Ref{Node: node, Volume: volume}
	if second, err := strconv.ParseInt(doubt, 10, 64); doubted && err == nil {
		p.UncertainUntil = time.Unix(second, 0)
	}
	return p, ok
}

func (p Ref) String() string {
	if p.UncertainUntil.IsZero() {
		return p.Node + "=" + p.Volume
	}
	return p.Node + "=" + p.Volume + "@" + strconv.FormatInt(p.UncertainUntil.Unix(), 10)
}

// Uncertain reports whether the image may still arrive.
func (p Ref) Uncertain(now time.Time) bool { return now.Before(p.UncertainUntil) }

// Is reports whether two references are for the same image.
func (p Ref) Is(o Ref) bool { return p.Node == o.Node && p.Volume == o.Volume }

// Storage returns the storage that the image is on.
func (p Ref) Storage() string {
	s, _, _ := strings.Cut(p.Volume, ":")
	return s
}

// ParseRefs parses the references in a text of FormatRefs, without those to images of VMs other than the one with the UUID.
func ParseRefs(text, uuid string) []Ref {
	var all []Ref
	for s := range strings.FieldsSeq(text) {
		if p, ok := parseRef(s); ok && IsImageOf(uuid, p.Volume) {
			all = append(all, p)
		}
	}
	return all
}

// FormatRefs writes references for an annotation.
func FormatRefs(all []Ref) string {
	words := make([]string, 0, len(all))
	for _, p := range all {
		words = append(words, p.String())
	}
	return strings.Join(words, " ")
}
