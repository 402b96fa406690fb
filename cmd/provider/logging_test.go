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
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/google/go-cmp/cmp"
)

func TestLevels(t *testing.T) {
	cases := map[string]struct {
		reason  string
		options options
		own     string
		library string
	}{
		"Info": {
			reason:  "The libraries are quieter than the provider.",
			options: options{LogLevel: logLevel(slog.LevelInfo)},
			own:     "INFO ERROR",
			library: "ERROR",
		},
		"Debug": {
			reason:  "With debugging, everything is said.",
			options: options{LogLevel: logLevel(slog.LevelInfo), Debug: true},
			own:     "DEBUG INFO ERROR",
			library: "DEBUG INFO ERROR",
		},
		"DebugLevel": {
			reason:  "The level debug is debugging.",
			options: options{LogLevel: logLevel(slog.LevelDebug)},
			own:     "DEBUG INFO ERROR",
			library: "DEBUG INFO ERROR",
		},
		"Error": {
			reason:  "Only errors are only errors.",
			options: options{LogLevel: logLevel(slog.LevelError)},
			own:     "ERROR",
			library: "ERROR",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			l := newLoggers(&out, tc.options)
			log := func(write func()) string {
				out.Reset()
				write()
				return levels(t, out.String())
			}
			own := log(func() { l.own.V(1).Info("d"); l.own.Info("i"); l.own.Error(errors.New("boom"), "e") })
			library := log(func() { l.library.V(1).Info("d"); l.library.Info("i"); l.library.Error(errors.New("boom"), "e") })
			if diff := cmp.Diff([]string{tc.own, tc.library}, []string{own, library}); diff != "" {
				t.Errorf("\n%s\nlevels: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// levels returns the levels of JSON messages.
func levels(t *testing.T, log string) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(log) {
		var m struct{ Level string }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, m.Level)
	}
	return strings.Join(all, " ")
}

func TestConsole(t *testing.T) {
	var out bytes.Buffer
	newLoggers(&out, options{LogFormat: "console"}).own.Info("Starting", "version", "v1")
	if !strings.HasSuffix(out.String(), "level=INFO msg=Starting version=v1\n") {
		t.Errorf("console: got %q", out.String())
	}
}

// TestLateAttributes checks that each line has the attributes of its own logger, in their groups, and none of another logger.
func TestLateAttributes(t *testing.T) {
	var out bytes.Buffer
	all := slog.New(lateHandler{Handler: slog.NewJSONHandler(&out, nil)}).With("provider", "proxmox")
	one, other := all.With("name", "web"), all.With("name", "db").WithGroup("vm").With("id", 100)
	one.Info("first")
	other.Info("second", "node", "pve1")
	for i, want := range []map[string]any{
		{"provider": "proxmox", "name": "web", "msg": "first"},
		{"provider": "proxmox", "name": "db", "msg": "second", "vm": map[string]any{"id": 100.0, "node": "pve1"}},
	} {
		line, err := out.ReadBytes('\n')
		var got map[string]any
		if err = errors.Join(err, json.Unmarshal(line, &got)); err != nil {
			t.Fatal(err)
		}
		delete(got, slog.TimeKey)
		delete(got, slog.LevelKey)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Line %d: -want, +got:\n%s", i, diff)
		}
	}
}
