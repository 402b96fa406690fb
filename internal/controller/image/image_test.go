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

package image

import (
	"context"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/checksum"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

func TestDownload(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image()
	l.settle(m)
	file := "team.debian-" + digestOf(l.mirror.image)[:12] + ".qcow2"
	want := []string{"pve1 local:import/" + file, "pve2 local:import/" + file, "pve3 local:import/" + file}
	if diff := cmp.Diff(want, l.files("import")); diff != "" {
		t.Errorf("each node gets one file: -want, +got:\n%s", diff)
	}
	for c, want := range map[xpv2.ConditionType]string{
		xpv2.TypeReady: "True Available", TypeVerified: "True Verified", TypeReplicated: "True Replicated", kind.TypeUpToDate: "True " + string(kind.ReasonUpToDate),
	} {
		if got := status(m, c); got != want {
			t.Errorf("%s: want %s, got %s", c, want, got)
		}
	}
	o := m.Status.AtProvider
	if o.Revision != 1 || o.File != file || len(o.Replicas) != 3 || o.Progress == nil || *o.Progress != 100 || !o.Replicas[0].Verified {
		t.Errorf("the status is %+v", o)
	}
	if l.mirror.gets != 3 {
		t.Errorf("each node downloads once, got %d downloads", l.mirror.gets)
	}
}

func TestTemplates(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image(withTemplate)
	l.settle(m)
	want := []string{"pve1 debian template=true", "pve2 debian template=true", "pve3 debian template=true"}
	if diff := cmp.Diff(want, l.templates()); diff != "" {
		t.Errorf("each node gets one template: -want, +got:\n%s", diff)
	}
	for _, s := range m.Status.AtProvider.Templates {
		if !s.Ready || s.VMID == nil || s.Name != "debian" {
			t.Errorf("the template is shown as %+v", s)
		}
	}
}

// TestTemplateVMIDs checks which VMIDs templates get.
func TestTemplateVMIDs(t *testing.T) {
	vms, templates := &v1alpha1.VMIDRange{Min: 20000, Max: 20999}, &v1alpha1.VMIDRange{Min: 500, Max: 999}
	cases := map[string]struct {
		reason string
		config v1alpha1.ProviderConfigSpec
		want   int32
	}{
		"Default": {reason: "The lowest VMID of the default range that is free.", want: 10000},
		"VMs": {
			reason: "Templates take the VMIDs of VMs without a range of their own.", config: v1alpha1.ProviderConfigSpec{VMIDRange: vms}, want: 20000,
		},
		"Templates": {
			reason: "Templates have VMIDs of their own range.",
			config: v1alpha1.ProviderConfigSpec{VMIDRange: vms, TemplateVMIDRange: templates}, want: 500,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, simulator.Options{})
			m := l.image(func(p *v1alpha1.ImageParameters) { p.Template = &v1alpha1.ImageTemplate{Storage: new("ceph")} })
			c := &connector{connect: func(context.Context, resource.Managed) (*connect.Connection, error) {
				return &connect.Connection{Config: &tc.config}, nil
			}}
			made, err := c.Connect(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			l.vmids = made.(*external).vmids
			l.settle(m)
			if o := m.Status.AtProvider.Templates; len(o) != 1 || *o[0].VMID != tc.want {
				t.Errorf("%s Want VMID %d, got %+v", tc.reason, tc.want, o)
			}
		})
	}
}

func TestWrongChecksum(t *testing.T) {
	l := newLab(t, simulator.Options{})
	m := l.image(func(p *v1alpha1.ImageParameters) {
		p.Source.Checksum = new("sha256:" + strings.Repeat("0", 64))
		p.Template = &v1alpha1.ImageTemplate{Storage: new("local-lvm")}
	})
	for range 8 {
		if _, err := l.reconcile(m); err != nil {
			t.Fatal(err)
		}
	}
	if files := l.files("import"); len(files) > 0 || len(l.templates()) > 0 {
		t.Errorf("nothing may be left or used, got %v and %v", files, l.templates())
	}
	if got := status(m, xpv2.TypeReady); got != "False ChecksumMismatch" {
		t.Errorf("Ready: got %s: %s", got, m.GetCondition(xpv2.TypeReady).Message)
	}
	if got := status(m, TypeVerified); got != "False ChecksumMismatch" {
		t.Errorf("Verified: got %s", got)
	}
	if m.Status.AtProvider.Revision != 0 {
		t.Error("there is no revision that Machines may be made from")
	}
}

