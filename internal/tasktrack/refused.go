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

package tasktrack

// refusal is an error of PVE for one state of the VM's configuration, which is identified by its digest.
type refusal struct {
	digest string
	err    error
}

// RefuseAt remembers that PVE has refused a call because of the VM's configuration. PVE would refuse it again until the configuration changes.
func (t *Tracker) RefuseAt(m Object, what, digest string, err error) {
	t.records.Lock()
	defer t.records.Unlock()
	r := t.attempt(m)
	if r.refusals == nil {
		r.refusals = map[string]refusal{}
	}
	r.refusals[what] = refusal{digest: digest, err: err}
}

// RefusedAt returns the error with which PVE has refused a call at this digest of the VM's configuration, or nil.
func (t *Tracker) RefusedAt(m Object, what, digest string) error {
	t.records.Lock()
	defer t.records.Unlock()
	if r := t.known(m).refusals[what]; digest != "" && r.digest == digest {
		return r.err
	}
	return nil
}
