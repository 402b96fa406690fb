//go:build integration

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

package integration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/cluster/local/provider"
)

// A server calls the API of Proxmox VE without the provider. The tests compare its results with what Machines report.
type server struct {
	http     *http.Client
	endpoint string
	token    string
}

func newServer(c provider.Connection) (*server, error) {
	if c.Credentials.TokenID == "" {
		return nil, errors.New("PROXMOX_TOKEN_ID and PROXMOX_TOKEN_SECRET are not set: the tests need an API token")
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.InsecureSkipTLSVerify}
	if c.CA != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(c.CA)) {
			return nil, errors.New("PROXMOX_CA_FILE holds no certificate")
		}
	}
	return &server{
		http:     &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: config}},
		endpoint: strings.TrimSuffix(c.Endpoints[0], "/"),
		token:    c.Credentials.Username + "!" + c.Credentials.TokenID + "=" + c.Credentials.TokenSecret,
	}, nil
}

// call sends a request such as "GET /version" and decodes the data of the answer.
func (s *server) call(ctx context.Context, request string, params url.Values, into any) error {
	method, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(ctx, method, s.endpoint+"/api2/json"+path, strings.NewReader(params.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "PVEAPIToken="+s.token)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // Only read.
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", request, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(&struct {
		Data any `json:"data"`
	}{into})
}

// A guest is an entry of a list of Proxmox VE. Lists also have other entries, such as storages, without a VMID.
type guest struct {
	VMID int64
}

func vmidsOf(list []guest) []int64 {
	var ids []int64
	for _, g := range list {
		if g.VMID != 0 {
			ids = append(ids, g.VMID)
		}
	}
	return ids
}

// guests lists the VMIDs of the cluster that the token may see.
func (s *server) guests(ctx context.Context) ([]int64, error) {
	var all []guest
	err := s.call(ctx, "GET /cluster/resources?type=vm", nil, &all)
	return vmidsOf(all), err
}

// members lists the VMIDs of a pool.
func (s *server) members(ctx context.Context, pool string) ([]int64, error) {
	var pools []struct{ Members []guest }
	if err := s.call(ctx, "GET /pools?poolid="+url.QueryEscape(pool), nil, &pools); err != nil {
		return nil, err
	}
	if len(pools) != 1 {
		return nil, fmt.Errorf("there is no pool %q", pool)
	}
	return vmidsOf(pools[0].Members), nil
}

// config reads the options of a VM.
func (s *server) config(ctx context.Context, node string, vmid int64) (config map[string]any, err error) {
	return config, s.call(ctx, fmt.Sprintf("GET /nodes/%s/qemu/%d/config", node, vmid), nil, &config)
}
