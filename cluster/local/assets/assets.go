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

// Package assets provides the programs of the control plane and of Crossplane: built once from the pinned Go
// modules and kept, or those of Kubernetes taken from KUBEBUILDER_ASSETS.
package assets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The programs.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Kubectl           = "kubectl"
	Crossplane        = "crossplane"
	Function          = "function-patch-and-transform"
)

// Modules whose sources hold more than programs: charts, definitions, descriptions of packages.
const (
	CrossplaneModule  = "github.com/crossplane/crossplane/v2"
	Crossplane1Module = "github.com/crossplane/crossplane"
	FunctionModule    = "github.com/crossplane-contrib/" + Function
)

// Paths holds the file of each program.
type Paths struct {
	Etcd, APIServer, ControllerManager, Kubectl string
}

// Provider finds or builds the programs.
type Provider struct {
	// Module is the folder of the Go module that pins them.
	Module string
	// Cache is the folder that keeps what was built.
	Cache string
	// Given is a folder that already holds etcd, kube-apiserver and kubectl, as setup-envtest
	// leaves them: the value of KUBEBUILDER_ASSETS. Empty means to build.
	Given string
	// Report receives progress.
	Report Reporter
}

// Dir returns a folder that holds etcd, kube-apiserver and kubectl: the given one, or the cache, into
// which it first builds what is missing. It is what KUBEBUILDER_ASSETS may be set to.
func (p Provider) Dir(ctx context.Context) (string, error) {
	if p.Given != "" {
		return p.Given, p.checkGiven()
	}
	return p.Build(ctx, ControlPlane())
}

// Paths returns the file of every program. With a given folder, kube-controller-manager, which
// setup-envtest does not bring, is built unless the folder holds it.
func (p Provider) Paths(ctx context.Context) (Paths, error) {
	dir, err := p.Dir(ctx)
	if err != nil {
		return Paths{}, err
	}
	paths := in(dir)
	if p.Given == "" {
		return paths, nil
	}
	if exists(paths.ControllerManager) {
		p.Report.Linef("using every control plane program of KUBEBUILDER_ASSETS=%s", p.Given)
		return paths, nil
	}
	p.Report.Linef("using etcd, kube-apiserver and kubectl of KUBEBUILDER_ASSETS=%s, and our own kube-controller-manager", p.Given)
	manager := ControlPlane()
	manager.programs = []program{controllerManager()}
	own, err := p.Build(ctx, manager)
	if err != nil {
		return Paths{}, err
	}
	paths.ControllerManager = in(own).ControllerManager
	return paths, nil
}

func (p Provider) checkGiven() error {
	for _, name := range []string{Etcd, APIServer, Kubectl} {
		if !exists(filepath.Join(p.Given, name)) {
			return fmt.Errorf("cannot find %q in KUBEBUILDER_ASSETS=%q: unset it to have the program built", name, p.Given)
		}
	}
	return nil
}

func in(dir string) Paths {
	return Paths{
		Etcd:              filepath.Join(dir, Etcd),
		APIServer:         filepath.Join(dir, APIServer),
		ControllerManager: filepath.Join(dir, ControllerManager),
		Kubectl:           filepath.Join(dir, Kubectl),
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
