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
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
	"github.com/vitistack/provider-proxmox/package"
)

func TestCheck(t *testing.T) {
	all := []string{"Connected", "Authenticated", "VersionSupported", "Permitted", "Quorate", "CertificateVerified"}
	cases := map[string]struct {
		reason string
		set    map[string]string
		args   []string
		want   string // status of each condition
		has    string
		err    error
	}{
		"Ready": {reason: "The provider can work.", want: "True True True True True True", has: "9.2"},
		"Forbidden": {
			reason: "A privilege is missing.", args: []string{"--feature=Nodes"},
			want: "True True True False True True", has: "pveum acl modify", err: errNotReady,
		},
		"Secret": {
			reason: "The secret is another one.", set: map[string]string{"PROXMOX_TOKEN": simulatortest.TestToken + "=x"},
			want: "True False Unknown Unknown Unknown True", has: "TokenRefused", err: errNotReady,
		},
		"Password": {
			reason: "A password gets a ticket.",
			set:    map[string]string{"PROXMOX_TOKEN": "", "PROXMOX_USERNAME": "root@pam", "PROXMOX_PASSWORD": simulatortest.RootPassword},
			want:   "True True True True True True", has: "9.2",
		},
		"PasswordRefused": {
			reason: "The password is another one.",
			set:    map[string]string{"PROXMOX_TOKEN": "", "PROXMOX_USERNAME": "root@pam", "PROXMOX_PASSWORD": "x"},
			want:   "True False Unknown Unknown Unknown True", has: "PasswordRefused", err: errNotReady,
		},
		"CA": {
			reason: "Nobody knows the CA.", set: map[string]string{"PROXMOX_CA_FILE": ""},
			want: "False Unknown Unknown Unknown Unknown True", has: "UnknownAuthority", err: errNotReady,
		},
		"Insecure": {
			reason: "Nobody needs the CA where certificates are not verified.", set: map[string]string{"PROXMOX_CA_FILE": "", "PROXMOX_INSECURE": "true"},
			want: "True True True True True False", has: "InsecureSkipTLSVerify",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pve := simulatortest.NewTest(t, simulator.Options{})
			environ(t, pve)
			for name, value := range tc.set {
				t.Setenv(name, value)
			}
			var out bytes.Buffer
			err := checkConnection(t.Context(), tc.args, &out)
			if diff := cmp.Diff(tc.err, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("\n%s\n-want error, +got error:\n%s", tc.reason, diff)
			}
			var kinds, states []string
			for line := range strings.Lines(out.String()) {
				fields := strings.Fields(line)
				kinds, states = append(kinds, fields[0]), append(states, fields[1])
			}
			if diff := cmp.Diff(all, kinds); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, strings.Join(states, " ")); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s\n%s", tc.reason, diff, out.String())
			}
			if text := out.String(); !strings.Contains(text, tc.has) || strings.Contains(text, simulatortest.TestSecret) {
				t.Errorf("\n%s\nwant %q and no secret, got\n%s", tc.reason, tc.has, text)
			}
			if w := written(pve); len(w) > 0 {
				t.Errorf("a check writes: %v", w)
			}
		})
	}
}

