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

package machine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/ipam"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
)

const (
	oneKey   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPEVXq6hbhApzpH+Wpd82EF2IoKl/eJXORNjzBf9plsI a"
	otherKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMMHbuapCYhEDfRYHwyCRcTRGaV00bFEkYTHwlpPtwVR c"

	// generatedPassword has the form of a generated password.
	generatedPassword = "ABCDEFGHIJKLM-abcdefghijklm"
)

// settledUsual has a VM with what most VMs have, as its Machine has it, whose evaluation is kept if it lasts. Uploaded images are put into its drive.
func settledUsual(t *testing.T, change func(*namespaced.Machine), before func(*bench)) *bench {
	t.Helper()
	b := usualOptions(t)
	change(b.m)
	named := metav1.ObjectMeta{Namespace: "team", Name: "data", UID: "s"}
	connection := metav1.ObjectMeta{Namespace: "team", Name: "connection", UID: "c", OwnerReferences: []metav1.OwnerReference{
		meta.AsController(meta.TypedReferenceTo(b.m, namespaced.MachineGroupVersionKind)),
	}}
	for _, o := range []client.Object{
		&corev1.Secret{ObjectMeta: named, Data: map[string][]byte{"password": []byte("one"), "user": []byte("#cloud-config\n"), "more": []byte("a")}},
		&corev1.ConfigMap{ObjectMeta: named, Data: map[string]string{"keys": oneKey}},
		&corev1.Secret{ObjectMeta: connection, Data: map[string][]byte{"password": []byte(generatedPassword)}},
		&namespaced.NodeNetwork{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "lan"}, Spec: namespaced.NodeNetworkSpec{
			ForProvider: v1alpha1.NodeNetworkParameters{Node: "pve1", Interface: "vmbr0", Type: "bridge"},
		}},
	} {
		if err := b.kube.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	before(b)
	for i := 0; i < 5 || i < 20 && b.settled.Evaluated(b.m) == nil; i++ {
		b.settle(t)
	}
	b.writes = nil
	return b
}

// settle reconciles the Machine and lets a minute pass, in which tasks end.
func (b *bench) settle(t *testing.T) {
	t.Helper()
	b.reconcile(t.Context())
	for u := range b.ends {
		b.end(t, u, "OK")
		for b.tasks.Running(b.m, nil) {
			<-b.woken
		}
		delete(b.ends, u)
	}
	if images := b.volumes["pve1"]; len(images) > 0 {
		b.vms[10000].config["ide2"] = images[len(images)-1] + ",media=cdrom"
	}
	b.runOn(time.Minute)
	for len(b.woken) > 0 {
		<-b.woken
	}
}

// edit edits an object as a user does.
func edit[T client.Object](t *testing.T, b *bench, o T, name string, change func(T)) {
	t.Helper()
	if err := b.kube.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: name}, o); err != nil {
		t.Fatal(err)
	}
	change(o)
	if err := b.kube.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// setData sets a key of the Secret that the usual VM refers to.
func setData(key, text string) func(*testing.T, *bench) {
	return func(t *testing.T, b *bench) {
		t.Helper()
		edit(t, b, &corev1.Secret{}, "data", func(s *corev1.Secret) { s.Data[key] = []byte(text) })
	}
}

// tenantOf assigns the VM to a tenant, next to another tenant.
func tenantOf(change func(t, other *v1alpha1.ProviderTenant)) func(*bench) {
	return func(b *bench) {
		t := v1alpha1.ProviderTenant{Name: "team", Namespaces: []string{"team"}, Pools: []string{"team"}, Storages: []string{"local-lvm", "files"}}
		other := v1alpha1.ProviderTenant{Name: "other", Namespaces: []string{"other"}, Pools: []string{"other"}}
		change(&t, &other)
		b.tenant, _ = tenancy.Of([]v1alpha1.ProviderTenant{t, other}, tenancy.Subject{Namespace: "team"})
		b.vms[10000].pool = "team"
		if t.Allow != nil {
			b.vms[10000].config["tags"] = t.Allow.AdoptTags[0]
		}
	}
}

