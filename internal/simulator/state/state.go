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

// Package state holds what a cluster knows: nodes, guests, storages, volumes, users, tasks. It decides nothing; it finds things and
// answers who may do what.
package state

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/random"
)

// State is everything that a cluster knows. Its fields may be read and changed in Server.Edit.
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
	// Containers are shown and read like VMs. Nothing makes or runs them.
	Containers map[int]*Guest `json:",omitempty"`
	// Volumes are the volumes of all storages by volume ID; local ones have their node in the key.
	Volumes map[VolumeKey]*Volume
	// Users, Groups, Roles and ACL are the access control.
	Users  map[string]*User
	Groups map[string]*Group
	Roles  map[string]*Role
	ACL    []Grant
	// HA are the HA resources by ID, such as "vm:100".
	HA map[string]*HAResource
	// HAManager is what the manager of HA has made of them.
	HAManager *HAManager
	// Firewalls are the firewalls by what they protect: "cluster", "node/NAME" or "vm/VMID".
	Firewalls map[string]*Firewall
	// Backups are the backup jobs by ID, with their options as the API names them.
	Backups map[string]map[string]string
	// SDN are zones and virtual networks.
	SDN *SDN
	// Options are the options of the cluster as the API names them.
	Options map[string]string
	// Mappings are the mappings of devices and directories by kind: pci, usb or dir. HAGroups and HARules say where HA puts
	// guests: groups until PVE 8, rules since. Replications are the replication jobs.
	Mappings                        map[string]Sections
	HAGroups, HARules, Replications Sections
	// Replicas are what has become of the replication jobs, by their IDs.
	Replicas map[string]*Replica
	// Domains are the realms.
	Domains Sections
	// HAIdle means that no daemon of HA acts on its resources.
	HAIdle bool
	// NoQuorum makes writes fail as in a cluster that has lost its majority, since QuorumLost.
	NoQuorum   bool
	QuorumLost time.Time
	// Viewer is the node that is cut off and as which the state is seen at present; empty for the cluster.
	Viewer string `json:"-"`

	// Tasks are the tasks of all nodes, oldest first, Log the cluster log.
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
	// Offline nodes answer nothing: requests for them end in 595.
	Offline bool
	// Starting is true while a node that is off boots: it refuses connections. Reset is when its watchdog took the power from it.
	Starting bool
	Reset    time.Time
	// CutOff is true for a node that runs, and that the others do not reach, so that it is Offline to them: it has no quorum. Told are the latest reports of
	// the others' guests that it knows, by VMID.
	CutOff bool
	Told   map[int]*Report
	// Left is when the node went off; the others notice a little later. Returned is when it was there again, zero before it has ever been away;
	// Forgotten is true if no node was left then that knew what it had reported.
	Left, Returned time.Time
	Forgotten      bool
	// Wrote is when the daemons last wrote their status before the node went off.
	Wrote time.Time
	// CPUs is the number of processors, Memory and Disk are in bytes.
	CPUs   int
	Memory int64
	Disk   int64
	// Address is the node's IP address.
	Address string
	// Links are the addresses of the further links of corosync.
	Links []string
	// Interfaces are the network interfaces by name, PendingInterfaces those after the changes that wait to be applied; nil
	// without such changes.
	Interfaces        map[string]*Interface
	PendingInterfaces map[string]*Interface
	// Down are interfaces that are written down and have not come up, as while a reload brings them up.
	Down map[string]bool `json:",omitempty"`
	// StagedLines are lines that somebody has written into the file of the changes by hand, outside of interfaces.
	StagedLines []string `json:",omitempty"`
	// InterfacesWritten is true when the API has written the file of the interfaces, with its head.
	InterfacesWritten bool
	// DNS are the node's name servers, SearchDomain is where it looks for short names.
	DNS          []string
	SearchDomain string
	// Description is the node's note, Options are the node's other options as the API names them.
	Description string
	Options     map[string]string
	// TimeZone is such as "Europe/Vienna", empty for UTC. Hosts is the file of host names, empty for the usual one.
	TimeZone, Hosts string
	// Booted is when the node started.
	Booted time.Time `json:"_booted"`
}

