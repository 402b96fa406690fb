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

package simulator

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/api/ha"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// A saved state consists of a line that identifies it, and JSON. It contains passwords and the secrets of tokens.
const (
	stateFormat  = "pve-simulator-state"
	stateVersion = 1
)

// savedState is the saved part of a server.
type savedState struct {
	State *state.State `json:"state"`
	// Signer signs tickets, so that they outlive the server as in PVE.
	Signer []byte `json:"signer"`
}

// WriteState writes the state for Options.State: guests, storages, users with their secrets, grants, tasks. It leaves out the faults in force and the
// request log.
func (s *Server) WriteState(w io.Writer) error {
	content, err := s.marshal()
	if err != nil {
		return errors.Wrap(err, "cannot write the state")
	}
	_, err = fmt.Fprintf(w, "%s %d %s\n%s\n", stateFormat, stateVersion, checksum(content), content)
	return errors.Wrap(err, "cannot write the state")
}

func (s *Server) marshal() ([]byte, error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return json.Marshal(savedState{State: s.State, Signer: s.Secret}) //nolint:musttag // The file has the names of the fields.
}

// Changes counts possible changes of the state. While it does not increase, the state does not change.
func (s *Server) Changes() uint64 { return s.ChangeCount.Load() }

func checksum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// saved reads the saved state of the options, which determines the version, or nil if there is none.
func (o *Options) saved() (*savedState, error) {
	if o.State == nil {
		return nil, nil
	}
	data, err := io.ReadAll(o.State)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the state")
	}
	out, err := parseState(data)
	if err != nil {
		return nil, errors.Wrap(err, "cannot use the state")
	}
	if version := out.State.Version; o.Version != "" && o.Version != version {
		return nil, errors.Errorf("cannot use the state: it is of Proxmox VE %s, not %s", version, o.Version)
	}
	o.Version = out.State.Version
	return out, nil
}

func parseState(data []byte) (*savedState, error) {
	line, content, _ := bytes.Cut(data, []byte("\n"))
	head := strings.Fields(string(line[:min(len(line), 200)]))
	content = bytes.TrimSuffix(content, []byte("\n"))
	switch {
	case len(head) != 3 || head[0] != stateFormat:
		return nil, errors.New("it was not written by pve-simulator")
	case head[1] != fmt.Sprint(stateVersion):
		return nil, errors.Errorf("it is of version %q, and this program knows version %d", head[1], stateVersion)
	case head[2] != checksum(content):
		return nil, errors.New("it is damaged: its content is not what was written")
	}
	out := &savedState{State: state.New("")}
	if err := json.Unmarshal(content, out); err != nil { //nolint:musttag // The file has the names of the fields.
		return nil, errors.Wrap(err, "it is damaged")
	}
	return out, nil
}

// resume continues from a saved state. Running tasks have ended without an exit status, as after a crash.
func (s *Server) resume(saved *savedState) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.State, s.Secret = saved.State, saved.Signer
	for _, t := range s.State.Tasks {
		if t.Running() {
			t.Ended, t.Exit = s.Clock.Now(), "unexpected status"
		}
	}
	ha.Keep(s.Op(""))
}