// renewed returns the calls that change an option of cloud-init of a running VM.
func renewed(option string) []string {
	return []string{"Configure 10000 set " + option + " delete  digest d1", "RenewCloudInit 10000"}
}

// A usualCase is a change that an evaluation of the usual VM must detect, or none.
type usualCase struct {
	reason string
	spec   func(*v1alpha1.MachineParameters)
	before func(*bench)
	change func(*testing.T, *bench)
	holds  bool
	never  bool // An evaluation is not even kept before the change.

	// writes that follow from the change, and part of the condition UpToDate or of the error of the reconcile.
	writes []string
	says   string
}

// cloudInit returns a spec with data of cloud-init.
func cloudInit(c v1alpha1.MachineCloudInit) func(*v1alpha1.MachineParameters) {
	return func(p *v1alpha1.MachineParameters) { p.CloudInit = &c }
}

func TestUsualEvaluationHolds(t *testing.T) {
	nothing := func(*testing.T, *bench) {}
	secret := &v1alpha1.SecretKeyReference{Name: "data", Key: "password"}
	password := cloudInit(v1alpha1.MachineCloudInit{User: new("joe"), PasswordSecretRef: secret})
	keys := cloudInit(v1alpha1.MachineCloudInit{User: new("joe"), SSHKeyConfigMapRefs: []v1alpha1.SecretKeyReference{{Name: "data", Key: "keys"}}})
	hasKeys := func(b *bench) {
		b.vms[10000].config["sshkeys"] = strings.NewReplacer(" ", "%20", "/", "%2F", "+", "%2B").Replace(oneKey)
	}
	for name, tc := range map[string]usualCase{
		"Nothing": {reason: "Data of cloud-init in the spec are evaluated once.", change: nothing, holds: true},
		"Read": {
			reason: "A VM that was read and is as it was need not be evaluated again.", holds: true,
			change: func(_ *testing.T, b *bench) { b.touch() },
		},
		"By hand": {
			reason: "Somebody changed an option of cloud-init in Proxmox VE.", writes: renewed("ciuser"),
			change: func(_ *testing.T, b *bench) {
				b.vms[10000].config["ciuser"] = "eve"
				b.touch()
			},
		},
		"Drive by hand": {
			reason: "Somebody removed the drive of cloud-init.", writes: []string{"ConfigureAsync 10000 set ide2 delete  digest d1"},
			change: func(_ *testing.T, b *bench) {
				delete(b.vms[10000].config, "ide2")
				b.touch()
			},
		},
		"Password": {reason: "The Secret of a password that was sent is as it was.", spec: password, change: nothing, holds: true},
		"Another password": {
			reason: "Another password is sent.", spec: password, change: setData("password", "two"),
			writes: renewed("cipassword"),
		},
		"Same password": {reason: "Another version of the Secret is noted.", spec: password, change: setData("more", "b")},
		"No password": {
			reason: "The Secret of the password is gone.", spec: password, says: "Secret team/data not found",
			change: func(t *testing.T, b *bench) {
				t.Helper()
				if err := b.kube.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "data"}}); err != nil {
					t.Fatal(err)
				}
			},
		},
		"Keys": {reason: "The ConfigMap of SSH keys is as it was.", spec: keys, before: hasKeys, change: nothing, holds: true},
		"Other keys": {
			reason: "Other SSH keys are given to the VM.", spec: keys, before: hasKeys, writes: renewed("sshkeys"),
			change: func(t *testing.T, b *bench) {
				t.Helper()
				edit(t, b, &corev1.ConfigMap{}, "data", func(c *corev1.ConfigMap) { c.Data["keys"] = otherKey })
			},
		},
		"Retry": {
			reason: "A change that has failed is made again.", writes: renewed("ciuser"),
			change: func(t *testing.T, b *bench) {
				t.Helper()
				b.errs["Configure"] = refused(500, "no")
				b.vms[10000].config["ciuser"] = "eve"
				b.touch()
				if s := b.reconcile(t.Context()); s.err == nil {
					t.Fatal("The change has not failed.")
				}
				b.errs["Configure"], b.writes = nil, nil
				b.clock.wait(time.Minute)
			},
		},
		"Booting": {
			reason: "Whether a guest boots is seen in its first minute.", change: func(t *testing.T, b *bench) {
				t.Helper()
				b.vms[10000].now.Uptime = time.Second
				b.touch()
				b.reconcile(t.Context())
				b.reconcile(t.Context())
			},
		},
		"Networks": {
			reason: "The bridge of a NodeNetwork is as it was.", spec: networkRef, change: nothing, holds: true,
		},
		"Another bridge": {
			reason: "A NodeNetwork has another bridge.", spec: networkRef, says: "is not applied yet", change: func(t *testing.T, b *bench) {
				t.Helper()
				b.bridges = append(b.bridges, b.bridges[0])
				b.bridges[1].Name = "vmbr1"
				edit(t, b, &namespaced.NodeNetwork{}, "lan", func(n *namespaced.NodeNetwork) { n.Spec.ForProvider.Interface = "vmbr1" })
			},
		},
		"Addresses": {reason: "Other addresses of pools are told to the guest.", change: func(_ *testing.T, b *bench) {
			if k := b.settled.Evaluated(b.m); k != nil {
				k.Addresses = &ipam.Addresses{}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) { tc.run(t) })
	}
}

