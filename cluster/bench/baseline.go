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

package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

// baselineID is the first VMID that the plain client uses.
const baselineID = 50_000

// sharedPoll is how often the plain client looks at the tasks.
const sharedPoll = 500 * time.Millisecond

// clonesAtOnce is how many clones the plain client keeps running: enough for the storage to be busy all the time, and few enough for none
// to wait for its lock as long as Proxmox VE lets it, ten seconds.
const clonesAtOnce = 12

// baseline makes VMs like the Machines with as few calls as there can be: a clone, the options, the start. The VMIDs are known, no VM
// is looked at, and one look at the cluster's tasks serves all. It keeps the limit of requests that the provider has.
func (w *env) baseline(ctx context.Context, n int) (creationTime, error) {
	f, calls, stop, err := w.follower(ctx)
	if err != nil {
		return creationTime{}, err
	}
	defer stop()
	begin := time.Now()
	each := make([]time.Duration, n)
	err = parallel(ctx, n, n, func(ctx context.Context, i int) error {
		err := f.make(ctx, baselineID+i)
		each[i] = time.Since(begin)
		return err
	})
	if err != nil {
		return creationTime{}, err
	}
	r := creationTime{took: time.Since(begin), each: each, calls: calls}
	return r, calls.follow(ctx)
}

// A follower waits for tasks by one poll for all.
type follower struct {
	*pve

	clones chan struct{}

	mu      sync.Mutex
	waiting map[string]chan string
	ended   map[string]string
}

// follower makes a client that keeps the provider's limit of requests, with a log of them. It looks at the tasks until it is stopped.
func (w *env) follower(ctx context.Context) (f *follower, calls *requestLog, stop func(), err error) {
	p := *w.own
	rate := cmp.Or(w.rate, defaultRate)
	p.limit = flowcontrol.NewTokenBucketRateLimiter(float32(rate), rate)
	if calls, err = p.requestLog(ctx, p.token.id); err != nil {
		return nil, nil, nil, err
	}
	f = &follower{pve: &p, waiting: map[string]chan string{}, clones: make(chan struct{}, clonesAtOnce)}
	polling, stop := context.WithCancel(ctx)
	go f.poll(polling)
	return f, calls, stop, nil
}

func (f *follower) make(ctx context.Context, vmid int) error {
	if err := f.clone(ctx, vmid); err != nil {
		return err
	}
	vm := "/nodes/" + firstNode + "/qemu/" + itoa(vmid)
	if err := f.call(ctx, "PUT "+vm+"/config", url.Values{"cores": {itoa(newCores)}}, new(any)); err != nil {
		return err
	}
	return f.task(ctx, "POST "+vm+"/status/start", nil)
}

func (f *follower) clone(ctx context.Context, vmid int) error {
	f.clones <- struct{}{}
	defer func() { <-f.clones }()
	params := url.Values{"newid": {itoa(vmid)}, "name": {"baseline-" + itoa(vmid)}}
	return f.task(ctx, "POST /nodes/"+firstNode+"/qemu/"+itoa(templateID)+"/clone", params)
}

// task starts a task and waits for its end.
func (f *follower) task(ctx context.Context, request string, params url.Values) error {
	var upid string
	if err := f.call(ctx, request, params, &upid); err != nil {
		return err
	}
	select {
	case status := <-f.wait(upid):
		if status != "OK" {
			return fmt.Errorf("%s: %s", request, status)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (f *follower) wait(upid string) <-chan string {
	f.mu.Lock()
	defer f.mu.Unlock()
	done := make(chan string, 1)
	if status, ok := f.ended[upid]; ok {
		done <- status
		return done
	}
	f.waiting[upid] = done
	return done
}

func (f *follower) poll(ctx context.Context) {
	tick := time.NewTicker(sharedPoll)
	defer tick.Stop()
	for ctx.Err() == nil {
		var list []task
		waiting := f.followed()
		if err := f.call(ctx, "GET /cluster/tasks", nil, &list); err == nil {
			f.see(list)
			f.ask(ctx, waiting, list)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// followed are the tasks that are waited for.
func (f *follower) followed() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.waiting))
}

// ask for the tasks that the list does not have: it has few of those that have ended, and more may end between two looks.
func (f *follower) ask(ctx context.Context, waiting []string, list []task) {
	for _, upid := range waiting {
		if slices.ContainsFunc(list, func(t task) bool { return t.UPID == upid }) {
			continue
		}
		var t struct{ Status, ExitStatus string }
		if err := f.call(ctx, "GET /nodes/"+firstNode+"/tasks/"+upid+"/status", nil, &t); err == nil && t.Status == "stopped" {
			f.end(upid, t.ExitStatus)
		}
	}
}

func (f *follower) see(list []task) {
	f.mu.Lock()
	f.ended = map[string]string{}
	f.mu.Unlock()
	for _, t := range list {
		if t.EndTime != 0 {
			f.end(t.UPID, strings.TrimSpace(t.Status))
		}
	}
}

// end notes that a task has ended.
func (f *follower) end(upid, status string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended[upid] = status
	if done, ok := f.waiting[upid]; ok {
		done <- status
		delete(f.waiting, upid)
	}
}
