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

package tenancy

import (
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/guarded"
)

// TestImageHosts checks that URLs can name the listed hosts in only one form, so that every program that parses such a URL finds the same host.
func TestImageHosts(t *testing.T) {
	cases := map[string]struct {
		reason string
		urls   []string
		want   bool
	}{
		"Listed": {reason: "A host that is listed is allowed.", want: true, urls: []string{
			"https://images.example.org/debian.qcow2", "http://images.example.org/a/b?c=d@evil.example", "https://images.example.org",
		}},
		"Case": {reason: "Case does not count in names of hosts.", want: true, urls: []string{"https://Images.EXAMPLE.org/x"}},
		"Port": {reason: "A port that is listed is allowed.", want: true, urls: []string{"https://local.example.org:8443/x"}},
		"Wildcard": {
			reason: "A wildcard stands for any one label.", want: true, urls: []string{"https://eu-1.mirror.example.org/x", "https://A.mirror.example.org/x"},
		},
		"Address": {reason: "An address that is listed is allowed.", want: true, urls: []string{"https://192.0.2.7/x", "https://[2001:DB8::7]/x"}},
		"OtherHost": {reason: "Other hosts are refused, however near their names are.", urls: []string{
			"https://example.org/x", "https://ximages.example.org/x", "https://images.example.org.evil.example/x", "https://imagesXexample.org/x",
			"https://a.images.example.org/x", "https://169.254.169.254/x", "https://localhost/x",
		}},
		"OtherPort": {reason: "Ports that are not listed are refused, also the one that a scheme has.", urls: []string{
			"https://images.example.org:443/x", "https://images.example.org:22/x", "https://local.example.org/x", "https://local.example.org:84430/x",
			"https://images.example.org:/x",
		}},
		"NoLabel":   {reason: "A wildcard stands for a label.", urls: []string{"https://mirror.example.org/x", "https://.mirror.example.org/x"}},
		"TwoLabels": {reason: "A wildcard stands for no two labels.", urls: []string{"https://a.b.mirror.example.org/x"}},
		"EvilLabel": {reason: "A wildcard stands for what a name may have.", urls: []string{
			"https://evil.example/.mirror.example.org/x", "https://a@b.mirror.example.org/x",
		}},
		"User": {reason: "What stands before an @ is no host.", urls: []string{
			"https://images.example.org@evil.example/x", "https://images.example.org:x@evil.example/x",
		}},
		"Credential": {reason: "A URL has no credentials.", urls: []string{"https://me:secret@images.example.org/x"}},
		"Dot":        {reason: "A trailing dot makes another name.", urls: []string{"https://images.example.org./x"}},
		"Slash":      {reason: "Some read a backslash as a slash.", urls: []string{`https://images.example.org\@evil.example/x`, `https:\\images.example.org/x`}},
		"Query": {reason: "What stands behind the host is a path.", urls: []string{
			"https://images.example.org?@evil.example/x", "https://images.example.org#@evil.example/x",
		}},
		"Space": {reason: "A URL has no spaces.", urls: []string{
			"https://images.example.org/x https://evil.example/", "https://images.example.org/x\n", " https://images.example.org/x",
		}},
		"Scheme": {reason: "Other schemes are refused.", urls: []string{
			"ftp://images.example.org/x", "file:///etc/passwd", "//images.example.org/x", "images.example.org",
		}},
		"OtherIP": {reason: "Other ways of writing an address are refused.", urls: []string{
			"https://192.0.2.007/x", "https://0xc0000207/x", "https://3221225991/x", "https://[::ffff:192.0.2.7]/x", "https://[2001:db8:0::7]/x",
		}},
		"Alphabet": {reason: "Letters of other alphabets are others.", urls: []string{
			"https://image\u017f.example.org/x", "https://lin\u212as.example.com/x",
		}},
		"Percent": {reason: "No characters are written otherwise.", urls: []string{
			"https://images%2eexample.org/x", "https://images.example.org%2f@evil.example/x",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, url := range tc.urls {
				if err := ImagesOf(tenant(t, "f")).CheckURL("url", url); (err == nil) != tc.want {
					t.Errorf("\n%s\n%q: want allowed %t, got %v", tc.reason, url, tc.want, err)
				}
			}
		})
	}
	err := ImagesOf(tenant(t, "a")).CheckURL("url", "https://images.example.org/x")
	compare(t, "Without hosts no URL is allowed.", err, "(imageHosts): url of a host but none")
}

