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
)

func TestNewRefuses(t *testing.T) {
	valid := func() Config {
		return Config{Endpoints: []string{"https://pve"}, Credentials: tokenCredentials()}
	}
	cases := map[string]struct {
		reason string
		change func(*Config)
		ok     bool
	}{
		"Valid": {reason: "Endpoint and token are enough.", change: func(*Config) {}, ok: true},
		"SplitToken": {
			reason: "User and token may be apart.", change: func(c *Config) { c.Credentials.Username, c.Credentials.TokenID = "a@pve", "b" },
			ok: true,
		},
		"Password":      {reason: "A password will do.", change: func(c *Config) { c.Credentials = passwordCredentials() }, ok: true},
		"NoEndpoint":    {reason: "A client needs an endpoint.", change: func(c *Config) { c.Endpoints = nil }},
		"BadEndpoint":   {reason: "Each endpoint must be valid.", change: func(c *Config) { c.Endpoints = append(c.Endpoints, "pve2") }},
		"NoCredentials": {reason: "PVE lets nobody in.", change: func(c *Config) { c.Credentials = Credentials{} }},
		"NoRealm":       {reason: "PVE needs the realm.", change: func(c *Config) { c.Credentials = Credentials{Username: "root", Password: password} }},
		"NoPassword":    {reason: "A user alone does not do.", change: func(c *Config) { c.Credentials = Credentials{Username: "root@pam"} }},
		"NoSecret":      {reason: "A token alone does not do.", change: func(c *Config) { c.Credentials.TokenSecret = "" }},
		"NoTokenID":     {reason: "A secret alone does not do.", change: func(c *Config) { c.Credentials.TokenID = "" }},
		"TokenNoUser":   {reason: "A token belongs to a user.", change: func(c *Config) { c.Credentials.TokenID = "full" }},
		"TokenOther":    {reason: "The token must be the user's.", change: func(c *Config) { c.Credentials.Username = "root@pam" }},
		"TokenHeader":   {reason: "Nothing may leave the header.", change: func(c *Config) { c.Credentials.TokenSecret += "\r\nX: y" }},
		"BadCA":         {reason: "A CA that is none must not be ignored.", change: func(c *Config) { c.TLS.CA = []byte("x") }},
		"BadCertificate": {
			reason: "A client certificate that is none must not be ignored.", change: func(c *Config) { c.TLS.Certificate, c.TLS.Key = []byte("x"), []byte("y") },
		},
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
