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

package schema

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// samples returns valid and invalid values of the named formats.
func samples() map[string][2][]string {
	return map[string][2][]string{
		"pve-configid": {{"ab", "a_b-c", "Z9"}, {"a", "9a", "a b", ""}}, "pve-storage-id": {{"local", "data2"}, {"1a", "x", "a b"}},
		"pve-bridge-id": {{"vmbr0", "vnet_1"}, {"a b", ""}}, "pve-vmid": {{"100", "999999999"}, {"99", "1000000000", "abc"}},
		"pve-node": {{"pve1", "a-b"}, {"-a", "a_b", ""}}, "mac-addr": {{"BC:24:11:00:00:01", "02:00:00:00:00:ff"}, {"01:00:00:00:00:00", "BC:24:11"}},
		"mac-prefix": {{"BC:24:11", "bc"}, {"01", "zz"}}, "urlencoded": {{"a%20b", "x"}, {"a b", "ü"}}, "dns-name": {{"a", "a.b-c.d"}, {"-a", "a..b", "a_b"}},
		"pve-tag": {{"web", "a+b"}, {"-", "a b!"}}, "pve-iface": {{"eth0", "vmbr0.5"}, {"0eth", "e"}}, "pve-groupid": {{"g-1"}, {"a b", ""}},
		"pve-roleid": {{"r-1"}, {"a b", ""}}, "pve-realm": {{"pve", "my-ad"}, {"1a", "x"}}, "pve-userid": {{"a@pve", "x.y@my-ad"}, {"a", "a b@pve"}},
		"pve-tokenid": {{"a@pve!tok"}, {"a@pve", "a@pve!1"}}, "pve-priv": {
			{"VM.Audit", "Sys.Modify"}, {"VM.Nothing"},
		}, "pve-poolid": {{"p", "a/b/c"}, {"a/b/c/d", "a b"}},
		"pve-volume-id": {{"local:1", "st:100/vm-100-disk-0.raw"}, {"local", ":1"}}, "pve-qm-bootdev": {{"scsi0", "net1"}, {"bogus0", "scsi"}},
		"pve-qm-bootdisk": {{"ide0", "sata1"}, {"net0"}}, "pve-storage-content": {{"iso", "images"}, {"bogus"}}, "pve-storage-path": {{"/a", "/a/b"}, {"a", "/"}},
		"pve-calendar-event": {{"daily", "mon..fri 2:30"}, {"bogus!"}}, "pve-startup-order": {{"order=1", "2", "up=3", "order=0", "0,up=3"}, {"bogus", "", "0"}},
		"pve-hotplug-features": {{"disk", "network", "1"}, {
			"bogus",
		}}, "pve-cpuset": {{"0", "0-3"}, {"a", ""}}, "pve-phys-bits": {{"host", "8", "64"}, {"7", "65", "a"}},
		"disk-size": {{"1G", "512M", "10"}, {"1X", "-1"}}, "email": {{"a@b.c"}, {"a", "a b@c"}}, "pve-ha-resource-id": {{"vm:100", "ct:7"}, {"100", "VM:1"}},
		"pve-ha-resource-or-vm-id": {{"vm:100", "100"}, {"x", ":1"}}, "pve-ha-node": {{"a", "b:2"}, {"a:", "_"}}, "pve-ha-group-node": {{"a", "b:2"}, {"a:", "_"}},
		"pve-storage-server": {{"10.0.0.1", "nas.lan"}, {"a_b", "-"}}, "pve-storage-portal-dns": {{"10.0.0.1", "nas:3260"}, {"a b"}},
		"pve-storage-vgname": {{"vg0", "a-b"}, {"-a", "a"}}, "pve-storage-zfs-blocksize": {{"8k", "1M"}, {
			"3k",
		}}, "pve-dir-override": {{"iso=a/b"}, {"iso", "iso=../x"}},
		"pve-day-of-week": {{"mon", "sun"}, {
			"day",
		}}, "pve-task-status-type": {{"ok", "error"}, {"fine"}}, "pve-vlan-id-or-range": {{"2", "2-4094"}, {"1", "4095", "x"}},
		"pve-replication-job-id": {{"100-0"}, {"99-0", "100"}}, "storage-pair": {
			{"local", "a1:b2", "1"}, {"x", "a1:b2:c3"},
		}, "bridge-pair": {{"vmbr0", "a:b", "1"}, {"a b"}},
		"email-or-username": {{"root", "a@b.c"}, {"a b"}}, "pve-storage-path-in-property-string": {{"/a", "/a/b"}, {"a"}},
		"pve-sdn-zone-id": {{"z1", "zone8888"}, {"z", "z-1", "zone99999"}}, "pve-sdn-vnet-id": {{"v1", "v-1"}, {"1v", "vnet99999"}},
		"pve-sdn-controller-id": {{"c1"}, {"1c"}}, "pve-sdn-dns-id": {{"d1"}, {"1d"}}, "pve-sdn-ipam-id": {{"i1"}, {"1i"}},
		"pve-sdn-isis-net": {{"49.0001.1921.6800.1002.00"}, {"49"}}, "pve-sdn-bgp-rt": {{"65000:1"}, {"x:1"}},
		"IPorCIDR": {{"10.0.0.1", "fd00::/64"}, {"x"}}, "IPorCIDRorAlias": {{"10.0.0.1", "dc/ab"}, {"1x"}},
		"ipv4": {{"10.0.0.1"}, {"10.0.0.256", "::1"}}, "ipv6": {{"fd00::1"}, {"10.0.0.1", "x"}}, "ip": {{"10.0.0.1", "::1"}, {"x"}},
		"CIDRv4": {{"10.0.0.0/24"}, {"10.0.0.0", "10.0.0.0/33"}}, "CIDRv6": {{"fd00::/64"}, {"fd00::1", "fd00::/129"}}, "CIDR": {{"10.0.0.0/24"}, {"10.0.0.1"}},
		"ipv4mask": {{"255.255.255.0"}, {"255.0.255.0"}}, "address": {{"10.0.0.1", "host.lan"}, {"a_b"}},
		"pve-ipv4-config": {{"dhcp", "10.0.0.5/24"}, {"10.0.0.5", "auto"}}, "pve-ipv6-config": {{"auto", "fd00::1/64"}, {"fd00::1"}},
		"pve-volume-id-or-absolute-path": {{"local:1", "/dev/x"}, {"x"}}, "pve-volume-id-or-qm-path": {{"local:1", "none", "/x"}, {"x", "local"}},
	}
}

