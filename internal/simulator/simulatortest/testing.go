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

// Package simulatortest starts simulators for tests.
package simulatortest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// TB is the part of testing.TB that NewTest needs.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(fn func())
}

// Credentials of the built-in scenario's user.
const (
	// TestToken is an API token of the quickstart scenario, with the least privileges that the provider needs.
	TestToken = "crossplane@pve!demo"
	// TestSecret is its secret.
	TestSecret = "00000000-0000-4000-8000-000000000001"
	// RootPassword is the password of root@pam in every scenario.
	RootPassword = "root"
)

// IgnoreRuntime excludes from a comparison of guests what changes without any operation: uptimes and counters, and values that the simulator derives from
// the configuration.
func IgnoreRuntime() cmp.Option {
	return cmpopts.IgnoreFields(simulator.Guest{}, "Processes", "Started", "PID", "CloudInit", "Report", "Sizes")
}

// NewTest starts a server that ends with the test. Options are as for New. The default is quickstart with instant tasks.
func NewTest(t TB, o simulator.Options) *simulator.Server {
	t.Helper()
	s, err := simulator.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	running := s
	t.Cleanup(func() {
		running.Close()
		running = nil // A test keeps its cleanup functions in memory until its parents end, too.
	})
	return s
}

// KeyPair returns a self-signed client certificate and its key, both in PEM.
func KeyPair(t TB) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}
