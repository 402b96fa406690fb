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
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// imported returns the manifests that a run wrote, by file, and its report.
func imported(t *testing.T, args ...string) (files map[string]string, report string) {
	t.Helper()
	folder, told := t.TempDir(), filepath.Join(t.TempDir(), "report.yaml")
	if err := importVMs(t.Context(), append([]string{"write", "--output", folder, "--report", told}, args...)); err != nil {
		t.Fatalf("import %q: %v", args, err)
	}
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for _, name := range append(names, told) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if name == told {
			report = string(b)
			continue
		}
		files[filepath.Base(name)] = string(b)
	}
	return files, report
}

// written returns the requests to a simulator other than reads and logins.
func written(pve *simulator.Server) (all []string) {
	for _, r := range pve.Requests() {
		if r.Method != http.MethodGet && !strings.HasSuffix(r.Path, "/access/ticket") {
			all = append(all, r.Method+" "+r.Path)
		}
	}
	return all
}

// environ sets the environment of a run that connects directly.
func environ(t *testing.T, pve *simulator.Server) {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, pve.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]string{
		"PROXMOX_ENDPOINT": pve.URL(), "PROXMOX_CA_FILE": ca,
		"PROXMOX_TOKEN": simulatortest.TestToken + "=" + simulatortest.TestSecret, "PROXMOX_TOKEN_ID": "", "PROXMOX_TOKEN_SECRET": "",
	} {
		t.Setenv(name, v)
	}
}

func TestImportDirectly(t *testing.T) {
	pve := simulatortest.NewTest(t, simulator.Options{})
	environ(t, pve)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(simulatortest.TestToken+"="+simulatortest.TestSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		args   []string
		files  []string
		has    string
	}{
		"All": {
			reason: "All VMs have a manifest that looks only.", files: []string{"archive.yaml", "router.yaml"},
			has: "apiVersion: proxmox.vitistack.io/v1alpha1\nkind: Machine\nmetadata:\n  name: router\n",
		},
		"Filter": {
			reason: "Others are left out.", args: []string{"--name", "r*", "--node", "pve1"}, files: []string{"router.yaml"},
			has: "managementPolicies:\n    - Observe\n",
		},
		"Namespaced": {
			reason: "Machines may have a namespace.", args: []string{"--vmid", "100", "-n", "team-a"}, files: []string{"router.yaml"},
			has: "apiVersion: proxmox.m.vitistack.io/v1alpha1\nkind: Machine\nmetadata:\n  namespace: team-a\n  name: router\n",
		},
		"Manage": {
			reason: "Machines manage their VMs on request.", args: []string{"--vmid", "100", "--manage"}, files: []string{"router.yaml"},
			has: "managementPolicies:\n    - \"*\"\n  forProvider:\n",
		},
		"Config": {
			reason: "Manifests name the provider configuration.", args: []string{"--vmid", "100", "--provider-config", "site"},
			files: []string{"router.yaml"}, has: "providerConfigRef:\n    name: site\n",
		},
		"Kind": {
			reason: "Manifests name the kind of the provider configuration, where there are two.",
			args:   []string{"--vmid", "100", "-n", "team-a", "--provider-config-kind", "ProviderConfig"}, files: []string{"router.yaml"},
			has: "providerConfigRef:\n    kind: ProviderConfig\n    name: default\n",
		},
		"File": {
			reason: "Credentials may be in a file.", args: []string{"--vmid", "100", "--credentials-file", file}, files: []string{"router.yaml"},
			has: "crossplane.io/external-name: \"100\"",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files, report := imported(t, tc.args...)
			var got []string
			for _, name := range []string{"archive.yaml", "router.yaml"} {
				if files[name] != "" {
					got = append(got, name)
				}
			}
			if diff := cmp.Diff(tc.files, got); diff != "" || len(files) != len(tc.files) {
				t.Errorf("\n%s\nfiles: -want, +got:\n%s", tc.reason, diff)
			}
			if !strings.Contains(files["router.yaml"], tc.has) || !strings.Contains(report, "manifest: router") {
				t.Errorf("\n%s\nwant %q in\n%s\nand the VM in the report\n%s", tc.reason, tc.has, files["router.yaml"], report)
			}
		})
	}
	if w := written(pve); len(w) > 0 {
		t.Errorf("something was written: %q", w)
	}
}

