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

package controller_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	examples "github.com/vitistack/provider-proxmox/examples/scenarios"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/importer"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu/qemutest"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// estate returns the scenario with every option, including what only the version has.
func estate(t *testing.T, version string) *simulator.Scenario {
	t.Helper()
	b, err := examples.Files.ReadFile("estate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := simulator.ParseScenario(b)
	if err != nil {
		t.Fatal(err)
	}
	s.Version = version
	own := map[string]map[string]string{
		"8.4": {"ide0": "ceph:1,cyls=1024,heads=16,secs=63,trans=lba"},
		"9.2": {
			"allow-ksm": "0", "machine": "q35,viommu=intel,aw-bits=48", "cpu": "host,guest-phys-bits=40,level=30", "hostpci0": "0000:03:00.0,driver=keep",
			"net0": "virtio,bridge=vmbr0,host-tunnel=1", "bios": "ovmf",
			"efidisk0": "ceph:1,efitype=4m,pre-enrolled-keys=1,ms-cert=2023", "intel-tdx": "type=tdx,attestation=0,vsock-cid=2,vsock-port=4050",
		},
	}[version]
	own["name"] = "only-" + strings.ReplaceAll(version, ".", "-")
	s.Guests = append(s.Guests, simulator.ScenarioGuest{VMID: 1199, Node: "pve1", Config: own})
	for i := range s.Guests { // It replaces one of the others.
		if s.Guests[i].VMID == 1190 {
			s.Guests[i].Count--
		}
	}
	return s
}

// guests is how many VMs the estate has, without templates.
const guests = 200

// An imported estate is a population whose Machines are created from manifests.
type imported struct{ *population }

// importVMs writes manifests for all VMs, and applies them unchanged, except for the label that separates scenarios.
func (c *imported) importVMs(scopeName string) {
	c.Helper()
	form := importer.Form{
		APIVersion: cluster.SchemeGroupVersion.String(), Kind: cluster.MachineKind, Policies: []string{"Observe"},
		ProviderConfig: &importer.ProviderConfig{Name: c.name},
	}
	if scopeName == "Namespaced" {
		form.APIVersion, form.Namespace, form.ProviderConfig.Kind = namespaced.SchemeGroupVersion.String(), namespace, "ProviderConfig"
	}
	for _, f := range c.described() {
		f.Resource = c.name + "-" + f.Resource
		b, err := form.Manifest(f)
		if err != nil {
			c.Fatal(err)
		}
		m := c.scope.machine(c.meta(), v1alpha1.MachineParameters{})
		c.of(m, c.name)
		if err := yaml.UnmarshalStrict(b, m); err != nil {
			c.Fatalf("cannot read the manifest: %v\n%s", err, b)
		}
		m.SetLabels(map[string]string{label: c.name})
		if err := c.kube.Create(c.Context(), m); err != nil {
			c.Errorf("cannot apply the manifest: %v\n%s", err, b)
		}
	}
}

// described returns the VMs, as read by the provider's user, which has few privileges.
func (c *imported) described() []importer.Find {
	c.Helper()
	pve, err := proxmox.New(proxmox.Config{
		Endpoints: []string{c.pve.URL()}, TLS: proxmox.TLS{CA: c.pve.CA()},
		Credentials: proxmox.Credentials{TokenID: simulatortest.TestToken, TokenSecret: simulatortest.TestSecret},
	})
	if err != nil {
		c.Fatal(err)
	}
	defer pve.Close()
	finds, err := importer.Guests(c.Context(), pve, importer.Filter{})
	if err != nil {
		c.Fatal(err)
	}
	admission, err := importer.NewSchema(os.DirFS("../../package"), "crds/proxmox.vitistack.io_machines.yaml")
	if err != nil {
		c.Fatal(err)
	}
	if err := importer.Describe(c.Context(), pve, finds, importer.Rules{Refuses: admission.Refuses, Each: func() {}}); err != nil {
		c.Fatal(err)
	}
	var all []importer.Find
	for _, f := range finds {
		if f.Template != (f.Description == nil) || f.Err != nil {
			c.Errorf("%s: %q, %v", f, f.Skipped, f.Err)
		} else if !f.Template {
			all = append(all, f)
		}
	}
	if len(all) != guests {
		c.Fatalf("%d VMs have manifests, want %d", len(all), guests)
	}
	return all
}

// settled waits until all Machines were reconciled in their present state, and fails if that has caused a write.
func (c *imported) settled(when string) {
	c.Helper()
	c.slowly("the Machines are as their VMs "+when, func() string {
		left, last := 0, ""
		for _, m := range c.machines() {
			if why := unsettled(m); why != "" {
				left, last = left+1, m.GetName()+": "+why
			}
		}
		if left == 0 {
			return ""
		}
		return fmt.Sprintf("%d are not, such as %s", left, last)
	})
	for _, r := range c.writes() {
		c.Errorf("%s: %s %s %v: %d %s", when, r.Method, r.Path, r.Params, r.Status, r.Message)
	}
}

func unsettled(m machine.Machine) string {
	ready, synced := m.GetCondition(xpv2.TypeReady), m.GetCondition(xpv2.TypeSynced)
	o := m.Observation()
	switch {
	case ready.Status != corev1.ConditionTrue:
		return "not ready: " + string(ready.Reason) + " " + ready.Message
	case synced.Status != corev1.ConditionTrue:
		return "not synced: " + synced.Message
	case synced.ObservedGeneration != m.GetGeneration():
		return "not reconciled"
	case o.VMID == nil:
		return "no VM"
	case len(o.Difference) > 0:
		return fmt.Sprintf("difference %+v", o.Difference)
	}
	return ""
}

// update updates all Machines.
func (c *imported) update(change func(machine.Machine)) {
	c.Helper()
	for _, m := range c.machines() {
		for {
			change(m)
			err := c.kube.Update(c.Context(), m)
			if err == nil {
				break
			}
			if !kerrors.IsConflict(err) {
				c.Fatal(err)
			}
			if err := c.kube.Get(c.Context(), client.ObjectKeyFromObject(m), m); err != nil {
				c.Fatal(err)
			}
		}
	}
}

// findVMs replaces some VMs by ones that were found elsewhere.
func findVMs(t *testing.T, s *simulator.State) {
	t.Helper()
	configs, err := qemutest.Configs()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range slices.Sorted(maps.Keys(configs)) {
		s.Guests[1190+i].Config = configs[name]
		layBridges(s, configs[name])
	}
}

// TestImportEstate imports an estate, observes it, manages it, manages it with a restarted provider, and restores it from a backup of Kubernetes, and
// checks that nothing is ever written to its VMs.
func TestImportEstate(t *testing.T) {
	t.Parallel()
	for version, scopeName := range versions() {
		t.Run(scopeName+"/"+version, func(t *testing.T) {
			t.Parallel()
			c := populations()[scopeName]
			c.world = worldOf(t, scopes()[scopeName], "estate-"+strings.ToLower(scopeName), estate(t, version), nil, "")
			c.poll, c.options = time.Hour, unhurried
			c.pve.Edit(func(s *simulator.State) { findVMs(t, s) })
			c.configure()
			i := &imported{&c}
			i.hurry()
			c.start()
			t.Cleanup(func() { c.stop() })
			i.importVMs(scopeName)
			i.settled("when they are looked at")
			i.update(func(m machine.Machine) { m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionAll}) })
			i.settled("when they are managed")
			c.stop()
			i.update(func(m machine.Machine) { m.Parameters().ShutdownTimeoutSeconds = new(int32(7)) })
			c.start()
			i.settled("after a restart")
			c.stop()
			i.restore()
			c.start()
			i.settled("after they were restored")
		})
	}
}

