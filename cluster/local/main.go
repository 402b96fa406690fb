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
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	_ "github.com/vitistack/provider-proxmox/cluster/local/cachehome"
	"github.com/vitistack/provider-proxmox/cluster/local/guard"
	"github.com/vitistack/provider-proxmox/cluster/local/repository"
	"github.com/vitistack/provider-proxmox/cluster/local/session"
)

type cli struct {
	Assets assetsCommand `cmd:"" help:"Build the control plane's programs, unless they are there, and print their folder."`
	Up     upCommand     `cmd:"" help:"Run a control plane that serves the provider's kinds, until Ctrl-C."`
}

type (
	assetsCommand struct{}
	upCommand     struct{}
)

func main() {
	// What the Kubernetes libraries log is of no use to whoever runs the launcher; errors are returned.
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

func (assetsCommand) Run(repo repository.Repository) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	dir, err := session.Assets(repo).Dir(ctx)
	if err != nil {
		return err
	}
	fmt.Println(dir)
	return nil
}

func (upCommand) Run(repo repository.Repository) error {
	os.Exit(guard.Run(repo.Runs(), "up", session.Up(repo)))
	return nil
}
