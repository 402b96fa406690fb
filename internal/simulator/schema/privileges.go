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

package schema

import "fmt"

// Privileges returns the privileges of a version, in groups as PVE's built-in roles use them.
func Privileges(version string) map[string]PrivilegeGroup {
	groups := map[string]PrivilegeGroup{
		"VM": {
			Admin: []string{
				"VM.Config.Disk", "VM.Config.CPU", "VM.Config.Memory", "VM.Config.Network", "VM.Config.HWType", "VM.Config.Options",
				"VM.Allocate", "VM.Clone", "VM.Migrate", "VM.Snapshot", "VM.Snapshot.Rollback",
			},
			User:  []string{"VM.Config.CDROM", "VM.Config.Cloudinit", "VM.Console", "VM.Backup", "VM.PowerMgmt"},
			Audit: []string{"VM.Audit"},
		},
		"Sys": {
			Root:  []string{"Sys.PowerMgmt", "Sys.Modify", "Sys.Incoming", "Sys.AccessNetwork"},
			Admin: []string{"Sys.Console", "Sys.Syslog"},
			Audit: []string{"Sys.Audit"},
		},
		"Datastore": {
			Admin: []string{"Datastore.Allocate", "Datastore.AllocateTemplate"},
			User:  []string{"Datastore.AllocateSpace"},
			Audit: []string{"Datastore.Audit"},
		},
		"SDN":     {Admin: []string{"SDN.Allocate", "SDN.Audit"}, User: []string{"SDN.Use"}, Audit: []string{"SDN.Audit"}},
		"User":    {Root: []string{"Realm.Allocate"}, Admin: []string{"User.Modify", "Group.Allocate", "Realm.AllocateUser"}},
		"Pool":    {Admin: []string{"Pool.Allocate"}, User: []string{"Pool.Audit"}, Audit: []string{"Pool.Audit"}},
		"Mapping": {Admin: []string{"Mapping.Modify"}, User: []string{"Mapping.Use"}, Audit: []string{"Mapping.Audit"}},
	}
	groups["VM"] = agentPrivileges(version, groups["VM"])
	return groups
}

// PrivilegeGroup holds the privileges of one kind of object, by the lowest role that has them.
type PrivilegeGroup struct {
	// Root privileges are in no built-in role except Administrator.
	Root []string
	// Admin privileges are in the group's admin role and in PVEAdmin.
	Admin []string
	// User privileges are in the group's user role as well.
	User []string
	// Audit privileges are in every role of the group and in PVEAuditor.
	Audit []string
}

// agentPrivileges adds the privileges that changed between 8.4 and 9, where VM.GuestAgent.* replaced VM.Monitor.
func agentPrivileges(version string, vm PrivilegeGroup) PrivilegeGroup {
	if version == "8.4" {
		vm.Admin = append(vm.Admin, "VM.Monitor")
		return vm
	}
	vm.Admin = append(vm.Admin, "VM.GuestAgent.Unrestricted", "VM.Replicate")
	vm.User = append(vm.User, "VM.GuestAgent.FileRead", "VM.GuestAgent.FileSystemMgmt", "VM.GuestAgent.FileWrite")
	vm.Audit = append(vm.Audit, "VM.GuestAgent.Audit")
	return vm
}

func privilege(version string) stringFormat {
	known := map[string]bool{"Permissions.Modify": true}
	for _, g := range Privileges(version) {
		for _, list := range [][]string{g.Root, g.Admin, g.User, g.Audit} {
			for _, p := range list {
				known[p] = true
			}
		}
	}
	return func(v string) string {
		if known[v] {
			return ""
		}
		return fmt.Sprintf("invalid privilege '%s'", v)
	}
}
