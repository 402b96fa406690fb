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

package transport

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

const (
	defaultPort = "8006"
	apiPath     = "/api2/json"
)

// Config describes how to reach the API of one PVE cluster.
type Config struct {
	// Endpoints are the addresses of the API, tried in order.
	Endpoints []string

	// Credentials to authenticate with.
	Credentials Credentials

	// TLS settings.
	TLS TLS

	// Timeout of one call.
	Timeout time.Duration

	// Limits of the request rate.
	Limits Limits

	// Observe, if set, is called after every HTTP request.
	Observe func(Call)

	// Clock returns the time.
	Clock func() time.Time

	// CutOff reports whether a message of PVE comes from a node without quorum.
	CutOff func(message string) bool
}

// Limits restrict how fast requests are made.
type Limits struct {
	// PerSecond is how many requests may start per second on average. Zero means no limit.
	PerSecond float64

	// Burst is how many requests may start at once within PerSecond. Defaults
	// to PerSecond rounded up.
	Burst int

	// Concurrency is how many requests may run at the same time. Zero means no limit.
	Concurrency int

	// Tasks is how many of our tasks may run at the same time in the cluster, TasksPerNode on one node, and ClonesPerSource clones of one VM. A call that
	// would start one more is rejected until its turn comes: see Waiting of package proxmox. Zero means no limit.
	Tasks, TasksPerNode, ClonesPerSource int
}

// TLS settings of the connections to PVE. TLS 1.2 is the oldest version used.
type TLS struct {
	// CA is a bundle of PEM certificates that replaces the system's roots.
	CA []byte

	// Certificate and Key are a PEM client certificate, both or neither.
	Certificate, Key []byte

	// ServerName to expect in the server's certificate, if it is not the host
	// of the endpoint.
	ServerName string

	// InsecureSkipVerify accepts any server certificate.
	InsecureSkipVerify bool
}

func (t TLS) config() (*tls.Config, error) {
	cfg := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         t.ServerName,
		InsecureSkipVerify: t.InsecureSkipVerify, //nolint:gosec // The user's explicit choice.
	}
	if len(t.CA) > 0 {
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(t.CA) {
			return nil, errors.New("CA bundle has no PEM certificate")
		}
	}
	if len(t.Certificate) == 0 && len(t.Key) == 0 {
		return cfg, nil
	}
	pair, err := tls.X509KeyPair(t.Certificate, t.Key)
	if err != nil {
		return nil, errors.New("client certificate and key are not a PEM pair")
	}
	cfg.Certificates = []tls.Certificate{pair}
	return cfg, nil
}

// parseEndpoint converts an endpoint to the form https://host:port/api2/json.
func parseEndpoint(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("endpoint is not a URL")
	}
	switch {
	case u.User != nil:
		return nil, errors.New("endpoint must not have credentials in it")
	case u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.Errorf("endpoint %q is not of the form https://host:8006", s)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.Errorf("endpoint %q must not have a query or a fragment", s)
	}
	if u.Port() == "" {
		u.Host = strings.TrimSuffix(u.Host, ":") + ":" + defaultPort
	}
	prefix := strings.TrimRight(u.Path, "/")
	prefix = strings.TrimSuffix(strings.TrimSuffix(prefix, "/json"), "/api2")
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(prefix, "/") + apiPath}, nil
}

func (c Config) urls() ([]*url.URL, error) {
	if len(c.Endpoints) == 0 {
		return nil, errors.New("no endpoint")
	}
	urls := make([]*url.URL, 0, len(c.Endpoints))
	for _, s := range c.Endpoints {
		u, err := parseEndpoint(s)
		if err != nil {
			return nil, err
		}
		urls = append(urls, u)
	}
	return urls, nil
}
