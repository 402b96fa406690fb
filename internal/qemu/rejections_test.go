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
	"strings"
	"testing"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

func TestRefusals(t *testing.T) {
	config := map[string]string{
		"scsi0": "s:vm-100-disk-0,size=20G", "ide0": "local:iso/debian.iso,media=cdrom,size=500M",
		"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0",
	}
	withDrive := map[string]string{"ide2": "s:vm-100-cloudinit,media=cdrom,size=4M"}
	disks := func(d ...v1alpha1.MachineDisk) v1alpha1.MachineParameters {
		return v1alpha1.MachineParameters{Disks: d}
	}
	cases := map[string]struct {
		reason   string
		spec     v1alpha1.MachineParameters
		config   map[string]string
		defaults Defaults
		want     []string // parts of each rejection
	}{
		"None": {
			reason: "What can be done is not refused.",
			spec:   disks(v1alpha1.MachineDisk{Name: "a", Device: new("scsi0"), Size: new("30G"), Storage: new("s")}), config: config,
		},
		"Shrink": {
			reason: "A disk never shrinks.", spec: disks(v1alpha1.MachineDisk{Name: "a", Device: new("scsi0"), Size: new("10G")}), config: config,
			want: []string{"cannot shrink from 20G to 10G"},
		},
		"Rounded": {
			reason: "A disk that its storage has made a little larger does not shrink.",
			spec:   disks(v1alpha1.MachineDisk{Name: "a", Device: new("scsi0"), Size: new("20476M")}), config: config,
		},
		"CDROM": {
			reason: "A CD-ROM drive is no disk.", spec: disks(v1alpha1.MachineDisk{Name: "a", Device: new("ide0"), Size: new("1G")}),
			config: config, want: []string{"is a CD-ROM drive"},
		},
		"NoSize": {
			reason: "A new disk needs a size.", spec: disks(disk("a")), defaults: Defaults{Storage: "s"},
			want: []string{`disk "a" is new and has no size`},
		},
		"NoStorage": {
			reason: "A new disk needs a storage.", spec: disks(v1alpha1.MachineDisk{Name: "a", Size: new("1G")}),
			want: []string{`disk "a" is new and has no storage`},
		},
		"DefaultStorage": {
			reason: "The provider config's storage will do.", spec: disks(v1alpha1.MachineDisk{Name: "a", Size: new("1G")}),
			defaults: Defaults{Storage: "s"},
		},
		"NoBridge": {
			reason: "A new network needs a bridge.", spec: v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{network("a")}},
			want: []string{`network "a" is new and has no bridge`},
		},
		"DefaultBridge": {
			reason: "The provider config's bridge will do.", spec: v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{network("a")}},
			defaults: Defaults{Bridge: "b"},
		},
		"SourceBridge": {
			reason: "A network of the source keeps its bridge.",
			spec:   v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{network("a")}}, config: config,
		},
		"NoDrive": {
			reason: "cloud-init needs its drive.", spec: v1alpha1.MachineParameters{CloudInit: &v1alpha1.MachineCloudInit{User: new("x")}},
			config: config, want: []string{"cloud-init drive"},
		},
		"NoDriveForIP": {
			reason: "An IP configuration needs cloud-init's drive.",
			spec:   v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{{Name: "a", IPConfig: &v1alpha1.MachineIPConfig{Address: new("dhcp")}}}},
			config: config, want: []string{"cloud-init drive"},
		},
		"Drive": {
			reason: "A drive from the template will do.", spec: v1alpha1.MachineParameters{CloudInit: &v1alpha1.MachineCloudInit{User: new("x")}},
			config: withDrive,
		},
		"DriveOfDisk": {
			reason: "A disk is no CD-ROM drive.", spec: v1alpha1.MachineParameters{CDROMs: []v1alpha1.MachineCDROM{cdromOn("a", "scsi0")}},
			config: config, want: []string{`CD-ROM drive "a" is device scsi0, which is a disk`},
		},
		"DriveOfSeed": {
			reason: "The drive for cloud-init is none for other media.",
			spec:   v1alpha1.MachineParameters{CDROMs: []v1alpha1.MachineCDROM{cdromOn("a", "ide2")}}, config: withDrive,
			want: []string{`CD-ROM drive "a" is device ide2, which is the drive for cloud-init`},
		},
		"DriveThere": {
			reason: "A drive that is there can be.", spec: v1alpha1.MachineParameters{CDROMs: []v1alpha1.MachineCDROM{cdromOn("a", "ide0")}},
			config: config,
		},
		"Clipboard": {
			reason: "Without a display there is no clipboard.", spec: v1alpha1.MachineParameters{VGA: &v1alpha1.MachineVGA{Clipboard: new("vnc")}},
			config: map[string]string{"vga": "serial0"}, want: []string{"vga.clipboard vnc does not go with vga.type serial0"},
		},
		"ClipboardLost": {
			reason: "The clipboard does not stay when the display goes.", spec: v1alpha1.MachineParameters{VGA: &v1alpha1.MachineVGA{Type: new("none")}},
			config: map[string]string{"vga": "std,clipboard=vnc"}, want: []string{"does not go with vga.type none"},
		},
		"ClipboardThere": {
			reason: "A display has one.", spec: v1alpha1.MachineParameters{VGA: &v1alpha1.MachineVGA{Clipboard: new("vnc")}},
			config: map[string]string{"vga": "qxl"},
		},
		"All": {
			reason: "All that is wrong is said at once.",
			spec: disks(v1alpha1.MachineDisk{
				Name: "a", Device: new("scsi0"), Size: new("1G"), Storage: new("t"),
			}, v1alpha1.MachineDisk{Name: "b", Device: new("scsi7")}),
			config: config, want: []string{"shrink", "no size", "no storage"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := desiredOf(t, tc.spec, Devices{}, tc.config)
			d.Defaults = tc.defaults
			got := d.Rejections(tc.config)
			if len(got) != len(tc.want) {
				t.Fatalf("\n%s\nwant %d refusals with %q, got %q", tc.reason, len(tc.want), tc.want, got)
			}
			for i, part := range tc.want {
				if !strings.Contains(got[i], part) {
					t.Errorf("\n%s\nwant a refusal with %q, got %q", tc.reason, part, got[i])
				}
			}
		})
	}
}

