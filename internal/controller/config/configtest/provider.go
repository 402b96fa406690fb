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

package configtest

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
)

// A Provider is one life of a provider, for tests of a kind that has a separate controller.
type Provider struct{ process *process }

// Start starts a provider that is killed at a side effect: after the answer to a write to Proxmox VE has arrived, and before and after each write to
// the Kubernetes API. 0 means none.
func Start(t *testing.T, kube client.WithWatch, setup Setup, s kind.Scope, fatal int, options ...inventory.Option) Provider {
	t.Helper()
	p := Provider{process: start(t, kube, setup, s, fatal, options...)}
	t.Cleanup(p.Stop)
	return p
}

// Reconcile reconciles a resource once. If the provider is killed meanwhile, that is not an error.
func (p Provider) Reconcile(key client.ObjectKey) error { return p.process.reconcile(key) }

// Dead reports whether the provider was killed.
func (p Provider) Dead() bool { return p.process.isDead() }

// Stop stops the provider.
func (p Provider) Stop() { p.process.cancel() }
