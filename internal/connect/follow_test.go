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

package connect

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestFollow checks that a resource is informed of changes of the Secrets that it follows, and of no others.
func TestFollow(t *testing.T) {
	k := kube(t, secretOf("team", "data", nil), secretOf("team", "other", nil))
	c := New(k, WithWatcher(k))
	defer c.followed.close()
	kind := schema.GroupKind{Group: "g", Kind: "Machine"}
	told := make(chan client.ObjectKey, 100)
	c.OnChange(kind, func(key client.ObjectKey) { told <- key })
	web := Key{ObjectKey: client.ObjectKey{Namespace: "team", Name: "web"}, Kind: kind}
	c.Follow(web, []client.ObjectKey{{Namespace: "team", Name: "data"}}, nil)

	touch := func(name, value string) {
		s := secretOf("team", name, map[string]string{"k": value})
		if err := k.Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	tick, late := time.NewTicker(10*time.Millisecond), time.After(5*time.Minute)
	defer tick.Stop()
	for i, waits := 0, true; waits; i++ { // The watch is started in the background.
		touch("other", time.Duration(i).String())
		touch("data", time.Duration(i).String())
		select {
		case got := <-told:
			waits = false
			if got != web.ObjectKey {
				t.Errorf("%s was told of the change", got)
			}
		case <-tick.C:
		case <-late:
			t.Fatal("nobody was told of the change")
		}
	}
	c.Follow(web, nil, nil)
	if n := len(c.followed.running); n != 0 {
		t.Errorf("%d watches run that nobody needs", n)
	}
}
