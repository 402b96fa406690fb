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
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// TestByHand checks manual changes to Machines, and less often to VMs.
func TestByHand(t *testing.T) {
	t.Parallel()
	runVersions(t, map[string]scenario{
		"stripped":   {reason: "A Machine whose annotations were taken away keeps its VM, and does nothing twice.", run: stripped},
		"early":      {reason: "A Machine whose VM is being made keeps it without annotations.", run: strippedEarly, durations: map[string]string{"qmclone": "3s"}},
		"unnamed":    {reason: "A Machine whose external name was taken away keeps its VM.", run: unnamed},
		"misnamed":   {reason: "One whose external name was changed makes no other VM, and leaves none behind.", run: misnamed},
		"misdeleted": {reason: "One that has lost its annotations while it is deleted leaves no VM behind.", run: misdeleted},
		"unplugged":  {reason: "A network that was taken out comes back with its MAC address.", run: unplugged},
		"identity":   {reason: "A VM that was given another UUID is left alone.", run: reidentified},
		"template":   {reason: "A VM that was made a template cannot run.", run: templated},
		"hibernated": {reason: "A VM that was suspended to disk is resumed.", run: hibernated},
		"copied":     {reason: "A clone that somebody makes of the VM is theirs.", run: copied},
		"restored":   {reason: "A VM that was restored from a backup is as the spec wants it.", run: restored},
		"overlaid":   {reason: "A VM is waited for while somebody restores a backup over it.", run: overlaid},
		"replaced":   {reason: "A VM that was restored as another one is left alone.", run: replaced},
		"guarded":    {reason: "A VM that is locked stays until it is not.", run: lockedAtDeletion},
		"waiting":    {reason: "A change that waits for a lock is said to.", run: waiting},
		"fixed":      {reason: "A VM that may be created, and not changed, is said to be left as it is.", run: fixed},
		"missed":     {reason: "A VM that is gone and may not be created again is missed.", run: missed},
		"repointed":  {reason: "A VM is not created again in another cluster that the configuration has come to lead to.", run: repointed},
		"silenced":   {reason: "A guest that may not be asked is said to be.", run: silenced},
		"expelled":   {reason: "A VM that was lost with its node is created again on another.", run: expelled},
		"together":   {reason: "A Machine goes together with all that it needs to be deleted.", run: together},
		"acted":      {reason: "An action that PVE refuses is done, and so is the next.", run: actedRefused},
		"ignored":    {reason: "HA is told once to ignore a VM, which is powered as ever.", run: ignored},
		"error":      {reason: "A VM that HA has given up is not asked for in vain, and can be deleted.", run: givenUp},
	})
}

// reannotate replaces the annotations of the Machine, which removes those that are not given.
func (w *world) reannotate(change func(map[string]string)) {
	w.Helper()
	w.eventually("the annotations are changed", func() bool {
		w.exists()
		a := maps.Clone(w.m.GetAnnotations())
		change(a)
		w.m.SetAnnotations(a)
		err := w.kube.Update(w.Context(), w.m)
		if err != nil && !kerrors.IsConflict(err) {
			w.Fatal(err)
		}
		return err == nil
	})
}

// keeps checks that the Machine keeps its only VM.
func (w *world) keeps(uuid string) {
	w.Helper()
	if ours := w.ours(); !slices.Equal(ours, []int{10000}) || w.vm().Config["smbios1"] != uuid {
		w.Fatalf("want VM 10000 with %s, got %v with %s:\n%s", uuid, ours, w.vm().Config["smbios1"], w)
	}
}

func stripped(w *world) {
	spec := ubuntu()
	spec.Disks = []v1alpha1.MachineDisk{{Name: "root", Device: new("scsi0"), Size: new("20G")}, {Name: "data", Size: new("1G")}}
	spec.PowerAction = &v1alpha1.MachinePowerAction{Action: "Reset", Token: "1"}
	w.create(spec)
	w.ready()
	w.eventually("the action is done", func() bool {
		if w.tasks("qmreset") != 1 || !w.exists() {
			return false
		}
		a := w.m.Observation().PowerAction // It is shown after the task has begun.
		return a != nil && a.Result == "OK"
	})
	uuid, devices := w.vm().Config["smbios1"], w.m.GetAnnotations()[object.AnnotationDevices]
	n := len(w.writes())
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Disks[0], p.Disks[1] = p.Disks[1], p.Disks[0]
		p.Disks[1].Device = nil
	})
	w.reannotate(func(a map[string]string) { clear(a) })
	w.eventually("the Machine knows its VM again", func() bool {
		w.exists()
		return meta.GetExternalName(w.m) == "10000" && w.m.GetAnnotations()[object.AnnotationDevices] != ""
	})
	w.ready()
	w.keeps(uuid)
	if got := w.m.GetAnnotations()[object.AnnotationDevices]; got != devices {
		w.Errorf("devices were %s and are %s", devices, got)
	}
	if got := w.writes(); len(got) != n {
		w.Errorf("want no write:\n%s", w)
	}
	w.tamper(func(g *simulator.Guest) { g.Power = simulator.Stopped })
	w.eventually("the VM is kept running, since it was made for the Machine", func() bool { return w.vm().Power == simulator.Running })
	w.ready()
	w.finish()
}

