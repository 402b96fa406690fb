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
	"os"

	"github.com/vitistack/provider-proxmox/cluster/local/process"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
)

// Connect creates the configurations named default and the Secrets that they refer to.
func (s *Environment) Connect(ctx context.Context, c provider.Connection) error {
	objs, err := c.Objects()
	if err != nil {
		return err
	}
	if err := s.Kube.ApplyAll(ctx, objs); err != nil {
		return err
	}
	s.Console.Stepf("configuration: ProviderConfig and ClusterProviderConfig \"default\", with their Secrets")
	return nil
}

// StartProvider starts the provider, with more variables in its environment, and waits until it is ready.
func (s *Environment) StartProvider(ctx context.Context, env ...string) (*process.Process, error) {
	path, err := s.Repo.Binary("provider")
	if err != nil {
		return nil, err
	}
	spec, err := provider.Spec(path, s.Kubeconfig, os.Environ())
	if err != nil {
		return nil, err
	}
	spec.Env = append(spec.Env, env...)
	p, err := s.Run(ctx, spec)
	if err != nil {
		return nil, err
	}
	s.Console.Stepf("provider: ready, logs to %s", p.Log())
	return p, nil
}