// networkRef makes the network of the usual VM name its bridge by a NodeNetwork.
func networkRef(p *v1alpha1.MachineParameters) {
	p.Networks[0].NetworkRef = &v1alpha1.MachineNetworkReference{Selector: &v1alpha1.NodeNetworkSelector{}}
}

func (tc usualCase) run(t *testing.T) {
	t.Helper()
	change, before := tc.spec, tc.before
	if change == nil {
		change = func(*v1alpha1.MachineParameters) {}
	}
	if before == nil {
		before = func(*bench) {}
	}
	b := settledUsual(t, func(m *namespaced.Machine) {
		m.SetWriteConnectionSecretToReference(&xpv2.LocalSecretReference{Name: "connection"})
		change(&m.Spec.ForProvider)
	}, before)
	if kept := b.settled.Evaluated(b.m) != nil; kept == tc.never {
		t.Fatalf("%s\nwant an evaluation kept before %t, got %t", tc.reason, !tc.never, kept)
	}
	tc.change(t, b)
	e := b.external()
	s := b.reconcileWith(t.Context(), e)
	if e.evaluated != tc.holds {
		t.Errorf("%s\nwant the evaluation to hold %t, got %t: %+v", tc.reason, tc.holds, e.evaluated, b.m.GetCondition(kind.TypeUpToDate))
	}
	if !slices.Equal(b.writes, tc.writes) {
		t.Errorf("%s\nwant writes %q, got %q", tc.reason, tc.writes, b.writes)
	}
	said := b.m.GetCondition(kind.TypeUpToDate).Message
	if s.err != nil {
		said = s.err.Error()
	}
	if !strings.Contains(said, tc.says) || tc.says == "" && s.err != nil {
		t.Errorf("%s\nwant said %q, got %q", tc.reason, tc.says, said)
	}
}

// TestUsualWindow checks that a restart waits for its maintenance window, and that a window without anything to do is not waited for.
func TestUsualWindow(t *testing.T) {
	window := func(p *v1alpha1.MachineParameters) { // The clock stands on a Friday at 8:00 UTC.
		p.MaintenanceWindow = &v1alpha1.MaintenanceWindow{Schedule: "0 9 * * *", DurationMinutes: 60}
	}
	pending := func(p *v1alpha1.MachineParameters) {
		window(p)
		restarting(p)
	}
	hasPending := func(b *bench) {
		b.vms[10000].config["cores"], b.vms[10000].pending = "1", map[string]string{"cores": "2"}
	}
	for name, tc := range map[string]usualCase{
		"Idle": {reason: "Without pending changes the window decides about nothing.", spec: window, change: func(*testing.T, *bench) {}, holds: true},
		"Before": {
			reason: "Pending changes wait for the window.", spec: pending, before: hasPending, never: true, change: func(*testing.T, *bench) {}, says: "window opens",
		},
		"Open": {
			reason: "A restart that waits for the maintenance window is made when that opens.", spec: pending, before: hasPending, never: true,
			writes: []string{"Reboot 10000 0s"},
			change: func(_ *testing.T, b *bench) { b.clock.wait(time.Hour) },
		},
		"Pending": {
			reason: "A change becomes pending while the window is open.", spec: window, writes: []string{"Reboot 10000 0s"},
			change: func(_ *testing.T, b *bench) {
				b.clock.wait(time.Hour)
				pending(&b.m.Spec.ForProvider)
				hasPending(b)
				b.touch()
			},
		},
	} {
		t.Run(name, func(t *testing.T) { tc.run(t) })
	}
}

