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
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"sigs.k8s.io/yaml"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// A cluster is a simulated cluster, with a separate client and inventory.
type cluster struct {
	*simulator.Server

	client    *proxmox.Client
	inventory *inventory.Cluster
	writes    atomic.Int32
	renewals  atomic.Int32 // of cloud-init drives
	vmids     int
}

func newCluster(t *testing.T, version string) *cluster {
	t.Helper()
	return clusterOf(t, simulator.Options{Version: version})
}

// clusterOf returns a cluster with options.
func clusterOf(t *testing.T, o simulator.Options) *cluster {
	t.Helper()
	c := &cluster{vmids: 10000}
	o.OnRequest = func(r simulator.Request) {
		switch {
		case r.Method == http.MethodGet, strings.HasSuffix(r.Path, "/access/ticket"):
		case strings.HasSuffix(r.Path, "/cloudinit"):
			c.renewals.Add(1)
		default:
			c.writes.Add(1)
		}
	}
	c.Server = simulatortest.NewTest(t, o)
	c.connect(t)
	return c
}

// unreported are options with which the nodes of a cluster report their guests only when a test requests it.
func unreported() simulator.Options { return simulator.Options{Reports: 1000 * time.Hour} }

// report makes the nodes report their guests, and returns one guest from the cluster's list.
func (c *cluster) report(t *testing.T, vmid int) proxmox.Guest {
	t.Helper()
	c.Edit(func(*simulator.State) { c.Reported = time.Time{} })
	return c.row(t, vmid)
}

// row returns the current entry of a guest in the cluster's list.
func (c *cluster) row(t *testing.T, vmid int) proxmox.Guest {
	t.Helper()
	all, err := c.inventory.Guests(t.Context(), inventory.Fresh)
	g, ok := proxmox.GuestOf(all, vmid)
	if err != nil || !ok {
		t.Fatalf("guest %d is not listed: %v", vmid, err)
	}
	return g
}

