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

package proxmox

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox/lenient"
)

// Settings are options of a cluster or a node.
type Settings struct {
	// Values by option, as they are written: what PVE takes apart on reading is
	// a property string again, its keys sorted, or a list separated by
	// semicolons.
	Values map[string]string

	// Digest of the content, if PVE tells one.
	Digest string
}

// setting is an option as PVE answers it: a scalar, or an object or a list of
// scalars where PVE has taken it apart.
type setting string

// UnmarshalJSON accepts all of them.
func (s *setting) UnmarshalJSON(b []byte) error {
	switch b = bytes.TrimSpace(b); {
	case isObject(b):
		return s.object(b)
	case len(b) > 0 && b[0] == '[':
		var parts []text
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		*s = setting(joinTexts(parts, ";"))
		return nil
	}
	*s = setting(lenient.Scalar(b))
	return nil
}

func (s *setting) object(b []byte) error {
	var parts map[string]setting
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	var p Properties
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		p.Set(key, string(parts[key]))
	}
	*s = setting(p.String())
	return nil
}

func joinTexts(parts []text, separator string) string {
	out := make([]string, 0, len(parts))
	for _, p := range parts {
		out = append(out, string(p))
	}
	return strings.Join(out, separator)
}

func newSettings(data map[string]setting) Settings {
	s := Settings{Digest: string(data[digest]), Values: make(map[string]string, len(data))}
	for name, v := range data {
		if name != digest {
			s.Values[name] = string(v)
		}
	}
	return s
}

// allowedTags is what PVE answers along with the options of a cluster.
const allowedTags = "allowed-tags"

// ClusterOptions are the options of the cluster that are set. Without Sys.Audit
// on / PVE answers few of them, and says nothing about that.
func (c *Client) ClusterOptions(ctx context.Context) (Settings, error) {
	var data map[string]setting
	r := request{op: "read the cluster options", method: http.MethodGet, path: "/cluster/options"}
	if err := c.do(ctx, r, &data); err != nil {
		return Settings{}, err
	}
	delete(data, allowedTags)
	return newSettings(data), nil
}

// SetClusterOptions changes options of the cluster. An option with parts is set
// as a whole. PVE knows no digest for them. An empty change is not sent.
func (c *Client) SetClusterOptions(ctx context.Context, change Change) error {
	if change.Empty() {
		return nil
	}
	r := request{op: "set cluster options", method: http.MethodPut, path: "/cluster/options"}
	change.Digest = ""
	r.form = change.form()
	return c.do(ctx, r, nil)
}
