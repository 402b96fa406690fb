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

package storage

import (
	"slices"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

// A typed is a type of storages: the block of a spec that selects it, and the options that cannot change.
type typed struct {
	name    string
	fixed   []string
	declare func(settings.Declared)
}

// declare declares the options of a spec.
func declare(p *parameters) settings.Declared {
	d := settings.Declared{}
	d.SetSame("nodes", settings.List(p.Nodes), settings.SameList)
	d.SetSame("content", settings.List(p.Content), settings.SameList)
	flag(d, "disable", p.Disabled)
	flag(d, "shared", p.Shared)
	d.Set("preallocation", p.Preallocation)
	d.Set("max-protected-backups", settings.Number(p.MaxProtectedBackups))
	if b := p.PruneBackups; b != nil {
		d.SetParts("prune-backups", "", map[string]*string{
			"keep-all": settings.Boolean(b.KeepAll), "keep-last": settings.Number(b.KeepLast), "keep-hourly": settings.Number(b.KeepHourly),
			"keep-daily": settings.Number(b.KeepDaily), "keep-weekly": settings.Number(b.KeepWeekly),
			"keep-monthly": settings.Number(b.KeepMonthly), "keep-yearly": settings.Number(b.KeepYearly),
		})
	}
	if b := p.Bandwidth; b != nil {
		d.SetParts("bwlimit", "", map[string]*string{
			"default": settings.Number(b.Default), "clone": settings.Number(b.Clone), "migration": settings.Number(b.Migration),
			"move": settings.Number(b.Move), "restore": settings.Number(b.Restore),
		})
	}
	t := typeOf(p)
	d.Set("type", &t.name)
	t.declare(d)
	return d
}

// fixed returns the options that cannot change.
func fixed(p *parameters) []string { return append([]string{"type"}, typeOf(p).fixed...) }

// typeOf returns the type that a spec selects. The schema accepts exactly one.
func typeOf(p *parameters) typed {
	all := append(local(p), remote(p)...)
	if i := slices.IndexFunc(all, func(t typed) bool { return t.declare != nil }); i >= 0 {
		return all[i]
	}
	return typed{declare: func(settings.Declared) {}}
}

// of returns the type of a block, if the spec has the block.
func of[B any](name string, block *B, fixed []string, declare func(settings.Declared, *B)) typed {
	if block == nil {
		return typed{}
	}
	return typed{name: name, fixed: fixed, declare: func(d settings.Declared) { declare(d, block) }}
}

// flag declares an option whose default is off.
func flag(d settings.Declared, name string, value *bool) {
	d.SetSame(name, settings.Boolean(value), func(a, b string) bool { return (a == "1") == (b == "1") })
}

// on declares an option whose default is on.
func on(d settings.Declared, name string, value *bool) {
	d.SetSame(name, settings.Boolean(value), func(a, b string) bool { return (a == "0") == (b == "0") })
}

// local returns the types that store data on disks of the nodes.
func local(p *parameters) []typed {
	return []typed{
		of("dir", p.Dir, []string{"path"}, func(d settings.Declared, b *v1alpha1.StorageDir) {
			d.Set("path", &b.Path)
			d.Set("is_mountpoint", b.Mountpoint)
			on(d, "create-base-path", b.CreateBasePath)
			on(d, "create-subdirs", b.CreateSubdirs)
		}),
		of("lvm", p.LVM, []string{"vgname", "base"}, func(d settings.Declared, b *v1alpha1.StorageLVM) {
			d.Set("vgname", &b.VolumeGroup)
			d.Set("base", b.Base)
			flag(d, "saferemove", b.SafeRemove)
			d.Set("saferemove_throughput", b.SafeRemoveThroughput)
			flag(d, "tagged_only", b.TaggedOnly)
		}),
		of("lvmthin", p.LVMThin, []string{"vgname", "thinpool"}, func(d settings.Declared, b *v1alpha1.StorageLVMThin) {
			d.Set("vgname", &b.VolumeGroup)
			d.Set("thinpool", &b.ThinPool)
		}),
		of("zfspool", p.ZFSPool, []string{"pool"}, func(d settings.Declared, b *v1alpha1.StorageZFSPool) {
			d.Set("pool", &b.Pool)
			d.Set("blocksize", b.BlockSize)
			flag(d, "sparse", b.Sparse)
			d.Set("mountpoint", b.Mountpoint)
		}),
		of("btrfs", p.BTRFS, []string{"path"}, func(d settings.Declared, b *v1alpha1.StorageBTRFS) {
			d.Set("path", &b.Path)
			d.Set("is_mountpoint", b.Mountpoint)
			flag(d, "nocow", b.NoCOW)
		}),
	}
}

// remote returns the types that store data on servers in the network.
func remote(p *parameters) []typed {
	return append(ceph(p),
		of("nfs", p.NFS, []string{"server", "export"}, func(d settings.Declared, b *v1alpha1.StorageNFS) {
			d.Set("server", &b.Server)
			d.Set("export", &b.Export)
			d.Set("options", b.Options)
		}),
		of("cifs", p.CIFS, []string{"server", "share"}, func(d settings.Declared, b *v1alpha1.StorageCIFS) {
			for option, value := range map[string]*string{
				"server": &b.Server, "share": &b.Share, "subdir": b.Subdir, "username": b.Username, "domain": b.Domain,
				"smbversion": b.SMBVersion, "options": b.Options,
			} {
				d.Set(option, value)
			}
		}),
		of("iscsi", p.ISCSI, []string{"portal", "target"}, func(d settings.Declared, b *v1alpha1.StorageISCSI) {
			d.Set("portal", &b.Portal)
			d.Set("target", &b.Target)
		}),
		of("pbs", p.PBS, []string{"server", "datastore"}, func(d settings.Declared, b *v1alpha1.StoragePBS) {
			for option, value := range map[string]*string{
				"server": &b.Server, "datastore": &b.Datastore, "namespace": b.Namespace, "port": settings.Number(b.Port),
				"username": b.Username, "fingerprint": b.Fingerprint,
			} {
				d.Set(option, value)
			}
		}),
		of("esxi", p.ESXi, nil, func(d settings.Declared, b *v1alpha1.StorageESXi) {
			d.Set("server", &b.Server)
			d.Set("username", &b.Username)
			d.Set("port", settings.Number(b.Port))
			flag(d, "skip-cert-verification", b.SkipCertVerification)
		}),
	)
}

// ceph returns the types of Ceph clusters.
func ceph(p *parameters) []typed {
	return []typed{
		of("rbd", p.RBD, nil, func(d settings.Declared, b *v1alpha1.StorageRBD) {
			for option, value := range map[string]*string{
				"pool": b.Pool, "data-pool": b.DataPool, "namespace": b.Namespace, "username": b.Username,
			} {
				d.Set(option, value)
			}
			d.SetSame("monhost", settings.List(b.Monitors), settings.SameList)
			flag(d, "krbd", b.KRBD)
		}),
		of("cephfs", p.CephFS, nil, func(d settings.Declared, b *v1alpha1.StorageCephFS) {
			for option, value := range map[string]*string{
				"fs-name": b.FSName, "subdir": b.Subdir, "username": b.Username, "options": b.Options,
			} {
				d.Set(option, value)
			}
			d.SetSame("monhost", settings.List(b.Monitors), settings.SameList)
			flag(d, "fuse", b.FUSE)
		}),
	}
}
