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
	"os"
	"os/exec"

	"github.com/vitistack/provider-proxmox/cluster/local/repository"
	"github.com/vitistack/provider-proxmox/cluster/local/supervisor"
)

// Up returns the task that runs a control plane with the provider's kinds, and no provider, until it is interrupted.
func Up(repo repository.Repository) supervisor.Task {
	return func(ctx context.Context, dir string) (err error) {
		s, ctx := New(ctx, repo, dir, os.Stdout)
		defer func() { err = errors.Join(err, s.Close()) }()
		if err := s.StartControlPlane(ctx); err != nil {
			return err
		}
		if err := s.InstallCRDs(ctx); err != nil {
			return err
		}
		s.Console.Text("\n" + s.Usage() + "\n\nCtrl-C stops it.")
		return s.Wait(ctx)
	}
}

// Usage returns the shell commands that configure kubectl for the environment's control plane. They include an alias for our kubectl if none is
// installed.
func (s *Environment) Usage() string {
	usage := "  export KUBECONFIG=" + s.Kubeconfig
	if _, err := exec.LookPath("kubectl"); err != nil {
		usage += "\n  alias kubectl=" + s.Kubectl
	}
	return usage
}

// Wait waits until ctx ends. It returns nil if the environment was interrupted, and the reason otherwise.
func (s *Environment) Wait(ctx context.Context) error {
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, supervisor.ErrInterrupted) {
		return err
	}
	return nil
}
