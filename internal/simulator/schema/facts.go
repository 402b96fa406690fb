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

// Package schema contains the parameters that the Proxmox VE API accepts, as data, and checks requests against it with the messages of the real API.
package schema

import (
	"regexp"
	"sync"
)

// Facts describe one version of the Proxmox VE API: names, types, limits and permission checks of every method. They are generated from the API
// description and contain none of its texts.
type Facts struct {
	// Version is the release of the facts, such as "9.2".
	Version string

	tree *branch
	// formats are the property-string formats, by name. Inline formats have generated names that begin with "#".
	formats map[string]*lazy[Properties]
	checks  map[string]stringFormat
}

// lazy is a fact that is parsed when it is first needed, because a server uses few of the API's methods.
type lazy[T any] struct {
	raw   string
	parse func(string) (T, error)
	once  sync.Once
	value T
	err   error
}

func (l *lazy[T]) get() (T, error) {
	l.once.Do(func() { l.value, l.err = l.parse(l.raw) })
	return l.value, l.err
}

// Method is one HTTP method of one API path.
type Method struct {
	// Path is the path below /api2/json with its parameters in braces, such as "/nodes/{node}/qemu/{vmid}".
	Path string `json:"path"`
	// Verb is the HTTP method: GET, POST, PUT or DELETE.
	Verb string `json:"verb"`
	// Parameters are the method's parameters, including those in the path.
	Parameters Properties `json:"parameters,omitempty"`
	// Variants are further parameters, which depend on the value of one.
	Variants *Variants `json:"variants,omitempty"`
	// Open is true if parameters that the facts do not name are accepted.
	Open bool `json:"open,omitempty"`
	// ProxyTo is the parameter with the node that answers. It is empty if any node does.
	ProxyTo string `json:"proxyTo,omitempty"`
	// NoToken is true if API tokens may not call the method.
	NoToken bool `json:"noToken,omitempty"`
	// User is "world" for methods without authentication, and "all" for methods that every user may call.
	User string `json:"user,omitempty"`
	// Check is the permission check in the form of the API description: ["perm", path, privileges, "any", 1] and combinations with "and" and "or". A method
	// with neither User nor Check is reserved for root@pam.
	Check []any `json:"check,omitempty"`
}

// Variants are sets of parameters, of which a request may have the set of its type.
type Variants struct {
	// Property is the parameter with the type, Enum are its values.
	Property string   `json:"property"`
	Enum     []string `json:"enum"`
	// Of are the parameters by type.
	Of map[string]Properties `json:"of"`
}

// Properties are named properties of a method or of a property-string format.
type Properties map[string]*Property

// Property is the type of one parameter and its limits.
type Property struct {
	Type        string    `json:"type,omitempty"`
	Optional    bool      `json:"optional,omitempty"`
	Format      string    `json:"format,omitempty"`
	Pattern     string    `json:"pattern,omitempty"`
	Enum        []string  `json:"enum,omitempty"`
	Minimum     *float64  `json:"minimum,omitempty"`
	Maximum     *float64  `json:"maximum,omitempty"`
	MinLength   *int      `json:"minLength,omitempty"`
	MaxLength   *int      `json:"maxLength,omitempty"`
	DefaultKey  bool      `json:"defaultKey,omitempty"`
	Alias       string    `json:"alias,omitempty"`
	KeyAlias    string    `json:"keyAlias,omitempty"`
	Requires    string    `json:"requires,omitempty"`
	Items       *Property `json:"items,omitempty"`
	OptionalFor bool      `json:"optionalFor,omitempty"`
	// Count is the number of keys for which a property "name[n]" stands, or 0 for plain names.
	Count int `json:"count,omitempty"`

	pattern *regexp.Regexp
}
