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

// Package functionserver has the common parts of programs with functions for Crossplane: they serve at an address, and read inputs.
package functionserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alecthomas/kong"
	fnv1 "github.com/crossplane/crossplane/v2/proto/fn/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// options are the command-line options that Crossplane uses for functions.
type options struct {
	Address     string `default:":9443" help:"Address to listen on; Crossplane asks at this port." placeholder:"HOST:PORT"`
	TLSCertsDir string `env:"TLS_SERVER_CERTS_DIR" help:"Folder with tls.crt, tls.key and ca.crt, which Crossplane makes." placeholder:"FOLDER"`
	Insecure    bool   `help:"Serve without TLS, for a trial on one's own machine."`
}

// Run parses the command line of a program, and serves its function until the program is interrupted.
func Run(name, description string, function fnv1.FunctionRunnerServiceServer) {
	o := options{}
	command := kong.Parse(&o, kong.Name(name), kong.Description(description))
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	command.FatalIfErrorf(o.serve(ctx, function))
}

// serve serves the function until ctx ends.
func (o options) serve(ctx context.Context, function fnv1.FunctionRunnerServiceServer) error {
	transport, err := o.credentials()
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.Creds(transport))
	fnv1.RegisterFunctionRunnerServiceServer(server, function)
	context.AfterFunc(ctx, server.GracefulStop)
	return server.Serve(listener)
}

func (o options) credentials() (credentials.TransportCredentials, error) {
	if o.Insecure {
		return insecure.NewCredentials(), nil
	}
	if o.TLSCertsDir == "" {
		return nil, errors.New("set TLS_SERVER_CERTS_DIR, as Crossplane does, or --insecure")
	}
	certificate, err := tls.LoadX509KeyPair(filepath.Join(o.TLSCertsDir, "tls.crt"), filepath.Join(o.TLSCertsDir, "tls.key"))
	if err != nil {
		return nil, fmt.Errorf("cannot read the certificate: %w", err)
	}
	ca, err := os.ReadFile(filepath.Join(o.TLSCertsDir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("cannot read the authority of clients: %w", err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("cannot read the authority of clients: %q holds no certificate", filepath.Join(o.TLSCertsDir, "ca.crt"))
	}
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate},
		ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
	}), nil
}