// maker generates values for parameters, from a fixed seed.
type maker struct {
	facts *Facts
	rnd   *rand.Rand
	known map[string][2][]string
}

func (m *maker) pick(list []string) string { return list[m.rnd.IntN(len(list))] }

// valid generates a valid value of a property. It reports false if the description does not define what one looks like.
func (m *maker) valid(p *Property) (string, bool) {
	switch {
	case len(p.Enum) > 0:
		return m.pick(p.Enum), true
	case p.Type == "boolean":
		return m.pick([]string{"0", "1"}), true
	case p.Type == "integer", p.Type == "number":
		return strconv.FormatInt(m.number(p), 10), p.Format == "" || m.fits(p, strconv.FormatInt(m.number(p), 10))
	case p.Format != "":
		return m.formatted(p)
	case p.pattern != nil:
		return m.matching(p)
	}
	length := 6
	if p.MinLength != nil {
		length = max(length, *p.MinLength)
	}
	if p.MaxLength != nil {
		length = min(length, *p.MaxLength)
	}
	return strings.Repeat("x", length), true
}

// fits reports whether a value passes the checks after that of the type, of which some properties have several.
func (m *maker) fits(p *Property, v string) bool {
	c := &checker{facts: m.facts, errs: Errors{}}
	c.value("x", p, v)
	return len(c.errs) == 0
}

func (m *maker) number(p *Property) int64 {
	low, high := int64(0), int64(1000)
	if p.Minimum != nil {
		low = int64(math.Ceil(*p.Minimum))
		high = max(high, low+1000)
	}
	if p.Maximum != nil {
		high = int64(*p.Maximum)
		low = min(low, high)
	}
	if p.Format == "pve-vmid" {
		low, high = 100, 999_999_999
	}
	return low + m.rnd.Int64N(high-low+1)
}

func (m *maker) formatted(p *Property) (string, bool) {
	if props, ok := m.facts.properties(p.Format); ok {
		return m.properties(p.Format, props)
	}
	base := strings.TrimSuffix(strings.TrimSuffix(p.Format, "-list"), "-opt")
	list, ok := m.known[base]
	if !ok {
		return "", false
	}
	fitting := slices.DeleteFunc(slices.Clone(list[0]), func(v string) bool { return !m.fits(p, v) })
	if len(fitting) == 0 {
		return "", false
	}
	return m.pick(fitting), true
}

