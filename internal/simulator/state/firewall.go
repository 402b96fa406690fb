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

package state

// A Firewall is the configuration of one firewall: that of the cluster, a node, a guest or a security group.
type Firewall struct {
	Options map[string]string            `json:"options,omitempty"`
	Rules   []map[string]string          `json:"rules,omitempty"`
	Sets    map[string]*FirewallSet      `json:"sets,omitempty"`
	Aliases map[string]map[string]string `json:"aliases,omitempty"`
	// Groups are the security groups, which only the cluster's firewall has.
	Groups map[string]*Firewall `json:"groups,omitempty"`
	// Comment is the comment of a security group.
	Comment string `json:"comment,omitempty"`
}

// FirewallSet is a named set of networks.
type FirewallSet struct {
	Comment string              `json:"comment,omitempty"`
	Entries []map[string]string `json:"entries,omitempty"`
}

// NewFirewall returns an empty firewall.
func NewFirewall() *Firewall {
	return &Firewall{
		Options: map[string]string{}, Sets: map[string]*FirewallSet{}, Aliases: map[string]map[string]string{}, Groups: map[string]*Firewall{},
	}
}

// Firewall returns the firewall with a key, and creates it if necessary.
func (st *State) Firewall(key string) *Firewall {
	if st.Firewalls[key] == nil {
		st.Firewalls[key] = NewFirewall()
	}
	return st.Firewalls[key]
}

// ClusterFirewall returns the cluster's firewall.
func (st *State) ClusterFirewall() *Firewall { return st.Firewall("cluster") }
