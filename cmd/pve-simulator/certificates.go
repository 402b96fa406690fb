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
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// hosts returns the names and addresses of a new certificate, in addition to localhost.
func (o *options) hosts() []string {
	hosts := o.TLSHost
	for _, address := range o.NodeAddress {
		hosts = appendHost(hosts, address)
	}
	return appendHost(hosts, o.Address)
}

func appendHost(hosts []string, address string) []string {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return hosts
	}
	return append(hosts, host)
}

func caFile(dir string) string { return filepath.Join(dir, "ca.crt") }

// certificates reads the certificates in a folder, or creates them there if the folder has none of them.
func certificates(dir string, hosts []string) (*simulator.Certificates, error) {
	certs := &simulator.Certificates{}
	found, err := readCertificates(dir, certs)
	if err != nil || found {
		return certs, err
	}
	if certs, err = simulator.NewCertificates(time.Now(), hosts...); err != nil {
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

// readCertificates reports whether the folder has certificates; it must have all files or none.
func readCertificates(dir string, certs *simulator.Certificates) (bool, error) {
	missing := []string{}
	for name, content := range files(certs) {
		data, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // The user names the folder.
		switch {
		case errors.Is(err, os.ErrNotExist):
			missing = append(missing, name)
		case err != nil:
			return false, errors.Wrap(err, "cannot read a certificate")
		}
		*content = data
	}
	if n := len(missing); n > 0 && n < len(files(certs)) {
		return false, errors.Errorf("cannot use %q: it lacks %v; remove the rest for new certificates", dir, missing)
	}
	return len(missing) == 0, nil
}

func files(c *simulator.Certificates) map[string]*[]byte {
	return map[string]*[]byte{"ca.crt": &c.CA, "server.crt": &c.Certificate, "server.key": &c.Key}
}