// strippedEarly removes the annotations while the VM is being created.
func strippedEarly(w *world) {
	w.create(ubuntu())
	w.eventually("the clone is known to be under way", func() bool {
		w.exists()
		return w.tasks("qmclone") == 1 && w.m.Observation().Annotations[object.AnnotationUUID] != ""
	})
	uuid := w.m.GetAnnotations()[object.AnnotationUUID]
	w.reannotate(func(a map[string]string) { clear(a) })
	w.eventually("its identity is kept", func() bool { w.exists(); return w.m.GetAnnotations()[object.AnnotationUUID] == uuid })
	w.ready()
	if ours := w.ours(); !slices.Equal(ours, []int{10000}) || w.tasks("qmclone") != 1 {
		w.Errorf("want one VM, got %v:\n%s", ours, w)
	}
	w.finish()
}

func unnamed(w *world) {
	w.create(ubuntu())
	w.ready()
	uuid := w.vm().Config["smbios1"]
	w.reannotate(func(a map[string]string) { delete(a, meta.AnnotationKeyExternalName) })
	w.eventually("the Machine is named again", func() bool { w.exists(); return meta.GetExternalName(w.m) == "10000" })
	w.ready()
	w.keeps(uuid)
	w.finish()
}

func unplugged(w *world) {
	spec := ubuntu()
	spec.Networks = []v1alpha1.MachineNetwork{{Name: "lan"}, {Name: "dmz", Bridge: new("vmbr1")}}
	w.create(spec)
	w.ready()
	before := w.vm().Config["net1"]
	w.eventually("the MAC address is kept", func() bool {
		w.exists()
		return strings.Contains(w.m.GetAnnotations()[object.AnnotationDevices], `"macs":`)
	})
	if err := w.admin.Configure(w.Context(), w.ref(), proxmox.Change{Delete: []string{"net1"}}); err != nil {
		w.Fatal(err)
	}
	w.eventually("the network is back as it was", func() bool { return w.vm().Config["net1"] == before })
	w.ready()
	w.finish()
}

func misnamed(w *world) {
	w.create(ubuntu())
	w.ready()
	uuid, n := w.vm().Config["smbios1"], len(w.writes())
	for _, name := range []string{"20000", strconv.Itoa(router)} {
		w.reannotate(func(a map[string]string) { a[meta.AnnotationKeyExternalName] = name })
		w.says(xpv2.TypeReady, conditions.ReasonOwnershipConflict, `is "`+name+`", but the VM of this Machine is VM 10000`)
	}
	w.delete()
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "is VM 10000, and is left alone: set the annotation back")
	w.keeps(uuid)
	if got := w.writes(); len(got) != n {
		w.Errorf("want no write:\n%s", w)
	}
	w.reannotate(func(a map[string]string) { a[meta.AnnotationKeyExternalName] = "10000" })
	w.gone()
	if ours := w.ours(); len(ours) > 0 {
		w.Errorf("VMs %v are left", ours)
	}
}

func misdeleted(w *world) {
	spec := ubuntu()
	spec.Protection = new(true)
	w.create(spec)
	w.ready()
	w.delete()
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "is protected")
	w.reannotate(func(a map[string]string) { clear(a) })
	w.change(func(p *v1alpha1.MachineParameters) { p.Protection = new(false) })
	w.gone()
	if ours := w.ours(); len(ours) > 0 {
		w.Errorf("VMs %v are left", ours)
	}
}

