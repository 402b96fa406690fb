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

package fields

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
)

// An Extra is an option of PVE without a field.
type Extra struct {
	// Keys of a property string, whose order has no meaning. It is empty for other options. DefaultKey is the key of the value without a key.
	Keys       []string
	DefaultKey string

	// form of a value that is no property string, or nil if PVE accepts any.
	form *regexp.Regexp

	// Absent is the value that applies when the option is absent.
	Absent string

	// Generated is true if PVE generates the value when 1 is requested.
	Generated bool
}

// extras holds the options of PVE 8.4 and 9.2 without a field.
//
//nolint:gochecknoglobals // Constants.
var extras = map[string]Extra{
	"amd-sev":            {Keys: []string{"type", "allow-smt", "kernel-hashes", "no-debug", "no-key-sharing"}, DefaultKey: "type"},
	"arch":               {form: oneOf("x86_64", "aarch64")},
	"args":               {},
	"autostart":          {Absent: "0", form: oneOf("0", "1")},
	"cicustom":           {Keys: []string{"meta", "network", "user", "vendor"}},
	"citype":             {form: oneOf("configdrive2", "nocloud", "opennebula")},
	"freeze":             {Absent: "0", form: oneOf("0", "1")},
	"intel-tdx":          {Keys: []string{"type", "attestation", "vsock-cid", "vsock-port"}, DefaultKey: "type"},
	"ivshmem":            {Keys: []string{"name", "size"}},
	"keyboard":           {form: oneOf(strings.Fields("de de-ch da en-gb en-us es fi fr fr-be fr-ca fr-ch hu is it ja lt mk nl no pl pt pt-br sv sl tr")...)},
	"migrate_downtime":   {Absent: "0.1", form: oneOf(`\d+(\.\d+)?`)},
	"migrate_speed":      {Absent: "0", form: oneOf(`\d+`)},
	"parallel0":          {form: oneOf(`/dev/parport\d+`, `/dev/usb/lp\d+`)},
	"parallel1":          {form: oneOf(`/dev/parport\d+`, `/dev/usb/lp\d+`)},
	"parallel2":          {form: oneOf(`/dev/parport\d+`, `/dev/usb/lp\d+`)},
	"reboot":             {Absent: "1", form: oneOf("0", "1")},
	"spice_enhancements": {Keys: []string{"foldersharing", "videostreaming"}},
	"startdate":          {Absent: "now", form: oneOf("now", `\d{4}-\d{1,2}-\d{1,2}(T\d{1,2}:\d{1,2}:\d{1,2})?`)},
	"tdf":                {Absent: "0", form: oneOf("0", "1")},
	"vmgenid":            {Generated: true, form: oneOf("0", "1", `[a-fA-F0-9]{8}(-[a-fA-F0-9]{4}){3}-[a-fA-F0-9]{12}`)},
	"vmstatestorage":     {form: oneOf(`[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]`)},
}

// oneOf returns a form in which each alternative matches a whole value.
func oneOf(patterns ...string) *regexp.Regexp {
	return regexp.MustCompile("^(" + strings.Join(patterns, "|") + ")$")
}

// Rejection returns why PVE does not accept a value, or nothing.
func (x Extra) Rejection(value string) string {
	if x.form != nil && !x.form.MatchString(value) {
		alternatives := strings.TrimSuffix(strings.TrimPrefix(x.form.String(), "^("), ")$")
		return fmt.Sprintf("cannot be %q: it is one of %s", value, strings.ReplaceAll(alternatives, "|", ", "))
	}
	p, err := propertystring.Parse(value, x.DefaultKey)
	unknown := func(key string) bool { return !slices.Contains(x.Keys, key) }
	if len(x.Keys) > 0 && (err != nil || slices.ContainsFunc(p.Keys(), unknown)) {
		return fmt.Sprintf("cannot be %q: its keys are %s", value, strings.Join(x.Keys, ", "))
	}
	return ""
}

// ExtraOf returns what is known of an option without a field. It is the zero value for an unknown option.
func ExtraOf(name string) Extra { return extras[name] }

// GeneratedByPVE reports whether PVE generated a value.
func GeneratedByPVE(name, value string) bool { return extras[name].Generated && len(value) > 1 }

// IsExtra reports whether extraConfig accepts an option of this name.
func IsExtra(option string) bool {
	_, known := extras[option]
	return known
}

// ExtraRejections rejects names and values that extraConfig does not accept.
func ExtraRejections[V ~string](extra map[string]V) []string {
	var no []string
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if why := ExtraRejection(name, strings.TrimSpace(string(extra[name]))); why != "" {
			no = append(no, fmt.Sprintf("extraConfig %q %s", name, why))
		}
	}
	return no
}

// ExtraRejection returns why extraConfig does not accept a value, or nothing.
func ExtraRejection(name, value string) string {
	switch {
	case Of(name) != "":
		return "has a field of its own: set " + Of(name)
	case WhyNone(name) != "":
		return "is no option of a VM: " + WhyNone(name)
	case value == "":
		return ""
	}
	return extras[name].Rejection(value)
}
