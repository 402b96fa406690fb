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

package storage

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/random"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// needed returns the options that a storage of a type requires.
func needed(kind string) []string {
	return map[string][]string{
		"dir": {"path"}, "btrfs": {"path"}, "nfs": {"server", "export"}, "cifs": {"server", "share"}, "lvm": {"vgname"},
		"lvmthin": {"vgname", "thinpool"}, "zfspool": {"pool"}, "pbs": {"server", "datastore"},
	}[kind]
}

// defaultSize is the size of storages that are defined while the simulator runs.
const defaultSize = 100 << 30

// defaultContent returns the content of a storage whose definition has none.
func defaultContent(kind string) []string {
	switch kind {
	case "dir", "lvmthin", "zfspool", "btrfs":
		return []string{"images", "rootdir"}
	case "pbs", "cephfs":
		return []string{"backup"}
	case "esxi":
		return []string{"import"}
	}
	return []string{"images"}
}

// onNetwork reports whether storages of a type are the same on all nodes.
func onNetwork(kind string) bool {
	return slices.Contains([]string{"nfs", "cifs", "rbd", "cephfs", "pbs", "iscsi", "glusterfs", "iscsidirect", "zfs"}, kind)
}

func createStorage(c *engine.Call) (any, error) {
	id, kind := c.Str("storage"), c.Str("type")
	for _, name := range needed(kind) {
		if !c.Has(name) {
			return nil, apierr.Errorf("missing value for required option '%s'", name)
		}
	}
	if kind == "dir" && c.Has("server") {
		return nil, apierr.Errorf("unexpected property 'server'")
	}
	if c.State.Storages[id] != nil {
		return nil, apierr.Errorf("create storage failed: storage ID '%s' already defined", id)
	}
	s := &state.Storage{
		ID: id, Type: kind, Path: c.Str("path"), Content: defaultContent(kind), Total: defaultSize, Shared: onNetwork(kind), Options: map[string]string{},
	}
	if s.Path == "" && slices.Contains([]string{"nfs", "cifs", "cephfs"}, kind) {
		s.Path = "/mnt/pve/" + id
	}
	c.State.Storages[id] = s
	setStorage(c, s)
	return changed(c, s), nil
}

func updateStorage(c *engine.Call) (any, error) {
	const failed = "update storage failed: "
	s := c.State.Storages[c.Str("storage")]
	switch {
	case c.Has("digest") && c.Str("digest") != storageDigest(c.State):
		return nil, apierr.Errorf("%s%s", failed, apierr.Modified())
	case s == nil:
		return nil, apierr.Errorf(failed+"storage '%s' does not exist", c.Str("storage"))
	}
	for _, key := range c.Deleted() {
		switch {
		case slices.Contains(needed(s.Type), key):
			return nil, apierr.Errorf(failed+"unable to delete required option '%s'", key)
		case !c.Knows(key):
			return nil, apierr.Errorf(failed+"no such option '%s'", key)
		case c.Has(key):
			return nil, apierr.Errorf(failed+"cannot set and delete property '%s' at the same time!", key)
		}
	}
	setStorage(c, s)
	return changed(c, s), nil
}

// setStorage copies the options of a storage from a call, except secrets.
func setStorage(c *engine.Call, s *state.Storage) {
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	maps.Copy(s.Options, c.Given("storage", "type", "path", "content", "nodes", "password", "keyring", "encryption-key", "master-pubkey"))
	if c.Has("content") {
		s.Content = schema.SplitList(c.Str("content"))
	}
	if c.Has("nodes") {
		s.Nodes = schema.SplitList(c.Str("nodes"))
	}
	if c.Has("disable") {
		s.Disabled = c.Flag("disable")
	}
	if c.Has("shared") {
		s.Shared = c.Flag("shared")
	}
	for _, name := range c.Deleted() {
		delete(s.Options, name)
		switch name {
		case "content":
			s.Content = defaultContent(s.Type)
		case "nodes":
			s.Nodes = nil
		case "disable":
			s.Disabled = false
		case "shared":
			s.Shared = onNetwork(s.Type)
		}
	}
}

// changed returns the answer to a change. That of a backup server includes what was generated for it.
func changed(c *engine.Call, s *state.Storage) map[string]any {
	out, made := map[string]any{"storage": s.ID, "type": s.Type}, map[string]any{}
	if key := setKeys(c, s); key != "" {
		made["encryption-key"] = key
	}
	if s.Type == "pbs" {
		out["config"] = made
	}
	return out
}

// setKeys stores the keys of a backup server. The definition only shows that they exist, and the fingerprint of the encryption key if it has one. setKeys
// returns a key that was generated on request, which cannot be read afterwards.
func setKeys(c *engine.Call, s *state.Storage) (made string) {
	if c.Has("master-pubkey") {
		s.Options["master-pubkey"] = "1"
	}
	key := c.Str("encryption-key")
	if key == "" {
		return ""
	}
	if key == "autogen" {
		fingerprint, secret := hex.EncodeToString(random.Bytes(32)), base64.StdEncoding.EncodeToString(random.Bytes(32))
		colons := regexp.MustCompile("..").ReplaceAllString(fingerprint, "$0:")
		key = fmt.Sprintf(`{"kdf":null,"data":"%s","fingerprint":"%s"}`, secret, strings.TrimSuffix(colons, ":"))
		made = key
	}
	known := struct {
		Fingerprint string `json:"fingerprint"`
	}{}
	_ = json.Unmarshal([]byte(key), &known) // A key without a fingerprint has none.
	s.Options["encryption-key"] = cmp.Or(known.Fingerprint, "1")
	return made
}

func deleteStorage(c *engine.Call) (any, error) {
	id := c.Str("storage")
	if c.State.Storages[id] == nil {
		return nil, apierr.Errorf("delete storage failed: storage '%s' does not exist", id)
	}
	delete(c.State.Storages, id)
	c.State.ACL = slices.DeleteFunc(c.State.ACL, func(g state.Grant) bool { return g.Path == "/storage/"+id })
	for _, p := range c.State.Pools {
		delete(p.Storages, id)
	}
	return nil, nil //nolint:nilnil // The answer is null.
}