// properties generates a property string of the required keys and some others.
func (m *maker) properties(format string, props Properties) (string, bool) {
	values := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(props)) {
		p := props[key]
		if p.Alias != "" || (p.Optional && m.rnd.IntN(3) > 0) {
			continue
		}
		v, ok := m.valid(p)
		if !ok || v == "" || strings.ContainsAny(v, ",=") {
			if !p.Optional {
				return "", false
			}
			continue
		}
		values[key] = v
		for need := p.Requires; need != "" && values[need] == ""; need = props[need].Requires {
			if values[need], ok = m.valid(props[need]); !ok {
				return "", false
			}
		}
	}
	if len(values) == 0 || slices.Contains(slices.Collect(maps.Values(values)), "") || validateFormat(format, values) != "" {
		return "", false
	}
	return m.facts.FormatProperties(format, values), true
}

// matching generates a text that a pattern matches.
func (m *maker) matching(p *Property) (string, bool) {
	re, err := syntax.Parse(p.pattern.String(), syntax.Perl)
	if err != nil {
		return "", false
	}
	for range 8 {
		b := &strings.Builder{}
		m.expand(b, re)
		if m.fits(p, b.String()) {
			return b.String(), true
		}
	}
	return "", false
}

func (m *maker) expand(b *strings.Builder, re *syntax.Regexp) {
	repeat := func(low, high int) {
		if high < 0 {
			high = low + 3
		}
		for range low + m.rnd.IntN(high-low+1) {
			m.expand(b, re.Sub[0])
		}
	}
	switch re.Op { //nolint:exhaustive // What is not here stands for no text.
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		i := m.rnd.IntN(len(re.Rune)/2) * 2
		b.WriteRune(re.Rune[i] + m.rnd.Int32N(min(re.Rune[i+1]-re.Rune[i], 60)+1))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture:
		m.expand(b, re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			m.expand(b, sub)
		}
	case syntax.OpAlternate:
		m.expand(b, re.Sub[m.rnd.IntN(len(re.Sub))])
	case syntax.OpStar:
		repeat(0, -1)
	case syntax.OpPlus:
		repeat(1, -1)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(re.Min, re.Max)
	}
}

// wrong generates values that a property rejects, each for one reason.
func (m *maker) wrong(p *Property) []string {
	out := []string{}
	if len(p.Enum) > 0 {
		out = append(out, "no-such-value")
	}
	switch p.Type {
	case "boolean":
		out = append(out, "2", "yes", "")
	case "integer":
		out = append(out, "abc", "1.5", "", " 1")
	case "number":
		out = append(out, "abc", "")
	}
	if p.Minimum != nil {
		out = append(out, decimal(math.Ceil(*p.Minimum)-1))
	}
	if p.Maximum != nil {
		out = append(out, decimal(math.Floor(*p.Maximum)+1))
	}
	if p.MaxLength != nil {
		out = append(out, strings.Repeat("x", *p.MaxLength+1))
	}
	if p.MinLength != nil && *p.MinLength > 0 {
		out = append(out, strings.Repeat("x", *p.MinLength-1))
	}
	out = append(out, m.known[strings.TrimSuffix(strings.TrimSuffix(p.Format, "-list"), "-opt")][1]...)
	if strings.HasSuffix(p.Format, "-list") || strings.HasSuffix(p.Format, "-opt") {
		out = slices.DeleteFunc(out, func(v string) bool { return len(SplitList(v)) != 1 })
	}
	if props, ok := m.facts.properties(p.Format); ok {
		out = append(out, m.wrongProperties(p.Format, props)...)
	}
	if p.pattern != nil {
		out = append(out, slices.DeleteFunc([]string{"\x01", "", "!", "ü ü"}, p.pattern.MatchString)...)
	}
	return out
}

// wrongProperties generates property strings with one error.
func (m *maker) wrongProperties(format string, props Properties) []string {
	text, ok := m.properties(format, props)
	if !ok {
		return nil
	}
	values, err := m.facts.ParseProperties(format, text)
	if err != nil {
		return nil
	}
	out := []string{text + ",no-such-key=1"}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if props[key] == nil || props[key].KeyAlias != "" {
			continue
		}
		for _, v := range m.wrong(props[key]) {
			if v == "" || strings.ContainsAny(v, ",=") || (props[key].Type == "boolean" && v == "yes") {
				continue
			}
			changed := maps.Clone(values)
			changed[key] = v
			out = append(out, m.facts.FormatProperties(format, changed))
		}
		if !props[key].Optional && props[key].Alias == "" && len(values) > 1 && format != "pve-qm-net" {
			changed := maps.Clone(values)
			delete(changed, key)
			if rest := m.facts.FormatProperties(format, changed); !unnamedMoves(props, key) {
				out = append(out, rest)
			}
		}
	}
	return out
}

