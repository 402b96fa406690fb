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

package firewall

import "github.com/vitistack/provider-proxmox/internal/simulator/engine"

// Routes returns the methods of firewalls.
func Routes() map[string]engine.Handler {
	out := map[string]engine.Handler{
		"GET /cluster/firewall/groups":            listFirewallGroups,
		"POST /cluster/firewall/groups":           createFirewallGroup,
		"DELETE /cluster/firewall/groups/{group}": deleteFirewallGroup,
	}
	firewallRules(out, "/cluster/firewall/groups/{group}")
	for _, root := range []string{"/cluster/firewall", "/nodes/{node}/firewall", "/nodes/{node}/qemu/{vmid}/firewall"} {
		out["GET "+root+"/options"] = firewallOptions
		out["PUT "+root+"/options"] = setFirewallOptions
		firewallRules(out, root+"/rules")
		firewallSets(out, root)
	}
	out["GET /cluster/firewall"] = engine.IndexOf("rules", "ipset", "aliases", "groups", "options", "macros", "refs")
	out["GET /nodes/{node}/firewall"] = engine.IndexOf("rules", "options", "log")
	out["GET /nodes/{node}/qemu/{vmid}/firewall"] = engine.IndexOf("rules", "aliases", "ipset", "refs", "options", "log")
	for _, root := range []string{"/cluster/firewall", "/nodes/{node}/qemu/{vmid}/firewall"} {
		out["GET "+root+"/refs"] = firewallReferences
	}
	return out
}

func firewallRules(out map[string]engine.Handler, list string) {
	out["GET "+list] = listFirewallRules
	out["POST "+list] = createFirewallRule
	out["GET "+list+"/{pos}"] = getFirewallRule
	out["PUT "+list+"/{pos}"] = updateFirewallRule
	out["DELETE "+list+"/{pos}"] = deleteFirewallRule
}

func firewallSets(out map[string]engine.Handler, root string) {
	out["GET "+root+"/ipset"] = listFirewallSets
	out["POST "+root+"/ipset"] = createFirewallSet
	out["GET "+root+"/ipset/{name}"] = getFirewallSet
	out["POST "+root+"/ipset/{name}"] = addToFirewallSet
	out["DELETE "+root+"/ipset/{name}"] = deleteFirewallSet
	out["GET "+root+"/ipset/{name}/{cidr}"] = getFromFirewallSet
	out["PUT "+root+"/ipset/{name}/{cidr}"] = updateInFirewallSet
	out["DELETE "+root+"/ipset/{name}/{cidr}"] = removeFromFirewallSet
	out["GET "+root+"/aliases"] = listFirewallAliases
	out["POST "+root+"/aliases"] = createFirewallAlias
	out["GET "+root+"/aliases/{name}"] = getFirewallAlias
	out["PUT "+root+"/aliases/{name}"] = updateFirewallAlias
	out["DELETE "+root+"/aliases/{name}"] = deleteFirewallAlias
}
