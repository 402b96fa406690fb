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

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// ofVariables returns the configuration of an environment with only these variables.
func ofVariables(vars map[string]string) (*environmentConfig, error) {
	return configOfEnvironment(func(name string) string { return vars[name] }, "system")
}

func TestConfigOfEnvironment(t *testing.T) {
	const hidden = "5ec2e7"
	ref := v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{
		SecretReference: v1alpha1.SecretReference{Namespace: new("system"), Name: "provider-proxmox-environment"},
	}}
	cases := map[string]struct {
		reason string
		vars   map[string]string
		want   *v1alpha1.ProviderConfigSpec
		keys   map[string]string
		err    string
	}{
		"Nothing": {reason: "Without an endpoint nothing is made.", vars: map[string]string{"PROXMOX_PASSWORD": hidden}},
		"Password": {
			reason: "A user and a password.",
			vars:   map[string]string{"PROXMOX_ENDPOINT": "https://pve1.local:8006", "PROXMOX_USERNAME": "root@pam", "PROXMOX_PASSWORD": hidden},
			want:   &v1alpha1.ProviderConfigSpec{Endpoints: []string{"https://pve1.local:8006"}, Credentials: ref},
			keys:   map[string]string{"username": "root@pam", "password": hidden},
		},
		"Token": {
			reason: "A token, several endpoints, and any certificate.",
			vars: map[string]string{
				"PROXMOX_ENDPOINT": "https://a:8006, https://b:8006", "PROXMOX_TOKEN_ID": "a@pve!bc", "PROXMOX_TOKEN_SECRET": hidden,
				"PROXMOX_INSECURE_SKIP_TLS_VERIFY": "true",
			},
			want: &v1alpha1.ProviderConfigSpec{
				Endpoints: []string{"https://a:8006", "https://b:8006"}, Credentials: ref, TLS: &v1alpha1.ProviderTLS{InsecureSkipTLSVerify: new(true)},
			},
			keys: map[string]string{"tokenID": "a@pve!bc", "tokenSecret": hidden},
		},
		"PVE": {
			reason: "The other names do as well, with nodes and certificates.",
			vars: map[string]string{
				"PVE_ENDPOINT": "https://pve.example.com:8006/api2", "PVE_TOKEN_ID": "virtrigaud@pve!vrtg-token", "PVE_TOKEN_SECRET": hidden,
				"PVE_INSECURE_SKIP_VERIFY": "false", "PVE_NODE_SELECTOR": "pve-node-1,pve-node-2", "PVE_CA_BUNDLE": "PEM",
			},
			want: &v1alpha1.ProviderConfigSpec{
				Endpoints: []string{"https://pve.example.com:8006/api2"}, Credentials: ref, PreferredNodes: []string{"pve-node-1", "pve-node-2"},
				TLS: &v1alpha1.ProviderTLS{InsecureSkipTLSVerify: new(false), CACertificate: new("PEM")},
			},
			keys: map[string]string{"tokenID": "virtrigaud@pve!vrtg-token", "tokenSecret": hidden},
		},
		"PVEPassword": {
			reason: "The other names do as well for a user and a password, and where certificates are not verified.",
			vars: map[string]string{
				"PVE_ENDPOINT": "https://192.168.1.100:8006/api2", "PVE_USERNAME": "root@pam", "PVE_PASSWORD": hidden, "PVE_INSECURE_SKIP_VERIFY": "true",
			},
			want: &v1alpha1.ProviderConfigSpec{
				Endpoints: []string{"https://192.168.1.100:8006/api2"}, Credentials: ref, TLS: &v1alpha1.ProviderTLS{InsecureSkipTLSVerify: new(true)},
			},
			keys: map[string]string{"username": "root@pam", "password": hidden},
		},
		"InsecureByShortName": {
			reason: "The short name of the switch does as well.",
			vars: map[string]string{
				"PROXMOX_ENDPOINT": "https://a:8006", "PROXMOX_USERNAME": "root@pam", "PROXMOX_PASSWORD": hidden, "PROXMOX_INSECURE": "true",
			},
			want: &v1alpha1.ProviderConfigSpec{
				Endpoints: []string{"https://a:8006"}, Credentials: ref, TLS: &v1alpha1.ProviderTLS{InsecureSkipTLSVerify: new(true)},
			},
			keys: map[string]string{"username": "root@pam", "password": hidden},
		},
		"NoSecret": {
			reason: "What is missing is named.", vars: map[string]string{"PROXMOX_ENDPOINT": "https://a:8006", "PROXMOX_TOKEN_ID": "a@pve!bc"},
			err: "the environment has a tokenID but no tokenSecret",
		},
		"Insecure": {
			reason: "A switch is true or false.",
			vars: map[string]string{
				"PVE_ENDPOINT": "https://a:8006", "PVE_USERNAME": "a@pve", "PVE_PASSWORD": hidden, "PVE_INSECURE_SKIP_VERIFY": "maybe",
			},
			err: "must be true or false",
		},
		"NoFile": {
			reason: "A file of certificates has to be there.",
			vars: map[string]string{
				"PVE_ENDPOINT": "https://a:8006", "PVE_USERNAME": "a@pve", "PVE_PASSWORD": hidden, "PROXMOX_CA_FILE": "/does/not/exist",
			},
			err: "cannot read the certificates",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ofVariables(tc.vars)
			if (err != nil) != (tc.err != "") || err != nil && (!strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), hidden)) {
				t.Fatalf("\n%s\nwant an error with %q and no secret, got %v", tc.reason, tc.err, err)
			}
			if (got == nil) != (tc.want == nil) {
				t.Fatalf("\n%s\ngot %+v", tc.reason, got)
			}
			if got == nil {
				return
			}
			if diff := cmp.Diff(*tc.want, got.config.Spec) + cmp.Diff(tc.keys, got.secret.StringData); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A variablesCase has the expected meaning of variables: the endpoint and the login, or an error.