// connect connects to the cluster as a provider does that knows nothing of it.
func (c *cluster) connect(t *testing.T) {
	t.Helper()
	var err error
	c.client, err = proxmox.New(proxmox.Config{
		Endpoints: []string{c.URL()}, TLS: proxmox.TLS{CA: c.CA()},
		Credentials: proxmox.Credentials{Username: "root@pam", Password: simulatortest.RootPassword},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.inventory = inventory.New(
		c.client, inventory.WithMaxAge(10*time.Millisecond), inventory.WithEventPollInterval(10*time.Millisecond),
		inventory.WithPollInterval(time.Millisecond),
	)
	t.Cleanup(c.client.Close)
	t.Cleanup(c.inventory.Close)
}

// A rig drives one Machine on a cluster.
type rig struct {
	*bench
	*cluster

	t *testing.T
}

func (c *cluster) rig(t *testing.T) *rig {
	t.Helper()
	c.vmids++
	id, vmid := strconv.Itoa(c.vmids), c.vmids
	b := newBench(t, func(m *namespaced.Machine) {
		meta.SetExternalName(m, id)
		meta.AddAnnotations(m, map[string]string{object.AnnotationAllocated: id})
	})
	t.Cleanup(func() { // The longer the lists, the longer everything takes.
		c.Edit(func(st *simulator.State) { delete(st.Guests, vmid) })
	})
	return &rig{bench: b, cluster: c, t: t}
}

func (r *rig) vmid() int { return r.vmids }

// config returns the VM's configuration with its pending changes, and these changes.
func (r *rig) config() (config, pending map[string]string) {
	r.Edit(func(st *simulator.State) {
		g := st.Guests[r.vmid()]
		config, pending = map[string]string{}, map[string]string{}
		for k, v := range g.Config {
			config[k] = strings.TrimSpace(v)
		}
		for k, v := range g.Pending {
			config[k], pending[k] = v, v
		}
		for k := range g.Delete {
			delete(config, k)
			pending[k] = ""
		}
	})
	return config, pending
}

// settle reconciles until nothing is left to do, and returns how many writing calls that took.
func (r *rig) settle(spec v1alpha1.MachineParameters) int {
	r.t.Helper()
	r.m.Spec.ForProvider = spec
	before := r.writes.Load()
	for range 100 {
		e := r.external()
		e.connectTo(r.client, r.inventory)
		e.checks.Superuser = true
		wrote := r.writes.Load()
		s := r.reconcileWith(r.t.Context(), e)
		if s.err != nil {
			r.t.Fatalf("cannot reconcile: %v", s.err)
		}
		if r.writes.Load() > wrote {
			r.await()
			continue
		}
		if s.exists && s.upToDate && len(r.m.Status.AtProvider.Difference) == 0 { // Otherwise a task that has ended is still listed as running.
			return int(r.writes.Load() - before)
		}
	}
	r.t.Fatalf("not up to date after a hundred reconciles: %+v", r.m.Status.AtProvider.Difference)
	return 0
}

// await waits for the end of what was begun: other signs wake the Machine too.
func (r *rig) await() {
	for <-r.woken; r.tasks.Running(r.m, nil); {
		<-r.woken
	}
}

// An optionCase tests one option of PVE from its first value to its removal. The specs are YAML. In the values of the option, VOL stands for the
// volume of a disk. An empty value means that the option is to be removed.
type optionCase struct {
	option string

	// with is part of all specs.
	with string

	first, firstValue   string
	second, secondValue string
	none, noneValue     string

	// live is true for a change that a running VM applies at once.
	live bool
	// guest is true for an option that cloud-init passes to the guest.
	guest bool
	// only is the version that knows the option.
	only string
}

func (c optionCase) name() string {
	return c.option + "_" + regexp.MustCompile(`[^a-zA-Z0-9]+`).ReplaceAllString(c.first, "_")
}

func parameters(t *testing.T, parts ...string) v1alpha1.MachineParameters {
	t.Helper()
	p := v1alpha1.MachineParameters{}
	if err := yaml.UnmarshalStrict([]byte(strings.Join(parts, "\n")), &p); err != nil {
		t.Fatalf("cannot read %q: %v", parts, err)
	}
	return p
}

func (r *rig) expect(option, want string) {
	r.t.Helper()
	config, _ := r.config()
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(want), "VOL", `[a-z-]+:vm-\d+-disk-\d+`) + "$"
	if !regexp.MustCompile(pattern).MatchString(config[option]) {
		r.t.Errorf("%s: want %q, got %q", option, want, config[option])
	}
}

// to reconciles a spec that changes the option in one call, and checks that nothing is then left to do.
func (r *rig) to(option, value string, spec v1alpha1.MachineParameters) {
	r.t.Helper()
	if n := r.settle(spec); n != 1 {
		r.t.Errorf("the change to %q took %d calls that write, want 1", value, n)
	}
	r.expect(option, value)
	if n := r.settle(spec); n != 0 {
		r.t.Errorf("with %q, %d calls wrote although nothing had changed", value, n)
	}
}

func (r *rig) live(power string, c optionCase) {
	r.t.Helper()
	_, pending := r.config()
	_, waits := pending[c.option]
	if power == "Running" && waits == c.live {
		r.t.Errorf("the change of the running VM: want live %t, got pending %t", c.live, waits)
	}
}

func (r *rig) run(c optionCase, power string) {
	with := []string{"powerState: " + power, c.with}
	if first := parameters(r.t, append(with, c.first)...); r.settle(first) > 0 {
		r.expect(c.option, c.firstValue)
		if n := r.settle(first); n != 0 {
			r.t.Errorf("%d calls wrote to a VM that was just created", n)
		}
	}
	renewals := r.renewals.Load()
	r.to(c.option, c.secondValue, parameters(r.t, append(with, c.second)...))
	r.live(power, c)
	if renewed := r.renewals.Load() > renewals; renewed != (c.guest && power == "Running") {
		r.t.Errorf("the cloud-init drive was renewed: %t", renewed)
	}
	if c.none != "" {
		r.to(c.option, c.noneValue, parameters(r.t, append(with, c.none)...))
	}
	if n := r.settle(parameters(r.t, with...)); n != 0 && !strings.Contains(c.first, "{name:") {
		r.t.Errorf("%d calls wrote when the option was no longer declared", n)
	}
}

func optionCases() []optionCase {
	return slices.Concat(scalarCases(), composedCases(), diskCases(), cdromCases(), networkCases(), ipConfigCases(), deviceCases(), extraCases())
}

// TestEveryOptionHasACase checks that each option that a spec with every field asks for has a case. A new field needs one too.
func TestEveryOptionHasACase(t *testing.T) {
	text, err := os.ReadFile("../../../apis/testdata/every-field.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := parameters(t, string(text))
	d := qemu.Desired{MachineParameters: &p, Identity: qemu.Identity{VMID: 10000, UUID: ourUUID}}
	if d.Devices, err = (qemu.Devices{}).Assign(&p, nil); err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, c := range optionCases() {
		tried[strings.TrimRight(c.option, "0123456789")] = true
	}
	for option := range d.Difference(nil).Set {
		if !tried[strings.TrimRight(option, "0123456789")] {
			t.Errorf("no case has %s", option)
		}
	}
}

func TestEveryOption(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			c := newCluster(t, version)
			for _, o := range optionCases() {
				if o.only != "" && o.only != version {
					continue
				}
				for _, power := range []string{"Stopped", "Running"} {
					t.Run(o.name()+"/"+power, func(t *testing.T) { c.rig(t).run(o, power) })
				}
			}
		})
	}
}

