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
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

// A plan is what is to be done to a node.
type plan struct {
	config proxmox.Change
	dns    *proxmox.DNS // nil: stays
	zone   *string      // nil: stays

	differences []v1alpha1.OptionDifference
}

func (p *plan) empty() bool { return len(p.differences) == 0 }

// options of the plan, by their names.
func (p *plan) options() []string {
	names := make([]string, 0, len(p.differences))
	for _, d := range p.differences {
		names = append(names, d.Option)
	}
	return names
}

// declared is the node's configuration in a spec.
func declared(p *v1alpha1.ProxmoxNodeParameters) settings.Declared {
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

// hasSettings reports whether a spec declares any.
func hasSettings(p *v1alpha1.ProxmoxNodeParameters) bool {
	return len(declared(p)) > 0 || p.DNS != nil || p.TimeZone != nil
}

// makePlan compares the node's settings with those declared. What is not declared
// is not read, and what may be out of date is read again before it is found to differ.
func (e *external) makePlan(ctx context.Context, n Node, name string, version proxmox.Version) error {
	p := n.Parameters()
	if p.Location != nil && !version.AtLeast(9, 1) {
		return errors.Errorf("location needs Proxmox VE 9.1, the node has %s", version.Version)
	}
	for _, from := range []Settings{e.inventory, e.client} {
		e.plan = plan{}
		if err := e.plan.compare(ctx, from, p, name); err != nil || e.plan.empty() {
			return err
		}
	}
	return nil
}

func (p *plan) compare(ctx context.Context, has Settings, wanted *v1alpha1.ProxmoxNodeParameters, name string) error {
	for _, compare := range []func(context.Context, Settings, *v1alpha1.ProxmoxNodeParameters, string) error{
		p.compareConfig, p.compareDNS, p.compareTimeZone,
	} {
		if err := compare(ctx, has, wanted, name); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) compareConfig(ctx context.Context, has Settings, wanted *v1alpha1.ProxmoxNodeParameters, name string) error {
	d := declared(wanted)
	if len(d) == 0 {
		return nil
	}
	seen, err := has.NodeConfig(ctx, name)
	if err != nil {
		return err
	}
	if p.config, err = d.Change(seen); err != nil {
		return err
	}
	p.differences = append(p.differences, d.Differences(p.config, seen)...)
	return nil
}

func (p *plan) compareDNS(ctx context.Context, has Settings, wanted *v1alpha1.ProxmoxNodeParameters, name string) error {
	if wanted.DNS == nil {
		return nil
	}
	seen, err := has.NodeDNS(ctx, name)
	if err != nil {
		return err
	}
	d := seen
	if wanted.DNS.SearchDomain != nil {
		d.SearchDomain = *wanted.DNS.SearchDomain
	}
	if len(wanted.DNS.Servers) > 0 {
		d.Servers = wanted.DNS.Servers
	}
	if d.SearchDomain != seen.SearchDomain {
		p.add("search", seen.SearchDomain, d.SearchDomain)
	}
	if !slices.Equal(d.Servers, seen.Servers) {
		p.add("dns", strings.Join(seen.Servers, " "), strings.Join(d.Servers, " "))
	}
	if d.SearchDomain != seen.SearchDomain || !slices.Equal(d.Servers, seen.Servers) {
		p.dns = &d
	}
	return nil
}

func (p *plan) compareTimeZone(ctx context.Context, has Settings, wanted *v1alpha1.ProxmoxNodeParameters, name string) error {
	if wanted.TimeZone == nil {
		return nil
	}
	seen, err := has.NodeTimeZone(ctx, name)
	if err != nil {
		return err
	}
	if seen != *wanted.TimeZone {
		p.zone = wanted.TimeZone
		p.add("timezone", seen, *wanted.TimeZone)
	}
	return nil
}

func (p *plan) add(option, current, desired string) {
	p.differences = append(p.differences, v1alpha1.OptionDifference{Option: option, Current: current, Desired: desired})
}

// carryOut the plan. What was done before an error is found done the next time.
func (e *external) carryOut(ctx context.Context, name string) error {
	defer e.inventory.InvalidateNode(name)
	if err := e.client.SetNodeConfig(ctx, name, e.plan.config); err != nil {
		return err
	}
	if e.plan.dns != nil {
		if err := e.client.SetNodeDNS(ctx, name, *e.plan.dns); err != nil {
			return err
		}
	}
	if e.plan.zone == nil {
		return nil
	}
	return e.client.SetNodeTimeZone(ctx, name, *e.plan.zone)
}
