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

package checksum

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// files serves a list, a file that is too large, redirects and a fault.
func files(t *testing.T) string {
	t.Helper()
	m := http.NewServeMux()
	m.HandleFunc("/SHA256SUMS", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("the list")) })
	m.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxSize+1)) })
	m.Handle("/once", http.RedirectHandler("/SHA256SUMS", http.StatusFound))
	m.Handle("/forever", http.RedirectHandler("/forever", http.StatusFound))
	m.Handle("/file", http.RedirectHandler("file:///etc/passwd", http.StatusFound))
	m.Handle("/metadata", http.RedirectHandler("http://169.254.169.254/latest", http.StatusFound))
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	return s.URL
}

func TestFetch(t *testing.T) {
	url := files(t)
	cases := map[string]struct {
		reason  string
		fetcher Fetcher
		url     string
		want    string // of the error, or of the list
	}{
		"Fine":     {reason: "A list is read.", fetcher: Fetcher{AllowLocal: true}, url: url + "/SHA256SUMS", want: "the list"},
		"Redirect": {reason: "A mirror is followed.", fetcher: Fetcher{AllowLocal: true}, url: url + "/once", want: "the list"},
		"Forever":  {reason: "Redirects are not followed for ever.", fetcher: Fetcher{AllowLocal: true}, url: url + "/forever", want: "redirects"},
		"Large":    {reason: "A list is never that large.", fetcher: Fetcher{AllowLocal: true}, url: url + "/large", want: "more than 4 MiB"},
		"Missing":  {reason: "A list that is missing is told.", fetcher: Fetcher{AllowLocal: true}, url: url + "/nosuch", want: "404 Not Found"},
		"Loopback": {reason: "The pod itself is not asked.", url: url + "/SHA256SUMS", want: "127.0.0.1 is an address of the machine"},
		"Named": {
			reason: "The pod itself is not asked by a name that leads to it.", url: strings.Replace(url, "127.0.0.1", "localhost", 1) + "/SHA256SUMS",
			want: "is an address of the machine",
		},
		"Host": {
			reason: "Hosts that are not listed are not asked.", fetcher: Fetcher{AllowLocal: true, Hosts: []string{"example.org"}},
			url: url + "/SHA256SUMS", want: "--checksum-hosts",
		},
		"Permitted": {
			reason: "Hosts that are listed are.", fetcher: Fetcher{AllowLocal: true, Hosts: []string{"127.0.0.1"}}, url: url + "/SHA256SUMS",
			want: "the list",
		},
		"Elsewhere": {
			reason: "A redirect leads to no other.", fetcher: Fetcher{AllowLocal: true, Hosts: []string{"127.0.0.1"}}, url: url + "/metadata",
			want: "--checksum-hosts",
		},
		"Judged": {
			reason: "A redirect leads to no URL that is not permitted.", url: url + "/once", want: "not that one",
			fetcher: Fetcher{AllowLocal: true, Permit: func(u string) error {
				if u == url+"/once" {
					return nil
				}
				return errors.New("not that one")
			}},
		},
		"File": {reason: "A URL of a file is not read.", fetcher: Fetcher{AllowLocal: true}, url: url + "/file", want: "neither https nor http"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			list, err := tc.fetcher.Fetch(t.Context(), tc.url, false)
			got := string(list)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("\n%s\nFetch(): want %q, got %q", tc.reason, tc.want, got)
			}
			if _, port, _ := net.SplitHostPort(strings.TrimPrefix(url, "http://")); err != nil && strings.Count(got, port) > 1 {
				t.Errorf("the error repeats addresses: %v", err)
			}
		})
	}
}

func TestFetchTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("the list")) }))
	t.Cleanup(s.Close)
	f := Fetcher{AllowLocal: true}
	if _, err := f.Fetch(t.Context(), s.URL, false); err == nil {
		t.Error("a certificate that nobody vouches for must be refused")
	}
	if list, err := f.Fetch(t.Context(), s.URL, true); err != nil || string(list) != "the list" {
		t.Errorf("a user may accept any certificate, got %q, %v", list, err)
	}
}

func TestLocal(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1": true, "127.1.2.3": true, "::1": true, "0.0.0.0": true, "::": true, "0.1.2.3": true,
		"169.254.169.254": true, "fe80::1%eth0": true, "224.0.0.1": true, "ff02::1": true,
		"::ffff:127.0.0.1": true, "::ffff:169.254.169.254": true, "64:ff9b::7f00:1": true, "64:ff9b::a9fe:a9fe": true,
		"100.100.100.200": true, "168.63.129.16": true, "fd00:ec2::254": true,
		"192.0.2.1": false, "10.0.0.1": false, "2001:db8::1": false, "64:ff9b::c000:201": false,
	} {
		if got := local(netip.MustParseAddr(address)); got != want {
			t.Errorf("local(%s): want %t, got %t", address, want, got)
		}
	}
}

func TestPermit(t *testing.T) {
	f := Fetcher{Hosts: []string{"cloud.debian.org", "*.fedoraproject.org"}}
	for address, want := range map[string]bool{
		"https://cloud.debian.org/x": true, "https://CLOUD.debian.org:8443/x": true, "https://download.fedoraproject.org": true,
		"https://debian.org": false, "https://fedoraproject.org": false, "https://evilfedoraproject.org": false,
		"https://cloud.debian.org.example.com": false, "ftp://cloud.debian.org": false, "https://[::1]/": false,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.permit(req.URL); (err == nil) != want {
			t.Errorf("permit(%s): want %t, got %v", address, want, err)
		}
	}
}
