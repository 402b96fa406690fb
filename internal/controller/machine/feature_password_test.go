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

package machine

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/password"
	"github.com/vitistack/provider-proxmox/internal/nocloud"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tasktrack"
)

func TestPassword(t *testing.T) {
	const asGenerated = "ABCDEFGHIJKLM-abcdefghijklm"
	fromSecret := &v1alpha1.MachineCloudInit{PasswordSecretRef: &v1alpha1.SecretKeyReference{Name: "data", Key: "password"}}
	generate := &v1alpha1.MachineCloudInit{GeneratePassword: new(true)}
	secret := func(name, text string, owner *namespaced.Machine) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: "s"}, Data: map[string][]byte{"password": []byte(text)}}
		if owner != nil {
			s.OwnerReferences = []metav1.OwnerReference{meta.AsController(meta.TypedReferenceTo(owner, namespaced.MachineGroupVersionKind))}
		}
		return s
	}
	cases := map[string]struct {
		reason  string
		spec    *v1alpha1.MachineCloudInit
		nowhere bool // The spec asks for no connection Secret.
		theirs  bool // The connection Secret has another owner.
		in      string
		kept    bool // The password does not change.
		refused string
	}{
		"Secret":    {reason: "A password is read where the spec says.", spec: fromSecret, in: "secret", kept: true},
		"Empty":     {reason: "No password is none.", spec: fromSecret, refused: "Secret team/data has no password: its key password is empty"},
		"Generated": {reason: "One that was generated stays.", spec: generate, in: asGenerated, kept: true},
		"Edited":    {reason: "One that a person has put there is replaced.", spec: generate, in: "secret"},
		"Taken":     {reason: "One that was taken away is created again.", spec: generate},
		"Theirs":    {reason: "What is in the Secret of another resource is not used.", spec: generate, in: asGenerated, theirs: true},
		"Nowhere": {
			reason: "A password that nobody would get is not made.", spec: generate, nowhere: true,
			refused: "cloudInit.generatePassword needs writeConnectionSecretToRef: the password is kept in that Secret alone",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(m *namespaced.Machine) {
				m.Spec.ForProvider.CloudInit = tc.spec
				if !tc.nowhere {
					m.SetWriteConnectionSecretToReference(&xpv2.LocalSecretReference{Name: "connection"})
				}
			})
			owner := b.m.DeepCopy()
			if tc.theirs {
				owner.UID = "theirs"
			}
			for _, s := range []*corev1.Secret{secret("data", tc.in, nil), secret("connection", tc.in, owner)} {
				if err := b.kube.Create(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			e := b.external()
			got, err := e.password.Of(t.Context(), b.m, tc.spec)
			if tc.refused != "" {
				if err == nil || err.Error() != tc.refused {
					t.Errorf("%s Got error %v", tc.reason, err)
				}
				return
			}
			if err != nil || got.Text == "" || (got.Text == tc.in) != tc.kept {
				t.Fatalf("%s Got %+v and error %v", tc.reason, got, err)
			}
			if tc.spec == generate && (!nocloud.IsGenerated(got.Text) || string(e.password.Publish(nil)["password"]) != got.Text) {
				t.Errorf("%s Got %q, which is not published", tc.reason, got.Text)
			}
			again, err := b.external().password.Of(t.Context(), b.m, tc.spec)
			if err != nil || tc.kept && *again != *got {
				t.Errorf("%s Then got %+v and error %v", tc.reason, again, err)
			}
		})
	}
}

// TestPasswordIsSentOnce checks that a password is sent once, and again when it has changed, but not when other data of its Secret has changed.
func TestPasswordIsSentOnce(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) {
		m.Spec.ForProvider.CloudInit = &v1alpha1.MachineCloudInit{PasswordSecretRef: &v1alpha1.SecretKeyReference{Name: "data", Key: "password"}}
	})
	b.vms[10000] = ourVM("running")
	b.vms[10000].config["ide2"] = "local-lvm:vm-10000-cloudinit,media=cdrom"
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "data", UID: "s"}, Data: map[string][]byte{"password": []byte("one")}}
	if err := b.kube.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	sent := func() (n int) {
		for range 3 {
			if got := b.reconcile(t.Context()); got.err != nil {
				t.Fatal(got.err)
			}
		}
		for _, w := range b.writes {
			if w == "Configure 10000 set cipassword delete  digest d1" {
				n++
			}
		}
		return n
	}
	change := func(text string, labels map[string]string) {
		s.Data["password"], s.Labels = []byte(text), labels
		if err := b.kube.Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	got := []int{sent()}
	change("one", map[string]string{"team": "a"})
	got = append(got, sent())
	change("two", nil)
	got = append(got, sent())
	b.tasks, b.sent = tasktrack.New(b.clock.now), password.NewSent() // A restart forgets what was sent, not which version.
	got = append(got, sent())
	if diff := cmp.Diff([]int{1, 1, 2, 2}, got); diff != "" {
		t.Errorf("how often the password was sent: -want, +got:\n%s", diff)
	}
}

