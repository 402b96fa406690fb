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

// Package commands implements the launcher's commands up and run, and the environment that all commands share: a control plane that serves the
// provider's kinds, and the programs that run with it.
package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/cluster/local/assets"
	"github.com/vitistack/provider-proxmox/cluster/local/console"
	"github.com/vitistack/provider-proxmox/cluster/local/controlplane"
	"github.com/vitistack/provider-proxmox/cluster/local/kube"
	"github.com/vitistack/provider-proxmox/cluster/local/process"
	"github.com/vitistack/provider-proxmox/cluster/local/repository"
)

// Environment is the control plane and the programs of one launch. Close stops them in the opposite order of their start.
type Environment struct {
	Repo    repository.Repository
	Console *console.Console
	// Dir is the folder for the files of the launch.
	Dir string
	// Kube is a client of the API server. It is set when the API server runs.
	Kube kube.Client
	// Kubeconfig is the file that programs use to reach the API server.
	Kubeconfig string
	// Kubectl is the path of kubectl. It is empty if the API server is not ours.
	Kubectl string

	assets assets.Provider
	cancel context.CancelCauseFunc
	stops  []stop
}

type stop struct {
	name string
	do   func() error
}

// New returns an environment that writes into dir, and a context that ends with ctx or, with the reason as its cause, when
// a program of the environment ends by itself.
func New(ctx context.Context, repo repository.Repository, dir string, out *os.File) (*Environment, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Environment{
		Repo:    repo,
		Console: console.New(out),
		Dir:     dir,
		assets:  Assets(repo),
		cancel:  cancel,
	}, ctx
}

// Assets returns the provider of the control plane's programs, which reports on standard error.
func Assets(repo repository.Repository) assets.Provider {
	return assets.Provider{
		Module:  repo.Module(),
		Cache:   repo.ControlPlaneCache(),
		Given:   os.Getenv("KUBEBUILDER_ASSETS"),
		Release: assets.ControlPlaneRelease(),
		Report:  assets.Reporter{Out: os.Stderr, Terminal: console.IsTerminal(os.Stderr)},
	}
}

// CrossplaneAssets returns the provider of the program of Crossplane 2, which reports on standard error.
func CrossplaneAssets(repo repository.Repository) assets.Provider {
	return assets.Provider{Module: repo.Crossplane2Module(), Cache: repo.CrossplaneCache(), Report: Assets(repo).Report}
}

// Crossplane1Assets returns the provider of the program of Crossplane 1, which reports on standard error.
func Crossplane1Assets(repo repository.Repository) assets.Provider {
	return assets.Provider{Module: repo.Crossplane1Module(), Cache: repo.CrossplaneCache(), Report: Assets(repo).Report}
}

// FunctionAssets returns the provider of the program of the function of Compositions.
func FunctionAssets(repo repository.Repository) assets.Provider {
	return assets.Provider{Module: repo.FunctionModule(), Cache: repo.FunctionCache(), Report: Assets(repo).Report}
}

// IPAMAssets returns the provider of the program of Cluster API's IPAM provider, which reports on standard error.
func IPAMAssets(repo repository.Repository) assets.Provider {
	return assets.Provider{Module: repo.IPAMModule(), Cache: repo.IPAMCache(), Report: Assets(repo).Report}
}

// FluxAssets returns the provider of the program of Flux's kustomize-controller, which reports on standard error.
func FluxAssets(repo repository.Repository) assets.Provider {
	return assets.Provider{Module: repo.FluxModule(), Cache: repo.FluxCache(), Report: Assets(repo).Report}
}

// ExternalDNSAssets returns the provider of the program of external-dns without DNS services, which reports on standard error.
func ExternalDNSAssets(repo repository.Repository) assets.Provider {
	return assets.Provider{Module: repo.ExternalDNSModule(), Cache: repo.ExternalDNSCache(), Report: Assets(repo).Report}
}

// VeleroAssets returns the provider of the program of Velero with a plugin for files, which reports on standard error.
func VeleroAssets(repo repository.Repository) assets.Provider {
	return assets.Provider{Module: repo.VeleroModule(), Cache: repo.VeleroCache(), Report: Assets(repo).Report}
}