// TestStemOf checks the names of the files of an Image. Those of a tenant begin with a prefix that distinguishes them from others, however long the
// name is.
func TestStemOf(t *testing.T) {
	long := strings.Repeat("debian-", 30)
	prefix := strings.Repeat("t", 63) + "_" + strings.Repeat("c", 63) + "_."
	cases := map[string]struct {
		reason                  string
		namespace, name, prefix string
		fileName                *string
		want                    string
	}{
		"Own":        {reason: "An Image that is no tenant's is called by its name.", name: "debian", want: "debian"},
		"Namespaced": {reason: "A namespaced Image is called by its namespace.", namespace: "team", name: "debian", prefix: "team.", want: "team.debian"},
		"Claimed":    {reason: "An Image of a claim is called by the namespace of that.", name: "debian", prefix: "team.", want: "team.debian"},
		"Labelled":   {reason: "An Image that labels tell is called by its tenant.", name: "debian", prefix: "a_shared_.", want: "a_shared_.debian"},
		"FileName":   {reason: "A name that is set is taken as it is.", name: "debian", prefix: "team.", fileName: new("team.other"), want: "team.other"},
		"Long":       {reason: "A long name is cut behind the tenant.", name: long, prefix: "team.", want: "team." + shortened(long, longestStem-len("team."))},
		"LongTenant": {reason: "A long tenant is not cut.", name: long, prefix: prefix, want: prefix + shortened(long, shortestName)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &namespaced.Image{}
			m.SetNamespace(tc.namespace)
			m.SetName(tc.name)
			m.Spec.ForProvider.FileName = tc.fileName
			if got := stemOf(m, tc.prefix); got != tc.want || len(fileName(got, checksum.Checksum{Algorithm: "sha256", Sum: long}, "qcow2")) > 255 {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// TestExtensionOf checks which extension a file has in Proxmox VE, which accepts images to import only with a lower-case extension, and none with
// .img.
func TestExtensionOf(t *testing.T) {
	const iso, container = v1alpha1.ImageContentISO, v1alpha1.ImageContentContainer
	cases := map[string]struct {
		reason  string
		content v1alpha1.ImageContent
		url     string
		format  string
		want    string
	}{
		"Import":        {reason: "The extension of the address counts.", url: "https://a/debian.raw", want: "raw"},
		"Img":           {reason: "Distributions name qcow2 images .img.", url: "https://a/noble.img", want: "qcow2"},
		"ImgOfRaw":      {reason: "The format says what an .img is.", url: "https://a/noble.img", format: "raw", want: "raw"},
		"UpperCase":     {reason: "An image in capitals gets the extension that PVE takes.", url: "https://a/DEBIAN.QCOW2", want: "qcow2"},
		"UpperCaseImg":  {reason: "An .IMG is a qcow2 image as an .img is.", url: "https://a/NOBLE.IMG", want: "qcow2"},
		"ISO":           {reason: "An ISO image has its extension.", content: iso, url: "https://a/b.iso?x=1", want: "iso"},
		"UpperCaseISO":  {reason: "An ISO image in capitals is stored in lower case.", content: iso, url: "https://a/WIN.ISO", want: "iso"},
		"ImgOfISO":      {reason: "An .img among ISO images stays one, as PVE takes it there.", content: iso, url: "https://a/boot.img", want: "img"},
		"Container":     {reason: "A container template has an extension of two parts.", content: container, url: "https://a/d.tar.zst", want: "tar.zst"},
		"ISOToImport":   {reason: "An ISO image is nothing to import.", url: "https://a/b.iso"},
		"ImportAsISO":   {reason: "A disk image is no ISO image.", content: iso, url: "https://a/debian.qcow2"},
		"NoneAtTheEnd":  {reason: "An address without an extension says nothing.", url: "https://a/latest"},
		"SaidByFormats": {reason: "The format stands in for an extension that is missing.", url: "https://a/latest", format: "vmdk", want: "vmdk"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.ImageParameters{Source: v1alpha1.ImageSource{URL: &tc.url}}
			if tc.content != "" {
				p.Content = &tc.content
			}
			if tc.format != "" {
				p.Source.Format = &tc.format
			}
			got, err := extensionOf(p)
			if got != tc.want || (err != nil) != (tc.want == "") {
				t.Errorf("%s\nwant %q, got %q, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}
