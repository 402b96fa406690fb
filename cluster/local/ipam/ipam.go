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

// Package ipam runs Cluster API's in-cluster IPAM provider in an environment.
package ipam

import (
	"context"
	"os"
	"path/filepath"

	"github.com/vitistack/provider-proxmox/cluster/local/assets"
	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/local/process"
)

// Start installs the definitions of Cluster API that the IPAM provider watches, and those of its pools, in the API server, and starts the program.
func Start(ctx context.Context, e *commands.Environment) error {
	programs := commands.IPAMAssets(e.Repo)
	dir, err := programs.Build(ctx, assets.InClusterIPAM())
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
		Name: "ipam",
		Path: filepath.Join(dir, assets.IPAM),
		// Its webhooks only check pools, and would need certificates.
		Args:  []string{"--kubeconfig=" + e.Kubeconfig, "--webhook-port=0", "--metrics-bind-address=0", "--health-probe-bind-address=" + address},
		Env:   os.Environ(),
		Ready: process.HTTP("http://" + address + "/readyz"),
	})
	return err
}

// definitions returns the kinds that the IPAM provider watches. Those of Cluster API have the version that the provider's tests use. They convert an
// object to another version without a webhook, by its name alone.
func definitions(e *commands.Environment, programs assets.Provider) []commands.Definitions {
	return []commands.Definitions{
		{
			Provider: assets.Provider{Module: e.Repo.Root()}, Module: assets.ClusterAPIModule,
			Names: []string{"cluster.x-k8s.io_clusters", "ipam.cluster.x-k8s.io_ipaddressclaims", "ipam.cluster.x-k8s.io_ipaddresses"},
		},
		{
			Provider: programs, Module: assets.IPAMModule,
			Names: []string{"ipam.cluster.x-k8s.io_inclusterippools", "ipam.cluster.x-k8s.io_globalinclusterippools"},
		},
	}
}
