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

package controller_test

import (
	"fmt"
	"strings"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// namesTheirSecrets makes team-a name the Secret with the token of the cluster in its ProviderConfigs. The API server accepts no namespace in them,
// and the provider reads only that of the ProviderConfig.
func (w *tenantWorld) namesTheirSecrets(shared v1alpha1.ProviderConfigSpec) {
	w.Helper()
	own := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.space("a"), Name: "own"}, StringData: map[string]string{
		"username": "crossplane@pve", "tokenID": "own", "tokenSecret": "guessed",
	}}
	if err := w.kube.Create(w.Context(), own); err != nil {
		w.Fatal(err)
	}
	theirs := shared.Credentials.SecretRef
	for name, change := range configAttempts(theirs.Name, own.Name) {
		config := &namespaced.ProviderConfig{ObjectMeta: w.meta(), Spec: *shared.DeepCopy()}
		config.Namespace, config.Name = w.space("a"), "their-"+name
		change(&config.Spec, theirs.Namespace)
		if err := w.kube.Create(w.Context(), config.DeepCopy()); !kerrors.IsInvalid(err) || !strings.Contains(err.Error(), "is not for a namespaced ProviderConfig") {
			w.Errorf("%s: want a Secret of another namespace refused, got %v", name, err)
		}
		change(&config.Spec, nil)
		m := w.of("a", "secret-"+name, linux())
		m.(*namespaced.Machine).SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: config.Name})
		if err := w.kube.Create(w.Context(), config); err != nil {
			w.Fatal(err)
		}
		w.make(m)
		says := fmt.Sprintf("cannot read secret %q: it does not exist", w.space("a")+"/"+theirs.Name)
		w.becomes(m, "has no connection", func() bool {
			s := m.GetCondition(xpv2.TypeSynced)
			return s.Status == corev1.ConditionFalse && strings.Contains(s.Message, says)
		})
		w.remove(m)
	}
}

// configAttempts returns attempts to name a Secret of others, in a namespace, where a ProviderConfig names one. The Secret own has what else is
// needed.
func configAttempts(theirs, own string) map[string]func(*v1alpha1.ProviderConfigSpec, *string) {
	type spec = v1alpha1.ProviderConfigSpec
	key := func(namespace *string) v1alpha1.SecretKeyReference {
		return v1alpha1.SecretKeyReference{Namespace: namespace, Name: theirs, Key: "token"}
	}
	whole := func(name string, namespace *string) v1alpha1.ProviderCredentials {
		return v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{
			SecretReference: v1alpha1.SecretReference{Namespace: namespace, Name: name},
		}}
	}
	return map[string]func(*spec, *string){
		"credentials": func(s *spec, namespace *string) { s.Credentials = whole(theirs, namespace) },
		"password": func(s *spec, namespace *string) {
			s.Credentials = v1alpha1.ProviderCredentials{Username: new("root@pam"), Password: &v1alpha1.SecretValue{SecretRef: key(namespace)}}
		},
		"token": func(s *spec, namespace *string) {
			s.Credentials = v1alpha1.ProviderCredentials{TokenID: new("crossplane@pve!own"), TokenSecret: &v1alpha1.SecretValue{SecretRef: key(namespace)}}
		},
		"authority": func(s *spec, namespace *string) {
			s.Credentials, s.TLS = whole(own, nil), &v1alpha1.ProviderTLS{CACertificateSecretRef: new(key(namespace))}
		},
		"certificate": func(s *spec, namespace *string) {
			pair := &v1alpha1.SecretReference{Namespace: namespace, Name: theirs}
			s.Credentials, s.TLS = whole(own, nil), &v1alpha1.ProviderTLS{ClientCertificateSecretRef: pair}
		},
	}
}
