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
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

// An externalSecret has the fields of an ExternalSecret that the example uses. The end-to-end tests apply the example to an API server that has the
// definition of the External Secrets Operator.
type externalSecret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		RefreshInterval metav1.Duration `json:"refreshInterval"`
		SecretStoreRef  struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"secretStoreRef"`
		Target struct {
			Name string `json:"name"`
		} `json:"target"`
		Data []struct {
			SecretKey string `json:"secretKey"`
			RemoteRef struct {
				Key      string `json:"key"`
				Property string `json:"property"`
			} `json:"remoteRef"`
		} `json:"data"`
	} `json:"spec"`
}

// TestExternalSecret creates the Secret that the operator creates for the example, and checks that the example's configuration reads its credentials
// there.
func TestExternalSecret(t *testing.T) {
	var from externalSecret
	var config namespaced.ClusterProviderConfig
	for file, into := range map[string]any{"externalsecret.yaml": &from, "clusterproviderconfig.yaml": &config} {
		data, err := os.ReadFile(filepath.Join("..", "..", "examples", "external-secrets", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(data, into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	if from.APIVersion != "external-secrets.io/v1" || from.Kind != "ExternalSecret" || from.Spec.SecretStoreRef.Kind != "ClusterSecretStore" {
		t.Errorf("want an ExternalSecret of a ClusterSecretStore, got %+v", from)
	}
	store := map[string]string{"tokenID": "crossplane@pve!provider", "tokenSecret": hidden}
	made := map[string]string{}
	for _, d := range from.Spec.Data {
		made[d.SecretKey] = store[d.RemoteRef.Property]
	}
	in := newReader(newObjects(kube(t, secretOf(from.Namespace, from.Spec.Target.Name, made))), reference{})
	got, err := in.credentials(t.Context(), config.Spec.Credentials)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain{TokenID: "crossplane@pve!provider", TokenSecret: hidden}, plainOf(got)); diff != "" {
		t.Errorf("credentials(): -want, +got:\n%s", diff)
	}
}
