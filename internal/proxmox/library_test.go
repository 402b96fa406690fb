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

package proxmox_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	telmate "github.com/Telmate/proxmox-api-go/proxmox"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// library is a client of Telmate's library as its own documentation sets it up, and the simulated cluster that it uses.
type library struct {
	*telmate.Client

	t   *testing.T
	pve *simulator.Server

	// answer replaces the body of the answers for a path, and sent records the headers of all requests.
	answer map[string]string
	sent   []http.Header
	next   http.RoundTripper
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	l := &library{t: t, pve: simulatortest.NewTest(t, simulator.Options{Version: "9.2"}), answer: map[string]string{}}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(l.pve.CA())
	l.next = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	var err error
	if l.Client, err = telmate.NewClient(l.pve.URL()+"/api2/json", &http.Client{Transport: l}, "", nil, "", 10, false); err != nil {
		t.Fatal(err)
	}
	l.login()
	return l
}

func (l *library) login() {
	l.t.Helper()
	if err := l.Login(l.t.Context(), "root@pam", simulatortest.RootPassword, ""); err != nil {
		l.t.Fatal(err)
	}
}

// RoundTrip sends a request and records its headers.
func (l *library) RoundTrip(r *http.Request) (*http.Response, error) {
	l.sent = append(l.sent, r.Header.Clone())
	resp, err := l.next.RoundTrip(r)
	if body, ok := l.answer[strings.TrimPrefix(r.URL.Path, "/api2/json")]; ok && err == nil {
		_ = resp.Body.Close()
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewBufferString(body)), int64(len(body))
	}
	return resp, err
}

// count returns the number of calls of a method on a path.
func (l *library) count(method, path string) int {
	n := 0
	for _, r := range l.pve.Requests() {
		if r.Method == method && r.Path == path {
			n++
		}
	}
	return n
}

// params returns the parameters of the last call of a method on a path.
func (l *library) params(method, path string) map[string]string {
	var sent map[string]string
	for _, r := range l.pve.Requests() {
		if r.Method == method && r.Path == path {
			sent = r.Params
		}
	}
	return sent
}

// asksForTask reports whether a request reads the state of a task.
func asksForTask(r simulator.Request) bool {
	return strings.Contains(r.Path, "/tasks/") && strings.HasSuffix(r.Path, "/status")
}

// panics reports whether a call panics.
func panics(call func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	call()
	return false
}

// pool creates a pool with a VM in it.
func (l *library) pool(name telmate.PoolName, vmid telmate.GuestID) error {
	pools := l.New().Pool
	if err := pools.Create(l.t.Context(), telmate.ConfigPool{Name: name}); err != nil {
		return err
	}
	return pools.AddMembers(l.t.Context(), name, []telmate.GuestID{vmid}, nil)
}

// running returns a running VM.
func (l *library) running(vmid int) *telmate.VmRef {
	l.t.Helper()
	vm := telmate.NewVmRef(telmate.GuestID(vmid))
	if err := l.CheckVmRef(l.t.Context(), vm); err != nil {
		l.t.Fatal(err)
	}
	l.pve.Edit(func(s *simulator.State) { s.Guests[vmid].Power = simulator.Running })
	return vm
}