// TestUsualTenant checks that the rules of a tenant count from the next reconcile on.
func TestUsualTenant(t *testing.T) {
	same := func(*v1alpha1.ProviderTenant, *v1alpha1.ProviderTenant) {}
	tagged := func(t, _ *v1alpha1.ProviderTenant) {
		t.Pools, t.Allow = []string{"elsewhere"}, &v1alpha1.TenantPermissions{AdoptTags: []string{"handed"}}
	}
	now := func(change func(t, other *v1alpha1.ProviderTenant)) func(*testing.T, *bench) {
		return func(_ *testing.T, b *bench) { tenantOf(change)(b) }
	}
	for name, tc := range map[string]usualCase{
		"Same": {reason: "The VM is the tenant's as it was.", before: tenantOf(same), change: now(same), holds: true},
		"Pools": {
			reason: "The pool of the VM is the tenant's no more.", before: tenantOf(same), says: "which is not the tenant's",
			change: now(func(t, _ *v1alpha1.ProviderTenant) { t.Pools = []string{"elsewhere"} }),
		},
		"Tags": {
			reason: "The VMs of the tenant carry another tag.", before: tenantOf(same), writes: []string{"Configure 10000 set tags delete  digest d1"},
			change: now(func(t, _ *v1alpha1.ProviderTenant) { t.Tags = []string{"gold"} }),
		},
		"Others": {
			reason: "The rules of another tenant count, which may have the VM as well.", before: tenantOf(same),
			change: now(func(_, other *v1alpha1.ProviderTenant) { other.Pools = []string{"other", "team"} }),
		},
		"Tag": {
			reason: "The tag that makes the VM the tenant's was taken away.", before: tenantOf(tagged), says: "which is not the tenant's",
			change: func(_ *testing.T, b *bench) { delete(b.vms[10000].config, "tags") },
		},
		"Would wait": {
			reason: "A quota that is only warned of may have room at any time.", never: true, change: func(*testing.T, *bench) {},
			before: func(b *bench) { tenancy.ShowAllowed(b.m, &quota.ExceededError{}) },
		},
		"Moved": {
			reason: "The VM was taken out of the pool.", before: tenantOf(same), says: "which is not the tenant's",
			change: func(_ *testing.T, b *bench) { b.vms[10000].pool = "" },
		},
	} {
		t.Run(name, func(t *testing.T) { tc.run(t) })
	}
}