func reidentified(w *world) {
	w.create(ubuntu())
	w.ready()
	n := len(w.writes())
	other := proxmox.Change{Set: proxmox.Params{"smbios1": "uuid=11111111-1111-4111-8111-111111111111"}}
	if err := w.admin.Configure(w.Context(), w.ref(), other); err != nil {
		w.Fatal(err)
	}
	w.says(xpv2.TypeReady, conditions.ReasonOwnershipConflict, "is not this resource's")
	w.delete()
	w.gone()
	if got := w.writes(); len(got) != n || len(w.ours()) != 1 {
		w.Errorf("want it left alone:\n%s", w)
	}
}

func templated(w *world) {
	w.create(ubuntu())
	w.ready()
	n := len(w.writes())
	w.tamper(func(g *simulator.Guest) { g.Config["template"], g.Power = "1", simulator.Stopped })
	w.says(xpv2.TypeReady, conditions.ReasonPowerMismatch, "is a template, which cannot run")
	w.unchanged()
	if got := w.writes(); len(got) != n {
		w.Errorf("want no write:\n%s", w)
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateStopped) })
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = nil })
	w.says(xpv2.TypeReady, conditions.ReasonPowerMismatch, "is a template, which cannot run")
	w.tamper(func(g *simulator.Guest) { delete(g.Config, "template") })
	w.eventually("the VM runs again", func() bool { return w.vm().Power == simulator.Running })
	w.ready()
	w.finish()
}

func hibernated(w *world) {
	w.create(ubuntu())
	w.ready()
	w.ended(w.admin.Suspend(w.Context(), w.ref(), proxmox.SuspendOptions{ToDisk: true}))
	w.eventually("the VM is resumed", func() bool { return w.vm().Power == simulator.Running && w.vm().Config["lock"] == "" })
	w.ready()
	w.finish()
}

func copied(w *world) {
	w.create(ubuntu())
	w.ready()
	uuid := w.vm().Config["smbios1"]
	w.ended(w.admin.Clone(w.Context(), w.ref(), proxmox.CloneOptions{NewID: 10001, Full: new(true)}))
	w.unchanged()
	theirs, ok := w.pve.Guest(10001)
	if !ok || theirs.Config["smbios1"] == uuid || w.vm().Config["smbios1"] != uuid {
		w.Errorf("want a clone with another identity, got %v", theirs.Config)
	}
	w.delete()
	w.gone()
	if ours := w.ours(); !slices.Equal(ours, []int{10001}) {
		w.Errorf("want the clone alone to be left, got %v", ours)
	}
}

// archive creates a backup of the VM manually, and returns its volume.
func (w *world) archive() (volume string) {
	w.Helper()
	w.do(http.MethodPost, "/nodes/"+w.ref().Node+"/vzdump", url.Values{"vmid": {"10000"}, "storage": {"nfs"}, "mode": {"snapshot"}})
	w.eventually("there is a backup", func() bool {
		w.pve.Edit(func(s *simulator.State) {
			for key := range s.Volumes {
				if strings.Contains(key.Name, "vzdump-qemu-10000") {
					volume = key.Storage + ":" + key.Name
				}
			}
		})
		return volume != "" && w.vm().Config["lock"] == ""
	})
	return volume
}

// restore restores the VM in place from a backup, while its Machine is paused.
func (w *world) restore(options proxmox.Params) {
	w.Helper()
	options["archive"] = w.archive()
	w.annotate(meta.AnnotationKeyReconciliationPaused, "true")
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcilePaused, "")
	w.ended(w.admin.Stop(w.Context(), w.ref(), proxmox.StopOptions{}))
	options["force"] = "1"
	w.ended(w.admin.Create(w.Context(), w.ref(), options))
	w.annotate(meta.AnnotationKeyReconciliationPaused, "false")
}

func restored(w *world) {
	w.create(ubuntu())
	w.ready()
	uuid := w.vm().Config["smbios1"]
	w.restore(proxmox.Params{})
	w.change(func(p *v1alpha1.MachineParameters) { p.Tags = []string{"later"} })
	w.eventually("the VM is as the spec wants it", func() bool { return w.vm().Config["tags"] == "later" && w.vm().Power == simulator.Running })
	w.ready()
	w.keeps(uuid)
	w.finish()
}

