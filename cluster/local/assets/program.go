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

package assets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
)

// program is one program of a set and how long its first build takes on two cores.
type program struct {
	name string
	pkg  string
	cold time.Duration
}

// A Set is a set of programs of one version that one module pins.
type Set struct {
	name     string
	programs []program
	// pin is the module whose required version the programs report. The linker sets it.
	pin    string
	stamps func(version string) []string
	// tags are the build tags, separated by commas.
	tags string
}

// ControlPlane returns the programs of Kubernetes that the launcher runs.
func ControlPlane() Set {
	return Set{name: "the control plane", pin: "k8s.io/kubernetes", stamps: kubernetesStamps, programs: []program{
		{name: Etcd, pkg: "go.etcd.io/etcd/server/v3", cold: 80 * time.Second},
		{name: APIServer, pkg: "k8s.io/kubernetes/cmd/kube-apiserver", cold: 260 * time.Second},
		{name: Kubectl, pkg: "k8s.io/kubernetes/cmd/kubectl", cold: 30 * time.Second},
	}}
}

// CrossplaneCore returns Crossplane without any package. It reports its version because packages require one.
func CrossplaneCore() Set {
	return Set{name: "Crossplane", pin: CrossplaneModule, stamps: crossplaneStamps, programs: []program{
		{name: Crossplane, pkg: CrossplaneModule + "/cmd/crossplane", cold: 60 * time.Second},
	}}
}

// Crossplane1Core returns the last release of Crossplane 1, without any package.
func Crossplane1Core() Set {
	return Set{name: "Crossplane 1", pin: Crossplane1Module, stamps: crossplane1Stamps, programs: []program{
		{name: Crossplane, pkg: Crossplane1Module + "/cmd/crossplane", cold: 90 * time.Second},
	}}
}

// PatchAndTransform returns the function that most Compositions use.
func PatchAndTransform() Set {
	return Set{name: Function, pin: FunctionModule, programs: []program{
		{name: Function, pkg: FunctionModule, cold: 110 * time.Second},
	}}
}

// InClusterIPAM returns Cluster API's IPAM provider whose pools are objects of the same cluster.
func InClusterIPAM() Set {
	return Set{name: IPAM, pin: IPAMModule, programs: []program{
		{name: IPAM, pkg: IPAMModule, cold: 75 * time.Second},
	}}
}

// withoutGRPC is a build tag that removes gRPC, and a hundred packages with it, from the client of Google's object storage, which is not used here.
const withoutGRPC = "disable_grpc_modules"

// KustomizeController returns the controller of Flux's Kustomizations.
func KustomizeController() Set {
	return Set{name: Kustomize, pin: KustomizeModule, tags: withoutGRPC, programs: []program{
		{name: Kustomize, pkg: KustomizeModule, cold: 150 * time.Second},
	}}
}

// ExternalDNSInMemory returns external-dns with only its in-memory provider: a program of this repository.
func ExternalDNSInMemory() Set {
	return Set{name: ExternalDNS, pin: ExternalDNSModule, programs: []program{
		{name: ExternalDNS, pkg: ".", cold: 120 * time.Second},
	}}
}

// VeleroWithFiles returns Velero with a plugin that keeps its backups in files: a program of this repository.
func VeleroWithFiles() Set {
	return Set{name: "Velero", pin: VeleroModule, tags: withoutGRPC, programs: []program{
		{name: Velero, pkg: ".", cold: 90 * time.Second},
	}}
}

// pins determine the content of the programs.
type pins struct {
	module    string
	goVersion string
	stamps    []string
	tags      string
}

func readPins(module string, set Set) (pins, error) {
	path := filepath.Join(module, "go.mod")
	b, err := os.ReadFile(path)
	if err != nil {
		return pins{}, err
	}
	f, err := modfile.Parse(path, b, nil)
	if err != nil {
		return pins{}, err
	}
	for _, r := range f.Require {
		if r.Mod.Path == set.pin {
			return pins{module: module, goVersion: runtime.Version(), stamps: set.stampsOf(r.Mod.Version), tags: set.tags}, nil
		}
	}
	return pins{}, fmt.Errorf("cannot find %s among the requirements of %q", set.pin, path)
}

// flags returns the arguments of go build, the same for every program, so that they share the build cache.
func (p pins) flags() []string {
	flags := []string{"-buildvcs=false", "-trimpath", "-ldflags=-s -w " + strings.Join(p.stamps, " ")}
	if p.tags != "" {
		flags = append(flags, "-tags="+p.tags)
	}
	return flags
}

// stampsOf returns the linker flags that set the version of the programs, as their releases do.
func (s Set) stampsOf(version string) []string {
	if s.stamps == nil {
		return nil
	}
	return s.stamps(version)
}

func crossplaneStamps(version string) []string {
	return []string{"-X github.com/crossplane/crossplane-runtime/v2/pkg/version.version=" + version}
}

func crossplane1Stamps(version string) []string {
	return []string{"-X " + Crossplane1Module + "/internal/version.version=" + version}
}

func kubernetesStamps(version string) []string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	var out []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		out = append(out,
			"-X "+pkg+".gitVersion="+version,
			"-X "+pkg+".gitMajor="+major,
			"-X "+pkg+".gitMinor="+minor,
			"-X "+pkg+".gitTreeState=clean",
		)
	}
	return out
}

// key returns the name of the folder of programs with these pins. It reads a few files and runs no program, so that a
// start with cached programs is fast.
func (p pins) key() (string, error) {
	sources, err := filepath.Glob(filepath.Join(p.module, "*.go")) // A module may also have its own program.
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, file := range append([]string{filepath.Join(p.module, "go.mod"), filepath.Join(p.module, "go.sum")}, sources...) {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(h, "%s %d\n%s", filepath.Base(file), len(b), b)
	}
	_, _ = io.WriteString(h, strings.Join(append(p.flags(), p.goVersion, runtime.GOOS, runtime.GOARCH), "\n"))
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}
