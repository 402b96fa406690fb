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

package proxmox

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
)

func TestParseSize(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   Size
		text   string // what PVE would write, empty if rejected
	}{
		"G":        {reason: "A size may be in GiB.", in: "32G", want: 32 * GiB, text: "32G"},
		"M":        {reason: "The largest letter that fits.", in: "2048M", want: 2 * GiB, text: "2G"},
		"K":        {reason: "An EFI disk has a size in KiB.", in: "528K", want: 528 * KiB, text: "528K"},
		"T":        {reason: "A size may be in TiB.", in: "1T", want: TiB, text: "1T"},
		"Bytes":    {reason: "No letter is bytes.", in: "350001", want: 350001, text: "350001"},
		"Fraction": {reason: "PVE accepts fractions of a unit.", in: "0.5G", want: 512 * MiB, text: "512M"},
		"Zero":     {reason: "A disk may be empty.", in: "0", want: 0, text: "0"},
		"Max":      {reason: "The largest size is accepted.", in: "8388607T", want: 8388607 * TiB, text: "8388607T"},
		"Over":     {reason: "A size may be too large.", in: "8388608T"},
		"OverFrac": {reason: "A fraction may be too large.", in: "8388608.0T"},
		"OverInt":  {reason: "A number may be too large.", in: "99999999999999999999"},
		"Plus":     {reason: "Not a relative size.", in: "+1G"},
		"Minus":    {reason: "A negative size is none.", in: "-1G"},
		"GB":       {reason: "A unit has one letter.", in: "1GB"},
		"Gi":       {reason: "Units of Kubernetes are none of PVE's.", in: "1Gi"},
		"Lower":    {reason: "PVE writes units in capitals.", in: "1g"},
		"Space":    {reason: "A size has no spaces.", in: " 1G"},
		"Empty":    {reason: "An empty text is no size.", in: ""},
		"Dot":      {reason: "Digits after a dot.", in: "1.G"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseSize(tc.in)
			if (err == nil) != (tc.text != "") {
				t.Fatalf("%s\nParseSize(%q): got %v and error %v", tc.reason, tc.in, got, err)
			}
			if err == nil && (got != tc.want || got.String() != tc.text) {
				t.Errorf("%s\nParseSize(%q): got %d = %s, want %d = %s", tc.reason, tc.in, got, got, tc.want, tc.text)
			}
		})
	}
}

func FuzzSize(f *testing.F) {
	for _, n := range []int64{0, 1, 1023, 1024, 540672, math.MaxInt64} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		if n < 0 {
			return
		}
		got, err := ParseSize(Size(n).String())
		if err != nil || got != Size(n) {
			t.Errorf("ParseSize(%q): got %d and error %v, want %d", Size(n).String(), got, err, n)
		}
	})
}

