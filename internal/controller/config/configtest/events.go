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

package configtest

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Events are those that providers have recorded, each as its reason and its message.
type Events struct {
	mu  sync.Mutex
	all []string
}

// All returns all events.
func (e *Events) All() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

// A recordingManager stores events.
type recordingManager struct {
	ctrl.Manager

	into *Events
}

func (m recordingManager) GetEventRecorderFor(string) record.EventRecorder {
	return &recorder{FakeRecorder: &record.FakeRecorder{}, into: m.into}
}

// A recorder stores events.
type recorder struct {
	*record.FakeRecorder

	into *Events
}

func (r *recorder) AnnotatedEventf(_ runtime.Object, _ map[string]string, _, reason, format string, words ...any) {
	r.into.mu.Lock()
	defer r.into.mu.Unlock()
	r.into.all = append(r.into.all, reason+": "+fmt.Sprintf(format, words...))
}
