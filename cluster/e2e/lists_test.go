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

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
)

// The lists of a Machine in its manifest: with entries, as null, and empty.
const (
	someEntries = `
    disks: [{name: root, size: 8G}, {name: data, size: 1G, storage: local-lvm}]
    networks: [{name: lan, bridge: vmbr0}, {name: dmz, bridge: vmbr1}]
`
	nullLists = `
    disks: null
    networks: null
`
	emptyLists = `
    disks: []
    networks: []
`
)

// An applier is a program for applying manifests.
type applier struct {
	reason string
	apply  func(t *testing.T, name, manifest string)
	remove func(t *testing.T, name string)

	// unheard is how often an empty list is applied without effect before it is one.
	unheard int
}

// testLists edits the lists of a running Machine with the usual programs for applying manifests, and checks its VM: a list that is left out or null
// changes nothing, and an empty one removes the devices that were created for it.
func (s *suite) testLists(t *testing.T) {
	for name, tc := range map[string]applier{
		"kubectl": {
			reason: "kubectl apply compares manifest, last manifest and object.",
			apply:  s.applyByKubectl(), remove: s.deleteByKubectl,
		},
		"kubectl-server-side": {
			reason: "The API server takes a list out whose last entries go.",
			apply:  s.applyByKubectl("--server-side"), remove: s.deleteByKubectl, unheard: 1,
		},
		"helm-client-side": {
			reason: "Helm 3, and Helm 4 on request, compares the manifests of two releases.",
			apply:  s.applyByHelm("--server-side=false"), remove: s.uninstall,
		},
		"helm": {
			reason: "Helm 4 applies on the server side.",
			apply:  s.applyByHelm("--server-side=true"), remove: s.uninstall, unheard: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := s.holdings(t)
			s.editLists(t, tc, machine.Key{Namespace: "default", Name: "lists-" + name})
			s.holdings(t).sameAs(t, before)
		})
	}
}

// editLists edits the lists of a Machine with an applier, from its creation to its deletion.
func (s *suite) editLists(t *testing.T, a applier, key machine.Key) {
	t.Helper()
	edits := 0
	devicesWith := func(lists string) map[string]string {
		t.Helper()
		edits++
		a.apply(t, key.Name, manifestOf(key, fmt.Sprintf("edit %d", edits), lists))
		s.kubectl(t, append([]string{"wait", "--for=condition=UpToDate", "--timeout=" + maxWait.String()}, key.Arguments()...)...)
		s.untilComplete(t, []machine.Key{key})
		return s.devices(t, key)
	}
	made := devicesWith(someEntries)
	if diff := cmp.Diff([]string{"net0", "net1", "scsi0", "scsi1"}, slices.Sorted(maps.Keys(made))); diff != "" {
		t.Fatalf("\n%s\nthe VM is not as declared: -want, +got:\n%s", a.reason, diff)
	}
	unchanged := []string{"", someEntries, nullLists, someEntries}
	for _, lists := range append(unchanged, slices.Repeat([]string{emptyLists}, a.unheard)...) {
		if diff := cmp.Diff(made, devicesWith(lists)); diff != "" {
			t.Errorf("\n%s\nthe VM has changed by the lists %q: -before, +after:\n%s", a.reason, lists, diff)
		}
	}
	left := map[string]string{"net0": made["net0"], "scsi0": made["scsi0"], "unused0": volumeOf(made["scsi1"])}
	if diff := cmp.Diff(left, devicesWith(emptyLists)); diff != "" {
		t.Errorf("\n%s\nempty lists do not leave what came with the template alone: -want, +got:\n%s", a.reason, diff)
	}
	if diff := cmp.Diff(made, devicesWith(someEntries)); diff != "" {
		t.Errorf("\n%s\nwhat was put back is not as it was: -before, +after:\n%s", a.reason, diff)
	}
	a.remove(t, key.Name)
	s.untilGone(t, []machine.Key{key})
}

// manifestOf returns the manifest of a Machine with these lists. The description causes another generation.
func manifestOf(key machine.Key, description, lists string) string {
	return fmt.Sprintf(`apiVersion: proxmox.m.vitistack.io/v1alpha1
kind: Machine
metadata: {namespace: %s, name: %s}
spec:
  forProvider:
    template: debian-13
    description: %s%s`, key.Namespace, key.Name, description, lists)
}

// applyByKubectl applies manifests with kubectl.
func (s *suite) applyByKubectl(flags ...string) func(t *testing.T, name, manifest string) {
	return func(t *testing.T, name, manifest string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), name+".yaml")
		if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		s.kubectl(t, append([]string{"apply", "-f", file}, flags...)...)
	}
}

func (s *suite) deleteByKubectl(t *testing.T, name string) {
	t.Helper()
	s.kubectl(t, append([]string{"delete", "--wait=false"}, machine.Key{Namespace: "default", Name: name}.Arguments()...)...)
}

// applyByHelm installs or upgrades the release of a chart whose template is the manifest.
func (s *suite) applyByHelm(flags ...string) func(t *testing.T, name, manifest string) {
	return func(t *testing.T, name, manifest string) {
		t.Helper()
		chart := t.TempDir()
		for file, text := range map[string]string{
			"Chart.yaml": "apiVersion: v2\nname: " + name + "\nversion: 0.1.0\n", "templates/machine.yaml": manifest,
		} {
			path := filepath.Join(chart, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.helm(append([]string{"upgrade", "--install", name, chart, "--namespace=default"}, flags...)...); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *suite) uninstall(t *testing.T, name string) {
	t.Helper()
	if err := s.helm("uninstall", name, "--namespace=default"); err != nil {
		t.Fatal(err)
	}
}

// devices returns the disks, unused disks and interfaces of the VM of a Machine in Proxmox VE.
func (s *suite) devices(t *testing.T, key machine.Key) map[string]string {
	t.Helper()
	m, found := s.machine(key), map[string]string{}
	var config map[string]any
	if err := json.Unmarshal(s.get(t, fmt.Sprintf("/nodes/%s/qemu/%d/config", m.Node, m.VMID)), &config); err != nil {
		t.Fatal(err)
	}
	for option, value := range config {
		if regexp.MustCompile(`^(scsi|unused|net)[0-9]+$`).MatchString(option) {
			found[option] = fmt.Sprint(value)
		}
	}
	return found
}

// volumeOf returns the volume of a disk in Proxmox VE.
func volumeOf(disk string) string { return regexp.MustCompile(`^[^,]*`).FindString(disk) }