// TestBootOrderBeforeStart checks that a VM starts with its boot order, though PVE drops the boot order of a change that adds a drive for removable media.
func TestBootOrderBeforeStart(t *testing.T) {
	const spec = "disks: [{name: root, size: 1G}]\nnetworks: [{name: lan}]"
	r := newCluster(t, "9.2").rig(t)
	r.settle(parameters(t, spec, "powerState: Stopped"))
	last := parameters(t, spec, "powerState: Running", "bootOrder: [lan]", "cdroms: [{name: a, type: sata}]")
	if n := r.settle(last); n != 3 {
		t.Errorf("the drive, the order and the start took %d calls that write, want 3", n)
	}
	r.expect("boot", "order=net0")
	if _, pending := r.config(); len(pending) > 0 {
		t.Errorf("the VM has started before it had its boot order: %v is pending", pending)
	}
	if n := r.settle(last); n != 0 {
		t.Errorf("%d calls wrote when nothing was left to do", n)
	}
}

// TestFirmwareMoves checks that the disks of the firmware move to another storage, and that the state of a TPM moves only while the VM is stopped.
func TestFirmwareMoves(t *testing.T) {
	const spec = "powerState: Stopped\nbios: ovmf\nefiDisk: {storage: STORAGE}\ntpm: {storage: STORAGE}"
	at := func(storage string) v1alpha1.MachineParameters {
		return parameters(t, strings.ReplaceAll(spec, "STORAGE", storage))
	}
	r := newCluster(t, "9.2").rig(t)
	r.settle(at("local-lvm"))
	if n := r.settle(at("ceph")); n != 2 {
		t.Errorf("moving both disks took %d calls that write, want 2", n)
	}
	if config, _ := r.config(); !strings.HasPrefix(config["efidisk0"], "ceph:") || !strings.HasPrefix(config["tpmstate0"], "ceph:") {
		t.Errorf("the disks are %q and %q, want them on ceph", config["efidisk0"], config["tpmstate0"])
	}
	r.expect("efidisk0", "VOL,efitype=4m,size=528K")
	r.expect("tpmstate0", "VOL,size=4M,version=v2.0")
	if n := r.settle(at("ceph")); n != 0 {
		t.Errorf("%d calls wrote when both disks had moved", n)
	}
}
