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

package engine

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/wire"
)

// A Call is one request while it is answered.
type Call struct {
	Engine *Engine
	State  *state.State
	Facts  *schema.Facts
	// Who makes the request. It is empty without credentials.
	Who state.Identity
	// Local is the node that received the request, Node the one that answers it.
	Local, Node string
	// offline is true when that node is off, starting while it boots, and left is when it went off.
	offline, starting bool
	left              time.Time
	// stuck is true when the call waits in vain for a lock of the cluster.
	stuck  bool
	Method *schema.Method
	Path   string
	// Upload is the content of an uploaded file.
	Upload []byte
	// Changes are the pending changes of a file, if the answer contains them.
	Changes string
	schema.Params
}

// A Handler is the behaviour of one method. It has exclusive access to the state.
type Handler func(*Call) (any, error)

// Template returns the path of the method in the API description.
func (c *Call) Template() string {
	if c.Method != nil {
		return c.Method.Path
	}
	return ""
}

// Perform finds, checks and runs the method. It waits for locks and starts tasks without holding the state's lock.
func (c *Call) Perform(r *wire.Request, values schema.Values) (any, int, error) {
	var result any
	err := c.prepare(r.Method, values)
	if c.stuck {
		c.pause(r, StorageLockWait)
	}
	if err == nil {
		err = c.connect(r)
	}
	if err == nil {
		result, err = c.handle()
	}
	for err == nil {
		switch t := result.(type) {
		case *spawned:
			c.Engine.run(t)
			return t.task.UPID, 0, nil
		case *Locked:
			result, err = t.run(c)
		case Outside:
			result, err = t()
		case Page:
			return t.Data, t.Total, nil
		case Changed:
			c.Changes = t.Changes
			return t.Data, 0, nil
		default:
			return result, 0, nil
		}
	}
	return nil, 0, err
}

// handle runs the method's behaviour.
func (c *Call) handle() (any, error) {
	h := c.Engine.Routes[c.Method.Verb+" "+c.Method.Path]
	if h == nil {
		return nil, apierr.NotSimulated(c.Method.Verb, c.Path)
	}
	c.Engine.Mu.Lock()
	defer c.Engine.Mu.Unlock()
	c.Engine.collect()
	defer c.view()()
	result, err := h(c)
	if c.Method.Verb != http.MethodGet {
		c.State.DropEmptyOptions()
	}
	return result, err
}

// view shows the state as the asked node knows it, until the returned function is called. The state must be held.
func (c *Call) view() func() {
	c.State = c.Engine.State
	return c.State.ViewOf(c.State.Nodes[c.Local])
}

// Locked is the result of a call that needs a guest's lock.
type Locked struct {
	VMID int
	Wait time.Duration
	Then Handler
}

func (l *Locked) run(c *Call) (any, error) {
	var out any
	err := c.Engine.withLock(c.Engine.Ctx, l.VMID, Exclusive, l.Wait, func() error {
		c.Engine.Mu.Lock()
		defer c.Engine.Mu.Unlock()
		defer c.view()()
		var err error
		out, err = l.Then(c)
		return err
	})
	return out, err
}

// Page is a list with the number of all its entries.
type Page struct {
	Data  any
	Total int
}

// Changed is a list with the pending changes of the file from which it was read.
type Changed struct {
	Data    any
	Changes string
}

// prepare finds the method and checks permissions and parameters, in PVE's order.
func (c *Call) prepare(verb string, values schema.Values) error {
	match, ok := c.Facts.Find(verb, c.Path)
	if !ok {
		return &apierr.Error{Status: http.StatusNotImplemented, Message: "Method '" + verb + " " + c.Path + "' not implemented"}
	}
	c.Method = match.Method
	known := map[string]string{}
	for name, v := range values {
		known[name] = First(v)
	}
	for name, v := range match.Values {
		if given, dup := values[name]; dup && First(given) != v {
			return apierr.Param(name, "duplicate parameter (already defined in URI) with conflicting values!")
		}
		values[name], known[name] = v, v
	}
	if err := c.admitted(known); err != nil {
		return err
	}
	if c.offline {
		return nil
	}
	var wrong schema.Errors
	if c.Params, wrong = c.Facts.Check(c.Method, values); len(wrong) > 0 {
		return apierr.Params(wrong)
	}
	return nil
}

// admitted performs the checks before those of the parameters.
func (c *Call) admitted(params map[string]string) error {
	c.Engine.Mu.Lock()
	defer c.Engine.Mu.Unlock()
	defer c.view()()
	if c.Method.NoToken && c.Who.Token() != "" {
		return apierr.Forbidden("URI '" + c.Path + "' not available with API token, need proper ticket.\n")
	}
	if err := c.permitted(c.Method, params); err != nil {
		return err
	}
	if err := c.writable(params); err != nil {
		return err
	}
	return c.reach(params[c.Method.ProxyTo])
}

