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

package apis_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespacedv1alpha1 "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A machine of either group.
type machine interface {
	client.Object
	Parameters() *v1alpha1.MachineParameters
	Observation() *v1alpha1.MachineObservation
	SetConditions(c ...xpv2.Condition)
}

func machines(t *testing.T) map[string]machine {
	t.Helper()
	meta := metav1.ObjectMeta{Name: objectName(t)}
	inNamespace := *meta.DeepCopy()
	inNamespace.Namespace = "default"
	return map[string]machine{
		"Cluster":    &clusterv1alpha1.Machine{ObjectMeta: meta},
		"Namespaced": &namespacedv1alpha1.Machine{ObjectMeta: inNamespace},
	}
}

func observation() v1alpha1.MachineObservation {
	changes := []v1alpha1.MachinePendingChange{{Option: "cores", Current: "2", Desired: "4"}}
	return v1alpha1.MachineObservation{
		Phase:         v1alpha1.MachineRunning,
		VMID:          ptr.To[int32](10001),
		Cluster:       "lab",
		Node:          "pve1",
		Name:          "web-1",
		UUID:          "0f3a5c7e-9b1d-4e2f-8a6c-1b3d5f7a9c0e",
		PowerState:    "running",
		PendingDisks:  []string{"data"},
		UptimeSeconds: ptr.To[int64](5_000_000_000),
		Usage: &v1alpha1.MachineUsageObservation{
			CPUPercent: 13, MemoryBytes: 1 << 32, DiskReadBytes: 1 << 40, DiskWrittenBytes: 1 << 41, ObservedAt: metav1.NewTime(time.Unix(1_790_000_500, 0)),
		},
		StartedAt:   ptr.To(metav1.NewTime(time.Unix(1_790_000_000, 0))),
		Pool:        "production/web",
		HAState:     "started",
		Annotations: map[string]string{"crossplane.io/external-name": "10001"},
		PowerAction: &v1alpha1.MachinePowerActionObservation{Action: "Reboot", Token: "1", UPID: "UPID:pve1:0:0:0:qmreboot:10001:a@pve:", Result: "OK"},
		Rollback: &v1alpha1.MachineRollbackObservation{
			Token: "1", Snapshot: "before-upgrade", Time: &metav1.Time{Time: time.Unix(1_700_000_000, 0)}, State: "Succeeded", Message: "m", SafetySnapshot: "s",
		},
		Recreation: &v1alpha1.MachineRecreationObservation{
			Token: "1", LostNode: "pve3", Time: ptr.To(metav1.NewTime(time.Unix(1_800_000_000, 0))), State: v1alpha1.ActPending, Message: "waiting",
			Remains: []v1alpha1.MachineRemains{{VMID: 10000, Node: "pve3", UUID: "11111111-2222-4333-8444-555555555555"}},
		},
		RestoreInPlace: &v1alpha1.MachineRestoreInPlaceObservation{
			Token: "1", Volume: "nfs:backup/b", Time: &metav1.Time{Time: time.Unix(1_700_000_000, 0)}, State: "Succeeded", Message: "m", SafetyBackup: "s",
		},
		Lock:        "backup",
		IPAddresses: []string{"192.0.2.10", "2001:db8::10"},
		CPU:         &v1alpha1.MachineCPUObservation{Cores: 4, Sockets: 2},
		MemoryBytes: ptr.To[int64](17_592_186_044_416),
		Disks:       []v1alpha1.MachineDiskObservation{{Device: "scsi0", Name: "root", Volume: "local-lvm:vm-10001-disk-0", Size: "20G"}},
		CDROMs:      []v1alpha1.MachineCDROMObservation{{Device: "ide0", Name: "drivers", Volume: "nfs:iso/virtio-win.iso"}},
		RetainedDevices: []v1alpha1.MachineRetainedDevice{
			{Device: "scsi1", List: "disks", Name: "data", Reason: "the provider did not create it"},
		},
		Config:         map[string]string{"cores": "4", "scsi0": "local-lvm:vm-10001-disk-0,size=20G"},
		PendingChanges: changes,
		Difference:     changes,
		Placement: &v1alpha1.MachinePlacementObservation{
			Node: "pve1", Reason: "the spec names it", Others: []v1alpha1.MachinePlacementRejection{{Node: "pve2", Reason: "it is offline"}},
		},
		Image: &v1alpha1.MachineImageObservation{
			Name: "debian-13", Revision: 2, Digest: "sha256:9f86d0", Volume: "local:import/debian-13.qcow2", TemplateVMID: ptr.To[int32](9000),
		},
		LastTask:    &v1alpha1.MachineTask{UPID: "UPID:pve1:0:0:0:qmstart:10001:a@pve:", Type: "qmstart", Result: "OK"},
		LastUpdated: ptr.To(metav1.NewTime(time.Unix(1_800_000_000, 0))),

		RecordSignature: "jvV3S0dVb1pQ3v8mXw8VbQ0nB6k1yq3c7m1b8m8dE2M=",
		Networks: []v1alpha1.MachineNetworkObservation{{
			Device: "net0", Name: "lan", MACAddress: "BC:24:11:00:00:01", Bridge: "vmbr0", Model: "virtio",
			VLAN: ptr.To[int32](100), Interface: "eth0", IPAddresses: []string{"192.0.2.10"},
		}},
	}
}