func TestMemoryBelowBalloon(t *testing.T) {
	d := Desired{MachineParameters: &v1alpha1.MachineParameters{Memory: quantity("1Gi")}}
	if no := d.Rejections(map[string]string{"balloon": "2048"}); len(no) != 1 || !strings.Contains(no[0], "2048 MiB") {
		t.Errorf("PVE refuses memory below the balloon, so it is refused before, got %q", no)
	}
	d.Balloon = new(false)
	if no := d.Rejections(map[string]string{"balloon": "2048"}); len(no) != 0 {
		t.Errorf("Without ballooning there is no minimum, got %q", no)
	}
}

const (
	ed25519Key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEA"
	ecdsaKey   = "ecdsa-sha2-nistp256 " +
		"AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBD9XK8AAvVRiWhBG5K9Pp8rkZxYHGy5zT/jHeA+a89/TPkQfqQJS0FHYYqEFFqZftkxOe4eXeTKZv1SFI/n3Rf0="
	offCurve = "ecdsa-sha2-nistp256 " +
		"AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBBFPIrrkzF8FzkOaLn6e3cMAv6i4mLgIR0apMM2GdbtThn1h5UIIrGlJwxHFKFr0AUk8fPO0eXfnBj0DjLAlYQE="
)

// TestPublicKeys checks that a line is a key if, and only if, ssh-keygen -l accepts it.
func TestPublicKeys(t *testing.T) {
	cases := map[string]struct {
		reason string
		key    string
		want   bool
	}{
		"ED25519":      {reason: "A type and a blob are a key.", key: ed25519Key, want: true},
		"ECDSA":        {reason: "A key may be of any type.", key: ecdsaKey, want: true},
		"Comment":      {reason: "A comment may follow.", key: ed25519Key + " me at home", want: true},
		"Options":      {reason: "Options may come first.", key: `from="192.0.2.1",command="a b" ` + ed25519Key + " me", want: true},
		"Tabs":         {reason: "Tabs may part the words of a key.", key: strings.ReplaceAll(ed25519Key, " ", "\t"), want: true},
		"Cut":          {reason: "A key whose end is missing is none.", key: ed25519Key[:len(ed25519Key)-1]},
		"Padded":       {reason: "Padding does not mend it.", key: ed25519Key[:len(ed25519Key)-4]},
		"Long":         {reason: "A key with something after its end is none.", key: ed25519Key + "AAAA"},
		"OffCurve":     {reason: "A key whose point is on no curve is none.", key: offCurve},
		"TwoLines":     {reason: "Two keys are two entries.", key: ed25519Key + "\n" + ecdsaKey},
		"AnotherType":  {reason: "A blob of another type is none.", key: strings.Replace(ed25519Key, "ssh-ed25519", "ssh-rsa", 1)},
		"TypeAlone":    {reason: "The type alone is none.", key: "ssh-ed25519"},
		"BlobOfType":   {reason: "A blob with nothing but the type is none.", key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5"},
		"Placeholder":  {reason: "A placeholder is no key.", key: "ssh-ed25519 AAAA... me@example.com"},
		"LengthTooBig": {reason: "A length beyond the end is no reason to fall over.", key: "ssh-ed25519 /////w=="},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := IsPublicKey(tc.key); got != tc.want {
				t.Errorf("%s Want %v, got %v.", tc.reason, tc.want, got)
			}
			p := v1alpha1.MachineParameters{CloudInit: &v1alpha1.MachineCloudInit{SSHKeys: []string{ed25519Key, tc.key}}}
			d := desiredOf(t, p, Devices{}, nil)
			if no := d.sshKeyRejections(nil); tc.want != (len(no) == 0) || !tc.want && !strings.HasPrefix(no[0], "cloudInit.sshKeys[1]") {
				t.Errorf("%s Refused: %q.", tc.reason, no)
			}
			if no := d.sshKeyRejections(Config{"sshkeys": joinKeys(p.CloudInit.SSHKeys)}); len(no) > 0 {
				t.Errorf("What the VM has is not sent, and refused: %q.", no)
			}
		})
	}
}