func TestProperties(t *testing.T) {
	cases := map[string]struct {
		reason     string
		in         string
		defaultKey string
		want       map[string]string // nil if rejected
	}{
		"Disk": {
			reason: "The volume has no key.", in: "local:210/vm-210-disk-1.qcow2,discard=on,size=2G", defaultKey: "file",
			want: map[string]string{"file": "local:210/vm-210-disk-1.qcow2", "discard": "on", "size": "2G"},
		},
		"Base64": {
			reason: "Values may have an equals sign.", in: "base64=1,serial=YWI=,uuid=x",
			want: map[string]string{"base64": "1", "serial": "YWI=", "uuid": "x"},
		},
		"Middle": {
			reason: "PVE takes the bare part anywhere.", in: "flags=+aes,host", defaultKey: "cputype",
			want: map[string]string{"flags": "+aes", "cputype": "host"},
		},
		"NoDefault": {
			reason: "The value without a key has the empty key where no default key is known.", in: "1,fstrim_cloned_disks=1",
			want: map[string]string{"": "1", "fstrim_cloned_disks": "1"},
		},
		"Empty":   {reason: "An empty text has no properties.", in: "", want: map[string]string{}},
		"NoValue": {reason: "A value may be empty.", in: "a=", want: map[string]string{"a": ""}},
		"Twice":   {reason: "Not one key twice.", in: "a=1,a=2"},
		"TwoBare": {reason: "Two values without a key are too many.", in: "a,b"},
		"Both":    {reason: "The default key is there in one form.", in: "a,file=b", defaultKey: "file"},
		"Comma":   {reason: "PVE passes over a comma too many.", in: "x,,a=1, ,b=2,", defaultKey: "d", want: map[string]string{"d": "x", "a": "1", "b": "2"}},
		"Commas":  {reason: "Nothing in between is nothing.", in: ",", want: map[string]string{}},
		"NoKey":   {reason: "No value without a key.", in: "=1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := propertystring.Parse(tc.in, tc.defaultKey)
			if (err == nil) != (tc.want != nil) {
				t.Fatalf("%s\nParseProperties(%q): got %v and error %v", tc.reason, tc.in, got, err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tc.want, got.Map()); diff != "" {
				t.Errorf("%s\nParseProperties(%q): -want, +got:\n%s", tc.reason, tc.in, diff)
			}
			if got.String() != tc.in || got.Len() != len(tc.want) {
				t.Errorf("%s\nParseProperties(%q): written as %q with %d properties", tc.reason, tc.in, got, got.Len())
			}
		})
	}
}

func TestPropertiesChange(t *testing.T) {
	read, err := propertystring.Parse("local:1,size=1G,ssd=1", "file")
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]struct {
		reason string
		change func(*propertystring.Properties)
		want   string
	}{
		"Replace": {
			reason: "A new value takes the place of the old one.",
			change: func(p *propertystring.Properties) { p.Set("size", "2G") }, want: "local:1,size=2G,ssd=1",
		},
		"Bare": {reason: "A bare part stays bare.", change: func(p *propertystring.Properties) { p.Set("file", "local:2") }, want: "local:2,size=1G,ssd=1"},
		"Add": {
			reason: "A new key comes at the end.",
			change: func(p *propertystring.Properties) { p.Set("cache", "none") }, want: "local:1,size=1G,ssd=1,cache=none",
		},
		"Delete": {reason: "A key that is deleted is gone.", change: func(p *propertystring.Properties) { p.Delete("size") }, want: "local:1,ssd=1"},
		"DeleteNone": {
			reason: "Deleting an unknown key changes nothing.",
			change: func(p *propertystring.Properties) { p.Delete("x") }, want: "local:1,size=1G,ssd=1",
		},
		"Default": {
			reason: "The value without a key comes first.",
			change: func(p *propertystring.Properties) { p.SetDefault("size", "3G") }, want: "3G,local:1,ssd=1",
		},
	}
	for name, tc := range steps {
		t.Run(name, func(t *testing.T) {
			p := read
			tc.change(&p)
			if p.String() != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, p, tc.want)
			}
			if read.String() != "local:1,size=1G,ssd=1" {
				t.Errorf("%s\nthe original became %q", tc.reason, read)
			}
		})
	}
}

func TestPropertiesEqual(t *testing.T) {
	cases := map[string]struct {
		reason string
		a, b   string
		want   bool
	}{
		"Order": {reason: "Order does not count.", a: "x,a=1,b=2", b: "b=2,a=1,x", want: true},
		"Form":  {reason: "The form does not count.", a: "x,a=1", b: "a=1,file=x", want: true},
		"Value": {reason: "Values of a key may differ.", a: "x,a=1", b: "x,a=2"},
		"Key":   {reason: "Keys may differ at the same place.", a: "x,a=1", b: "x,b=1"},
		"More":  {reason: "One may have more keys.", a: "x,a=1", b: "x"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a, errA := propertystring.Parse(tc.a, "file")
			b, errB := propertystring.Parse(tc.b, "file")
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if a.Equal(b) != tc.want || b.Equal(a) != tc.want {
				t.Errorf("%s\n%q and %q are equal: want %t", tc.reason, tc.a, tc.b, tc.want)
			}
		})
	}
}

