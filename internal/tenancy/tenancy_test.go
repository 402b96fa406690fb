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

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/proxmox/guarded"
)

const uuid = "5a7a5f2c-0000-4000-8000-000000000001"

// tenants returns the tenants of a cluster: two teams, one that is selected only by its pool, and the operators.
func tenants() []v1alpha1.ProviderTenant {
	return []v1alpha1.ProviderTenant{
		{
			Name: "a", Namespaces: []string{"a"}, VMIDRange: &v1alpha1.VMIDRange{Min: 200, Max: 299}, Pools: []string{"a", "a/test"},
			Tags: []string{"a"}, Nodes: []string{"pve1"}, Storages: []string{"ceph"}, Templates: []string{"base-*"}, Images: []string{"local:iso/debian-*.iso"},
			Bridges: []v1alpha1.TenantBridge{{Name: "vmbr0"}, {Name: "vmbr1", VLANs: []v1alpha1.VLANRange{{Min: 10, Max: 19}, {Min: 30, Max: 30}}}},
			Allow:   &v1alpha1.TenantPermissions{Passthrough: []string{"gpu", "share"}, ExtraConfig: []string{"keyboard", "vmstatestorage"}},
		},
		{Name: "b", Namespaces: []string{"b"}, Pools: []string{"b"}, Tags: []string{"b"}},
		{
			Name: "c", Namespaces: []string{"c"}, Pools: []string{"c"}, Storages: []string{"ceph"},
			Allow: &v1alpha1.TenantPermissions{HighAvailability: new(true), DestroyDisks: new(true), Adopt: []string{"old"}},
		},
		{Name: "d", Namespaces: []string{"d"}, VMIDRange: &v1alpha1.VMIDRange{Min: 500, Max: 599}},
		{
			Name: "e", Namespaces: []string{"e"}, VMIDRange: &v1alpha1.VMIDRange{Min: 600, Max: 699}, Pools: []string{"e"},
			Bridges: []v1alpha1.TenantBridge{{Name: "vmbr2", VLANs: []v1alpha1.VLANRange{{Min: 20, Max: 20}}}},
			IPPools: []string{"InClusterIPPool/lan-*", "*.ipam.example.org/dmz-*"}, Allow: &v1alpha1.TenantPermissions{Adopt: []string{"handed"}},
		},
		{
			Name: "f", Namespaces: []string{"f"}, VMIDRange: &v1alpha1.VMIDRange{Min: 800, Max: 899}, Pools: []string{"f"}, Storages: []string{"nfs"},
			Nodes:      []string{"pve1"},
			ImageHosts: []string{"images.example.org", "local.example.org:8443", "*.mirror.example.org", "192.0.2.7", "[2001:db8::7]", "links.example.com"},
			Allow:      &v1alpha1.TenantPermissions{RootOptions: new(true), AdoptTags: []string{"handover"}, Passthrough: []string{"gpu"}},
		},
		{Name: "operators", Namespaces: []string{"ops"}, Unrestricted: new(true)},
	}
}

