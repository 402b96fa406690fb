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
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// TestBehindOurBack checks changes of others to a VM: it is changed back to what the spec says, or a condition explains why not.
func TestBehindOurBack(t *testing.T) {
	t.Parallel()
	runAll(t, map[string]scenario{
		"killed":    {reason: "A VM whose process was killed runs again.", run: killed},
		"paused":    {reason: "A VM that was paused runs on.", run: paused},
		"locked":    {reason: "A VM that is locked is not written to until it is not.", run: locked},
		"migrated":  {reason: "A VM that was moved is followed.", run: migrated},
		"edited":    {reason: "What was edited is as it should be again.", run: edited},
		"pended":    {reason: "An edit that waits for a restart is taken back without one.", run: pended},
		"detached":  {reason: "A disk that was detached by hand is attached again, with its volume.", run: detached},
		"swapped":   {reason: "Another VM that took the VMID is left alone.", run: swapped},
		"rolledbck": {reason: "A VM that was rolled back is as the spec wants it again.", run: rolledBack},
	})
}

func (w *world) tamper(change func(*simulator.Guest)) {
	id := w.vmid()
	w.pve.Edit(func(s *simulator.State) { change(s.Guests[id]) })
}

// web returns a client that trusts the cluster.
func (w *world) web() *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.pve.CA())
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true,
	}}
}

// do makes a call as the provider's user.
func (w *world) do(method, path string, form url.Values) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.pve.URL()+"/api2/json"+path, strings.NewReader(form.Encode()))
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Authorization", "PVEAPIToken="+simulatortest.TestToken+"="+simulatortest.TestSecret)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := w.web().Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // It was read.
	if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		w.Fatalf("%s %s: %s: %s", method, path, answer.Status, body)
	}
}

// ended waits until a task is done and succeeded.
func (w *world) ended(u proxmox.UPID, err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	w.eventually("the task ends", func() bool {
		t, err := w.admin.Task(w.Context(), u)
		if err != nil || t.Running {
			return false
		}
		if !t.OK() {
			w.Fatalf("%s: %s", t.Type, t.ExitStatus)
		}
		return true
	})
}

func killed(w *world) {
	w.create(ubuntu())
	w.ready()
	w.tamper(func(g *simulator.Guest) { g.Power = simulator.Stopped })
	w.eventually("the VM is started", func() bool { return w.vm().Power == simulator.Running })
	w.ready()
	if n := w.tasks("qmstart"); n != 2 {
		w.Errorf("want one more start:\n%s", w)
	}
}

func paused(w *world) {
	w.create(ubuntu())
	w.ready()
	w.ended(w.admin.Suspend(w.Context(), w.ref(), proxmox.SuspendOptions{}))
	w.eventually("the VM runs on", func() bool { return w.vm().Power == simulator.Running })
	w.ready()
	if w.tasks("qmresume") != 1 || w.tasks("qmstart") != 1 {
		w.Errorf("want it resumed, and nothing else:\n%s", w)
	}
}

func locked(w *world) {
	w.create(ubuntu())
	w.ready()
	w.tamper(func(g *simulator.Guest) { g.Config["lock"], g.Power = "backup", simulator.Stopped })
	n := len(w.writes())
	w.change(func(p *v1alpha1.MachineParameters) { p.OnBoot = new(true) })
	w.says(xpv2.TypeReady, conditions.ReasonLocked, "backup")
	w.unchanged()
	if got := w.writes(); len(got) != n {
		w.Errorf("a locked VM was written to: %v", got[n:])
	}
	w.tamper(func(g *simulator.Guest) { delete(g.Config, "lock") })
	w.eventually("what was held back is done", func() bool { return w.vm().Power == simulator.Running && w.vm().Config["onboot"] == "1" })
	w.ready()
}

func migrated(w *world) {
	spec := ubuntu()
	spec.Node = new("pve1")
	w.create(spec)
	w.ready()
	w.ended(w.admin.Migrate(w.Context(), w.ref(), proxmox.MigrateOptions{Target: "pve2", Online: true}))
	w.eventually("the VM is found where it is", func() bool { w.exists(); return w.m.Observation().Node == "pve2" })
	w.ready()
	w.unchanged()
	if n := w.tasks("qmigrate"); n != 1 || w.vm().Node != "pve2" {
		w.Errorf("want the VM followed:\n%s", w)
	}
}