func TestImportFails(t *testing.T) {
	pve := simulatortest.NewTest(t, simulator.Options{})
	environ(t, pve)
	cases := map[string]struct {
		reason string
		env    map[string]string
		args   []string
		want   string
	}{
		"NoGuest":        {reason: "What is asked for has to be there.", args: []string{"list", "--name", "nowhere"}, want: "no guest fits"},
		"NoGuestToWrite": {reason: "A guest whose manifest is asked for has to be there.", args: []string{"write", "--vmid", "99999"}, want: "no guest fits"},
		"Pattern":        {reason: "A pattern has to be one.", args: []string{"list", "--name", "[a"}, want: "pattern"},
		"Credentials": {
			reason: "Credentials are needed, and told by name.", env: map[string]string{"PROXMOX_TOKEN": ""}, args: []string{"list"},
			want: "PROXMOX_USERNAME with PROXMOX_PASSWORD: the environment has neither",
		},
		"Token": {
			reason: "A wrong token is said so.",
			env:    map[string]string{"PROXMOX_TOKEN": "crossplane@pve!demo=11111111-1111-4111-8111-111111111111"}, args: []string{"list"},
			want: "Authentication failed",
		},
		"CA": {
			reason: "The certificate of the server is verified.",
			env:    map[string]string{"PROXMOX_CA_FILE": ""}, args: []string{"list"}, want: "unknown authority",
		},
		"NoFile": {
			reason: "A file of certificates has to be there.", env: map[string]string{"PROXMOX_CA_FILE": "/does/not/exist"},
			args: []string{"list"}, want: "cannot read the certificates",
		},
		"NoSecret": {
			reason: "A file of credentials has to be there.", args: []string{"list", "--credentials-file", "/does/not/exist"},
			want: "cannot read credentials",
		},
		"Endpoint": {
			reason: "Something has to be connected to.", env: map[string]string{"PROXMOX_ENDPOINT": "", "KUBECONFIG": "", "HOME": t.TempDir()},
			args: []string{"list"}, want: "there is no --endpoint to connect to",
		},
		"Namespace": {reason: "Names of manifests are those that Kubernetes takes.", args: []string{"list", "-n", "Team A"}, want: "is not a name of a namespace"},
		"Config": {
			reason: "The name of a provider configuration is one that Kubernetes takes.", args: []string{"list", "--provider-config", "a b"},
			want: "is not a name of a provider configuration",
		},
		"ConfigKind": {
			reason: "Cluster-scoped Machines cannot use it.", args: []string{"write", "--provider-config-kind", "ClusterProviderConfig"},
			want: "cluster-scoped Machines use a ProviderConfig",
		},
		"Folder": {reason: "Manifests go into a folder.", args: []string{"write", "-o", "/dev/null/x"}, want: "cannot make the folder"},
		"Report": {
			reason: "A report that cannot be written is told.",
			args:   []string{"write", "-o", filepath.Join(t.TempDir(), "x"), "--report", "/does/not/exist"}, want: "cannot write the report",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for k, v := range tc.env {
				t.Setenv(k, v)
			}
			err := importVMs(t.Context(), tc.args)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("\n%s\nimport: want an error with %q, got %v", tc.reason, tc.want, err)
			}
			if err != nil && strings.Contains(err.Error(), "11111111-1111") {
				t.Errorf("\n%s\nthe error has the secret: %v", tc.reason, err)
			}
		})
	}
}