func tenant(t *testing.T, namespace string) *Tenant {
	t.Helper()
	of, err := Of(tenants(), Subject{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	return of
}

func TestOf(t *testing.T) {
	both := append(tenants(), v1alpha1.ProviderTenant{Name: "also", Namespaces: []string{"a"}})
	byMissing := append(tenants(), v1alpha1.ProviderTenant{Name: "rest", NamespaceSelector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpDoesNotExist}},
	}})
	cases := map[string]struct {
		reason  string
		tenants []v1alpha1.ProviderTenant
		subject Subject
		want    string // The name, "free" for one that may do everything, or the reason why there is none.
	}{
		"None":         {reason: "Without tenants nothing is confined.", subject: Subject{Namespace: "x"}, want: "free"},
		"Namespace":    {reason: "A namespace tells the tenant.", tenants: tenants(), subject: Subject{Namespace: "b"}, want: "b"},
		"Unrestricted": {reason: "Operators are not confined.", tenants: tenants(), subject: Subject{Namespace: "ops"}, want: "free"},
		"NoTenant": {
			reason: "A resource of no tenant may do nothing.", tenants: tenants(), subject: Subject{Namespace: "x"},
			want: `namespace "x" belongs to no tenant`,
		},
		"Two": {
			reason: "What is two tenants' may do nothing.", tenants: both, subject: Subject{Namespace: "a"},
			want: "several tenants of the provider configuration, a and also",
		},
		"Unlabelled": {
			reason:  "A label that is missing may tell the tenant.",
			tenants: byMissing, subject: Subject{Namespace: "x", NamespaceLabels: map[string]string{}}, want: "rest",
		},
		"UnknownLabels": {
			reason: "Labels that are not known tell nothing.", tenants: byMissing, subject: Subject{Namespace: "x"},
			want: `namespace "x" belongs to no tenant`,
		},
		"NoNamespace": {
			reason: "A cluster-scoped resource without a claim is of no tenant.", tenants: tenants(), subject: Subject{Labels: map[string]string{}},
			want: "this resource belongs to no tenant",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			of, err := Of(tc.tenants, tc.subject)
			got := "free"
			if of != nil {
				got = of.Name + of.denied
			}
			if err != nil || !strings.Contains(got, tc.want) {
				t.Errorf("\n%s\nwant %q, got %q, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	cases := map[string]struct {
		reason      string
		name, value string
		want        string // What is refused; empty if nothing is.
	}{
		"Plain":          {reason: "Most options stay within the VM.", name: "cores", value: "4"},
		"Unknown":        {reason: "What is not known is refused.", name: "brand-new", value: "1", want: "option brand-new"},
		"Removed":        {reason: "An option may be taken away.", name: "args"},
		"Args":           {reason: "Arguments of QEMU reach the node.", name: "args", value: "-x", want: "option args"},
		"Allowed":        {reason: "What is allowed is not refused.", name: "keyboard", value: "de"},
		"AllowedStorage": {reason: "The storage of an allowed option counts all the same.", name: "vmstatestorage", value: "nfs", want: "on storage nfs"},
		"New":            {reason: "A disk may be made on an own storage.", name: "scsi0", value: "ceph:32,discard=on"},
		"NewElsewhere":   {reason: "A disk may be made on no storage but the tenant's own.", name: "scsi0", value: "nfs:32", want: "scsi0 on storage nfs"},
		"CloudInit":      {reason: "A drive for cloud-init may be made on an own storage.", name: "ide2", value: "ceph:cloudinit"},
		"Own":            {reason: "A disk of the VM is its own.", name: "scsi1", value: "ceph:vm-205-disk-1,size=1G"},
		"Linked":         {reason: "A disk of a linked clone is the VM's own.", name: "scsi1", value: "ceph:base-9000-disk-0/vm-205-disk-0,size=1G"},
		"LinkedFile":     {reason: "A linked clone may be a file.", name: "scsi1", value: "ceph:9000/base-9000-disk-0.qcow2/205/vm-205-disk-0.qcow2"},
		"Others":         {reason: "A disk of another VM is not.", name: "scsi1", value: "ceph:vm-105-disk-0", want: "volume of another VM"},
		"OthersBase": {
			reason: "The disk of a template is another VM's.", name: "scsi1", value: "ceph:205/vm-205-disk-0/base-9000-disk-0",
			want: "volume of another VM",
		},
		"Misplaced": {
			reason: "Proxmox VE holds a file for the VM of its folder, whatever its name.", name: "scsi1", value: "ceph:305/vm-205-disk-0.qcow2",
			want: "volume of another VM",
		},
		"MisplacedClone": {
			reason: "A linked clone whose file is in another VM's folder is held for that VM.",
			name:   "scsi1", value: "ceph:9000/base-9000-disk-0.qcow2/305/vm-205-disk-0.qcow2", want: "volume of another VM",
		},
		"InFolder": {reason: "A file in the folder of its VM is its own.", name: "scsi1", value: "ceph:205/vm-205-disk-0.qcow2"},
		"Nameless": {reason: "A volume whose name tells no owner is refused.", name: "scsi1", value: "ceph:data", want: "volume of another VM"},
		"Path":     {reason: "A device of the node is none.", name: "scsi1", value: "/dev/sdb", want: "/dev/sdb of the node"},
		"Import": {
			reason: "An image of others is refused.", name: "scsi1", value: "ceph:0,import-from=nfs:import/x.qcow2",
			want: "scsi1 is nfs:import/x.qcow2",
		},
		"ImportDisk": {
			reason: "A disk of others is refused as what a disk is imported from.",
			name:   "scsi1", value: "ceph:0,import-from=ceph:vm-105-disk-0", want: "scsi1 is ceph:vm-105-disk-0",
		},
		"ISO": {reason: "An image that is allowed may be put in.", name: "ide0", value: "local:iso/debian-13.iso,media=cdrom"},
		"ISOFolder": {
			reason: "Patterns do not reach into folders.", name: "ide0", value: "local:iso/debian-/../x.iso,media=cdrom",
			want: "ide0 is local",
		},
		"ForeignSeed": {
			reason: "A cloud-init image of another VM has its secrets.", name: "ide0", value: "ceph:iso/cidata-105-" + uuid + "-0123456789abcdef.iso,media=cdrom",
			want: "volume of another VM",
		},
		"Empty":          {reason: "A drive may be empty.", name: "ide0", value: "none,media=cdrom"},
		"Physical":       {reason: "The node's own is not the tenant's.", name: "ide0", value: "cdrom,media=cdrom", want: "cdrom of the node"},
		"Passthrough":    {reason: "SCSI commands that are passed through are refused.", name: "scsi1", value: "ceph:4,scsiblock=1", want: "SCSI commands"},
		"Bridge":         {reason: "A bridge without VLANs is whole.", name: "net0", value: "virtio,bridge=vmbr0"},
		"Trunk":          {reason: "A network may have all VLANs of its bridge.", name: "net0", value: "virtio,bridge=vmbr0,trunks=1-4094"},
		"OtherBridge":    {reason: "Another bridge is not.", name: "net0", value: "virtio,bridge=vmbr9", want: "on bridge vmbr9"},
		"NoBridge":       {reason: "The network without a bridge is that of the node.", name: "net0", value: "virtio=BC:24:11:00:00:01", want: "no bridge"},
		"VLAN":           {reason: "A VLAN of the range will do.", name: "net0", value: "virtio,bridge=vmbr1,tag=30"},
		"OtherVLAN":      {reason: "Another one will not.", name: "net0", value: "virtio,bridge=vmbr1,tag=20", want: "VLAN 20"},
		"Untagged":       {reason: "One without a tag hears all of them.", name: "net0", value: "virtio,bridge=vmbr1", want: "without a VLAN"},
		"Trunks":         {reason: "Trunks count one by one.", name: "net0", value: "virtio,bridge=vmbr1,tag=10,trunks=11;12-25", want: "VLAN 12-25"},
		"TrunksInside":   {reason: "Trunks within the range are fine.", name: "net0", value: "virtio,bridge=vmbr1,tag=10,trunks=11;12-19"},
		"Mapping":        {reason: "A device of an own mapping.", name: "hostpci0", value: "mapping=gpu,pcie=1"},
		"OtherMapping":   {reason: "A mapping of another tenant is refused.", name: "hostpci0", value: "mapping=nic", want: "of mapping nic"},
		"Host":           {reason: "A device of the node may not be named by its address.", name: "hostpci0", value: "0000:01:00.0", want: "device of the node"},
		"ROM":            {reason: "A file of the node is no ROM.", name: "hostpci0", value: "mapping=gpu,romfile=x.bin", want: "device of the node"},
		"SPICE":          {reason: "A port for the console is the VM's.", name: "usb0", value: "host=spice"},
		"USB":            {reason: "A device is not.", name: "usb0", value: "host=046d:c52b", want: "device of the node"},
		"Directory":      {reason: "A directory that is allowed.", name: "virtiofs0", value: "dirid=share"},
		"OtherDirectory": {reason: "A directory of another tenant is refused.", name: "virtiofs0", value: "etc", want: "of mapping etc"},
		"Socket":         {reason: "A serial port may be a socket.", name: "serial0", value: "socket"},
		"Serial":         {reason: "A serial port may be no device of the node.", name: "serial0", value: "/dev/ttyS0", want: "option serial0"},
		"HardwareRNG":    {reason: "The node's generator is its own.", name: "rng0", value: "source=/dev/hwrng", want: "option rng0"},
		"HostNodes":      {reason: "The node's memory is not the tenant's to choose.", name: "numa0", value: "cpus=0,hostnodes=1", want: "option numa0"},
		"Tags":           {reason: "Own tags and others.", name: "tags", value: "a;web"},
		"TagsCase":       {reason: "Case does not count in tags.", name: "tags", value: "B", want: "tag b"},
		"OthersTags":     {reason: "Tags of other tenants' VMs say that a VM is theirs.", name: "tags", value: "web;b", want: "tag b"},
		"Startup":        {reason: "The VMs of others wait for a delay of a start.", name: "startup", value: "order=0,up=9", want: "option startup"},
		"NoStartup":      {reason: "What has none is no harm.", name: "startup"},
		"Hookscript":     {reason: "A script runs on the node.", name: "hookscript", value: "local:snippets/x.pl", want: "option hookscript"},
		"UnreadableDisk": {reason: "What cannot be read is refused.", name: "scsi0", value: ",", want: "cannot be read"},
		"UnreadableNIC":  {reason: "What cannot be read is refused.", name: "net0", value: "bridge=vmbr0", want: "cannot be read"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tenant(t, "a").CheckOptions(205, map[string]string{tc.name: tc.value})
			compare(t, tc.reason, err, tc.want)
		})
	}
}

// TestOptionsOfNoVM checks that a VM that is not known yet has no volumes.
func TestOptionsOfNoVM(t *testing.T) {
	for _, value := range []string{"ceph:data", "ceph:305/vm-205-disk-0.qcow2", "ceph:vm-205-disk-0"} {
		compare(t, value, tenant(t, "a").CheckOptions(0, map[string]string{"scsi1": value}), "volume of another VM")
		compare(t, value, tenant(t, "a").CheckOptions(0, map[string]string{"scsi1": "ceph:0,import-from=" + value}), "scsi1 is "+value)
	}
}

// compare compares an error with the expected message.
func compare(t *testing.T, reason string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("\n%s\nwant %q, got %v", reason, want, err)
	case err != nil && !IsRefusal(err):
		t.Errorf("%v is no refusal", err)
	}
}

func TestWithVNets(t *testing.T) {
	of := tenant(t, "a")
	of.SDNZones = []string{"za"}
	with := of.WithVNets([]proxmox.VNet{{Name: "vn1", Zone: "za"}, {Name: "vn2", Zone: "zb"}, {Name: "vmbr1", Zone: "za"}})
	cases := map[string]struct{ reason, bridge, want string }{
		"Zone":   {reason: "A VNet of its zone with any VLAN.", bridge: "vn1,tag=4000"},
		"Other":  {reason: "None of another zone.", bridge: "vn2", want: "on bridge vn2"},
		"Listed": {reason: "One that is listed keeps its VLANs.", bridge: "vmbr1,tag=20", want: "in VLAN 20 of bridge vmbr1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			compare(t, tc.reason, with.CheckOptions(205, map[string]string{"net0": "virtio,bridge=" + tc.bridge}), tc.want)
		})
	}
	if err := of.CheckOptions(205, map[string]string{"net0": "virtio,bridge=vn1"}); err == nil {
		t.Error("the tenant itself was changed")
	}
}

