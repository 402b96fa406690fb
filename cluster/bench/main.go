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

// Command bench measures what the provider costs and how fast it is, against the simulator, and writes the
// results into a document.
package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/vitistack/provider-proxmox/cluster/local/console"
	"github.com/vitistack/provider-proxmox/cluster/local/repository"
	"github.com/vitistack/provider-proxmox/cluster/local/supervisor"
)

// options of a run.
type options struct {
	Scenarios       []string      `default:"create,resources,delete,operations,drift,kinds,connections,steady,startup,competitors" enum:"steady,startup,drift,create,resources,delete,operations,kinds,connections,competitors" env:"BENCH" help:"What is measured: create, resources, delete, operations, drift, kinds, connections, steady, startup, competitors."`
	Machines        []int         `default:"1000,10000" env:"BENCH_MACHINES" help:"Numbers of Machines in steady state and at a start."`
	Create          int           `default:"200" env:"BENCH_CREATE" help:"How many Machines are created at once."`
	Resources       []int         `default:"1000" env:"BENCH_RESOURCES" help:"Numbers of Machines whose creation is measured as Crossplane does: processor, memory, and time to readiness."`
	Delete          int           `default:"200" env:"BENCH_DELETE" help:"How many Machines are deleted at once."`
	Snapshots       int           `default:"1000" env:"BENCH_SNAPSHOTS" help:"Number of Snapshots, each of a VM of its own."`
	Volumes         int           `default:"500" env:"BENCH_VOLUMES" help:"Number of Volumes."`
	Images          int           `default:"200" env:"BENCH_IMAGES" help:"Number of Images, each with a file on every node."`
	Connections     []int         `default:"1,10,100" env:"BENCH_CONNECTIONS" help:"Numbers of connections, each to a simulated cluster of its own."`
	PerConnection   int           `default:"100" env:"BENCH_CONNECTION_MACHINES" help:"How many Machines each connection has."`
	Operations      int           `default:"100" env:"BENCH_OPERATIONS" help:"Number of Machines that are changed, powered off and on, and copied as snapshots."`
	Drift           int           `default:"1000" env:"BENCH_DRIFT" help:"Number of Machines among which things are changed."`
	Changes         int           `default:"40" env:"BENCH_CHANGES" help:"How many changes of each sort are made."`
	Window          time.Duration `default:"1m" env:"BENCH_WINDOW" help:"How long a steady state is watched; best a multiple of the minute between two reconciles of a Machine."`
	Parallel        int           `default:"4" env:"BENCH_PARALLEL" help:"How many scenarios are under way at once, most of which wait. What takes the processors is done alone."`
	Competitors     []string      `env:"BENCH_COMPETITORS" help:"Other clients: NAME=COMMAND, separated by lines. Default: the scripts in hack/." placeholder:"NAME=COMMAND" sep:"\n"`
	CompetitorCount int           `default:"10" env:"BENCH_COMPETITOR_MACHINES" help:"How many machines the clients create that are compared."`
	Output          string        `default:"docs/performance.md" env:"BENCH_OUTPUT" help:"Document whose tables are replaced." placeholder:"FILE"`
	Profile         string        `env:"BENCH_PROFILE" help:"Folder for profiles of the provider, taken in steady state." placeholder:"FOLDER"`
}

func main() {
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())

	var o options
	command := kong.Parse(&o, kong.Name("bench"), kong.Description("Measures the provider against the simulator."))
	repo, err := repository.Find(".")
	command.FatalIfErrorf(err)
	os.Exit(supervisor.Run(repo.Runs(), "bench", func(ctx context.Context, dir string) error {
		b := &bench{options: o, repo: repo, dir: dir, console: console.New(os.Stdout)}
		return b.run(ctx)
	}))
}

// A bench is one run.
type bench struct {
	options
	gate

	repo    repository.Repository
	dir     string
	console *console.Console

	mu     sync.Mutex
	envs   int
	tables []table
	// exceeded are the bounds that were not kept.
	exceeded []error
}

// run measures what was asked for and writes what was measured, also if something failed. A bound that is exceeded is an error.
func (b *bench) run(ctx context.Context) error {
	all := b.plan()
	ended, err := b.measure(ctx, all)
	if ctx.Err() == nil {
		b.addTimes(all, ended)
	}
	err = errors.Join(err, b.report(context.WithoutCancel(ctx)))
	return errors.Join(append([]error{err}, b.exceeded...)...)
}

func (b *bench) wants(scenario string) bool {
	return slices.Contains(b.Scenarios, scenario)
}

// folder makes a folder for the files of the next environment.
func (b *bench) folder() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.envs++
	dir := filepath.Join(b.dir, "env-"+itoa(b.envs))
	return dir, os.MkdirAll(dir, 0o700)
}
