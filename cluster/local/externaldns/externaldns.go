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

// Package externaldns runs external-dns with records in memory in an environment.
package externaldns

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/vitistack/provider-proxmox/cluster/local/assets"
	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/local/process"
	"github.com/vitistack/provider-proxmox/cluster/local/repository"
)

// zone is the zone in memory.
const zone = "example.org"

// Definitions returns the folder of the definitions of external-dns.
func Definitions(ctx context.Context, repo repository.Repository) (string, error) {
	source, err := commands.ExternalDNSAssets(repo).Source(ctx, assets.ExternalDNSModule)
	return filepath.Join(source, "config", "crd", "standard"), err
}

// Records reads the current records.
type Records struct {
	url string
}

// Spec builds the program, and returns how to start it and how to read its records. The program reads the DNSEndpoints of one namespace or of all.
func Spec(ctx context.Context, repo repository.Repository, kubeconfig, namespace string) (process.Spec, Records, error) {
	dir, err := commands.ExternalDNSAssets(repo).Build(ctx, assets.ExternalDNSInMemory())
	if err != nil {
		return process.Spec{}, Records{}, err
	}
	address, err := process.FreeAddress()
	if err != nil {
		return process.Spec{}, Records{}, err
	}
	records := Records{url: "http://" + address + "/"}
	return process.Spec{
		Name: assets.ExternalDNS,
		Path: filepath.Join(dir, assets.ExternalDNS),
		Args: []string{
			"--source=crd", "--provider=inmemory", "--inmemory-zone=" + zone, "--kubeconfig=" + kubeconfig, "--namespace=" + namespace,
			"--metrics-address=" + address,
		},
		Env:   os.Environ(),
		Ready: process.HTTP(records.url),
	}, records, nil
}

// Now lets external-dns update its records to match the DNSEndpoints, and returns them: the name, the time to live, the type and the targets of each.
func (r Records) Now(ctx context.Context) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // It is read.
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("external-dns answers %s: %s", resp.Status, body)
	}
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(string(body)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines, nil
}