// libraryFaults returns the faults of the library that doc.go lists. If one of them no longer exists, the library has improved, and doc.go must be
// revised.
func libraryFaults() map[string]struct { //nolint:gocyclo // A table of functions.
	reason string
	shows  func(*library) bool
} {
	return map[string]struct {
		reason string
		shows  func(*library) bool
	}{
		"SendsWritesAgain": {
			reason: "A POST whose answer is lost is sent again: the second one fails, since the first has run.",
			shows: func(l *library) bool {
				l.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: "/pools", CutAfter: true, Count: 1})
				err := l.New().Pool.Create(l.t.Context(), telmate.ConfigPool{Name: "again"})
				return err != nil && strings.Contains(err.Error(), "already exists") && l.count(http.MethodPost, "/pools") == 2
			},
		},
		"WaitsOn": {
			reason: "A wait for a task goes on sleeping when its context has ended.",
			shows: func(l *library) bool {
				const task = "UPID:pve1:00000001:00000001:00000001:qmstart:100:root@pam:"
				l.answer["/nodes/pve1/qemu/100/status/start"] = `{"data":"` + task + `"}`
				l.answer["/nodes/pve1/tasks/"+task+"/status"] = `{"data":{"status":"running"}}`
				vm := l.running(100)
				ctx, cancel := context.WithTimeout(l.t.Context(), 500*time.Millisecond)
				defer cancel()
				begun := time.Now()
				_, err := l.StartVm(ctx, vm) //nolint:staticcheck // It is what others use.
				return err != nil && time.Since(begun) >= telmate.TaskStatusCheckInterval*time.Second
			},
		},
		"StartsAgain": {
			reason: "A start that PVE refuses is called three times.",
			shows: func(l *library) bool {
				const start = "/nodes/pve1/qemu/100/status/start"
				l.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: start, Status: http.StatusInternalServerError, Message: "no"})
				_, err := l.StartVm(l.t.Context(), l.running(100)) //nolint:staticcheck // It is what others use.
				return err != nil && l.count(http.MethodPost, start) == 3
			},
		},
		"SnapshotWaits": {
			reason: "Taking a snapshot and removing it return when their tasks have ended, whose states are asked for until then.",
			shows: func(l *library) bool {
				ctx, vm, snapshots := l.t.Context(), *l.running(100), l.New().Snapshot
				for _, write := range []func() error{
					func() error { return snapshots.CreateQemu(ctx, vm, "before", "", false) },
					func() error { _, err := snapshots.Delete(ctx, vm, "before"); return err },
				} {
					l.pve.ClearRequests()
					if err := write(); err != nil || !slices.ContainsFunc(l.pve.Requests(), asksForTask) {
						return false
					}
				}
				return true
			},
		},
		"RollbackUntold": {
			reason: "Going back to a snapshot returns while its task runs, and does not tell which one that is.",
			shows: func(l *library) bool {
				ctx, vm, snapshots := l.t.Context(), *l.running(100), l.New().Snapshot
				if snapshots.CreateQemu(ctx, vm, "before", "", false) != nil {
					return false
				}
				l.pve.ClearRequests()
				return snapshots.Rollback(ctx, vm, "before", false) == nil && !slices.ContainsFunc(l.pve.Requests(), asksForTask)
			},
		},
		"RestartInverted": {
			reason: "An update that may restart the VM is refused as one that may not.",
			shows: func(l *library) bool {
				vm := l.running(100)
				err := l.New().QemuGuest.Update(l.t.Context(), *vm, true, false, telmate.ConfigQemu{Bios: "ovmf"})
				return err != nil && strings.Contains(err.Error(), "reboot")
			},
		},
		"RestartsUnasked": {
			reason: "An update that may not restart the VM restarts it.",
			shows: func(l *library) bool {
				vm := l.running(100)
				err := l.New().QemuGuest.Update(l.t.Context(), *vm, false, false, telmate.ConfigQemu{Bios: "ovmf"})
				return err == nil && l.count(http.MethodPost, "/nodes/pve1/qemu/100/status/reboot") == 1
			},
		},
		"LosesErrors": {
			reason: "UpdateNoCheck returns no error, whatever PVE answered.",
			shows: func(l *library) bool {
				vm := l.running(100)
				l.pve.Inject(simulator.Fault{Method: http.MethodPut, Path: "/nodes/*/qemu/*/config", Status: http.StatusInternalServerError, Message: "boom"})
				err := l.New().QemuGuest.UpdateNoCheck(l.t.Context(), *vm, false, false, telmate.ConfigQemu{Description: new("x")})
				return err == nil && l.count(http.MethodPut, "/nodes/pve1/qemu/100/config") == 1
			},
		},
		"ShutdownForce": {
			reason: "The forced shutdown sends a parameter that PVE does not have: it is called forceStop.",
			shows: func(l *library) bool {
				err := l.New().Guest.ShutdownForce(l.t.Context(), *l.running(100))
				sent := l.params(http.MethodPost, "/nodes/pve1/qemu/100/status/shutdown")
				return err != nil && strings.Contains(err.Error(), "Parameter verification failed") && sent["force"] == "1"
			},
		},
		"ZoneWithoutType": {
			reason: "The creation of an SDN zone leaves out its name and type, which PVE requires.",
			shows: func(l *library) bool {
				err := (&telmate.ConfigSDNZone{Type: "simple"}).Create(l.t.Context(), "z1", l.Client)
				_, named := l.params(http.MethodPost, "/cluster/sdn/zones")["zone"]
				_, typed := l.params(http.MethodPost, "/cluster/sdn/zones")["type"]
				return err != nil && strings.Contains(err.Error(), "Parameter verification failed") && !named && !typed
			},
		},
		"NoNestedPools": {
			reason: "A change of a pool's comment has the pool in its path, where PVE knows no nested ones.",
			shows: func(l *library) bool {
				const nested = "crossplane/nested"
				pools := l.New().Pool
				if pools.CreateNoCheck(l.t.Context(), telmate.ConfigPool{Name: nested}) != nil {
					return false
				}
				err := pools.UpdateNoCheck(l.t.Context(), telmate.ConfigPool{Name: nested, Comment: new("x")})
				return err != nil && l.count(http.MethodPut, "/pools/"+nested) == 1
			},
		},
		"TakesMembers": {
			reason: "A VM that is added to a pool is taken out of the one that it is in, which PVE does not do unasked.",
			shows: func(l *library) bool {
				if l.pool("from", 100) != nil || l.pool("to", 100) != nil {
					return false
				}
				left, joined := 0, 0
				l.pve.Edit(func(s *simulator.State) { left, joined = len(s.Pools["from"].VMs), len(s.Pools["to"].VMs) })
				return left == 0 && joined == 1
			},
		},
		"SetsMembers": {
			reason: "Pool.Set and Pool.Update with members read the pool, and take out those that they are not given.",
			shows: func(l *library) bool {
				if l.pool("set", 100) != nil || l.pool("updated", 101) != nil {
					return false
				}
				set := l.New().Pool.Set(l.t.Context(), telmate.ConfigPool{Name: "set", Guests: &[]telmate.GuestID{}})
				updated := l.New().Pool.Update(l.t.Context(), telmate.ConfigPool{Name: "updated", Guests: &[]telmate.GuestID{}})
				left := 0
				l.pve.Edit(func(s *simulator.State) { left = len(s.Pools["set"].VMs) + len(s.Pools["updated"].VMs) })
				return set == nil && updated == nil && left == 0
			},
		},
		"EmptiesPools": {
			reason: "The deletion of a pool that has members takes them out of it, where PVE refuses it.",
			shows: func(l *library) bool {
				if err := l.pool("full", 100); err != nil {
					return false
				}
				gone, err := l.New().Pool.Delete(l.t.Context(), "full")
				return gone && err == nil
			},
		},
		"OldTicket": {
			reason: "After a second login on one client the requests still have the first ticket.",
			shows: func(l *library) bool {
				first := l.ticketSent()
				l.login()
				return first != "" && l.ticketSent() == first
			},
		},
		"CountsForEver": {
			reason: "The search for a free VMID takes every error for a VMID that is taken, and counts on.",
			shows: func(l *library) bool {
				l.pve.Inject(simulator.Fault{Path: "/cluster/nextid", Status: http.StatusForbidden, Message: "Permission check failed"})
				ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
				defer cancel()
				many := func() bool { return l.count(http.MethodGet, "/cluster/nextid") > 20 }
				go func() {
					for ctx.Err() == nil && !many() {
						<-time.After(10 * time.Millisecond)
					}
					cancel()
				}()
				_, err := l.GetNextID(ctx, new(telmate.GuestID(100)))
				return err != nil && many()
			},
		},
		"PanicsOnErrors": {
			reason: "An error of another shape than the expected one ends in a panic, also in a call whose answer is not read.",
			shows: func(l *library) bool {
				l.pve.Inject(simulator.Fault{Method: http.MethodPost, Path: "/pools", Status: http.StatusBadRequest, Message: "no"})
				l.answer["/pools"] = `{"errors":"x","message":"no"}`
				return panics(func() { _ = l.New().Pool.CreateNoCheck(l.t.Context(), telmate.ConfigPool{Name: "odd"}) })
			},
		},
		"Panics": {
			reason: "An answer of another shape than the expected one ends in a panic.",
			shows: func(l *library) bool {
				l.answer["/version"] = `{"data":["9.2"]}`
				l.answer["/pools/crossplane"] = `{"data":["x"]}`
				l.answer["/cluster/resources"] = `{"data":[{"vmid":"100"}]}`
				return panics(func() { _, _ = l.GetVersion(l.t.Context()) }) &&
					panics(func() { _, _ = l.New().Pool.Read(l.t.Context(), "crossplane") }) &&
					panics(func() { _, _ = l.GetVmInfo(l.t.Context(), telmate.NewVmRef(100)) })
			},
		},
	}
}

// ticketSent returns the ticket of a request that is made now.
func (l *library) ticketSent() string {
	if _, err := l.GetVersion(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	return l.sent[len(l.sent)-1].Get("Authorization")
}

func TestLibraryFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range libraryFaults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !fault.shows(newLibrary(t)) {
				t.Errorf("%s\nthis does not hold any more: revise doc.go", fault.reason)
			}
		})
	}
}