// TestPasswordIsRefused checks that a VM that Proxmox VE has refused to create, because another guest has its VMID, has received no password.
func TestPasswordIsRefused(t *testing.T) {
	b := newBench(t, func(m *namespaced.Machine) {
		m.Spec.ForProvider.CloudInit = &v1alpha1.MachineCloudInit{PasswordSecretRef: &v1alpha1.SecretKeyReference{Name: "data", Key: "password"}}
	})
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "data", UID: "s"}, Data: map[string][]byte{"password": []byte("one")}}
	if err := b.kube.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	b.errs["Create"] = refused(500, "unable to create VM 10000: config file already exists")
	sent := ""
	b.on["Create"] = func() { sent = b.kept(t, object.AnnotationPassword) }
	if s := b.reconcile(t.Context()); !proxmox.IsAlreadyExists(s.err) || sent == "" {
		t.Fatalf("want the call refused after the password was noted, got %v, %q", s.err, sent)
	}
	if got := b.kept(t, object.AnnotationPassword); got != "" {
		t.Errorf("want no password noted as sent to the next VM, got %q", got)
	}
}

// TestPasswordOfAnotherVM checks that a VM that is created in place of another has no password yet.
func TestPasswordOfAnotherVM(t *testing.T) {
	b := newBench(t, nil)
	b.m.SetAnnotations(map[string]string{object.AnnotationPassword: "s/1"})
	if got, ok := (&creation{}).annotations(b.m)[object.AnnotationPassword]; got != "" || !ok {
		t.Errorf("The password counts as sent to a VM that is yet to be made: %q", got)
	}
	sent := password.NewSent()
	p := password.Password{Text: "one", Version: "s/1"}
	sent.Record(b.m, p)
	sent.Forget(b.m)
	if sent.Has(b.m, p) {
		t.Error("The password of a VM that is gone is remembered")
	}
}

const (
	oldKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPEVXq6hbhApzpH+Wpd82EF2IoKl/eJXORNjzBf9plsI a"
	newKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMMHbuapCYhEDfRYHwyCRcTRGaV00bFEkYTHwlpPtwVR b"
)

// TestSSHKeysOfSecret checks that the VM gets the SSH keys of a Secret, and others when that changes. While the Secret is missing, the VM keeps them.
// No key is shown.
func TestSSHKeysOfSecret(t *testing.T) {
	b := newBench(t, all(powerState("Stopped"), spec(func(p *v1alpha1.MachineParameters) {
		p.CloudInit = &v1alpha1.MachineCloudInit{Storage: new("local-lvm"), SSHKeySecretRefs: []v1alpha1.SecretKeyReference{{Name: "keys", Key: "k"}}}
	})))
	b.vms[10000] = ourVM("stopped")
	b.vms[10000].config["ide2"] = "local-lvm:vm-10000-cloudinit,media=cdrom"
	h := &heard{}
	sets := func(wanted string) {
		t.Helper()
		e := b.external()
		e.record = h
		b.clock.wait(time.Hour)
		b.touch()
		s := b.reconcileWith(t.Context(), e)
		if wanted != "" && (s.err == nil || !strings.Contains(s.err.Error(), "Secret team/keys not found")) {
			t.Errorf("want the Secret missed, got %v", s.err)
		}
		text, err := json.Marshal([]any{b.m.Status, h.messages, fmt.Sprint(s.err)})
		if err != nil || strings.Contains(string(text), "AAAAC3") {
			t.Errorf("want no key shown: %s (%v)", text, err)
		}
	}
	configures := func(key string) {
		t.Helper()
		sets("")
		if n := len(b.writes); n == 0 || b.writes[n-1] != "Configure 10000 set sshkeys delete  digest d1" {
			t.Fatalf("want the keys sent, got %q", b.writes)
		}
		b.writes, b.vms[10000].config["sshkeys"] = nil, url.PathEscape(key)
		sets("")
		if len(b.writes) > 0 {
			t.Errorf("want them sent once, got %q", b.writes)
		}
	}
	sets("missing")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "keys"}, Data: map[string][]byte{"k": []byte(oldKey)}}
	if err := b.kube.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	configures(oldKey)
	secret.Data["k"] = []byte(newKey)
	if err := b.kube.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	configures(newKey)
	if err := b.kube.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	sets("missing")
	want := []string{"sshkeys (none) → **********", "sshkeys ********** → **********"}
	if diff := cmp.Diff(want, h.messages); diff != "" || len(b.writes) > 0 {
		t.Errorf("want the keys left alone, got %q; events: -want, +got:\n%s", b.writes, diff)
	}
}
