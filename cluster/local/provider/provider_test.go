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

package provider

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// readCA simulates a folder that contains only ca.pem.
func readCA(path string) ([]byte, error) {
	if path != "ca.pem" {
		return nil, errors.New("no such file")
	}
	return []byte("PEM"), nil
}

func TestFromEnvironment(t *testing.T) {
	const secret = "very-secret"
	token := Credentials{Username: "crossplane@pve", TokenID: "demo", TokenSecret: secret}
	cases := map[string]struct {
		reason string
		env    map[string]string
		want   Connection
		fails  string
	}{
		"Token": {
			reason: "a whole token id names its user",
			env:    map[string]string{"PROXMOX_ENDPOINT": "https://pve:8006", "PROXMOX_TOKEN_ID": "crossplane@pve!demo", "PROXMOX_TOKEN_SECRET": secret},
			want:   Connection{Endpoints: []string{"https://pve:8006"}, Credentials: token},
		},
		"TokenName": {
			reason: "a token's name stands beside its user",
			env: map[string]string{
				"PROXMOX_ENDPOINT": "https://pve:8006", "PROXMOX_USERNAME": "crossplane@pve",
				"PROXMOX_TOKEN_ID": "demo", "PROXMOX_TOKEN_SECRET": secret,
			},
			want: Connection{Endpoints: []string{"https://pve:8006"}, Credentials: token},
		},
		"Password": {
			reason: "a user with a password is accepted, and so are several endpoints",
			env:    map[string]string{"PROXMOX_ENDPOINT": "https://a:8006, https://b:8006", "PROXMOX_USERNAME": "root@pam", "PROXMOX_PASSWORD": secret},
			want:   Connection{Endpoints: []string{"https://a:8006", "https://b:8006"}, Credentials: Credentials{Username: "root@pam", Password: secret}},
		},
		"PVE": {
			reason: "the names that other providers use are accepted",
			env: map[string]string{
				"PVE_ENDPOINT": "https://pve:8006/api2", "PVE_TOKEN_ID": "crossplane@pve!demo", "PVE_TOKEN_SECRET": secret,
				"PVE_INSECURE_SKIP_VERIFY": "true", "PVE_CA_BUNDLE": "BUNDLE", "PVE_NODE_SELECTOR": "a, b",
			},
			want: Connection{
				Endpoints: []string{"https://pve:8006/api2"}, CA: "BUNDLE", InsecureSkipTLSVerify: true, Nodes: []string{"a", "b"}, Credentials: token,
			},
		},
		"Insecure": {
			reason: "the short name of the switch does as well",
			env: map[string]string{
				"PROXMOX_ENDPOINT": "https://pve:8006", "PROXMOX_TOKEN_ID": "crossplane@pve!demo", "PROXMOX_TOKEN_SECRET": secret, "PROXMOX_INSECURE": "true",
			},
			want: Connection{Endpoints: []string{"https://pve:8006"}, InsecureSkipTLSVerify: true, Credentials: token},
		},
		"WholeToken": {
			reason: "a token may be whole",
			env:    map[string]string{"PROXMOX_ENDPOINT": "https://pve:8006", "PROXMOX_TOKEN": "crossplane@pve!demo=" + secret},
			want:   Connection{Endpoints: []string{"https://pve:8006"}, Credentials: token},
		},
		"NoWholeToken": {
			reason: "a token has a secret", env: map[string]string{"PROXMOX_ENDPOINT": "https://pve:8006", "PROXMOX_TOKEN": "crossplane@pve!demo"},
			fails: "PROXMOX_TOKEN is not of the form",
		},
		"CAFile": {
			reason: "certificates come from a file",
			env: map[string]string{
				"PROXMOX_ENDPOINT": "https://pve:8006", "PROXMOX_TOKEN_ID": "crossplane@pve!demo",
				"PROXMOX_TOKEN_SECRET": secret, "PROXMOX_CA_FILE": "ca.pem",
			},
			want: Connection{Endpoints: []string{"https://pve:8006"}, CA: "PEM", Credentials: token},
		},
		"NoEndpoint": {
			reason: "the endpoint is required",
			env:    map[string]string{"PROXMOX_TOKEN_ID": "a@pve!b", "PROXMOX_TOKEN_SECRET": secret}, fails: "PROXMOX_ENDPOINT",
		},
		"PlainHTTP": {reason: "credentials do not travel in clear", env: map[string]string{"PROXMOX_ENDPOINT": "http://pve:8006"}, fails: "https://"},
		"Nothing":   {reason: "without credentials both ways are named", env: map[string]string{"PROXMOX_ENDPOINT": "https://pve:8006"}, fails: "PROXMOX_PASSWORD"},
		"NoSecret": {
			reason: "a token needs its secret",
			env:    map[string]string{"PROXMOX_ENDPOINT": "https://pve:8006", "PROXMOX_TOKEN_ID": "a@pve!b"}, fails: "PROXMOX_TOKEN_SECRET is not set",
		},
		"NoTokenID": {
			reason: "a secret needs its token",
			env:    map[string]string{"PROXMOX_ENDPOINT": "https://pve:8006", "PROXMOX_TOKEN_SECRET": secret}, fails: "PROXMOX_TOKEN_ID is not set",
		},
		"NoPassword": {
			reason: "a user needs a password",
			env:    map[string]string{"PROXMOX_ENDPOINT": "https://pve:8006", "PROXMOX_USERNAME": "root@pam"}, fails: "PROXMOX_PASSWORD is not set",
		},
		"NoUser": {
			reason: "a token belongs to a user",
			env:    map[string]string{"PROXMOX_ENDPOINT": "https://pve:8006", "PROXMOX_TOKEN_ID": "demo", "PROXMOX_TOKEN_SECRET": secret}, fails: "PROXMOX_USERNAME",
		},
		"BadInsecure": {
			reason: "a switch is true or false",
			env: map[string]string{
				"PROXMOX_ENDPOINT": "https://pve:8006", "PROXMOX_TOKEN_ID": "a@pve!b", "PROXMOX_TOKEN_SECRET": secret,
				"PROXMOX_INSECURE_SKIP_TLS_VERIFY": "maybe",
			},
			fails: "maybe",
		},
		"NoCAFile": {
			reason: "a file of certificates must be there",
			env: map[string]string{
				"PROXMOX_ENDPOINT": "https://pve:8006", "PROXMOX_TOKEN_ID": "a@pve!b", "PROXMOX_TOKEN_SECRET": secret,
				"PROXMOX_CA_FILE": "none.pem",
			},
			fails: "PROXMOX_CA_FILE",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := FromEnvironment(func(n string) string { return tc.env[n] }, readCA)
			if (err != nil) != (tc.fails != "") || (err != nil && !strings.Contains(err.Error(), tc.fails)) {
				t.Fatalf("%s: it fails with %v, want %q", tc.reason, err, tc.fails)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error %q shows a secret", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestVariables checks that variables define the same endpoint and login as in the provider and its commands, whose test has the cases.
func TestVariables(t *testing.T) {
	data, err := os.ReadFile("../../../cmd/provider/testdata/variables.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Reason, Login, Err string
		Variables                map[string]string
		Endpoints                []string
	}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			got, err := FromEnvironment(func(n string) string { return tc.Variables[n] }, readCA)
			if (err != nil) != (tc.Err != "") || err != nil && !strings.Contains(err.Error(), tc.Err) {
				t.Fatalf("%s\nwant an error with %q, got %v", tc.Reason, tc.Err, err)
			}
			if err != nil && strings.Contains(err.Error(), "hidden") {
				t.Errorf("%s\nthe error shows a secret: %v", tc.Reason, err)
			}
			if err == nil && (login(got.Credentials) != tc.Login || !slices.Equal(got.Endpoints, tc.Endpoints)) {
				t.Errorf("%s\nwant %s at %q, got %s at %q", tc.Reason, tc.Login, tc.Endpoints, login(got.Credentials), got.Endpoints)
			}
		})
	}
}

// login returns USER!TOKEN=SECRET, or USER:PASSWORD.
func login(c Credentials) string {
	if c.TokenID == "" {
		return c.Username + ":" + c.Password
	}
	return c.Username + "!" + c.TokenID + "=" + c.TokenSecret
}

func TestObjects(t *testing.T) {
	c := Connection{
		Endpoints:   []string{"https://pve:8006"},
		CA:          "PEM",
		Nodes:       []string{"pve1"},
		Credentials: Credentials{Username: "crossplane@pve", TokenID: "demo", TokenSecret: "s"},
	}
	objs, err := c.Objects()
	if err != nil {
		t.Fatal(err)
	}

	var order []string
	for _, o := range objs {
		order = append(order, strings.Join([]string{o.GetKind(), o.GetNamespace(), o.GetName()}, "/"))
	}
	want := []string{
		"Namespace//crossplane-system",
		"Secret/crossplane-system/proxmox-credentials",
		"Secret/default/proxmox-credentials",
		"ProviderConfig//default",
		"ClusterProviderConfig//default",
		"ProviderConfig/default/default",
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Fatalf("Objects: -want, +got:\n%s", diff)
	}
	checkSecret(t, objs[1], c.Credentials)
	checkConfig(t, objs[3], "crossplane-system")
	checkConfig(t, objs[4], "crossplane-system")
	checkConfig(t, objs[5], "")
}

func checkSecret(t *testing.T, o *unstructured.Unstructured, want Credentials) {
	t.Helper()
	text, _, err := unstructured.NestedString(o.Object, "stringData", "credentials")
	if err != nil {
		t.Fatal(err)
	}
	var got Credentials
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the Secret holds: -want, +got:\n%s", diff)
	}
	if strings.Contains(text, "password") {
		t.Errorf("the Secret %q has a password beside the token", text)
	}
}

