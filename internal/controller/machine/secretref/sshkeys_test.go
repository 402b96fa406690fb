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

package secretref

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

const (
	keyA = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPEVXq6hbhApzpH+Wpd82EF2IoKl/eJXORNjzBf9plsI a"
	keyB = `from="192.0.2.0/24" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl b`
	keyC = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMMHbuapCYhEDfRYHwyCRcTRGaV00bFEkYTHwlpPtwVR c"
)

func TestWithSSHKeys(t *testing.T) {
	inNamespace := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	ofCluster := &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	ref := func(namespace, name string) v1alpha1.SecretKeyReference {
		r := v1alpha1.SecretKeyReference{Name: name, Key: "keys"}
		if namespace != "" {
			r.Namespace = &namespace
		}
		return r
	}
	refs := func(namespace, name string) []v1alpha1.SecretKeyReference {
		return []v1alpha1.SecretKeyReference{ref(namespace, name)}
	}
	at := metav1.ObjectMeta{Namespace: "team", Name: "keys"}
	secret := func(text string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: at, Data: map[string][]byte{"keys": []byte(text)}}
	}
	cases := map[string]struct {
		reason  string
		m       object.Machine
		inline  []string
		secrets []v1alpha1.SecretKeyReference
		maps    []v1alpha1.SecretKeyReference
		text    string
		want    []string
		refused string
	}{
		"None":      {reason: "What refers to nothing keeps the keys of the spec.", m: inNamespace, inline: []string{keyA}, want: []string{keyA}},
		"Undefined": {reason: "No keys are declared where no field is set.", m: inNamespace},
		"Merged": {
			reason: "Keys come in order, each once.",
			m:      inNamespace, inline: []string{keyA},
			secrets: refs("", "keys"), maps: refs("", "keys"), text: "# ours\n\n" + keyA + "\r\n" + keyB + "\n", want: []string{keyA, keyB, keyC},
		},
		"Elsewhere": {reason: "A Machine of a namespace reads that alone.", m: inNamespace, secrets: refs("other", "keys"), text: keyA, want: []string{keyA}},
		"Cluster":   {reason: "One of the cluster names a namespace.", m: ofCluster, secrets: refs("team", "keys"), text: keyA, want: []string{keyA}},
		"Nameless":  {reason: "Nothing is read without a namespace.", m: ofCluster, secrets: refs("", "keys"), text: keyA, refused: "has no namespace"},
		"Missing": {
			reason: "What is missing is named.",
			m:      inNamespace, inline: []string{keyA},
			secrets: refs("", "gone"), refused: "Secret team/gone not found",
		},
		"Empty": {reason: "No keys are a mistake.", m: inNamespace, secrets: refs("", "keys"), text: "# none\n", refused: "Secret team/keys has no SSH key"},
		"Private": {
			reason:  "What is no public key is not shown.",
			m:       inNamespace,
			secrets: refs("", "keys"), text: keyA + "\n-----BEGIN hunter2", refused: "Secret team/keys: line 2 of its key keys is no public key",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithObjects(secret(tc.text), &corev1.ConfigMap{ObjectMeta: at, Data: map[string]string{"keys": keyC}}).Build()
			p := &v1alpha1.MachineParameters{CloudInit: &v1alpha1.MachineCloudInit{SSHKeys: tc.inline, SSHKeySecretRefs: tc.secrets, SSHKeyConfigMapRefs: tc.maps}}
			got, err := WithSSHKeys(t.Context(), kube, tc.m, p)
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("\n%s\nwant %q, got %v", tc.reason, tc.refused, err)
				}
			} else if err != nil {
				t.Errorf("\n%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got.CloudInit.SSHKeys); diff != "" {
				t.Errorf("\n%s\nkeys: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.inline, p.CloudInit.SSHKeys); diff != "" {
				t.Errorf("\n%s\nthe spec was changed: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
