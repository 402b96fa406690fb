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
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

const (
	defaultPort = "8006"
	apiPath     = "/api2/json"
	redacted    = "***"
)

// Limits restrict how fast requests are made.
type Limits struct {
	// PerSecond is how many requests may start per second on average. Zero is
	// no limit.
	PerSecond float64

	// Burst is how many requests may start at once within PerSecond. Defaults
	// to PerSecond rounded up.
	Burst int

	// Concurrency is how many requests may be under way at once. Zero is no
	// limit.
	Concurrency int

	// Tasks is how many tasks of ours may run at once in the cluster,
	// TasksPerNode on one node, and ClonesPerSource clones of one VM. What would
	// start one more is refused until its turn comes: see Waiting of package proxmox. Zero is no limit.
	Tasks, TasksPerNode, ClonesPerSource int
}

// A Call describes one HTTP request that ended, for metrics.
type Call struct {
	// Method is the HTTP method.
	Method string

	// Path is the path's template, such as /nodes/{node}/qemu/{vmid}/config.
	Path string

	// Status is the HTTP status of the answer, or 0 if there was none.
	Status int

	// Duration from the start of the request to the head of its answer.
	Duration time.Duration
}

// Credentials of a PVE user or of one of its API tokens. Printing and logging
// them shows no secret.
type Credentials struct {
	// Username with its realm, such as root@pam. May be left out if TokenID has
	// it.
	Username string

	// Password of the user. Not used if there is a token.
	Password string

	// TokenID is the name of the API token, or the whole user@realm!name.
	TokenID string

	// TokenSecret is the UUID that belongs to the token.
	TokenSecret string
}

// String returns the user and the name of the token, without secrets.
func (c Credentials) String() string {
	if c.TokenID != "" {
		return c.Token() + "=" + redacted
	}
	return c.Username + ":" + redacted
}

// GoString returns the same as String, for %#v.
func (c Credentials) GoString() string { return c.String() }

// Format writes String for every verb.
func (c Credentials) Format(s fmt.State, _ rune) {
	_, _ = s.Write([]byte(c.String()))
}

// LogValue returns what String does, for structured logs.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON writes String, so that a dump shows no secret.
func (c Credentials) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// Token returns the whole name of the API token.
func (c Credentials) Token() string {
	if strings.Contains(c.TokenID, "!") {
		return c.TokenID
	}
	return c.Username + "!" + c.TokenID
}

// Identity returns the user or the token, as tasks have it.
func (c Credentials) Identity() string {
	if c.TokenID == "" {
		return c.Username
	}
	return c.Token()
}

// Secrets returns what no message may have in it.
func (c Credentials) Secrets() []string { return []string{c.Password, c.TokenSecret} }

func (c Credentials) validate() error {
	if c.TokenID == "" && c.TokenSecret == "" {
		return c.validatePassword()
	}
	user, name, _ := strings.Cut(c.Token(), "!")
	switch {
	case c.TokenID == "":
		return errors.New("token secret without a token id")
	case c.TokenSecret == "":
		return errors.Errorf("token %q has no secret", c.Token())
	case name == "" || !validUser(user):
		return errors.Errorf("token id %q is not of the form user@realm!name", c.Token())
	case c.Username != "" && c.Username != user:
		return errors.Errorf("token id %q is not one of user %q", c.Token(), c.Username)
	case strings.ContainsAny(c.Token()+c.TokenSecret, "\r\n= \t"):
		return errors.New("token has white space or = in it")
	}
	return nil
}

func (c Credentials) validatePassword() error {
	switch {
	case c.Username == "" && c.Password == "":
		return errors.New("neither a password nor an API token")
	case !validUser(c.Username):
		return errors.Errorf("username %q is not of the form user@realm", c.Username)
	case c.Password == "":
		return errors.Errorf("user %q has no password", c.Username)
	}
	return nil
}

func validUser(s string) bool {
	i := strings.LastIndexByte(s, '@')
	return i > 0 && i < len(s)-1 && !strings.ContainsAny(s, "!:/ \t\r\n")
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

// parseEndpoint brings an endpoint into the form https://host:port/api2/json.
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
