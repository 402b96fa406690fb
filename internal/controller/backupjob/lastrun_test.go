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

package backupjob_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config/configtest"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// jobOf9000 is for two guests.
const jobOf9000 = `{name: nightly, schedule: daily, vmids: [9000, 9100], storage: local, mode: snapshot, notesTemplate: "it's {{guestname}}",
	fleecing: {enabled: true, storage: local-lvm}}`

// look reconciles a job again, as a provider that has just started, and returns its status.
func look(l *configtest.Life, mg resource.Managed) *v1alpha1.BackupJobObservation {
	l.Helper()
	l.Restart() // Cached lists are read again.
	l.Reconcile(mg)
	l.Settle(mg)
	return observation(l.T, mg)
}

// lastRuns returns the last runs in words.
func lastRuns(o *v1alpha1.BackupJobObservation) string {
	var all []string
	for _, g := range o.Guests {
		if r := g.LastRun; r != nil {
			all = append(all, strings.TrimSpace(r.Result+" "+r.Reason))
			continue
		}
		all = append(all, "none")
	}
	return strings.Join(all, ", ")
}

// due makes the status of a job show that it was due now.
func due(l *configtest.Life, mg resource.Managed) {
	l.Helper()
	observation(l.T, mg).NextRun = new(metav1.NewTime(time.Now().Truncate(time.Second)))
	l.Must(l.Kube.Status().Update(l.Context(), mg))
}

// TestLastRun checks that the guests show the result of the last run of the job.
func TestLastRun(t *testing.T) {
	others := func(l *configtest.Life, id string, form proxmox.Params) {
		form["schedule"], form["storage"] = "weekly", "local"
		l.Must(l.Client.CreateObject(l.Context(), proxmox.Collection{Noun: "backup job", Path: "/cluster/backup", Key: "id"}, id, form))
	}
	cases := map[string]struct {
		reason string
		run    func(*configtest.Life, resource.Managed)
		want   string
	}{
		"Never": {reason: "The job has not run yet.", run: func(*configtest.Life, resource.Managed) {}, want: "none, none"},
		"OK":    {reason: "Each guest of the job is backed up.", run: func(l *configtest.Life, _ resource.Managed) { run(l, "nightly") }, want: "OK, OK"},
		"ByHand": {
			reason: "What others have backed up by hand was no run of the job.",
			run:    func(l *configtest.Life, _ resource.Managed) { backUp(l) }, want: "none, none",
		},
		"OtherJob": {
			reason: "A job with other options is another one.",
			run: func(l *configtest.Life, _ resource.Managed) {
				others(l, "weekly", proxmox.Params{"vmid": "9000,9100", "mode": "stop"})
				run(l, "weekly")
			}, want: "none, none",
		},
		"Locked": {
			reason: "The backup of a locked VM fails.", want: "OK, Failed Locked",
			run: func(l *configtest.Life, _ resource.Managed) {
				l.Edit(func(s *state.State) { s.Guests[9100].Config["lock"] = "migrate" })
				run(l, "nightly")
			},
		},
		"Skipped": {
			reason: "The run has left one out.", want: "OK, Skipped",
			run: func(l *configtest.Life, _ resource.Managed) {
				run(l, "nightly")
				l.Edit(func(s *state.State) {
					task := s.Tasks[len(s.Tasks)-1]
					task.Log = slices.DeleteFunc(task.Log, func(line string) bool { return strings.Contains(line, "Backup of VM 9100") })
				})
			},
		},
		"Unreachable": {
			reason: "When the job was due, the run has failed before its log told its options.",
			want:   "Failed StorageUnavailable, Failed StorageUnavailable",
			run: func(l *configtest.Life, mg resource.Managed) {
				due(l, mg)
				l.Edit(func(s *state.State) { s.Storages["local"].Disabled = true })
				run(l, "nightly")
				l.Edit(func(s *state.State) { s.Storages["local"].Disabled = false })
			},
		},
		"NotDue": {
			reason: "Nothing tells that such a run is one of this job.", want: "none, none",
			run: func(l *configtest.Life, _ resource.Managed) {
				l.Edit(func(s *state.State) { s.Storages["local"].Disabled = true })
				run(l, "nightly")
				l.Edit(func(s *state.State) { s.Storages["local"].Disabled = false })
			},
		},
		"Changed": {
			reason: "A guest has come since.", want: "OK, none",
			run: func(l *configtest.Life, _ resource.Managed) {
				l.Edit(func(s *state.State) { s.Backups["nightly"]["vmid"] = "9000" })
				run(l, "nightly")
			},
		},
		"Again": {
			reason: "The latest run counts.", want: "Failed Locked, OK",
			run: func(l *configtest.Life, mg resource.Managed) {
				run(l, "nightly")
				look(l, mg)
				<-time.After(1100 * time.Millisecond) // Tasks begin at full seconds.
				l.Edit(func(s *state.State) { s.Guests[9000].Config["lock"] = "migrate" })
				run(l, "nightly")
			},
		},
		"Kept": {
			reason: "What was seen is kept when PVE knows the tasks no more.", want: "OK, OK",
			run: func(l *configtest.Life, mg resource.Managed) {
				run(l, "nightly")
				look(l, mg)
				l.Edit(func(s *state.State) { s.Tasks = nil })
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			configtest.RunIn(t, job(), func(l *configtest.Life) {
				l.Must(createVM(l, 9100))
				mg := l.Resource(1, jobOf9000, nil)
				l.Settle(mg)
				tc.run(l, mg)
				o := look(l, mg)
				if got := lastRuns(o); got != tc.want || o.HiddenRuns != "" {
					l.Errorf("%s got %s, want %s; hidden: %s", tc.reason, got, tc.want, o.HiddenRuns)
				}
				for _, g := range o.Guests {
					r := g.LastRun
					if r != nil && (r.Task == "" || r.Time.IsZero() || (r.Result == "OK") != (r.Size != nil && strings.HasPrefix(r.Volume, "local:backup/"))) {
						l.Errorf("the run of %d is %+v", g.VMID, r)
					}
				}
			})
		})
	}
}