// overlaid restores backups over the VM, the last of which fails.
func overlaid(w *world) {
	spec := ubuntu()
	spec.RunStrategy = new("Halted")
	w.create(spec)
	w.ready()
	uuid := w.vm().Config["smbios1"]
	over := proxmox.Params{"archive": w.archive(), "force": "1"}
	n := len(w.writes())
	begin := func() {
		if _, err := w.admin.Create(w.Context(), w.ref(), over); err != nil {
			w.Fatal(err)
		}
	}
	release := w.pve.Inject(simulator.Fault{Task: "qmrestore", Count: 1, Hold: true})
	begin()
	w.says(xpv2.TypeReady, conditions.ReasonLocked, "somebody restores a backup over VM 10000")
	if c := w.m.GetCondition(xpv2.TypeSynced); c.Status != corev1.ConditionTrue {
		w.Errorf("want no error, got %s", c.Message)
	}
	release()
	w.ready()
	w.keeps(uuid)
	mend := w.breakRestores()
	begin()
	w.says(xpv2.TypeReady, conditions.ReasonLocked, "restore a backup over VM 10000 once more")
	w.delete()
	w.says(xpv2.TypeReady, xpv2.ReasonDeleting, "restore a backup over VM 10000 once more")
	if got := w.writes(); len(got) != n || w.vm().Config["memory"] != "128" {
		w.Errorf("want no write, got:\n%s", w)
	}
	mend()
	begin()
	w.gone()
	if ours := w.ours(); len(ours) > 0 {
		w.Errorf("VMs %v are left", ours)
	}
}

func replaced(w *world) {
	w.create(ubuntu())
	w.ready()
	w.restore(proxmox.Params{"unique": "1"})
	w.says(xpv2.TypeReady, conditions.ReasonOwnershipConflict, "is not this resource's")
	w.delete()
	w.gone()
	if ours := w.ours(); !slices.Equal(ours, []int{10000}) {
		w.Errorf("want it left alone, got %v", ours)
	}
}

func lockedAtDeletion(w *world) {
	w.create(ubuntu())
	w.ready()
	n := len(w.writes())
	// This is what qm set does, which the cluster's log reports. The VM is not read before its guest is asked to shut down unless a change is reported.
	if err := w.admin.Configure(w.Context(), w.ref(), proxmox.Change{Set: proxmox.Params{"lock": "backup"}}); err != nil {
		w.Fatal(err)
	}
	w.delete()
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "VM 10000 is locked (backup)")
	if got := w.writes(); len(got) != n {
		w.Errorf("want no write:\n%s", w)
	}
	w.tamper(func(g *simulator.Guest) { delete(g.Config, "lock") })
	w.gone()
	if ours := w.ours(); len(ours) > 0 {
		w.Errorf("VMs %v are left", ours)
	}
}

func waiting(w *world) {
	w.create(ubuntu())
	w.ready()
	n := len(w.writes())
	w.tamper(func(g *simulator.Guest) { g.Config["lock"] = "backup" })
	w.change(func(p *v1alpha1.MachineParameters) { p.OnBoot = new(true) })
	w.says(xpv2.TypeReady, xpv2.ReasonAvailable, "changes wait until the VM is no longer locked (backup)")
	w.unchanged()
	if got := w.writes(); len(got) != n {
		w.Errorf("want no write:\n%s", w)
	}
	w.tamper(func(g *simulator.Guest) { delete(g.Config, "lock") })
	w.eventually("the change is made", func() bool { return w.vm().Config["onboot"] == "1" })
	w.ready()
	if c := w.m.GetCondition(xpv2.TypeReady); c.Message != "" {
		w.Errorf("want no message any more, got %q", c.Message)
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateSuspended) })
	w.eventually("the VM is suspended", func() bool { return w.vm().Config["lock"] == "suspended" })
	w.change(func(p *v1alpha1.MachineParameters) { p.OnBoot = new(false) })
	w.says(xpv2.TypeReady, xpv2.ReasonAvailable, "changes wait until the VM is resumed")
	w.finish()
}

func fixed(w *world) {
	w.create(ubuntu(), func(m machine.Machine) {
		m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionDelete})
	})
	w.says(xpv2.TypeReady, xpv2.ReasonCreating, "managementPolicies do not include Update")
	w.unchanged()
	if n := len(w.writes()); n != 1 {
		w.Errorf("want one write:\n%s", w)
	}
	w.finish()
}

