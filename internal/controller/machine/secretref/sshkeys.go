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

package secretref

import (
	"context"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// WithSSHKeys returns the parameters of a Machine with the SSH keys of the Secrets and ConfigMaps that they refer to after those of the spec. If
// these cannot be read, the returned parameters declare no keys, so that none is removed.
func WithSSHKeys(ctx context.Context, kube client.Reader, m object.Machine, p *v1alpha1.MachineParameters) (*v1alpha1.MachineParameters, error) {
	if !refersToSSHKeys(p.CloudInit) {
		return p, nil
	}
	keys, err := sshKeys(ctx, kube, m, p.CloudInit)
	out, cloudInit := *p, *p.CloudInit
	out.CloudInit, cloudInit.SSHKeys = &cloudInit, keys
	return &out, err
}

// refersToSSHKeys reports whether SSH keys come from a Secret or a ConfigMap.
func refersToSSHKeys(c *v1alpha1.MachineCloudInit) bool {
	return c != nil && len(c.SSHKeySecretRefs)+len(c.SSHKeyConfigMapRefs) > 0
}

// sshKeys returns the SSH keys of a spec, each once.
func sshKeys(ctx context.Context, kube client.Reader, m object.Machine, c *v1alpha1.MachineCloudInit) ([]string, error) {
	all := slices.Clone(c.SSHKeys)
	for _, from := range sshKeyEntries(m, c) {
		keys, err := readSSHKeys(ctx, kube, from)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if !slices.Contains(all, key) {
				all = append(all, key)
			}
		}
	}
	return all, nil
}

// sshKeyEntries returns the entries that the SSH keys of a spec are read from.
func sshKeyEntries(m object.Machine, c *v1alpha1.MachineCloudInit) []Entry {
	var all []Entry
	for _, r := range c.SSHKeySecretRefs {
		all = append(all, OfSecret(m, r))
	}
	for _, r := range c.SSHKeyConfigMapRefs {
		all = append(all, ofConfigMap(m, r))
	}
	return all
}

// readSSHKeys returns the SSH keys of an entry, one in each line that is neither blank nor a comment. A malformed key is reported only by its line
// number: it may be secret.
func readSSHKeys(ctx context.Context, kube client.Reader, from Entry) ([]string, error) {
	text, err := Read(ctx, kube, from)
	if err != nil {
		return nil, err
	}
	var keys []string
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.HasPrefix(line, "#"):
		case !qemu.IsPublicKey(line):
			return nil, conditions.Reject(conditions.Creating, "%s: line %d of its key %s is no public key as in an authorized_keys file", from, i+1, from.Key)
		default:
			keys = append(keys, line)
		}
	}
	if len(keys) == 0 {
		return nil, conditions.Reject(conditions.Creating, "%s has no SSH key: its key %s is empty", from, from.Key)
	}
	return keys, nil
}
