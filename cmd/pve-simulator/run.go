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
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// options are the command line.
type options struct {
	Address     string            `default:"127.0.0.1:8006" env:"PVE_SIMULATOR_ADDRESS" help:"Address to listen on."`
	NodeAddress map[string]string `help:"Further address that reaches a node directly: --node-address pve2=127.0.0.1:8007." placeholder:"NODE=ADDRESS"`
	Scenario    string            `env:"PVE_SIMULATOR_SCENARIO" help:"YAML file that describes the cluster; the built-in quickstart when empty." type:"existingfile"`
	Version     string            `env:"PVE_SIMULATOR_VERSION" enum:",8.4,9.2" default:"" help:"Release to simulate, 8.4 or 9.2; the scenario's when empty."`
	Speed       float64           `default:"1" env:"PVE_SIMULATOR_SPEED" help:"How many times faster than real tasks run; 0 makes them instant."`
	TLSDir      string            `env:"PVE_SIMULATOR_TLS_DIR" help:"Folder for ca.crt, server.crt and server.key; they are made if missing. In memory when empty." type:"path"`
	TokenFile   string            `env:"PVE_SIMULATOR_TOKEN_FILE" help:"File with lines user@realm!id=secret that set the secrets of tokens." type:"existingfile"`
	LogRequests bool              `env:"PVE_SIMULATOR_LOG_REQUESTS" help:"Write a line per request to standard error."`
}

// run serves until ctx ends.
func (o *options) run(ctx context.Context, out io.Writer) error {
	so, err := o.simulator(out)
	if err != nil {
		return err
	}
	s, err := simulator.New(so)
	if err != nil {
		return err
	}
	if err := o.setTokens(s); err != nil {
		return err
	}
	if err := s.Start(); err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintf(out, "pve-simulator listens on %s\n", s.URL())
	<-ctx.Done()
	fmt.Fprintln(out, "pve-simulator stops")
	return nil
}

func (o *options) simulator(out io.Writer) (simulator.Options, error) {
	so := simulator.Options{Version: o.Version, Address: o.Address, NodeAddresses: o.NodeAddress, Speed: o.Speed}
	if o.Scenario != "" {
		sc, err := simulator.LoadScenario(o.Scenario)
		if err != nil {
			return so, err
		}
		so.Scenario = sc
	}
	if o.LogRequests {
		so.OnRequest = requestLogger(out)
	}
	if o.TLSDir == "" {
		return so, nil
	}
	certs, err := certificates(o.TLSDir, o.Address)
	so.Certificates = certs
	return so, err
}

// requestLogger writes a line per request.
func requestLogger(out io.Writer) func(simulator.Request) {
	mu := sync.Mutex{}
	return func(r simulator.Request) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(out, "%s %s %s %s → %d %s\n", r.Time.Format(time.RFC3339), r.User, r.Method, r.Path, r.Status, r.Message)
	}
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
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, secret, ok := strings.Cut(line, "=")
		if !ok {
			return errors.New("cannot parse the token file: want lines user@realm!id=secret")
		}
		if err := s.SetToken(id, secret); err != nil {
			return err
		}
	}
	return errors.Wrap(lines.Err(), "cannot read the token file")
}

// certificates reads the certificates of a folder, or makes them there.
func certificates(dir, address string) (*simulator.Certificates, error) {
	certs, err := readCertificates(dir)
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return certs, err
	}
	host, _, _ := strings.Cut(address, ":")
	if certs, err = simulator.NewCertificates(time.Now(), host); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, errors.Wrap(err, "cannot make the folder for certificates")
	}
	for name, content := range files(certs) {
		if err := os.WriteFile(filepath.Join(dir, name), *content, 0o600); err != nil {
			return nil, errors.Wrapf(err, "cannot write %q", name)
		}
	}
	return certs, nil
}

func readCertificates(dir string) (*simulator.Certificates, error) {
	certs := &simulator.Certificates{}
	for name, content := range files(certs) {
		data, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // The user names the folder.
		if err != nil {
			return nil, errors.Wrapf(err, "cannot read %q", name)
		}
		*content = data
	}
	return certs, nil
}

func files(c *simulator.Certificates) map[string]*[]byte {
	return map[string]*[]byte{"ca.crt": &c.CA, "server.crt": &c.Certificate, "server.key": &c.Key}
}