// TestUsualImage covers data that needs a separate image.
func TestUsualImage(t *testing.T) {
	nothing := func(*testing.T, *bench) {}
	from := func(policy *string) func(*v1alpha1.MachineParameters) {
		return cloudInit(v1alpha1.MachineCloudInit{
			UserData: &v1alpha1.CloudInitData{SecretRef: &v1alpha1.SecretKeyReference{Name: "data", Key: "user"}}, ChangePolicy: policy,
		})
	}
	data, frozen := from(nil), from(new("Ignore"))
	withoutISO := func(_ *testing.T, b *bench) {
		for i := range b.storages {
			b.storages[i].Content = slices.DeleteFunc(slices.Clone(b.storages[i].Content), func(c string) bool { return c == "iso" })
		}
	}
	empty := func(b *bench) { b.vms[10000].config["ide2"] = "none,media=cdrom" }
	inSnapshot := func(b *bench) {
		b.m.Annotations[object.AnnotationImages] = "pve1=" + ourImage
		b.vms[10000].config["parent"] = "before"
		b.vms[10000].snapshots = map[string]map[string]string{"before": {"ide3": ourImage + ",media=cdrom"}}
	}
	for name, tc := range map[string]usualCase{
		"Nothing": {reason: "The image is as the Secret has it.", spec: data, before: empty, change: nothing, holds: true},
		"Other data": {
			reason: "Other data are uploaded.", spec: data, before: empty, change: setData("user", "#cloud-config\npackages: []\n"),
			writes: []string{"UploadISO pve1/files"},
		},
		"Ejected": {
			reason: "Somebody took the image out of its drive.", spec: data, before: empty, writes: []string{"Configure 10000 set ide2 delete  digest d1"},
			change: func(_ *testing.T, b *bench) {
				b.vms[10000].config["ide2"] = "none,media=cdrom"
				b.touch()
			},
		},
		"Storage": {
			reason: "The storage of an image holds none any more.", spec: data, before: empty, change: withoutISO,
			says: "no storage of node pve1 holds ISO images",
		},
		"Frozen":       {reason: "Data that are told the guest once are read no more.", spec: frozen, before: empty, change: setData("user", "#other"), holds: true},
		"Frozen there": {reason: "The storage of an image that stays decides about nothing.", spec: frozen, before: empty, change: withoutISO, holds: true},
		"In snapshot":  {reason: "An image that a snapshot has is looked at each time.", before: inSnapshot, change: nothing},
	} {
		t.Run(name, func(t *testing.T) { tc.run(t) })
	}
}

// TestUsualGeneratedPassword checks that a generated password is published as long as its evaluation holds, and replaced if its Secret was deleted.
func TestUsualGeneratedPassword(t *testing.T) {
	generated := func(m *namespaced.Machine) {
		m.SetWriteConnectionSecretToReference(&xpv2.LocalSecretReference{Name: "connection"})
		m.Spec.ForProvider.CloudInit = &v1alpha1.MachineCloudInit{User: new("joe"), GeneratePassword: new(true)}
	}
	b := settledUsual(t, generated, func(*bench) {})
	e := b.external()
	o, err := e.Observe(t.Context(), b.m)
	if err != nil || !e.evaluated || string(o.ConnectionDetails["password"]) != generatedPassword {
		t.Errorf("want the evaluation to hold with the password, got %t, %q and error %v", e.evaluated, o.ConnectionDetails["password"], err)
	}
	edit(t, b, &corev1.Secret{}, "connection", func(s *corev1.Secret) { delete(s.Data, "password") })
	if s := b.reconcile(t.Context()); s.err != nil || !slices.Equal(b.writes, renewed("cipassword")) {
		t.Errorf("want another password sent, got writes %q and error %v", b.writes, s.err)
	}
}

// TestUsualPowerAction checks that the result of a power action is waited for, and kept.
func TestUsualPowerAction(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		seen   *v1alpha1.MachinePowerActionObservation
		holds  bool
	}{
		"Done": {
			reason: "An action that is done decides about nothing.", holds: true,
			seen: &v1alpha1.MachinePowerActionObservation{Action: "Reboot", Token: "1", Result: "OK"},
		},
		"Runs": {
			reason: "The end of an action is looked for.",
			seen:   &v1alpha1.MachinePowerActionObservation{Action: "Reboot", Token: "1", UPID: string(upid("pve1", "qmreboot", 10000))},
		},
		"Never": {reason: "A Machine that never had one waits for none.", holds: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := settledUsual(t, func(m *namespaced.Machine) {
				if m.Status.AtProvider.PowerAction = tc.seen; tc.seen != nil {
					m.Annotations[object.AnnotationPowerAction] = "1"
				}
			}, func(b *bench) { b.errs["Task"] = refused(500, "no answer") })
			e := b.external()
			if _, err := e.Observe(t.Context(), b.m); err != nil || e.evaluated != tc.holds {
				t.Errorf("%s\nwant the evaluation to hold %t, got %t and error %v", tc.reason, tc.holds, e.evaluated, err)
			}
		})
	}
}
