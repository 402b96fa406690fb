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

package main

import (
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/version"
)

// options are the options of the program. A flag takes precedence over its environment variable.
type options struct {
	Kubeconfig string `help:"Path of the kubeconfig. Default: $KUBECONFIG, the pod's service account, or ~/.kube/config." placeholder:"PATH"`

	Debug     bool     `help:"Log details for troubleshooting; the same as --log-level=debug." short:"d"`
	LogLevel  logLevel `default:"info" env:"LOG_LEVEL" help:"Least severe messages to log: debug, info, warn or error."`
	LogFormat string   `default:"json" enum:"json,console" env:"LOG_FORMAT" help:"Form of log messages: json or console."`

	LeaderElection          bool   `env:"LEADER_ELECTION" help:"Let only one of several replicas work at a time." short:"l"`
	LeaderElectionNamespace string `env:"POD_NAMESPACE" help:"Namespace of the leader's lease. Default: the pod's." placeholder:"NAMESPACE"`

	Sync               time.Duration `default:"1h" env:"SYNC" help:"How often all resources are reconciled, whether or not something has changed." short:"s"`
	ReconcileInterval  time.Duration `aliases:"poll" default:"30s" env:"RECONCILE_INTERVAL" help:"How often a resource is compared with PVE."`
	InventoryInterval  time.Duration `default:"10s" env:"INVENTORY_INTERVAL" help:"How often the list of resources of a PVE cluster is read while there are Machines."`
	EventPollInterval  time.Duration `default:"5s" env:"EVENT_POLL_INTERVAL" help:"How often tasks and the log of a PVE cluster are read for signs of change."`
	FullResyncInterval time.Duration `default:"30m" env:"FULL_RESYNC_INTERVAL" help:"How often a VM is read without a sign that it has changed."`
	PollStateMetric    time.Duration `default:"30s" env:"POLL_STATE_METRIC" help:"How often the state of all resources is counted for metrics."`

	MaxConcurrentReconciles int `default:"5" env:"MAX_CONCURRENT_RECONCILES" help:"Resources of one kind that are reconciled at once."`
	MaxReconcileRate        int `default:"100" env:"MAX_RECONCILE_RATE" help:"Reconciles per second on average, of all kinds together."`

	MetricsBindAddress     string `default:":8080" env:"METRICS_BIND_ADDRESS" help:"Address of /metrics; 0 for none."`
	HealthProbeBindAddress string `default:":8081" env:"HEALTH_PROBE_BIND_ADDRESS" help:"Address of /healthz and /readyz; 0 for none."`

	PprofBindAddress string `default:"0" env:"PPROF_BIND_ADDRESS" help:"Address of /debug/pprof, for profiles of the provider; 0 for none. Whoever reaches it can read its memory: 127.0.0.1:6060, not :6060."`

	// DefaultCluster is the name of the provider configuration that replaces a missing one named default, for resources that name none or name default. It
	// has the kind and namespace of the one that it replaces.
	DefaultCluster string `env:"PROXMOX_DEFAULT_CLUSTER" help:"Provider configuration where there is none named default." placeholder:"NAME"`

	WatchLabelSelector   labelSelector `env:"WATCH_LABEL_SELECTOR" help:"Labels of the resources that this provider manages, if other providers manage others: shard=a, or shard!=a. Default: all resources." placeholder:"SELECTOR"`
	WatchProviderConfigs []string      `env:"WATCH_PROVIDER_CONFIGS" help:"Names of the provider configurations whose resources this provider manages beside other providers. Default: all." placeholder:"NAME"`

	ChecksumHosts          []string `env:"CHECKSUM_HOSTS" help:"Hosts, such as cloud.debian.org or *.fedoraproject.org, that the provider may read lists of checksums of Images from. Default: all." placeholder:"HOST"`
	ChecksumLocalAddresses bool     `env:"CHECKSUM_LOCAL_ADDRESSES" help:"Read lists of checksums also from loopback and link-local addresses, which include the metadata services of clouds."`

	EnableManagementPolicies bool `default:"true" env:"ENABLE_MANAGEMENT_POLICIES" help:"Obey spec.managementPolicies." negatable:""`

	EnableChangeLogs     bool   `env:"ENABLE_CHANGELOGS" help:"Send each change that is made to the change log service of Crossplane, a sidecar." name:"enable-changelogs"`
	ChangeLogsSocketPath string `default:"/var/run/changelogs/changelogs.sock" env:"CHANGELOGS_SOCKET_PATH" help:"Socket of the change log service." name:"changelogs-socket-path" placeholder:"PATH"`

	EnableMachineMetrics bool `env:"ENABLE_MACHINE_METRICS" help:"Publish what each Machine uses of CPU, memory and disks as metrics: four series for each Machine."`

	EnableTracing bool `env:"ENABLE_TRACING" help:"Send traces of reconciles, calls and tasks, as the variables OTEL_* of OpenTelemetry say: by default to http://localhost:4318."`

	Version kong.VersionFlag `help:"Print the version and exit."`

	Former formerFlags `embed:""`
}

