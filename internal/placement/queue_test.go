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

package placement

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestQueue(t *testing.T) {
	full, other := errors.New("no node has room"), errors.New("no node is online")
	cases := map[string]struct {
		reason string
		change func(*metav1.ObjectMeta)
		now    error // why there is no node at the next attempt
		waits  bool
		woken  int
	}{
		"Same":    {reason: "An object waits while nothing has changed.", now: full, waits: true},
		"Room":    {reason: "An object is woken when there is a node for it.", woken: 1},
		"Reason":  {reason: "An object is woken when it has another reason to wait, which has to be shown.", now: other, woken: 1},
		"Changed": {reason: "An object that has changed waits no longer.", change: func(o *metav1.ObjectMeta) { o.Generation++ }, now: full},
		"Labels":  {reason: "An object with other labels waits no longer.", change: func(o *metav1.ObjectMeta) { o.Labels = map[string]string{"a": "b"} }, now: full},
		"Deleted": {reason: "An object that is deleted waits no longer.", change: func(o *metav1.ObjectMeta) { o.DeletionTimestamp = new(metav1.Now()) }, now: full},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			woken := 0
			q := NewQueue(func(*metav1.ObjectMeta) { woken++ })
			o := &metav1.ObjectMeta{UID: "a", Generation: 1}
			q.Add(o.DeepCopy(), full, func(context.Context) error { return tc.now })
			if tc.change != nil {
				tc.change(o)
			}
			q.Retry(t.Context())
			if waits := q.Reason(o) != nil; waits != tc.waits || (q.Len() == 1) != tc.waits || woken != tc.woken {
				t.Errorf("\n%s\nwant waiting %t and woken %d times, got %t and %d; %d in the queue", tc.reason, tc.waits, tc.woken, waits, woken, q.Len())
			}
		})
	}
}
