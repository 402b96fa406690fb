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

package guest

import (
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// tagRules holds the cluster's options about tags, which define who may use which.
type tagRules struct {
	mode                string
	listed, registered  []string
	privileged, anybody bool
}

func readTagRules(o *engine.Op) tagRules {
	access := o.Engine.Facts.TypedProperties(o.Engine.Facts.Parameters("PUT", "/cluster/options")["user-tag-access"].Format, o.State.Options["user-tag-access"])
	r := tagRules{
		mode: "free", privileged: o.State.May(o.Who, "/", "Sys.Modify"), registered: schema.SplitList(o.State.Options["registered-tags"]),
	}
	if mode, ok := access["user-allow"].(string); ok {
		r.mode = mode
	}
	if list, ok := access["user-allow-list"].(string); ok {
		r.listed = strings.Split(list, ";")
	}
	r.anybody = r.mode == "free"
	return r
}

// AllowedTags returns the tags that the caller may see and set, in addition to free ones.
func AllowedTags(o *engine.Op) map[string]bool {
	r, out := readTagRules(o), map[string]bool{}
	if r.mode != "none" || r.privileged {
		for _, t := range r.listed {
			out[t] = true
		}
	}
	if r.mode == "free" || r.mode == "existing" || r.privileged {
		view := o.State.View(o.Who)
		for vmid, g := range o.State.Guests {
			if g.Config["tags"] != "" && (r.privileged || view.May(state.VMPath(vmid), "VM.Audit")) {
				for _, t := range schema.SplitList(g.Config["tags"]) {
					out[t] = true
				}
			}
		}
	}
	for _, t := range r.registered {
		out[t] = r.privileged
	}
	maps.DeleteFunc(out, func(_ string, ok bool) bool { return !ok })
	return out
}

// mayTag checks each tag that is added or removed.
func mayTag(o *engine.Op, vmid int, pool, before, after string) error {
	a := &Access{Op: o, VMID: vmid, Pool: pool}
	if err := a.May("VM.Config.Options"); err != nil {
		return err
	}
	r := readTagRules(o)
	if r.privileged {
		return nil
	}
	allowed := AllowedTags(o)
	was, is := schema.SplitList(before), schema.SplitList(after)
	for _, t := range slices.Concat(was, is) {
		if slices.Contains(was, t) == slices.Contains(is, t) {
			continue
		}
		if (!allowed[t] && !r.anybody) || slices.Contains(r.registered, t) {
			return apierr.Forbidden("/, Sys.Modify for modifying tag '" + t + "'")
		}
	}
	return nil
}
