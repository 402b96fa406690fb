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

package qemu

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/random"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

func putConfig(c *engine.Call) (any, error) {
	ch, err := change(c)
	if err != nil {
		return nil, err
	}
	if err := guest.Changeable(c.Op(), ch); err != nil {
		return nil, err
	}
	return &engine.Locked{VMID: ch.VMID, Wait: engine.ConfigLockWait, Then: func(c *engine.Call) (any, error) { return nil, guest.Apply(c.Op(), ch) }}, nil
}

func postConfig(c *engine.Call) (any, error) {
	ch, err := change(c)
	if err != nil {
		return nil, err
	}
	if err := guest.Changeable(c.Op(), ch); err != nil {
		return nil, err
	}
	return c.SpawnWaiting(ch.VMID, "qmconfig", func(w *engine.Worker) error {
		return w.Locked(ch.VMID, engine.Exclusive, engine.ConfigLockWait, func() error {
			if err := w.PauseFor("qmconfig"); err != nil {
				return err
			}
			return w.Do(func(st *state.State) error { return guest.Apply(w.Op(st), ch) })
		})
	})
}

// change reads the request and performs the checks that do not depend on the configuration.
func change(c *engine.Call) (*guest.Change, error) {
	ch := &guest.Change{
		VMID: c.VMID(), Set: map[string]string{}, Force: c.Flag("force"), SkipLock: c.Flag("skiplock"), Digest: c.Str("digest"),
		Line: changeLine(c),
	}
	if err := c.RootOnly("skiplock"); err != nil {
		return nil, err
	}
	for name, value := range c.Values {
		if name == "cdrom" || c.Engine.ConfigOption(name) {
			ch.Set[name] = value
		}
	}
	if keys, ok := ch.Set["sshkeys"]; ok {
		if err := guest.CheckSSHKeys(keys); err != nil {
			return nil, err
		}
	}
	if len(ch.Set)+len(c.Undefined) == 0 && c.Str("delete") == "" && c.Str("revert") == "" {
		return nil, apierr.Errorf("no options specified")
	}
	guest.ResolveCDROM(ch.Set)
	for _, step := range []func(*engine.Call, *guest.Change) error{readLists, checkChange, tidyChange} {
		if err := step(c, ch); err != nil {
			return nil, err
		}
	}
	return ch, nil
}

func changeLine(c *engine.Call) string {
	parts := []string{}
	for _, name := range slices.Sorted(maps.Keys(c.Values)) {
		switch name {
		case "node", "vmid", "digest", "background_delay":
		case "cipassword":
			parts = append(parts, "-cipassword <hidden>")
		default:
			parts = append(parts, "-"+name+" "+c.Values[name])
		}
	}
	return fmt.Sprintf("update VM %d: %s", c.VMID(), strings.Join(parts, " "))
}

// readLists reads the options to delete and to revert.
func readLists(c *engine.Call, ch *guest.Change) error {
	for _, key := range schema.SplitList(c.Str("revert")) {
		if !c.Engine.ConfigOption(key) {
			return apierr.Param("revert", "unknown option '%s'", key)
		}
		if _, both := ch.Set[key]; both {
			return apierr.Param("delete", "you can't use '-%s' and -revert %s' at the same time", key, key)
		}
		ch.Revert = append(ch.Revert, key)
	}
	for _, key := range schema.SplitList(c.Str("delete")) {
		if key == "cdrom" {
			key = "ide2"
		}
		if _, both := ch.Set[key]; both {
			return apierr.Param("delete", "you can't use '-%s' and -delete %s' at the same time", key, key)
		}
		if slices.Contains(ch.Revert, key) {
			return apierr.Param("revert", "you can't use '-delete %s' and -revert %s' at the same time", key, key)
		}
		if !c.Engine.ConfigOption(key) {
			return apierr.Param("delete", "unknown option '%s'", key)
		}
		ch.Remove = append(ch.Remove, key)
	}
	return nil
}

func checkChange(c *engine.Call, ch *guest.Change) error {
	a := &guest.Access{Op: c.Op(), VMID: ch.VMID}
	for _, check := range []func() error{
		func() error { return a.CheckDrives(ch.Set) },
		func() error { return a.Options(slices.Clone(ch.Remove)) },
		func() error { return a.Options(slices.Sorted(maps.Keys(ch.Set))) },
		func() error { return a.Storages(ch.Set, "") },
		func() error { return a.Devices(ch.Set) },
		func() error { return a.Bridges(ch.Set) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// tidyChange converts values to the form in which they are stored.
func tidyChange(c *engine.Call, ch *guest.Change) error {
	for _, key := range c.Undefined {
		return apierr.Errorf("unable to parse value of '%s' - got undefined value", key)
	}
	for key, value := range ch.Set {
		switch {
		case guest.IsNIC(key):
			ch.Set[key] = guest.WithMAC(c.Engine, key, value)
		case key == "vmgenid" && value == "1":
			ch.Set[key] = random.UUID()
		case key == "tags":
			ch.Set[key] = guest.UniqueTags(value)
		case key == "cipassword":
			hashed, err := HashedPassword(value)
			if err != nil {
				return err
			}
			ch.Set[key] = hashed
		case key == "cpuunits":
			ch.Set[key] = guest.ClampedUnits(value)
		}
	}
	return guest.CheckValues(c.Engine, ch.Set)
}
