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
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// explain says why there was no answer. The texts of package net are not used:
// they have our ephemeral ports in them, and those of x509 have the time.
func explain(err error) string {
	if s := explainTLS(err); s != "" {
		return s
	}
	var dns *net.DNSError
	var errno syscall.Errno
	switch {
	case errors.Is(err, context.Canceled):
		return "call was cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), timedOut(err):
		return "no answer in time"
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("no such host %q", dns.Name)
	case errors.As(err, &dns):
		return fmt.Sprintf("cannot resolve host %q", dns.Name)
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "connection closed before the answer"
	}
	return "connection failed"
}

func explainTLS(err error) string {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &authority):
		return "server certificate is signed by an unknown authority"
	case errors.As(err, &host):
		return fmt.Sprintf("server certificate is not valid for %q", host.Host)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "server certificate has expired or is not yet valid"
	case errors.As(err, &invalid):
		return "server certificate is not valid"
	case errors.As(err, &record):
		return "server does not speak TLS"
	case tlsRefusal(err) != nil:
		return "server refused the TLS connection: " + tlsRefusal(err).Error()
	}
	return ""
}

// tlsRefusal is the alert with which the server ended the connection, if it did.
func tlsRefusal(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		return op.Err
	}
	return nil
}

// certificateRefused says whether the server did not like our certificate, or
// that there is none. With TLS 1.3 it says so only when we think that we are
// connected, but before it reads a request.
func certificateRefused(err error) bool {
	alert := tlsRefusal(err)
	return alert != nil && strings.Contains(alert.Error(), "certificate")
}

func timedOut(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// contextCause is the context's error if that is why err happened.
func contextCause(err error) error {
	for _, c := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, c) {
			return c
		}
	}
	return nil
}
