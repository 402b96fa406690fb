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

// Package storage describes storages for the engine of configuration objects. This file contains the table, options.go the options of each type,
// inspect.go the state that the options do not show, and users.go the guests that use a storage.
package storage

import (
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

type (
	parameters = v1alpha1.StorageParameters
	view       = config.View[parameters, *v1alpha1.StorageObservation]
)

// Table returns the table of the kind Storage.
func Table() config.Table[parameters, *v1alpha1.StorageObservation] {
	return config.Table[parameters, *v1alpha1.StorageObservation]{
		Kind: "Storage", Collection: proxmox.StorageCollection(),
		Name:    func(p *parameters) *string { return p.Name },
		Declare: declare,
		Fixed:   fixed,
		Implied: []string{"content", "path", "shared", "prune-backups", "encryption-key"},
		Secrets: []config.Secret[parameters]{
			{Option: "password", Ref: password}, {Option: "keyring", Ref: keyring}, {Option: "encryption-key", Ref: encryptionKey},
		},
		Privileges: privileges,
		Inspect:    inspect,
		Users:      users,
	}
}

// privileges returns the privileges that PVE requires for a storage.
func privileges(v config.Verb, name string, _ *parameters) []proxmox.Privilege {
	see := proxmox.Privilege{Path: "/storage/" + name, Names: []string{"Datastore.Audit", "Datastore.AllocateSpace"}}
	if v == config.See {
		return []proxmox.Privilege{see}
	}
	all := []proxmox.Privilege{see, {Path: "/storage", Names: []string{"Datastore.Allocate"}}}
	if v == config.Delete { // Guests that the user may not see would not be found as users of the storage.
		all = append(all, proxmox.Privilege{Path: "/vms", Names: []string{"VM.Audit"}})
	}
	return all
}

// password returns the password of the user on the server.
func password(p *parameters) *v1alpha1.SecretKeyReference {
	switch {
	case p.CIFS != nil:
		return p.CIFS.PasswordSecretRef
	case p.PBS != nil:
		return p.PBS.PasswordSecretRef
	case p.ESXi != nil:
		return &p.ESXi.PasswordSecretRef
	}
	return nil
}

// keyring returns the keyring of the user in a Ceph cluster.
func keyring(p *parameters) *v1alpha1.SecretKeyReference {
	switch {
	case p.RBD != nil:
		return p.RBD.KeyringSecretRef
	case p.CephFS != nil:
		return p.CephFS.KeyringSecretRef
	}
	return nil
}

func encryptionKey(p *parameters) *v1alpha1.SecretKeyReference {
	if p.PBS == nil {
		return nil
	}
	return p.PBS.EncryptionKeySecretRef
}
