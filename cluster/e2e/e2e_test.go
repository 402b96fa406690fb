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

// Package e2e tests the built programs as users run them: the provider's process against a Kubernetes API and a simulated Proxmox VE, the examples and
// the documents' commands with kubectl.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/vitistack/provider-proxmox/cluster/local/repository"
	"github.com/vitistack/provider-proxmox/cluster/local/supervisor"
)

// Set by TestMain: a context that ends when the run is interrupted, the folder for the files of the run, and the checkout.
var (
	runContext context.Context       //nolint:gochecknoglobals // Nothing else reaches tests from TestMain.
	runDir     string                //nolint:gochecknoglobals // See above.
	checkout   repository.Repository //nolint:gochecknoglobals // See above.
)

// TestMain runs the tests under a supervisor, so that no program outlives them, however they end.
func TestMain(m *testing.M) {
	var err error
	if checkout, err = repository.Find("."); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(supervisor.Run(checkout.Runs(), "e2e", func(ctx context.Context, dir string) error {
		runContext, runDir = ctx, dir //nolint:fatcontext // It is set once.
		if m.Run() != 0 {
			return errors.New("an end-to-end test failed")
		}
		return nil
	}))
}

// TestEndToEnd tests the examples, and tools that read their state. All steps share one control plane, and the last ones check what the others left
// behind.
//
//nolint:tparallel // Its steps are in order, beside other tests.
func TestEndToEnd(t *testing.T) {
	t.Parallel()
	s := start(t, "examples")
	t.Run("Check", s.testCheck)
	t.Run("Variables", s.testVariables)
	t.Run("ProviderExamples", s.testProviderExamples)
	t.Run("Examples", s.testExamples)
	t.Run("GitOps", s.testGitOps)
	t.Run("Neighbours", s.testNeighbours)
	t.Run("Flux", s.testFlux)
	t.Run("IPAM", s.testIPAM)
	t.Run("Velero", s.testVelero)
	t.Run("Secrets", s.testSecrets)
	t.Run("Rights", s.testRights)
}

// TestCommandsAndFaults tests the commands of the documents and faults of the provider, in the same way as TestEndToEnd.
//
//nolint:tparallel // See above.
func TestCommandsAndFaults(t *testing.T) {
	t.Parallel()
	s := start(t, "faults")
	t.Run("ProviderExamples", s.testProviderExamples)
	t.Run("Lists", s.testLists)
	t.Run("Documents", s.testDocuments)
	t.Run("Kills", s.testKills)
	t.Run("Credentials", s.testCredentials)
	t.Run("Outage", s.testOutage)
	t.Run("Endpoints", s.testEndpoints)
	t.Run("Records", s.testRecords)
	t.Run("Replicas", s.testReplicas)
	t.Run("Secrets", s.testSecrets)
	t.Run("Rights", s.testRights)
}
