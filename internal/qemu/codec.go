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

package qemu

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
)

// A codec is a field of the spec in PVE's words, both ways.
type codec struct {
	// value that the field asks for. Nil if it is left out.
	value *string

	// read sets the field to what a VM has, if it can hold that: same compares
	// what the VM has with what the field would ask for.
	read func(now string, same func(now, want string) bool) bool

	// plain is a value in the one way of writing it that the field has. Nil if all
	// that differs means something else.
	plain func(now string) string
}

// want is what the field asks for, and whether it does.
func (c codec) want(string) (string, bool) { return ptr.Deref(c.value, ""), c.value != nil }

// same reports whether two values mean the same: yes and 1, 10.0 and 10.
func (c codec) same(now, want string) bool {
	return now == want || c.plain != nil && c.plain(now) == c.plain(want)
}

// codecOf a field that is written and read as said.
func codecOf[T any](field **T, write func(T) string, parse func(string) (T, error)) codec {
	return codec{value: optional(*field, write), plain: func(now string) string {
		v, err := parse(now)
		if err != nil {
			return now
		}
		return write(v)
	}, read: func(now string, same func(now, want string) bool) bool {
		v, err := parse(now)
		if err != nil || !same(now, write(v)) {
			return false
		}
		*field = &v
		return true
	}}
}

// fixed is a value that is no field's.
func fixed(value *string) codec { return codec{value: value} }

func verbatim(s string) (string, error) { return s, nil }

func texts(field **string) codec {
	return codecOf(field, func(s string) string { return s }, verbatim)
}

// escaped is a text that PVE keeps in its URL encoding.
func escaped(field **string) codec { return codecOf(field, escape, url.PathUnescape) }

// escape a text in PVE's own URL encoding, in which a space is %20.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// required is a text that is always there.
func required(field *string) codec {
	c := texts(&field)
	c.read = func(now string, _ func(now, want string) bool) bool {
		*field = now
		return true
	}
	return c
}

// alternative is a text that excludes another: where it is left out, it is not to
// be there.
func alternative(field **string) codec {
	c := texts(field)
	c.value = orNothing(*field)
	return c
}

func parseInteger(s string) (int32, error) {
	i, err := strconv.ParseInt(s, 10, 32)
	return int32(i), err
}

func integers(field **int32) codec { return codecOf(field, itoa, parseInteger) }

// counts are numbers of which 0 is none.
func counts(field **int32) codec { return codecOf(field, unlessZero, parseInteger) }

func flags(field **bool) codec { return codecOf(field, bit, propertystring.ParseFlag) }

// switches are on, or ignored.
func switches(field **bool) codec {
	return codecOf(field, onOrIgnore, func(s string) (bool, error) { return s == "on", nil })
}

func decimals(field **resource.Quantity) codec {
	return codecOf(field, func(q resource.Quantity) string { return decimalText(&q) }, resource.ParseQuantity)
}

// rates are numbers with decimals of which 0 is none.
func rates(field **resource.Quantity) codec {
	return codecOf(field, func(q resource.Quantity) string { return decimalUnlessZero(&q) }, resource.ParseQuantity)
}

func mebibytes(field **resource.Quantity) codec {
	return codecOf(field, func(q resource.Quantity) string { return mebibytesText(&q) }, func(s string) (resource.Quantity, error) {
		s = strings.TrimPrefix(s, currentMemory)
		mib, err := strconv.ParseInt(s, 10, 32)
		return *resource.NewQuantity(mib*int64(proxmox.MiB), resource.BinarySI), err
	})
}

// lists are written as one text. An empty list is not the same as none.
func lists(field *[]string, join func([]string) string, split func(string) []string) codec {
	c := codec{read: func(now string, same func(now, want string) bool) bool {
		v := split(now)
		if !same(now, join(v)) {
			return false
		}
		*field = v
		return true
	}}
	if *field != nil {
		s := join(*field)
		c.value = &s
	}
	return c
}

// sets are lists whose order is of no meaning.
func sets(field *[]string, join func([]string) string, split func(string) []string) codec {
	c := lists(field, join, split)
	c.plain = func(now string) string { return join(slices.Sorted(slices.Values(split(now)))) }
	return c
}
