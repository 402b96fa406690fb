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

package node

import (
	"context"
	"maps"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

// The settings of a node in addition to its options.
const (
	settingDNS      = "dns"
	settingSearch   = "search"
	settingTimeZone = "timezone"
)

// options returns the options of a node's configuration in a spec.
func options(p *v1alpha1.ProxmoxNodeParameters) settings.Declared {
	d := settings.Declared{}
	d.SetSame("description", p.Description, settings.SameText)
	d.Set("startall-onboot-delay", settings.Number(p.StartAllOnBootDelay))
	d.Set("ballooning-target", settings.Number(p.BallooningTarget))
	if w := p.WakeOnLAN; w != nil {
		d.SetParts("wakeonlan", "mac", map[string]*string{
			"mac": &w.MACAddress, "bind-interface": w.BindInterface, "broadcast-address": w.BroadcastAddress,
		})
		d.Compare("wakeonlan", "mac", strings.EqualFold)
	}
	if p.Location != nil {
		d["location"] = settings.Location(p.Location)
	}
	return d
}

// hasSettings reports whether a spec declares settings.
func hasSettings(p *v1alpha1.ProxmoxNodeParameters) bool {
	return len(options(p)) > 0 || p.DNS != nil || p.TimeZone != nil
}

// A reader reads settings. A Client reads their current values, and an Inventory returns recent ones.
type reader interface {
	NodeConfig(ctx context.Context, node string) (proxmox.Settings, error)
	NodeDNS(ctx context.Context, node string) (proxmox.DNS, error)
	NodeTimeZone(ctx context.Context, node string) (string, error)
}

func readerOf(a config.Access) reader {
	if a.Fresh {
		return a.Client
	}
	return a.Inventory
}

// declareOptions returns the declare options of a node that is online. Nodes that are offline are not asked for any settings.
func declareOptions(_ context.Context, _ config.Access, n Node, s *view) (settings.Declared, error) {
	if !s.node.Online() {
		return nil, nil
	}
	version := proxmox.Version{Version: s.status.Version}
	if n.Parameters().Location != nil && !version.AtLeast(9, 1) {
		return nil, errors.Errorf("location needs Proxmox VE 9.1, the node has %s", version.Version)
	}
	return options(n.Parameters()), nil
}

func readOptions(ctx context.Context, a config.Access, n Node) (proxmox.Settings, error) {
	return readerOf(a).NodeConfig(ctx, meta.GetExternalName(n))
}

func writeOptions(ctx context.Context, a config.Access, n Node, _ proxmox.Settings, c proxmox.Change) error {
	defer a.Inventory.InvalidateNode(meta.GetExternalName(n))
	return a.Client.SetNodeConfig(ctx, meta.GetExternalName(n), c)
}

func declareDNS(_ context.Context, _ config.Access, n Node, s *view) (settings.Declared, error) {
	d, wanted := settings.Declared{}, n.Parameters().DNS
	if wanted == nil || !s.node.Online() {
		return d, nil
	}
	d.Set(settingSearch, wanted.SearchDomain)
	if len(wanted.Servers) > 0 {
		d.Set(settingDNS, new(strings.Join(wanted.Servers, " ")))
	}
	return d, nil
}

func readDNS(ctx context.Context, a config.Access, n Node) (proxmox.Settings, error) {
	dns, err := readerOf(a).NodeDNS(ctx, meta.GetExternalName(n))
	return proxmox.Settings{Values: map[string]string{settingSearch: dns.SearchDomain, settingDNS: strings.Join(dns.Servers, " ")}}, err
}

// writeDNS writes all DNS settings, as PVE requires.
func writeDNS(ctx context.Context, a config.Access, n Node, seen proxmox.Settings, c proxmox.Change) error {
	defer a.Inventory.InvalidateNode(meta.GetExternalName(n))
	all := maps.Clone(seen.Values)
	maps.Copy(all, c.Set)
	for _, name := range c.Delete {
		delete(all, name)
	}
	return a.Client.SetNodeDNS(ctx, meta.GetExternalName(n), proxmox.DNS{SearchDomain: all[settingSearch], Servers: strings.Fields(all[settingDNS])})
}

func declareTimeZone(_ context.Context, _ config.Access, n Node, s *view) (settings.Declared, error) {
	d := settings.Declared{}
	if s.node.Online() {
		d.Set(settingTimeZone, n.Parameters().TimeZone)
	}
	return d, nil
}

func readTimeZone(ctx context.Context, a config.Access, n Node) (proxmox.Settings, error) {
	zone, err := readerOf(a).NodeTimeZone(ctx, meta.GetExternalName(n))
	return proxmox.Settings{Values: map[string]string{settingTimeZone: zone}}, err
}

func writeTimeZone(ctx context.Context, a config.Access, n Node, _ proxmox.Settings, c proxmox.Change) error {
	defer a.Inventory.InvalidateNode(meta.GetExternalName(n))
	return a.Client.SetNodeTimeZone(ctx, meta.GetExternalName(n), c.Set[settingTimeZone])
}