type variablesCase struct {
	Name, Reason, Login, Err string
	Variables                map[string]string
	Endpoints                []string
}

// check compares the expectation with the result of the variables.
func (c variablesCase) check(t *testing.T, by string, endpoints []string, got proxmox.Credentials, err error) {
	t.Helper()
	if (err != nil) != (c.Err != "") || err != nil && !strings.Contains(err.Error(), c.Err) {
		t.Fatalf("%s\n%s: want an error with %q, got %v", c.Reason, by, c.Err, err)
	}
	if err != nil && strings.Contains(err.Error(), "hidden") {
		t.Errorf("%s\n%s: the error shows a secret: %v", c.Reason, by, err)
	}
	if err == nil && (login(got) != c.Login || !slices.Equal(endpoints, c.Endpoints)) {
		t.Errorf("%s\n%s: want %s at %q, got %s at %q", c.Reason, by, c.Login, c.Endpoints, login(got), endpoints)
	}
}

// TestVariables checks the endpoint and the login that variables define for the provider and its commands. The cases are also those of make run.
func TestVariables(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "variables.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []variablesCase
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			made, err := ofVariables(tc.Variables)
			if err != nil {
				tc.check(t, "the provider", nil, proxmox.Credentials{}, err)
			} else {
				c, err := connect.SortCredentials(made.secret.StringData, "the Secret")
				tc.check(t, "the provider", made.config.Spec.Endpoints, c, err)
			}
			getenv := func(name string) string { return tc.Variables[name] }
			o := &connectionOptions{}
			o.complete(getenv)
			c, err := o.credentials(getenv)
			tc.check(t, "a command", o.Endpoint, c, err)
		})
	}
}

// login returns USER!TOKEN=SECRET, or USER:PASSWORD.
func login(c proxmox.Credentials) string {
	switch {
	case c.TokenID == "":
		return c.Username + ":" + c.Password
	case strings.Contains(c.TokenID, "!"):
		return c.TokenID + "=" + c.TokenSecret
	default:
		return c.Username + "!" + c.TokenID + "=" + c.TokenSecret
	}
}

