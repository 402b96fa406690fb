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

package proxmox

import (
	"context"

	"github.com/vitistack/provider-proxmox/internal/proxmox/transport"
)

// Health is the state of the connection to a cluster.
type Health struct {
	// Version of PVE on the node that answers.
	Version Version

	// Endpoint that is used unless another one is preferred.
	Endpoint string

	// Status of the cluster. StatusKnown is false if Sys.Audit on / is missing, without which PVE does not return the status.
	Status      ClusterStatus
	StatusKnown bool

	// Privileges of the user or token, by path.
	Privileges map[string]Privileges

	// Down contains the endpoints that do not answer, with the reasons. CutOff contains those without quorum, which are not used while another one has
	// quorum.
	Down   []transport.DownEndpoint
	CutOff []string
}

// Check checks whether the cluster can be used, even while other calls fail at once because it could not be reached. It makes three calls, one call to
// each endpoint that is down or whose node is not known, and one call to one of the others in turn. From these it learns the node of each endpoint. An
// endpoint without quorum is not used if another one has quorum.
func (c *Client) Check(ctx context.Context) (Health, error) {
	var h Health
	e, err := c.reachable(ctx, &h)
	if err != nil {
		return h, err
	}
	h.Endpoint = e.String()
	pinned := transport.Pin(ctx, e)
	if h.Privileges, err = c.Permissions(pinned, ""); err != nil {
		return h, err
	}
	h.Status, err = c.ClusterStatus(pinned)
	switch {
	case IsAuthorization(err):
		return h, nil
	case err != nil:
		return h, err
	case !h.Status.Quorate && c.transport.ExcludeWithoutQuorum(ctx, e, c.membership):
		return c.Check(ctx)
	}
	h.StatusKnown = true
	c.transport.See(e, h.Status.transportNodes())
	c.transport.Learn(h.Status.transportNodes())
	h.Down, h.CutOff = c.transport.CheckSuspectEndpoints(ctx, e, h.Status.Quorate, c.membership)
	return h, nil
}

// reachable returns the first endpoint that answers, with its version.
func (c *Client) reachable(ctx context.Context, h *Health) (*transport.Endpoint, error) {
	var first error
	for _, e := range c.transport.Order() {
		v, err := c.Version(transport.Pin(ctx, e))
		if err == nil {
			h.Version = v
			c.transport.Answers()
			return e, nil
		}
		if first == nil {
			first = err
		}
		if !IsUnavailable(err) && ProblemOf(err) == "" {
			return nil, err // It answers, and another endpoint would return the same.
		}
	}
	return nil, first
}

// membership reads the membership that a node knows of its cluster.
func (c ClusterAPI) membership(ctx context.Context) (transport.Membership, error) {
	s, err := c.ClusterStatus(ctx)
	return transport.Membership{Nodes: s.transportNodes(), Quorate: s.Quorate}, err
}

// transportNodes returns the nodes in the form that the transport needs.
func (s ClusterStatus) transportNodes() []transport.Node {
	nodes := make([]transport.Node, 0, len(s.Nodes))
	for _, n := range s.Nodes {
		nodes = append(nodes, transport.Node{Name: n.Name, Address: n.Address, Local: n.Local})
	}
	return nodes
}

// An Identity is the user or token with which a Client authenticates.
type Identity struct {
	// ID is the user, user@realm, or the API token, user@realm!name.
	ID string

	// Token reports whether it is an API token.
	Token bool
}

// Identity returns the user or token with which the Client authenticates.
func (c *Client) Identity() Identity { return c.identity }