// TestSpec checks a namespaced Machine, and one of a claim in the same namespace.
func TestSpec(t *testing.T) {
	pool := func(kind, name string, namespace *string) *v1alpha1.MachineParameters {
		return &v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{{Name: "lan", IPConfig: &v1alpha1.MachineIPConfig{
			PoolRef: &v1alpha1.MachineIPPoolReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: kind, Name: name, Namespace: namespace},
		}}}}
	}
	of := func(group, kind, name string) *v1alpha1.MachineParameters {
		p := pool(kind, name, nil)
		p.Networks[0].IPConfig.PoolRef.APIGroup = group
		return p
	}
	by := func(name string, vlan int32) *v1alpha1.MachineParameters {
		n := v1alpha1.MachineNetwork{Name: "lan", NetworkRef: &v1alpha1.MachineNetworkReference{Name: &name}}
		if vlan != 0 {
			n.VLAN = &vlan
		}
		return &v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{n}}
	}
	six := pool("InClusterIPPool", "office", nil)
	six.Networks[0].IPConfig.PoolRef, six.Networks[0].IPConfig.PoolRef6 = nil, six.Networks[0].IPConfig.PoolRef
	cases := map[string]struct {
		reason       string
		spec         *v1alpha1.MachineParameters
		externalName string
		claimed      bool
		want         string
	}{
		"Pool": {reason: "A pool of addresses that is listed.", spec: pool("InClusterIPPool", "lan-1", nil)},
		"OtherPool": {
			reason: "A pool of addresses that is not listed is refused.",
			spec:   pool("InClusterIPPool", "office", nil), want: "(ipPools): networks[lan].ipConfig.poolRef InClusterIPPool/office",
		},
		"PoolKind": {reason: "A pool of another kind is refused.", spec: pool("GlobalInClusterIPPool", "lan-1", nil), want: "GlobalInClusterIPPool/lan-1"},
		"PoolGroup": {
			reason: "A pool of another API group is refused.", spec: of("ipam.example.org", "InClusterIPPool", "lan-1"),
			want: "(ipPools): networks[lan].ipConfig.poolRef InClusterIPPool.ipam.example.org/lan-1",
		},
		"PoolOfGroup": {reason: "One of an API group that is listed.", spec: of("ipam.example.org", "Pool", "dmz-1")},
		"PoolLonger":  {reason: "Not one whose group only ends so.", spec: of("x.ipam.example.org", "Pool", "dmz-1"), want: "Pool.x.ipam.example.org/dmz-1"},
		"PoolNoGroup": {
			reason: "A pool of the default API group is refused where only the same name of another group is listed.",
			spec:   pool("Pool", "dmz-1", nil), want: "(ipPools): networks[lan].ipConfig.poolRef Pool/dmz-1",
		},
		"Pool6": {
			reason: "A pool of IPv6 addresses is judged as one of IPv4.",
			spec:   six, want: "(ipPools): networks[lan].ipConfig.poolRef6 InClusterIPPool/office",
		},
		"PoolHere": {reason: "A claim is made in its claim's namespace.", spec: pool("InClusterIPPool", "lan-1", new("e")), claimed: true},
		"PoolThere": {
			reason: "A claim may not be made in the namespace of others.", spec: pool("InClusterIPPool", "lan-1", new("b")), claimed: true,
			want: `(namespaces): networks[lan].ipConfig.poolRef of namespace "b"`,
		},
		"PoolNowhere": {
			reason: "A claim may not be made without a namespace.", spec: pool("InClusterIPPool", "lan-1", nil), claimed: true,
			want: `(namespaces): networks[lan].ipConfig.poolRef of namespace ""`,
		},
		"Network":      {reason: "A bridge that is listed may be named by its NodeNetworks.", spec: by("vmbr2", 20)},
		"NetworkOther": {reason: "A bridge of a NodeNetwork that is not listed is refused.", spec: by("vmbr0", 0), want: "(bridges): networks[lan].networkRef vmbr0"},
		"NetworkVLAN": {
			reason: "A VLAN that is not listed for the bridge is refused.",
			spec:   by("vmbr2", 21), want: "(bridges): networks[lan] in VLAN 21 of bridge vmbr2",
		},
		"Image": {
			reason: "What an Image has is not known yet.",
			spec:   &v1alpha1.MachineParameters{Image: &v1alpha1.MachineImage{Ref: &v1alpha1.Reference{Name: "x"}}},
		},
		"Template": {reason: "What the template of an Image has is not known yet.", spec: &v1alpha1.MachineParameters{TemplateRef: &v1alpha1.Reference{Name: "x"}}},
		"ImageURL": {
			reason: "No node fetches what a URL leads to.", spec: &v1alpha1.MachineParameters{Image: &v1alpha1.MachineImage{URL: new("https://example.org/x.qcow2")}},
			want: "(kinds): an Image, which image.url makes",
		},
		"ImageVolume": {
			reason: "A file is told by itself.", spec: &v1alpha1.MachineParameters{Image: &v1alpha1.MachineImage{Volume: "local:import/x.qcow2"}},
			want: "(images): image.volume is local:import/x.qcow2",
		},
		"ImportDisk": {
			reason: "A disk of another VM is no image.", spec: &v1alpha1.MachineParameters{Disks: []v1alpha1.MachineDisk{
				{Name: "data", ImportFrom: new("ceph:vm-101-disk-0")},
			}}, want: "(images): disks[data].importFrom is ceph:vm-101-disk-0",
		},
		"NetworkSome": {reason: "What a selector comes to is not known yet.", spec: &v1alpha1.MachineParameters{Networks: []v1alpha1.MachineNetwork{
			{Name: "lan", NetworkRef: &v1alpha1.MachineNetworkReference{Selector: &v1alpha1.NodeNetworkSelector{MatchLabels: map[string]string{"a": "b"}}}},
		}}},
		"Adopted":      {reason: "An adopted VM stays in its pool.", spec: &v1alpha1.MachineParameters{Pool: new("handed")}, externalName: "706"},
		"AdoptedMoves": {reason: "One of the range may be moved.", spec: &v1alpha1.MachineParameters{Pool: new("e")}, externalName: "606"},
		"AdoptedLost": {
			reason: "A VM with another VMID would be of no tenant.", spec: &v1alpha1.MachineParameters{Pool: new("e")}, externalName: "706",
			want: "(vmidRange): VMID 706 is not within 600 and 699",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var mg resource.Managed = &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "e"}, Spec: namespaced.MachineSpec{ForProvider: *tc.spec}}
			subject := Subject{Namespace: "e"}
			if tc.claimed {
				mg, subject.Labels = &cluster.Machine{Spec: cluster.MachineSpec{ForProvider: *tc.spec}}, map[string]string{}
			}
			meta.SetExternalName(mg, tc.externalName)
			of, err := Of(tenants(), subject)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, tc.reason, of.CheckSpec(mg), tc.want)
		})
	}
}

