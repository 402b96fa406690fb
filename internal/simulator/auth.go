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
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator/wire"
)

const (
	// ticketLife is how long a ticket is good for.
	ticketLife = 2 * time.Hour
	// ticketGrace is how far in the future a ticket may be: clocks differ.
	ticketGrace = 5 * time.Minute

	ticketCookie = "PVEAuthCookie"
	tokenPrefix  = "PVEAPIToken"
)

// needsNoTicket names the calls that pveproxy takes from anybody.
func needsNoTicket(verb, path string) bool {
	switch verb + " " + path {
	case "GET /access/domains", "GET /access/ticket", "POST /access/ticket":
		return true
	}
	return false
}

// authenticate fails unless the request has good credentials, and a CSRF token where it needs one.
func (s *engine) authenticate(r *wire.Request) error {
	ticket, token := credentials(r)
	if ticket == "" && token == "" {
		return errors.New("No ticket")
	}
	who, err := s.identify(r)
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

// identify returns who a request's credentials belong to.
func (s *engine) identify(r *wire.Request) (identity, error) {
	ticket, token := credentials(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ticket != "" {
		return s.ticketOwner(ticket)
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

func (s *engine) tokenOwner(token string) (identity, error) {
	id, secret, _ := strings.Cut(token, "=")
	who := identity(id)
	if err := s.state.active(who.user(), s.clock.Now()); err != nil {
		return "", err
	}
	t := s.state.Users[who.user()].Tokens[who.token()]
	if t == nil || t.Secret != secret || expired(t.Expire, s.clock.Now()) {
		return "", errors.New("invalid token value")
	}
	return who, nil
}

// active fails unless the user exists, is enabled and has not expired.
func (st *State) active(user string, now time.Time) error {
	u := st.Users[user]
	switch {
	case u == nil:
		return errors.Errorf("no such user ('%s')", user)
	case u.Disabled:
		return errors.Errorf("user '%s' is disabled", user)
	case expired(u.Expire, now):
		return errors.Errorf("user '%s' access expired", user)
	}
	return nil
}

func expired(at int64, now time.Time) bool { return at != 0 && at < now.Unix() }

// newTicket is signed text: PVE:user@realm:time::signature.
func (s *engine) newTicket(user string) string {
	plain := "PVE:" + user + ":" + strings.ToUpper(strconv.FormatInt(s.clock.Now().Unix(), 16))
	return plain + "::" + s.sign(plain)
}

func (s *engine) newCSRF(user string) string {
	at := strings.ToUpper(strconv.FormatInt(s.clock.Now().Unix(), 16))
	return at + ":" + s.sign(at+":"+user)
}

func (s *engine) sign(text string) string {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte(text))
	return base64.RawStdEncoding.EncodeToString(mac.Sum(nil))
}

func (s *engine) ticketOwner(ticket string) (identity, error) {
	plain, signature, ok := strings.Cut(ticket, "::")
	parts := strings.Split(plain, ":")
	if !ok || len(parts) != 3 || !hmac.Equal([]byte(signature), []byte(s.sign(plain))) || !s.fresh(parts[2]) {
		return "", errors.New("invalid ticket")
	}
	return identity(parts[1]), s.state.active(parts[1], s.clock.Now())
}

func (s *engine) validCSRF(token string, who identity) bool {
	at, signature, ok := strings.Cut(token, ":")
	return ok && hmac.Equal([]byte(signature), []byte(s.sign(at+":"+who.user()))) && s.fresh(at)
}

func (s *engine) fresh(stamp string) bool {
	sec, err := strconv.ParseInt(stamp, 16, 64)
	age := s.clock.Now().Sub(time.Unix(sec, 0))
	return err == nil && age > -ticketGrace && age < ticketLife
}
