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

// Package crossplane tests the provider's package as a platform team uses it: installed, used, upgraded and uninstalled by the real Crossplane, with
// the program of the package's image.
package crossplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/vitistack/provider-proxmox/cluster/crossplane/stack"
	"github.com/vitistack/provider-proxmox/cluster/local/repository"
	"github.com/vitistack/provider-proxmox/cluster/local/supervisor"
)

// Set by TestMain: a context that ends when the run is interrupted, the folder for the files of the run, and the checkout.
var (
	runContext context.Context       //nolint:gochecknoglobals // Nothing else reaches tests from TestMain.
	runDir     string                //nolint:gochecknoglobals // See above.
	checkout   repository.Repository //nolint:gochecknoglobals // See above.
)

// TestMain runs the tests under a supervisor, in a separate network namespace, because some programs listen on every address and on fixed ports. If
// they do not run as root, the tests fail with a message.
func TestMain(m *testing.M) {
	// The logs of the Kubernetes libraries are not needed; errors are returned.
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())
	if os.Geteuid() != 0 {
		os.Exit(m.Run()) // Each test reports what it lacks.
	}
	var err error
	if checkout, err = repository.Find("."); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(supervisor.RunIsolated(checkout.Runs(), "crossplane", func(ctx context.Context, dir string) error {
		runContext, runDir = ctx, dir //nolint:fatcontext // It is set once.
		if m.Run() != 0 {
			return errors.New("a test with Crossplane failed")
		}
		return nil
	}))
}

// TestCrossplane runs the steps in their order, since all share one stack.
func TestCrossplane(t *testing.T) {
	s := start(t, "2", stack.Crossplane2)
	s.activation = true
	t.Run("Install", s.testInstall)
	t.Run("Predecessors", s.testPredecessors)
	t.Run("Dependencies", s.testDependencies)
	t.Run("Activation", s.testActivation)
	t.Run("Machines", s.testMachines)
	t.Run("LoadTest", s.testLoadTest)
	t.Run("Policies", s.testPolicies)
	t.Run("SafetyBackups", s.testSafetyBackups)
	t.Run("ImagesOfURLs", s.testImagesOfURLs)
	t.Run("Tenants", s.testTenants)
	t.Run("IPAM", s.testIPAM)
	t.Run("ExternalDNS", s.testExternalDNS)
	t.Run("Configuration", s.testConfiguration)
	t.Run("Operations", s.testOperations)
	t.Run("Rights", s.testRights)
	t.Run("Upgrade", s.testUpgrade)
	t.Run("Protection", s.testProtection)
	t.Run("Accident", s.testAccident)
	t.Run("Uninstall", s.testUninstall)
}

// TestCrossplane1 tests the features of Crossplane 1: all kinds are served at once, and teams use claims.
func TestCrossplane1(t *testing.T) {
	s := start(t, "1", stack.Crossplane1)
	t.Run("Install", s.testInstall)
	t.Run("Offer", s.testOffer)
	t.Run("Machines", s.testMachines)
	t.Run("Policies", s.testPolicies)
	t.Run("SafetyBackups", s.testSafetyBackups)
	t.Run("ImagesOfURLs", s.testImagesOfURLs)
	t.Run("Tenants", s.testTenants)
	t.Run("Upgrade", s.testUpgrade)
	t.Run("Claims", s.testClaims)
	t.Run("Rights", s.testRights)
	t.Run("Accident", s.testAccident)
	t.Run("Definitions", s.testDefinitions)
	t.Run("Uninstall", s.testUninstall)
}
