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

package proxmox

import (
	"time"

	"github.com/vitistack/provider-proxmox/internal/proxmox/transport"
)

const (
	defaultTimeout = 30 * time.Second
	redacted       = "***"
)

// What the transport of a Client is configured with, and what it reports.
type (
	// Credentials of a PVE user or of one of its API tokens.
	Credentials = transport.Credentials

	// TLS settings of the connections to PVE.
	TLS = transport.TLS

	// Limits restrict how fast requests are made.
	Limits = transport.Limits

	// A Call describes one HTTP request that ended.
	Call = transport.Call

	// A Problem with the connection to PVE that has a cure of its own.
	Problem = transport.Problem
)

// Config says how to reach one PVE cluster.
type Config struct {
	// Endpoints are the addresses of the cluster's API, tried in order:
	// https://host, https://host:8006, or the same with the path /api2 or
	// /api2/json. The port defaults to 8006. At least one is needed.
	Endpoints []string

	// Credentials to authenticate with.
	Credentials Credentials

	// TLS settings. The zero value verifies servers against the system's roots.
	TLS TLS

	// Timeout of one call, with its logins and attempts at other endpoints.
	// A nearer deadline of the caller's context wins. Defaults to 30 seconds.
	Timeout time.Duration

	// Limits of the request rate. The zero value is no limit.
	Limits Limits

	// UserAgent to send. Defaults to Go's.
	UserAgent string

	// Observe, if set, is told about every HTTP request after it ended. It must
	// be safe for concurrent use and must not block.
	Observe func(Call)

	// Clock tells the time. Defaults to time.Now.
	Clock func() time.Time
}

// transport returns the part of the configuration that the transport needs.
func (c Config) transport() transport.Config {
	return transport.Config{
		Endpoints: c.Endpoints, Credentials: c.Credentials, TLS: c.TLS, Timeout: c.Timeout, Limits: c.Limits,
		Observe: c.Observe, Clock: c.Clock, CutOff: noQuorum,
	}
}
