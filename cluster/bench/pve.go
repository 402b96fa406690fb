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
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/util/flowcontrol"

	"github.com/vitistack/provider-proxmox/cluster/local/simulator"
)

// token of an API user.
type token struct{ id, secret string }

// pve is a plain client of the simulated API and of what the simulator has beside it.
type pve struct {
	url   string
	token token
	http  *http.Client
	// limit of requests, if there is one.
	limit flowcontrol.RateLimiter
}

func newPVE(s *simulator.Simulator, t token) (*pve, error) {
	ca, err := os.ReadFile(s.CAFile())
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("ca.crt holds no certificate")
	}
	return &pve{url: s.URL(), token: t, http: &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 64,
		},
	}}, nil
}

// call the API, such as "POST /nodes/pve1/qemu/100/status/stop", and decode the field data of the answer.
func (p *pve) call(ctx context.Context, request string, params url.Values, into any) error {
	if p.limit != nil {
		if err := p.limit.Wait(ctx); err != nil {
			return err
		}
	}
	return p.send(ctx, request, "/api2/json", params, &struct {
		Data any `json:"data"`
	}{into})
}

// uuid reads the UUID of a VM.
func (p *pve) uuid(ctx context.Context, node string, vmid int) (string, error) {
	var config struct{ SMBIOS1 string }
	if err := p.call(ctx, "GET /nodes/"+node+"/qemu/"+itoa(vmid)+"/config", nil, &config); err != nil {
		return "", err
	}
	_, uuid, found := strings.Cut(config.SMBIOS1, "uuid=")
	if uuid, _, _ = strings.Cut(uuid, ","); !found {
		return "", fmt.Errorf("VM %d has no UUID", vmid)
	}
	return uuid, nil
}

// control calls the simulator's own API.
func (p *pve) control(ctx context.Context, request string, into any) error {
	return p.send(ctx, request, "/_simulator", nil, into)
}

func (p *pve) send(ctx context.Context, request, base string, params url.Values, into any) error {
	method, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(ctx, method, p.url+base+path, strings.NewReader(params.Encode()))
	if err != nil {
		return err
	}
	if len(params) > 0 {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	if base != "/_simulator" {
		req.Header.Set("Authorization", "PVEAPIToken="+p.token.id+"="+p.token.secret)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // Only read.
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", request, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// A task as /cluster/tasks lists it.
type task struct {
	UPID    string `json:"upid"`
	ID      string `json:"id"`
	EndTime int64  `json:"endtime"`
	Status  string `json:"status"`
}

// counts are the requests of one user by method and path.
type counts map[string]int

// counted asks for the requests of a user since clearRequests.
func (p *pve) counted(ctx context.Context, user string) (counts, error) {
	var page struct {
		Rows []struct {
			User, Method, Template string
			Requests               int
		}
	}
	if err := p.control(ctx, "GET /counts", &page); err != nil {
		return nil, err
	}
	out := counts{}
	for _, r := range page.Rows {
		if r.User == user {
			out[r.Method+" "+r.Template] += r.Requests
		}
	}
	return out, nil
}

// clearRequests removes the requests that the simulator has recorded.
func (p *pve) clearRequests(ctx context.Context) error {
	return p.control(ctx, "DELETE /requests", &struct{}{})
}

func (c counts) total() int {
	n := 0
	for _, k := range c {
		n += k
	}
	return n
}

// minus returns what was counted since before.
func (c counts) minus(before counts) counts {
	out := counts{}
	for k, n := range c {
		if d := n - before[k]; d != 0 {
			out[k] = d
		}
	}
	return out
}

// names of what was counted, the most frequent first.
func (c counts) names() []string {
	return slices.SortedFunc(maps.Keys(c), func(a, b string) int { return cmp.Or(c[b]-c[a], strings.Compare(a, b)) })
}

// A request as the simulator logs it.
type request struct {
	Number   int
	Time     time.Time
	Method   string
	Path     string
	Template string
	User     string
	Status   int
}

// requests returns those after a number, all of them.
func (p *pve) requests(ctx context.Context, after int) ([]request, int, error) {
	var out []request
	for {
		var page struct {
			Last int
			Rows []request
		}
		if err := p.control(ctx, "GET /requests?after="+itoa(after), &page); err != nil {
			return nil, after, err
		}
		out = append(out, page.Rows...)
		if len(page.Rows) == 0 {
			return out, page.Last, nil
		}
		after = page.Rows[len(page.Rows)-1].Number
	}
}
