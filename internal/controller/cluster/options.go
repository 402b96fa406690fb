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
	"encoding/base64"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

// defaultMACPrefix is the value that PVE reports if no prefix is set.
const defaultMACPrefix = "BC:24:11"

const (
	optionHTTPProxy = "http_proxy"
	optionLocation  = "location"
)

// declared returns the options of a spec. The caller provides the HTTP proxy, because it has to be read from a Secret.
func declared(o *v1alpha1.ProxmoxClusterOptions, httpProxy *string) settings.Declared {
	d := settings.Declared{}
	if o == nil {
		return d
	}
	d.SetSame("description", o.Description, settings.SameText)
	d.Set("consent-text", encoded(o.ConsentText))
	d.Set("console", o.Console)
	d.Set("keyboard", o.Keyboard)
	d.Set("language", o.Language)
	d.Set("email_from", o.EmailFrom)
	d.Set("max_workers", settings.Number(o.MaxWorkers))
	d.Set("fencing", o.Fencing)
	d.SetSame("registered-tags", joined(o.RegisteredTags), settings.SameSet)
	declareProxy(d, o.HTTPProxy, httpProxy)
	declareMACPrefix(d, o.MACPrefix)
	declareTransfers(d, o)
	declareHA(d, o)
	declareTags(d, o)
	declareLogins(d, o)
	return d
}

func declareProxy(d settings.Declared, plain, secret *string) {
	d.Set(optionHTTPProxy, plain)
	if secret != nil {
		d[optionHTTPProxy] = settings.Setting{Whole: settings.Value{Text: *secret}, Secret: true}
	}
}

func declareMACPrefix(d settings.Declared, prefix *string) {
	if prefix != nil {
		d["mac_prefix"] = settings.Setting{Whole: settings.Value{Text: *prefix, Same: strings.EqualFold}, Default: defaultMACPrefix}
	}
}

func declareTransfers(d settings.Declared, o *v1alpha1.ProxmoxClusterOptions) {
	if b := o.Bandwidth; b != nil {
		d.SetParts("bwlimit", "", map[string]*string{
			"default": settings.Number(b.Default), "clone": settings.Number(b.Clone), "migration": settings.Number(b.Migration),
			"move": settings.Number(b.Move), "restore": settings.Number(b.Restore),
		})
	}
	for name, t := range map[string]*v1alpha1.TransferOptions{"migration": o.Migration, "replication": o.Replication} {
		if t != nil {
			d.SetParts(name, "type", map[string]*string{"type": &t.Type, "network": t.Network})
			d.Require(name, "type", "secure")
		}
	}
	if n := o.NextID; n != nil {
		d.SetParts("next-id", "", map[string]*string{"lower": settings.Number(n.Lower), "upper": settings.Number(n.Upper)})
	}
	if l := o.Location; l != nil {
		d[optionLocation] = settings.Location(l)
	}
}

func declareHA(d settings.Declared, o *v1alpha1.ProxmoxClusterOptions) {
	if h := o.HA; h != nil {
		d.SetParts("ha", "", map[string]*string{"shutdown_policy": &h.ShutdownPolicy})
	}
	if c := o.CRS; c != nil {
		d.SetParts("crs", "", map[string]*string{
			"ha": c.HA, "ha-rebalance-on-start": settings.Boolean(c.RebalanceOnStart), "ha-auto-rebalance": settings.Boolean(c.AutoRebalance),
			"ha-auto-rebalance-threshold": settings.Number(c.AutoRebalanceThreshold), "ha-auto-rebalance-margin": settings.Number(c.AutoRebalanceMargin),
			"ha-auto-rebalance-hold-duration": settings.Number(c.AutoRebalanceHoldDuration), "ha-auto-rebalance-method": c.AutoRebalanceMethod,
		})
	}
	if n := o.Notify; n != nil {
		d.SetParts("notify", "", map[string]*string{
			"package-updates": n.PackageUpdates, "fencing": n.Fencing, "replication": n.Replication,
			"target-package-updates": n.TargetPackageUpdates, "target-fencing": n.TargetFencing, "target-replication": n.TargetReplication,
		})
	}
}

func declareTags(d settings.Declared, o *v1alpha1.ProxmoxClusterOptions) {
	if s := o.TagStyle; s != nil {
		d.SetParts("tag-style", "", map[string]*string{
			"shape": s.Shape, "ordering": s.Ordering, "case-sensitive": settings.Boolean(s.CaseSensitive), "color-map": colors(s.Colors),
		})
		d.Compare("tag-style", "color-map", settings.SameSet)
	}
	if a := o.UserTagAccess; a != nil {
		d.SetParts("user-tag-access", "", map[string]*string{"user-allow": a.Allow, "user-allow-list": joined(a.AllowList)})
		d.Compare("user-tag-access", "user-allow-list", settings.SameSet)
	}
}

func declareLogins(d settings.Declared, o *v1alpha1.ProxmoxClusterOptions) {
	if u := o.U2F; u != nil {
		d.SetParts("u2f", "", map[string]*string{"appid": u.AppID, "origin": u.Origin})
	}
	if w := o.WebAuthn; w != nil {
		d.SetParts("webauthn", "", map[string]*string{
			"rp": w.RelyingParty, "origin": w.Origin, "id": w.ID, "allow-subdomains": settings.Boolean(w.AllowSubdomains),
		})
	}
}

// encoded returns a text in the encoding that the web interface of PVE writes and expects.
func encoded(text *string) *string {
	if text == nil || *text == "" {
		return text
	}
	return new(base64.StdEncoding.EncodeToString([]byte(*text)))
}

// joined returns a list as PVE writes it. An empty list results in an empty string, and nil in nil.
func joined(list []string) *string {
	if list == nil {
		return nil
	}
	return new(strings.Join(list, ";"))
}

func colors(list []v1alpha1.TagColor) *string {
	if list == nil {
		return nil
	}
	entries := make([]string, 0, len(list))
	for _, c := range list {
		entry := c.Tag + ":" + c.Background
		if c.Text != nil {
			entry += ":" + *c.Text
		}
		entries = append(entries, entry)
	}
	return joined(entries)
}

// since lists the options and parts that older releases of PVE do not know. The minor release is the first that may have them, because some came with
// its updates.
//
//nolint:gochecknoglobals // A constant.
var since = []struct {
	option, part, value string
	field               string
	major, minor        int
}{
	{option: "replication", field: "replication", major: 9, minor: 0},
	{option: optionLocation, field: optionLocation, major: 9, minor: 1},
	{option: "crs", part: "ha", value: "dynamic", field: "crs.ha dynamic", major: 9, minor: 1},
	{option: "crs", part: "ha-auto-rebalance", field: "crs.autoRebalance", major: 9, minor: 1},
}

// known reports whether PVE's version supports all options, and which ones it does not.
func known(d settings.Declared, v proxmox.Version) error {
	for _, s := range since {
		setting, ok := d[s.option]
		if ok && s.part != "" {
			var value settings.Value
			value, ok = setting.Parts[s.part]
			ok = ok && (s.value == "" || s.value == value.Text)
		}
		if ok && !v.AtLeast(s.major, s.minor) {
			return errors.Errorf("options.%s needs Proxmox VE %d.%d, the cluster has %s", s.field, s.major, s.minor, v.Version)
		}
	}
	return nil
}
