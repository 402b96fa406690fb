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

// Package guarded describes requests that may change something, for guards that decide whether they are sent.
package guarded

import (
	"maps"
	"net/url"
)

// A Write is a request that may change something, before it is sent.
type Write struct {
	// Op describes the request in sentences: start VM 100 on node "pve1".
	Op string

	// Method is the HTTP method. Path has names in braces for the Args.
	Method, Path string
	Args         []string

	// Form contains the parameters.
	Form map[string]string

	// Resources are the HA resources to which a rule applies after the request.
	Resources []string
}

// Parameters returns the parameters of a form and of a query.
func Parameters(form map[string]string, query url.Values) map[string]string {
	all := maps.Clone(form)
	if all == nil {
		all = map[string]string{}
	}
	for name := range query {
		all[name] = query.Get(name)
	}
	return all
}
