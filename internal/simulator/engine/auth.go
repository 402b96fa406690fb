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

package engine

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/wire"
)

const (
	// ticketLife is how long a ticket is valid.
	ticketLife = 2 * time.Hour
	// ticketGrace is how far in the future a ticket may be, because clocks differ.
	ticketGrace = 5 * time.Minute

	ticketCookie = "PVEAuthCookie"
	tokenPrefix  = "PVEAPIToken"
)

// NeedsNoTicket reports whether pveproxy accepts a call without credentials.
func NeedsNoTicket(verb, path string) bool {
	switch verb + " " + path {
	case "GET /access/domains", "GET /access/ticket", "POST /access/ticket":
		return true
	}
	return false
}

// Authenticate fails unless the request has valid credentials, and a CSRF token if it needs one.
func (s *Engine) Authenticate(r *wire.Request) error {
	ticket, token := credentials(r)
	if ticket == "" && token == "" {
		return errors.New("No ticket")
	}
	who, err := s.Identify(r)
	if err != nil {
		return errors.New("Authentication failed!") //nolint:revive // PVE's words.
	}
	upload := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/upload")
	if r.Method == http.MethodGet || ticket == "" || upload {
		return nil
	}
	if !s.validCSRF(r.Header.Get("CSRFPreventionToken"), who) {
		return errors.New("Permission denied - invalid csrf token")
	}
	return nil
}

// Identify returns the owner of a request's credentials.
func (s *Engine) Identify(r *wire.Request) (state.Identity, error) {
	ticket, token := credentials(r)
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if ticket != "" {
		return s.TicketOwner(ticket)
	}
	return s.tokenOwner(token)
}

// credentials finds a ticket in the cookie or the Authorization header, or else an API token.
func credentials(r *wire.Request) (ticket, token string) {
	header := r.Header.Get("Authorization")
	if ticket = authValue(r.Header.Get("Cookie"), ticketCookie); ticket == "" {
		ticket = authValue(header, ticketCookie)
	}
	if ticket == "" {
		token = authValue(header, tokenPrefix)
	}
	return ticket, token
}

// authValue finds "name=value" or "name value" in a header.
func authValue(header, name string) string {
	for start := 0; ; {
		i := strings.Index(header[start:], name)
		if i < 0 {
			return ""
		}
		i += start
		end := i + len(name)
		begins := i == 0 || header[i-1] == ' ' || header[i-1] == '\t'
		if begins && end < len(header) && (header[end] == '=' || header[end] == ' ') {
			value, _, _ := strings.Cut(header[end+1:], ";")
			return pathUnescape(value)
		}
		start = end
	}
}

func pathUnescape(s string) string {
	if out, err := url.PathUnescape(s); err == nil {
		return out
	}
	return s
}

func (s *Engine) tokenOwner(token string) (state.Identity, error) {
	id, secret, _ := strings.Cut(token, "=")
	who := state.Identity(id)
	if err := s.State.Active(who.User(), s.Clock.Now()); err != nil {
		return "", err
	}
	t := s.State.Users[who.User()].Tokens[who.Token()]
	if t == nil || t.Secret != secret || state.Expired(t.Expire, s.Clock.Now()) {
		return "", errors.New("invalid token value")
	}
	return who, nil
}

// NewTicket returns a signed ticket: PVE:user@realm:time::signature.
func (s *Engine) NewTicket(user string) string {
	plain := "PVE:" + user + ":" + strings.ToUpper(strconv.FormatInt(s.Clock.Now().Unix(), 16))
	return plain + "::" + s.sign(plain)
}

// NewCSRF returns the token that a user's writes need in addition to a ticket.
func (s *Engine) NewCSRF(user string) string {
	at := strings.ToUpper(strconv.FormatInt(s.Clock.Now().Unix(), 16))
	return at + ":" + s.sign(at+":"+user)
}

func (s *Engine) sign(text string) string {
	mac := hmac.New(sha256.New, s.Secret)
	mac.Write([]byte(text))
	return base64.RawStdEncoding.EncodeToString(mac.Sum(nil))
}

// TicketOwner returns the owner of a ticket.
func (s *Engine) TicketOwner(ticket string) (state.Identity, error) {
	plain, signature, ok := strings.Cut(ticket, "::")
	parts := strings.Split(plain, ":")
	if !ok || len(parts) != 3 || !hmac.Equal([]byte(signature), []byte(s.sign(plain))) || !s.fresh(parts[2]) {
		return "", errors.New("invalid ticket")
	}
	return state.Identity(parts[1]), s.State.Active(parts[1], s.Clock.Now())
}

func (s *Engine) validCSRF(token string, who state.Identity) bool {
	at, signature, ok := strings.Cut(token, ":")
	return ok && hmac.Equal([]byte(signature), []byte(s.sign(at+":"+who.User()))) && s.fresh(at)
}

func (s *Engine) fresh(stamp string) bool {
	sec, err := strconv.ParseInt(stamp, 16, 64)
	age := s.Clock.Now().Sub(time.Unix(sec, 0))
	return err == nil && age > -ticketGrace && age < ticketLife
}