// TestImportInterrupted checks that an interrupted run does not report calls that were canceled.
func TestImportInterrupted(t *testing.T) {
	environ(t, simulatortest.NewTest(t, simulator.Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := importVMs(ctx, []string{"list"})
	if !errors.Is(err, errInterrupted) || exitCode(err) != 130 {
		t.Errorf("want 130 for an interruption, got %d for %v", exitCode(err), err)
	}
}

// TestImportByProviderConfig checks that a provider configuration is sufficient for an import, and that a VM with a Machine gets no other.
func TestImportByProviderConfig(t *testing.T) {
	env, o := apiServer(t)
	kube := install(t, env)
	pve := simulatortest.NewTest(t, simulator.Options{})
	all := configured(pve)
	own := all[1] // Of cluster-scoped Machines, which use no other kind.
	for _, object := range slices.Delete(slices.Clone(all), 1, 2) {
		create(t, kube, object)
	}
	t.Setenv("PROXMOX_DEFAULT_CLUSTER", "own")
	err := importVMs(t.Context(), []string{"write", "--kubeconfig", o.Kubeconfig})
	if want := "there is no ProviderConfig/default, but ClusterProviderConfig/default"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q for cluster-scoped Machines, got %v", want, err)
	}
	if got := listed(t, "--kubeconfig", o.Kubeconfig); !strings.Contains(got, "name: router\n") {
		t.Errorf("a list is good for Machines of any scope, got\n%s", got)
	}
	create(t, kube, own)
	for name, args := range map[string][]string{
		"Cluster":        nil,
		"StandIn":        {"-n", "default", "--provider-config-kind", "ProviderConfig"},
		"Namespaced":     {"-n", "default"},
		"OwnOfNamespace": {"-n", "default", "--provider-config-kind", "ProviderConfig", "--provider-config", "own"},
	} {
		t.Run(name, func(t *testing.T) {
			files, _ := imported(t, append(args, "--kubeconfig", o.Kubeconfig)...)
			if len(files) != 2 {
				t.Errorf("%d files, want those of 2 VMs", len(files))
			}
			for name, file := range files {
				m := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(file), &m.Object); err != nil {
					t.Fatal(err)
				}
				if err := kube.Create(t.Context(), m, client.DryRunAll); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	var uuid string
	pve.Edit(func(s *simulator.State) { uuid = strings.TrimPrefix(s.Guests[100].Config["smbios1"], "uuid=") })
	router := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "gateway", Annotations: map[string]string{object.AnnotationUUID: uuid, meta.AnnotationKeyExternalName: "100"},
	}}
	if err := kube.Create(t.Context(), router); err != nil {
		t.Fatal(err)
	}
	files, report := imported(t, "--kubeconfig", o.Kubeconfig)
	if files["router.yaml"] != "" || !strings.Contains(report, "skipped: it is Machine default/gateway already") {
		t.Errorf("a VM that has a Machine: got\n%s\nand the report\n%s", files["router.yaml"], report)
	}
	again := []string{"--kubeconfig", o.Kubeconfig, "-n", "default", "--vmid", "100"}
	if err := kube.Delete(t.Context(), router); err != nil {
		t.Fatal(err)
	}
	router.ObjectMeta = metav1.ObjectMeta{Namespace: "default", Name: "router", Annotations: router.Annotations}
	if err := kube.Create(t.Context(), router); err != nil {
		t.Fatal(err)
	}
	if files, report := imported(t, again...); len(files) != 0 || !strings.Contains(report, "already: --existing writes its manifest again") {
		t.Errorf("a VM that its own Machine has: got %v and the report\n%s", files, report)
	}
	if files, _ := imported(t, append(again, "--existing")...); files["router.yaml"] == "" {
		t.Errorf("want the manifest that is asked for again, got %v", files)
	}
	if got := listed(t, "--kubeconfig", o.Kubeconfig); !strings.Contains(got, "machine: default/router\n") || strings.Count(got, "machine:") != 1 {
		t.Errorf("the list must name the Machine of the VM alone, got\n%s", got)
	}
}

// listed returns the list of guests as YAML.
func listed(t *testing.T, args ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "list")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdout
	os.Stdout = file
	err = importVMs(t.Context(), append([]string{"list", "--output", "yaml"}, args...))
	os.Stdout = before
	b, read := os.ReadFile(name)
	if err := errors.Join(err, file.Close(), read); err != nil {
		t.Fatalf("list %q: %v", args, err)
	}
	return string(b)
}

// configured returns provider configurations of all kinds, with a Secret.
func configured(pve *simulator.Server) []client.Object {
	spec := v1alpha1.ProviderConfigSpec{
		Endpoints: []string{pve.URL()}, TLS: &v1alpha1.ProviderTLS{CACertificate: new(string(pve.CA()))},
		Credentials: v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{
			SecretReference: v1alpha1.SecretReference{Namespace: new("default"), Name: "pve"},
		}},
	}
	own := *spec.DeepCopy()
	own.Credentials.SecretRef.Namespace = nil
	return []client.Object{
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pve"},
			StringData: map[string]string{"tokenID": simulatortest.TestToken, "tokenSecret": simulatortest.TestSecret},
		},
		&cluster.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: spec},
		&namespaced.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: spec},
		&namespaced.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "own"}, Spec: own},
	}
}
