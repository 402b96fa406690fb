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

// Command loadtest creates many Machines in parallel, reports how long each took to become ready and to be deleted, and leaves nothing behind. It runs
// as a Job in a cluster, against a simulated Proxmox VE.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// options are the command-line options.
type options struct {
	Machines       int           `default:"100" help:"How many Machines are made, 1 to 10000."`
	Namespace      string        `default:"load-test" help:"The namespace of the Machines, which has no others."`
	ProviderConfig string        `default:"load-test" help:"The ClusterProviderConfig of the Machines. It should lead to a simulator."`
	Template       string        `default:"debian-13" help:"The template that the Machines are clones of."`
	Timeout        time.Duration `default:"30m" help:"How long the Machines may take to be ready, and again to go."`
	Kubeconfig     string        `help:"A kubeconfig, for a run outside of the cluster." placeholder:"FILE" type:"existingfile"`
}

// Validate refuses numbers without a meaningful test.
func (o options) Validate() error {
	if o.Machines < 1 || o.Machines > maxMachines {
		return fmt.Errorf("--machines must be 1 to %d, not %d", maxMachines, o.Machines)
	}
	if o.Timeout <= 0 {
		return fmt.Errorf("--timeout must be more than 0, not %s", o.Timeout)
	}
	return nil
}

func main() {
	ctrllog.SetLogger(logr.Discard())
	o := options{}
	command := kong.Parse(&o, kong.Name("load-test"), kong.Description("Makes many Machines at once and tells how long they took."))
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	command.FatalIfErrorf(o.run(ctx, os.Stdout))
}

func (o options) run(ctx context.Context, out io.Writer) error {
	config, err := o.config()
	if err != nil {
		return fmt.Errorf("cannot find the Kubernetes API: %w", err)
	}
	t, err := newTest(ctx, config, o)
	if err != nil {
		return err
	}
	return t.run(ctx, out)
}

// config returns the configuration for the cluster of the Pod, or for that of a kubeconfig. The API server limits the rate of requests, so the client
// need not.
func (o options) config() (*rest.Config, error) {
	find := rest.InClusterConfig
	if o.Kubeconfig != "" {
		find = func() (*rest.Config, error) { return clientcmd.BuildConfigFromFlags("", o.Kubeconfig) }
	}
	config, err := find()
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}