func edited(w *world) {
	spec := ubuntu()
	spec.Tags, spec.Description = []string{"ours"}, new("ours")
	w.create(spec)
	w.ready()
	change := proxmox.Change{Set: proxmox.Params{"tags": "theirs", "description": "theirs", "onboot": "1"}}
	if err := w.admin.Configure(w.Context(), w.ref(), change); err != nil {
		w.Fatal(err)
	}
	w.eventually("what is declared is repaired", func() bool {
		return w.vm().Config["tags"] == "ours" && strings.TrimSpace(w.vm().Config["description"]) == "ours"
	})
	w.ready()
	if w.vm().Config["onboot"] != "1" {
		w.Error("what is not declared is left alone")
	}
}

func pended(w *world) {
	spec := ubuntu()
	spec.CPU, spec.RestartPolicy = &v1alpha1.MachineCPU{Cores: new(int32(2))}, new("WhenRequired")
	w.create(spec)
	w.ready()
	if err := w.admin.Configure(w.Context(), w.ref(), proxmox.Change{Set: proxmox.Params{"cores": "4"}}); err != nil {
		w.Fatal(err)
	}
	n := len(w.writes())
	w.eventually("nothing is pending", func() bool { return w.vm().Pending["cores"] == "" })
	w.says(conditions.TypeRestartRequired, conditions.ReasonUpToDate, "")
	if got := w.writes(); len(got) > n+1 || w.tasks("qmreboot") > 0 {
		w.Errorf("want one write and no restart:\n%s", w)
	}
}

func detached(w *world) {
	spec := ubuntu()
	spec.Disks = []v1alpha1.MachineDisk{{Name: "data", Device: new("scsi1"), Size: new("1G")}}
	w.create(spec)
	w.ready()
	before, _, _ := strings.Cut(w.vm().Config["scsi1"], ",")
	if err := w.admin.Configure(w.Context(), w.ref(), proxmox.Change{Delete: []string{"scsi1"}}); err != nil {
		w.Fatal(err)
	}
	w.eventually("the same volume is attached again", func() bool {
		return strings.HasPrefix(w.vm().Config["scsi1"], before) && w.vm().Config["unused0"] == ""
	})
}

func swapped(w *world) {
	w.create(ubuntu())
	w.ready()
	ref := w.ref()
	w.pve.Edit(func(s *simulator.State) { // In one step, so that the provider does not interfere.
		theirs := *s.Guests[ref.VMID]
		theirs.Config = map[string]string{"name": "theirs", "smbios1": "uuid=11111111-1111-4111-8111-111111111111"}
		s.Guests[ref.VMID] = &theirs
	})
	w.says(xpv2.TypeReady, conditions.ReasonOwnershipConflict, "is not this resource's")
	n := len(w.writes())
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateStopped) })
	w.says(xpv2.TypeReady, conditions.ReasonOwnershipConflict, "is not this resource's")
	w.delete()
	w.gone()
	if v, ok := w.pve.Guest(ref.VMID); !ok || v.Config["name"] != "theirs" || v.Power != simulator.Running || len(w.writes()) != n {
		w.Errorf("somebody else's VM was touched:\n%s", w)
	}
}

func rolledBack(w *world) {
	w.create(ubuntu())
	w.ready()
	path := "/nodes/" + w.ref().Node + "/qemu/10000/snapshot"
	w.do(http.MethodPost, path, url.Values{"snapname": {"before"}})
	w.eventually("the snapshot is made", func() bool { return w.vm().Snapshots["before"] != nil && w.vm().Config["lock"] == "" })
	w.change(func(p *v1alpha1.MachineParameters) { p.Tags = []string{"later"} })
	w.eventually("the VM is changed", func() bool { return w.vm().Config["tags"] == "later" })
	w.ready()
	w.do(http.MethodPost, path+"/before/rollback", nil)
	w.eventually("the VM was rolled back", func() bool { return w.tasks("qmrollback") == 1 })
	w.eventually("the VM is as the spec wants it", func() bool { return w.vm().Config["tags"] == "later" && w.vm().Power == simulator.Running })
	w.ready()
}