func missed(w *world) {
	w.create(v1alpha1.MachineParameters{}, adopting, func(m machine.Machine) {
		m.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionUpdate})
	})
	w.ready()
	ref := proxmox.Ref{Node: w.router().Node, VMID: router}
	w.ended(w.admin.Stop(w.Context(), ref, proxmox.StopOptions{}))
	w.ended(w.admin.Delete(w.Context(), ref, proxmox.DeleteOptions{}))
	w.says(xpv2.TypeReady, xpv2.ReasonUnavailable, "VM 100 does not exist, and managementPolicies leave out Create")
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileSuccess, "")
	if writes := w.writes(); len(writes) > 0 {
		w.Errorf("want no write:\n%s", w)
	}
	w.delete()
	w.gone()
}

func repointed(w *world) {
	w.create(ubuntu())
	w.ready()
	uuid := w.vm().Config["smbios1"]
	scenario, err := simulator.Quickstart()
	if err != nil {
		w.Fatal(err)
	}
	scenario.Cluster = "other"
	other := simulatortest.NewTest(w.T, simulator.Options{Scenario: scenario, Speed: 1})
	w.lead(other)
	w.says(xpv2.TypeReady, conditions.ReasonClusterMismatch, `VM 10000 is in the cluster "demo", and not looked for in "other"`)
	w.delete()
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, `is in the cluster "demo"`)
	if tasks := other.Tasks(); len(tasks) > 0 {
		w.Errorf("want nothing done to the other cluster, got %+v", tasks)
	}
	w.keeps(uuid)
	w.lead(w.pve)
	w.gone()
}

// lead makes the configuration lead to a cluster.
func (w *world) lead(to *simulator.Server) {
	w.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{
		"endpoints": []string{to.URL()}, "tls": map[string]string{"caCertificate": string(to.CA())},
	}})
	if err != nil {
		w.Fatal(err)
	}
	none := v1alpha1.ProviderConfigSpec{Credentials: v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{}}}
	if err := w.kube.Patch(w.Context(), w.scope.config(w.meta(), none), client.RawPatch(types.MergePatchType, patch)); err != nil {
		w.Fatal(err)
	}
}

func silenced(w *world) {
	w.pve.Inject(simulator.Fault{
		Method: "GET", Path: "/nodes/{node}/qemu/{vmid}/agent/network-get-interfaces", Status: 403,
		Message: "Permission check failed (/vms/10000, VM.GuestAgent.Audit|VM.GuestAgent.Unrestricted)",
	})
	w.create(ubuntu())
	w.ready()
	w.says(conditions.TypeNetworkConfigured, conditions.ReasonWaitingForAddress, "cannot be asked for addresses: ")
	if c := w.m.GetCondition(conditions.TypeNetworkConfigured); !strings.Contains(c.Message, "VM.GuestAgent.Audit") {
		w.Errorf("want the privilege that is missing, got %q", c.Message)
	}
	w.pve.ClearFaults()
	w.says(conditions.TypeNetworkConfigured, conditions.ReasonNetworkReady, "")
	w.finish()
}

func expelled(w *world) {
	spec := ubuntu()
	spec.Placement = &v1alpha1.MachinePlacement{Nodes: []string{"pve2", "pve3"}}
	w.create(spec)
	w.ready()
	node := w.ref().Node
	w.pve.Edit(func(s *simulator.State) {
		delete(s.Guests, 10000)
		delete(s.Nodes, node)
	})
	w.eventually("there is another VM", func() bool {
		v, ok := w.pve.Guest(10000)
		return ok && v.Node != node && v.Power == simulator.Running
	})
	w.ready()
	w.finish()
}

func together(w *world) {
	w.create(ubuntu())
	w.ready()
	key := client.ObjectKeyFromObject(w.m)
	none := v1alpha1.ProviderConfigSpec{Credentials: v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{}}}
	config, secret := w.scope.config(w.meta(), none), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: w.name}}
	for _, o := range []client.Object{secret, config} {
		if err := w.kube.Delete(w.Context(), o); err != nil {
			w.Fatal(err)
		}
	}
	w.eventually("the configuration is gone", func() bool {
		for _, u := range w.usages() { // A reconcile of the Machine creates another one.
			if err := client.IgnoreNotFound(w.kube.Delete(w.Context(), u)); err != nil {
				w.Fatal(err)
			}
		}
		return kerrors.IsNotFound(w.kube.Get(w.Context(), client.ObjectKeyFromObject(config), config))
	})
	w.delete()
	w.gone()
	if ours := w.ours(); len(ours) > 0 {
		w.Errorf("%s has left VMs %v", key, ours)
	}
}

