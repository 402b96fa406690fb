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

package proxmox_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// asRoot makes a client call as root@pam.
func asRoot(cfg *proxmox.Config) {
	cfg.Credentials = proxmox.Credentials{Username: "root@pam", Password: simulatortest.RootPassword}
}

func poolCollection() proxmox.Collection {
	return proxmox.Collection{Noun: "pool", Path: "/pools", Key: "poolid", ByQuery: true, EmptyResets: true}
}

// object returns an object of a collection, or nil.
func (l lab) object(of proxmox.Collection, name string) *proxmox.Object {
	l.t.Helper()
	all, err := l.Objects(l.t.Context(), of)
	if err != nil {
		l.t.Fatal(err)
	}
	if i := slices.IndexFunc(all, func(o proxmox.Object) bool { return o.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

func TestObjects(t *testing.T) {
	storages := proxmox.Collection{Noun: "storage", Path: "/storage", Key: "storage"}
	cases := map[string]struct {
		reason string
		of     proxmox.Collection
		name   string
		make   proxmox.Params
		change proxmox.Change
		want   map[string]string
	}{
		"Pool": {
			reason: "A nested pool keeps every character of its comment.", of: poolCollection(), name: "crossplane/web",
			make: proxmox.Params{"comment": "a & b=c; 100 % + ü"}, change: proxmox.Change{Set: proxmox.Params{"comment": "other"}},
			want: map[string]string{"comment": "a & b=c; 100 % + ü"},
		},
		"PoolReset": {
			reason: "A pool's comment is reset by an empty value: delete takes members out.", of: poolCollection(), name: "crossplane/db",
			make: proxmox.Params{"comment": "x"}, change: proxmox.Change{Delete: []string{"comment"}}, want: map[string]string{"comment": "x"},
		},
		"Storage": {
			reason: "A storage has a path of its own, and options that are reset by their names.", of: storages, name: "backups",
			make: proxmox.Params{"type": "dir", "path": "/srv/backups", "content": "backup", "disable": "1"}, change: proxmox.Change{Delete: []string{"disable"}},
			want: map[string]string{"type": "dir", "path": "/srv/backups", "content": "backup", "disable": "1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, simulator.Options{Version: "9.2"}, asRoot)
			if err := l.CreateObject(t.Context(), tc.of, tc.name, tc.make); err != nil {
				t.Fatal(err)
			}
			o := l.object(tc.of, tc.name)
			if diff := cmp.Diff(tc.want, o.Values); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
			if err := l.CreateObject(t.Context(), tc.of, tc.name, tc.make); err == nil {
				t.Errorf("%s CreateObject(): a name that is taken must be refused", tc.reason)
			}
			tc.change.Digest = o.Digest
			if err := l.UpdateObject(t.Context(), tc.of, tc.name, tc.change); err != nil {
				t.Fatal(err)
			}
			after := l.object(tc.of, tc.name)
			for _, option := range tc.change.Names() {
				if got, want := after.Values[option], tc.change.Set[option]; got != want {
					t.Errorf("%s UpdateObject(): %s is %q, want %q", tc.reason, option, got, want)
				}
			}
			if err := l.DeleteObject(t.Context(), tc.of, tc.name); err != nil {
				t.Fatal(err)
			}
			if l.object(tc.of, tc.name) != nil {
				t.Errorf("%s DeleteObject(): it is still there", tc.reason)
			}
		})
	}
}

// TestCreatePoolOnce checks that a creation whose answer is lost is not sent again, as the library would do.
func TestCreatePoolOnce(t *testing.T) {
	l := newLab(t, simulator.Options{Version: "9.2"}, asRoot)
	l.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: "/pools", CutAfter: true, Count: 1})
	err := l.CreateObject(t.Context(), poolCollection(), "once", nil)
	n := 0
	for _, r := range l.pve.Requests() {
		if r.Method == http.MethodPost && r.Path == "/pools" {
			n++
		}
	}
	if !proxmox.IsOutcomeUnknown(err) || n != 1 {
		t.Errorf("CreateObject(): want one request of an unknown outcome, got %d and %v", n, err)
	}
}

func TestPoolMembers(t *testing.T) {
	l := newLab(t, simulator.Options{Version: "9.2"}, asRoot)
	want := proxmox.PoolMembers{VMIDs: []int{9000}, Storages: []string{"local", "local-lvm"}}
	if err := l.AddPoolMembers(t.Context(), "crossplane", want); err != nil {
		t.Fatal(err)
	}
	got, err := l.PoolMembers(t.Context(), "crossplane")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("AddPoolMembers(): %v, -want, +got:\n%s", err, diff)
	}
	if err := l.RemovePoolMembers(t.Context(), "crossplane", proxmox.PoolMembers{Storages: []string{"local"}}); err != nil {
		t.Fatal(err)
	}
	want.Storages = []string{"local-lvm"}
	got, err = l.PoolMembers(t.Context(), "crossplane")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("RemovePoolMembers(): %v, -want, +got:\n%s", err, diff)
	}
}
