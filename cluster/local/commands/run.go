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

package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/vitistack/provider-proxmox/cluster/local/kube"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
	"github.com/vitistack/provider-proxmox/cluster/local/repository"
	"github.com/vitistack/provider-proxmox/cluster/local/supervisor"
)

// Target selects the API server that the provider connects to. The zero Target is a separate control plane.
type Target struct {
	// Current selects the API server that kubectl would use.
	Current bool
	// Kubeconfig is the kubeconfig file of an API server. It excludes Current.
	Kubeconfig string
}

func (t Target) own() bool { return !t.Current && t.Kubeconfig == "" }

// Run returns the task that runs the provider for a real Proxmox VE cluster until it is interrupted.
func Run(repo repository.Repository, c provider.Connection, t Target) supervisor.Task {
	return func(ctx context.Context, dir string) (err error) {
		s, ctx := New(ctx, repo, dir, os.Stdout)
		defer func() { err = errors.Join(err, s.Close()) }()
		if err := s.prepare(ctx, c, t); err != nil {
			return err
		}
		if _, err := s.StartProvider(ctx); err != nil {
			return err
		}
		s.printUsage(c, t)
		return s.Wait(ctx)
	}
}

func (s *Environment) prepare(ctx context.Context, c provider.Connection, t Target) error {
	// This check comes first because a control plane takes long to build and start.
	if _, err := s.Repo.Binary("provider"); err != nil {
		return err
	}
	if err := s.connectTo(ctx, t); err != nil {
		return err
	}
	if err := s.InstallCRDs(ctx); err != nil {
		return err
	}
	return s.Connect(ctx, c)
}

func (s *Environment) connectTo(ctx context.Context, t Target) error {
	if t.own() {
		return s.StartControlPlane(ctx)
	}
	return s.useCluster(t)
}

// useCluster connects the environment to an existing API server. Programs get a copy of the kubeconfig that contains only the current context, because
// a kubeconfig may consist of several files.
func (s *Environment) useCluster(t Target) error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = t.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil)
	config, err := loader.ClientConfig()
	if err != nil {
		return fmt.Errorf("cannot use the kubeconfig: %w", err)
	}
	raw, err := loader.RawConfig()
	if err != nil {
		return fmt.Errorf("cannot read the kubeconfig: %w", err)
	}
	s.Kubeconfig = filepath.Join(s.Dir, "kubeconfig")
	if err := writeCurrent(raw, s.Kubeconfig); err != nil {
		return fmt.Errorf("cannot copy the kubeconfig: %w", err)
	}
	s.Kube, err = kube.NewClient(config)
	if err != nil {
		return err
	}
	s.Console.Stepf("control plane: using context %q at %s", raw.CurrentContext, config.Host)
	return nil
}

// printUsage prints what runs now and what remains when it is stopped.
func (s *Environment) printUsage(c provider.Connection, t Target) {
	s.Console.Stepf("managing %s as %s", strings.Join(c.Endpoints, ", "), c.Credentials.Username)
	if t.own() {
		s.Console.Text("\n" + s.Usage() + "\n\nCtrl-C stops everything. Virtual machines stay as they are then.")
		return
	}
	s.Console.Text("\nCtrl-C stops the provider. The definitions, the configurations \"default\" and the Secrets stay in the cluster.")
}
