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

package kind

import (
	"encoding/json"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// ReadRecord decodes the JSON text of an annotation. An empty text changes nothing.
func ReadRecord(annotation, text string, into any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return errors.Errorf("annotation %s is not what this provider wrote", annotation)
	}
	return nil
}

// RecordText returns the text of a record for its annotation.
func RecordText(record any) string {
	text, err := json.Marshal(record)
	if err != nil {
		return "" // Records contain only values that can be encoded.
	}
	return string(text)
}

// Failures counts failed attempts in a row. It is part of records.
type Failures struct {
	Count int `json:"failures,omitempty"`

	// FailedAt is when the last failure was seen, in seconds.
	FailedAt int64 `json:"failedAt,omitempty"`

	// Generation of the resource for which it failed.
	Generation int64 `json:"generation,omitempty"`

	// Problem is the kind of failure, and Message has the details.
	Problem string `json:"problem,omitempty"`
	Message string `json:"message,omitempty"`
}

// Fail records that an attempt has failed. Failures of other generations do not count.
func (f *Failures) Fail(now, generation int64, problem, message string) {
	if f.Generation != generation {
		f.Count = 0
	}
	*f = Failures{Count: f.Count + 1, FailedAt: now, Generation: generation, Problem: problem, Message: message}
}

// lastRetry is the maximum delay before a failed attempt is repeated, in seconds.
const lastRetry = 3600

// RetryIn returns for how many seconds a failed attempt is not repeated. The delay starts with first, in seconds, and doubles with each failure. A
// changed spec is tried immediately.
func (f *Failures) RetryIn(now, generation, first int64) int64 {
	if f.Count == 0 || f.Generation != generation {
		return 0
	}
	delay := min(first<<min(f.Count-1, 10), lastRetry)
	return max(0, f.FailedAt+delay-now)
}
