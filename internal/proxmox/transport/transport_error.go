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
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A Problem is a problem with the connection to PVE that has a specific remedy.
type Problem string

// Problems with a connection.
const (
	// ProblemHostNotFound means that the host's name has no known address.
	ProblemHostNotFound Problem = "HostNotFound"

	// ProblemRefused means that nothing listens at the port.
	ProblemRefused Problem = "ConnectionRefused"

	// ProblemUnreachable means that there is no route to the host.
	ProblemUnreachable Problem = "HostUnreachable"

	// ProblemTimeout means that there was no answer in time.
	ProblemTimeout Problem = "Timeout"

	// ProblemClosed means that the connection ended before the answer.
	ProblemClosed Problem = "ConnectionClosed"

	// ProblemUnknownAuthority means that the server's certificate is signed by
	// an authority that is not trusted.
	ProblemUnknownAuthority Problem = "UnknownAuthority"

	// ProblemNameMismatch means that the server's certificate is for other names.
	ProblemNameMismatch Problem = "CertificateNameMismatch"

	// ProblemExpired means that the server's certificate has expired.
	ProblemExpired Problem = "CertificateExpired"

	// ProblemNotYetValid means that the server's certificate is not valid yet.
	ProblemNotYetValid Problem = "CertificateNotYetValid"

	// ProblemBadCertificate means that the server's certificate is otherwise invalid.
	ProblemBadCertificate Problem = "CertificateInvalid"

	// ProblemNotTLS means that the server at the port does not speak TLS.
	ProblemNotTLS Problem = "NotTLS"

	// ProblemTLSVersion means that the server supports no TLS version that we do: 1.2 or later.
	ProblemTLSVersion Problem = "TLSVersion"

	// ProblemClientCertificate means that the server requires a client certificate, or another one.
	ProblemClientCertificate Problem = "ClientCertificateRefused"

	// ProblemTLSRefused means that the server ended the connection for another reason.
	ProblemTLSRefused Problem = "TLSRefused"

	// ProblemSecondFactor means that the user cannot log in with only a password.
	ProblemSecondFactor Problem = "SecondFactorRequired"

	// ProblemRedirect means that the server redirects to another address.
	ProblemRedirect Problem = "Redirect"

	// ProblemNotPVE means that the server is not the API of PVE.
	ProblemNotPVE Problem = "NotProxmoxVE"
)

// transportError returns why there was no answer. It does not use the texts of package net, which contain our ephemeral ports, nor those of x509, which
// contain the time.
func transportError(err error) (Problem, string) {
	if p, s := tlsError(err); s != "" {
		return p, s
	}
	var dns *net.DNSError
	var errno syscall.Errno
	switch {
	case errors.Is(err, context.Canceled):
		return "", "call was cancelled"
	case errors.As(err, &dns) && dns.IsNotFound:
		return ProblemHostNotFound, fmt.Sprintf("no such host %q", dns.Name)
	case errors.As(err, &dns):
		return ProblemHostNotFound, fmt.Sprintf("cannot resolve host %q", dns.Name)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), timedOut(err):
		return ProblemTimeout, "no answer in time"
	case errors.As(err, &errno):
		return problemOf(errno), errno.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), closedUnused(err):
		return ProblemClosed, "connection closed before the answer"
	}
	return "", "connection failed"
}

// closedUnused reports whether the server closed the connection before the request was written to it. Package http exports no error for that.
func closedUnused(err error) bool {
	return strings.Contains(err.Error(), "http: server closed idle connection")
}

func problemOf(errno syscall.Errno) Problem {
	if errno == syscall.ECONNREFUSED {
		return ProblemRefused
	}
	if errno == syscall.ECONNRESET || errno == syscall.EPIPE {
		return ProblemClosed
	}
	return ProblemUnreachable
}

func tlsError(err error) (Problem, string) {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &authority):
		return ProblemUnknownAuthority, "server certificate is signed by an unknown authority" + issuer(authority.Cert)
	case errors.As(err, &host):
		return ProblemNameMismatch, fmt.Sprintf("server certificate is not valid for %q%s", host.Host, validFor(host.Certificate))
	case errors.As(err, &invalid):
		return certificateError(invalid)
	case errors.As(err, &record):
		return ProblemNotTLS, "server does not speak TLS"
	}
	alert := tlsRefusal(err)
	switch {
	case alert != nil && strings.Contains(alert.Error(), "certificate"):
		return ProblemClientCertificate, "server refused the TLS connection: " + alert.Error()
	case alert != nil && strings.Contains(alert.Error(), "protocol version"), strings.Contains(err.Error(), "unsupported protocol version"):
		return ProblemTLSVersion, "server does not speak TLS 1.2 or later"
	case alert != nil:
		return ProblemTLSRefused, "server refused the TLS connection: " + alert.Error()
	}
	return "", ""
}

func certificateError(e x509.CertificateInvalidError) (Problem, string) {
	switch {
	case e.Reason != x509.Expired || e.Cert == nil:
		return ProblemBadCertificate, "server certificate is not valid"
	case strings.Contains(e.Detail, "is before"):
		return ProblemNotYetValid, "server certificate is not valid before " + e.Cert.NotBefore.UTC().Format(time.DateOnly)
	default:
		return ProblemExpired, "server certificate has expired on " + e.Cert.NotAfter.UTC().Format(time.DateOnly)
	}
}

// issuer returns the issuer of a certificate, preferably by its common name.
func issuer(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	name := c.Issuer.CommonName
	if name == "" {
		name = c.Issuer.String()
	}
	return fmt.Sprintf(" %q", name)
}

// validFor returns the names for which a certificate is valid.
func validFor(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return ""
	}
	return ", but for " + strings.Join(names, ", ")
}

// tlsRefusal returns the alert with which the server ended the connection, if it did.
func tlsRefusal(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		return op.Err
	}
	return nil
}

// certificateRefused reports whether the server rejected our certificate, or that we sent none. With TLS 1.3 that happens after the handshake has ended on
// our side, but before the server reads a request.
func certificateRefused(err error) bool {
	alert := tlsRefusal(err)
	return alert != nil && strings.Contains(alert.Error(), "certificate")
}

func timedOut(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// contextCause returns the context's error if that caused err.
func contextCause(err error) error {
	for _, c := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, c) {
			return c
		}
	}
	return nil
}
