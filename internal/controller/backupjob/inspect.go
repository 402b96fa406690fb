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

package backupjob

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/inventory"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Reasons of the condition Ready.
const (
	ReasonGuestsMissing   xpv2.ConditionReason = "GuestsMissing"
	ReasonInvalidName     xpv2.ConditionReason = "InvalidName"
	ReasonStorageNotFound xpv2.ConditionReason = "StorageNotFound"
	ReasonNotSupported    xpv2.ConditionReason = "NotSupported"
	ReasonPoolNotFound    xpv2.ConditionReason = "PoolNotFound"
	ReasonNodeNotFound    xpv2.ConditionReason = "NodeNotFound"

	ReasonPruningUndeclared xpv2.ConditionReason = "PruningUndeclared"
)

// reName matches the job names that PVE accepts.
var reName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{1,49}$`)

// An inspector checks what a job refers to.
type inspector struct{ now func() time.Time }

// inspect checks what PVE does not check: whether storages, node, pool and guests exist.
func (i inspector) inspect(ctx context.Context, v view) (config.Findings, error) {
	t, err := newTarget(ctx, v, inventory.Current) // The list that resolve has read, or a later one.
	if err != nil {
		return config.Findings{}, err
	}
	i.show(v, t)
	f := config.Findings{Privileges: needed(v, t)}
	for _, problem := range t.problems {
		f.Problems = append(f.Problems, kind.Problem{Reason: ReasonGuestsMissing, Message: problem})
	}
	problem, err := check(ctx, v, t)
	if err != nil {
		return f, err
	}
	if problem != nil {
		f.Rejected = config.Rejection(*problem)
		return f, nil
	}
	return f, i.judge(ctx, v, t)
}

// show shows the state of the job.
func (i inspector) show(v view, t *target) {
	o := v.Resource.Observation()
	due := o.NextRun
	o.Storage, o.NextRun, o.GuestCount = t.storage, nil, new(int32(len(t.guests))) //nolint:gosec // Few.
	at, err := strconv.ParseInt(v.Seen.Values[nextRun], 10, 64)
	if err == nil && v.Seen.Values["enabled"] != "0" {
		o.NextRun = new(metav1.Unix(at, 0))
	}
	if due != nil && due.Time.Before(i.now().Add(clockTolerance)) && !due.Equal(o.NextRun) {
		o.LastScheduleTime = due
	}
}

// needed returns the privileges on the objects that the job is to name, and on the storage that it names now.
func needed(v view, t *target) []proxmox.Privilege {
	on := func(storage string) proxmox.Privilege {
		return proxmox.Privilege{Path: "/storage/" + storage, Names: []string{"Datastore.Allocate"}}
	}
	all := []proxmox.Privilege{on(t.storage)}
	if has := storageOf(v); v.Exists && has != t.storage {
		all = append(all, on(has))
	}
	if t.pool != "" && v.Seen.Values[poolOption] != t.pool {
		all = append(all, proxmox.Privilege{Path: "/pool/" + t.pool, Names: []string{"VM.Backup"}})
	}
	if t.fleecing != nil {
		all = append(all, proxmox.Privilege{Path: "/storage/" + *t.fleecing, Names: []string{"Datastore.AllocateSpace"}})
	}
	return all
}

// check returns why the job would not work, although PVE would accept it.
func check(ctx context.Context, v view, t *target) (*kind.Problem, error) {
	p := v.Resource.Parameters()
	if !reName.MatchString(v.Name) {
		return problem(ReasonInvalidName, "%q is no name of a backup job: set name to 2 to 50 letters, digits, - and _, the first a letter", v.Name), nil
	}
	if prunesUnasked(v) {
		return problem(ReasonPruningUndeclared, "the job removes older backups, by %s, and the spec does not say whether it is to: "+
			"set allowPruningOthers: true to leave that, or pruneBackups.keepAll: true to end it", rulesOf(v)), nil
	}
	nodes, err := v.Inventory.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	if n := p.Node; n != nil && *n != "" && !slices.ContainsFunc(nodes, func(has proxmox.Node) bool { return has.Name == *n }) {
		return problem(ReasonNodeNotFound, "node %q does not exist: correct node", *n), nil
	}
	storages, err := v.Inventory.Storages(ctx)
	if err != nil {
		return nil, err
	}
	if why := checkStorage(storages, t.storage, "backup", p.Node); why != nil {
		return why, nil
	}
	if t.fleecing != nil && (p.Fleecing.Enabled || *t.fleecing == "") {
		if why := checkStorage(storages, *t.fleecing, "images", p.Node); why != nil {
			return why, nil
		}
	}
	return checkGuests(ctx, v, t)
}

// rulesOf describes the rules by which a job removes backups.
func rulesOf(v view) string {
	if rules := v.Seen.Values[pruneOption]; rules != "" {
		return pruneOption + " " + rules
	}
	return "the rules of storage " + strconv.Quote(storageOf(v)) + " if it has any"
}

// checkStorage returns why a storage cannot be used for a content type, on one node or on any.
func checkStorage(all []proxmox.Storage, name, content string, node *string) *kind.Problem {
	here := slices.DeleteFunc(slices.Clone(all), func(s proxmox.Storage) bool {
		return s.Name != name || node != nil && *node != "" && s.Node != *node
	})
	switch {
	case name == "":
		return problem(ReasonStorageNotFound, "the storage is not known yet: the Storage that the spec names is not there, or has no storage yet")
	case len(here) == 0 && node != nil && *node != "":
		return problem(ReasonStorageNotFound,
			"storage %q does not exist on node %q, or the user may not see it: correct storage, or grant Datastore.Audit", name, *node)
	case len(here) == 0:
		return problem(ReasonStorageNotFound, "storage %q does not exist, or the user may not see it: correct storage, or grant Datastore.Audit", name)
	case !slices.Contains(here[0].Content, content):
		return problem(ReasonNotSupported, "storage %q has no %q among its content types: add it there", name, content)
	}
	return nil
}

// checkGuests returns why the job backs up no guest.
func checkGuests(ctx context.Context, v view, t *target) (*kind.Problem, error) {
	p := v.Resource.Parameters()
	switch {
	case isAll(p):
		return nil, nil
	case byPool(p) && t.pool == "":
		return problem(ReasonPoolNotFound, "the pool is not known yet: the Pool that the spec names is not there, or has no pool yet"), nil
	case byPool(p):
		_, exists, err := v.Inventory.PoolVMs(ctx, t.pool)
		if err != nil || exists {
			return nil, err
		}
		return problem(ReasonPoolNotFound, "pool %q does not exist: create it, or correct pool", t.pool), nil
	case len(t.vmids) > 0:
		return nil, nil
	}
	why := "no guest that the spec names is there"
	if v.Exists {
		why += ": the job stays as it is, since it cannot be for none; disable or delete it"
	}
	return problem(ReasonGuestsMissing, "%s", why), nil
}

func problem(reason xpv2.ConditionReason, format string, args ...any) *kind.Problem {
	return &kind.Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}
