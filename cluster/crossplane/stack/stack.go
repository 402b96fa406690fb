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

// Package stack runs the programs of a platform team: a Kubernetes API, the real Crossplane with its RBAC manager, a registry, and a simulated Proxmox
// VE. They run on loopback, without containers.
package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vitistack/provider-proxmox/cluster/crossplane/pods"
	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/local/controlplane"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
	"github.com/vitistack/provider-proxmox/cluster/local/repository"
	"github.com/vitistack/provider-proxmox/cluster/local/simulator"
)

// Namespace is the namespace of Crossplane and its packages.
const Namespace = provider.SystemNamespace

// Stack has all running programs. Close ends them.
type Stack struct {
	*commands.Environment

	// Registry is the address of the registry, HOST:PORT. Crossplane finds what was pushed to it under the real names of the registries, which this
	// machine cannot reach.
	Registry string
	// Simulator is the simulated Proxmox VE.
	Simulator *simulator.Simulator
	// Connection is the provider's connection to the simulator.
	Connection provider.Connection

	core  Core
	helm  string
	names []string
}

// Options configure a stack.
type Options struct {
	// Checkout is the checkout of the project.
	Checkout repository.Repository
	// Dir is the folder for all files that are written. The logs of Pods are DEPLOYMENT-CONTAINER.log.
	Dir string
	// Core is the Crossplane to run.
	Core Core
	// Helm is the path of the program that renders charts.
	Helm string
	// Scenario is the file with the content of the simulated Proxmox VE.
	Scenario string
	// Names are further names by which Pods reach programs on this machine.
	Names []string
}

// Start starts a stack. It returns a context that ends when ctx does or when one of the stack's programs ends by itself. The caller must also close the
// stack if Start fails.
func Start(ctx context.Context, o Options) (*Stack, context.Context, error) {
	s := &Stack{core: o.Core, helm: o.Helm, names: o.Names}
	s.Environment, ctx = commands.New(ctx, o.Checkout, o.Dir, os.Stdout)
	steps := []func(context.Context) error{
		func(ctx context.Context) error { return s.StartControlPlane(ctx, controlplane.Audited()) },
		s.startRegistry,
		func(ctx context.Context) error { return s.startSimulator(ctx, o.Scenario) },
		s.pushCore,
		s.pushFunction,
		s.startPods,
		s.installCore,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return s, ctx, err
		}
	}
	s.Console.Stepf("crossplane: ready")
	return s, ctx, nil
}

func (s *Stack) startSimulator(ctx context.Context, scenario string) error {
	var err error
	if s.Simulator, err = simulator.New(s.Dir); err != nil {
		return err
	}
	path, err := s.Repo.Binary("pve-simulator")
	if err != nil {
		return err
	}
	if _, err := s.Run(ctx, s.Simulator.Spec(path, scenario)); err != nil {
		return err
	}
	s.Connection, err = s.Simulator.Connection()
	return err
}

func (s *Stack) startPods(ctx context.Context) error {
	runner, err := pods.Start(ctx, pods.Options{
		Config: s.Kube.Config(), Namespace: Namespace, Dir: filepath.Join(s.Dir, "pods"), Logs: s.Dir, Names: s.names,
	})
	if err != nil {
		return err
	}
	s.OnClose("pods", runner.Stop)
	return nil
}

// Template returns the manifests that Helm renders from a chart in Crossplane's namespace, with values as NAME=VALUE.
func (s *Stack) Template(ctx context.Context, release, chart string, values ...string) (string, error) {
	args := []string{"template", release, chart, "--namespace", Namespace, "--include-crds"}
	for _, v := range values {
		args = append(args, "--set", v)
	}
	output, err := run(ctx, s.helm, args...)
	if err != nil {
		return "", fmt.Errorf("cannot make manifests of chart %q: %w", chart, err)
	}
	return output, nil
}