func FuzzProperties(f *testing.F) {
	for _, s := range []string{"", "local:1,size=1G", "virtio=BC:24:11:00:00:01,bridge=vmbr0", "a=b=c", ",", "=", "a,,b", "uuid=x,serial=YQ=="} {
		f.Add(s, "file")
	}
	f.Fuzz(func(t *testing.T, s, key string) {
		p, err := propertystring.Parse(s, key)
		if err != nil {
			return
		}
		if p.String() != s {
			t.Errorf("propertystring.Parse(%q): written as %q", s, p)
		}
		if !p.Equal(p) { //nolint:gocritic // The property under test.
			t.Errorf("%q is not equal to itself", s)
		}
		q := p
		for _, k := range p.Keys() {
			q.Set(k, p.Get(k))
		}
		if q.String() != s {
			t.Errorf("setting what is there made %q of %q", q, s)
		}
	})
}

func TestDisk(t *testing.T) {
	cases := map[string]struct {
		reason  string
		in      string
		volume  string // empty if rejected
		storage string
		size    Size
		sized   bool
		cdrom   bool
	}{
		"Disk": {
			reason: "A disk as PVE stores it.", in: "local:210/vm-210-disk-1.qcow2,discard=on,iothread=1,serial=ABC,size=2G,ssd=1",
			volume: "local:210/vm-210-disk-1.qcow2", storage: "local", size: 2 * GiB, sized: true,
		},
		"EFI": {
			reason: "Small ones are in KiB.", in: "local:210/vm-210-disk-0.raw,efitype=4m,pre-enrolled-keys=1,size=528K",
			volume: "local:210/vm-210-disk-0.raw", storage: "local", size: 528 * KiB, sized: true,
		},
		"Unused": {reason: "An unused disk has no options.", in: "local:400/vm-400-disk-0.qcow2", volume: "local:400/vm-400-disk-0.qcow2", storage: "local"},
		"Linked": {
			reason: "A linked clone names its base.", in: "local:700/base-700-disk-0.qcow2/801/vm-801-disk-0.qcow2,size=1G",
			volume: "local:700/base-700-disk-0.qcow2/801/vm-801-disk-0.qcow2", storage: "local", size: GiB, sized: true,
		},
		"ISO": {
			reason: "A CD-ROM drive has a medium.", in: "local:iso/tiny.iso,media=cdrom,size=350K", volume: "local:iso/tiny.iso", storage: "local", size: 350 * KiB,
			sized: true, cdrom: true,
		},
		"None":   {reason: "An empty drive is on no storage.", in: "none,media=cdrom", volume: "none", cdrom: true},
		"Device": {reason: "A device of the node is on no storage.", in: "/dev/disk/by-id/x:y,size=1T", volume: "/dev/disk/by-id/x:y", size: TiB, sized: true},
		"Comma":  {reason: "A value written by hand may have empty parts.", in: "local:1,,size=1G,", volume: "local:1", storage: "local", size: GiB, sized: true},
		"Empty":  {reason: "There must be a volume.", in: ""},
		"NoFile": {reason: "There must be a volume.", in: "size=1G"},
		"Blank":  {reason: "There must be a volume.", in: ","},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, err := ParseDisk(tc.in)
			if (err == nil) != (tc.volume != "") {
				t.Fatalf("%s\nParseDisk(%q): error %v", tc.reason, tc.in, err)
			}
			if err != nil {
				return
			}
			size, sized := d.Size()
			if d.Volume != tc.volume || d.Storage() != tc.storage || size != tc.size || sized != tc.sized || d.CDROM() != tc.cdrom {
				t.Errorf("%s\nParseDisk(%q): got %+v on %q, size %v %t, cdrom %t", tc.reason, tc.in, d, d.Storage(), size, sized, d.CDROM())
			}
			if d.String() != tc.in {
				t.Errorf("%s\nParseDisk(%q): written as %q", tc.reason, tc.in, d)
			}
		})
	}
}