// imageOf returns an Image that tenant f may have.
func imageOf(change func(*v1alpha1.ImageParameters)) *namespaced.Image {
	i := &namespaced.Image{ObjectMeta: metav1.ObjectMeta{Namespace: "f", UID: "1"}}
	i.Spec.ForProvider = v1alpha1.ImageParameters{Source: v1alpha1.ImageSource{URL: new("https://images.example.org/x.qcow2")}, Storages: []string{"nfs"}}
	if change != nil {
		change(&i.Spec.ForProvider)
	}
	return i
}

func TestImageSpecs(t *testing.T) {
	type p = v1alpha1.ImageParameters
	cases := map[string]struct {
		reason       string
		of           string // Tenant f if empty.
		change       func(*p)
		externalName string
		record       string
		status       string // The record in the status.
		claimed      bool
		want         string
	}{
		"Fine": {reason: "An Image of an own host on an own storage."},
		"Nodes": {
			reason: "An Image may name own nodes, and a file of its namespace.", change: func(p *p) { p.Nodes, p.FileName = []string{"pve1"}, new("f.debian") },
		},
		"ISO":      {reason: "An Image may be an ISO image.", change: func(p *p) { p.Content = new(v1alpha1.ImageContentISO) }},
		"Hostless": {reason: "Who has no hosts has no Images.", of: "a", want: "(kinds): to have a resource of kind Image"},
		"NoTenant": {reason: "A namespace of no tenant has no images.", of: "x", want: "belongs to no tenant"},
		"Claimed":  {reason: "An Image of a claim is one of the namespace of that.", claimed: true},
		"ClaimedFile": {
			reason: "An Image of a claim has no file of another namespace.", claimed: true, change: func(p *p) { p.FileName = new("a.debian") },
			want: "(imageHosts): file a.debian, whose name does not begin with f.",
		},
		"ClaimedHost": {
			reason: "An Image of a claim is refused another host.", claimed: true, change: func(p *p) { p.Source.URL = new("https://evil.example/x.qcow2") },
			want: "(imageHosts): source.url of a host but images.example.org,",
		},
		"Host": {
			reason: "Another host is refused.", change: func(p *p) { p.Source.URL = new("https://evil.example/x.qcow2") },
			want: "(imageHosts): source.url of a host but images.example.org,",
		},
		"Sums": {
			reason: "A list of checksums of another host is refused.", change: func(p *p) { p.Source.ChecksumURL = new("https://evil.example/x") },
			want: "(imageHosts): source.checksumURL of a host but",
		},
		"OwnSums": {reason: "A list of checksums of an own host is read.", change: func(p *p) { p.Source.ChecksumURL = new("https://images.example.org/x") }},
		"Volume": {
			reason: "A file that is there does not tell its tenant.", change: func(p *p) { p.Source = v1alpha1.ImageSource{Volume: new("nfs:import/x.qcow2")} },
			want: "(kinds): an Image of anything but source.url",
		},
		"OCI": {
			reason: "An image of a registry is refused.", change: func(p *p) { p.Source = v1alpha1.ImageSource{OCI: new("x/y:z")} },
			want: "(kinds): an Image of anything but source.url",
		},
		"Machine": {
			reason: "A copy of a Machine is refused.",
			change: func(p *p) { p.Source, p.Template = v1alpha1.ImageSource{Machine: new("x")}, &v1alpha1.ImageTemplate{} },
			want:   "(kinds): an Image of anything but source.url; (kinds): the template of an Image",
		},
		"Container": {reason: "Tenants have no containers.", change: func(p *p) { p.Content = new(v1alpha1.ImageContentContainer) }, want: "container template"},
		"Storage": {
			reason: "Another storage is refused.", change: func(p *p) { p.Storages = []string{"nfs", "local"} }, want: "(storages): an Image on storage local",
		},
		"Selector": {
			reason: "What a selector comes to may be anybody's.",
			change: func(p *p) { p.Storages, p.StorageSelector = nil, &v1alpha1.ImageStorageSelector{Shared: new(true)} },
			want:   "(storages): an Image by storageSelector",
		},
		"Node": {reason: "Another node is refused.", change: func(p *p) { p.Nodes = []string{"pve2"} }, want: "(nodes): no VM on node pve2"},
		"FileName": {
			reason: "A name that others may use is refused.", change: func(p *p) { p.FileName = new("debian-13") }, want: "(imageHosts): file debian-13",
		},
		"Near": {
			reason: "A name that only begins as the namespace does is refused.",
			change: func(p *p) { p.FileName = new("f-debian") }, want: "(imageHosts): file f-debian",
		},
		"Adopted":  {reason: "A file of others is not adopted.", externalName: "debian.qcow2", want: "(imageHosts): file debian.qcow2"},
		"Template": {reason: "A template of others is not adopted.", externalName: "f.x.qcow2,9000", want: "(imageHosts): file f.x.qcow2,9000"},
		"Folder":   {reason: "A name is none of a folder.", externalName: "f./../x.qcow2", want: "(imageHosts): file f./../x.qcow2"},
		"Made":     {reason: "What was made has the name of the namespace.", externalName: "f.x.qcow2", record: `{"revisions":[{"file":"f.x.qcow2"}]}`},
		"Recorded": {
			reason: "A record of files of others is refused.", record: `{"revisions":[{"file":"debian.qcow2"}]}`, want: "(imageHosts): file debian.qcow2",
		},
		"Kept": {
			reason: "A record of files of others is refused in the status.",
			status: `{"revisions":[{"file":"debian.qcow2"}]}`, want: "(imageHosts): file debian.qcow2",
		},
		"RecordedTemplate": {
			reason: "A record of templates is refused.", record: `{"revisions":[{"templates":{"ceph":{"vmid":9000}}}]}`, want: "(kinds): the template of an Image",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			i := imageOf(tc.change)
			meta.SetExternalName(i, tc.externalName)
			meta.AddAnnotations(i, map[string]string{AnnotationImage: tc.record})
			i.Status.AtProvider.Annotations = map[string]string{AnnotationImage: tc.status}
			namespace := tc.of
			if namespace == "" {
				namespace = "f"
			}
			if !tc.claimed {
				compare(t, tc.reason, tenant(t, namespace).CheckSpec(i), tc.want)
				return
			}
			of, err := Of(tenants(), Subject{Namespace: namespace, Labels: map[string]string{}})
			if err != nil {
				t.Fatal(err)
			}
			compare(t, tc.reason, of.CheckSpec(&cluster.Image{Spec: cluster.ImageSpec{ForProvider: i.Spec.ForProvider}}), tc.want)
		})
	}
}

