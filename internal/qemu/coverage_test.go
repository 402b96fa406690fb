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
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
	"github.com/vitistack/provider-proxmox/internal/qemu/fields"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// leftOut returns the keys of property strings that no field sets, with the reason.
func leftOut() map[string]string {
	const (
		volume  = "it is the volume itself, which size, storage, volume and importFrom decide"
		alias   = "it is another name of a key"
		bytes   = "it is a limit in bytes, which the fields have in megabytes with decimals"
		observe = "Proxmox VE writes what it finds"
	)
	reasons := map[string]string{
		"agent.freeze-fs": alias, "agent.guest-fsfreeze": alias, "boot.legacy": "order has replaced it",
		"cpu.reported-model": "it is for custom models only: Proxmox VE refuses it in the configuration of a VM",
		"smbios.uuid":        "it is the VM's identity", "smbios.base64": "it says how the other keys are written", "net.macaddr": alias, "net.model": alias,
		"memory.current": "it is the whole value",
	}
	for _, d := range []string{"ide", "sata", "scsi", "virtio", "efidisk", "tpmstate"} {
		for _, key := range []string{"file", "volume", "import-from", "format"} {
			reasons[d+"."+key] = volume
		}
		for _, direction := range []string{"", "_rd", "_wr"} {
			reasons[d+".bps"+direction] = bytes
			reasons[d+".bps"+direction+"_length"], reasons[d+".iops"+direction+"_length"] = alias, alias
		}
		reasons[d+".size"] = observe
		reasons[d+".media"] = "it tells disks from CD-ROM drives, of which the spec has a list of their own"
	}
	return reasons
}

// everyField returns a spec that sets every field.
func everyField(t *testing.T) v1alpha1.MachineParameters {
	t.Helper()
	b, err := os.ReadFile("../../apis/testdata/every-field.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := v1alpha1.MachineParameters{}
	if err := yaml.UnmarshalStrict(b, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// servedKeys returns the keys of property strings that the fields of a spec set, by option without its number.
func servedKeys(t *testing.T) map[string]bool {
	t.Helper()
	p := everyField(t)
	keys := map[string]bool{}
	for _, bus := range []string{"ide", "sata", "scsi", "virtio"} {
		for _, k := range p.Disks {
			for _, part := range diskParts(&k) {
				if part.Value != nil {
					keys[bus+"."+part.key] = true
				}
			}
		}
	}
	d := desiredOf(t, p, Devices{}, nil)
	for _, o := range d.options() {
		value, _ := o.Want("")
		s, _ := fields.Stem(o.Name)
		all, err := propertystring.Parse(value, "DEFAULT")
		if err != nil {
			continue // Not a property string.
		}
		for _, key := range all.Keys() {
			keys[s+"."+key] = true
		}
	}
	for _, f := range firmware(&p) {
		for _, part := range f.changeable {
			s, _ := fields.Stem(f.device)
			keys[s+"."+part.key] = true
		}
	}
	keys["boot.order"] = true
	return keys
}

// TestEveryParameterHasAPlace checks that each parameter with which PVE creates a VM is a field, is accepted by extraConfig, or is nothing that a VM could
// be wanted to have.
func TestEveryParameterHasAPlace(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			facts, err := schema.Load(version)
			if err != nil {
				t.Fatal(err)
			}
			for parameter, property := range facts.Parameters("POST", "/nodes/{node}/qemu") {
				name, many := strings.CutSuffix(parameter, "[n]")
				if many {
					name += "0"
				}
				s, _ := fields.Stem(name)
				places := slices.DeleteFunc([]string{fields.Of(name), fields.WhyNone(name)}, func(s string) bool { return s == "" })
				if fields.IsExtra(name) {
					places = append(places, "extraConfig")
				}
				if len(places) != 1 {
					t.Errorf("%s has %d places, want 1: %q", parameter, len(places), places)
				}
				if fields.Of(name) != "" {
					checkKeys(t, facts, s, property)
				}
			}
		})
	}
}

// TestEveryFieldIsNamed checks that each option that a field sets has that field's name, with which extraConfig rejects it.
func TestEveryFieldIsNamed(t *testing.T) {
	p := everyField(t)
	p.ExtraConfig = nil
	for _, o := range desiredOf(t, p, Devices{}, nil).options() {
		if fields.IsExtra(o.Name) || fields.Of(o.Name) == "" {
			t.Errorf("a field sets %s: it belongs into package fields, and not into extras", o.Name)
		}
	}
}

// checkKeys checks that fields set the keys of a property string.
func checkKeys(t *testing.T, facts *schema.Facts, option string, property *schema.Property) {
	t.Helper()
	served, reasons := servedKeys(t), leftOut()
	for key, p := range facts.Format(property.Format) {
		name := option + "." + key
		first := p.DefaultKey && served[option+".DEFAULT"]
		excused := reasons[name] != "" || p.KeyAlias != "" || option == "cdrom"
		if !excused && !served[name] && !first {
			t.Errorf("no field sets %s, and there is no reason why not", name)
		}
	}
}

// TestOnBuses checks that the buses with a property of disks are those of PVE's descriptions.
func TestOnBuses(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		facts, err := schema.Load(version)
		if err != nil {
			t.Fatal(err)
		}
		parameters, having := facts.Parameters("POST", "/nodes/{node}/qemu"), map[string][]string{}
		buses := []string{"ide", "sata", "scsi", "virtio"}
		for _, bus := range buses {
			for key := range facts.Format(parameters[bus+"[n]"].Format) {
				having[key] = append(having[key], bus)
			}
		}
		maps.DeleteFunc(having, func(_ string, on []string) bool { return len(on) == len(buses) })
		if diff := cmp.Diff(having, onBuses); diff != "" {
			t.Errorf("PVE %s: -want, +got:\n%s", version, diff)
		}
	}
}
