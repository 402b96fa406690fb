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

// Package export writes a VM back as a spec that asks for what the VM is. It reads the
// options of the VM by the tables of package qemu, and leaves out what no field holds.
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

// A Subject is a VM as Proxmox VE tells of it.
type Subject struct {
	// Options of the VM, with what is pending.
	Options []proxmox.PendingValue

	// Pool that the VM is a member of; empty for none.
	Pool string

	// HA is what HA was told of the VM; nil if HA does not manage it.
	HA proxmox.HASettings
}

// A Description is a VM written down as a spec that asks for what the VM is. Its
// node and its power state are left out: the one follows from where the VM is, the
// other is left alone unless it is asked for.
type Description struct {
	// UUID of the VM, which proves it to be the same one later.
	UUID string

	// Parameters that ask for it.
	Parameters v1alpha1.MachineParameters

	// Omissions are what the parameters do not say, and which is left alone
	// therefore, by option.
	Omissions []Omission
}

// An Omission is something that a VM has and that its description does not say.
type Omission struct {
	// Option of Proxmox VE, followed by the key of its value if it is only that.
	Option string `json:"option"`

	// Reason for which it is left out, in words.
	Reason string `json:"reason"`
}

// Describe describes a VM. What refuses says of parameters is left out: paths of fields that
// admission does not take, such as disks[0].size. It is an error if no Machine could
// adopt the VM: if it is a template, is not complete, or has no SMBIOS UUID.
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
	w := &writer{config: config, told: map[string]bool{}, p: blank()}
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

// blank returns parameters whose every struct is there to be written to.
func blank() *v1alpha1.MachineParameters {
	return &v1alpha1.MachineParameters{
		CPU: &v1alpha1.MachineCPU{}, MemoryOptions: &v1alpha1.MachineMemoryOptions{}, AgentOptions: &v1alpha1.MachineAgentOptions{},
		MachineOptions: &v1alpha1.MachineOptions{}, VGA: &v1alpha1.MachineVGA{}, Startup: &v1alpha1.MachineStartup{},
		Audio: &v1alpha1.MachineAudio{}, RNG: &v1alpha1.MachineRNG{}, Watchdog: &v1alpha1.MachineWatchdog{},
		SMBIOS: &v1alpha1.MachineSMBIOS{}, CloudInit: &v1alpha1.MachineCloudInit{}, HighAvailability: &v1alpha1.MachineHighAvailability{},
	}
}

// prune structs that nothing was written to.
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
