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

package password

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
)

func machine() *namespaced.Machine {
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "uid", Annotations: map[string]string{object.AnnotationUUID: "u"}}}
	m.Spec.WriteConnectionSecretToReference = &xpv2.LocalSecretReference{Name: "web"}
	return m
}

func kube(t *testing.T, objects ...client.Object) client.Reader {
	t.Helper()
	s := runtime.NewScheme()
	if err := corev1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build()
}

func secret(namespace, name, text string, owners ...metav1.OwnerReference) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "secret", OwnerReferences: owners},
		Data:       map[string][]byte{"password": []byte(text)},
	}
}

func TestRead(t *testing.T) {
	ref := v1alpha1.SecretKeyReference{Name: "data", Key: "password"}
	cases := map[string]struct {
		reason string
		has    client.Object
		want   string
		err    string
	}{
		"Has":       {reason: "The password is in the Secret.", has: secret("team", "data", "hush"), want: "hush"},
		"Empty":     {reason: "No password is no password.", has: secret("team", "data", ""), err: "has no password"},
		"Elsewhere": {reason: "A Secret of another namespace is not read.", has: secret("other", "data", "hush"), err: "not found"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := readSecret(t.Context(), kube(t, tc.has), machine(), ref)
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s Want error %q, got %v", tc.reason, tc.err, err)
			}
			if err != nil {
				return
			}
			if got.Text != tc.want || strings.Contains(got.Version, tc.want) || !strings.HasPrefix(got.Version, "secret/") {
				t.Errorf("%s Want %q with the version of its Secret, got %+v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestGenerated(t *testing.T) {
	m := machine()
	ours := metav1.OwnerReference{APIVersion: "v1", Kind: "Machine", Name: "web", UID: m.UID, Controller: new(true)}
	kept := nocloud.GeneratePassword()
	read := func(ctx context.Context, given string, objects ...client.Object) *Password {
		t.Helper()
		p, err := generate(ctx, kube(t, objects...), m, given)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if got := read(t.Context(), "given", secret("team", "web", kept, ours)); got.Text != kept {
		t.Error("the password that the connection Secret has is kept")
	}
	if got := read(t.Context(), "given", secret("team", "web", kept)); got.Text != "given" {
		t.Error("the password of a Secret that is not the Machine's own is not taken")
	}
	version := read(t.Context(), "given", secret("team", "web", kept, ours)).Version
	m.Annotations[object.AnnotationPassword] = version
	if got := read(t.Context(), "given", secret("team", "web", kept)); got.Text != kept || got.Version != version {
		t.Error("the password of a Secret that was restored without its owner, and that was sent, is kept")
	}
	if got := read(t.Context(), "given", secret("team", "web", nocloud.GeneratePassword())); got.Text != "given" {
		t.Error("another password of a Secret without an owner is not taken")
	}
	theirs := metav1.OwnerReference{APIVersion: "v1", Kind: "Machine", Name: "web", UID: "theirs", Controller: new(true)}
	if got := read(t.Context(), "given", secret("team", "web", kept, theirs)); got.Text != "given" {
		t.Error("the password of a Secret that is another Machine's is not taken")
	}
	delete(m.Annotations, object.AnnotationPassword)
	if got := read(t.Context(), "given", secret("team", "web", "chosen", ours)); got.Text != "given" {
		t.Error("a text that was not generated is not taken")
	}
	first, second := read(t.Context(), ""), read(t.Context(), "")
	if !nocloud.IsGenerated(first.Text) || first.Text == second.Text || first.Version == second.Version {
		t.Error("without a password a new one is made each time")
	}
	if strings.Contains(first.Version, first.Text) {
		t.Error("the version reveals the password")
	}
	m.Spec.WriteConnectionSecretToReference = nil
	if _, err := generate(t.Context(), kube(t), m, "given"); err == nil || !strings.Contains(err.Error(), "writeConnectionSecretToRef") {
		t.Errorf("a password that is kept nowhere is refused, got %v", err)
	}
}

func TestIsRestored(t *testing.T) {
	restored := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason, sent, version string
		change                func(*namespaced.Machine)
		want                  bool
	}{
		"Restored":  {reason: "Secret and Machine are those of another cluster.", sent: "before/3", want: true},
		"Adopted":   {reason: "Nobody notes when an adopted VM was made.", sent: "before/3", change: adopted, want: true},
		"Changed":   {reason: "The Secret has changed.", sent: "secret/3"},
		"Seen":      {reason: "Somebody has made the Secret again, perhaps with another password.", sent: "before/3", change: seen},
		"NotMade":   {reason: "The VM was made for this Machine, and the Secret is another one already.", sent: "before/3", change: madeHere},
		"Given":     {reason: "A password was generated before.", sent: "generated/00ff"},
		"Generated": {reason: "A password is generated in place of that of a Secret.", sent: "before/3", version: "generated/00ff"},
		"NeverSent": {reason: "No password was sent."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := machine()
			m.CreationTimestamp = metav1.NewTime(restored)
			meta.SetExternalCreatePending(m, restored.Add(-time.Hour))
			if tc.change != nil {
				tc.change(m)
			}
			if got := (Password{Version: cmp.Or(tc.version, "secret/7")}).IsRestored(m, tc.sent); got != tc.want {
				t.Errorf("%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

func adopted(m *namespaced.Machine) {
	meta.RemoveAnnotations(m, meta.AnnotationKeyExternalCreatePending)
}

func seen(m *namespaced.Machine) { m.Observation().UUID = "u" }

func madeHere(m *namespaced.Machine) {
	meta.SetExternalCreatePending(m, m.CreationTimestamp.Add(time.Second))
}

func TestSent(t *testing.T) {
	s, m, other := NewSent(), machine(), machine()
	other.UID = "other"
	if s.Has(m, Password{}) {
		t.Error("nothing was sent yet")
	}
	s.Record(m, Password{Text: "hush", Version: "1"})
	for what, want := range map[Password]bool{{Text: "hush", Version: "2"}: true, {Text: "other", Version: "1"}: false, {}: false} {
		if got := s.Has(m, what); got != want {
			t.Errorf("Has(%+v): got %t, want %t", what, got, want)
		}
	}
	if s.Has(other, Password{Text: "hush"}) {
		t.Error("another Machine has not got it")
	}
	s.Forget(m)
	if s.Has(m, Password{Text: "hush"}) {
		t.Error("it was forgotten")
	}
}