// imageTenants returns two tenants with hosts, of which one has a name that begins with that of the other, and one tenant without hosts.
func imageTenants() []v1alpha1.ProviderTenant {
	of := func(name string, hosts ...string) v1alpha1.ProviderTenant {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{"team": name}}
		return v1alpha1.ProviderTenant{
			Name: name, Namespaces: []string{name}, NamespaceSelector: selector, ResourceSelector: selector, Storages: []string{"nfs"}, ImageHosts: hosts,
		}
	}
	return []v1alpha1.ProviderTenant{of("f", "images.example.org"), of("f-shared", "images.example.org"), of("hostless")}
}

// imageSubjects returns resources that have files, by the prefixes of the files' names, which are all different.
func imageSubjects() map[string]Subject {
	f := map[string]string{"team": "f"}
	return map[string]Subject{
		"f.":                  {Namespace: "f"},
		"g.":                  {Namespace: "g", NamespaceLabels: f},
		"f-shared.":           {Namespace: "f-shared", Labels: map[string]string{}, Config: "shared"},
		"h.":                  {Namespace: "h", NamespaceLabels: f, Labels: map[string]string{}, Config: "shared"},
		"f_shared_.":          {Labels: f, Config: "shared"},
		"f_shared.eu_.":       {Labels: f, Config: "shared.eu"},
		"f_f-shared_.":        {Labels: f, Config: "f-shared"},
		"f-shared_shared_.":   {Labels: map[string]string{"team": "f-shared"}, Config: "shared"},
		"f-shared_f-shared_.": {Labels: map[string]string{"team": "f-shared"}, Config: "f-shared"},
	}
}

