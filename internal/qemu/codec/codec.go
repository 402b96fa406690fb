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

// Package codec converts between the fields of a Machine's spec and the values of Proxmox VE's options, in both directions.
package codec

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

// A Codec converts a field of the spec to PVE's value and back.
type Codec struct {
	// Value that the field asks for, or nil if the field is unset.
	Value *string

	// Read sets the field to the value that a VM has, if the field can hold it. same compares that value with the one that the field would ask for.
	Read func(now string, same func(now, want string) bool) bool

	// plain returns a value in the field's normal form. If it is nil, values that differ have different meanings.
	plain func(now string) string
}

// Want returns the value that the field asks for, and whether the field is set.
func (c Codec) Want(string) (string, bool) { return ptr.Deref(c.Value, ""), c.Value != nil }

// Same reports whether two values mean the same: yes and 1, 10.0 and 10.
func (c Codec) Same(now, want string) bool {
	return now == want || c.plain != nil && c.plain(now) == c.plain(want)
}

// codecOf returns the Codec of a field that the functions write and parse.
func codecOf[T any](field **T, write func(T) string, parse func(string) (T, error)) Codec {
	return Codec{Value: optional(*field, write), plain: func(now string) string {
		v, err := parse(now)
		if err != nil {
			return now
		}
		return write(v)
	}, Read: func(now string, same func(now, want string) bool) bool {
		v, err := parse(now)
		if err != nil || !same(now, write(v)) {
			return false
		}
		*field = &v
		return true
	}}
}

func optional[T any](v *T, write func(T) string) *string {
	if v == nil {
		return nil
	}
	s := write(*v)
	return &s
}

// Fixed is a value without a field.
func Fixed(value *string) Codec { return Codec{Value: value} }

// Texts are written unchanged.
func Texts(field **string) Codec {
	return Mapped(field, func(s string) string { return s })
}

// Mapped texts are converted when they are written, and unchanged when they are read.
func Mapped(field **string, write func(string) string) Codec {
	return codecOf(field, write, func(s string) (string, error) { return s, nil })
}

// Escaped is a text that PVE stores in its URL encoding.
func Escaped(field **string) Codec { return codecOf(field, Escape, url.PathUnescape) }

// Escape returns a text in PVE's own URL encoding, in which a space is %20.
func Escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// Required is a text that is always set.
func Required(field *string) Codec {
	c := Texts(&field)
	c.Read = func(now string, _ func(now, want string) bool) bool {
		*field = now
		return true
	}
	return c
}

// Alternative is a text that excludes another. If the field is unset, the value is to be absent.
func Alternative(field **string) Codec {
	c := Texts(field)
	if c.Value == nil {
		c.Value = new(string)
	}
	return c
}

func parseInteger(s string) (int32, error) {
	i, err := strconv.ParseInt(s, 10, 32)
	return int32(i), err
}

func itoa(i int32) string { return strconv.Itoa(int(i)) }

// Integers are whole numbers.
func Integers(field **int32) Codec { return codecOf(field, itoa, parseInteger) }

// Counts are whole numbers for which 0 means none.
func Counts(field **int32) Codec {
	return codecOf(field, func(i int32) string {
		if i == 0 {
			return ""
		}
		return itoa(i)
	}, parseInteger)
}

// Flags are booleans, which PVE writes as 1 and 0.
func Flags(field **bool) Codec { return codecOf(field, either("1", "0"), propertystring.ParseFlag) }

// Switches are on, or ignored.
func Switches(field **bool) Codec {
	return codecOf(field, either("on", "ignore"), func(s string) (bool, error) { return s == "on", nil })
}

// either returns a function that writes a boolean as one of two texts.
func either(yes, no string) func(bool) string {
	return func(b bool) string {
		if b {
			return yes
		}
		return no
	}
}

// Decimals are numbers with decimals.
func Decimals(field **resource.Quantity) Codec {
	return codecOf(field, decimal, resource.ParseQuantity)
}

// Rates are numbers with decimals for which 0 means none.
func Rates(field **resource.Quantity) Codec {
	return codecOf(field, func(q resource.Quantity) string {
		if q.IsZero() {
			return ""
		}
		return decimal(q)
	}, resource.ParseQuantity)
}

func decimal(q resource.Quantity) string {
	return strconv.FormatFloat(q.AsApproximateFloat64(), 'f', -1, 64)
}

// Mebibytes are quantities of bytes that PVE stores in MiB.
func Mebibytes(field **resource.Quantity) Codec {
	return codecOf(field, func(q resource.Quantity) string { return InMebibytes(&q) }, func(s string) (resource.Quantity, error) {
		s = strings.TrimPrefix(s, CurrentMemory)
		mib, err := strconv.ParseInt(s, 10, 32)
		return *resource.NewQuantity(mib*int64(proxmox.MiB), resource.BinarySI), err
	})
}

// InMebibytes returns a quantity of bytes in MiB. Admission accepts only whole MiB.
func InMebibytes(q *resource.Quantity) string {
	return strconv.FormatInt(q.Value()/int64(proxmox.MiB), 10)
}

// CurrentMemory is a key with which PVE may write memory.
const CurrentMemory = "current="

// Lists are written as one text. An empty list differs from an unset one.
func Lists(field *[]string, join func([]string) string, split func(string) []string) Codec {
	c := Codec{Read: func(now string, same func(now, want string) bool) bool {
		v := split(now)
		if !same(now, join(v)) {
			return false
		}
		*field = v
		return true
	}}
	if *field != nil {
		s := join(*field)
		c.Value = &s
	}
	return c
}

// Sets are lists whose order has no meaning.
func Sets(field *[]string, join func([]string) string, split func(string) []string) Codec {
	c := Lists(field, join, split)
	c.plain = func(now string) string { return join(slices.Sorted(slices.Values(split(now)))) }
	return c
}