// formerFlags are flags that have another name now. Using one is an error that names the new flag.
type formerFlags struct {
	FeedInterval   string   `env:"FEED_INTERVAL" hidden:""`
	SafetyInterval string   `env:"SAFETY_INTERVAL" hidden:""`
	Selector       string   `env:"SELECTOR" hidden:""`
	ProviderConfig []string `env:"PROVIDER_CONFIG" hidden:""`
}

// validate returns an error for a former flag, or its environment variable, that is set.
func (f *formerFlags) validate() error {
	for _, former := range []struct {
		set            bool
		flag, variable string
		now            string
	}{
		{set: f.FeedInterval != "", flag: "feed-interval", variable: "FEED_INTERVAL", now: "event-poll-interval"},
		{set: f.SafetyInterval != "", flag: "safety-interval", variable: "SAFETY_INTERVAL", now: "full-resync-interval"},
		{set: f.Selector != "", flag: "selector", variable: "SELECTOR", now: "watch-label-selector"},
		{set: len(f.ProviderConfig) > 0, flag: "provider-config", variable: "PROVIDER_CONFIG", now: "watch-provider-configs"},
	} {
		if former.set {
			variable := strings.ToUpper(strings.ReplaceAll(former.now, "-", "_"))
			return errors.Errorf("--%s (%s) was renamed: use --%s (%s)", former.flag, former.variable, former.now, variable)
		}
	}
	return nil
}

// labelSelector selects objects by their labels. Without one, all are selected.
type labelSelector struct{ labels.Selector }

// UnmarshalText parses a selector in the syntax of kubectl.
func (s *labelSelector) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	var err error
	s.Selector, err = labels.Parse(string(text))
	return errors.Wrapf(err, "%q selects no labels", text)
}

// shard returns the shard of the resources that the flags select.
func (o *options) shard() kind.Shard {
	return kind.Shard{Selector: o.WatchLabelSelector.Selector, Configurations: o.WatchProviderConfigs}
}

// Validate validates what the types of the flags do not.
func (o *options) Validate() error {
	if err := o.Former.validate(); err != nil {
		return err
	}
	switch {
	case o.Sync < time.Second:
		return errors.Errorf("--sync is %s: it must be at least 1s", o.Sync)
	case o.ReconcileInterval < time.Second:
		return errors.Errorf("--reconcile-interval is %s: it must be at least 1s", o.ReconcileInterval)
	case o.InventoryInterval < time.Second:
		return errors.Errorf("--inventory-interval is %s: it must be at least 1s", o.InventoryInterval)
	case o.EventPollInterval < time.Second:
		return errors.Errorf("--event-poll-interval is %s: it must be at least 1s", o.EventPollInterval)
	case o.FullResyncInterval < time.Minute:
		return errors.Errorf("--full-resync-interval is %s: it must be at least 1m", o.FullResyncInterval)
	case o.PollStateMetric < time.Second:
		return errors.Errorf("--poll-state-metric is %s: it must be at least 1s", o.PollStateMetric)
	case o.MaxConcurrentReconciles < 1:
		return errors.Errorf("--max-concurrent-reconciles is %d: it must be at least 1", o.MaxConcurrentReconciles)
	case o.MaxReconcileRate < 1:
		return errors.Errorf("--max-reconcile-rate is %d: it must be at least 1", o.MaxReconcileRate)
	default:
		return nil
	}
}

// parse parses the arguments, or prints the errors in them and exits.
func parse(args []string) options {
	var o options
	p := parser(&o)
	_, err := p.Parse(args)
	p.FatalIfErrorf(err)
	return o
}

func parser(o *options, opts ...kong.Option) *kong.Kong {
	return kong.Must(o, append([]kong.Option{
		kong.Name("provider"),
		kong.Description("Manages Proxmox VE as Kubernetes resources. \"provider import --help\" tells how manifests are written for VMs that exist, " +
			"\"provider check --help\" how a connection is checked, \"provider tenants --help\" how tenants are checked and policies for them are written."),
		kong.Vars{"version": version.String()},
		kong.Writers(os.Stdout, os.Stderr),
		kong.ShortUsageOnError(),
	}, opts...)...)
}