// Interface is a network interface of a node.
type Interface struct {
	// Name is such as "vmbr0", Type such as "bridge", "eth", "bond" or "vlan".
	Name, Type string
	// CIDR is the address with its length, Gateway the default route.
	CIDR, Gateway string
	// Addresses, with their lengths, stand before that in the file: the API does not list them, and does not keep them when it writes the file.
	Addresses []string `json:",omitempty"`
	// Ports are the interfaces that a bridge connects, separated by spaces.
	Ports string
	// VLANAware bridges pass tagged frames.
	VLANAware bool
	// Autostart is true for interfaces that come up with the node.
	Autostart bool
	// Options are further settings as the API names them, such as "mtu" or "vlan-id".
	Options map[string]string
	// Priority is the interface's place among the others.
	Priority int `json:"_priority"`
}

// Guest is a virtual machine.
type Guest struct {
	VMID int
	Node string
	// Config is the configuration in force, Pending what waits for the next start, Delete what the next start removes:
	// option → whether a disk's volume goes too.
	Config  map[string]string
	Pending map[string]string
	Delete  map[string]bool
	// Snapshots are the snapshots by name.
	Snapshots map[string]*Snapshot
	// Power is the state of the process.
	Power Power
	// Agent says what the guest's system does; nil stands for a plain system on the VM's boot disk.
	Agent *Agent

	// Files are the files inside the guest that the agent has written, by path.
	Files map[string]string

	// Frozen is true while the agent holds the file systems still.
	Frozen bool
	// Processes are the programs that the agent has run, by PID.
	Processes map[int]Process `json:"_processes"`
	// Started is when the guest's process started, PID its number.
	Started time.Time `json:"_started"`
	PID     int       `json:"_pid"`
	// CloudInit are the options that the cloud-init drive was made from.
	CloudInit map[string]string `json:"_cloudInd"`
	// Report is what pvestatd last reported, nil for a guest that it has not seen yet.
	Report *Report `json:"-"`
	// Sizes are what the configuration says of the guest's sizes, read once.
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
	// Missing means that the guest's system runs no agent.
	Missing bool
	// Addresses are the addresses of the interface at the same index, each with its length: "10.0.0.5/24". Without an
	// entry the address comes from cloud-init or is made up.
	Addresses map[int][]string
	// OS is what the agent tells of the system, by the names of get-osinfo; Debian's without it.
	OS map[string]string
	// IgnoresShutdown makes the system ignore requests to power off.
	IgnoresShutdown bool
	// CloudInitRuns keeps cloud-init from ending; CloudInitErrors are those that it ends with.
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
	// State is prepare while the snapshot is taken, and delete while it is removed, or was left half-way (snapstate).
	State string `json:",omitempty"`
}

// Storage is a storage definition.
type Storage struct {
	ID, Type, Path string
	// Content lists what the storage may hold: images, iso, vztmpl, backup, snippets, import, rootdir.
	Content []string
	// Nodes limits the storage to some nodes; empty means all.
	Nodes    []string
	Shared   bool
	Disabled bool
	// Options are the options that only show.
	Options map[string]string
	// Total and Used are the size and what is used beside the volumes, in bytes, on each node.
	Total, Used int64
}

// VolumeKey finds a volume. Node is empty on shared storages.
type VolumeKey struct {
	Storage, Node, Name string
}

// Volume is a disk image, an ISO image or another file of a storage.
type Volume struct {
	// VMID is the owner, 0 for files that belong to no guest.
	VMID int
	// Format is raw, qcow2, vmdk or iso; Content is images, iso, import, …
	Format, Content string
	// Size and Used are in bytes.
	Size, Used int64
	// Base is the volume that a linked clone stands on.
	Base string
	// System is true when the volume holds a system that boots.
	System bool
	// Replica is the replication job that has made the volume, empty for those that are in use.
	Replica string `json:",omitempty"`
	// Backup is what a backup holds, with its Notes, whether it is Protected, and how its last Verification ended on a backup server: ok or failed.
	Backup       *Backup `json:",omitempty"`
	Notes        string  `json:",omitempty"`
	Protected    bool    `json:",omitempty"`
	Verification string  `json:",omitempty"`
	// Data is the content of uploaded files, and of disks that a test has written to.
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
	// FirstName, LastName and Keys (of a second factor) are told and not used.
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
	// Kind is "user", "group" or "token", ID its name.
	Kind, ID string
	Role     string
	// Propagate applies the role to what is below the path too.
	Propagate bool
}

// HAResource is a guest that HA watches.
type HAResource struct {
	// State is what is asked for: started, stopped, enabled, disabled or ignored.
	State   string
	Comment string
	// Options are further options as the API names them, such as "max_restart" or "group".
	Options map[string]string
	// Failed is true when HA has given the guest up: it does nothing for it until that is disabled.
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