// TestOtherRequests checks what a spec may request in addition to options of the VM.
func TestOtherRequests(t *testing.T) {
	t.Parallel()
	runAll(t, map[string]scenario{
		"pause":    {reason: "A VM is paused, kept so, and shut down in good order.", run: pause},
		"suspend":  {reason: "A VM is suspended to disk and resumed.", run: suspend},
		"action":   {reason: "An action is done once.", run: act},
		"restarts": {reason: "What needs a restart gets one, once.", run: restarts},
		"booting": {
			reason: "A VM that is deleted while it boots is asked until it hears, and not stopped hard.",
			run:    deleteBooting,
		},
		"nosystem": {reason: "A VM without a system is stopped hard, at the time that is told.", run: deleteWithoutSystem},
		"haonce":   {reason: "High availability is asked once to stop a VM that is deleted.", run: deleteUnderHA},
		"deaf":     {reason: "A guest that does not hear the request is told of, and stopped hard once the spec says so.", run: restartsHard},
		"moves":    {reason: "A disk is moved, attached and destroyed.", run: moves},
		"migrates": {reason: "A VM migrates to the node of the spec.", run: migrates},
		"pooled":   {reason: "A VM is moved between pools.", run: pooled},
		"pooled8":  {reason: "A VM is moved between pools of PVE 8.", run: pooled, version: "8.4"},
		"ha":       {reason: "A VM is handed to HA and taken back.", run: handed},
		"ha8":      {reason: "A VM is handed to HA of PVE 8 and taken back.", run: handed, version: "8.4"},
	})
}

func pause(w *world) {
	w.create(ubuntu())
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStatePaused) })
	w.eventually("the VM is paused", func() bool { return w.vm().Power == simulator.Paused })
	w.ready()
	if o := w.m.Observation(); o.PowerState != "paused" || o.Phase != v1alpha1.MachineRunning {
		w.Errorf("want it shown, got %q and %q", o.PowerState, o.Phase)
	}
	w.ended(w.admin.Resume(w.Context(), w.ref()))
	w.eventually("the VM is paused again", func() bool { return w.vm().Power == simulator.Paused })
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateStopped) })
	w.eventually("the VM is off", func() bool { return w.vm().Power == simulator.Stopped })
	w.ready()
	if w.tasks("qmresume") != 2 || w.tasks("qmpause") != 2 || w.tasks("qmstop") != 0 {
		w.Errorf("want it resumed and shut down:\n%s", w)
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = nil })
	w.eventually("the VM runs", func() bool { return w.vm().Power == simulator.Running })
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStatePaused) })
	w.eventually("the VM is paused", func() bool { return w.vm().Power == simulator.Paused })
	w.finish()
}

func suspend(w *world) {
	w.create(ubuntu())
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateSuspended) })
	w.eventually("the VM is suspended", func() bool { return w.vm().Config["lock"] == "suspended" })
	w.ready()
	if w.m.Observation().PowerState != "suspended" {
		w.Errorf("want it shown, got %q", w.m.Observation().PowerState)
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = nil })
	w.eventually("the VM is resumed", func() bool { return w.vm().Power == simulator.Running && w.vm().Config["lock"] == "" })
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.PowerState = new(v1alpha1.PowerStateSuspended) })
	w.eventually("the VM is suspended", func() bool { return w.vm().Config["lock"] == "suspended" })
	w.ready()
	w.finish()
}

func act(w *world) {
	spec := ubuntu()
	spec.ShutdownTimeoutSeconds = new(int32(60))
	w.create(spec)
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) {
		p.PowerAction = &v1alpha1.MachinePowerAction{Action: "Reset", Token: "1"}
	})
	w.eventually("the result is shown", func() bool {
		w.exists()
		a := w.m.Observation().PowerAction
		return a != nil && a.Token == "1" && a.Result == "OK"
	})
	w.stop()
	w.start()
	w.unchanged()
	if n := w.tasks("qmreset"); n != 1 {
		w.Errorf("want one reset, got %d", n)
	}
}

func restarts(w *world) {
	spec := ubuntu()
	spec.ShutdownTimeoutSeconds, spec.RestartPolicy = new(int32(60)), new("WhenRequired")
	w.create(spec)
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.CPU = &v1alpha1.MachineCPU{Cores: new(int32(4))} })
	w.eventually("the VM is restarted with its changes", func() bool {
		return w.vm().Config["cores"] == "4" && w.vm().Power == simulator.Running && w.tasks("qmreboot") == 1
	})
	w.says(conditions.TypeRestartRequired, conditions.ReasonUpToDate, "")
	w.ready()
	w.says(kind.TypeUpToDate, kind.ReasonUpToDate, "")
	if n := w.tasks("qmreboot"); n != 1 {
		w.Errorf("want one restart, got %d", n)
	}
}