// restore restores all Machines as backup tools do: as new objects, with their specs and annotations, and without a status. No provider runs
// meanwhile.
func (c *imported) restore() {
	c.Helper()
	for _, m := range c.machines() {
		kept := c.scope.machine(metav1.ObjectMeta{
			Namespace: m.GetNamespace(), Name: m.GetName(), Labels: m.GetLabels(), Annotations: m.GetAnnotations(), Finalizers: m.GetFinalizers(),
		}, *m.Parameters())
		c.of(kept, c.name)
		kept.SetManagementPolicies(m.GetManagementPolicies())
		m.SetFinalizers(nil)
		if err := c.kube.Update(c.Context(), m); err != nil {
			c.Fatal(err)
		}
		if err := c.kube.Delete(c.Context(), m); err != nil {
			c.Fatal(err)
		}
		if err := c.kube.Create(c.Context(), kept); err != nil {
			c.Fatal(err)
		}
	}
}

// hurry lets the provider send any number of requests.
func (c *imported) hurry() {
	c.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"limits": {"requestsPerSecond": 1000}}}`))
	if err := c.kube.Patch(
		c.Context(),
		c.scope.config(c.meta(), v1alpha1.ProviderConfigSpec{Credentials: v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{}}}),
		patch,
	); err != nil {
		c.Fatal(err)
	}
}

// unhurried returns options of a provider that many Machines share.
func unhurried(mgr ctrl.Manager) kind.Options {
	o := kindOptions(mgr)
	o.Connections = connect.New(mgr.GetClient())
	return o
}

// noOptions returns parameters of PVE's calls that are not options of a VM, and keys of options that are aliases, or that PVE derives when the VM is
// created.
func noOptions() sets.Set[string] {
	return sets.New(
		"archive", "bwlimit", "force", "ha-managed", "import-working-storage", "live-restore", "node", "pool", "start", "storage", "template",
		"unique", "vmid", "unused", "cdrom", "smp", "lock",
	)
}

func noKeys(version string) sets.Set[string] {
	none := sets.New[string]()
	if version == "8.4" { // It does not have them, but its formats are described together with those of 9.2.
		none.Insert("guest-phys-bits", "level", "ms-cert", "driver")
	}
	return none.Insert("file", "volume", "import-from", "format", "size", "media", "base64", "model", "macaddr", "freeze-fs",
		"guest-fsfreeze", "freeze-fs-on-backup",
		"legacy", "current", "reported-model", "bps", "bps_rd", "bps_wr", "bps_rd_length", "bps_wr_length", "iops_rd_length", "iops_wr_length")
}

// kindOfOption returns disk for all buses, whose disks have nearly the same keys.
func kindOfOption(option string) string {
	switch option {
	case "ide", "sata", "scsi", "virtio":
		return "disk"
	}
	return option
}

// TestEstateHasEveryOption checks that the estate has every option, and every key of it.
func TestEstateHasEveryOption(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			facts, err := schema.Load(version)
			if err != nil {
				t.Fatal(err)
			}
			parameters := facts.Parameters("POST", "/nodes/{node}/qemu")
			has := sets.New[string]()
			for _, g := range estate(t, version).Guests {
				for option, value := range g.Config {
					name, p := option, parameters[option]
					if p == nil {
						name = strings.TrimRight(option, "0123456789")
						p = parameters[name+"[n]"]
					}
					has.Insert(name)
					keys, _ := facts.ParseProperties(p.Format, value) // Not all have keys.
					for key := range keys {
						has.Insert(kindOfOption(name) + "." + key)
					}
				}
			}
			for parameter, p := range parameters {
				option := strings.TrimSuffix(parameter, "[n]")
				if noOptions().Has(option) {
					continue
				}
				if !has.Has(option) {
					t.Errorf("no VM has %s", option)
				}
				for key, k := range facts.Format(p.Format) {
					if k.KeyAlias == "" && !noKeys(version).Has(key) && !has.Has(kindOfOption(option)+"."+key) {
						t.Errorf("no VM has %s of %s", key, option)
					}
				}
			}
		})
	}
}
