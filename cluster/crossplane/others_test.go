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

package crossplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vitistack/provider-proxmox/cluster/crossplane/stack"
	"github.com/vitistack/provider-proxmox/cluster/local/simulator"
)

// compositionTestdata has manifests with combinations of fields that the documentation of operators does not have.
const compositionTestdata = "cluster/crossplane/composition/testdata"

// testOthers creates resources that the manifests of the migration leave out: a VMClone, a VirtualMachine that a policy places, with eight interfaces
// and IPv6, and a ProxmoxCluster with its own client certificate.
func (s *suite) testOthers(t *testing.T, migration *simulator.Simulator) {
	t.Helper()
	image := s.apply(t, compositionTestdata+"/any-image.yaml")
	s.untilTrue(t, inDefault(image), "Ready", "Synced")
	placed := inDefault(s.apply(t, compositionTestdata+"/placed.yaml"))[0]
	clone := inDefault(read(t, compositions+"/others/virtrigaud/web-clone.yaml"))[0]
	s.create(t, clone, "ubuntu-24.04", "spec", "sourceVMRef", "name") // A template of the cluster that is used for a clone without providerRef.
	cluster := s.ownCertificates(t, migration)

	vms := []*unstructured.Unstructured{placed, clone}
	all := []*unstructured.Unstructured{placed, clone, cluster, image[0]}
	s.untilTrue(t, all, "Ready", "Synced")
	s.untilTrue(t, vms, "VMCreated", "ResourcesAllocated", "NetworkConfigured")
	if id := statusOf(clone, "id"); id == "" {
		t.Errorf("the VMClone shows no VMID: %v", clone.Object["status"])
	}
	s.checkPlaced(t, placed, migration)

	for _, obj := range all {
		s.kubectl(t, "delete", "--wait=false", argument(obj), "--namespace", namespaceOf(obj))
	}
	s.untilGone(t, all)
}

// inDefault sets the namespace of kubectl in objects without one.
func inDefault(objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	for _, obj := range objs {
		obj.SetNamespace("default")
	}
	return objs
}

// statusOf returns a value of an object's status, or an empty string if there is none.
func statusOf(obj *unstructured.Unstructured, field string) string {
	value, found, _ := unstructured.NestedFieldNoCopy(obj.Object, "status", field)
	if !found {
		return ""
	}
	return fmt.Sprint(value)
}

// checkPlaced checks that the VM is on a node of the policy, with its interfaces and addresses.
func (s *suite) checkPlaced(t *testing.T, placed *unstructured.Unstructured, migration *simulator.Simulator) {
	t.Helper()
	node := statusOf(placed, "node")
	if node != "pve-node-1" && node != "pve-node-2" {
		t.Errorf("want the VM on a node of the policy, got %q", node)
	}
	var answer struct {
		Data map[string]any `json:"data"`
	}
	if err := migration.Get(s.ctx, "/nodes/"+node+"/qemu/"+statusOf(placed, "id")+"/config", &answer); err != nil {
		t.Fatal(err)
	}
	for option, want := range map[string]string{
		"net0": "bridge=vmbr0", "net1": "bridge=vmbr1", "net2": "bridge=vmbr2", "net3": "bridge=vmbr3", "net4": "bridge=vmbr4", "net5": "bridge=vmbr5",
		"net6": "bridge=vmbr6", "net7": "bridge=vmbr7,", "ipconfig0": "ip6=2001:db8::100/64", "ipconfig1": "ip6=auto",
		"ipconfig7": "ip=10.0.7.50/24",
	} {
		if got := fmt.Sprint(answer.Data[option]); !strings.Contains(got, want) {
			t.Errorf("%s: want %q, got %q", option, want, got)
		}
	}
}

// ownCertificates applies the ProxmoxCluster with valid certificates: one for the client, and that of a proxy which accepts only this client.
func (s *suite) ownCertificates(t *testing.T, sim *simulator.Simulator) *unstructured.Unstructured {
	t.Helper()
	connection, err := sim.Connection()
	if err != nil {
		t.Fatal(err)
	}
	secret := object("v1", "Secret", "own-certificates")
	secret.SetNamespace(stack.Namespace)
	secret.Object["stringData"] = map[string]any{"password": "secure-password"}
	if err := s.Kube.Apply(s.ctx, secret); err != nil {
		t.Fatal(err)
	}
	cluster := read(t, compositionTestdata+"/cluster-password.yaml")[0]
	certificate, key := clientCertificate(t)
	proxy := guarded(t, sim, connection.CA, certificate)
	for field, value := range map[string]string{
		"endpoint": proxy.URL, "caCertificate": encode("CERTIFICATE", proxy.Certificate().Raw), "clientCertificate": certificate, "clientKey": key,
	} {
		if err := unstructured.SetNestedField(cluster.Object, value, "spec", field); err != nil {
			t.Fatal(err)
		}
	}
	s.create(t, cluster, secret.GetName(), "spec", "credentials", "password", "secretRef", "name")
	return cluster
}

// clientCertificate returns a self-signed certificate with its key, in PEM.
func clientCertificate(t *testing.T) (certificate, key string) {
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
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", secret)
}

// encode encodes data in PEM.
func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// guarded returns a proxy for a simulator, like one in front of Proxmox VE, that accepts only clients with the certificate.
func guarded(t *testing.T, sim *simulator.Simulator, authority, certificate string) *httptest.Server {
	t.Helper()
	behind, err := url.Parse(sim.URL())
	if err != nil {
		t.Fatal(err)
	}
	servers, clients := x509.NewCertPool(), x509.NewCertPool()
	if !servers.AppendCertsFromPEM([]byte(authority)) || !clients.AppendCertsFromPEM([]byte(certificate)) {
		t.Fatal("a certificate is none")
	}
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(behind) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: servers, MinVersion: tls.VersionTLS12}},
	})
	proxy.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients, MinVersion: tls.VersionTLS12}
	proxy.Config.ErrorLog = log.New(io.Discard, "", 0)
	proxy.StartTLS()
	t.Cleanup(proxy.Close)
	if answer, err := proxy.Client().Get(proxy.URL + "/api2/json/version"); err == nil {
		_ = answer.Body.Close()
		t.Error("the proxy lets in a client without a certificate")
	}
	return proxy
}
