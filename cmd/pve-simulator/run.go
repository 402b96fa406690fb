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
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// options are the command-line options. Secrets are read from files, since other users of a machine see the arguments of programs.
type options struct {
	Scenario string   `env:"PVE_SIMULATOR_SCENARIO" group:"cluster" help:"YAML file that describes the cluster: nodes, storages, guests, users. Without one it is the built-in quickstart." placeholder:"FILE" type:"existingfile"`
	Version  string   `env:"PVE_SIMULATOR_VERSION" enum:",8.4,9.2" default:"" group:"cluster" help:"Release of Proxmox VE, 8.4 or 9.2. Without it, what the scenario or the saved state says." placeholder:"RELEASE"`
	Speed    float64  `default:"1" env:"PVE_SIMULATOR_SPEED" group:"cluster" help:"How many times as fast as on a real cluster tasks run; 0 makes them instant." placeholder:"FACTOR"`
	State    string   `env:"PVE_SIMULATOR_STATE" group:"cluster" help:"File that keeps the state: read at the start if it is there, written when something has changed and at the end. It holds passwords and the secrets of tokens." placeholder:"FILE" type:"path"`
	Fault    []string `group:"cluster" help:"What goes wrong, may be repeated: '[METHOD] [PATH] status=500 message=\"…\" count=1'. See below." placeholder:"FAULT" sep:"none"`

	Address     string            `default:"127.0.0.1:8006" env:"PVE_SIMULATOR_ADDRESS" group:"network" help:"Address to listen on." placeholder:"HOST:PORT"`
	NodeAddress map[string]string `group:"network" help:"Further address that reaches a node directly: --node-address pve2=127.0.0.1:8007." placeholder:"NODE=HOST:PORT"`
	TLSDir      string            `env:"PVE_SIMULATOR_TLS_DIR" group:"network" help:"Folder for ca.crt, which clients trust, and server.crt and server.key; they are made if missing. Without one they are new at each start, and https://ADDRESS/_simulator/ca.crt has the first." placeholder:"FOLDER" type:"path"`
	TLSHost     []string          `env:"PVE_SIMULATOR_TLS_HOST" group:"network" help:"Host name or address by which clients reach the server, in addition to localhost, 127.0.0.1 and that of --address, for a new certificate." placeholder:"HOST"`

	TokenFile        string `env:"PVE_SIMULATOR_TOKEN_FILE" group:"access" help:"File with lines user@realm!id=secret that set the secrets of API tokens." placeholder:"FILE" type:"existingfile"`
	ControlTokenFile string `env:"PVE_SIMULATOR_CONTROL_TOKEN_FILE" group:"access" help:"File with the token that the page and the control API ask for. Without one they answer on loopback alone." placeholder:"FILE" type:"existingfile"`

	LogRequests bool `env:"PVE_SIMULATOR_LOG_REQUESTS" group:"output" help:"Write a line per request to standard error."`
}

// run serves until ctx ends.
func (o *options) run(ctx context.Context, out io.Writer) error {
	out = &lines{w: out}
	so, err := o.simulator(out)
	if err != nil {
		return err
	}
	saved, err := o.readState(&so)
	if err != nil {
		return err
	}
	s, err := simulator.New(so)
	if err != nil {
		return errors.Wrap(err, o.origin(saved))
	}
	if err := o.setTokens(s); err != nil {
		return err
	}
	if err := s.Start(); err != nil {
		return err
	}
	o.printAddresses(out, s, saved)
	k := &keeper{path: o.State, server: s, out: out}
	k.keep(ctx, time.NewTicker(saveEvery))
	fmt.Fprintln(out, "pve-simulator stops")
	s.Close()
	return k.save()
}

// origin returns the source of the data of a server that cannot start.
func (o *options) origin(saved bool) string {
	switch {
	case saved:
		return fmt.Sprintf("cannot go on from %q", o.State)
	case o.Scenario != "":
		return fmt.Sprintf("cannot use %q", o.Scenario)
	}
	return "cannot start"
}

// printAddresses prints the addresses of the server.
func (o *options) printAddresses(out io.Writer, s *simulator.Server, saved bool) {
	fmt.Fprintf(out, "pve-simulator listens on %s\n", s.URL())
	fmt.Fprintf(out, "  page     %s/\n", s.URL())
	if o.TLSDir == "" {
		fmt.Fprintf(out, "  CA       curl -k %s/_simulator/ca.crt (new at each start; --tls-dir keeps it)\n", s.URL())
	} else {
		fmt.Fprintf(out, "  CA       %s\n", caFile(o.TLSDir))
	}
	if saved {
		fmt.Fprintf(out, "  state    goes on from %s; the scenario is for a reset\n", o.State)
	}
}

func (o *options) simulator(out io.Writer) (simulator.Options, error) {
	so := simulator.Options{
		Version: o.Version, Address: o.Address, NodeAddresses: o.NodeAddress, Speed: o.Speed,
	}
	var err error
	if so.Faults, err = o.faults(); err != nil {
		return so, err
	}
	if o.Scenario != "" {
		if so.Scenario, err = simulator.LoadScenario(o.Scenario); err != nil {
			return so, err
		}
	}
	if o.LogRequests {
		so.OnRequest = requestLogger(out)
	}
	if so.ControlToken, err = o.controlToken(); err != nil {
		return so, err
	}
	if o.TLSDir == "" {
		so.Hosts = o.hosts()
		return so, nil
	}
	so.Certificates, err = certificates(o.TLSDir, o.hosts())
	return so, err
}

func (o *options) faults() ([]simulator.Fault, error) {
	out := []simulator.Fault{}
	for _, text := range o.Fault {
		f, err := simulator.ParseFault(text)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// controlToken reads the token of the control API.
func (o *options) controlToken() (string, error) {
	if o.ControlTokenFile == "" {
		return "", nil
	}
	data, err := os.ReadFile(o.ControlTokenFile)
	if err != nil {
		return "", errors.Wrap(err, "cannot read the control token")
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", errors.Errorf("cannot use the control token in %q: it is empty", o.ControlTokenFile)
	}
	return token, nil
}

// lines serializes writes.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes to the underlying writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// requestLogger writes a line per request.
func requestLogger(out io.Writer) func(simulator.Request) {
	return func(r simulator.Request) {
		status := fmt.Sprintf("%d %s", r.Status, r.Message)
		if r.Cut {
			status = "connection cut"
		}
		first, _, _ := strings.Cut(status, "\n")
		fmt.Fprintf(out, "%s %s %s %s → %s (%s, %d bytes)\n", r.Time.Format(time.RFC3339), or(r.User, "-"), r.Method, r.Path, first,
			r.Duration.Round(10*time.Microsecond), r.Bytes)
	}
}

func or(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// setTokens sets the secrets of the token file.
func (o *options) setTokens(s *simulator.Server) error {
	if o.TokenFile == "" {
		return nil
	}
	f, err := os.Open(o.TokenFile)
	if err != nil {
		return errors.Wrap(err, "cannot open the token file")
	}
	defer f.Close() //nolint:errcheck // It is only read.
	scanner := bufio.NewScanner(f)
	for n := 1; scanner.Scan(); n++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, secret, ok := strings.Cut(line, "=")
		if !ok {
			return errors.Errorf("cannot read %q, line %d: want user@realm!id=secret", o.TokenFile, n)
		}
		if err := s.SetToken(id, secret); err != nil {
			return errors.Wrapf(err, "cannot use %q, line %d", o.TokenFile, n)
		}
	}
	return errors.Wrap(scanner.Err(), "cannot read the token file")
}
