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
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Connection has the addresses and credentials of a Proxmox VE cluster.
type Connection struct {
	// Endpoints are URLs of the API, https://HOST:PORT, one or more of the same cluster.
	Endpoints []string
	// CA has PEM certificates to trust instead of those of the system. May be empty.
	CA string
	// InsecureSkipTLSVerify accepts any certificate.
	InsecureSkipTLSVerify bool
	// Nodes are the candidates of VMs whose spec names none. May be empty.
	Nodes []string
	// Credentials to log in with.
	Credentials Credentials
}

// Credentials are an API token, or a user's password. Their JSON form is one that the provider reads.
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

// FromEnvironment reads a connection from variables with getenv. Variables in parentheses are alternatives: PROXMOX_ENDPOINT (PVE_ENDPOINT), several
// separated by commas; PROXMOX_TOKEN, or PROXMOX_TOKEN_ID and PROXMOX_TOKEN_SECRET, or PROXMOX_USERNAME and PROXMOX_PASSWORD (PVE_…); PROXMOX_CA_FILE,
// a file that readFile reads (PVE_CA_BUNDLE, the certificates themselves); PROXMOX_INSECURE_SKIP_TLS_VERIFY (PVE_INSECURE_SKIP_VERIFY,
// PROXMOX_INSECURE); PVE_NODE_SELECTOR, nodes separated by commas. They have the same meaning for the provider and its commands: PROXMOX_ takes
// precedence over PVE_, all credentials have one prefix, and a token takes precedence over a password. Errors name the variable that is missing or
// malformed, and contain no secret values.
func FromEnvironment(getenv func(string) string, readFile func(string) ([]byte, error)) (Connection, error) {
	v := variables{getenv: getenv}
	endpoints, err := v.endpoints()
	if err != nil {
		return Connection{}, err
	}
	if err := v.checkPrefixes(); err != nil {
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
	var out []string
	for e := range strings.SplitSeq(v.first("PROXMOX_ENDPOINT", "PVE_ENDPOINT"), ",") {
		e = strings.TrimSpace(e)
		if e == "" {
			continue
		}
		if !strings.HasPrefix(e, "https://") {
			return nil, fmt.Errorf("PROXMOX_ENDPOINT %q must start with https://", e)
		}
		out = append(out, e)
	}
	if len(out) == 0 {
		return nil, errors.New("PROXMOX_ENDPOINT is not set: the URL of the API, such as https://pve.example.com:8006")
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

// prefixes returns the prefixes of the variables. The first takes precedence.
func prefixes() []string { return []string{"PROXMOX_", "PVE_"} }

// credentialVariables returns the variables of credentials, without a prefix.
func credentialVariables() []string {
	return []string{"TOKEN", "TOKEN_ID", "TOKEN_SECRET", "USERNAME", "PASSWORD"}
}

// byPrefix returns, for each prefix with which some of the names have a value, the first such variable. The first of them is used.
func (v variables) byPrefix(names ...string) (found, ofPrefixes []string) {
	for _, prefix := range prefixes() {
		for _, name := range names {
			if v.first(prefix+name) != "" {
				found, ofPrefixes = append(found, prefix+name), append(ofPrefixes, prefix)
				break
			}
		}
	}
	return found, ofPrefixes
}

// checkPrefixes returns an error if the endpoint of one prefix would be used with the credentials of the other although both have credentials.
func (v variables) checkPrefixes() error {
	endpoints, ofEndpoints := v.byPrefix("ENDPOINT")
	credentials, ofCredentials := v.byPrefix(credentialVariables()...)
	others := slices.Concat(endpoints[min(1, len(endpoints)):], credentials[min(1, len(credentials)):])
	if len(endpoints) == 0 || len(credentials) == 0 || ofEndpoints[0] == ofCredentials[0] || len(others) == 0 {
		return nil
	}
	return fmt.Errorf("%s would be used with %s although %s is set: set the endpoint and the credentials with one prefix",
		endpoints[0], credentials[0], others[0])
}

// credentials returns the credentials of one prefix.
func (v variables) credentials() (Credentials, error) {
	found, ofPrefixes := v.byPrefix(credentialVariables()...)
	prefix := append(ofPrefixes, prefixes()...)[0]
	c, err := v.credentialsOf(prefix)
	if err != nil && len(found) > 1 {
		err = fmt.Errorf("%w, and %s cannot be combined with %s", err, found[1], found[0])
	}
	return c, err
}

// credentialsOf returns the credentials in the variables with a prefix.
func (v variables) credentialsOf(prefix string) (Credentials, error) {
	whole, id, secret := v.first(prefix+"TOKEN"), v.first(prefix+"TOKEN_ID"), v.first(prefix+"TOKEN_SECRET")
	user, password := v.first(prefix+"USERNAME"), strings.TrimRight(v.getenv(prefix+"PASSWORD"), "\r\n")
	given := "TOKEN_ID"
	switch {
	case whole != "" && id != "":
		return Credentials{}, fmt.Errorf("%[1]sTOKEN and %[1]sTOKEN_ID are both set: a token has one form", prefix)
	case whole != "" && secret != "":
		return Credentials{}, fmt.Errorf("%[1]sTOKEN and %[1]sTOKEN_SECRET are both set: a token has one form", prefix)
	case whole != "":
		given = "TOKEN"
	case secret == "" && strings.Contains(id, "="):
		whole = id
	}
	if whole != "" {
		parts := reToken.FindStringSubmatch(whole)
		if parts == nil {
			return Credentials{}, fmt.Errorf("%s%s is not of the form user@realm!name=secret", prefix, given)
		}
		id, secret = parts[1], parts[2]
	}
	if missing := missingOf(prefix, id, secret, user, strings.TrimSpace(password)); missing != nil {
		return Credentials{}, missing
	}
	if user != "" && !reUser.MatchString(user) {
		return Credentials{}, fmt.Errorf("%sUSERNAME is not of the form user@realm", prefix)
	}
	if id != "" {
		return tokenCredentials(prefix, given, user, id, secret)
	}
	return Credentials{Username: user, Password: password}, nil
}

// The forms of users and whole tokens, which the provider uses too.
var (
	reUser  = regexp.MustCompile(`^[^\s:/!=]+@[A-Za-z][A-Za-z0-9._-]+$`)
	reToken = regexp.MustCompile(`^(?:PVEAPIToken=)?([^\s:/!=]+@[A-Za-z0-9._-]+![A-Za-z0-9._-]+)=(\S+)$`)
)

// missingOf returns the error for a missing variable.
func missingOf(prefix, id, secret, user, password string) error {
	switch {
	case id != "" && secret == "":
		return fmt.Errorf("%[1]sTOKEN_SECRET is not set, but %[1]sTOKEN_ID is", prefix)
	case secret != "" && id == "":
		return fmt.Errorf("%[1]sTOKEN_ID is not set, but %[1]sTOKEN_SECRET is", prefix)
	case id == "" && user != "" && password == "":
		return fmt.Errorf("%[1]sPASSWORD is not set, but %[1]sUSERNAME is", prefix)
	case id == "" && user == "" && password != "":
		return fmt.Errorf("%[1]sUSERNAME is not set, but %[1]sPASSWORD is", prefix)
	case id == "" && user == "":
		return fmt.Errorf("no credentials are set: %[1]sTOKEN_ID with %[1]sTOKEN_SECRET, or %[1]sUSERNAME with %[1]sPASSWORD", prefix)
	default:
		return nil
	}
}

// tokenCredentials returns credentials of a token. The given variable has its ID, either as a whole, user@realm!name, or as its name in addition to a
// user.
func tokenCredentials(prefix, given, user, id, secret string) (Credentials, error) {
	owner, name, whole := strings.Cut(id, "!")
	if !whole {
		owner, name = user, id
	}
	switch {
	case owner == "":
		return Credentials{}, fmt.Errorf("%[1]s%[2]s must be whole, as crossplane@pve!%[3]s, or stand beside %[1]sUSERNAME", prefix, given, name)
	case user != "" && user != owner:
		return Credentials{}, fmt.Errorf("%[1]s%[2]s is of another user than %[1]sUSERNAME", prefix, given)
	default:
		return Credentials{Username: owner, TokenID: name, TokenSecret: secret}, nil
	}
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

// connectionVariables returns the variables that are not passed to the provider: they have secrets, or would cause it to create another connection.
func connectionVariables() []string {
	return []string{
		"PROXMOX_TOKEN", "PVE_TOKEN", "PROXMOX_TOKEN_SECRET", "PVE_TOKEN_SECRET", "PROXMOX_PASSWORD", "PVE_PASSWORD", "PROXMOX_ENDPOINT", "PVE_ENDPOINT",
	}
}