// TestConnectionSecrets checks the namespaces of the connection Secrets of all kinds that tenants may have.
func TestConnectionSecrets(t *testing.T) {
	all := tenants()
	all[4].ConnectionSecretNamespaces = []string{"kept"}
	cases := map[string]struct {
		reason, namespace string
		selected          bool // The resource is selected by its labels.
		want              string
	}{
		"Claim":    {reason: "The namespace of the claim.", namespace: "e"},
		"Listed":   {reason: "The namespace where Compositions keep them is one that is listed.", namespace: "kept"},
		"Others":   {reason: "Another team's namespace is refused.", namespace: "b", want: `(namespaces): writeConnectionSecretToRef of namespace "b"`},
		"System":   {reason: "The namespace of the operators is refused.", namespace: "ops", want: `of namespace "ops"`},
		"Nowhere":  {reason: "An empty namespace is of no tenant.", want: `of namespace ""`},
		"Selected": {reason: "One that its labels tell has no namespace of a claim.", namespace: "f", selected: true, want: `of namespace "f"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			subject := Subject{Namespace: "e", Labels: map[string]string{}}
			if tc.selected {
				all[4].ResourceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "e"}}
				subject = Subject{Labels: map[string]string{"team": "e"}}
			}
			of, err := Of(all, subject)
			if err != nil {
				t.Fatal(err)
			}
			for _, mg := range []interface {
				resource.Managed
				SetWriteConnectionSecretToReference(r *xpv2.SecretReference)
			}{&cluster.Machine{}, &cluster.Snapshot{}, &cluster.Backup{}, &cluster.Volume{}, &cluster.SnapshotPolicy{}} {
				compare(t, "Nothing is kept.", of.CheckSpec(mg), "")
				mg.SetWriteConnectionSecretToReference(&xpv2.SecretReference{Namespace: tc.namespace, Name: "login"})
				compare(t, tc.reason, of.CheckSpec(mg), tc.want)
			}
		})
	}
	of := tenant(t, "e")
	m := &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "e"}}
	m.SetWriteConnectionSecretToReference(&xpv2.LocalSecretReference{Name: "login"})
	compare(t, "A namespaced one has it in its own namespace.", of.CheckSpec(m), "")
}

// TestAll checks that the spec of a Machine and its VM are refused together.
func TestAll(t *testing.T) {
	cases := map[string]struct {
		reason, of string
		guest      proxmox.Guest
		config     map[string]string
		want       []string
	}{
		"Fine": {
			reason: "What keeps the rules is not refused.", of: "a", guest: proxmox.Guest{VMID: 205, Pool: "a", Node: "pve1"},
			config: map[string]string{"net0": "virtio,bridge=vmbr0", "scsi0": "ceph:vm-205-disk-0"},
		},
		"Pool": {reason: "A VM elsewhere is not looked into.", of: "a", guest: proxmox.Guest{VMID: 205, Pool: "b", Node: "pve9"}, want: []string{
			`tenant "a" may not (pools and vmidRange): VM 205, which is not the tenant's`,
		}},
		"VM": {
			reason: "Where it is and what it has.", of: "a", guest: proxmox.Guest{VMID: 205, Pool: "a", Node: "pve9"},
			config: map[string]string{"net0": "virtio,bridge=vmbr9", "scsi0": "ceph:vm-305-disk-0"},
			want: []string{
				`tenant "a" may not (nodes): no VM on node pve9; (bridges): net0 on bridge vmbr9; ` +
					`(storages): scsi0 is a volume of another VM, ceph:vm-305-disk-0`,
			},
		},
		"Options": {
			reason: "Options that reach out of the VM count like devices, and what PVE writes of its state does not.", of: "a",
			guest: proxmox.Guest{VMID: 205, Pool: "a", Node: "pve1"},
			config: map[string]string{
				"args": "-device vfio-pci", "hookscript": "local:snippets/x", "serial0": "/dev/ttyS0", "rng0": "source=/dev/hwrng", "tags": "b;c", "lock": "backup",
				"parent": "s1", "vmgenid": "1", "runningmachine": "q35", "running-nets-host-mtu": "net0=1500", "serial1": "socket", "memory": "512",
			},
			want: []string{
				`tenant "a" may not (allow.extraConfig): option args; (allow.extraConfig): option hookscript; ` +
					`(allow.extraConfig): option rng0; (allow.extraConfig): option serial0`,
			},
		},
		"NoTenant": {reason: "A resource of no tenant is told so once.", of: "x", guest: proxmox.Guest{VMID: 205}, want: []string{
			`namespace "x" belongs to no tenant of the provider configuration`,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tenant(t, tc.of).CheckAll(&namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: tc.of}}, tc.guest, tc.config)
			var got []string
			if err != nil {
				got = []string{err.Error()}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSees(t *testing.T) {
	cases := map[string]struct {
		reason, of string
		guest      proxmox.Guest
		sees, has  bool
	}{
		"Own": {
			reason: "What is in range and pool is the tenant's.", of: "a", guest: proxmox.Guest{VMID: 200, Pool: "a"}, sees: true, has: true,
		},
		"OwnSubpool": {reason: "Any of its pools will do.", of: "a", guest: proxmox.Guest{VMID: 200, Pool: "a/test"}, sees: true, has: true},
		"OtherPool":  {reason: "The range alone is not enough.", of: "a", guest: proxmox.Guest{VMID: 200, Pool: "b"}},
		"NoPool":     {reason: "A VM without a pool is not the tenant's, though its VMID is in the range.", of: "a", guest: proxmox.Guest{VMID: 200}},
		"OutOfRange": {reason: "A VM out of the range is not the tenant's, though it is in the pool.", of: "a", guest: proxmox.Guest{VMID: 300, Pool: "a"}},
		"Template": {
			reason: "A template for all may be cloned, not changed.", of: "a", guest: proxmox.Guest{VMID: 9000, Name: "base-1", Template: true}, sees: true,
		},
		"AdoptableByOthers": {
			reason: "What another tenant may adopt may be its work.", of: "a", guest: proxmox.Guest{VMID: 9000, Name: "base-1", Template: true, Pool: "old"},
		},
		"VM":            {reason: "A VM of such a name may not.", of: "a", guest: proxmox.Guest{VMID: 9000, Name: "base-1"}},
		"OtherTemplate": {reason: "A template of another name may not.", of: "a", guest: proxmox.Guest{VMID: 9000, Name: "office", Template: true}},
		"Theirs": {
			reason: "A template in the pool of another tenant may not be cloned.", of: "a", guest: proxmox.Guest{VMID: 9000, Name: "base-1", Template: true, Pool: "b"},
		},
		"PoolOnly":  {reason: "A tenant may be told by its pool.", of: "b", guest: proxmox.Guest{VMID: 9, Pool: "b"}, sees: true, has: true},
		"Adopted":   {reason: "What was adopted stays.", of: "c", guest: proxmox.Guest{VMID: 9, Pool: "old"}, sees: true, has: true},
		"RangeOnly": {reason: "A range of VMIDs alone may tell the tenant.", of: "d", guest: proxmox.Guest{VMID: 505}, sees: true, has: true},
		"RangeInPool": {
			reason: "A VM of its range in a pool of no tenant is the tenant's.", of: "d", guest: proxmox.Guest{VMID: 505, Pool: "nightly"}, sees: true, has: true,
		},
		"RangeTheirPool": {reason: "Not one in another tenant's pool.", of: "d", guest: proxmox.Guest{VMID: 505, Pool: "b"}},
		"RangeAdoptable": {
			reason: "A VM of its range in a pool that another tenant may adopt from may be that one's.", of: "d", guest: proxmox.Guest{VMID: 505, Pool: "old"},
		},
		"NoTenant": {reason: "A namespace of no tenant sees no VM.", of: "x", guest: proxmox.Guest{VMID: 200, Pool: "a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			of := tenant(t, tc.of)
			if sees, has := of.MaySee(tc.guest), of.CheckGuest(tc.guest) == nil; sees != tc.sees || has != tc.has {
				t.Errorf("\n%s\nsees: want %t, got %t; has: want %t, got %t", tc.reason, tc.sees, sees, tc.has, has)
			}
		})
	}
}

// TestWithin checks that the message names the tenant whose rule finds nothing.
func TestWithin(t *testing.T) {
	if got := AmongAllowed(tenant(t, "a"), "templates"); got != ` among what tenant "a" may have (templates)` {
		t.Errorf("want the tenant and the rule, got %q", got)
	}
	for _, of := range []string{"ops", "x"} {
		if got := AmongAllowed(tenant(t, of), "templates"); got != "" {
			t.Errorf("want nothing of a resource of no tenant, got %q", got)
		}
	}
}

// inCluster returns the VMs of a cluster. VM 207 was taken out of its pool a moment ago.
func inCluster(vmid int, fresh bool) (proxmox.Guest, error) {
	all := map[int]proxmox.Guest{
		205: {VMID: 205, Pool: "a"}, 206: {VMID: 206, Pool: "a"}, 305: {VMID: 305, Pool: "b"}, 405: {VMID: 405, Pool: "c"}, 406: {VMID: 406, Pool: "c"},
		606: {VMID: 606, Pool: "handed"}, 706: {VMID: 706, Pool: "handed"},
		9000: {VMID: 9000, Name: "base-1", Template: true}, 9001: {VMID: 9001, Name: "base-2", Template: true, Pool: "b"},
	}
	if vmid == 299 {
		return proxmox.Guest{}, errors.New("the list cannot be read")
	}
	if !fresh {
		all[207] = proxmox.Guest{VMID: 207, Pool: "a"}
	}
	if g, ok := all[vmid]; ok {
		return g, nil
	}
	return proxmox.Guest{VMID: vmid}, nil
}

func TestGuard(t *testing.T) {
	const (
		vm      = "/nodes/{node}/qemu/{vmid}"
		content = "/nodes/{node}/storage/{storage}/content/{volume}"
		rules   = "/cluster/ha/rules"
		dump    = "/nodes/{node}/vzdump"
	)
	type form = map[string]string
	backup := func(vmid string) []string {
		return []string{"pve1", "nfs", "nfs:backup/vzdump-qemu-" + vmid + "-2026_11_22-17_00_00.vma.zst"}
	}
	at := func(vmid string, more ...string) []string { return append([]string{"pve1", vmid}, more...) }
	cases := map[string]struct {
		reason, of   string
		method, path string
		args         []string
		form         form
		resources    []string
		recorded     int
		holder       int    // The VM that has the disk of a Volume, according to the record.
		backup       string // The VMID of the backup that is the resource's.
		archive      string // The backup that is proven to be of a VM of the tenant.
		deleted      bool
		want         string
	}{
		"Start":           {of: "a", method: "POST", path: vm + "/status/start", args: at("205")},
		"StartTheirs":     {of: "a", method: "POST", path: vm + "/status/start", args: at("305"), want: "VMID 305"},
		"StopPooled":      {of: "b", method: "POST", path: vm + "/status/stop", args: at("205"), want: "VM 205, which is not the tenant's"},
		"Destroy":         {of: "b", method: "DELETE", path: vm, args: at("405"), want: "VM 405"},
		"DestroyUnlisted": {of: "b", method: "DELETE", path: vm, args: at("999"), want: "VM 999"},
		"Configure": {
			of: "a", method: "PUT", path: vm + "/config", args: at("205"), form: form{"cores": "2", "delete": "args", "digest": "x"},
		},
		"ConfigureBridge": {
			of: "a", method: "POST", path: vm + "/config", args: at("205"), form: form{"net0": "virtio,bridge=vmbr9"}, want: "vmbr9",
		},
		"DestroyDisk": {
			of: "a", method: "POST", path: vm + "/config", args: at("205"), form: form{"delete": "scsi1", "force": "1"},
			want: "allow.destroyDisks",
		},
		"MayDestroyDisk": {of: "c", method: "PUT", path: vm + "/config", args: at("405"), form: form{"delete": "unused0", "force": "1"}},
		"Detach":         {of: "a", method: "PUT", path: vm + "/config", args: at("205"), form: form{"delete": "scsi1"}},
		"Create": {
			of: "a", method: "POST", path: "/nodes/{node}/qemu", args: []string{"pve1"},
			form: form{"vmid": "210", "pool": "a", "scsi0": "ceph:4"},
		},
		"CreateElsewhere": {
			of: "a", method: "POST", path: "/nodes/{node}/qemu", args: []string{"pve2"}, form: form{"vmid": "210", "pool": "a"},
			want: "node pve2",
		},
		"CreateNoPool": {
			of: "a", method: "POST", path: "/nodes/{node}/qemu", args: []string{"pve1"}, form: form{"vmid": "210"}, want: "in no pool",
		},
		"CreateVMID": {
			of: "a", method: "POST", path: "/nodes/{node}/qemu", args: []string{"pve1"}, form: form{"vmid": "310", "pool": "a"},
			want: "VMID 310",
		},
		"Restore": {
			of: "a", method: "POST", path: "/nodes/{node}/qemu", args: []string{"pve1"}, form: form{"vmid": "210", "pool": "a", "archive": "x"},
			want: "kinds",
		},
		"RestoreProven": {
			of: "a", method: "POST", path: "/nodes/{node}/qemu", args: []string{"pve1"}, archive: "x",
			form: form{"vmid": "210", "pool": "a", "archive": "x", "storage": "ceph", "unique": "1", "name": "b", "template": "0"},
		},
		"RestoreOther": {
			of: "a", method: "POST", path: "/nodes/{node}/qemu", args: []string{"pve1"}, archive: "x", form: form{"vmid": "210", "pool": "a", "archive": "y"},
			want: "backup y, which is not proven",
		},
		"RestoreElsewhere": {
			of: "a", method: "POST", path: "/nodes/{node}/qemu", args: []string{"pve2"}, archive: "x",
			form: form{"vmid": "310", "pool": "b", "archive": "x", "storage": "nfs", "args": "-x"},
			want: "tenant \"a\" may not (nodes): no VM on node pve2; (allow.extraConfig): option args; (storages): the disks of a backup on storage nfs; " +
				"(vmidRange): VMID 310 is not within 200 and 299; (pools): a VM in pool b",
		},
		"RestoreOver": {
			of: "a", method: "POST", path: "/nodes/{node}/qemu", args: []string{"pve1"}, archive: "x",
			form: form{"vmid": "205", "force": "1", "archive": "x", "start": "1"},
		},
		"RestoreOverTheirs": {
			reason: "An own backup destroys the disks of no other VM.", of: "b", method: "POST", path: "/nodes/{node}/qemu", args: []string{"pve1"}, archive: "x",
			form: form{"vmid": "405", "force": "1", "archive": "x"}, want: "VM 405, which is not the tenant's",
		},
		"RestoreOverNothing": {
			of: "a", method: "POST", path: "/nodes/{node}/qemu", args: []string{"pve1"}, archive: "x", form: form{"vmid": "205", "force": "1"},
			want: "backup , which is not proven",
		},
		"Clone": {of: "a", method: "POST", path: vm + "/clone", args: at("9000"), form: form{"newid": "210", "pool": "a"}},
		"CloneTheirs": {
			of: "a", method: "POST", path: vm + "/clone", args: at("9001"), form: form{"newid": "210", "pool": "a"},
			want: "a clone of VM 9001",
		},
		"CloneVM": {
			of: "a", method: "POST", path: vm + "/clone", args: at("305"), form: form{"newid": "210", "pool": "a"},
			want: "a clone of VM 305",
		},
		"CloneStorage": {
			of: "a", method: "POST", path: vm + "/clone", args: at("9000"), form: form{"newid": "210", "pool": "a", "storage": "nfs"},
			want: "storage nfs",
		},
		"CloneNode": {
			of: "a", method: "POST", path: vm + "/clone", args: at("9000"), form: form{"newid": "210", "pool": "a", "target": "pve3"},
			want: "node pve3",
		},
		"ClonePool": {of: "a", method: "POST", path: vm + "/clone", args: at("9000"), form: form{"newid": "210", "pool": "b"}, want: "pool b"},
		"Move":      {of: "a", method: "POST", path: vm + "/move_disk", args: at("205"), form: form{"disk": "scsi0", "storage": "ceph"}},
		"MoveElsewhere": {
			of: "a", method: "POST", path: vm + "/move_disk", args: at("205"), form: form{"disk": "scsi0", "storage": "nfs"},
			want: "storage nfs",
		},
		"Reassign": {
			of: "a", method: "POST", path: vm + "/move_disk", args: at("205"), form: form{"disk": "scsi0", "target-vmid": "305"},
			want: "VMID 305",
		},
		"CloneStays": {
			reason: "A clone without a target is made where its source is.",
			of:     "a", method: "POST", path: vm + "/clone", args: []string{"pve3", "9000"}, form: form{"newid": "210", "pool": "a"}, want: "node pve3",
		},
		"CloneVMID": {
			reason: "A VMID of the configuration's range comes with pools alone.",
			of:     "b", method: "POST", path: vm + "/clone", args: at("9001"), form: form{"newid": "150", "pool": "b"}, want: "VMID 150 is not within 1000 and 1999",
		},
		"PooledVMID": {of: "b", method: "POST", path: "/nodes/{node}/qemu", args: []string{"pve1"}, form: form{"vmid": "1500", "pool": "b"}},
		"DestroyDetached": {
			reason: "A detached disk that is deleted is destroyed, force or not.",
			of:     "a", method: "PUT", path: vm + "/config", args: at("205"), form: form{"delete": "unused0"}, want: "allow.destroyDisks",
		},
		"RemoveBackup": {
			reason: "A backup is not its VM's.",
			of:     "a", method: "DELETE", path: content,
			args: []string{"pve1", "nfs", "nfs:backup/vzdump-qemu-205-2026_11_22-17_00_00.vma.zst"}, want: "kinds",
		},
		"Migrate":     {of: "a", method: "POST", path: vm + "/migrate", args: at("205"), form: form{"target": "pve1"}},
		"MigrateNode": {of: "a", method: "POST", path: vm + "/migrate", args: at("205"), form: form{"target": "pve3"}, want: "node pve3"},
		"MigrateStorage": {
			of: "a", method: "POST", path: vm + "/migrate", args: at("205"), form: form{"target": "pve1", "targetstorage": "nfs"},
			want: "storage nfs",
		},
		"JoinPool":   {of: "a", method: "PUT", path: "/pools", form: form{"poolid": "a", "vms": "205", "allow-move": "1"}},
		"JoinHanded": {of: "e", method: "PUT", path: "/pools", form: form{"poolid": "e", "vms": "606", "allow-move": "1"}},
		"JoinOutside": { // It would be in no tenant's pool there.
			of: "e", method: "PUT", path: "/pools", form: form{"poolid": "e", "vms": "706", "allow-move": "1"}, want: "VMID 706 is not within 600 and 699",
		},
		"JoinTheirs": {of: "a", method: "PUT", path: "/pools", form: form{"poolid": "b", "vms": "205"}, want: "pool b"},
		"TakeIntoPool": {
			of: "a", method: "PUT", path: "/pools", form: form{"poolid": "a", "vms": "205,305", "allow-move": "1"}, want: "VMID 305",
		},
		"JoinAgain": {
			reason: "A VM that was taken out of the pool is not put back by an older list.",
			of:     "a", method: "PUT", path: "/pools", form: form{"poolid": "a", "vms": "207", "allow-move": "1"}, want: "VM 207",
		},
		"LeavePool":   {of: "a", method: "PUT", path: "/pools", form: form{"poolid": "a", "vms": "205", "delete": "1"}, want: "in no pool"},
		"CommentPool": {of: "a", method: "PUT", path: "/pools", form: form{"poolid": "a", "vms": "205", "comment": "x"}, want: "kinds"},
		"StopOther": {
			of: "a", method: "DELETE", path: "/nodes/{node}/tasks/{upid}", args: []string{"pve1", "UPID:pve1:0000:0000:0000:download:x.iso:u@pve:"},
			want: "kinds",
		},
		"Upload": {of: "a", method: "POST", path: "/nodes/{node}/storage/{storage}/upload", args: []string{"pve1", "ceph"}},
		"UploadElsewhere": {
			of: "a", method: "POST", path: "/nodes/{node}/storage/{storage}/upload", args: []string{"pve1", "nfs"}, want: "storage nfs",
		},
		"RemoveSeed": {
			of: "a", method: "DELETE", path: content, args: []string{"pve1", "ceph", "ceph:iso/cidata-205-" + uuid + "-0123456789abcdef.iso"},
		},
		"RemoveTheirSeed": {
			of: "a", method: "DELETE", path: content, args: []string{"pve1", "ceph", "ceph:iso/cidata-305-" + uuid + "-0123456789abcdef.iso"},
			want: "VMID 305",
		},
		"RemoveDisk": {of: "b", method: "DELETE", path: content, args: []string{"pve1", "ceph", "ceph:vm-405-disk-0"}, want: "VM 405"},
		"RemoveMisplaced": {
			reason: "Proxmox VE holds a file for the VM of its folder.", of: "a", method: "DELETE", path: content,
			args: []string{"pve1", "ceph", "ceph:305/vm-205-disk-0.qcow2"}, want: "kinds",
		},
		"RemoveFile":  {of: "a", method: "DELETE", path: content, args: []string{"pve1", "ceph", "ceph:iso/debian-13.iso"}, want: "kinds"},
		"Replication": {of: "a", method: "DELETE", path: "/cluster/replication/{id}", args: []string{"305-0"}, want: "VMID 305"},
		"HA":          {of: "a", method: "POST", path: "/cluster/ha/resources", form: form{"sid": "vm:205"}, want: "allow.highAvailability"},
		"MayHA":       {of: "c", method: "POST", path: "/cluster/ha/resources", form: form{"sid": "vm:405"}},
		"HATheirs":    {of: "c", method: "PUT", path: "/cluster/ha/resources/{sid}", args: []string{"vm:305"}, want: "VM 305"},
		"LeaveHA":     {of: "a", method: "DELETE", path: "/cluster/ha/resources/{sid}", args: []string{"vm:205"}},
		"Rule": {
			of: "c", method: "POST", path: rules, form: form{"rule": "crossplane-apart-0-0"}, resources: []string{"vm:405", "vm:406"},
		},
		"RuleTheirs": {
			of: "c", method: "POST", path: rules, form: form{"rule": "crossplane-apart-0-0"}, resources: []string{"vm:405", "vm:305"},
			want: "VM 305",
		},
		"RuleOfOthers": {
			of: "c", method: "DELETE", path: rules + "/{rule}", args: []string{"crossplane-11111111-0000-4000-8000-000000000001"},
			want: "kinds",
		},
		"RuleOfAdmins": {of: "c", method: "DELETE", path: rules + "/{rule}", args: []string{"keep-apart"}, want: "kinds"},
		"RuleOwn":      {of: "a", method: "DELETE", path: rules + "/{rule}", args: []string{"crossplane-" + uuid}},
		"BackUp": {
			of: "a", method: "POST", path: dump, args: []string{"pve1"},
			form: form{"vmid": "205", "storage": "ceph", "remove": "0", "mode": "snapshot", "compress": "zstd", "notes-template": "x", "protected": "1"},
		},
		"BackUpTheirs": {of: "a", method: "POST", path: dump, args: []string{"pve1"}, form: form{"vmid": "305", "storage": "ceph", "remove": "0"}, want: "VMID 305"},
		"BackUpElsewhere": {
			of: "a", method: "POST", path: dump, args: []string{"pve1"}, form: form{"vmid": "205", "storage": "nfs", "remove": "0"},
			want: "(storages): a backup on storage nfs",
		},
		"BackUpPrunes": {
			reason: "Without remove=0 older backups go.", of: "a", method: "POST", path: dump, args: []string{"pve1"},
			form: form{"vmid": "205", "storage": "ceph"}, want: "kinds",
		},
		"BackUpAll": {of: "a", method: "POST", path: dump, args: []string{"pve1"}, form: form{"all": "1", "storage": "ceph", "remove": "0"}, want: "kinds"},
		"BackUpMany": {
			of: "a", method: "POST", path: dump, args: []string{"pve1"}, form: form{"vmid": "205,305", "storage": "ceph", "remove": "0"}, want: "kinds",
		},
		"BackUpScript": {
			of: "a", method: "POST", path: dump, args: []string{"pve1"}, form: form{"vmid": "205", "storage": "ceph", "remove": "0", "script": "/x"}, want: "kinds",
		},
		"ChangeBackup":  {of: "a", method: "PUT", path: content, args: backup("205"), form: form{"notes": "x", "protected": "1"}, backup: "205"},
		"ChangeTheirs":  {of: "a", method: "PUT", path: content, args: backup("305"), form: form{"notes": "x"}, backup: "205", want: "kinds"},
		"ChangeUnknown": {of: "a", method: "PUT", path: content, args: backup("205"), form: form{"notes": "x"}, want: "kinds"},
		"ChangeMore":    {of: "a", method: "PUT", path: content, args: backup("205"), form: form{"size": "1"}, backup: "205", want: "kinds"},
		"RemoveOwnBackup": {
			reason: "A backup outlives its VM.", of: "a", method: "DELETE", path: content, args: backup("250"), backup: "250",
		},
		"RemoveTheirBackup":      {of: "a", method: "DELETE", path: content, args: backup("305"), backup: "205", want: "kinds"},
		"NoTenantRemovesBackup":  {of: "x", method: "DELETE", path: content, args: backup("305"), backup: "305", deleted: true},
		"NoTenantLiftsProtected": {of: "x", method: "PUT", path: content, args: backup("305"), form: form{"protected": "0"}, backup: "305", deleted: true},
		"NoTenantWritesNotes": {
			of: "x", method: "PUT", path: content, args: backup("305"), form: form{"protected": "0", "notes": "x"}, backup: "305", deleted: true,
			want: "belongs to no tenant",
		},
		"NoTenantKeepsBackup":  {of: "x", method: "DELETE", path: content, args: backup("305"), backup: "305", want: "belongs to no tenant"},
		"NoTenantRemovesOther": {of: "x", method: "DELETE", path: content, args: backup("305"), backup: "205", deleted: true, want: "belongs to no tenant"},
		"Network":              {of: "a", method: "PUT", path: "/nodes/{node}/network", args: []string{"pve1"}, want: "kinds"},
		"Download": {
			of: "a", method: "POST", path: "/nodes/{node}/storage/{storage}/download-url", args: []string{"pve1", "ceph"}, want: "kinds",
		},
		"Options":        {of: "a", method: "PUT", path: "/cluster/options", want: "kinds"},
		"NewPool":        {of: "a", method: "POST", path: "/pools", form: form{"poolid": "x"}, want: "kinds"},
		"Unreadable":     {of: "c", method: "DELETE", path: vm, args: at("299"), want: "the list cannot be read"},
		"NoTenant":       {of: "x", method: "POST", path: vm + "/status/start", args: at("205"), want: "belongs to no tenant"},
		"NoTenantLeaves": {of: "x", method: "DELETE", path: vm, args: at("205"), recorded: 205},
		"NoTenantTakesBack": {
			reason: "A disk of a Volume goes back to where it was made.", of: "x", method: "POST", path: vm + "/move_disk", args: at("206"),
			form: form{"disk": "scsi1", "target-vmid": "205", "target-disk": "unused0"}, recorded: 205, holder: 206,
		},
		"NoTenantFetches": {
			reason: "The stub VM goes where the disk is, which is handed back there.", of: "x", method: "POST", path: vm + "/migrate", args: at("205"),
			form: form{"target": "pve3"}, recorded: 205, holder: 206,
		},
		"NoTenantFetchesDisks": {
			of: "x", method: "POST", path: vm + "/migrate", args: at("205"), form: form{"target": "pve3", "with-local-disks": "1"}, recorded: 205, holder: 206,
			want: "belongs to no tenant",
		},
		"NoTenantMigrates": {
			reason: "A Machine that is deleted need not move.", of: "x", method: "POST", path: vm + "/migrate", args: at("205"), form: form{"target": "pve3"},
			recorded: 205, want: "belongs to no tenant",
		},
		"NoTenantMigratesHolder": {
			of: "x", method: "POST", path: vm + "/migrate", args: at("206"), form: form{"target": "pve3"}, recorded: 205, holder: 206, want: "belongs to no tenant",
		},
		"NoTenantProtects": {
			reason: "A disk that is retained is kept from being destroyed.", of: "x", method: "PUT", path: vm + "/config", args: at("205"),
			form: form{"protection": "1", "digest": "x"}, recorded: 205, holder: 205,
		},
		"NoTenantProtectsMachine": {
			of: "x", method: "PUT", path: vm + "/config", args: at("205"), form: form{"protection": "1"}, recorded: 205, want: "belongs to no tenant",
		},
		"NoTenantProtectsMore": {
			of: "x", method: "PUT", path: vm + "/config", args: at("205"), form: form{"protection": "1", "args": "x"}, recorded: 205, holder: 205,
			want: "belongs to no tenant",
		},
		"NoTenantProtectsHolder": {
			of: "x", method: "PUT", path: vm + "/config", args: at("206"), form: form{"protection": "1"}, recorded: 205, holder: 206, want: "belongs to no tenant",
		},
		"NoTenantFetchesToOthers": {
			reason: "The VM that had the disk may be another tenant's by now.", of: "a", method: "POST", path: vm + "/migrate", args: at("205"),
			form: form{"target": "pve3"}, recorded: 205, holder: 305, want: "node pve3",
		},
		"NoTenantTakesFromThird": {
			of: "x", method: "POST", path: vm + "/move_disk", args: at("405"), form: form{"disk": "scsi1", "target-vmid": "205"}, recorded: 205, holder: 206,
			want: "belongs to no tenant",
		},
		"NoTenantTakesFromOthers": {
			reason: "The VM that had the disk may be another tenant's by now.", of: "a", method: "POST", path: vm + "/move_disk", args: at("305"),
			form: form{"disk": "scsi1", "target-vmid": "205"}, recorded: 205, holder: 305, want: "VMID 305",
		},
		"NoTenantGives": {
			of: "x", method: "POST", path: vm + "/move_disk", args: at("206"), form: form{"disk": "scsi1", "target-vmid": "405"}, recorded: 205, holder: 206,
			want: "belongs to no tenant",
		},
		"NoTenantTakes": {of: "x", method: "DELETE", path: vm, args: at("206"), recorded: 205, want: "belongs to no tenant"},
		"NoTenantUnprotects": {
			of: "x", method: "PUT", path: vm + "/config", args: at("205"), form: form{"protection": "0", "digest": "x"}, recorded: 205,
		},
		"NoTenantChanges": {
			of: "x", method: "PUT", path: vm + "/config", args: at("205"), form: form{"protection": "0", "args": "x"}, recorded: 205,
			want: "belongs to no tenant",
		},
		"LeavesOthers": {
			reason: "What another tenant has by now is left.", of: "a", method: "DELETE", path: vm, args: at("305"), recorded: 305,
			want: "VMID 305",
		},
		"LeavesAdoptable": {
			reason: "What another tenant may have taken over by now is left.", of: "a", method: "DELETE", path: vm, args: at("606"), recorded: 606,
			want: "VMID 606",
		},
		"LeavesAdopted": {
			reason: "What is in its own pool of that kind is its own.", of: "e", method: "DELETE", path: vm, args: at("606"), recorded: 606,
		},
		"Outside": {
			reason: "A VM from before there were tenants may be deleted.", of: "a", method: "DELETE", path: vm, args: at("105"), recorded: 105,
		},
		"Unrestricted": {of: "ops", method: "PUT", path: "/cluster/options"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := Guard{Tenant: tenant(t, tc.of), Guest: inCluster, RecordedVMID: tc.recorded, DiskHolder: tc.holder, UUID: uuid, Deleted: tc.deleted}
			g.VMIDs = &v1alpha1.VMIDRange{Min: 1000, Max: 1999}
			if tc.backup != "" {
				g.Backup = func() string { return backup(tc.backup)[2] }
			}
			if tc.archive != "" {
				g.Archive = func(volume string) error {
					if volume == tc.archive {
						return nil
					}
					_, err := g.CheckBackup(Records{}, nil, volume)
					return err
				}
			}
			err := g.Check(guarded.Write{Op: name, Method: tc.method, Path: tc.path, Args: tc.args, Form: tc.form, Resources: tc.resources})
			if name == "Unreadable" {
				if err == nil || err.Error() != tc.want {
					t.Errorf("want %q, got %v", tc.want, err)
				}
				return
			}
			compare(t, tc.reason, err, tc.want)
		})
	}
}

// TestGuardReadsAnew checks that the VMs are listed again before something is removed from a VM outside of the tenant's range and pools, which another
// tenant may have got, and for no other deletion.
func TestGuardReadsAnew(t *testing.T) {
	const vm = "/nodes/{node}/qemu/{vmid}"
	cases := map[string]struct {
		reason      string
		of          string
		was         string // The tenant that a namespace without one had.
		listed, now string // The pool of the VM.
		want        string
		lists       int
	}{
		"Own":      {reason: "A VM where the tenant's are is removed by the list that there is.", of: "a", listed: "a", now: "b"},
		"NoTenant": {reason: "A VM that was not moved goes with a namespace that lost its tenant.", of: "x", was: "a", listed: "a", now: "a", lists: 1},
		"NoTenantMoved": {
			reason: "A VM of a namespace without a tenant that was moved a moment ago stays.",
			of:     "x", was: "a", listed: "a", now: "b", want: "no tenant", lists: 1,
		},
		"NoTenantUnknown": {reason: "Where the former tenant is unknown, no list could tell more.", of: "x", listed: "a", now: "b"},
		"Outside":         {reason: "A VM in no pool may be deleted as long as it is there.", of: "a", lists: 1},
		"OutsideMoved": {
			reason: "A VM in no pool that was moved to another tenant a moment ago stays.",
			of:     "a", now: "b", want: "VM 205, which is not the tenant's", lists: 2,
		},
		"Listed": {
			reason: "A VM that the list shows to be another tenant's need not be listed again.",
			of:     "a", listed: "b", now: "b", want: "VM 205", lists: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lists := 0
			of := WithFormerTenant(tenant(t, tc.of), tenants(), tc.was)
			g := Guard{Tenant: of, RecordedVMID: 205, Deleted: true, Guest: func(vmid int, fresh bool) (proxmox.Guest, error) {
				if fresh {
					lists++
					return proxmox.Guest{VMID: vmid, Pool: tc.now}, nil
				}
				return proxmox.Guest{VMID: vmid, Pool: tc.listed}, nil
			}}
			err := g.Check(guarded.Write{Op: name, Method: "DELETE", Path: vm, Args: []string{"pve1", "205"}})
			compare(t, tc.reason, err, tc.want)
			if lists != tc.lists {
				t.Errorf("\n%s\nwant %d lists read, got %d", tc.reason, tc.lists, lists)
			}
		})
	}
}