// withoutQuorum returns the messages of writes without quorum that differ from the usual one, because PVE checks the quorum when it locks a configuration
// file.
func withoutQuorum() map[string]string {
	const users, storages = "cfs-lock 'file-user_cfg' error: no quorum!", "cfs-lock 'file-storage_cfg' error: no quorum!"
	return map[string]string{
		"POST /pools": "create pool failed: " + users, "PUT /pools": "update pools failed: " + users, "PUT /pools/{poolid}": "update pools failed: " + users,
		"DELETE /pools": "delete pool failed: " + users, "DELETE /pools/{poolid}": "delete pool failed: " + users,
		"PUT /access/acl": "ACL update failed: " + users, "POST /access/users/{userid}/token/{tokenid}": "generating token failed: " + users,
		"POST /storage": "create storage failed: " + storages, "PUT /storage/{storage}": "update storage failed: " + storages,
		"DELETE /storage/{storage}": "delete storage failed: " + storages, "PUT /cluster/options": "cfs-lock 'file-datacenter_cfg' error: no quorum!",
	}
}

// quorate returns the methods for VMs that check the quorum before they do anything (PVE::API2::Qemu).
func quorate() []string {
	return []string{
		"POST /nodes/{node}/qemu", "POST /nodes/{node}/qemu/{vmid}/status/start", "POST /nodes/{node}/qemu/{vmid}/clone",
		"POST /nodes/{node}/qemu/{vmid}/migrate",
	}
}

// writable fails for a write in a cluster without quorum. Local operations of a node still work. There are three errors: methods that check the quorum
// reject the call, those that lock a file of the cluster wait for the lock in vain, and the others fail to write.
func (c *Call) writable(params map[string]string) error {
	if !c.State.NoQuorum || c.Method.Verb == http.MethodGet || c.Method.Path == "/access/ticket" ||
		strings.HasPrefix(c.Method.Path, "/nodes/{node}/network") || strings.HasPrefix(c.Method.Path, "/nodes/{node}/storage/") {
		return nil
	}
	method := c.Method.Verb + " " + c.Method.Path
	if message, ok := withoutQuorum()[method]; ok {
		c.stuck = true
		return apierr.Errorf("%s", message)
	}
	switch {
	case method == "PUT /nodes/{node}/config":
		return unwritable("/etc/pve/nodes/" + params["node"] + "/config")
	case !strings.HasPrefix(c.Method.Path, "/nodes/{node}/qemu"), slices.Contains(quorate(), method):
		return apierr.Errorf("cluster not ready - no quorum?")
	case method == "PUT /nodes/{node}/qemu/{vmid}/config":
		return unwritable(guestFile(params["node"], params["vmid"]))
	}
	return nil
}

// guestFile returns the path of a VM's configuration.
func guestFile(node, vmid string) string {
	return "/etc/pve/nodes/" + node + "/qemu-server/" + vmid + ".conf"
}

// unwritable returns the error of a write to the file system of a cluster without quorum.
func unwritable(path string) error {
	return apierr.Errorf("unable to open file '%s.tmp.%d' - Permission denied", path, writer)
}

// writer is the ID of the writing process, which is part of the names of its temporary files.
const writer = 1000

// reach finds the node that answers. That node checks the parameters, so a node that is off rejects none.
func (c *Call) reach(node string) error {
	c.Node = c.Local
	if node == "" || node == "localhost" {
		return nil
	}
	c.Node = node
	n := c.State.Nodes[node]
	if n == nil && c.State.Resolves(node) {
		return &apierr.Error{Status: apierr.StatusProxyTLS, Message: "error:0A000086:SSL routines::certificate verify failed", Bare: true}
	}
	if n == nil {
		return apierr.Errorf("hostname lookup '%s' failed - failed to get address info for: %s: Temporary failure in name resolution", node, node)
	}
	c.offline, c.starting, c.left = n.Offline, n.Starting, n.Left
	return nil
}

// forgetful is the time after which nodes no longer know the address of a node that is off.
const forgetful = 30 * time.Second

// proxyTimeout is how long a node waits for the answer of another one.
const proxyTimeout = 30 * time.Second

// connect fails if the node that answers is off, which the asked node notices after a while. As long as it still knows the other's address, it waits for
// an answer.
func (c *Call) connect(r *wire.Request) error {
	if !c.offline {
		return nil
	}
	wait, reason, s := proxyTimeout, "No route to host", c.Engine
	if c.starting {
		return &apierr.Error{Status: apierr.StatusNoRoute, Message: "Connection refused", Bare: true}
	}
	if s.Instant() || s.Clock.Now().Sub(c.left) >= s.Scale(forgetful) {
		wait = s.Duration("offline")
	} else {
		reason = "Connection timed out"
	}
	c.pause(r, wait)
	return &apierr.Error{Status: apierr.StatusNoRoute, Message: reason, Bare: true}
}

// pause waits for a simulated duration, unless the client goes away.
func (c *Call) pause(r *wire.Request, d time.Duration) {
	if c.Engine.Instant() {
		return
	}
	select {
	case <-c.Engine.Clock.After(c.Engine.Scale(d)):
	case <-r.Context().Done():
	}
}

// First returns a parameter as text. A list is joined with commas.
func First(v any) string {
	switch t := v.(type) {
	case string:
		return t
	case []string:
		return strings.Join(t, ",")
	case bool:
		if t {
			return "1"
		}
		return "0"
	}
	return ""
}
