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

// Package flux runs Flux's kustomize-controller in an environment.
package flux

import (
	"context"
	"os"
	"path/filepath"

	"github.com/vitistack/provider-proxmox/cluster/local/assets"
	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/local/process"
)

// Start installs the definitions of Flux that kustomize-controller watches in the API server, and starts the program. The program has the permissions
// of an administrator, as in Flux's installation.
func Start(ctx context.Context, e *commands.Environment) error {
	programs := commands.FluxAssets(e.Repo)
	dir, err := programs.Build(ctx, assets.KustomizeController())
	if err != nil {
		return err
	}
	if err := e.InstallOthers(ctx, definitions(e, programs)...); err != nil {
		return err
	}
	address, err := process.FreeAddress()
	if err != nil {
		return err
	}
	_, err = e.Run(ctx, process.Spec{
		Name:  assets.Kustomize,
		Path:  filepath.Join(dir, assets.Kustomize),
		Args:  []string{"--metrics-addr=0", "--health-addr=" + address},
		Env:   append(os.Environ(), "KUBECONFIG="+e.Kubeconfig, "TMPDIR="+e.Dir),
		Ready: process.HTTP("http://" + address + "/readyz"),
	})
	return err
}

// definitions returns the kinds that kustomize-controller watches: its own, and the sources, which source-controller serves.
func definitions(e *commands.Environment, programs assets.Provider) []commands.Definitions {
	return []commands.Definitions{
		{Provider: programs, Module: assets.KustomizeModule, Names: []string{"kustomize.toolkit.fluxcd.io_kustomizations"}},
		{
			Provider: assets.Provider{Module: e.Repo.NeighboursModule()}, Module: assets.SourceModule,
			Names: []string{"source.toolkit.fluxcd.io_buckets", "source.toolkit.fluxcd.io_gitrepositories", "source.toolkit.fluxcd.io_ocirepositories"},
		},
	}
}
