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

package controlplane

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/vitistack/provider-proxmox/cluster/local/assets"
)

// TestControllers runs one control plane for all cases, because its start takes seconds.
func TestControllers(t *testing.T) {
	dir := os.Getenv("KUBEBUILDER_ASSETS")
	if dir == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: run \"make test\", which sets it")
	}
	plane, err := Start(t.Context(), assets.Paths{
		Etcd: filepath.Join(dir, assets.Etcd), APIServer: filepath.Join(dir, assets.APIServer), Kubectl: filepath.Join(dir, assets.Kubectl),
	}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	client, err := kubernetes.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		run    func(ctx context.Context, t *testing.T, client kubernetes.Interface)
	}{
		"GarbageCollector": {reason: "an object is deleted with its owner", run: deletesOwned},
		"Namespaces":       {reason: "a namespace that is deleted terminates with its content", run: emptiesNamespace},
		"Aggregation":      {reason: "an aggregated ClusterRole gets the rules of the selected ones", run: aggregates},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			tc.run(t.Context(), t, client)
		})
	}
}

func configMap(name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}}
}

func deletesOwned(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	t.Helper()
	maps := client.CoreV1().ConfigMaps("default")
	owner, err := maps.Create(ctx, configMap("owner"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reference := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
	if _, err := maps.Create(ctx, configMap("owned", reference), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(ctx, owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the owned object is deleted", func() bool {
		_, err := maps.Get(ctx, "owned", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func emptiesNamespace(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	t.Helper()
	namespaces := client.CoreV1().Namespaces()
	if _, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps("team").Create(ctx, configMap("content"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := namespaces.Delete(ctx, "team", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the namespace is gone", func() bool {
		_, err := namespaces.Get(ctx, "team", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func aggregates(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	t.Helper()
	roles := client.RbacV1().ClusterRoles()
	labels := map[string]string{"aggregate": "yes"}
	part := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "part", Labels: labels},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}},
	}
	whole := &rbacv1.ClusterRole{
		ObjectMeta:      metav1.ObjectMeta{Name: "whole"},
		AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: labels}}},
	}
	for _, role := range []*rbacv1.ClusterRole{part, whole} {
		if _, err := roles.Create(ctx, role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the ClusterRole has the rules", func() bool {
		role, err := roles.Get(ctx, "whole", metav1.GetOptions{})
		return err == nil && len(role.Rules) == 1
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("timed out: %s", what)
		}
	}
}
