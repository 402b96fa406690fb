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

// Package repository locates the files and folders of a checkout of provider-proxmox.
package repository

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Repository is a checkout of provider-proxmox. All paths are absolute.
type Repository struct {
	root string
}

// Find returns the checkout that holds dir, which may be any folder inside it. It fails if neither dir nor a folder above it has cluster/go.mod.
func Find(dir string) (Repository, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Repository{}, fmt.Errorf("cannot resolve %q: %w", dir, err)
	}
	for d := abs; ; d = filepath.Dir(d) {
		if isRoot(d) {
			return Repository{root: d}, nil
		}
		if d == filepath.Dir(d) {
			return Repository{}, fmt.Errorf("cannot find a checkout of provider-proxmox at or above %q", abs)
		}
	}
}

func isRoot(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cluster", "go.mod"))
	return err == nil
}

// Root returns the top folder of the checkout.
func (r Repository) Root() string { return r.root }

// Module returns the folder of the Go module that pins the control plane.
func (r Repository) Module() string { return filepath.Join(r.root, "cluster") }

// Cache returns the folder for all files that the launcher writes. Git ignores it.
func (r Repository) Cache() string { return filepath.Join(r.root, ".cache") }

// ControlPlaneCache returns the folder of the control plane's binaries, one folder per set of pins.
func (r Repository) ControlPlaneCache() string { return filepath.Join(r.Cache(), "controlplane") }

// Crossplane2Module returns the folder of the Go module that pins Crossplane 2.
func (r Repository) Crossplane2Module() string {
	return filepath.Join(r.Module(), "crossplane", "core2")
}

// Crossplane1Module returns the folder of the Go module that pins Crossplane 1.
func (r Repository) Crossplane1Module() string {
	return filepath.Join(r.Module(), "crossplane", "core1")
}

// FunctionModule returns the folder of the Go module that pins the function of Compositions.
func (r Repository) FunctionModule() string {
	return filepath.Join(r.Module(), "crossplane", "function")
}

// NeighboursModule returns the folder of the Go module that pins the projects whose definitions tests use.
func (r Repository) NeighboursModule() string { return filepath.Join(r.Module(), "neighbours") }

// IPAMModule returns the folder of the Go module that pins Cluster API's IPAM provider.
func (r Repository) IPAMModule() string { return filepath.Join(r.NeighboursModule(), "ipam") }

// IPAMCache returns the folder of that provider's program, one folder per set of pins.
func (r Repository) IPAMCache() string { return filepath.Join(r.Cache(), "ipam") }

// FluxModule returns the folder of the Go module that pins Flux's kustomize-controller.
func (r Repository) FluxModule() string { return filepath.Join(r.NeighboursModule(), "flux") }

// FluxCache returns the folder of that controller's program, one folder per set of pins.
func (r Repository) FluxCache() string { return filepath.Join(r.Cache(), "flux") }

// ExternalDNSModule returns the folder of the Go module of external-dns without DNS services.
func (r Repository) ExternalDNSModule() string {
	return filepath.Join(r.NeighboursModule(), "externaldns")
}

// ExternalDNSCache returns the folder of that program, one folder per set of pins.
func (r Repository) ExternalDNSCache() string { return filepath.Join(r.Cache(), "externaldns") }

// VeleroModule returns the folder of the Go module of Velero with a plugin for files.
func (r Repository) VeleroModule() string { return filepath.Join(r.NeighboursModule(), "velero") }

// VeleroCache returns the folder of that program, one folder per set of pins.
func (r Repository) VeleroCache() string { return filepath.Join(r.Cache(), "velero") }

// CrossplaneCache returns the folder of the programs of Crossplane, one folder per set of pins.
func (r Repository) CrossplaneCache() string { return filepath.Join(r.Cache(), "crossplane") }

// FunctionCache returns the folder of the function's program, one folder per set of pins.
func (r Repository) FunctionCache() string { return filepath.Join(r.Cache(), "function") }

// Runs returns the folder with one folder for each running launcher.
func (r Repository) Runs() string { return filepath.Join(r.Cache(), "run") }

// CRDs returns the folder of the generated CustomResourceDefinitions.
func (r Repository) CRDs() string { return filepath.Join(r.root, "package", "crds") }

// QuickStart returns the folder of the manifests that the demo applies.
func (r Repository) QuickStart() string { return filepath.Join(r.root, "examples", "quickstart") }

// FromNothing returns the manifest of an Image and Machines that use it, which the demo applies.
func (r Repository) FromNothing() string {
	return filepath.Join(r.root, "examples", "namespaced", "from-nothing.yaml")
}

// Scenario returns the file that describes the content of the demo's simulated PVE.
func (r Repository) Scenario() string {
	return filepath.Join(r.root, "examples", "scenarios", "quickstart.yaml")
}

// ScenarioWith writes the demo's scenario into a file of dir, with additions after the headings of its sections.
func (r Repository) ScenarioWith(dir string, additions map[string]string) (string, error) {
	text, err := os.ReadFile(r.Scenario())
	if err != nil {
		return "", err
	}
	added := string(text)
	for heading, more := range additions {
		if !strings.Contains(added, heading) {
			return "", fmt.Errorf("%s has no %q", r.Scenario(), heading)
		}
		added = strings.Replace(added, heading, heading+more, 1)
	}
	file := filepath.Join(dir, "scenario.yaml")
	return file, os.WriteFile(file, []byte(added), 0o600)
}

// NetworkRights returns the additions to a scenario that let the token of its user change the networks of nodes.
func NetworkRights() map[string]string {
	return map[string]string{
		"\nacl:\n":   "  - {path: /nodes, user: crossplane@pve, roles: [PVEAuditor, NetworkReader, NetworkChanger]}\n",
		"\nroles:\n": "  - {id: NetworkChanger, privileges: [Sys.Modify]}\n",
	}
}

// Resolve returns an absolute path. A relative one is resolved from the top of the checkout, where people run make, and not from the folder in which
// make runs the launcher.
func (r Repository) Resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.root, path)
}

// Binary returns the path of a program that `make build` leaves in bin/. If the program has not been built, it returns an error about that.
func (r Repository) Binary(name string) (string, error) {
	path := filepath.Join(r.root, "bin", name)
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("cannot find bin/%s: run \"make build\" first", name)
	}
	if err != nil {
		return "", fmt.Errorf("cannot look at bin/%s: %w", name, err)
	}
	return path, nil
}