func checkConfig(t *testing.T, o *unstructured.Unstructured, namespace string) {
	t.Helper()
	ref := map[string]any{"name": "proxmox-credentials", "key": "credentials"}
	if namespace != "" {
		ref["namespace"] = namespace
	}
	want := map[string]any{
		"endpoints":   []any{"https://pve:8006"},
		"tls":         map[string]any{"insecureSkipTLSVerify": false, "caCertificate": "PEM"},
		"credentials": map[string]any{"source": "Secret", "secretRef": ref}, "preferredNodes": []any{"pve1"},
	}
	if diff := cmp.Diff(want, o.Object["spec"]); diff != "" {
		t.Errorf("%s %s: -want, +got:\n%s", o.GetAPIVersion(), o.GetKind(), diff)
	}
}

func TestSpecHandsOnNoSecret(t *testing.T) {
	spec, err := Spec("/bin/provider", "/run/kubeconfig", []string{
		"LOG_LEVEL=debug", "PROXMOX_PASSWORD=p", "PVE_TOKEN_SECRET=s", "PROXMOX_TOKEN_SECRET_X=kept", "PROXMOX_ENDPOINT=e",
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(spec.Args) > 0 {
		t.Errorf("the provider gets the arguments %q", spec.Args)
	}
	for _, want := range []string{"LOG_LEVEL=debug", "PROXMOX_TOKEN_SECRET_X=kept", "KUBECONFIG=/run/kubeconfig"} {
		if !slices.Contains(spec.Env, want) {
			t.Errorf("the environment lacks %q: %q", want, spec.Env)
		}
	}
	for _, e := range spec.Env {
		if strings.HasPrefix(e, "PROXMOX_PASSWORD=") || strings.HasPrefix(e, "PVE_TOKEN_SECRET=") || strings.HasPrefix(e, "PROXMOX_ENDPOINT=") {
			t.Errorf("the environment holds %q", e)
		}
	}
}