// TestImageFiles checks the prefixes that distinguish files: the namespace if it selects the tenant, otherwise the tenant and the provider
// configuration.
func TestImageFiles(t *testing.T) {
	f, none := map[string]string{"team": "f"}, map[string]string{}
	long := strings.Repeat("l", 253)
	cases := map[string]struct {
		reason  string
		subject Subject
		want    string
	}{
		"Claim": {reason: "A resource of a claim has the files of the namespace.", subject: Subject{Namespace: "f", Labels: none, Config: "x"}, want: "f."},
		"Both": {
			reason:  "The namespace goes before labels that tell the same tenant.",
			subject: Subject{Namespace: "f", Labels: f, Config: "x"}, want: "f.",
		},
		"ClaimElsewhere": {
			reason:  "A claim in a namespace that is not the tenant's gives none of the files of that.",
			subject: Subject{Namespace: "other", NamespaceLabels: none, Labels: f, Config: "x"}, want: "f_x_.",
		},
		"ClaimUnread": {
			reason:  "Labels of a namespace that are not known give none of its files.",
			subject: Subject{Namespace: "g", Labels: f, Config: "x"}, want: "f_x_.",
		},
		"Long":         {reason: "A name that is too long is told by a hash.", subject: Subject{Labels: f, Config: long}, want: "f_" + labelOf(long) + "_."},
		"ConfigUnread": {reason: "No file is a tenant's while the configuration is not known.", subject: Subject{Labels: f}},
		"Two":          {reason: "What is two tenants' has no files.", subject: Subject{Namespace: "f-shared", Labels: f, Config: "x"}},
		"Nobody":       {reason: "What is no tenant's has no files.", subject: Subject{Namespace: "x", Labels: none, Config: "x"}},
		"Hostless":     {reason: "A tenant without hosts has no files.", subject: Subject{Namespace: "hostless"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			of, err := Of(imageTenants(), tc.subject)
			if got := ImagesOf(of).Prefix(); got != tc.want || err != nil {
				t.Errorf("\n%s\nwant %q, got %q, %v", tc.reason, tc.want, got, err)
			}
			if ImagesOf(of).Prefix() == "" && (ImagesOf(of).ownsFile("x.qcow2") || of.CheckImport("nfs:import/x.qcow2") == nil) {
				t.Error("it has the files of others")
			}
		})
	}
	if got := ImagesOf(nil).Prefix(); got != "" {
		t.Errorf("Who may do everything has names of its own choice, got %q", got)
	}
}

