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

package proxmox

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// PVE is written in Perl: booleans arrive as 0, 1, "1", true or null, numbers as
// strings or floats. The types here take what comes; what makes no sense is the
// zero value, since one odd field must not hide all the others.

// text is a string, or the text of a number or boolean.
type text string

// UnmarshalJSON accepts any scalar. Objects and lists become empty.
func (t *text) UnmarshalJSON(b []byte) error {
	*t = text(scalar(b))
	return nil
}

// integer is a whole number.
type integer int64

// UnmarshalJSON accepts numbers and strings with a number. Fractions are cut.
func (n *integer) UnmarshalJSON(b []byte) error {
	s := strings.TrimSpace(scalar(b))
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		*n = integer(i)
		return nil
	}
	*n = 0
	if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < math.MaxInt64 {
		*n = integer(f)
	}
	return nil
}

// float is any number.
type float float64

// UnmarshalJSON accepts numbers and strings with a number.
func (n *float) UnmarshalJSON(b []byte) error {
	*n = 0
	if f, err := strconv.ParseFloat(strings.TrimSpace(scalar(b)), 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		*n = float(f)
	}
	return nil
}

// flag is a boolean.
type flag bool

// UnmarshalJSON accepts what PVE takes for a boolean. Anything else is false.
func (f *flag) UnmarshalJSON(b []byte) error {
	switch s := strings.ToLower(strings.TrimSpace(scalar(b))); s {
	case "1", "on", "yes", "true":
		*f = true
	default:
		n, err := strconv.ParseFloat(s, 64)
		*f = flag(err == nil && n != 0 && !math.IsNaN(n))
	}
	return nil
}

// scalar is the canonical text of a JSON scalar: strings as they are, numbers
// without needless fraction or exponent, booleans as 1 and 0, null as nothing.
func scalar(b []byte) string {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return ""
	}
	switch b[0] {
	case '"':
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

// list is what PVE means as a list. An empty Perl hash, or the lone object that
// 8.x answers for the log of an unknown task, is taken as a list too.
type list[T any] []T

// UnmarshalJSON accepts a list, null and an object, which is a list of one.
func (l *list[T]) UnmarshalJSON(b []byte) error {
	*l = nil
	if isObject(b) {
		var one T
		if err := json.Unmarshal(b, &one); err != nil {
			return err
		}
		*l = list[T]{one}
		return nil
	}
	var many []T
	if err := json.Unmarshal(b, &many); err != nil {
		return err
	}
	*l = many
	return nil
}
