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

// Package lenient decodes JSON as Proxmox VE writes it.
package lenient

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// PVE is written in Perl. Booleans arrive as 0, 1, "1", true or null, and numbers as strings or floats. The types here accept all of these. An invalid
// value becomes the zero value, because one odd field must not hide all the others.

// Text is a string, a number or a boolean as text.
type Text string

// UnmarshalJSON accepts any scalar. Objects and lists become empty.
func (t *Text) UnmarshalJSON(b []byte) error {
	*t = Text(Scalar(b))
	return nil
}

// Integer is a whole number.
type Integer int64

// UnmarshalJSON accepts numbers and strings with a number. Fractions are dropped.
func (n *Integer) UnmarshalJSON(b []byte) error {
	if i, err := strconv.ParseInt(string(b), 10, 64); err == nil { // It nearly always is a number.
		*n = Integer(i)
		return nil
	}
	s := strings.TrimSpace(Scalar(b))
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		*n = Integer(i)
		return nil
	}
	*n = 0
	if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < math.MaxInt64 {
		*n = Integer(f)
	}
	return nil
}

// Float is any number.
type Float float64

// UnmarshalJSON accepts numbers and strings with a number.
func (n *Float) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64) // It nearly always is a number.
	if err != nil {
		f, err = strconv.ParseFloat(strings.TrimSpace(Scalar(b)), 64)
	}
	if *n = Float(f); err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		*n = 0
	}
	return nil
}

// Flag is a boolean.
type Flag bool

// UnmarshalJSON accepts the values that PVE takes for a boolean. Anything else is false.
func (f *Flag) UnmarshalJSON(b []byte) error {
	switch s := strings.ToLower(strings.TrimSpace(Scalar(b))); s {
	case "1", "on", "yes", "true":
		*f = true
	default:
		n, err := strconv.ParseFloat(s, 64)
		*f = Flag(err == nil && n != 0 && !math.IsNaN(n))
	}
	return nil
}

// Scalar returns the canonical text of a JSON scalar: strings unchanged, numbers without needless fraction or exponent, booleans as 1 and 0, and null as
// an empty text.
func Scalar(b []byte) string {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return ""
	}
	switch b[0] {
	case '"':
		if inner := b[1:max(1, len(b)-1)]; len(b) > 1 && b[len(b)-1] == '"' && !bytes.ContainsAny(inner, `\"`) && utf8.Valid(inner) {
			return string(inner)
		}
		var s string
		if json.Unmarshal(b, &s) != nil {
			return ""
		}
		return s
	case 't':
		return "1"
	case 'f':
		return "0"
	case 'n', '{', '[':
		return ""
	}
	return canonicalNumber(string(b))
}

func canonicalNumber(s string) string {
	if !strings.ContainsAny(s, ".eE") {
		return s
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// mostAtOnce limits the number of list entries for which memory is allocated in advance. Longer lists grow while they are read.
const mostAtOnce = 50_000

// List is a list in PVE's sense. It may also be an empty Perl hash, or the single object that 8.x returns for the log of an unknown task.
type List[T any] []T

// UnmarshalJSON accepts a list, null and an object, which is a list of one.
func (l *List[T]) UnmarshalJSON(b []byte) error {
	*l = nil
	if IsObject(b) {
		var one T
		if err := json.Unmarshal(b, &one); err != nil {
			return err
		}
		*l = List[T]{one}
		return nil
	}
	many := make([]T, 0, min(bytes.Count(b, []byte("},{"))+1, mostAtOnce))
	if err := json.Unmarshal(b, &many); err != nil {
		return err
	}
	*l = many
	return nil
}

// IsObject reports whether a JSON text begins like an object.
func IsObject(b []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) }
