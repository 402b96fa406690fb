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
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
)

// defaults returns the defaults that users may rely on.
func defaults() options {
	return options{
		LogLevel:                 logLevel(slog.LevelInfo),
		LogFormat:                "json",
		Sync:                     time.Hour,
		ReconcileInterval:        30 * time.Second,
		InventoryInterval:        10 * time.Second,
		EventPollInterval:        5 * time.Second,
		FullResyncInterval:       30 * time.Minute,
		PollStateMetric:          30 * time.Second,
		MaxConcurrentReconciles:  5,
		MaxReconcileRate:         100,
		MetricsBindAddress:       ":8080",
		HealthProbeBindAddress:   ":8081",
		PprofBindAddress:         "0",
		EnableManagementPolicies: true,
		ChangeLogsSocketPath:     "/var/run/changelogs/changelogs.sock",
	}
}

// environment sets the variables, and unsets the program's other ones.
func environment(t *testing.T, vars map[string]string) {
	t.Helper()
	for _, f := range parser(&options{}).Model.Flags {
		for _, name := range f.Tag.Envs {
			t.Setenv(name, "") // restored after the test
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for k, v := range vars {
		t.Setenv(k, v)
	}
}

func with(change func(*options)) options {
	o := defaults()
	change(&o)
	return o
}

func selector(s string) labels.Selector {
	out, err := labels.Parse(s)
	if err != nil {
		panic(err)
	}
	return out
}

func TestOptions(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    map[string]string
		args   []string
		want   options
	}{
		"Defaults": {
			reason: "Nothing has to be set.",
			want:   defaults(),
		},
		"Environment": {
			reason: "Everything can be set by the environment.",
			env: map[string]string{
				"LOG_LEVEL":                  "WARN",
				"LOG_FORMAT":                 "console",
				"LEADER_ELECTION":            "true",
				"POD_NAMESPACE":              "crossplane-system",
				"SYNC":                       "2h",
				"RECONCILE_INTERVAL":         "45s",
				"INVENTORY_INTERVAL":         "20s",
				"EVENT_POLL_INTERVAL":        "2s",
				"FULL_RESYNC_INTERVAL":       "1h",
				"POLL_STATE_METRIC":          "5s",
				"MAX_CONCURRENT_RECONCILES":  "7",
				"MAX_RECONCILE_RATE":         "9",
				"METRICS_BIND_ADDRESS":       "0",
				"HEALTH_PROBE_BIND_ADDRESS":  "127.0.0.1:9",
				"PPROF_BIND_ADDRESS":         "127.0.0.1:6060",
				"WATCH_LABEL_SELECTOR":       "shard in (a, b)",
				"WATCH_PROVIDER_CONFIGS":     "site,other",
				"PROXMOX_DEFAULT_CLUSTER":    "site",
				"ENABLE_MANAGEMENT_POLICIES": "false",
				"ENABLE_CHANGELOGS":          "true",
				"CHANGELOGS_SOCKET_PATH":     "/run/changes.sock",
				"ENABLE_MACHINE_METRICS":     "true",
				"ENABLE_TRACING":             "true",
			},
			want: options{
				LogLevel:                logLevel(slog.LevelWarn),
				LogFormat:               "console",
				LeaderElection:          true,
				LeaderElectionNamespace: "crossplane-system",
				Sync:                    2 * time.Hour,
				ReconcileInterval:       45 * time.Second,
				InventoryInterval:       20 * time.Second,
				EventPollInterval:       2 * time.Second,
				FullResyncInterval:      time.Hour,
				PollStateMetric:         5 * time.Second,
				MaxConcurrentReconciles: 7,
				MaxReconcileRate:        9,
				MetricsBindAddress:      "0",
				HealthProbeBindAddress:  "127.0.0.1:9",
				PprofBindAddress:        "127.0.0.1:6060",
				WatchLabelSelector:      labelSelector{selector("shard in (a,b)")},
				WatchProviderConfigs:    []string{"site", "other"},
				DefaultCluster:          "site",
				EnableChangeLogs:        true,
				ChangeLogsSocketPath:    "/run/changes.sock",
				EnableMachineMetrics:    true,
				EnableTracing:           true,
			},
		},
		"FlagsFirst": {
			reason: "A flag wins over the environment.",
			env:    map[string]string{"LOG_LEVEL": "error", "RECONCILE_INTERVAL": "1m"},
			args:   []string{"--log-level=debug", "--reconcile-interval", "10s"},
			want: with(func(o *options) {
				o.LogLevel, o.ReconcileInterval = logLevel(slog.LevelDebug), 10*time.Second
			}),
		},
		"Short": {
			reason: "Flags have the short and other names that Crossplane providers have.",
			args:   []string{"-d", "-l", "-s", "3h", "--poll=1m", "--default-cluster=x", "--kubeconfig=k"},
			want: with(func(o *options) {
				o.Debug, o.LeaderElection, o.Sync, o.ReconcileInterval = true, true, 3*time.Hour, time.Minute
				o.DefaultCluster, o.Kubeconfig = "x", "k"
			}),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			environment(t, tc.env)
			var got options
			if _, err := parser(&got).Parse(tc.args); err != nil {
				t.Fatalf("\n%s\nParse(): %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nParse(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOptionMistakes(t *testing.T) {
	cases := map[string]struct {
		reason string
		env    map[string]string
		args   []string
		want   string
	}{
		"LogLevel": {
			reason: "An unknown level says which there are, and where it came from.",
			env:    map[string]string{"LOG_LEVEL": "loud"},
			want:   `--log-level: "loud" is not a log level: use debug, info, warn or error (from envar LOG_LEVEL="loud")`,
		},
		"LogFormat": {
			reason: "An unknown form says which there are.",
			args:   []string{"--log-format=xml"},
			want:   `--log-format must be one of "json","console" but got "xml"`,
		},
		"Interval": {
			reason: "An interval must not be too short for any PVE.",
			args:   []string{"--reconcile-interval=10ms"},
			want:   `--reconcile-interval is 10ms: it must be at least 1s`,
		},
		"Sync": {
			reason: "The interval of the synchronization must not be too short.",
			args:   []string{"--sync=0s"},
			want:   `--sync is 0s: it must be at least 1s`,
		},
		"StateMetric": {
			reason: "Counting states has a cost, so it is not done all the time.",
			args:   []string{"--poll-state-metric=0s"},
			want:   `--poll-state-metric is 0s: it must be at least 1s`,
		},
		"Concurrency": {
			reason: "Somebody must do the work.",
			args:   []string{"--max-concurrent-reconciles=0"},
			want:   `--max-concurrent-reconciles is 0: it must be at least 1`,
		},
		"Rate": {
			reason: "Some of it must be done.",
			args:   []string{"--max-reconcile-rate=-1"},
			want:   `--max-reconcile-rate is -1: it must be at least 1`,
		},
		"Selector": {
			reason: "What selects nothing that can be understood is refused.",
			args:   []string{"--watch-label-selector=shard a"},
			want:   `--watch-label-selector: "shard a" selects no labels: unable to parse requirement: found 'a', expected: in, notin, =, ==, !=, gt, lt`,
		},
		"FeedInterval": {
			reason: "A former flag names the present one.",
			args:   []string{"--feed-interval=5s"},
			want:   `--feed-interval (FEED_INTERVAL) was renamed: use --event-poll-interval (EVENT_POLL_INTERVAL)`,
		},
		"SafetyInterval": {
			reason: "A former flag names the present one.",
			args:   []string{"--safety-interval=30m"},
			want:   `--safety-interval (SAFETY_INTERVAL) was renamed: use --full-resync-interval (FULL_RESYNC_INTERVAL)`,
		},
		"FormerSelector": {
			reason: "A former flag names the present one.",
			args:   []string{"--selector", "shard=a"},
			want:   `--selector (SELECTOR) was renamed: use --watch-label-selector (WATCH_LABEL_SELECTOR)`,
		},
		"FormerProviderConfig": {
			reason: "A former flag names the present one.",
			args:   []string{"--provider-config=a,b"},
			want:   `--provider-config (PROVIDER_CONFIG) was renamed: use --watch-provider-configs (WATCH_PROVIDER_CONFIGS)`,
		},
		"FormerVariable": {
			reason: "The environment variable of a former flag names the present one.",
			env:    map[string]string{"SAFETY_INTERVAL": "1h"},
			want:   `--safety-interval (SAFETY_INTERVAL) was renamed: use --full-resync-interval (FULL_RESYNC_INTERVAL)`,
		},
		"FormerVariableOfFeed": {
			reason: "The environment variable of a former flag names the present one.",
			env:    map[string]string{"FEED_INTERVAL": "5s"},
			want:   `--feed-interval (FEED_INTERVAL) was renamed: use --event-poll-interval (EVENT_POLL_INTERVAL)`,
		},
		"FormerVariableOfSelector": {
			reason: "The environment variable of a former flag names the present one.",
			env:    map[string]string{"SELECTOR": "shard=a"},
			want:   `--selector (SELECTOR) was renamed: use --watch-label-selector (WATCH_LABEL_SELECTOR)`,
		},
		"FormerVariableOfProviderConfig": {
			reason: "The environment variable of a former flag names the present one.",
			env:    map[string]string{"PROVIDER_CONFIG": "a,b"},
			want:   `--provider-config (PROVIDER_CONFIG) was renamed: use --watch-provider-configs (WATCH_PROVIDER_CONFIGS)`,
		},
		"Argument": {
			reason: "What means nothing is refused.",
			args:   []string{"start"},
			want:   `unexpected argument start`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			environment(t, tc.env)
			_, err := parser(&options{}).Parse(tc.args)
			if err == nil {
				t.Fatalf("\n%s\nParse(): want an error", tc.reason)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("\n%s\nParse(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestVersionFlag(t *testing.T) {
	environment(t, nil)
	var out bytes.Buffer
	exited := false
	p := parser(&options{}, kong.Writers(&out, &out), kong.Exit(func(code int) { exited = code == 0 }))
	if _, err := p.Parse([]string{"--version"}); err != nil {
		t.Fatal(err)
	}
	if !exited || !strings.HasPrefix(out.String(), "v") {
		t.Errorf("--version: want a version and success, got %q, %t", out.String(), exited)
	}
}