func deleteBooting(w *world) {
	spec := ubuntu()
	spec.ShutdownTimeoutSeconds = new(int32(600))
	w.create(spec)
	w.eventually("the VM runs", func() bool { return w.exists() && w.m.Observation().VMID != nil && w.vm().Power == simulator.Running })
	w.tamper(func(g *simulator.Guest) { g.Agent = &simulator.Agent{Missing: true, IgnoresShutdown: true} })
	w.delete()
	w.says(xpv2.TypeReady, xpv2.ReasonDeleting, "the guest is asked to shut down; the VM is stopped hard at ")
	w.says(kind.TypeUpToDate, xpv2.ReasonDeleting, "")
	w.eventually("the guest is asked again", func() bool { return w.tasks("qmshutdown") > 1 })
	w.tamper(func(g *simulator.Guest) { g.Agent = nil }) // It has booted.
	w.gone()
	for _, r := range w.writes() {
		if strings.HasSuffix(r.Path, "/status/stop") || r.Params["forceStop"] != "" {
			w.Errorf("want it shut down, got %s %v", r.Path, r.Params)
		}
	}
}

func deleteWithoutSystem(w *world) {
	spec := v1alpha1.MachineParameters{ShutdownTimeoutSeconds: new(int32(15))}
	spec.Disks = []v1alpha1.MachineDisk{{Name: "empty", Size: new("1G"), Storage: new("ceph")}}
	w.create(spec)
	w.eventually("the VM runs", func() bool { return w.exists() && w.m.Observation().VMID != nil && w.vm().Power == simulator.Running })
	w.tamper(func(g *simulator.Guest) { g.Agent = &simulator.Agent{Missing: true, IgnoresShutdown: true} })
	w.delete()
	w.says(xpv2.TypeReady, xpv2.ReasonDeleting, "the guest is asked to shut down; the VM is stopped hard at ")
	w.gone()
	forced := 0
	for _, r := range w.writes() {
		if strings.HasSuffix(r.Path, "/status/shutdown") && r.Params["forceStop"] == "1" {
			forced++
		}
	}
	if asked := w.tasks("qmshutdown"); asked != 2 || forced != 1 {
		w.Errorf("want the guest asked twice, the last time with a hard stop, got %d times, %d with one:\n%s", asked, forced, w)
	}
}

func deleteUnderHA(w *world) {
	w.grant("/", "PVESysAdmin")
	spec := ubuntu()
	spec.ShutdownTimeoutSeconds, spec.HighAvailability = new(int32(600)), &v1alpha1.MachineHighAvailability{}
	w.create(spec)
	w.ready()
	release := w.pve.Inject(simulator.Fault{Task: "qmshutdown", Hold: true})
	w.delete()
	w.says(xpv2.TypeReady, xpv2.ReasonDeleting, "high availability is to stop the VM")
	w.eventually("high availability shuts the guest down", func() bool { return w.tasks("qmshutdown") > 0 })
	for range 2 {
		before := w.looks()
		w.tamper(func(g *simulator.Guest) { g.Config["tags"] += "a" })
		w.eventually("the VM is looked at", func() bool { return w.looks() > before })
	}
	release()
	w.gone()
	if n := w.tasks("hastop"); n != 1 {
		w.Errorf("want one request, got %d:\n%s", n, w)
	}
}

func restartsHard(w *world) {
	spec := ubuntu()
	spec.ShutdownTimeoutSeconds, spec.RestartPolicy = new(int32(1)), new("WhenRequired")
	w.create(spec)
	w.ready()
	w.tamper(func(g *simulator.Guest) { g.Agent = &simulator.Agent{IgnoresShutdown: true} })
	w.change(func(p *v1alpha1.MachineParameters) { p.CPU = &v1alpha1.MachineCPU{Cores: new(int32(4))} })
	w.says(kind.TypeUpToDate, conditions.ReasonRestartFailed, "cores 2 → 4; waits for a restart of the VM: the VM was not restarted")
	w.says(
		conditions.TypeRestartRequired, conditions.ReasonRestartFailed,
		"the VM was not restarted: VM quit/powerdown failed - got timeout; it is asked for again at ",
	)
	if w.tasks("qmreboot") != 1 || w.tasks("qmstop") != 0 {
		w.Errorf("want the guest asked once and left alone:\n%s", w)
	}
	w.change(func(p *v1alpha1.MachineParameters) { p.RestartTimeoutSeconds = new(int32(2)) })
	w.eventually("the VM is restarted with its changes", func() bool {
		return w.vm().Config["cores"] == "4" && w.vm().Power == simulator.Running && w.tasks("qmstop") == 1
	})
	w.says(conditions.TypeRestartRequired, conditions.ReasonUpToDate, "")
	w.ready()
}

