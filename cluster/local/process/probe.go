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

package process

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"
)

// HTTP returns a probe that succeeds when url answers 200 within two seconds. It does not verify certificates: it sends no data, and is used only for
// programs that the launcher itself started on loopback.
func HTTP(url string) Probe {
	client := &http.Client{
		Timeout: 2 * time.Second,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // See above.
		},
	}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, resp.Status)
		}
		return nil
	}
}

// TCP returns a probe that succeeds when a program listens at an address.
func TCP(address string) Probe {
	return func(ctx context.Context) error {
		dialer := net.Dialer{Timeout: 2 * time.Second}
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	}
}

// Ports are chosen from this range. It is below the range for outgoing connections, one of which could otherwise take a port between its choice and its
// use.
const (
	firstPort = 20000
	portCount = 10000
)

// freePort returns a random port of 127.0.0.1 that no program listens on at the moment.
func freePort() (int, error) {
	var last error
	for range 100 {
		port := firstPort + rand.IntN(portCount) //nolint:gosec // A port is no secret.
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err == nil {
			return port, l.Close()
		}
		last = err
	}
	return 0, fmt.Errorf("cannot find a free port on 127.0.0.1: %w", last)
}

// FreeAddress returns 127.0.0.1 with a port that no program listens on at the moment, as host:port.
func FreeAddress() (string, error) {
	port, err := freePort()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), nil
}
