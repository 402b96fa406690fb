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
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

const redacted = "***"

// Credentials of a PVE user or of one of its API tokens. Printing and logging
// them shows no secret.
type Credentials struct {
	// Username with its realm, such as root@pam. It may be left out if TokenID contains it.
	Username string

	// Password of the user. Not used if there is a token.
	Password string

	// TokenID is the name of the API token, or the whole user@realm!name.
	TokenID string

	// TokenSecret is the UUID that belongs to the token.
	TokenSecret string
}

// String returns the user and the name of the token, without secrets.
func (c Credentials) String() string {
	if c.TokenID != "" {
		return c.Token() + "=" + redacted
	}
	return c.Username + ":" + redacted
}

// GoString returns the same as String, for %#v.
func (c Credentials) GoString() string { return c.String() }

// Format writes String for every verb.
func (c Credentials) Format(s fmt.State, _ rune) {
	_, _ = s.Write([]byte(c.String()))
}

// LogValue returns the text of String, for structured logs.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON writes String, so that a dump shows no secret.
func (c Credentials) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// Token returns the whole name of the API token.
func (c Credentials) Token() string {
	if strings.Contains(c.TokenID, "!") {
		return c.TokenID
	}
	return c.Username + "!" + c.TokenID
}

// Identity returns the user or the token in the form used in tasks.
func (c Credentials) Identity() string {
	if c.TokenID == "" {
		return c.Username
	}
	return c.Token()
}

// Secrets returns the texts that no message may contain.
func (c Credentials) Secrets() []string { return []string{c.Password, c.TokenSecret} }

func (c Credentials) validate() error {
	if c.TokenID == "" && c.TokenSecret == "" {
		return c.validatePassword()
	}
	user, name, _ := strings.Cut(c.Token(), "!")
	switch {
	case c.TokenID == "":
		return errors.New("token secret without a token id")
	case c.TokenSecret == "":
		return errors.Errorf("token %q has no secret", c.Token())
	case name == "" || !validUser(user):
		return errors.Errorf("token id %q is not of the form user@realm!name", c.Token())
	case c.Username != "" && c.Username != user:
		return errors.Errorf("token id %q is not one of user %q", c.Token(), c.Username)
	case strings.ContainsAny(c.Token()+c.TokenSecret, "\r\n= \t"):
		return errors.New("token has white space or = in it")
	}
	return nil
}

func (c Credentials) validatePassword() error {
	switch {
	case c.Username == "" && c.Password == "":
		return errors.New("neither a password nor an API token")
	case !validUser(c.Username):
		return errors.Errorf("username %q is not of the form user@realm", c.Username)
	case c.Password == "":
		return errors.Errorf("user %q has no password", c.Username)
	}
	return nil
}

func validUser(s string) bool {
	i := strings.LastIndexByte(s, '@')
	return i > 0 && i < len(s)-1 && !strings.ContainsAny(s, "!:/ \t\r\n")
}
