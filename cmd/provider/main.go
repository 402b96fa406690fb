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

// Command provider runs provider-proxmox: the controllers that manage Proxmox VE
// as Kubernetes resources.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/vitistack/provider-proxmox/internal/version"
)

func main() {
	limitMemory(os.DirFS("/sys/fs/cgroup"))
	err := start(ctrl.SetupSignalHandler(), os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	os.Exit(exitCode(err))
}

// exitCode returns the exit code of a run with an error, or without one.
func exitCode(err error) int {
	switch {
	case errors.Is(err, errInterrupted):
		return 130 // The exit code of shells for Ctrl-C.
	case err != nil:
		return 1
	}
	return 0
}

// start starts the command in the arguments.
func start(ctx context.Context, args []string) error {
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	switch command {
	case importCommand:
		return importVMs(ctx, args[1:])
	case checkCommand:
		return checkConnection(ctx, args[1:], os.Stdout)
	case tenantsCommand:
		return tenants(ctx, args[1:], os.Stdout)
	}
	return run(ctx, parse(args))
}

// run runs the provider until the context ends.
func run(ctx context.Context, o options) error {
	l := newLoggers(os.Stderr, o)
	setLoggers(l)
	own := logging.NewLogrLogger(l.own.WithName("provider-proxmox"))
	own.Info("Starting", "version", version.String())
	mgr, err := newManager(o)
	if err != nil {
		return err
	}
	if err := addControllers(ctx, mgr, own, o); err != nil {
		return err
	}
	if err := addEnvironment(mgr, own, o); err != nil {
		return err
	}
	return errors.Wrap(mgr.Start(ctx), "cannot go on")
}