// TestCheckByProviderConfig checks connections of provider configurations of all kinds.
func TestCheckByProviderConfig(t *testing.T) {
	env, o := apiServer(t)
	kube := install(t, env)
	pve := simulatortest.NewTest(t, simulator.Options{})
	all := configured(pve)
	secret, own, shared, team := all[0], all[1], all[2], all[3]
	strict := shared.DeepCopyObject().(*namespaced.ClusterProviderConfig)
	strict.Spec.Features = []v1alpha1.ProviderFeature{"Nodes"} // The token lacks a privilege for this feature.
	lab := strict.DeepCopy()
	lab.Name = "lab"
	const both = "there are ProviderConfig/default and ClusterProviderConfig/default, which differ: name one with --provider-config,"
	cases := map[string]struct {
		reason  string
		objects []client.Object
		standIn string
		args    []string
		has     string
		err     string
	}{
		"ClusterProviderConfig": {reason: "The configuration of the guides is found by its name.", objects: []client.Object{secret, shared}, has: "Permitted True"},
		"ProviderConfig": {
			reason: "A ProviderConfig of cluster-scoped resources is found by its name.", objects: []client.Object{secret, own}, has: "Permitted True",
		},
		"Same": {reason: "Two that say the same are as good as one.", objects: []client.Object{secret, own, shared}, has: "Permitted True"},
		"Both": {reason: "One of two that differ has to be named.", objects: []client.Object{secret, own, strict}, err: both},
		"OfBoth": {
			reason: "The kind names one of two.", objects: []client.Object{secret, own, strict},
			args: []string{"--provider-config-kind", "ProviderConfig"}, has: "Permitted True",
		},
		"OtherOfBoth": {
			reason: "The kind names the other one of two.", objects: []client.Object{secret, own, strict},
			args: []string{"--provider-config-kind", "ClusterProviderConfig"}, has: "Permitted False", err: errNotReady.Error(),
		},
		"Namespace": {
			reason: "Resources with a namespace use the ClusterProviderConfig unless they say otherwise.", objects: []client.Object{secret, own, strict},
			args: []string{"-n", "default"}, has: "Permitted False", err: errNotReady.Error(),
		},
		"Own": {
			reason: "A namespace may have one of its own.", objects: []client.Object{secret, strict, team},
			args: []string{"-n", "default", "--provider-config-kind", "ProviderConfig", "--provider-config", "own"}, has: "Permitted True",
		},
		"StandIn": {
			reason: "Another configuration stands in for a missing default.", objects: []client.Object{secret, lab}, standIn: "lab",
			has: "Permitted False", err: errNotReady.Error(),
		},
		"Missing": {
			reason: "Configurations that there are instead are named.", objects: []client.Object{secret, lab, team},
			err: "there is no ProviderConfig/default and no ClusterProviderConfig/default, " +
				"but ClusterProviderConfig/lab, ProviderConfig/default/own: name one with --provider-config,",
		},
		"Nothing": {
			reason: "A cluster without any configuration is said to have none.",
			err:    "no ClusterProviderConfig/default, nor any other provider configuration",
		},
		"NoSecret": {reason: "A missing Secret is named.", objects: []client.Object{shared}, err: `cannot read secret "default/pve": it does not exist`},
	}
	t.Setenv("PROXMOX_ENDPOINT", "")
	t.Setenv("PVE_ENDPOINT", "")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PROXMOX_DEFAULT_CLUSTER", tc.standIn)
			for _, object := range tc.objects {
				object = object.DeepCopyObject().(client.Object)
				create(t, kube, object)
				t.Cleanup(func() { _ = kube.Delete(context.Background(), object) })
			}
			var out bytes.Buffer
			err := checkConnection(t.Context(), append([]string{"--kubeconfig", o.Kubeconfig, "--provider-config", "default"}, tc.args...), &out)
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("\n%s\nwant an error with %q, got %v", tc.reason, tc.err, err)
			}
			if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, tc.has) || strings.Contains(text, simulatortest.TestSecret) {
				t.Errorf("\n%s\nwant %q and no secret, got\n%s", tc.reason, tc.has, out.String())
			}
		})
	}
}

// TestCheckUnconnected checks a configuration without a connection.
func TestCheckUnconnected(t *testing.T) {
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	t.Setenv("PROXMOX_ENDPOINT", "")
	if err := checkConnection(t.Context(), nil, &bytes.Buffer{}); err == nil || errors.Is(err, errNotReady) {
		t.Errorf("want what is lacking, got %v", err)
	}
}

// TestConnectionOfEnvironment checks that a named provider configuration takes precedence over an endpoint of the environment.
func TestConnectionOfEnvironment(t *testing.T) {
	variables := map[string]string{"PVE_ENDPOINT": "https://a:8006, https://b:8006"}
	cases := map[string]struct {
		reason string
		given  connectionOptions
		want   connectionOptions
	}{
		"Nothing": {
			reason: "The endpoints of the environment are taken.",
			want:   connectionOptions{Endpoint: []string{"https://a:8006", "https://b:8006"}, ProviderConfig: "default", byVariables: true},
		},
		"Endpoint": {
			reason: "A flag goes before a variable, and manifests may name a configuration beside it.",
			given:  connectionOptions{Endpoint: []string{"https://c:8006"}, ProviderConfig: "lab"},
			want:   connectionOptions{Endpoint: []string{"https://c:8006"}, ProviderConfig: "lab"},
		},
		"ProviderConfig": {
			reason: "The provider configuration that is named is used.",
			given:  connectionOptions{ProviderConfig: "lab"},
			want:   connectionOptions{ProviderConfig: "lab", endpointOfVariables: []string{"https://a:8006", "https://b:8006"}},
		},
		"Default": {
			reason: "The default configuration is used if it is named.",
			given:  connectionOptions{ProviderConfig: "default"},
			want:   connectionOptions{ProviderConfig: "default", endpointOfVariables: []string{"https://a:8006", "https://b:8006"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.given.complete(func(name string) string { return variables[name] })
			if diff := cmp.Diff(tc.want, tc.given, cmp.AllowUnexported(connectionOptions{})); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFeatureNames checks that the help names the features that the definition of provider configurations allows.
func TestFeatureNames(t *testing.T) {
	file, err := definitions.Files.ReadFile("crds/proxmox.vitistack.io_providerconfigs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(file), "A ProviderFeature is")
	_, text, _ = strings.Cut(text, "enum:")
	text, _, _ = strings.Cut(text, "type:")
	var want []string
	for name := range strings.FieldsSeq(strings.ReplaceAll(text, "-", "")) {
		want = append(want, name)
	}
	got := strings.Split(featureNames(), ",")
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-definition, +help:\n%s", diff)
	}
}