// usages returns the usages of the world's configuration.
func (w *world) usages() []client.Object {
	w.Helper()
	var found []client.Object
	clusters, namespaces := &cluster.ProviderConfigUsageList{}, &namespaced.ProviderConfigUsageList{}
	for _, list := range []client.ObjectList{clusters, namespaces} {
		if err := w.kube.List(w.Context(), list); err != nil {
			w.Fatal(err)
		}
	}
	for i, u := range clusters.Items {
		if u.ProviderConfigReference.Name == w.name {
			found = append(found, &clusters.Items[i])
		}
	}
	for i, u := range namespaces.Items {
		if u.ProviderConfigReference.Name == w.name {
			found = append(found, &namespaces.Items[i])
		}
	}
	return found
}

func (w *world) action(name, token string) string {
	w.Helper()
	w.change(func(p *v1alpha1.MachineParameters) {
		p.PowerAction = &v1alpha1.MachinePowerAction{Action: name, Token: token}
	})
	result := ""
	w.eventually("the result of "+name+" is shown", func() bool {
		w.exists()
		a := w.m.Observation().PowerAction
		if a != nil && a.Token == token {
			result = a.Result
		}
		return result != ""
	})
	return result
}

func actedRefused(w *world) {
	spec := ubuntu()
	spec.RunStrategy = new("Manual")
	w.create(spec)
	w.ready()
	for _, name := range []string{"Reboot", "Reset"} {
		if got := w.action(name, name+"-1"); !strings.Contains(got, "not running") {
			w.Errorf("%s of a VM that is off: %q", name, got)
		}
	}
	for i, name := range []string{"Start", "Start", "Reset", "Stop", "Stop"} {
		got := w.action(name, strconv.Itoa(i))
		if want := map[bool]string{true: "OK", false: "VM 10000 already running"}[i != 1]; got != want {
			w.Errorf("%d. %s: %q, want %q", i, name, got, want)
		}
	}
	w.grant("/", "PVESysAdmin")
	w.change(func(p *v1alpha1.MachineParameters) {
		p.HighAvailability = &v1alpha1.MachineHighAvailability{State: new("started")}
	})
	w.eventually("HA has started the VM", func() bool { return w.vm().Power == simulator.Running })
	w.ready()
	if got := w.action("Stop", "ha"); got != "OK" {
		w.Errorf("Stop of a VM that HA manages: %q", got)
	}
	w.finish()
}

func ignored(w *world) {
	w.grant("/", "PVESysAdmin")
	spec := ubuntu()
	spec.HighAvailability = &v1alpha1.MachineHighAvailability{State: new("ignored"), MaxRestart: new(int32(2))}
	w.create(spec)
	w.ready()
	n := len(w.writes())
	w.unchanged()
	w.change(func(p *v1alpha1.MachineParameters) { p.HighAvailability.MaxRestart = new(int32(3)) })
	w.ready()
	if got := w.writes(); len(got) != n+1 || got[n].Status != http.StatusOK {
		w.Errorf("want one write more:\n%s", w)
	}
	w.tamper(func(g *simulator.Guest) { g.Power = simulator.Stopped })
	w.eventually("the VM is started", func() bool { return w.vm().Power == simulator.Running })
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) {
		p.HighAvailability = &v1alpha1.MachineHighAvailability{Enabled: new(false)}
	})
	w.eventually("HA forgets the VM", func() bool {
		in := true
		w.pve.Edit(func(s *simulator.State) { in = s.HA["vm:10000"] != nil })
		return !in
	})
	w.ready()
	w.finish()
}

func givenUp(w *world) {
	w.grant("/", "PVESysAdmin")
	spec := ubuntu()
	spec.HighAvailability = &v1alpha1.MachineHighAvailability{}
	w.create(spec)
	w.eventually("HA has started the VM", func() bool { w.exists(); return w.m.Observation().VMID != nil && w.vm().Power == simulator.Running })
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.HighAvailability = nil })
	w.ready()
	n := len(w.writes())
	w.pve.Edit(func(s *simulator.State) {
		s.HA["vm:10000"].Failed, s.HAManager.Services["vm:10000"].State = true, "error"
		s.Guests[10000].Power = simulator.Stopped
	})
	w.says(xpv2.TypeReady, conditions.ReasonPowerMismatch, "high availability has given the VM up")
	w.unchanged()
	if got := w.writes(); len(got) != n {
		w.Errorf("want no write:\n%s", w)
	}
	w.tamper(func(g *simulator.Guest) { g.Power = simulator.Running })
	w.ready()
	w.finish()
}