func TestDiskWithKeys(t *testing.T) {
	want, err := ParseDisk("local-lvm:vm-100-disk-0,size=4M")
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{"file=local-lvm:vm-100-disk-0,size=4M", "size=4M,volume=local-lvm:vm-100-disk-0"} {
		if got, err := ParseDisk(in); err != nil || !got.Equal(want) || got.String() != want.String() {
			t.Errorf("ParseDisk(%q): got %+v and error %v, want %+v", in, got, err, want)
		}
	}
}

func TestNIC(t *testing.T) {
	cases := map[string]struct {
		reason     string
		in         string
		model, mac string // no model if rejected
		text       string
	}{
		"Stored": {
			reason: "PVE stores a model with its MAC address.", in: "virtio=bc:24:11:aa:bb:cc,bridge=vmbr0,firewall=1,tag=10", model: "virtio", mac: "bc:24:11:aa:bb:cc",
			text: "virtio=bc:24:11:aa:bb:cc,bridge=vmbr0,firewall=1,tag=10",
		},
		"NoBridge": {
			reason: "9.2 stores one without a bridge.", in: "virtio=BC:24:11:00:00:01", model: "virtio", mac: "BC:24:11:00:00:01",
			text: "virtio=BC:24:11:00:00:01",
		},
		"NoMAC": {reason: "A request may leave out the MAC address.", in: "e1000e,bridge=vmbr0", model: "e1000e", text: "e1000e,bridge=vmbr0"},
		"Long": {
			reason: "PVE accepts the long form.", in: "model=virtio,macaddr=bc:24:11:00:00:01,bridge=vmbr0", model: "virtio",
			mac: "bc:24:11:00:00:01", text: "virtio=bc:24:11:00:00:01,bridge=vmbr0",
		},
		"Order": {
			reason: "PVE accepts any order.", in: "bridge=vmbr0,virtio=BC:24:11:00:00:01", model: "virtio", mac: "BC:24:11:00:00:01",
			text: "virtio=BC:24:11:00:00:01,bridge=vmbr0",
		},
		"NoModel":  {reason: "There must be a model.", in: "bridge=vmbr0"},
		"Unknown":  {reason: "One that PVE knows.", in: "model=tulip,bridge=vmbr0"},
		"Two":      {reason: "A NIC has one model.", in: "virtio=BC:24:11:00:00:01,e1000=BC:24:11:00:00:02"},
		"TwoForms": {reason: "A model is written in one form only.", in: "model=virtio,virtio=BC:24:11:00:00:01"},
		"Comma": {
			reason: "A value written by hand may have empty parts.", in: "virtio=BC:24:11:00:00:01,,bridge=vmbr0,", model: "virtio", mac: "BC:24:11:00:00:01",
			text: "virtio=BC:24:11:00:00:01,,bridge=vmbr0,",
		},
		"Broken": {reason: "What is broken is refused.", in: "virtio,=vmbr0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n, err := ParseNIC(tc.in)
			if (err == nil) != (tc.model != "") {
				t.Fatalf("%s\nParseNIC(%q): error %v", tc.reason, tc.in, err)
			}
			if err != nil {
				return
			}
			if n.Model != tc.model || n.MAC != tc.mac || n.String() != tc.text {
				t.Errorf("%s\nParseNIC(%q): got %+v, written as %q", tc.reason, tc.in, n, n)
			}
		})
	}
}

func TestNICEqual(t *testing.T) {
	a, errA := ParseNIC("virtio=BC:24:11:00:00:0A,bridge=vmbr0,tag=1")
	b, errB := ParseNIC("model=virtio,macaddr=bc:24:11:00:00:0a,tag=1,bridge=vmbr0")
	c, errC := ParseNIC("virtio=BC:24:11:00:00:0B,bridge=vmbr0,tag=1")
	if errA != nil || errB != nil || errC != nil {
		t.Fatal(errA, errB, errC)
	}
	if !a.Equal(b) || a.Equal(c) || a.Bridge() != "vmbr0" {
		t.Errorf("%q, %q and %q: the first two are equal, the third is another", a, b, c)
	}
}