// TestImageFilesOfOthers checks that no resource can use, download or have a file of another tenant, another configuration or another namespace,
// however similar their names are.
func TestImageFilesOfOthers(t *testing.T) {
	for prefix, subject := range imageSubjects() {
		of, err := Of(imageTenants(), subject)
		if err != nil {
			t.Fatal(err)
		}
		for other := range imageSubjects() {
			file, image := other+"x.qcow2", imageOf(func(p *v1alpha1.ImageParameters) { p.FileName = new(other + "x") })
			write := guarded.Write{Method: "POST", Path: "/nodes/{node}/storage/{storage}/download-url", Args: []string{"pve1", "nfs"}, Form: map[string]string{
				"url": "https://images.example.org/x.qcow2", "content": "import", "filename": file,
			}}
			guard := Guard{Tenant: of, Image: func() ImageRecord { return ImageRecord{} }}
			for what, err := range map[string]error{
				"use": of.CheckImport("nfs:import/" + file), "have": of.CheckSpec(image), "download": guard.Check(write),
				"insert": of.CheckOptions(805, map[string]string{"ide0": "nfs:iso/" + other + "x.iso,media=cdrom"}),
			} {
				if may := err == nil; may != (other == prefix) {
					t.Errorf("may the owner of files %s %s one of %s: want %t, got %v", prefix, what, other, other == prefix, err)
				}
			}
		}
	}
}

// TestImagesOfMachines checks that URLs of Machines are checked by the Images that are created for them, and that VMs may use the files of their
// namespace.
func TestImagesOfMachines(t *testing.T) {
	url := func(storages ...string) *v1alpha1.MachineImage {
		return &v1alpha1.MachineImage{URL: new("https://images.example.org/x.qcow2"), Storages: storages}
	}
	sums := url("nfs")
	sums.ChecksumURL = new("https://evil.example/x")
	file := func(volume string) *v1alpha1.MachineImage { return &v1alpha1.MachineImage{Volume: volume} }
	cases := map[string]struct {
		reason string
		image  *v1alpha1.MachineImage
		want   string
	}{
		"URL":   {reason: "A URL of an own host may be for a Machine.", image: url("nfs")},
		"Local": {reason: "Without a storage the file would be on local.", image: url(), want: "(storages): an Image on storage local"},
		"Sums":  {reason: "A list of checksums of another host is refused to a Machine.", image: sums, want: "(imageHosts): image.checksumURL of a host but"},
		"Host": {
			reason: "Another host is refused.", image: &v1alpha1.MachineImage{URL: new("http://evil.example/x"), Storages: []string{"nfs"}},
			want: "(imageHosts): image.url",
		},
		"File":  {reason: "A VM may be filled from a file of its namespace.", image: file("nfs:import/f.x.qcow2")},
		"InOVA": {reason: "A VM may be filled from a disk in a file of its namespace.", image: file("nfs:import/f.x.ova/disk.vmdk")},
		"Elsewhere": {
			reason: "A file on a storage that is not the tenant's is refused.",
			image:  file("local:import/f.x.qcow2"), want: "(images): image.volume is local:import/f.x.qcow2",
		},
		"Theirs": {
			reason: "A file of another namespace is refused.", image: file("nfs:import/a.x.qcow2"), want: "(images): image.volume is nfs:import/a.x.qcow2",
		},
		"Near": {reason: "Names that are near are others'.", image: file("nfs:import/f2.x.qcow2"), want: "(images): image.volume"},
		"Up":   {reason: "Nothing leads out of the folder.", image: file("nfs:import/f.x/.."), want: "(images): image.volume"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mg := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "f"}}
			mg.Spec.ForProvider.Image = tc.image
			compare(t, tc.reason, tenant(t, "f").CheckSpec(mg), tc.want)
		})
	}
	compare(t, "Who may do everything may name any URL.", ImagesOf(nil).CheckMachine(url()), "")
	compare(t, "A namespace of no tenant may name no URL.", ImagesOf(tenant(t, "x")).CheckMachine(url("nfs")), "belongs to no tenant")
	compare(t, "A Machine makes an Image of an own host.", ImagesOf(tenant(t, "f")).CheckMachine(url("nfs")), "")
	compare(t, "A Machine makes no Image elsewhere.", ImagesOf(tenant(t, "f")).CheckMachine(url()), "(storages): an Image on storage local")
	compare(t, "Others' patterns have what they have.", tenant(t, "a").CheckImport("nfs:import/f.x.qcow2"), "(images)")
	compare(t, "An ISO image of the namespace may be put in.", tenant(t, "f").CheckOptions(805, map[string]string{"ide0": "nfs:iso/f.x.iso,media=cdrom"}), "")
}

