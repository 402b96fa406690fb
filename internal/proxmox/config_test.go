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
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseEndpoint(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   string // empty: refused
	}{
		"Host":        {reason: "The port has a default.", in: "https://pve", want: "https://pve:8006/api2/json"},
		"Slash":       {reason: "A slash is no path.", in: "https://pve/", want: "https://pve:8006/api2/json"},
		"Port":        {reason: "A port stays.", in: "https://pve:443", want: "https://pve:443/api2/json"},
		"API2":        {reason: "A part of the path is completed.", in: "https://pve:8006/api2", want: "https://pve:8006/api2/json"},
		"JSON":        {reason: "The whole path is kept.", in: "https://pve:8006/api2/json", want: "https://pve:8006/api2/json"},
		"JSONSlash":   {reason: "A last slash does not matter.", in: "https://pve:8006/api2/json/", want: "https://pve:8006/api2/json"},
		"Prefix":      {reason: "A reverse proxy's prefix stays.", in: "https://proxy:443/pve/api2/json", want: "https://proxy:443/pve/api2/json"},
		"IPv6":        {reason: "IPv6 addresses are fine.", in: "https://[2001:db8::1]", want: "https://[2001:db8::1]:8006/api2/json"},
		"HTTP":        {reason: "Secrets do not travel in clear.", in: "http://pve:8006"},
		"NoScheme":    {reason: "A bare host is not a URL.", in: "pve:8006"},
		"NoHost":      {reason: "There must be a host.", in: "https:///api2/json"},
		"Empty":       {reason: "There must be something.", in: ""},
		"Query":       {reason: "A query makes no sense.", in: "https://pve:8006/?a=b"},
		"Credentials": {reason: "Secrets do not belong into URLs.", in: "https://root:" + tokenSecret + "@pve:8006"},
		"NotAURL":     {reason: "Nor do they show if the URL is broken.", in: "https://root:" + tokenSecret + "@pve:80 06\x7f"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseEndpoint(tc.in)
			if tc.want == "" {
				if err == nil {
					t.Fatalf("%s\nparseEndpoint(%q): got %q, want an error", tc.reason, tc.in, got)
				}
				hides(t, err.Error())
				return
			}
			if err != nil {
				t.Fatalf("%s\nparseEndpoint(%q): %v", tc.reason, tc.in, err)
			}
			if diff := cmp.Diff(tc.want, got.String()); diff != "" {
				t.Errorf("%s\nparseEndpoint(%q): -want, +got:\n%s", tc.reason, tc.in, diff)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	valid := func() Config {
		return Config{Endpoints: []string{"https://pve"}, Credentials: tokenCredentials()}
	}
	cases := map[string]struct {
		reason string
		change func(*Config)
		ok     bool
	}{
		"Valid":           {reason: "Endpoint and token are enough.", change: func(*Config) {}, ok: true},
		"SplitToken":      {reason: "User and token may be apart.", change: func(c *Config) { c.Credentials.Username, c.Credentials.TokenID = "a@pve", "b" }, ok: true},
		"Password":        {reason: "A password will do.", change: func(c *Config) { c.Credentials = passwordCredentials() }, ok: true},
		"NoEndpoint":      {reason: "Nowhere to go.", change: func(c *Config) { c.Endpoints = nil }},
		"BadEndpoint":     {reason: "Each endpoint counts.", change: func(c *Config) { c.Endpoints = append(c.Endpoints, "pve2") }},
		"NoCredentials":   {reason: "PVE lets nobody in.", change: func(c *Config) { c.Credentials = Credentials{} }},
		"NoRealm":         {reason: "PVE needs the realm.", change: func(c *Config) { c.Credentials = Credentials{Username: "root", Password: password} }},
		"NoPassword":      {reason: "A user alone does not do.", change: func(c *Config) { c.Credentials = Credentials{Username: "root@pam"} }},
		"NoSecret":        {reason: "A token alone does not do.", change: func(c *Config) { c.Credentials.TokenSecret = "" }},
		"NoTokenID":       {reason: "A secret alone does not do.", change: func(c *Config) { c.Credentials.TokenID = "" }},
		"TokenNoUser":     {reason: "A token belongs to a user.", change: func(c *Config) { c.Credentials.TokenID = "full" }},
		"TokenOther":      {reason: "The token must be the user's.", change: func(c *Config) { c.Credentials.Username = "root@pam" }},
		"TokenHeader":     {reason: "Nothing may leave the header.", change: func(c *Config) { c.Credentials.TokenSecret += "\r\nX: y" }},
		"BadCA":           {reason: "A CA that is none must not be ignored.", change: func(c *Config) { c.TLS.CA = []byte("x") }},
		"BadCertificate":  {reason: "Nor must a client certificate.", change: func(c *Config) { c.TLS.Certificate, c.TLS.Key = []byte("x"), []byte("y") }},
		"CertificateOnly": {reason: "A certificate needs its key.", change: func(c *Config) { c.TLS.Certificate = []byte("x") }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := valid()
			tc.change(&cfg)
			_, err := New(cfg)
			if (err == nil) != tc.ok {
				t.Fatalf("%s\nNew(...): got error %v, want success: %t", tc.reason, err, tc.ok)
			}
			if err != nil {
				hides(t, err.Error())
			}
		})
	}
}

func TestCredentialsHideSecrets(t *testing.T) {
	for _, c := range []Credentials{tokenCredentials(), passwordCredentials()} {
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "credentials", c, "config", Config{Credentials: c})
		hides(t, log.String())
		j, err := json.Marshal(struct{ C Credentials }{c})
		if err != nil {
			t.Fatal(err)
		}
		hides(t, string(j))
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			hides(t, fmt.Sprintf(verb, c))
			hides(t, fmt.Sprintf(verb, &c))
			hides(t, fmt.Sprintf(verb, Config{Credentials: c}))
		}
		if !strings.Contains(c.String(), "tester@pve") {
			t.Errorf("String(): got %q, want the user in it", c.String())
		}
	}
}
