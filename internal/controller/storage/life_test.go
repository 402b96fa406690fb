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

package storage_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	xpmeta "github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/controller/storage"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

func TestAvailable(t *testing.T) {
	off := func(nodes ...string) func(*simulator.State) {
		return func(s *simulator.State) {
			for _, node := range nodes {
				s.Nodes[node].Offline = true
			}
		}
	}
	cases := map[string]struct {
		reason, spec string
		edit         func(*simulator.State)
		available    corev1.ConditionStatus
		because      xpv2.ConditionReason
		words        string
		ready        corev1.ConditionStatus
	}{
		"Everywhere": {
			reason: "All nodes have the storage.", spec: "nodes: []",
			available: corev1.ConditionTrue, because: storage.ReasonAvailable, ready: corev1.ConditionTrue,
		},
		"NodeOff": {
			reason: "A node that is off leaves the storage to the others.", spec: "nodes: []", edit: off("pve2"),
			available: corev1.ConditionFalse, because: storage.ReasonUnavailable, words: "not available on pve2: ", ready: corev1.ConditionTrue,
		},
		"Nowhere": {
			reason: "The only node that has the storage is off.", spec: "nodes: [pve2]", edit: off("pve2"),
			available: corev1.ConditionFalse, because: storage.ReasonUnavailable, words: "not available on pve2: ", ready: corev1.ConditionFalse,
		},
		"Disabled": {
			reason: "A storage that is out of use on purpose is as the spec asks.", spec: "nodes: [], disabled: true",
			available: corev1.ConditionFalse, because: storage.ReasonDisabled, words: "set disabled to false", ready: corev1.ConditionTrue,
		},
		"DisabledByHand": {
			reason: "Somebody has disabled the storage in Proxmox VE, and the spec leaves that open.", spec: "nodes: []",
			edit:      func(s *simulator.State) { s.Storages["files"].Disabled = true },
			available: corev1.ConditionFalse, because: storage.ReasonDisabled, words: "it is disabled in Proxmox VE: set disabled: false", ready: corev1.ConditionFalse,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			configtest.RunIn(t, files(), func(l *configtest.Life) {
				mg := l.Resource(1, "{name: files, dir: {path: /srv/files}, content: [iso], "+tc.spec+"}", nil)
				l.Settle(mg)
				if tc.edit != nil {
					l.Edit(tc.edit)
				}
				l.UntilHolds(mg, tc.reason, func() bool {
					c := mg.GetCondition(storage.TypeAvailable)
					return c.Status == tc.available && c.Reason == tc.because && strings.Contains(c.Message, tc.words) &&
						c.ObservedGeneration == mg.GetGeneration() && mg.GetCondition(xpv2.TypeReady).Status == tc.ready
				})
				if tc.ready == corev1.ConditionFalse {
					l.Until(mg, xpv2.TypeReady, tc.because, tc.words)
				}
			})
		})
	}
}

// TestUnknownNode names a node that does not exist. Proxmox VE would accept it.
func TestUnknownNode(t *testing.T) {
	configtest.RunIn(t, files(), func(l *configtest.Life) {
		mg := l.Resource(1, "{name: files, dir: {path: /srv/files}, nodes: [pve1, nowhere]}", nil)
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, `node "nowhere" does not exist`)
		if w := l.Writes(); len(w) > 0 {
			l.Errorf("the provider has written: %v", w)
		}
		l.EditSpec(mg, "{name: files, dir: {path: /srv/files}, nodes: [pve1]}")
		l.Settle(mg)
		l.EditSpec(mg, "{name: files, dir: {path: /srv/files}, nodes: [elsewhere]}")
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, `node "elsewhere" does not exist`)
		if got := l.Options("files")["nodes"]; got != "pve1" {
			l.Errorf("nodes: got %q, want those from before", got)
		}
	})
}

// TestImmutable adopts a storage with another path, and checks that options that can change are changed and reported, while the others stay and still
// differ.
func TestImmutable(t *testing.T) {
	configtest.RunIn(t, files(), func(l *configtest.Life) {
		l.Must(l.Client.CreateObject(l.Context(), files().Collection, "files", proxmox.Params{"type": "dir", "path": "/srv/other", "content": "iso"}))
		mg := l.Resource(1, "{name: files, dir: {path: /srv/files}, content: [backup]}", map[string]string{xpmeta.AnnotationKeyExternalName: "files"})
		l.UntilHolds(mg, "the content is changed", func() bool { return l.Options("files")["content"] == "backup" })
		stays := []v1alpha1.OptionDifference{{Option: "path", Current: "/srv/other", Desired: "/srv/files"}}
		if diff := cmp.Diff(stays, differenceOf(l, mg)); diff != "" {
			l.Errorf("the difference after the change: -want, +got:\n%s", diff)
		}
		l.Until(mg, xpv2.TypeReady, config.ReasonImmutable, "path is /srv/other")
		if got := l.Options("files")["path"]; got != "/srv/other" {
			l.Errorf("path: got %q, want what it was", got)
		}
		told := slices.DeleteFunc(l.Events.All(), func(e string) bool { return !strings.HasPrefix(e, "ChangedOptions: ") })
		if diff := cmp.Diff([]string{"ChangedOptions: changed in Proxmox VE: content iso → backup"}, told); diff != "" {
			l.Errorf("events of changes: -want, +got:\n%s", diff)
		}
	})
}

