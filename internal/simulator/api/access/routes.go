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

// Package access serves /access: logins, users, groups, tokens, roles, grants and realms.
package access

import (
	"maps"

	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
)

// Routes returns the methods of the access control.
func Routes() map[string]engine.Handler {
	const user = "/access/users/{userid}"
	out := map[string]engine.Handler{
		"POST /access/ticket":                 createTicket,
		"GET /access/permissions":             permissions,
		"GET /access":                         engine.IndexOfSubdirs("users", "groups", "roles", "acl", "domains", "openid", "tfa", "ticket", "password"),
		"GET /access/ticket":                  (*engine.Call).Null,
		"PUT /access/password":                changePassword,
		"PUT /access/groups/{groupid}":        updateGroup,
		"GET /access/users":                   listUsers,
		"GET " + user:                         getUser,
		"GET " + user + "/token":              listTokens,
		"GET " + user + "/token/{tokenid}":    getToken,
		"POST " + user + "/token/{tokenid}":   createToken,
		"DELETE " + user + "/token/{tokenid}": deleteToken,
		"GET /access/roles":                   listRoles,
		"GET /access/roles/{roleid}":          getRole,
		"GET /access/acl":                     listACL,
		"GET /access/groups":                  listGroups,
		"POST /access/groups":                 createGroup,
		"GET /access/groups/{groupid}":        getGroup,
		"DELETE /access/groups/{groupid}":     deleteGroup,
		"POST /access/users":                  createUser,
		"PUT " + user:                         updateUser,
		"DELETE " + user:                      deleteUser,
		"PUT " + user + "/token/{tokenid}":    updateToken,
		"POST /access/roles":                  createRole,
		"PUT /access/roles/{roleid}":          updateRole,
		"DELETE /access/roles/{roleid}":       deleteRole,
		"PUT /access/acl":                     updateACL,
	}
	maps.Copy(out, domainRoutes())
	return out
}
