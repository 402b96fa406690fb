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

// Package provider defines how the provider is started, and the objects that configure its connection to a Proxmox VE cluster.
package provider

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Connection holds the addresses and credentials of a Proxmox VE cluster.
type Connection struct {
	// Endpoints are URLs of the API, https://HOST:PORT, one or more of the same cluster.
	Endpoints []string
	// CA holds PEM certificates to trust instead of those of the system. May be empty.
	CA string
	// InsecureSkipTLSVerify accepts any certificate.
	InsecureSkipTLSVerify bool
	// Nodes are the candidates of VMs whose spec names none. May be empty.
	Nodes []string
	// Credentials to log in with.
	Credentials Credentials
}

// Credentials are an API token, or a user's password. In JSON they are what the provider reads.
type Credentials struct {
	// Username with realm, such as crossplane@pve.
	Username string `json:"username"`
	// TokenID is the token's name, without the user.
	TokenID string `json:"tokenID,omitempty"`
	// TokenSecret is the token's secret.
	TokenSecret string `json:"tokenSecret,omitempty"`
	// Password of the user; empty with a token.
	Password string `json:"password,omitempty"`
}

// FromEnvironment reads a connection from these variables, by getenv; those in parentheses are accepted
// as well: PROXMOX_ENDPOINT (PVE_ENDPOINT), several separated by commas; PROXMOX_TOKEN, or PROXMOX_TOKEN_ID and
// PROXMOX_TOKEN_SECRET, or PROXMOX_USERNAME and PROXMOX_PASSWORD (PVE_…); PROXMOX_CA_FILE, a file that
// readFile reads (PVE_CA_BUNDLE, the certificates themselves); PROXMOX_INSECURE_SKIP_TLS_VERIFY
// (PVE_INSECURE_SKIP_VERIFY, PROXMOX_INSECURE); PVE_NODE_SELECTOR, nodes separated by commas. A token is preferred to a password. Errors name the
// variable that is missing or malformed, and no value that is secret.
func FromEnvironment(getenv func(string) string, readFile func(string) ([]byte, error)) (Connection, error) {
	v := variables{getenv: getenv}
	endpoints, err := v.endpoints()
	if err != nil {
		return Connection{}, err
	}
	credentials, err := v.credentials()
	if err != nil {
		return Connection{}, err
	}
	insecure, err := v.insecure()
	if err != nil {
		return Connection{}, err
	}
	ca, err := v.ca(readFile)
	if err != nil {
		return Connection{}, err
	}
	return Connection{Endpoints: endpoints, CA: ca, InsecureSkipTLSVerify: insecure, Nodes: v.nodes(), Credentials: credentials}, nil
}

type variables struct {
	getenv func(string) string
}

// first returns the value of the first variable that has one.
func (v variables) first(names ...string) string {
	for _, n := range names {
		if s := strings.TrimSpace(v.getenv(n)); s != "" {
			return s
		}
	}
	return ""
}

func (v variables) endpoints() ([]string, error) {
	value := v.first("PROXMOX_ENDPOINT", "PVE_ENDPOINT")
	if value == "" {
		return nil, errors.New("PROXMOX_ENDPOINT is not set: the URL of the API, such as https://pve.example.com:8006")
	}
	var out []string
	for e := range strings.SplitSeq(value, ",") {
		e = strings.TrimSpace(e)
		if !strings.HasPrefix(e, "https://") {
			return nil, fmt.Errorf("PROXMOX_ENDPOINT %q must start with https://", e)
		}
		out = append(out, e)
	}
	return out, nil
}

func (v variables) nodes() []string {
	var out []string
	for n := range strings.SplitSeq(v.first("PVE_NODE_SELECTOR"), ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

func (v variables) credentials() (Credentials, error) {
	if whole := v.first("PROXMOX_TOKEN", "PVE_TOKEN"); whole != "" {
		id, secret, ok := strings.Cut(whole, "=")
		if !ok {
			return Credentials{}, errors.New("PROXMOX_TOKEN is not of the form user@realm!name=secret")
		}
		return tokenCredentials("", id, secret)
	}
	id, secret := v.first("PROXMOX_TOKEN_ID", "PVE_TOKEN_ID"), v.first("PROXMOX_TOKEN_SECRET", "PVE_TOKEN_SECRET")
	user, password := v.first("PROXMOX_USERNAME", "PVE_USERNAME"), v.first("PROXMOX_PASSWORD", "PVE_PASSWORD")
	switch {
	case id != "" && secret != "":
		return tokenCredentials(user, id, secret)
	case user != "" && password != "":
		return Credentials{Username: user, Password: password}, nil
	case id != "":
		return Credentials{}, errors.New("PROXMOX_TOKEN_SECRET is not set, but PROXMOX_TOKEN_ID is")
	case secret != "":
		return Credentials{}, errors.New("PROXMOX_TOKEN_ID is not set, but PROXMOX_TOKEN_SECRET is")
	case user != "":
		return Credentials{}, errors.New("PROXMOX_PASSWORD is not set, but PROXMOX_USERNAME is")
	default:
		return Credentials{}, errors.New("no credentials are set: " +
			"PROXMOX_TOKEN_ID with PROXMOX_TOKEN_SECRET, or PROXMOX_USERNAME with PROXMOX_PASSWORD")
	}
}

// tokenCredentials takes the token's id whole, user@realm!name, or as its name beside a user.
func tokenCredentials(user, id, secret string) (Credentials, error) {
	owner, name, whole := strings.Cut(id, "!")
	if !whole {
		owner, name = user, id
	}
	if owner == "" {
		return Credentials{}, fmt.Errorf("PROXMOX_TOKEN_ID %q must be whole, as crossplane@pve!%s, or stand beside PROXMOX_USERNAME", id, name)
	}
	return Credentials{Username: owner, TokenID: name, TokenSecret: secret}, nil
}

func (v variables) insecure() (bool, error) {
	value := v.first("PROXMOX_INSECURE_SKIP_TLS_VERIFY", "PVE_INSECURE_SKIP_VERIFY", "PROXMOX_INSECURE")
	if value == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("PROXMOX_INSECURE_SKIP_TLS_VERIFY %q must be true or false", value)
	}
	return b, nil
}

func (v variables) ca(readFile func(string) ([]byte, error)) (string, error) {
	path := v.first("PROXMOX_CA_FILE")
	if path == "" {
		return v.first("PVE_CA_BUNDLE"), nil
	}
	b, err := readFile(path)
	if err != nil {
		return "", fmt.Errorf("cannot read PROXMOX_CA_FILE: %w", err)
	}
	return string(b), nil
}

// connectionVariables returns the variables that are not handed on to the provider: they hold secrets, or would have it make a connection
// of its own.
func connectionVariables() []string {
	return []string{
		"PROXMOX_TOKEN", "PVE_TOKEN", "PROXMOX_TOKEN_SECRET", "PVE_TOKEN_SECRET", "PROXMOX_PASSWORD", "PVE_PASSWORD", "PROXMOX_ENDPOINT", "PVE_ENDPOINT",
	}
}