// differenceOf returns the difference that a Storage shows.
func differenceOf(l *configtest.Life, mg resource.Managed) []v1alpha1.OptionDifference {
	l.Helper()
	s, ok := mg.(interface {
		Observation() *v1alpha1.StorageObservation
	})
	if !ok {
		l.Fatalf("%T is no Storage", mg)
	}
	return s.Observation().Difference
}

// TestRotation changes the Secrets of storages, which Proxmox VE does not show.
func TestRotation(t *testing.T) {
	cases := map[string]struct {
		kind  string
		after map[string]string
		shown map[string]string
	}{
		"Password": {kind: "cifs", after: map[string]string{"password": "n3w-of-smb"}},
		"ESXi":     {kind: "esxi", after: map[string]string{"password": "n3w-of-esxi"}},
		"Keyring":  {kind: "rbd", after: map[string]string{"keyring": "n3w-of-rbd"}},
		"CephFS":   {kind: "cephfs", after: map[string]string{"keyring": "n3w-of-cephfs"}},
		"Backups": {
			kind:  "pbs",
			after: map[string]string{"password": "n3w-of-pbs", "encryption-key": `{"kdf":null,"data":"n3w","fingerprint":"cc:dd"}`},
			shown: map[string]string{"encryption-key": "cc:dd"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := varieties()[tc.kind]
			k := files()
			k.Secrets = map[string]map[string]string{"keys": v.secrets}
			configtest.RunIn(t, k, func(l *configtest.Life) {
				mg := l.Resource(1, "{name: files, "+tc.kind+": {"+v.spec+"}, "+v.rest+"}", nil)
				l.Settle(mg)
				before := secretsWritten(l)
				l.Must(updateSecret(l, tc.after))
				l.UntilHolds(mg, "the new secrets are written", func() bool { return len(secretsWritten(l)) > len(before) })
				l.Settle(mg)
				after := secretsWritten(l)[len(before):]
				if diff := cmp.Diff([][]string{slices.Sorted(maps.Keys(tc.after))}, after); diff != "" {
					l.Errorf("each secret is written once, by one call: -want, +got:\n%s", diff)
				}
				for option, want := range tc.shown {
					if got := l.Options("files")[option]; got != want {
						l.Errorf("%s: got %q, want %q", option, got, want)
					}
				}
				hasNone(l, mg, v.secrets, tc.after)
			})
		})
	}
}

// secretsWritten returns the secret options of each write so far.
func secretsWritten(l *configtest.Life) [][]string {
	var all [][]string
	for _, q := range l.Requests() {
		if q.Method == http.MethodGet || !strings.HasPrefix(q.User, "crossplane@pve") {
			continue
		}
		var some []string
		for _, option := range []string{"encryption-key", "keyring", "password"} {
			if _, ok := q.Params[option]; ok {
				some = append(some, option)
			}
		}
		if len(some) > 0 {
			all = append(all, some)
		}
	}
	return all
}

func updateSecret(l *configtest.Life, data map[string]string) error {
	s := &corev1.Secret{}
	l.Must(l.Kube.Get(l.Context(), client.ObjectKey{Namespace: "team", Name: "keys"}, s))
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return l.Kube.Update(l.Context(), s)
}

// hasNone checks that a resource shows no secret.
func hasNone(l *configtest.Life, mg resource.Managed, all ...map[string]string) {
	l.Helper()
	text, err := yaml.Marshal(mg)
	if err != nil {
		l.Fatal(err)
	}
	for _, some := range all {
		for option, value := range some {
			if strings.Contains(string(text), value) {
				l.Errorf("the resource shows the option %s", option)
			}
		}
	}
}

// TestSecretMissing names a key that its Secret does not have.
func TestSecretMissing(t *testing.T) {
	k := files()
	k.Secrets = map[string]map[string]string{"keys": {"other": "s3cret-of-other"}}
	configtest.RunIn(t, k, func(l *configtest.Life) {
		mg := l.Resource(1, "{name: files, "+`cifs: {server: a, share: b, `+passwordRef+"}}", nil)
		l.Until(mg, xpv2.TypeSynced, xpv2.ReasonReconcileError, `key "password" of secret "team/keys" is missing or empty`)
		if w := l.Writes(); len(w) > 0 {
			l.Errorf("the provider has written: %v", w)
		}
		hasNone(l, mg, k.Secrets["keys"])
		l.Must(updateSecret(l, map[string]string{"password": "s3cret"}))
		l.Settle(mg)
		if diff := cmp.Diff([][]string{{"password"}}, secretsWritten(l)); diff != "" {
			l.Errorf("the secret is written: -want, +got:\n%s", diff)
		}
	})
}