// unnamedMoves reports whether an alias may provide a key, so that its absence is no error.
func unnamedMoves(props Properties, key string) bool {
	for _, p := range props {
		if p.Alias == key || p.KeyAlias == key {
			return true
		}
	}
	return false
}

// request generates the parameters of a request: the required ones and some others.
func (m *maker) request(parameters Properties) (Values, bool) {
	out := Values{}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		p := parameters[name]
		if !p.required() && m.rnd.IntN(4) > 0 {
			continue
		}
		if ok := m.give(out, parameters, name); !ok && p.required() {
			return nil, false
		}
	}
	return out, true
}

// give generates a parameter and those that it requires.
func (m *maker) give(out Values, parameters Properties, name string) bool {
	p := parameters[name]
	v, ok := m.value(p)
	if !ok || (p.Requires != "" && parameters[p.Requires] == nil) {
		return false
	}
	key := m.concrete(name, p)
	out[key] = v
	if p.Requires != "" && out[p.Requires] == nil && !m.give(out, parameters, p.Requires) {
		delete(out, key)
		return false
	}
	return true
}

// concrete returns the name of one of the keys for which an indexed parameter stands.
func (m *maker) concrete(name string, p *Property) string {
	if base, ok := strings.CutSuffix(name, "[n]"); ok {
		return base + strconv.Itoa(m.rnd.IntN(p.Count))
	}
	return name
}

func (m *maker) value(p *Property) (any, bool) {
	if p.Type != "array" {
		return m.valid(p)
	}
	if p.Items == nil {
		return []string{"x"}, true
	}
	v, ok := m.valid(p.Items)
	return []string{v}, ok
}

func (b *branch) each(fn func(*Method)) {
	for _, verb := range slices.Sorted(maps.Keys(b.methods)) {
		if method, err := b.methods[verb].get(); err == nil {
			fn(method)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.literal)) {
		b.literal[name].each(fn)
	}
	if b.param != nil {
		b.param.each(fn)
	}
}

// variants returns the parameters of a method for each type of a request.
func (m *Method) variants() map[string]Properties {
	if m.Variants == nil {
		return map[string]Properties{"": m.Parameters}
	}
	out := map[string]Properties{}
	for kind, more := range m.Variants.Of {
		all := maps.Clone(m.Parameters)
		maps.Copy(all, more)
		all[m.Variants.Property] = &Property{Type: "string", Enum: []string{kind}}
		out[kind] = all
	}
	return out
}

// TestProperties generates requests of every method from the API description. They must be accepted unchanged, and rejected once one thing in them is
// wrong.
func TestProperties(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			m := &maker{facts: load(t, version), rnd: rand.New(rand.NewPCG(1, 2)), known: samples()}
			requests, mutations, methods, skipped := 0, 0, 0, 0
			m.facts.tree.each(func(method *Method) {
				methods++
				for _, parameters := range method.variants() {
					for range 8 {
						values, ok := m.request(parameters)
						if !ok {
							skipped++
							return
						}
						requests++
						if _, wrong := m.facts.Check(method, maps.Clone(values)); len(wrong) > 0 {
							t.Fatalf("%s %s refuses %v: %v", method.Verb, method.Path, values, wrong)
						}
						mutations += m.mutate(t, method, parameters, values)
					}
				}
			})
			t.Logf("%d requests and %d mutations of them to %d methods, %d of which need a format that is not known", requests, mutations, methods, skipped)
			if skipped*20 > methods {
				t.Errorf("%d of %d methods were left out", skipped, methods)
			}
		})
	}
}

// mutate introduces one error at a time and returns their number.
func (m *maker) mutate(t *testing.T, method *Method, parameters Properties, values Values) int {
	t.Helper()
	count := 0
	refused := func(what string, changed Values) {
		count++
		if _, wrong := m.facts.Check(method, changed); len(wrong) == 0 {
			t.Errorf("%s %s takes %s: %v", method.Verb, method.Path, what, changed)
		}
	}
	with := func(name string, v any) Values {
		changed := maps.Clone(values)
		changed[name] = v
		return changed
	}
	if !method.Open {
		refused("an unknown parameter", with("no-such-parameter", "1"))
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p := parameters.find(name)
		if p.required() {
			changed := maps.Clone(values)
			delete(changed, name)
			refused("a request without "+name, changed)
		}
		if p.Type == "array" {
			continue
		}
		refused("an object as "+name, with(name, map[string]any{}))
		for _, v := range m.wrong(p) {
			refused(fmt.Sprintf("%q as %s", v, name), with(name, v))
		}
	}
	return count
}
