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

// Package assets provides the programs of the control plane, of Crossplane and of other projects that tests run with the provider. Those of the control
// plane come from KUBEBUILDER_ASSETS or from a release of setup-envtest. All others, and those that cannot be downloaded, are built once from the
// pinned Go modules.
package assets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// The programs.
const (
	Etcd       = "etcd"
	APIServer  = "kube-apiserver"
	Kubectl    = "kubectl"
	Crossplane = "crossplane"
	Function   = "function-patch-and-transform"
	IPAM       = "cluster-api-ipam-provider-in-cluster"
	Kustomize  = "kustomize-controller"

	ExternalDNS = "external-dns"
	Velero      = "velero"
)

// Modules whose sources contain more than programs: charts, definitions, descriptions of packages.
const (
	CrossplaneModule  = "github.com/crossplane/crossplane/v2"
	Crossplane1Module = "github.com/crossplane/crossplane"
	FunctionModule    = "github.com/crossplane-contrib/" + Function
	IPAMModule        = "sigs.k8s.io/" + IPAM
	ClusterAPIModule  = "sigs.k8s.io/cluster-api"
	KustomizeModule   = "github.com/fluxcd/" + Kustomize
	SourceModule      = "github.com/fluxcd/source-controller"
	ExternalDNSModule = "sigs.k8s.io/" + ExternalDNS
	VeleroModule      = "github.com/vmware-tanzu/" + Velero
)

// Paths has the file of each program.
type Paths struct {
	Etcd, APIServer, Kubectl string
}

// Provider finds, downloads or builds the programs.
type Provider struct {
	// Module is the folder of the Go module that pins the programs.
	Module string
	// Cache is the folder of programs that have been built or downloaded.
	Cache string
	// Given is a folder that already contains etcd, kube-apiserver and kubectl, as setup-envtest leaves them: the value of KUBEBUILDER_ASSETS. If it is
	// empty, the programs are downloaded or built.
	Given string
	// Release is the release that Dir downloads. With the zero Release, Dir builds the programs.
	Release Release
	// Report receives progress.
	Report Reporter
}

// Dir returns a folder with etcd, kube-apiserver and kubectl, to which KUBEBUILDER_ASSETS may be set. It is the given folder or one in the cache. If
// the cache has none, Dir downloads the release, and builds the programs if the download fails.
func (p Provider) Dir(ctx context.Context) (string, error) {
	if p.Given != "" {
		return p.Given, p.checkGiven()
	}
	set := ControlPlane()
	_, built, err := p.locate(set)
	if err != nil {
		return "", err
	}
	for _, dir := range []string{built, p.downloaded()} {
		if len(missing(dir, set.programs)) == 0 {
			return dir, nil
		}
	}
	if len(p.Release.Digests) > 0 && p.tryDownload(ctx) {
		return p.downloaded(), nil
	}
	return p.Build(ctx, set)
}

// tryDownload downloads the release and reports whether that succeeded.
func (p Provider) tryDownload(ctx context.Context) bool {
	p.Report.Linef("downloading etcd, kube-apiserver and kubectl %s from the index of setup-envtest", p.Release.Version)
	begin := time.Now()
	if err := p.download(ctx); err != nil {
		p.Report.Linef("cannot download them (%v), so they are built from source", err)
		return false
	}
	p.Report.Linef("downloaded them in %s; their SHA-512 digest is the pinned one", time.Since(begin).Round(100*time.Millisecond))
	return true
}

// Paths returns the file of every program of the control plane.
func (p Provider) Paths(ctx context.Context) (Paths, error) {
	dir, err := p.Dir(ctx)
	if err != nil {
		return Paths{}, err
	}
	return in(dir), nil
}

func (p Provider) checkGiven() error {
	for _, name := range []string{Etcd, APIServer, Kubectl} {
		if !exists(filepath.Join(p.Given, name)) {
			return fmt.Errorf("cannot find %q in KUBEBUILDER_ASSETS=%q: unset it to have the program downloaded or built", name, p.Given)
		}
	}
	return nil
}

func in(dir string) Paths {
	return Paths{
		Etcd:      filepath.Join(dir, Etcd),
		APIServer: filepath.Join(dir, APIServer),
		Kubectl:   filepath.Join(dir, Kubectl),
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
