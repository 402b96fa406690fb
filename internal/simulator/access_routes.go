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

package simulator

import "maps"

// accessRoutes are the methods of the access control.
func accessRoutes() map[string]handler {
	const user = "/access/users/{userid}"
	out := map[string]handler{
		"POST /access/ticket":                 (*call).createTicket,
		"GET /access/permissions":             (*call).permissions,
		"GET /access":                         indexOfSubdirs("users", "groups", "roles", "acl", "domains", "openid", "tfa", "ticket", "password"),
		"GET /access/ticket":                  (*call).null,
		"PUT /access/password":                (*call).changePassword,
		"PUT /access/groups/{groupid}":        (*call).updateGroup,
		"GET /access/users":                   (*call).listUsers,
		"GET " + user:                         (*call).getUser,
		"GET " + user + "/token":              (*call).listTokens,
		"GET " + user + "/token/{tokenid}":    (*call).getToken,
		"POST " + user + "/token/{tokenid}":   (*call).createToken,
		"DELETE " + user + "/token/{tokenid}": (*call).deleteToken,
		"GET /access/roles":                   (*call).listRoles,
		"GET /access/roles/{roleid}":          (*call).getRole,
		"GET /access/acl":                     (*call).listACL,
		"GET /access/groups":                  (*call).listGroups,
		"POST /access/groups":                 (*call).createGroup,
		"GET /access/groups/{groupid}":        (*call).getGroup,
		"DELETE /access/groups/{groupid}":     (*call).deleteGroup,
		"POST /access/users":                  (*call).createUser,
		"PUT " + user:                         (*call).updateUser,
		"DELETE " + user:                      (*call).deleteUser,
		"PUT " + user + "/token/{tokenid}":    (*call).updateToken,
		"POST /access/roles":                  (*call).createRole,
		"PUT /access/roles/{roleid}":          (*call).updateRole,
		"DELETE /access/roles/{roleid}":       (*call).deleteRole,
		"PUT /access/acl":                     (*call).updateACL,
	}
	maps.Copy(out, domainRoutes())
	return out
}