func TestStatusRoundTrip(t *testing.T) {
	want := observation()
	for i, v := 0, reflect.ValueOf(want); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("the status of this test has no %s", v.Type().Field(i).Name)
		}
	}
	for name, m := range machines(t) {
		t.Run(name, func(t *testing.T) {
			createWithStatus(t, m, want)
			got := m.DeepCopyObject().(machine)
			*got.Observation() = v1alpha1.MachineObservation{}
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(m), got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, *got.Observation()); diff != "" {
				t.Errorf("\nThe API server prunes nothing of a status\n-want, +got:\n%s", diff)
			}
		})
	}
}

// An empty list is a wish, such as for no tags, and differs from none. It must
// outlive the whole objects that the provider writes.
func TestEmptyListsKept(t *testing.T) {
	for name, m := range machines(t) {
		t.Run(name, func(t *testing.T) {
			p := m.Parameters()
			p.Tags, p.Hotplug, p.SerialPorts = []string{}, []string{}, []string{}
			p.CloudInit = &v1alpha1.MachineCloudInit{SSHKeys: []string{}, Nameservers: []string{}, SearchDomains: []string{}}
			want := p.DeepCopy()
			if err := kube.Create(t.Context(), m, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			got := []any{p.Tags, p.Hotplug, p.SerialPorts, p.CloudInit}
			if diff := cmp.Diff([]any{want.Tags, want.Hotplug, want.SerialPorts, want.CloudInit}, got); diff != "" {
				t.Errorf("\nEmpty lists are kept\n-want, +got:\n%s", diff)
			}
		})
	}
}

func TestMachineColumns(t *testing.T) {
	for name, m := range machines(t) {
		t.Run(name, func(t *testing.T) {
			createWithStatus(t, m, observation())
			path := "/apis/proxmox.vitistack.io/v1alpha1/machines/"
			if m.GetNamespace() != "" {
				path = "/apis/proxmox.m.vitistack.io/v1alpha1/namespaces/default/machines/"
			}
			got := table(t, path+m.GetName())
			wantColumns := []string{"Name", "READY", "SYNCED", "UPTODATE", "PHASE", "VMID", "NODE", "IP", "AGE"}
			if diff := cmp.Diff(wantColumns, columns(got)); diff != "" {
				t.Fatalf("\ncolumns\n-want, +got:\n%s", diff)
			}
			wantCells := []any{m.GetName(), "True", "True", "True", "Running", int64(10001), "pve1", "192.0.2.10"}
			if diff := cmp.Diff(wantCells, normalCells(got.Rows[0].Cells[:8])); diff != "" {
				t.Errorf("\ncells\n-want, +got:\n%s", diff)
			}
		})
	}
}

func TestOtherColumns(t *testing.T) {
	cases := map[string][]string{
		"/apis/proxmox.vitistack.io/v1alpha1/providerconfigs":          {"Name", "READY", "VERSION", "ENDPOINT", "USERS", "AGE"},
		"/apis/proxmox.m.vitistack.io/v1alpha1/providerconfigs":        {"Name", "READY", "VERSION", "ENDPOINT", "USERS", "AGE"},
		"/apis/proxmox.m.vitistack.io/v1alpha1/clusterproviderconfigs": {"Name", "READY", "VERSION", "ENDPOINT", "USERS", "AGE"},
		"/apis/proxmox.vitistack.io/v1alpha1/providerconfigusages":     {"Name", "AGE", "CONFIG-NAME", "RESOURCE-KIND", "RESOURCE-NAME"},
		"/apis/proxmox.m.vitistack.io/v1alpha1/providerconfigusages":   {"Name", "AGE", "CONFIG-KIND", "CONFIG-NAME", "RESOURCE-KIND", "RESOURCE-NAME"},
	}
	for path, want := range cases {
		t.Run(path, func(t *testing.T) {
			if diff := cmp.Diff(want, columns(table(t, path))); diff != "" {
				t.Errorf("\n-want, +got:\n%s", diff)
			}
		})
	}
}

// Each managed kind shows whether it is up to date, and with -o wide why not.
func TestColumnsOfManagedKinds(t *testing.T) {
	kinds := 0
	for _, crd := range definitions(t) {
		if !slices.Contains(crd.Spec.Names.Categories, "managed") {
			continue
		}
		kinds++
		var normal, wide []string
		for _, c := range crd.Spec.Versions[0].AdditionalPrinterColumns {
			if c.Priority == 0 {
				normal = append(normal, c.Name)
			} else {
				wide = append(wide, c.Name)
			}
		}
		if len(normal) < 3 || !slices.Equal(normal[:3], []string{"READY", "SYNCED", "UPTODATE"}) {
			t.Errorf("the columns of %s are %q", crd.Name, normal)
		}
		if n := len(wide); n < 2 || !slices.Equal(wide[n-2:], []string{"REASON", "MESSAGE"}) {
			t.Errorf("the columns of %s with -o wide are %q", crd.Name, wide)
		}
	}
	if want := len(clusterv1alpha1.Kinds()) + len(namespacedv1alpha1.Kinds()); kinds != want {
		t.Errorf("want %d managed kinds, got %d", want, kinds)
	}
}

// names of a resource as the API server serves them.
type names struct {
	ShortNames []string
	Categories []string
	Namespaced bool
}

// shortNames of the kinds of managed resources, by the comments that they are generated from.
func shortNames(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("v1alpha1", "*_types.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\+proxmox:kind=(\w+),shortName=(\w+)`).FindAllStringSubmatch(string(text), -1) {
			all[m[1]] = m[2]
		}
	}
	return all
}

