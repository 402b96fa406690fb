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

// Package state holds the state of a cluster: nodes, guests, storages, volumes, users, tasks. It makes no decisions. It finds objects and checks
// privileges.
package state

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/random"
)

// State is the complete state of a cluster. Its fields may be read and changed in Server.Edit.
type State struct {
	// Version is the release, "8.4" or "9.2".
	Version string
	// ClusterName is empty for a single node.
	ClusterName string
	// QEMU is the version of QEMU, such as "10.0.13".
	QEMU string
	// StockQEMU means that QEMU lacks Proxmox' patches.
	StockQEMU bool
	// Firmware2023 means that the nodes' firmware comes with Microsoft's UEFI certificate of 2023.
	Firmware2023 bool
	// Nodes, Guests, Storages and Pools are the cluster's objects by name or VMID.
	Nodes    map[string]*Node
	Guests   map[int]*Guest
	Storages map[string]*Storage
	Pools    map[string]*Pool
	// Containers are shown and read like VMs. They cannot be created or started.
	Containers map[int]*Guest `json:",omitempty"`
	// Volumes are the volumes of all storages by volume ID. Local ones have their node in the key.
	Volumes map[VolumeKey]*Volume
	// Users, Groups, Roles and ACL are the access control.
	Users  map[string]*User
	Groups map[string]*Group
	Roles  map[string]*Role
	ACL    []Grant
	// HA are the HA resources by ID, such as "vm:100".
	HA map[string]*HAResource
	// HAManager is the status data of the manager of HA about them.
	HAManager *HAManager
	// Firewalls are the firewalls by their scope: "cluster", "node/NAME" or "vm/VMID".
	Firewalls map[string]*Firewall
	// Backups are the backup jobs by ID, with options named as in the API.
	Backups map[string]map[string]string
	// SDN are zones and virtual networks.
	SDN *SDN
	// Options are the options of the cluster, named as in the API.
	Options map[string]string
	// Mappings are the mappings of devices and directories by kind: pci, usb or dir. HAGroups and HARules define where HA runs guests: groups up to PVE 8,
	// rules since. Replications are the replication jobs.
	Mappings                        map[string]Sections
	HAGroups, HARules, Replications Sections
	// Replicas are the states of the replication jobs, by their IDs.
	Replicas map[string]*Replica
	// Domains are the realms.
	Domains Sections
	// HAIdle means that the daemons of HA do nothing.
	HAIdle bool
	// NoQuorum makes writes fail as in a cluster that has lost its quorum, since QuorumLost.
	NoQuorum   bool
	QuorumLost time.Time
	// Viewer is the cut-off node from whose view the state is currently shown. It is empty for the cluster.
	Viewer string `json:"-"`

	// Tasks are the tasks of all nodes, oldest first. Log is the cluster log.
	Tasks []*Task    `json:"_tasks"`
	Log   []LogEntry `json:"_log"`
	// Sequence numbers processes and log lines.
	Sequence int `json:"_sequence"`
}

// New returns the state of an empty cluster.
func New(version string) *State {
	return &State{
		Version: version, Nodes: map[string]*Node{}, Guests: map[int]*Guest{}, Storages: map[string]*Storage{},
		Pools: map[string]*Pool{}, Containers: map[int]*Guest{}, Volumes: map[VolumeKey]*Volume{}, Users: map[string]*User{}, Groups: map[string]*Group{},
		Roles: map[string]*Role{}, HA: map[string]*HAResource{}, HAManager: newHAManager(), Firewalls: map[string]*Firewall{},
		Backups: map[string]map[string]string{}, SDN: newSDN(), Sequence: 1000,
		Mappings: map[string]Sections{"pci": {}, "usb": {}, "dir": {}}, HAGroups: Sections{}, HARules: Sections{}, Replications: Sections{},
		Domains: builtinDomains(), Replicas: map[string]*Replica{},
	}
}

