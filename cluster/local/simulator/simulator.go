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

// Package simulator runs the simulated Proxmox VE of a demonstration and reads its content.
package simulator

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/vitistack/provider-proxmox/cluster/local/process"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
)

// Version is the simulated release of Proxmox VE.
const Version = "9.2"

// Speed is how much faster than a real server the simulated one works by default.
const Speed = "10"

// The owner and the name of the API token that the simulator knows.
const (
	tokenUser = "crossplane@pve"
	tokenName = "demo"
)

// Simulator describes how to run and reach a simulator. The secret of its token is new for each launch and is passed to the program only in a file.
type Simulator struct {
	// Speed is how much faster than a real server it works.
	Speed string

	address string
	hosts   []string
	tlsDir  string
	tokens  string
	secret  string
}

// New prepares a simulator that writes its certificates and reads its token in the folder dir.
func New(dir string) (*Simulator, error) {
	address, err := process.FreeAddress()
	if err != nil {
		return nil, err
	}
	return NewAt(dir, address)
}

// NewAt prepares a simulator that listens at an address, HOST:PORT, and whose certificate is also valid for other hosts.
func NewAt(dir, address string, hosts ...string) (*Simulator, error) {
	s := &Simulator{
		Speed:   Speed,
		address: address,
		hosts:   hosts,
		tlsDir:  filepath.Join(dir, "simulator-tls"),
		tokens:  filepath.Join(dir, "simulator-tokens"),
		secret:  rand.Text(),
	}
	line := tokenUser + "!" + tokenName + "=" + s.secret + "\n"
	if err := os.WriteFile(s.tokens, []byte(line), 0o600); err != nil {
		return nil, fmt.Errorf("cannot write the simulator's token: %w", err)
	}
	return s, nil
}

// Spec describes the simulator's process: the program at path, which starts with the content of a
// scenario file.
func (s *Simulator) Spec(path, scenario string) process.Spec {
	args := []string{
		"--address", s.address,
		"--scenario", scenario,
		"--version", Version,
		"--speed", s.Speed,
		"--tls-dir", s.tlsDir,
		"--token-file", s.tokens,
	}
	for _, host := range s.hosts {
		args = append(args, "--tls-host", host)
	}
	return process.Spec{
		Name:  "pve-simulator",
		Path:  path,
		Args:  args,
		Env:   os.Environ(),
		Ready: process.HTTP(s.URL() + "/healthz"),
	}
}

// URL returns the endpoint of the simulated API.
func (s *Simulator) URL() string { return "https://" + s.address }

// CAFile returns the file with the certificate that the simulator's clients trust. It exists once the simulator runs.
func (s *Simulator) CAFile() string { return filepath.Join(s.tlsDir, "ca.crt") }

// Connection returns the provider's connection to the simulator, which must be running.
func (s *Simulator) Connection() (provider.Connection, error) {
	ca, err := os.ReadFile(s.CAFile())
	if err != nil {
		return provider.Connection{}, fmt.Errorf("cannot read the simulator's certificate: %w", err)
	}
	return provider.Connection{
		Endpoints:   []string{s.URL()},
		CA:          string(ca),
		Credentials: provider.Credentials{Username: tokenUser, TokenID: tokenName, TokenSecret: s.secret},
	}, nil
}

// VM is a virtual machine of the simulator.
type VM struct {
	// ID is its VMID.
	ID int64 `json:"vmid"`
	// Name is its name.
	Name string `json:"name"`
	// Node is the node that it is on.
	Node string `json:"node"`
	// Status is running or stopped.
	Status string `json:"status"`
}

// VMs returns the virtual machines and templates, by their VMID, as the API shows them to the token.
func (s *Simulator) VMs(ctx context.Context) (map[int64]VM, error) {
	var list struct {
		Data []VM `json:"data"`
	}
	if err := s.Get(ctx, "/cluster/resources?type=vm", &list); err != nil {
		return nil, fmt.Errorf("cannot list the simulator's VMs: %w", err)
	}
	vms := make(map[int64]VM, len(list.Data))
	for _, vm := range list.Data {
		vms[vm.ID] = vm
	}
	return vms, nil
}

// Get reads the resource at a path of the API, such as /cluster/resources, as the token's user. It decodes the whole response, whose content is in the
// field data. Any status other than 200 is an error.
func (s *Simulator) Get(ctx context.Context, path string, into any) error {
	return s.get(ctx, "/api2/json"+path, into)
}

// Request is a request that a client has made.
type Request struct {
	// Number counts all requests, from 1.
	Number int `json:"number"`
	// Method is GET for requests that change nothing.
	Method string `json:"method"`
	// Path is the path below /api2/json.
	Path string `json:"path"`
}

// Requests returns the requests that clients have made after the one with a number. With 0 it returns all that are remembered.
func (s *Simulator) Requests(ctx context.Context, after int) ([]Request, error) {
	var requests []Request
	for {
		var page struct {
			Rows []Request `json:"rows"`
		}
		if err := s.get(ctx, "/_simulator/requests?after="+strconv.Itoa(after), &page); err != nil {
			return nil, fmt.Errorf("cannot list the simulator's requests: %w", err)
		}
		if len(page.Rows) == 0 {
			return requests, nil
		}
		requests = append(requests, page.Rows...)
		after = page.Rows[len(page.Rows)-1].Number
	}
}

// LastRequest returns the number of the last request that clients have made, or 0 if there was none.
func (s *Simulator) LastRequest(ctx context.Context) (int, error) {
	var page struct {
		Last int `json:"last"`
	}
	if err := s.get(ctx, "/_simulator/requests?limit=1", &page); err != nil {
		return 0, fmt.Errorf("cannot read the number of the simulator's last request: %w", err)
	}
	return page.Last, nil
}

func (s *Simulator) get(ctx context.Context, path string, into any) error {
	client, err := s.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "PVEAPIToken="+tokenUser+"!"+tokenName+"="+s.secret)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // Only read.
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

func (s *Simulator) client() (*http.Client, error) {
	ca, err := os.ReadFile(s.CAFile())
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("ca.crt holds no certificate")
	}
	return &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}},
	}, nil
}
