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

package source

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// namedTemplate returns the template that the spec names by its name, VMID or tags: the newest of those on the node, or else of all.
func (e Finder) namedTemplate(ctx context.Context, p *v1alpha1.MachineParameters, node string) (*Source, error) {
	w := wantedTemplate{name: p.Template, tags: p.TemplateTags, within: tenancy.AmongAllowed(e.Tenant, "templates")}
	found, err := e.matched(ctx, search{match: w.among, named: w.names})
	if err != nil {
		return nil, e.Checks.HintMissingPrivilege(ctx, err, validate.On(templatePath(p.Template), "VM.Audit"))
	}
	s := &Source{Instead: found}
	s.Guest, s.Config, err = e.newest(ctx, preferred(found, node))
	return s, err
}

// newest returns the template that was created last, as PVE records in its configuration. Among templates of the same second, it is the one with the
// highest VMID. A template on an offline node cannot be cloned now, and is taken only if there is no other.
func (e Finder) newest(ctx context.Context, found []proxmox.Guest) (newest proxmox.Guest, config qemu.Config, err error) {
	if online := slices.DeleteFunc(slices.Clone(found), func(g proxmox.Guest) bool { return g.Status == "unknown" }); len(online) > 0 {
		found = online
	}
	for _, g := range found {
		read, err := e.Inventory.Config(ctx, g.Ref())
		if err != nil {
			return proxmox.Guest{}, nil, err
		}
		c := qemu.Config(read.Values)
		if now, before := c.CreatedAt(), config.CreatedAt(); config == nil || now > before || now == before && g.VMID > newest.VMID {
			newest, config = g, c
		}
	}
	return newest, maps.Clone(config), nil
}

// templatePath returns the path whose privileges determine whether a template may be seen. A template that is named may be any guest.
func templatePath(template *intstr.IntOrString) string {
	if template == nil {
		return "/vms"
	}
	if _, err := strconv.Atoi(template.String()); err != nil {
		return "/vms"
	}
	return "/vms/" + template.String()
}

// A wantedTemplate is the template to clone as a spec names it: by its name or VMID, and tags that it has.
type wantedTemplate struct {
	name *intstr.IntOrString
	tags []string

	within string // What a tenant may see, in a message.
}

// vmid returns the VMID that it must have, if it is named by that.
func (w wantedTemplate) vmid() (int, bool) {
	if w.name == nil {
		return 0, false
	}
	id, err := strconv.Atoi(w.name.String())
	return id, err == nil
}

// among returns the usable templates: several nodes, and one node, may have templates of the name.
func (w wantedTemplate) among(guests []proxmox.Guest) ([]proxmox.Guest, error) {
	id, byID := w.vmid()
	var found []proxmox.Guest
	for _, g := range guests {
		switch {
		case g.Type != "qemu" || byID && g.VMID != id:
		case byID && unreported(g):
			return nil, conditions.Reject(conditions.Creating, "template '%s' cannot be read on node %s, so it is not known whether it is one", w.name, g.Node)
		case byID && !g.Template:
			return nil, conditions.Reject(conditions.Creating, "template '%s' is a VM, not a template: to clone it, set clone.vm", w.name)
		case g.Template && (byID || w.name == nil || g.Name == w.name.String()) && hasTags(g, w.tags):
			found = append(found, g)
		}
	}
	if len(found) == 0 {
		return nil, conditions.Reject(conditions.Creating, "template %snot found%s%s", w, w.within, conditions.Instead("templates", templateNames(guests)))
	}
	return found, nil
}

// names reports whether a guest is the named one, whether or not it is known to be a template.
func (w wantedTemplate) names(g proxmox.Guest) bool {
	id, byID := w.vmid()
	return w.name != nil && (byID && g.VMID == id || !byID && g.Name == w.name.String()) && hasTags(g, w.tags)
}

// String returns the name of the wanted template, followed by a space.
func (w wantedTemplate) String() string {
	text := ""
	if w.name != nil {
		text = "'" + w.name.String() + "' "
	}
	if len(w.tags) > 0 {
		text += fmt.Sprintf("with tags %s ", strings.Join(w.tags, ", "))
	}
	return text
}

func hasTags(g proxmox.Guest, tags []string) bool {
	return !slices.ContainsFunc(tags, func(t string) bool { return !slices.Contains(g.Tags, t) })
}

func templateNames(guests []proxmox.Guest) []string {
	var names []string
	for _, g := range guests {
		if g.Template && g.Type == "qemu" {
			names = append(names, g.Name)
		}
	}
	return names
}