func FuzzNIC(f *testing.F) {
	for _, s := range []string{"virtio", "virtio=BC:24:11:00:00:01,bridge=vmbr0", "model=virtio,macaddr=x", "bridge=a,e1000=b", "model=virtio,virtio=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseNIC(s)
		if err != nil {
			return
		}
		again, err := ParseNIC(n.String())
		if err != nil || !again.Equal(n) || again.String() != n.String() {
			t.Errorf("ParseNIC(%q): written as %q, read again as %+v with error %v", s, n, again, err)
		}
	})
}

func FuzzDisk(f *testing.F) {
	for _, s := range []string{"none,media=cdrom", "local:1,size=1G", "size=1G,file=local:1", "file=x,y", "file= "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDisk(s)
		if err != nil {
			return
		}
		again, err := ParseDisk(d.String())
		if err != nil || !again.Equal(d) {
			t.Errorf("ParseDisk(%q): written as %q, read again as %+v with error %v", s, d, again, err)
		}
	})
}

func TestTolerantTypes(t *testing.T) {
	type values struct {
		Text    text    `json:"text"`
		Integer integer `json:"integer"`
		Float   float   `json:"float"`
		Flag    flag    `json:"flag"`
	}
	all := func(v string) string {
		return `{"text":` + v + `,"integer":` + v + `,"float":` + v + `,"flag":` + v + `}`
	}
	cases := map[string]struct {
		reason string
		in     string
		want   values
	}{
		"Int":       {reason: "A number is a text, an integer and true.", in: `5`, want: values{"5", 5, 5, true}},
		"String":    {reason: "A number in a string.", in: `"5"`, want: values{"5", 5, 5, true}},
		"Fraction":  {reason: "A fraction is cut to an integer.", in: `0.5`, want: values{"0.5", 0, 0.5, true}},
		"Exponent":  {reason: "Perl writes numbers with exponents.", in: `1e3`, want: values{"1000", 1000, 1000, true}},
		"Large":     {reason: "No digit is lost.", in: `9007199254740993`, want: values{"9007199254740993", 9007199254740993, 9007199254740992, true}},
		"Zero":      {reason: "The number zero is false.", in: `0`, want: values{"0", 0, 0, false}},
		"ZeroText":  {reason: "A zero is false in a string as well.", in: `"0"`, want: values{"0", 0, 0, false}},
		"True":      {reason: "The boolean true is 1.", in: `true`, want: values{"1", 1, 1, true}},
		"False":     {reason: "The boolean false is 0.", in: `false`, want: values{"0", 0, 0, false}},
		"Null":      {reason: "Null is no value at all.", in: `null`, want: values{}},
		"Word":      {reason: "A word is a text and no number.", in: `"abc"`, want: values{"abc", 0, 0, false}},
		"On":        {reason: "PVE's property strings say on.", in: `"on"`, want: values{"on", 0, 0, true}},
		"Empty":     {reason: "Perl writes false as an empty string.", in: `""`, want: values{"", 0, 0, false}},
		"Object":    {reason: "What makes no sense is nothing.", in: `{"a":1}`, want: values{}},
		"List":      {reason: "What makes no sense is nothing.", in: `[1]`, want: values{}},
		"Infinite":  {reason: "What is no finite number is nothing.", in: `"inf"`, want: values{"inf", 0, 0, true}},
		"TooLarge":  {reason: "A number that does not fit is no integer.", in: `1e30`, want: values{"1000000000000000000000000000000", 0, 1e30, true}},
		"Undefined": {reason: "Perl's nan is no number.", in: `"nan"`, want: values{"nan", 0, 0, false}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got values
			if err := json.Unmarshal([]byte(all(tc.in)), &got); err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s: -want, +got:\n%s", tc.reason, tc.in, diff)
			}
		})
	}
}