// TestGuardImages checks that an Image of a tenant may download to permitted places, and may remove and stop what the provider has recorded as its own.
func TestGuardImages(t *testing.T) {
	const (
		download = "POST /nodes/{node}/storage/{storage}/download-url"
		content  = "DELETE /nodes/{node}/storage/{storage}/content/{volume}"
		stop     = "DELETE /nodes/{node}/tasks/{upid}"
		task     = "UPID:pve1:00000001:00000001:65000000:download:f.x.qcow2:crossplane@pve!demo:"
		record   = `{"revisions":[{"file":"f.x.qcow2","files":{"nfs":{"storage":"nfs","task":"` + task + `"}}}]}`
	)
	form := func(change ...string) map[string]string {
		f := map[string]string{
			"url": "https://images.example.org/x.qcow2", "content": "import", "filename": "f.x.qcow2", "checksum": "0", "checksum-algorithm": "sha256",
		}
		for i := 0; i+1 < len(change); i += 2 {
			f[change[i]] = change[i+1]
		}
		return f
	}
	at := func(args ...string) []string { return args }
	cases := map[string]struct {
		reason   string
		of       string // Tenant f if empty.
		write    string
		args     []string
		form     map[string]string
		machine  bool // The resource is not an Image.
		unsigned bool
		deleted  bool
		want     string
	}{
		"Download": {reason: "A file of an own host is downloaded to an own storage.", write: download, args: at("pve1", "nfs"), form: form()},
		"DownloadHost": {
			reason: "A file of another host is not downloaded.",
			write:  download, args: at("pve1", "nfs"), form: form("url", "http://evil.example/x"), want: "(imageHosts)",
		},
		"DownloadNode": {reason: "A node that is not the tenant's downloads nothing.", write: download, args: at("pve2", "nfs"), form: form(), want: "(nodes)"},
		"DownloadTo":   {reason: "Nothing is downloaded to another storage.", write: download, args: at("pve1", "local"), form: form(), want: "(storages)"},
		"DownloadAs": {
			reason: "A file gets no name that others may use.", write: download, args: at("pve1", "nfs"), form: form("filename", "x.qcow2"), want: "(kinds)",
		},
		"DownloadTmpl": {
			reason: "No container template is downloaded.", write: download, args: at("pve1", "nfs"), form: form("content", "vztmpl"), want: "(kinds)",
		},
		"DownloadMore": {
			reason: "A download with a parameter that is not known is refused.",
			write:  download, args: at("pve1", "nfs"), form: form("overwrite", "1"), want: "(kinds)",
		},
		"DownloadOther": {
			reason: "A resource that is no Image downloads nothing.", write: download, args: at("pve1", "nfs"), form: form(), machine: true, want: "(kinds)",
		},
		"DownloadNoTenant": {
			reason: "A namespace without a tenant downloads nothing.",
			of:     "x", write: download, args: at("pve1", "nfs"), form: form(), deleted: true, want: "belongs to no tenant",
		},
		"Remove": {reason: "A file that is recorded and signed is removed.", write: content, args: at("pve1", "nfs", "nfs:import/f.x.qcow2")},
		"RemoveOther": {
			reason: "A file of another Image of the namespace stays.", write: content, args: at("pve1", "nfs", "nfs:import/f.y.qcow2"), want: "(kinds)",
		},
		"RemoveThere": {
			reason: "A file of the same name on another storage stays.", write: content, args: at("pve1", "local", "local:import/f.x.qcow2"), want: "(kinds)",
		},
		"RemoveUnsigned": {
			reason: "A file of a record that somebody has made up stays.",
			write:  content, args: at("pve1", "nfs", "nfs:import/f.x.qcow2"), unsigned: true, want: "(kinds)",
		},
		"RemoveNoTenant": {
			reason: "A deleted Image of a namespace that has lost its tenant removes its file.",
			of:     "x", write: content, args: at("pve1", "nfs", "nfs:import/f.x.qcow2"), deleted: true,
		},
		"KeepNoTenant": {
			reason: "An Image of a namespace that has lost its tenant changes nothing while it is not deleted.",
			of:     "x", write: content, args: at("pve1", "nfs", "nfs:import/f.x.qcow2"), want: "belongs to no tenant",
		},
		"Stop":          {reason: "A task that is recorded and signed is stopped.", write: stop, args: at("pve1", task)},
		"StopOther":     {reason: "Another task goes on.", write: stop, args: at("pve1", strings.Replace(task, "00000001", "00000002", 1)), want: "(kinds)"},
		"StopByMachine": {reason: "A resource that is no Image stops no task.", write: stop, args: at("pve1", task), machine: true, want: "(kinds)"},
		"Pull": {
			reason: "No image is pulled from a registry.", write: "POST /nodes/{node}/storage/{storage}/oci-registry-pull", args: at("pve1", "nfs"), want: "(kinds)",
		},
	}
	records := Records{Key: []byte("0123456789abcdef0123456789abcdef"), Config: "x"}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			i := imageOf(nil)
			meta.AddAnnotations(i, map[string]string{AnnotationImage: record, AnnotationImageSignature: records.SignImage(i, record)})
			if tc.unsigned {
				meta.AddAnnotations(i, map[string]string{AnnotationImageSignature: records.SignImage(i, record+" ")})
			}
			namespace := tc.of
			if namespace == "" {
				namespace = "f"
			}
			g := Guard{Tenant: tenant(t, namespace), Deleted: tc.deleted, Guest: func(vmid int, _ bool) (proxmox.Guest, error) { return inCluster(vmid, false) }}
			if !tc.machine {
				g.Image = func() ImageRecord {
					r, _ := records.Image(i)
					return r
				}
			}
			method, path, _ := strings.Cut(tc.write, " ")
			compare(t, tc.reason, g.Check(guarded.Write{Op: name, Method: method, Path: path, Args: tc.args, Form: tc.form}), tc.want)
		})
	}
}

