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

// Package export writes an existing VM as a spec that describes it. It reads the options of the VM by the tables of package qemu, and leaves out what no
// field can hold.
package export

import (
	"reflect"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
)

// A Subject is a VM as Proxmox VE reports it.
type Subject struct {
	// Options of the VM, including pending values.
	Options []proxmox.PendingValue

	// Pool that the VM is a member of. It is empty if there is none.
	Pool string

	// HA holds the HA settings of the VM, or nil if HA does not manage it.
	HA proxmox.HASettings
}

// A Description is a VM written as a spec. It has no node and no power state: the node is where the VM is, and the power state is left alone unless the
// spec declares it.
type Description struct {
	// UUID of the VM, which identifies it later.
	UUID string

	// Parameters that describe the VM.
	Parameters v1alpha1.MachineParameters

	// Omissions lists, by option, what the parameters do not contain and what is therefore left alone.
	Omissions []Omission
}

// An Omission is a setting of a VM that its description does not contain.
type Omission struct {
	// Option of Proxmox VE, followed by the key of its value if only that part is omitted.
	Option string `json:"option"`

	// Reason of the omission, as text.
	Reason string `json:"reason"`
}

// Describe describes a VM. It leaves out the fields whose paths refuses returns, which are those that admission rejects, such as disks[0].size. It returns
// an error if no Machine could adopt the VM, because the VM is a template, is not complete, or has no SMBIOS UUID.
func Describe(s Subject, refuses func(v1alpha1.MachineParameters) []string) (Description, error) {
	config := qemu.Read(s.Options).Config
	switch {
	case config.Template():
		return Description{}, errors.New("it is a template, which Machines are cloned from: name it in their template")
	case config.BeingCreated():
		return Description{}, errors.Errorf("it is being created (locked: %s)", config["lock"])
	case config.Stub():
		return Description{}, errors.New(qemu.NotStub)
	case qemu.Unmark(config["description"]) != config["description"]:
		return Description{}, errors.New("a provider is about to finish it")
	case config.UUID() == "":
		return Description{}, errors.New(qemu.NoUUID)
	}
	w := &writer{config: config, processed: map[string]bool{}, p: blank()}
	w.write(s)
	w.sanitize()
	prune(reflect.ValueOf(w.p).Elem())
	w.accept(refuses)
	if why := w.disagreement(w.p); len(why) > 0 {
		return Description{}, errors.Errorf("it cannot be described so that nothing of it would change: %s", strings.Join(why, ", "))
	}
	slices.SortFunc(w.omissions, func(a, b Omission) int { return strings.Compare(a.Option, b.Option) })
	return Description{UUID: strings.ToLower(config.UUID()), Parameters: *w.p, Omissions: w.omissions}, nil
}

// blank returns parameters in which every struct is allocated.
func blank() *v1alpha1.MachineParameters {
	return &v1alpha1.MachineParameters{
		CPU: &v1alpha1.MachineCPU{}, MemoryOptions: &v1alpha1.MachineMemoryOptions{}, AgentOptions: &v1alpha1.MachineAgentOptions{},
		MachineOptions: &v1alpha1.MachineOptions{}, VGA: &v1alpha1.MachineVGA{}, Startup: &v1alpha1.MachineStartup{},
		Audio: &v1alpha1.MachineAudio{}, RNG: &v1alpha1.MachineRNG{}, Watchdog: &v1alpha1.MachineWatchdog{},
		SMBIOS: &v1alpha1.MachineSMBIOS{}, CloudInit: &v1alpha1.MachineCloudInit{}, HighAvailability: &v1alpha1.MachineHighAvailability{},
	}
}

// prune removes structs to which nothing was written.
func prune(v reflect.Value) {
	for _, f := range v.Fields() {
		switch {
		case f.Kind() == reflect.Pointer && !f.IsNil() && ownStruct(f.Type().Elem()):
			prune(f.Elem())
			if f.Elem().IsZero() {
				f.SetZero()
			}
		case f.Kind() == reflect.Slice && ownStruct(f.Type().Elem()):
			for i := range f.Len() {
				prune(f.Index(i))
			}
		}
	}
}

func ownStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[v1alpha1.MachineParameters]().PkgPath()
}