// TestHiddenRuns checks that missing runs are reported, and the rest is shown.
func TestHiddenRuns(t *testing.T) {
	configtest.RunIn(t, job(), func(l *configtest.Life) {
		l.Edit(func(st *state.State) { // The grant on the node replaces the one on /.
			st.ACL = append(st.ACL, simulator.Grant{Path: "/nodes/pve1", Kind: "user", ID: "crossplane@pve", Role: "PVEVMAdmin", Propagate: true})
		})
		mg := l.Resource(1, `{name: nightly, schedule: daily, vmids: [9000], storage: local}`, nil)
		l.Settle(mg)
		run(l, "nightly")
		o := look(l, mg)
		if !strings.Contains(o.HiddenRuns, "grant Sys.Audit on /nodes/pve1") || len(o.Guests) != 1 || o.Guests[0].LastRun != nil || o.Guests[0].LastBackup == nil {
			l.Errorf("without Sys.Audit: %q, %+v", o.HiddenRuns, o.Guests)
		}
	})
}

// TestCostOfRuns checks that the log of each task is read once, for any number of jobs and reconciles.
func TestCostOfRuns(t *testing.T) {
	configtest.RunIn(t, job(), func(l *configtest.Life) {
		jobs := []resource.Managed{
			l.Resource(1, `{name: nightly, schedule: daily, vmids: [9000], storage: local}`, nil),
			l.Resource(2, `{name: weekly, schedule: "sat 04:00", vmids: [9000], storage: local, mode: stop}`, nil),
		}
		for _, mg := range jobs {
			l.Settle(mg)
		}
		run(l, "nightly")
		run(l, "weekly")
		l.Restart()
		l.ClearRequests()
		for range 5 {
			for _, mg := range jobs {
				l.Reconcile(mg)
			}
		}
		logs := 0
		for _, r := range l.Requests() {
			if r.Template == "/nodes/{node}/tasks/{upid}/log" {
				logs++
			}
		}
		if logs != 2 {
			l.Errorf("10 looks at 2 jobs have cost %d calls for the logs of 2 tasks", logs)
		}
		for _, mg := range jobs {
			if got := lastRuns(observation(l.T, mg)); got != "OK" {
				l.Errorf("%s: %s", mg.GetName(), got)
			}
		}
	})
}