// TestVariablesByFlag checks that an endpoint of a flag gets the credentials of variables, whatever endpoint these name.
func TestVariablesByFlag(t *testing.T) {
	variables := map[string]string{
		"PROXMOX_ENDPOINT": "https://a:8006", "PVE_ENDPOINT": "https://b:8006", "PVE_TOKEN": "a@pve!bc=hidden",
	}
	getenv := func(name string) string { return variables[name] }
	o := &connectionOptions{Endpoint: []string{"https://c:8006"}}
	o.complete(getenv)
	if c, err := o.credentials(getenv); err != nil || login(c) != "a@pve!bc=hidden" || o.Endpoint[0] != "https://c:8006" {
		t.Errorf("want the token for the endpoint of the flag, got %s at %q, %v", login(c), o.Endpoint, err)
	}
}

// TestEnvironment creates configurations from variables in a Kubernetes cluster that may already have some.
func TestEnvironment(t *testing.T) {
	env, _ := apiServer(t)
	kube := install(t, env)
	create(t, kube, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "system"}})
	vars := map[string]string{"PVE_ENDPOINT": "https://a:8006", "PVE_USERNAME": "a@pve", "PVE_PASSWORD": "first"}
	madeOf := func() (bool, error) {
		e, err := ofVariables(vars)
		if err != nil {
			t.Fatal(err)
		}
		return e.make(t.Context(), kube, kube)
	}
	config := &namespaced.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "provider-proxmox-environment"}}
	check := func(reason, endpoint, password string) {
		t.Helper()
		for _, o := range []client.Object{config, secret} {
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				t.Fatalf("%s: %v", reason, err)
			}
		}
		if config.Spec.Endpoints[0] != endpoint || string(secret.Data["password"]) != password {
			t.Errorf("%s: got %v and the keys %v", reason, config.Spec.Endpoints, secret.Data)
		}
	}
	foreign := secret.DeepCopy()
	create(t, kube, foreign)
	if made, err := madeOf(); made || err == nil {
		t.Errorf("the Secret of somebody else was taken: %v", err)
	}
	remove(t, kube, foreign)
	if made, err := madeOf(); !made || err != nil {
		t.Fatalf("nothing was made: %v", err)
	}
	check("there was nothing", "https://a:8006", "first")
	vars["PVE_ENDPOINT"], vars["PVE_PASSWORD"] = "https://b:8006", "second"
	if made, err := madeOf(); made || err != nil {
		t.Errorf("a configuration was overwritten: %v", err)
	}
	check("there is one", "https://a:8006", "first")
	remove(t, kube, config)
	if made, err := madeOf(); !made || err != nil {
		t.Fatalf("nothing was made where one was deleted: %v", err)
	}
	check("it was deleted", "https://b:8006", "second")
	remove(t, kube, config)
	vars["PVE_ENDPOINT"] = "http://b:8006"
	if made, err := madeOf(); made || !kerrors.IsInvalid(err) {
		t.Errorf("the rules of configurations do not hold: %v", err)
	}
}

func create(t *testing.T, kube client.Client, o client.Object) {
	t.Helper()
	if err := kube.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, kube client.Client, o client.Object) {
	t.Helper()
	if err := kube.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.SetResourceVersion("")
	o.SetUID("")
}

// TestImportByOtherNames checks that the commands accept the names that other operators use for the variables.
func TestImportByOtherNames(t *testing.T) {
	pve := simulatortest.NewTest(t, simulator.Options{})
	for name, v := range map[string]string{
		"PVE_ENDPOINT": pve.URL() + "/api2", "PVE_CA_BUNDLE": string(pve.CA()),
		"PVE_TOKEN_ID": simulatortest.TestToken, "PVE_TOKEN_SECRET": simulatortest.TestSecret,
	} {
		t.Setenv(name, v)
	}
	files, _ := imported(t, "--vmid", "100")
	if len(files) != 1 {
		t.Errorf("got %d manifests, want one", len(files))
	}
}
