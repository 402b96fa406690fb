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
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/local/controlplane"
)

// The name of the chart's release, which is also that of its Deployment and its ServiceAccount.
const (
	release          = "provider-proxmox"
	releaseNamespace = "proxmox-system"
)

// installChart installs the chart without Crossplane, as in docs/installation.md: definitions, permissions and Deployment.
func (s *suite) installChart() error {
	err := s.helm("install", release, checkout.Resolve("cluster/charts/"+release),
		"--namespace", releaseNamespace, "--create-namespace", "--set", "provider.logLevel=debug")
	if err != nil {
		return err
	}
	_, err = s.RunKubectl(s.ctx, "wait", "--for=condition=Established", "--timeout="+maxWait.String(), "customresourcedefinitions", "--all")
	return err
}

// helm runs Helm, which keeps its files in the directory of the run.
func (s *suite) helm(args ...string) error {
	program := os.Getenv("HELM")
	if program == "" {
		return errors.New("HELM is not set: run \"make e2e\"")
	}
	helm := exec.CommandContext(s.ctx, program, args...)
	helm.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig,
		"HELM_CACHE_HOME="+s.Dir, "HELM_CONFIG_HOME="+s.Dir, "HELM_DATA_HOME="+s.Dir)
	if output, err := helm.CombinedOutput(); err != nil {
		return fmt.Errorf("helm %s: %w\n%s", args[0], err, output)
	}
	return nil
}

// deployed returns the arguments that the chart's Deployment gives the provider, and the path of a kubeconfig with the token that
// its Pod would have.
func (s *suite) deployed() ([]string, string, error) {
	d := &appsv1.Deployment{}
	if err := s.Kube.Get(s.ctx, client.ObjectKey{Namespace: releaseNamespace, Name: release}, d); err != nil {
		return nil, "", err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: releaseNamespace, Name: d.Spec.Template.Spec.ServiceAccountName,
	}}
	token := &authenticationv1.TokenRequest{}
	if err := s.Kube.SubResource("token").Create(s.ctx, account, token); err != nil {
		return nil, "", err
	}
	config, path := s.Kube.Config(), filepath.Join(s.Dir, "provider-kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{release: {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{release: {Token: token.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{release: {Cluster: release, AuthInfo: release}},
		CurrentContext: release,
	}, path)
	return d.Spec.Template.Spec.Containers[0].Args, path, err
}

// testRights checks that the chart's permissions for the provider include all that it has requested in the whole run, and what it requests when one of
// several replicas is the leader and when tenants have quotas.
func (s *suite) testRights(t *testing.T) {
	denials, err := controlplane.Denials(s.Dir, releaseNamespace, release)
	if err != nil {
		t.Fatal(err)
	}
	if len(denials) > 0 {
		t.Errorf("the API server has denied the provider:\n%s", strings.Join(denials, "\n"))
	}
	for _, verb := range []string{"get", "create", "update"} {
		account := fmt.Sprintf("--as=system:serviceaccount:%s:%s", releaseNamespace, release)
		for what, why := range map[string]string{
			"leases.coordination.k8s.io": "the lease of the one that leads", "configmaps": "the accounts of tenants with a quota",
		} {
			if got := s.kubectl(t, "auth", "can-i", verb, what, account, "--namespace", releaseNamespace); got != "yes" {
				t.Errorf("the provider may not %s %s: %s", verb, why, got)
			}
		}
	}
	for _, verb := range []string{"get", "list", "watch"} {
		account := fmt.Sprintf("--as=system:serviceaccount:%s:%s", releaseNamespace, release)
		if got := s.kubectl(t, "auth", "can-i", verb, "namespaces", account); !strings.HasSuffix(strings.TrimSpace(got), "yes") { // It may follow a warning.
			t.Errorf("the provider may not %s the labels of namespaces that select tenants: %s", verb, got)
		}
	}
}
