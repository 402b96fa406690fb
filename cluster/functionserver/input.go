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

package functionserver

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
)

// Header has the fields that every input has.
type Header struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata,omitempty"`
}

// Check accepts an input of a version and kind.
func (h Header) Check(version, kind string) error {
	if h.APIVersion != version || h.Kind != kind {
		return fmt.Errorf("it is %s of %s, want %s of %s", h.Kind, h.APIVersion, kind, version)
	}
	return nil
}

// Read reads and validates an input. An unknown field is an error, since it would have no effect.
func Read[T interface{ Validate() error }](s *structpb.Struct) (T, error) {
	var in, none T
	raw, err := s.MarshalJSON()
	if err != nil {
		return none, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return none, err
	}
	return in, in.Validate()
}
