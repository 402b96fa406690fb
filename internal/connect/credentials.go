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

package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// credentials returns the credentials from one Secret, or each part from the reference that names it. If there is both a token and a password, the
// token is used.
func (in reader) credentials(ctx context.Context, spec v1alpha1.ProviderCredentials) (proxmox.Credentials, error) {
	if spec.SecretRef == nil {
		return in.parts(ctx, spec)
	}
	o, err := in.object(secret, "spec.credentials.secretRef", spec.SecretRef.Name, spec.SecretRef.Namespace)
	if err != nil {
		return proxmox.Credentials{}, err
	}
	if spec.SecretRef.Key == nil {
		return in.keys(ctx, o)
	}
	return in.document(ctx, o, *spec.SecretRef.Key)
}

// parts returns credentials whose parts are each in a separate field.
func (in reader) parts(ctx context.Context, spec v1alpha1.ProviderCredentials) (proxmox.Credentials, error) {
	found := form{}
	found.set(username, ptr.Deref(spec.Username, ""))
	found.set(tokenID, ptr.Deref(spec.TokenID, ""))
	for part, v := range map[part]*v1alpha1.SecretValue{password: spec.Password, tokenSecret: spec.TokenSecret} {
		if v == nil {
			continue
		}
		b, err := in.key(ctx, secret, "spec.credentials."+string(part)+".secretRef", v.SecretRef)
		if err != nil {
			return proxmox.Credentials{}, err
		}
		found.set(part, string(b))
	}
	return found.credentials("spec.credentials")
}

// keys returns credentials whose parts are each in a key of the Secret.
func (in reader) keys(ctx context.Context, o object) (proxmox.Credentials, error) {
	data, err := in.objects.data(ctx, o)
	if err != nil {
		return proxmox.Credentials{}, err
	}
	values := make(map[string]string, len(data))
	for k, v := range data {
		values[k] = string(v)
	}
	return formOf(values, o.String())
}

// document returns the credentials in one key of the Secret: JSON, or a token in PVE's notation.
func (in reader) document(ctx context.Context, o object, key string) (proxmox.Credentials, error) {
	b, err := in.objects.value(ctx, o, key)
	if err != nil {
		return proxmox.Credentials{}, err
	}
	return ParseCredentials(b, "key \""+key+"\" of "+o.String())
}

// ParseCredentials parses credentials in any form that a key of a Secret may have: a token in PVE's notation, or JSON. Errors name the source and quote
// nothing of it.
func ParseCredentials(b []byte, where string) (proxmox.Credentials, error) {
	b = bytes.TrimSpace(b)
	if id, secret, ok := splitToken(string(b)); ok {
		return form{tokenID: id, tokenSecret: secret}.credentials(where)
	}
	values, err := decode(b)
	if err != nil {
		return proxmox.Credentials{}, errors.Errorf("%s %s", where, err)
	}
	return formOf(values, where)
}

// SortCredentials finds credentials among named values, in any form that the keys of a Secret may have. Errors name the source and quote nothing of it.
func SortCredentials(values map[string]string, where string) (proxmox.Credentials, error) {
	return formOf(values, where)
}

// decode decodes the text members of a JSON document. Its errors quote nothing of it.
func decode(b []byte) (map[string]string, error) {
	if !bytes.HasPrefix(b, []byte("{")) {
		return nil, errors.New("is neither a JSON document nor a token of the form user@realm!id=secret")
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &members); err != nil {
		return nil, errors.New("is not valid JSON")
	}
	values := make(map[string]string, len(members))
	for k, m := range members {
		if _, known := partOf(k); !known {
			continue
		}
		var s string
		if err := json.Unmarshal(m, &s); err != nil {
			return nil, errors.Errorf("has a %q that is not a string", k)
		}
		values[k] = s
	}
	return values, nil
}

// A part is a part of credentials, with the name that messages use.
type part string

const (
	username    part = "username"
	password    part = "password"
	tokenID     part = "tokenID"
	tokenSecret part = "tokenSecret"
	token       part = "token" // whole: user@realm!id=secret
)

// partOf returns the part that a name means, whatever its spelling: tokenID, token-id,
// token_id, PVE_TOKEN_ID.
func partOf(name string) (part, bool) {
	s := strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_.", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	for _, prefix := range []string{"proxmoxve", "proxmox", "pve", "api"} {
		s = strings.TrimPrefix(s, prefix)
	}
	switch s {
	case "user", "username":
		return username, true
	case "password":
		return password, true
	case "tokenid":
		return tokenID, true
	case "tokensecret":
		return tokenSecret, true
	case "token":
		return token, true
	default:
		return "", false
	}
}