// Node is a member of the cluster.
type Node struct {
	Name string
	// Offline nodes do not answer. Requests for them end in 595.
	Offline bool
	// Starting is true while an offline node boots and refuses connections. Reset is when its watchdog reset it.
	Starting bool
	Reset    time.Time
	// CutOff is true for a running node that the others cannot reach, so that it is Offline to them and has no quorum. KnownReports are the latest reports of the
	// others' guests that it knows, by VMID.
	CutOff       bool
	KnownReports map[int]*Report
	// Left is when the node went off, which the others notice a little later. Returned is when it came back, or zero if it has never been off. Forgotten is
	// true if no node was left then that knew its reports.
	Left, Returned time.Time
	Forgotten      bool
	// Wrote is when the daemons last wrote their status before the node went off.
	Wrote time.Time
	// CPUs is the number of processors. Memory and Disk are in bytes.
	CPUs   int
	Memory int64
	Disk   int64
	// Address is the node's IP address.
	Address string
	// Links are the addresses of the further links of corosync.
	Links []string
	// Interfaces are the network interfaces by name. PendingInterfaces are those after the pending changes, or nil without such changes.
	Interfaces        map[string]*Interface
	PendingInterfaces map[string]*Interface
	// Down are configured interfaces that are not up yet, for example during a reload.
	Down map[string]bool `json:",omitempty"`
	// StagedLines are lines that were added manually to the file of pending changes, outside of interfaces.
	StagedLines []string `json:",omitempty"`
	// InterfacesWritten is true if the API has written the file of the interfaces, with its header.
	InterfacesWritten bool
	// DNS are the node's name servers. SearchDomain is the domain of short names.
	DNS          []string
	SearchDomain string
	// Description is the node's note. Options are the node's other options, named as in the API.
	Description string
	Options     map[string]string
	// TimeZone is a zone such as "Europe/Vienna", or empty for UTC. Hosts is the file of host names, or empty for the default.
	TimeZone, Hosts string
	// Booted is when the node started.
	Booted time.Time `json:"_booted"`
}

// Interface is a network interface of a node.
type Interface struct {
	// Name is a name such as "vmbr0". Type is a type such as "bridge", "eth", "bond" or "vlan".
	Name, Type string
	// CIDR is the address with its length. Gateway is the default route.
	CIDR, Gateway string
	// Addresses, with their lengths, precede the others in the file. The API does not list them, and drops them when it writes the file.
	Addresses []string `json:",omitempty"`
	// Ports are the interfaces that a bridge connects, separated by spaces.
	Ports string
	// VLANAware bridges pass tagged frames.
	VLANAware bool
	// Autostart is true for interfaces that start with the node.
	Autostart bool
	// Options are further settings, named as in the API, such as "mtu" or "vlan-id".
	Options map[string]string
	// Priority is the position of the interface.
	Priority int `json:"_priority"`
}

// Guest is a virtual machine.
type Guest struct {
	VMID int
	Node string
	// Config is the configuration in force. Pending holds the values from the next start on. Delete holds the options that the next start removes: option →
	// whether a disk's volume is deleted too.
	Config  map[string]string
	Pending map[string]string
	Delete  map[string]bool
	// Snapshots are the snapshots by name.
	Snapshots map[string]*Snapshot
	// Power is the state of the process.
	Power Power
	// Agent describes the guest's system. nil stands for a plain system on the VM's boot disk.
	Agent *Agent

	// Files are the files inside the guest that were written through the agent, by path.
	Files map[string]string

	// Frozen is true while the agent freezes the file systems.
	Frozen bool
	// Processes are the programs that the agent ran, by PID.
	Processes map[int]Process `json:"_processes"`
	// Started is when the guest's process started. PID is its number.
	Started time.Time `json:"_started"`
	PID     int       `json:"_pid"`
	// CloudInit are the options from which the cloud-init drive was created.
	CloudInit map[string]string `json:"_cloudInd"`
	// Report is the latest report of pvestatd, or nil for a guest that was not reported yet.
	Report *Report `json:"-"`
	// Sizes are the guest's sizes from its configuration, which are cached.
	Sizes *Sizes `json:"-"`
}

// Power is the state of a guest's process.
type Power string

// The states of a guest's process.
const (
	Stopped Power = "stopped"
	Running Power = "running"
	Paused  Power = "paused"
)

// Agent is the QEMU guest agent inside a guest.
type Agent struct {
	// Missing means that no agent runs in the guest's system.
	Missing bool
	// Addresses are the addresses of the interface at the same index, each with its length: "10.0.0.5/24". Without an entry, the address comes from
	// cloud-init or is generated.
	Addresses map[int][]string
	// OS is the agent's information about the system, by the names of get-osinfo. The default is Debian's.
	OS map[string]string
	// IgnoresShutdown makes the system ignore requests to power off.
	IgnoresShutdown bool
	// CloudInitRuns keeps cloud-init running. CloudInitErrors are the errors with which it ends.
	CloudInitRuns   bool
	CloudInitErrors []string
}