func moves(w *world) {
	spec := ubuntu()
	spec.Disks = []v1alpha1.MachineDisk{{Name: "data", Device: new("scsi1"), Size: new("1G"), Storage: new("local-lvm"), RemovalPolicy: new("Destroy")}}
	w.create(spec)
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks[0].Storage = new("ceph") })
	w.eventually("the disk is moved", func() bool { return strings.HasPrefix(w.vm().Config["scsi1"], "ceph:") })
	w.ready()
	if c := w.vm().Config; c["unused0"] != "" {
		w.Errorf("a copy is left: %v", c)
	}
	volume, _, _ := strings.Cut(w.vm().Config["scsi1"], ",")
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks[0].RemovalPolicy = nil })
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks = []v1alpha1.MachineDisk{} })
	w.eventually("the disk is detached", func() bool { return w.vm().Config["unused0"] == volume })
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) {
		p.Disks = []v1alpha1.MachineDisk{{Name: "again", Device: new("scsi2"), Volume: &volume, RemovalPolicy: new("Destroy")}}
	})
	w.eventually("the volume is attached", func() bool {
		return strings.HasPrefix(w.vm().Config["scsi2"], volume) && w.vm().Config["unused0"] == ""
	})
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.Disks = []v1alpha1.MachineDisk{} })
	w.eventually("the disk is destroyed", func() bool {
		there := false
		w.pve.Edit(func(s *simulator.State) {
			for key := range s.Volumes {
				there = there || key.Storage+":"+key.Name == volume
			}
		})
		return !there && w.vm().Config["scsi2"] == ""
	})
	w.ready()
	w.finish()
}

func migrates(w *world) {
	spec := ubuntu()
	spec.Node = new("pve1")
	spec.Disks = []v1alpha1.MachineDisk{{Name: "data", Device: new("scsi1"), Size: new("1G"), Storage: new("local-lvm")}}
	w.create(spec)
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.Node = new("pve2") })
	w.eventually("the VM is there", func() bool { return w.vm().Node == "pve2" && w.vm().Power == simulator.Running })
	w.ready()
	w.unchanged()
	w.change(func(p *v1alpha1.MachineParameters) { p.Node = new("pve9") })
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "node 'pve9' not found")
	if w.tasks("qmigrate") != 1 || w.tasks("qmstart") != 1 {
		w.Errorf("want one live migration:\n%s", w)
	}
}

// grant gives the provider's user another role.
func (w *world) grant(path, role string) {
	w.pve.Edit(func(s *simulator.State) {
		s.ACL = append(s.ACL, simulator.Grant{Path: path, Kind: "user", ID: "crossplane@pve", Role: role, Propagate: true})
	})
}

func handed(w *world) {
	w.create(ubuntu())
	w.ready()
	managed := func() bool {
		in := false
		w.pve.Edit(func(s *simulator.State) { in = s.HA["vm:10000"] != nil && s.HA["vm:10000"].State == "started" })
		return in
	}
	w.change(func(p *v1alpha1.MachineParameters) {
		p.HighAvailability = &v1alpha1.MachineHighAvailability{MaxRestart: new(int32(2))}
	})
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "Sys.Console")
	w.grant("/", "PVESysAdmin")
	w.eventually("HA manages the VM", managed)
	w.ready()
	w.unchanged()
	w.change(func(p *v1alpha1.MachineParameters) {
		p.HighAvailability = &v1alpha1.MachineHighAvailability{Enabled: new(false)}
	})
	w.eventually("HA forgets the VM", func() bool { return !managed() })
	w.ready()
	w.change(func(p *v1alpha1.MachineParameters) { p.HighAvailability = &v1alpha1.MachineHighAvailability{} })
	w.eventually("HA manages the VM", managed)
	w.ready()
	w.finish()
	if managed() {
		w.Error("HA still knows the VM")
	}
}

func pooled(w *world) {
	w.create(ubuntu())
	w.ready()
	pools := func() []string {
		var in []string
		w.pve.Edit(func(s *simulator.State) {
			for id, p := range s.Pools {
				if p.VMs[w.vmid()] {
					in = append(in, id)
				}
			}
		})
		return in
	}
	w.grant("/pool", "PVEPoolAdmin")
	w.change(func(p *v1alpha1.MachineParameters) { p.Pool = new("crossplane") })
	w.eventually("the VM is in the pool", func() bool { return slices.Equal(pools(), []string{"crossplane"}) })
	w.ready()
	w.unchanged()
	w.change(func(p *v1alpha1.MachineParameters) { p.Pool = new("nowhere") })
	w.says(xpv2.TypeSynced, xpv2.ReasonReconcileError, "pool 'nowhere' not found")
	w.change(func(p *v1alpha1.MachineParameters) { p.Pool = new("") })
	w.eventually("the VM is in no pool", func() bool { return len(pools()) == 0 })
	w.ready()
}