// A form has credentials as they were found.
type form map[part]string

// formOf sorts values by the parts that their names mean.
func formOf(values map[string]string, where string) (proxmox.Credentials, error) {
	found, names := form{}, map[part]string{}
	for name, v := range values {
		p, known := partOf(name)
		if !known || strings.TrimSpace(v) == "" {
			continue
		}
		if _, twice := names[p]; twice {
			return proxmox.Credentials{}, errors.Errorf("%s has the %s twice, under different names", where, p)
		}
		names[p] = name
		found.set(p, v)
	}
	return found.credentials(where)
}

// set sets a part, without the line break that files and editors leave at the end. A
// password may have blanks at its ends, nothing else may.
func (f form) set(p part, v string) {
	if p == password {
		v = strings.TrimRight(v, "\r\n")
	} else {
		v = strings.TrimSpace(v)
	}
	if v != "" {
		f[p] = v
	}
}

// credentials returns the form's credentials after checking them. No message quotes a value, since people put secrets into the wrong fields.
func (f form) credentials(where string) (proxmox.Credentials, error) {
	if err := f.split(); err != nil {
		return proxmox.Credentials{}, errors.Errorf("%s %s", where, err)
	}
	if err := f.check(); err != nil {
		return proxmox.Credentials{}, errors.Errorf("%s %s", where, err)
	}
	c := proxmox.Credentials{Username: f[username], Password: f[password], TokenID: f[tokenID], TokenSecret: f[tokenSecret]}
	if c.TokenID != "" {
		c.Password = ""
	}
	return c, nil
}

// split splits a token that was given as a whole, as the token or as the tokenID.
func (f form) split() error {
	whole, ok := f[token]
	if !ok && f[tokenSecret] == "" && strings.Contains(f[tokenID], "=") {
		whole, ok = f[tokenID], true
	}
	if !ok {
		return nil
	}
	id, secret, ok := splitToken(whole)
	if !ok {
		return errors.New("has a token that is not of the form user@realm!id=secret")
	}
	f[tokenID], f[tokenSecret] = id, secret
	return nil
}

// check checks that the form is complete and its parts fit together.
func (f form) check() error {
	switch {
	case f[tokenID] == "" && f[tokenSecret] == "" && f[password] == "":
		return errors.New("has neither tokenID and tokenSecret nor username and password")
	case f[tokenID] == "" && f[tokenSecret] != "":
		return errors.New("has a tokenSecret but no tokenID")
	case f[tokenID] != "" && f[tokenSecret] == "":
		return errors.New("has a tokenID but no tokenSecret")
	case f[username] != "" && !reUser.MatchString(f[username]):
		return errors.New("has a username that is not of the form user@realm")
	case f[tokenID] != "":
		return f.checkToken()
	case f[username] == "":
		return errors.New("has a password but no username")
	}
	return nil
}

func (f form) checkToken() error {
	user, name, whole := strings.Cut(f[tokenID], "!")
	if !whole {
		user, name = f[username], f[tokenID]
	}
	switch {
	case user == "":
		return errors.New("has a tokenID without user (user@realm!id) and no username")
	case !reUser.MatchString(user) || !reTokenName.MatchString(name):
		return errors.New("has a tokenID that is neither the name of a token nor of the form user@realm!id")
	case f[username] != "" && f[username] != user:
		return errors.New("has a tokenID of another user than its username")
	case strings.ContainsAny(f[tokenSecret], "= \t\r\n"):
		return errors.New("has a tokenSecret with blanks or = in it")
	}
	return nil
}

var (
	reUser      = regexp.MustCompile(`^[^\s:/!=]+@[A-Za-z][A-Za-z0-9._-]+$`)
	reTokenName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]+$`)
	reToken     = regexp.MustCompile(`^(?:PVEAPIToken=)?([^\s:/!=]+@[A-Za-z0-9._-]+![A-Za-z0-9._-]+)=(\S+)$`)
)

// splitToken splits a token in PVE's notation, user@realm!id=secret. The name of its header may precede it.
func splitToken(s string) (id, secret string, ok bool) {
	m := reToken.FindStringSubmatch(s)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}