// TestImageRecords checks that a signature is valid for one Image and one record.
func TestImageRecords(t *testing.T) {
	const record = `{"revisions":[{"file":"f.x.qcow2","files":{"nfs":{"storage":"nfs"}}}]}`
	records, own := Records{Key: []byte("0123456789abcdef0123456789abcdef"), Config: "x"}, imageOf(nil)
	signature := records.SignImage(own, record)
	other := imageOf(nil)
	other.UID = "2"
	cases := map[string]struct {
		reason            string
		of                *namespaced.Image
		by                Records
		record, signature string
		want              bool
	}{
		"Signed": {reason: "What the provider has written holds.", of: own, by: records, record: record, signature: signature, want: true},
		"Changed": {
			reason: "A record that was changed since does not hold.",
			of:     own, by: records, record: strings.Replace(record, "nfs", "ceph", 2), signature: signature,
		},
		"OtherUID": {reason: "The signature of another Image does not hold.", of: other, by: records, record: record, signature: signature},
		"OtherSite": {
			reason: "The signature of another configuration does not hold.",
			of:     own, by: Records{Key: records.Key, Config: "y"}, record: record, signature: signature,
		},
		"Unsigned": {reason: "A record without a signature does not hold.", of: own, by: records, record: record},
		"NoKey":    {reason: "Without a key nothing holds.", of: own, by: Records{Config: "x"}, record: record, signature: signature},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			i := tc.of.DeepCopy()
			meta.AddAnnotations(i, map[string]string{AnnotationImage: tc.record, AnnotationImageSignature: tc.signature})
			if _, got := tc.by.Image(i); got != tc.want {
				t.Errorf("\n%s\nwant %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