// TestTells checks that messages name a tenant's own VMs with their nodes, and of others only the nodes that it may use.
func TestTells(t *testing.T) {
	a := v1alpha1.ProviderTenant{Name: "a", Namespaces: []string{"a"}, Pools: []string{"a"}, Nodes: []string{"pve1"}}
	of := func(namespace string) func(proxmox.Guest) (vm, node bool) {
		found, err := Of([]v1alpha1.ProviderTenant{a}, Subject{Namespace: namespace})
		if err != nil {
			t.Fatal(err)
		}
		return MayName(found)
	}
	for name, tc := range map[string]struct {
		reason, of string
		guest      proxmox.Guest
		vm, node   bool
	}{
		"Own":      {reason: "Where one's own VM is, one knows.", of: "a", guest: proxmox.Guest{VMID: 1, Pool: "a", Node: "pve3"}, vm: true, node: true},
		"Node":     {reason: "One's own node may be named.", of: "a", guest: proxmox.Guest{VMID: 1, Node: "pve1"}, node: true},
		"Others":   {reason: "Nothing is told of others elsewhere.", of: "a", guest: proxmox.Guest{VMID: 1, Pool: "b", Node: "pve3"}},
		"NoTenant": {reason: "A resource of no tenant is told nothing.", of: "b", guest: proxmox.Guest{VMID: 1, Pool: "a", Node: "pve1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if vm, node := of(tc.of)(tc.guest); vm != tc.vm || node != tc.node {
				t.Errorf("%s Want %t and %t, got %t and %t", tc.reason, tc.vm, tc.node, vm, node)
			}
		})
	}
	if MayName(nil) != nil {
		t.Error("who has no tenant is told of all")
	}
}

