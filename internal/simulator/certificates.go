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

package simulator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/random"
)

// Certificates holds a certificate authority and a server certificate signed by it, in PEM.
type Certificates struct {
	// CA is the certificate that clients trust.
	CA []byte
	// Certificate and Key belong to the server.
	Certificate []byte
	Key         []byte
}

// certificateLife is the validity of generated certificates.
const certificateLife = 2 * 365 * 24 * time.Hour

// NewCertificates creates new certificates for localhost and further host names or addresses.
func NewCertificates(now time.Time, hosts ...string) (*Certificates, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, errors.Wrap(err, "cannot generate a key")
	}
	ca := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "pve-simulator CA"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, errors.Wrap(err, "cannot sign the CA certificate")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, errors.Wrap(err, "cannot generate a key")
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf(now, hosts), ca, &key.PublicKey, caKey)
	if err != nil {
		return nil, errors.Wrap(err, "cannot sign the server certificate")
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	return &Certificates{
		CA: block("CERTIFICATE", caDER), Certificate: block("CERTIFICATE", der), Key: block("PRIVATE KEY", keyDER),
	}, errors.Wrap(err, "cannot encode the key")
}

func leaf(now time.Time, hosts []string) *x509.Certificate {
	cert := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "pve-simulator"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			cert.IPAddresses = append(cert.IPAddresses, ip)
		} else if h != "" {
			cert.DNSNames = append(cert.DNSNames, h)
		}
	}
	return cert
}

func serial() *big.Int { return new(big.Int).SetBytes(random.Bytes(15)) }

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
