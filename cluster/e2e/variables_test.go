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
	"os/exec"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/local/provider"
)

// variables returns variables for the simulated cluster, with the names that VirtRigaud uses.
func (s *suite) variables() []string {
	c := s.connection.Credentials
	return []string{
		"PVE_ENDPOINT=" + strings.Join(s.connection.Endpoints, ","), "PVE_TOKEN_ID=" + c.Username + "!" + c.TokenID, "PVE_TOKEN_SECRET=" + c.TokenSecret,
		"PVE_CA_BUNDLE=" + s.connection.CA,
	}
}

// testCheck runs the check of a connection that only variables define, with the token and with a wrong one, and of a provider configuration with the
// permissions and the environment of the provider's pod.
func (s *suite) testCheck(t *testing.T) {
	cases := map[string]struct {
		reason, secret string
		fails          bool
		want           []string
	}{
		"Ready": {
			"A token that has the privileges works.", s.connection.Credentials.TokenSecret, false,
			[]string{"Connected True", "Authenticated True", "Permitted True"},
		},
		"WrongToken": {"A wrong token is refused, by a cluster that is reached.", wrongToken, true, []string{"Connected True", "Authenticated False"}},
		"Configuration": {
			"The provider may read what the configuration and its Secret say.", "", false, []string{"Connected True", "Authenticated True", "Permitted True"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			check := exec.CommandContext(s.ctx, s.spec.Path, "check")
			check.Env = append(slices.DeleteFunc(s.variables(), func(v string) bool { return strings.HasPrefix(v, "PVE_TOKEN_SECRET=") }), "PVE_TOKEN_SECRET="+tc.secret)
			if tc.secret == "" {
				check.Args, check.Env = append(check.Args, "--provider-config", "default"), s.spec.Env
			}
			output, err := check.CombinedOutput()
			if (err != nil) != tc.fails {
				t.Errorf("%s\nwant it to fail: %t, got %v", tc.reason, tc.fails, err)
			}
			text := strings.Join(strings.Fields(string(output)), " ")
			for _, want := range tc.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s\nwant %q, got:\n%s", tc.reason, want, output)
				}
			}
			if s.tells(text) {
				t.Errorf("%s\nit tells the secret:\n%s", tc.reason, output)
			}
		})
	}
}

// testVariables starts the provider without a configuration, with only variables, and waits until a Machine that names none has its VM.
func (s *suite) testVariables(t *testing.T) {
	config := object("proxmox.m.vitistack.io/v1alpha1", "ClusterProviderConfig", "", "default")
	secret := object("v1", "Secret", provider.DefaultNamespace, "provider-proxmox-environment")
	s.delete(t, config)
	s.kill(t)
	env := s.spec.Env
	s.spec.Env = append(slices.Clone(env), s.variables()...)
	t.Cleanup(func() {
		s.delete(t, config)
		s.delete(t, secret)
		s.kill(t)
		s.spec.Env = env
		s.restart(t, s.spec.Ready)
		if err := s.connect(); err != nil {
			t.Error(err)
		}
	})
	s.restart(t, s.spec.Ready)
	m := newMachine("variables", map[string]any{"template": "ubuntu-24.04"})
	keys := s.apply(t, []*unstructured.Unstructured{m})
	s.untilComplete(t, keys)
	for _, made := range []*unstructured.Unstructured{config, secret} {
		if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(made), made); err != nil || made.GetLabels()["proxmox.vitistack.io/from-environment"] != "true" {
			t.Errorf("want %s %q made of variables, got labels %v, %v", made.GetKind(), made.GetName(), made.GetLabels(), err)
		}
	}
	s.remove(t, m)
	s.untilGone(t, keys)
}

// object returns an object with a name.
func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// delete deletes an object and waits until it no longer exists.
func (s *suite) delete(t *testing.T, obj *unstructured.Unstructured) {
	t.Helper()
	if err := client.IgnoreNotFound(s.Kube.Delete(s.ctx, obj)); err != nil {
		t.Fatal(err)
	}
	s.until(t, func() string {
		if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(obj), obj.DeepCopy()); !apierrors.IsNotFound(err) {
			return obj.GetKind() + " " + obj.GetName() + " still exists"
		}
		return ""
	})
}
