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

package quota

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/apimachinery/pkg/api/resource"
)

// An ExceededError describes what a resource waits for.
type ExceededError struct {
	// Tenant whose quota it is.
	Tenant string

	// Short are the shortages.
	Short []Shortage
}

// IsExceeded reports whether an error means that a resource waits for room in a quota.
func IsExceeded(err error) bool {
	var e *ExceededError
	return errors.As(err, &e)
}

// Error returns the whole sentence. Of resources in other namespaces, it contains only their number.
func (e *ExceededError) Error() string {
	all := make([]string, 0, len(e.Short))
	for _, s := range e.Short {
		all = append(all, s.String())
	}
	return fmt.Sprintf("the quota of tenant %q has no room: %s", e.Tenant, strings.Join(all, "; "))
}

// asked matches in the sentence of an ExceededError how much more is requested, as String writes it.
var asked = regexp.MustCompile(`(\S+): (\S+) more, of `)

// Asked returns how much more of each amount is requested according to the sentence of an ExceededError, with any text around it.
func Asked(sentence string) Amounts {
	all := Amounts{}
	for _, found := range asked.FindAllStringSubmatch(sentence, -1) {
		if n, err := resource.ParseQuantity(found[2]); err == nil {
			all[found[1]] = n.Value()
		}
	}
	return all
}

// String describes the shortage.
func (s Shortage) String() string {
	amount := func(n int64) string {
		q := Quantity(s.Name, n)
		return q.String()
	}
	by := fmt.Sprintf("%d resources", s.Users)
	if s.Users == 1 {
		by = "1 resource"
	}
	text := fmt.Sprintf("%s: %s more, of %s %s are used by %s", s.Name, amount(s.More), amount(s.Limit), amount(s.Used), by)
	if len(s.Most) > 0 {
		text += s.most(amount)
	}
	if s.Turn {
		text += ", and what is left is for those that have waited longer"
	}
	return text
}

// most returns the resources that use most, as far as they may be named.
func (s Shortage) most(amount func(int64) string) string {
	all := make([]string, 0, len(s.Most)+1)
	for _, u := range s.Most {
		all = append(all, u.Name+": "+amount(u.Amount))
	}
	if s.Users > len(s.Most) {
		all = append(all, "…")
	}
	return " (" + strings.Join(all, ", ") + ")"
}
