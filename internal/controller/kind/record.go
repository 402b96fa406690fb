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

// ReadRecord reads what an annotation keeps, as JSON. An empty text changes nothing.
func ReadRecord(annotation, text string, into any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return errors.Errorf("annotation %s is not what this provider wrote", annotation)
	}
	return nil
}

// RecordText returns what an annotation keeps of a record.
func RecordText(record any) string {
	text, err := json.Marshal(record)
	if err != nil {
		return "" // Records have values that can always be written.
	}
	return string(text)
}

// Failures are attempts in a row that have failed. Records have them.
type Failures struct {
	Count int `json:"failures,omitempty"`

	// FailedAt is when the last one was seen, in seconds.
	FailedAt int64 `json:"failedAt,omitempty"`

	// Generation of the resource that it was for.
	Generation int64 `json:"generation,omitempty"`

	// Problem is what kind of failure it was, and Message says more.
	Problem string `json:"problem,omitempty"`
	Message string `json:"message,omitempty"`
}

// Fail notes that an attempt has failed. Those for another generation do not count.
func (f *Failures) Fail(now, generation int64, problem, message string) {
	if f.Generation != generation {
		f.Count = 0
	}
	*f = Failures{Count: f.Count + 1, FailedAt: now, Generation: generation, Problem: problem, Message: message}
}

// lastRetry bounds the delay before an attempt that failed is repeated, in seconds.
const lastRetry = 3600

// RetryIn returns for how many seconds an attempt that failed is not repeated. The delay begins with the first one, in
// seconds, and doubles. A changed spec is tried at once.
func (f *Failures) RetryIn(now, generation, first int64) int64 {
	if f.Count == 0 || f.Generation != generation {
		return 0
	}
	delay := min(first<<min(f.Count-1, 10), lastRetry)
	return max(0, f.FailedAt+delay-now)
}