// PrepareNeighbours builds the programs of other projects that run in the end-to-end tests, since those tests have a time limit.
func PrepareNeighbours(ctx context.Context, repo repository.Repository) error {
	for _, each := range []struct {
		provider assets.Provider
		set      assets.Set
	}{
		{IPAMAssets(repo), assets.InClusterIPAM()},
		{FluxAssets(repo), assets.KustomizeController()},
		{VeleroAssets(repo), assets.VeleroWithFiles()},
	} {
		if _, err := each.provider.Build(ctx, each.set); err != nil {
			return err
		}
	}
	return nil
}

// PrepareCrossplane downloads and builds what tests with Crossplane use, because they run in a network namespace from
// which no module proxy can be reached.
func PrepareCrossplane(ctx context.Context, repo repository.Repository) error {
	for _, each := range []struct {
		provider assets.Provider
		set      assets.Set
		module   string
	}{
		{CrossplaneAssets(repo), assets.CrossplaneCore(), assets.CrossplaneModule},
		{Crossplane1Assets(repo), assets.Crossplane1Core(), assets.Crossplane1Module},
		{FunctionAssets(repo), assets.PatchAndTransform(), assets.FunctionModule},
		{IPAMAssets(repo), assets.InClusterIPAM(), assets.IPAMModule},
		{ExternalDNSAssets(repo), assets.ExternalDNSInMemory(), assets.ExternalDNSModule},
	} {
		if _, err := each.provider.Build(ctx, each.set); err != nil {
			return err
		}
		if err := each.provider.Download(ctx, each.module); err != nil {
			return err
		}
	}
	return assets.Provider{Module: repo.Root()}.Download(ctx, assets.ClusterAPIModule)
}

// StartControlPlane provides the programs of the control plane, starts it and connects the environment to it.
func (s *Environment) StartControlPlane(ctx context.Context, options ...controlplane.Option) error {
	s.Console.Stepf("control plane: starting etcd and kube-apiserver on 127.0.0.1")
	paths, err := s.assets.Paths(ctx)
	if err != nil {
		return err
	}
	plane, err := controlplane.Start(ctx, paths, s.Dir, options...)
	if err != nil {
		return err
	}
	s.OnClose("control plane", plane.Stop)
	s.Kubeconfig, s.Kubectl = plane.Kubeconfig(), paths.Kubectl
	s.Kube, err = kube.NewClient(plane.Config())
	if err != nil {
		return err
	}
	s.Console.Stepf("control plane: ready at %s", strings.TrimSuffix(plane.Config().Host, "/"))
	return nil
}

// InstallCRDs applies the definitions of the provider's kinds and waits until they are served.
func (s *Environment) InstallCRDs(ctx context.Context) error {
	n, err := s.Kube.InstallCRDs(ctx, s.Repo.CRDs())
	if err != nil {
		return err
	}
	s.Console.Stepf("definitions: %d kinds of the provider are served", n)
	return nil
}

// Run starts a program whose output goes to NAME.log in the environment's folder, and cancels the environment's context
// when the program ends by itself.
func (s *Environment) Run(ctx context.Context, spec process.Spec) (*process.Process, error) {
	spec.Log = filepath.Join(s.Dir, spec.Name+".log")
	p, err := process.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	s.OnClose(spec.Name, p.Stop)
	s.Watch(p)
	return p, nil
}

// Watch cancels the environment's context when a program ends.
func (s *Environment) Watch(p *process.Process) {
	go func() {
		<-p.Exited()
		s.cancel(fmt.Errorf("%s ended unexpectedly (%w), its last lines:\n%s", p.Name(), p.Err(), process.LogTail(p.Log(), 30)))
	}()
}

// OnClose registers a function for Close, which calls the functions in the opposite order of their registration.
func (s *Environment) OnClose(name string, do func() error) {
	s.stops = append(s.stops, stop{name: name, do: do})
}

// Close stops everything that the environment started, the last one first.
func (s *Environment) Close() error {
	// Watch must not report programs that Close stops.
	s.cancel(context.Canceled)
	var errs []error
	for _, stop := range slices.Backward(s.stops) {
		s.Console.Stepf("stopping: %s", stop.name)
		if err := stop.do(); err != nil {
			errs = append(errs, fmt.Errorf("cannot stop %s: %w", stop.name, err))
		}
	}
	s.stops = nil
	return errors.Join(errs...)
}
