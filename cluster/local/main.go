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

// Command local runs the provider and a Kubernetes control plane on this machine, for development, tests
// and demonstrations.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/local/demo"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
	"github.com/vitistack/provider-proxmox/cluster/local/repository"
	"github.com/vitistack/provider-proxmox/cluster/local/supervisor"
)

type cli struct {
	Assets assetsCommand `cmd:"" help:"Download or build the control plane's programs, unless they are there, and print their folder."`
	Demo   demoCommand   `cmd:"" help:"Run the provider against a simulated Proxmox VE and show the quick-start examples."`
	Run    runCommand    `cmd:"" help:"Run the provider against the Proxmox VE cluster that PROXMOX_… variables name."`
	Up     upCommand     `cmd:"" help:"Run a control plane that serves the provider's kinds, until Ctrl-C."`
}

type (
	assetsCommand struct {
		Crossplane bool `help:"Build also the programs of Crossplane 1 and 2 and everything else that tests with them need."`
		Neighbours bool `help:"Build also the programs of other projects that end-to-end tests need."`
	}
	upCommand   struct{}
	demoCommand struct {
		Once bool `help:"Check the result, delete what was created, check that it is gone, and end."`
	}
	runCommand struct {
		Current    bool   `xor:"target" help:"Use the cluster that kubectl would use, instead of a control plane of its own."`
		Kubeconfig string `xor:"target" placeholder:"FILE" help:"Use the cluster of this kubeconfig. Relative to the checkout."`
	}
)

func main() {
	// The logs of the Kubernetes libraries do not help users of the launcher. Errors are returned.
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())

	repo, err := repository.Find(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	command := kong.Parse(&cli{}, kong.Name("local"), kong.Description("The provider and a Kubernetes control plane on this machine."))
	command.FatalIfErrorf(command.Run(repo))
}

func (c assetsCommand) Run(repo repository.Repository) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	dir, err := commands.Assets(repo).Dir(ctx)
	if err == nil && c.Crossplane {
		err = commands.PrepareCrossplane(ctx, repo)
	}
	if err == nil && c.Neighbours {
		err = commands.PrepareNeighbours(ctx, repo)
	}
	if err != nil {
		return err
	}
	// Go reuses a cached test result if the folder has the same name, even if it is in another clone that shares the cache.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return fmt.Errorf("cannot resolve the folder of the control plane: %w", err)
	}
	_, err = fmt.Fprintln(os.Stdout, dir)
	return err
}

func (upCommand) Run(repo repository.Repository) error {
	os.Exit(supervisor.Run(repo.Runs(), "up", commands.Up(repo)))
	return nil
}

func (c demoCommand) Run(repo repository.Repository) error {
	mode := demo.Stay
	if c.Once {
		mode = demo.Once
	}
	os.Exit(supervisor.Run(repo.Runs(), "demo", demo.Run(repo, mode)))
	return nil
}

func (c runCommand) Run(repo repository.Repository) error {
	readFile := func(path string) ([]byte, error) { return os.ReadFile(repo.Resolve(path)) }
	connection, err := provider.FromEnvironment(os.Getenv, readFile)
	if err != nil {
		return err
	}
	target := commands.Target{Current: c.Current}
	if c.Kubeconfig != "" {
		target.Kubeconfig = repo.Resolve(c.Kubeconfig)
	}
	os.Exit(supervisor.Run(repo.Runs(), "run", commands.Run(repo, connection, target)))
	return nil
}
