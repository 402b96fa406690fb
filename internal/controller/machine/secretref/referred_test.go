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
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

func TestReferredTo(t *testing.T) {
	ref := func(name string) *v1alpha1.SecretKeyReference {
		return &v1alpha1.SecretKeyReference{Namespace: new("elsewhere"), Name: name, Key: "k"}
	}
	all := &v1alpha1.MachineCloudInit{
		PasswordSecretRef:   ref("password"),
		SSHKeySecretRefs:    []v1alpha1.SecretKeyReference{*ref("admin"), *ref("ci")},
		SSHKeyConfigMapRefs: []v1alpha1.SecretKeyReference{*ref("team")},
		UserData:            &v1alpha1.CloudInitData{SecretRef: ref("user")},
		VendorData:          &v1alpha1.CloudInitData{ConfigMapRef: ref("vendor")},
		NetworkConfig:       &v1alpha1.CloudInitData{Inline: new("{}")},
	}
	in := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: "team", Name: name} }
	cases := map[string]struct {
		reason              string
		spec                *v1alpha1.MachineCloudInit
		deleted             bool
		secrets, configMaps []client.ObjectKey
	}{
		"None": {reason: "A Machine without cloud-init refers to nothing."},
		"All": {
			reason: "All kinds of references count, in the Machine's own namespace.", spec: all,
			secrets: []client.ObjectKey{in("password"), in("admin"), in("ci"), in("user")}, configMaps: []client.ObjectKey{in("team"), in("vendor")},
		},
		"Deleted": {reason: "One that is being deleted needs nothing.", spec: all, deleted: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
			m.Spec.ForProvider.CloudInit = tc.spec
			if tc.deleted {
				m.DeletionTimestamp = &metav1.Time{}
				*m.DeletionTimestamp = metav1.Now()
			}
			secrets, configMaps := ReferredTo(m)
			if diff := cmp.Diff([][]client.ObjectKey{tc.secrets, tc.configMaps}, [][]client.ObjectKey{secrets, configMaps}); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