// TestNames has each kind served in both groups by its names.
func TestNames(t *testing.T) {
	config := []string{"crossplane", "provider", "proxmox"}
	cases := map[string]map[string]names{
		"proxmox.vitistack.io/v1alpha1": {"providerconfigs": {Categories: config}, "providerconfigusages": {Categories: config}},
		"proxmox.m.vitistack.io/v1alpha1": {
			"providerconfigs":        {Categories: config, Namespaced: true},
			"clusterproviderconfigs": {Categories: config},
			"providerconfigusages":   {Categories: config, Namespaced: true},
		},
	}
	short := shortNames(t)
	if len(short) != len(clusterv1alpha1.Kinds()) || len(short) != len(namespacedv1alpha1.Kinds()) {
		t.Errorf("kinds with a comment: %v", short)
	}
	for kind, name := range short {
		plural, _ := apimeta.UnsafeGuessKindToResource(clusterv1alpha1.SchemeGroupVersion.WithKind(kind))
		for group, want := range cases {
			want[plural.Resource] = names{
				ShortNames: []string{name}, Categories: []string{"crossplane", "managed", "proxmox"}, Namespaced: strings.Contains(group, ".m."),
			}
		}
	}
	d, err := discovery.NewDiscoveryClientForConfig(restConfig)
	if err != nil {
		t.Fatal(err)
	}
	for group, want := range cases {
		t.Run(group, func(t *testing.T) {
			list, err := d.ServerResourcesForGroupVersion(group)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]names{}
			for _, r := range list.APIResources {
				if !strings.Contains(r.Name, "/") {
					got[r.Name] = names{ShortNames: r.ShortNames, Categories: r.Categories, Namespaced: r.Namespaced}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("\n-want, +got:\n%s", diff)
			}
		})
	}
}

func TestStatusIsASubresource(t *testing.T) {
	for _, crd := range definitions(t) {
		if crd.Spec.Names.Kind == "ProviderConfigUsage" {
			continue // It has no status.
		}
		if !slices.ContainsFunc(crd.Spec.Versions, func(v extv1.CustomResourceDefinitionVersion) bool {
			return v.Subresources != nil && v.Subresources.Status != nil
		}) {
			t.Errorf("%s has no status subresource", crd.Name)
		}
	}
}

// createWithStatus for the time of the test.
func createWithStatus(t *testing.T, m machine, status v1alpha1.MachineObservation) {
	t.Helper()
	if err := kube.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kube.Delete(context.WithoutCancel(t.Context()), m); err != nil {
			t.Error(err)
		}
	})
	status.DeepCopyInto(m.Observation())
	m.SetConditions(xpv2.Available(), xpv2.ReconcileSuccess(), xpv2.ObserveMatched())
	if err := kube.Status().Update(t.Context(), m); err != nil {
		t.Fatalf("cannot update the status: %v", err)
	}
}

// table of what is at the path, as kubectl gets it.
func table(t *testing.T, path string) metav1.Table {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(restConfig)
	if err != nil {
		t.Fatal(err)
	}
	text, err := d.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatalf("cannot get %s: %v", path, err)
	}
	out := metav1.Table{}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func columns(table metav1.Table) []string {
	var out []string
	for _, c := range table.ColumnDefinitions {
		if c.Priority == 0 {
			out = append(out, c.Name)
		}
	}
	return out
}

// normalCells have integers instead of the numbers of JSON.
func normalCells(cells []any) []any {
	out := slices.Clone(cells)
	for i, c := range out {
		if f, ok := c.(float64); ok {
			out[i] = int64(f)
		}
	}
	return out
}