// TestCompared checks that the decisions of a tenant depend on its own rules, those of the others, and the resource.
func TestCompared(t *testing.T) {
	of := func(change func([]v1alpha1.ProviderTenant), s Subject) []any {
		all := tenants()
		change(all)
		found, err := Of(all, s)
		if found == nil || err != nil {
			t.Fatalf("no tenant, error %v", err)
		}
		return Compared(found)
	}
	same := func([]v1alpha1.ProviderTenant) {}
	a := Subject{Namespace: "a"}
	before := of(same, a)
	for name, tc := range map[string]struct {
		reason string
		now    []any
		same   bool
	}{
		"Same":   {reason: "The same rules are the same.", now: of(same, a), same: true},
		"Own":    {reason: "The tenant may have another pool.", now: of(func(all []v1alpha1.ProviderTenant) { all[0].Pools = nil }, a)},
		"Others": {reason: "Another tenant may have another pool.", now: of(func(all []v1alpha1.ProviderTenant) { all[1].Pools = nil }, a)},
		"Labels": {reason: "The namespace has other labels.", now: of(same, Subject{Namespace: "a", NamespaceLabels: map[string]string{"x": "y"}})},
		"Nobody": {reason: "A namespace of no tenant has none of the rules.", now: of(same, Subject{Namespace: "z"})},
		"Config": {reason: "Another configuration has other files.", now: of(same, Subject{Namespace: "a", Config: "x"})},
	} {
		t.Run(name, func(t *testing.T) {
			if got := cmp.Diff(before, tc.now, cmp.AllowUnexported(Subject{})) == ""; got != tc.same {
				t.Errorf("%s\nwant the same %t, got %t", tc.reason, tc.same, got)
			}
		})
	}
}
