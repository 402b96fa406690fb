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

package cluster

import (
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// defaultMACPrefix is the prefix of random MAC addresses if the cluster's options set none.
const defaultMACPrefix = "BC:24:11"

// clusterOptions returns the cluster's options. Without the privilege to read the cluster, it returns only those for the interface.
func clusterOptions(c *engine.Call) (any, error) {
	out := map[string]any{}
	all := c.State.May(c.Who, "/", "Sys.Audit")
	if all {
		out["mac_prefix"], out["description"] = defaultMACPrefix, ""
	}
	for key, value := range c.State.Options {
		if all || key == "console" || key == "tag-style" {
			out[key] = showOption(c, key, value)
		}
	}
	out["allowed-tags"] = slices.AppendSeq([]string{}, maps.Keys(guest.AllowedTags(c.Op())))
	slices.Sort(out["allowed-tags"].([]string)) //nolint:forcetypeassert // It is ours.
	return out, nil
}

// structured reports whether an option is shown as an object. Other options with a format remain text.
func structured(key string) bool {
	return slices.Contains([]string{
		"crs", "ha", "migration", "next-id", "notify", "replication", "tag-style", "u2f", "user-tag-access", "webauthn",
	}, key)
}

func showOption(c *engine.Call, key, value string) any {
	switch {
	case key == "description":
		return strings.TrimRight(value, "\n") + "\n"
	case key == "registered-tags":
		return strings.Split(value, ";")
	case !structured(key):
		return c.TypedValue(key, value)
	}
	out := c.Facts.TypedProperties(c.Facts.Parameters("PUT", "/cluster/options")[key].Format, value)
	if list, ok := out["user-allow-list"].(string); ok {
		out["user-allow-list"] = strings.Split(list, ";")
	}
	return out
}

func setClusterOptions(c *engine.Call) (any, error) {
	options := maps.Clone(c.State.Options)
	if options == nil {
		options = map[string]string{}
	}
	maps.Copy(options, c.Given())
	for _, key := range c.Deleted() {
		delete(options, key)
	}
	if strings.EqualFold(options["mac_prefix"], defaultMACPrefix) {
		delete(options, "mac_prefix")
	}
	if options["description"] == "" {
		delete(options, "description")
	}
	if lower, upper := idRange(c, options); lower > upper {
		return nil, apierr.Errorf("lower (%d) <= upper (%d) boundary rule broken", lower, upper)
	}
	c.State.Options = options
	return nil, nil //nolint:nilnil // The answer is null.
}

// idRange returns the range in which free VMIDs are searched, excluding the upper end.
func idRange(c *engine.Call, options map[string]string) (lower, upper int) {
	lower, upper = 100, 1_000_000
	ids := c.Facts.TypedProperties(c.Facts.Parameters("PUT", "/cluster/options")["next-id"].Format, options["next-id"])
	if v, ok := ids["lower"].(string); ok {
		lower = schema.Int(v)
	}
	if v, ok := ids["upper"].(string); ok {
		upper = schema.Int(v)
	}
	return lower, upper
}
