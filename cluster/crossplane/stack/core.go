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

package stack

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vitistack/provider-proxmox/cluster/local/assets"
	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/local/kube"
	"github.com/vitistack/provider-proxmox/cluster/local/repository"
)

// The ports of Crossplane. All Pods share one network here, and Crossplane calls functions at the port of its own webhooks. The RBAC manager cannot be
// configured to use another port than 8080.
const (
	webhookPort  = 9444
	healthPort   = 8082
	metricsPort  = 8083
	functionPort = 9443
)

// A Core is a version of Crossplane, without packages.
type Core struct {
	assets   assets.Provider
	programs assets.Set
	module   string
	// values are the values of the chart that are only for this version.
	values []string
}

// Crossplane2 returns the newest Crossplane. It activates nothing by default: tests select the kinds.
func Crossplane2(repo repository.Repository) Core {
	return Core{
		assets: commands.CrossplaneAssets(repo), programs: assets.CrossplaneCore(), module: assets.CrossplaneModule,
		values: []string{"provider.defaultActivations=null", "args={--enable-operations}"},
	}
}

// Crossplane1 returns the last release of Crossplane 1.
func Crossplane1(repo repository.Repository) Core {
	return Core{assets: commands.Crossplane1Assets(repo), programs: assets.Crossplane1Core(), module: assets.Crossplane1Module}
}

// installCore installs Crossplane by its chart.
func (s *Stack) installCore(ctx context.Context) error {
	source, err := s.core.assets.Source(ctx, s.core.module)
	if err != nil {
		return err
	}
	manifests, err := s.Template(ctx, "crossplane", filepath.Join(source, "cluster", "charts", "crossplane"), append([]string{
		"image.repository=" + s.Registry + "/" + coreImage, "image.tag=" + coreTag,
		"leaderElection=false", "rbacManager.leaderElection=false",
		fmt.Sprintf("webhooks.port=%d", webhookPort), fmt.Sprintf("readiness.port=%d", healthPort),
		"metrics.enabled=true", fmt.Sprintf("metrics.port=%d", metricsPort),
	}, s.core.values...)...)
	if err != nil {
		return err
	}
	// A Service has the port of its Pod here, since nothing translates ports.
	manifests = strings.ReplaceAll(manifests, "port: 9443\n", fmt.Sprintf("port: %d\n", webhookPort))
	manifests = strings.ReplaceAll(manifests, `value: "9443"`, fmt.Sprintf("value: %q", fmt.Sprint(webhookPort)))
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": Namespace},
	}}
	if err := s.Kube.Apply(ctx, namespace); err != nil {
		return err
	}
	if err := s.ApplyText(ctx, manifests); err != nil {
		return err
	}
	if _, err := s.RunKubectl(ctx, "wait", "--namespace", Namespace, "--for=condition=Available", "--timeout=4m", "deployments", "--all"); err != nil {
		return err
	}
	if err := s.separateFunctions(ctx); err != nil {
		return err
	}
	return s.rewriteImages(ctx)
}

// separateFunctions lets functions listen only at the addresses of their Pods, since all use one port. A provider has a separate runtime configuration.
func (s *Stack) separateFunctions(ctx context.Context) error {
	return s.Kube.Apply(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pkg.crossplane.io/v1beta1", "kind": "DeploymentRuntimeConfig", "metadata": map[string]any{"name": "default"},
		"spec": map[string]any{"deploymentTemplate": map[string]any{"spec": map[string]any{
			"selector": map[string]any{},
			"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
				"name": "package-runtime",
				"args": []any{fmt.Sprintf("--address=$(POD_IP):%d", functionPort)},
				"env": []any{map[string]any{
					"name": "POD_IP", "valueFrom": map[string]any{"fieldRef": map[string]any{"apiVersion": "v1", "fieldPath": "status.podIP"}},
				}},
			}}}},
		}}},
	}})
}

// rewriteImages configures Crossplane to pull images of other registries from the registry here.
func (s *Stack) rewriteImages(ctx context.Context) error {
	prefix := func(prefix string) map[string]any { return map[string]any{"type": "Prefix", "prefix": prefix} }
	for name, from := range map[string]string{"crossplane": "xpkg.crossplane.io/", "github": "ghcr.io/"} {
		config := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "pkg.crossplane.io/v1beta1", "kind": "ImageConfig", "metadata": map[string]any{"name": name},
			"spec": map[string]any{
				"matchImages":  []any{prefix(from)},
				"rewriteImage": map[string]any{"prefix": s.Registry + "/"},
			},
		}}
		if err := s.Kube.Apply(ctx, config); err != nil {
			return err
		}
	}
	return nil
}

// ApplyText applies the objects of a manifest.
func (s *Stack) ApplyText(ctx context.Context, manifest string) error {
	file := filepath.Join(s.Dir, "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		return err
	}
	objs, err := kube.ReadFile(file)
	if err != nil {
		return err
	}
	return s.Kube.ApplyAll(ctx, objs)
}

func run(ctx context.Context, program string, args ...string) (string, error) {
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, problems.String())
	}
	return out.String(), nil
}
