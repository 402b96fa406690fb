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

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// testSecrets looks for the secrets of the run where they must not be: the log, including its error messages, the events, and every object except the
// Secrets that contain them.
func (s *suite) testSecrets(t *testing.T) {
	log, err := os.ReadFile(s.spec.Log)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), `"level":"DEBUG"`) {
		t.Error("the provider did not log at level debug")
	}
	if s.tells(string(log)) {
		t.Error("the provider's log tells a secret")
	}
	holders, kinds := 0, map[string]int{}
	for _, obj := range s.allObjects(t) {
		kinds[obj.GetKind()]++
		if !s.tells(textOf(t, obj)) {
			continue
		}
		if obj.GetKind() == "Secret" && obj.GetName() == credentialSecret && slices.Contains(credentialNamespaces(), obj.GetNamespace()) {
			holders++
			continue
		}
		t.Errorf("%s %s/%s tells a secret", obj.GetKind(), obj.GetNamespace(), obj.GetName())
	}
	// This shows that the search finds secrets.
	if holders != len(credentialNamespaces()) || kinds["Event"] == 0 || kinds["ClusterProviderConfig"] == 0 {
		t.Errorf("found the secret in %d of its Secrets, among %v", holders, kinds)
	}
}

// tells reports whether text contains a secret of the run.
func (s *suite) tells(text string) bool {
	for _, secret := range []string{s.connection.Credentials.TokenSecret, wrongToken} {
		if strings.Contains(text, secret) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret))) {
			return true
		}
	}
	return false
}

// textOf returns an object as JSON, with the data of a Secret decoded.
func textOf(t *testing.T, obj *unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(text)}
	data, _, _ := unstructured.NestedStringMap(obj.Object, "data")
	for _, value := range data {
		if b, err := base64.StdEncoding.DecodeString(value); err == nil {
			texts = append(texts, string(b))
		}
	}
	return strings.Join(texts, "\n")
}

// allObjects lists all objects of the API server.
func (s *suite) allObjects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	config := s.Kube.Config()
	config.WarningHandler = rest.NoWarnings{} // Deprecated kinds are included.
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := d.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	var all []*unstructured.Unstructured
	for _, resource := range listable(t, lists) {
		list, err := client.Resource(resource).List(s.ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatalf("cannot list %s: %v", resource, err)
		}
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	}
	return all
}

func listable(t *testing.T, lists []*metav1.APIResourceList) []schema.GroupVersionResource {
	t.Helper()
	var found []schema.GroupVersionResource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") {
				found = append(found, gv.WithResource(r.Name))
			}
		}
	}
	return found
}