// Snapshot is a snapshot of a guest.
type Snapshot struct {
	Config      map[string]string
	Description string
	Parent      string
	Time        time.Time
	// VMState is true for snapshots with memory.
	VMState bool
	// State is prepare while the snapshot is being taken, and delete while it is being removed, or was left incomplete (snapstate).
	State string `json:",omitempty"`
}

// Storage is a storage definition.
type Storage struct {
	ID, Type, Path string
	// Content lists what the storage may hold: images, iso, vztmpl, backup, snippets, import, rootdir.
	Content []string
	// Nodes limits the storage to some nodes. Empty means all.
	Nodes    []string
	Shared   bool
	Disabled bool
	// Options are the options that are only shown.
	Options map[string]string
	// Total and Used are the size and the space in use in addition to the volumes, in bytes, on each node.
	Total, Used int64
}

// VolumeKey identifies a volume. Node is empty on shared storages.
type VolumeKey struct {
	Storage, Node, Name string
}

// Volume is a disk image, an ISO image or another file of a storage.
type Volume struct {
	// VMID is the owner, or 0 for files that belong to no guest.
	VMID int
	// Format is raw, qcow2, vmdk or iso. Content is images, iso, import, …
	Format, Content string
	// Size and Used are in bytes.
	Size, Used int64
	// Base is the volume on which a linked clone is based.
	Base string
	// System is true if the volume contains a bootable system.
	System bool
	// Replica is the replication job that created the volume. It is empty for volumes in use.
	Replica string `json:",omitempty"`
	// Backup is the content of a backup, with its Notes, whether it is Protected, and the result of its last Verification on a backup server: ok or failed.
	Backup       *Backup `json:",omitempty"`
	Notes        string  `json:",omitempty"`
	Protected    bool    `json:",omitempty"`
	Verification string  `json:",omitempty"`
	// Data is the content of uploaded files, and of disks to which a test has written.
	Data    []byte
	Created time.Time
}

// Pool is a resource pool.
type Pool struct {
	Comment  string
	VMs      map[int]bool
	Storages map[string]bool
}

// User is an account.
type User struct {
	// Password is empty for users that cannot log in.
	Password string
	Disabled bool
	Comment  string
	Email    string
	// FirstName, LastName and Keys (of a second factor) are returned and not used.
	FirstName, LastName, Keys string
	Expire                    int64
	Groups                    map[string]bool
	// Tokens are the user's API tokens by name.
	Tokens map[string]*Token
}

// Token is an API token.
type Token struct {
	Secret  string
	Comment string
	Expire  int64
	// NoSeparation gives the token all privileges of its user.
	NoSeparation bool
}

// Group is a group of users.
type Group struct{ Comment string }

// Role is a set of privileges.
type Role struct {
	Privileges map[string]bool
	// BuiltIn roles cannot be changed.
	BuiltIn bool
}

// Grant gives a role on a path.
type Grant struct {
	Path string
	// Kind is "user", "group" or "token". ID is its name.
	Kind, ID string
	Role     string
	// Propagate also applies the role to the paths below the path.
	Propagate bool
}

// HAResource is a guest that HA manages.
type HAResource struct {
	// State is the requested state: started, stopped, enabled, disabled or ignored.
	State   string
	Comment string
	// Options are further options, named as in the API, such as "max_restart" or "group".
	Options map[string]string
	// Failed is true when HA has given up on the guest. It does nothing for it until the resource is disabled.
	Failed bool
}

// NewGuest adds a stopped guest with the given options and the identity that PVE gives every VM.
func (st *State) NewGuest(vmid int, node string, config map[string]string) *Guest {
	g := &Guest{
		VMID: vmid, Node: node, Config: maps.Clone(config), Pending: map[string]string{}, Delete: map[string]bool{},
		Snapshots: map[string]*Snapshot{}, Power: Stopped,
	}
	if g.Config == nil {
		g.Config = map[string]string{}
	}
	for key, value := range map[string]string{"smbios1": "uuid=" + random.UUID(), "vmgenid": random.UUID()} {
		if g.Config[key] == "" {
			g.Config[key] = value
		}
	}
	st.Guests[vmid] = g
	return g
}

func section(write func([]byte) (int, error), name string, config map[string]string) {
	b := &strings.Builder{}
	b.WriteString(name + "\n")
	for _, key := range slices.Sorted(maps.Keys(config)) {
		b.WriteString(key + ": " + config[key] + "\n")
	}
	_, _ = write([]byte(b.String()))
}
