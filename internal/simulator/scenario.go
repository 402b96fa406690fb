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

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/examples/scenarios"
	"github.com/vitistack/provider-proxmox/internal/simulator/api/nodes"
	"github.com/vitistack/provider-proxmox/internal/simulator/api/storage"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
)

// A Scenario describes a cluster at its start. Sizes are written as in PVE: "8G", "512M".
type Scenario struct {
	// Version is the release, "9.2" (default) or "8.4".
	Version string `json:"version,omitempty"`
	// Cluster is the cluster's name. It is empty for standalone nodes.
	Cluster string `json:"cluster,omitempty"`
	// QEMU is the version of the nodes' QEMU. The default is that of the release.
	QEMU string `json:"qemu,omitempty"`
	// StockQEMU means that it lacks Proxmox' patches.
	StockQEMU bool `json:"stockQEMU,omitempty"`
	// Firmware2023 means that the nodes' firmware comes with Microsoft's UEFI certificate of 2023.
	Firmware2023 bool `json:"firmware2023,omitempty"`
	// Durations override how long the work of a kind of task takes in real time: "qmclone: 3s". "boot" is how long a guest boots, "resources" how old
	// /cluster/resources may be, "copydisk" the copy of one disk, "link" that of a disk based on its template's, during which the storage is locked (no time
	// by default), "offline" the duration of a request for a node that is off, "membership" how long the other nodes take to notice that a node is off (by
	// default as corosync with three nodes), "reboot" how long a node boots after a reset by its watchdog, "daemons" how long after that it reports and takes
	// part in HA, "ha" the time between two turns of the manager of HA, "fence" the time until a node is certainly down, "cleanup" how long after the stop of
	// a VM qm cleanup runs, and "replication" how often nodes check for replication jobs that are due.
	Durations map[string]string `json:"durations,omitempty"`
	Nodes     []ScenarioNode    `json:"nodes"`
	Storages  []ScenarioStorage `json:"storages,omitempty"`
	Guests    []ScenarioGuest   `json:"guests,omitempty"`
	Pools     []ScenarioPool    `json:"pools,omitempty"`
	Users     []ScenarioUser    `json:"users,omitempty"`
	Groups    []string          `json:"groups,omitempty"`
	Roles     []ScenarioRole    `json:"roles,omitempty"`
	ACL       []ScenarioGrant   `json:"acl,omitempty"`
	// Backups are backup jobs by their IDs, with options named as in the API.
	Backups map[string]map[string]string `json:"backups,omitempty"`
	// HA lists the VMIDs of guests that HA manages. With HAIdle, the daemons of HA do nothing.
	HA     []int `json:"ha,omitempty"`
	HAIdle bool  `json:"haIdle,omitempty"`

	lines scenarioLines
}

// ScenarioNode is a node of the cluster.
type ScenarioNode struct {
	Name    string `json:"name"`
	Offline bool   `json:"offline,omitempty"`
	// CPUs defaults to 8, Memory to 32G, Disk to 100G.
	CPUs    int    `json:"cpus,omitempty"`
	Memory  string `json:"memory,omitempty"`
	Disk    string `json:"disk,omitempty"`
	Address string `json:"address,omitempty"`
	// DNS are name servers, 10.0.0.1 by default. Search is the domain of short names.
	DNS    []string `json:"dns,omitempty"`
	Search string   `json:"search,omitempty"`
	// Interfaces default to the bridge vmbr0.
	Interfaces []ScenarioInterface `json:"interfaces,omitempty"`
}

// ScenarioInterface is a network interface of a node.
type ScenarioInterface struct {
	Name string `json:"name"`
	// Type defaults to bridge.
	Type      string `json:"type,omitempty"`
	CIDR      string `json:"cidr,omitempty"`
	Gateway   string `json:"gateway,omitempty"`
	Ports     string `json:"ports,omitempty"`
	VLANAware bool   `json:"vlanAware,omitempty"`
}

// ScenarioStorage is a storage of the cluster.
type ScenarioStorage struct {
	ID string `json:"id"`
	// Type is dir, nfs, lvmthin, zfspool, rbd, …
	Type     string   `json:"type"`
	Path     string   `json:"path,omitempty"`
	Content  []string `json:"content"`
	Nodes    []string `json:"nodes,omitempty"`
	Shared   bool     `json:"shared,omitempty"`
	Disabled bool     `json:"disabled,omitempty"`
	// Total defaults to 100G.
	Total string `json:"total,omitempty"`
	Used  string `json:"used,omitempty"`
	// Files are files such as "iso/debian.iso: 600M", on every node. An image may have the size of its file in addition to the size of its disk:
	// "import/debian.qcow2: 3G 400M".
	Files map[string]string `json:"files,omitempty"`
}

// ScenarioGuest is a VM or template.
type ScenarioGuest struct {
	VMID int    `json:"vmid"`
	Node string `json:"node"`
	// Count creates that many guests, with increasing VMIDs and numbers in their names.
	Count    int  `json:"count,omitempty"`
	Template bool `json:"template,omitempty"`
	Running  bool `json:"running,omitempty"`
	// Config contains the options as the API accepts them: a disk "ceph:8" is created with 8 GiB.
	Config map[string]string `json:"config,omitempty"`
	// Blank disks contain no system, so no agent runs and a shutdown has no effect.
	Blank bool           `json:"blank,omitempty"`
	Agent *ScenarioAgent `json:"agent,omitempty"`
	Pool  string         `json:"pool,omitempty"`
}

// ScenarioAgent describes the system inside a guest.
type ScenarioAgent struct {
	Missing         bool                `json:"missing,omitempty"`
	IgnoresShutdown bool                `json:"ignoresShutdown,omitempty"`
	Addresses       map[string][]string `json:"addresses,omitempty"`
	// OS is the agent's information about the system, by the names of get-osinfo, such as "pretty-name".
	OS map[string]string `json:"os,omitempty"`
	// CloudInit describes the progress of cloud-init in a guest that has its drive. Without it, cloud-init finishes as soon as the agent answers.
	CloudInit *ScenarioCloudInit `json:"cloudInit,omitempty"`
}

// ScenarioCloudInit describes the behaviour of cloud-init in a guest.
type ScenarioCloudInit struct {
	Running bool     `json:"running,omitempty"`
	Errors  []string `json:"errors,omitempty"`
}

// ScenarioPool is a resource pool.
type ScenarioPool struct {
	ID       string   `json:"id"`
	Comment  string   `json:"comment,omitempty"`
	Storages []string `json:"storages,omitempty"`
}

// ScenarioUser is an account. root@pam always exists.
type ScenarioUser struct {
	ID       string          `json:"id"`
	Password string          `json:"password,omitempty"`
	Disabled bool            `json:"disabled,omitempty"`
	Groups   []string        `json:"groups,omitempty"`
	Tokens   []ScenarioToken `json:"tokens,omitempty"`
}

// ScenarioToken is an API token. If Separated is set, it only has the privileges of its own grants.
type ScenarioToken struct {
	ID        string `json:"id"`
	Secret    string `json:"secret"`
	Separated bool   `json:"separated,omitempty"`
}

// ScenarioRole is a role in addition to the built-in ones.
type ScenarioRole struct {
	ID         string   `json:"id"`
	Privileges []string `json:"privileges"`
}

// ScenarioGrant gives roles on a path to one user, group or token.
type ScenarioGrant struct {
	Path  string   `json:"path"`
	User  string   `json:"user,omitempty"`
	Group string   `json:"group,omitempty"`
	Token string   `json:"token,omitempty"`
	Roles []string `json:"roles"`
	// Local grants apply only to the path itself, not to the paths below.
	Local bool `json:"local,omitempty"`
}

// Quickstart returns the built-in scenario, examples/scenarios/quickstart.yaml.
func Quickstart() (*Scenario, error) {
	data, err := scenarios.Files.ReadFile("quickstart.yaml")
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the built-in scenario")
	}
	return ParseScenario(data)
}

// LoadScenario reads a scenario from a YAML file.
func LoadScenario(path string) (*Scenario, error) {
	data, err := os.ReadFile(path) //nolint:gosec // The user names the file.
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the scenario")
	}
	s, err := ParseScenario(data)
	return s, errors.Wrapf(err, "cannot load %q", path)
}

// ParseScenario reads a scenario in YAML. Unknown fields are an error.
func ParseScenario(data []byte) (*Scenario, error) {
	lines, err := scenarioDocument(data)
	if err != nil {
		return nil, errors.Wrap(err, "cannot parse the scenario")
	}
	s := &Scenario{lines: lines}
	if err := yaml.UnmarshalStrict(data, s); err != nil {
		return nil, errors.Wrap(err, "cannot parse the scenario")
	}
	if len(s.Nodes) == 0 {
		return nil, errors.New("cannot use a scenario without nodes")
	}
	for kind, d := range s.Durations {
		if _, err := time.ParseDuration(d); err != nil {
			return nil, errors.Wrapf(err, "cannot parse the duration of %q", kind)
		}
	}
	return s, nil
}

func (s *Scenario) version() string {
	if s.Version == "" {
		return "9.2"
	}
	return s.Version
}

func (s *Scenario) durations() map[string]time.Duration {
	out := map[string]time.Duration{}
	for kind, text := range s.Durations {
		if d, err := time.ParseDuration(text); err == nil {
			out[kind] = d
		}
	}
	return out
}

// build creates the state without guests.
func (s *Scenario) build(version string, now time.Time) (*state.State, error) {
	st := state.New(version)
	st.ClusterName, st.QEMU, st.StockQEMU, st.Firmware2023, st.HAIdle = s.Cluster, s.QEMU, s.StockQEMU, s.Firmware2023, s.HAIdle
	st.Roles = state.BuiltinRoles(version)
	st.Users[state.Root] = &state.User{Password: "root", Groups: map[string]bool{}, Tokens: map[string]*state.Token{}}
	for i, n := range s.Nodes {
		node, err := n.build(now)
		if err != nil {
			return nil, s.lines.locate("nodes", i, err)
		}
		st.Nodes[n.Name] = node
	}
	for i, sc := range s.Storages {
		if err := sc.build(st, now); err != nil {
			return nil, s.lines.locate("storages", i, err)
		}
	}
	s.buildAccess(st)
	for id, options := range s.Backups {
		st.Backups[id] = maps.Clone(options)
	}
	for _, p := range s.Pools {
		pool := &state.Pool{Comment: p.Comment, VMs: map[int]bool{}, Storages: map[string]bool{}}
		for _, id := range p.Storages {
			pool.Storages[id] = true
		}
		st.Pools[p.ID] = pool
	}
	return st, s.checkACL(st)
}

// size reads a size, or returns the default for an empty text.
func size(text, fallback string) (int64, error) {
	if text == "" {
		text = fallback
	}
	n, ok := schema.ParseSize(text)
	if !ok {
		return 0, errors.Errorf("cannot parse the size %q, want such as 8G", text)
	}
	return n, nil
}

func (n ScenarioNode) build(now time.Time) (*state.Node, error) {
	memory, err := size(n.Memory, "32G")
	if err != nil {
		return nil, err
	}
	disk, err := size(n.Disk, "100G")
	if err != nil {
		return nil, err
	}
	node := &state.Node{
		Name: n.Name, Offline: n.Offline, CPUs: n.CPUs, Memory: memory, Disk: disk, Address: n.Address,
		Interfaces: map[string]*state.Interface{}, DNS: n.DNS, SearchDomain: n.Search, Booted: now.Add(-24 * time.Hour),
	}
	if len(node.DNS) == 0 {
		node.DNS, node.SearchDomain = []string{"10.0.0.1"}, "example.org"
	}
	if node.CPUs == 0 {
		node.CPUs = 8
	}
	if len(n.Interfaces) == 0 {
		n.Interfaces = []ScenarioInterface{{Name: "vmbr0"}}
	}
	for k, i := range n.Interfaces {
		if i.Type == "" {
			i.Type = "bridge"
		}
		node.Interfaces[i.Name] = &state.Interface{
			Name: i.Name, Type: i.Type, CIDR: i.CIDR, Gateway: i.Gateway, Ports: i.Ports, VLANAware: i.VLANAware,
			Autostart: i.Type != "eth", Options: map[string]string{}, Priority: nodes.FirstPriority + k,
		}
	}
	return node, nil
}

func (sc ScenarioStorage) build(st *state.State, now time.Time) error {
	total, err := size(sc.Total, "100G")
	if err != nil {
		return err
	}
	used, err := size(sc.Used, "0")
	if err != nil {
		return err
	}
	storage := &state.Storage{
		ID: sc.ID, Type: sc.Type, Path: sc.Path, Content: sc.Content, Nodes: sc.Nodes, Shared: sc.Shared, Disabled: sc.Disabled,
		Total: total, Used: used,
	}
	st.Storages[sc.ID] = storage
	for name, text := range sc.Files {
		disk, length, err := fileSizes(text)
		if err != nil {
			return err
		}
		content, _, err := storage.KindOf(name)
		if err != nil {
			return err
		}
		for node := range st.Nodes {
			if storage.StorageOn(node) {
				st.Volumes[storage.Key(node, name)] = file(content, name, disk, length, now)
			}
		}
	}
	return nil
}

// fileSizes parses the size of a disk and that of its file.
func fileSizes(text string) (disk, length int64, err error) {
	first, second, _ := strings.Cut(text, " ")
	if disk, err = size(first, ""); err != nil {
		return 0, 0, err
	}
	length, err = size(second, first)
	return disk, length, err
}

// file returns a volume that belongs to no guest.
func file(content, name string, disk, length int64, now time.Time) *state.Volume {
	return &state.Volume{
		Content: content, Format: storage.UploadFormat(content, name), Size: disk, Used: length, System: content == "import", Created: now,
	}
}

func (s *Scenario) buildAccess(st *state.State) {
	for _, g := range s.Groups {
		st.Groups[g] = &state.Group{}
	}
	for _, r := range s.Roles {
		role := &state.Role{Privileges: map[string]bool{}}
		for _, p := range r.Privileges {
			role.Privileges[p] = true
		}
		st.Roles[r.ID] = role
	}
	for _, u := range s.Users {
		user := &state.User{Password: u.Password, Disabled: u.Disabled, Groups: map[string]bool{}, Tokens: map[string]*state.Token{}}
		for _, g := range u.Groups {
			user.Groups[g] = true
		}
		for _, t := range u.Tokens {
			user.Tokens[t.ID] = &state.Token{Secret: t.Secret, NoSeparation: !t.Separated}
		}
		st.Users[u.ID] = user
	}
	for _, g := range s.ACL {
		kind, id := g.subject()
		for _, role := range g.Roles {
			st.ACL = append(st.ACL, state.Grant{Path: g.Path, Kind: kind, ID: id, Role: role, Propagate: !g.Local})
		}
	}
}

func (g ScenarioGrant) subject() (kind, id string) {
	switch {
	case g.Token != "":
		return "token", g.Token
	case g.Group != "":
		return "group", g.Group
	}
	return "user", g.User
}

func (s *Scenario) checkACL(st *state.State) error {
	for _, g := range st.ACL {
		if st.Roles[g.Role] == nil {
			return errors.Errorf("cannot find the role %q that is granted on %q", g.Role, g.Path)
		}
	}
	return nil
}

// populate adds the scenario's guests to the state.
func (s *Server) populate(sc *Scenario) error {
	for k, g := range sc.Guests {
		for i := range max(g.Count, 1) {
			if err := s.addGuest(g, i); err != nil {
				return sc.lines.locate("guests", k, errors.Wrapf(err, "cannot add guest %d", g.VMID+i))
			}
		}
	}
	for _, vmid := range sc.HA {
		s.State.HA[state.HAID(vmid)] = &state.HAResource{State: "started"}
	}
	return nil
}

func (s *Server) addGuest(sg ScenarioGuest, i int) error {
	vmid := sg.VMID + i
	if s.State.Nodes[sg.Node] == nil {
		return errors.Errorf("cannot find the node %q", sg.Node)
	}
	if s.State.Guests[vmid] != nil {
		return errors.New("cannot use a VMID twice")
	}
	if err := checkOptions(s.Engine, sg.Config); err != nil {
		return err
	}
	options := map[string]string{}
	for key, value := range sg.Config {
		options[key] = value
		if guest.IsNIC(key) {
			options[key] = guest.WithMAC(s.Engine, key, value)
		}
	}
	if sg.Count > 0 {
		options["name"] = sg.Config["name"] + "-" + strconv.Itoa(i)
	}
	o := &engine.Op{Engine: s.Engine, State: s.State, Who: state.Root, Node: sg.Node}
	g := s.State.NewGuest(vmid, sg.Node, nil)
	if err := guest.Build(o, &guest.Creation{VMID: vmid, Node: sg.Node, Options: options, Pool: sg.Pool}); err != nil {
		return err
	}
	return s.bring(o, g, sg)
}

// checkOptions checks a scenario's options as the API does.
func checkOptions(s *engine.Engine, config map[string]string) error {
	m, _ := s.Facts.Find("POST", "/nodes/any/qemu")
	values := schema.Values{"node": "any", "vmid": "100"}
	for key, value := range config {
		values[key] = value
	}
	_, wrong := s.Facts.Check(m.Method, values)
	for key, message := range wrong {
		return errors.Errorf("cannot use the option %q: %s", key, strings.TrimSpace(message))
	}
	return nil
}

// systemShare is the divisor of the size of a disk for the size of an installed system.
const systemShare = 4

// bring brings a scenario's guest into its state.
func (s *Server) bring(o *engine.Op, g *state.Guest, sg ScenarioGuest) error {
	for _, id := range guest.Volumes(o, g) {
		if v := s.State.Volume(g.Node, id); v != nil && !strings.Contains(id, "cloudinit") {
			v.System = !sg.Blank
			if v.System {
				v.Used = max(v.Used, v.Size/systemShare)
			}
		}
	}
	if sg.Agent != nil {
		g.Agent = &state.Agent{
			Missing: sg.Agent.Missing, IgnoresShutdown: sg.Agent.IgnoresShutdown, Addresses: map[int][]string{}, OS: maps.Clone(sg.Agent.OS),
		}
		if c := sg.Agent.CloudInit; c != nil {
			g.Agent.CloudInitRuns, g.Agent.CloudInitErrors = c.Running, slices.Clone(c.Errors)
		}
		for nic, list := range sg.Agent.Addresses {
			g.Agent.Addresses[schema.Int(strings.TrimPrefix(nic, "net"))] = slices.Clone(list)
		}
	}
	if sg.Template {
		guest.MakeTemplate(o, g, "")
	}
	if sg.Running {
		guest.Boot(o, g)
		g.Started = s.Clock.Now().Add(-time.Hour)
	}
	return nil
}

// SetToken replaces the secret of a token of the scenario, or adds the token to its user with all the user's privileges.
func (s *Server) SetToken(id, secret string) error {
	who := state.Identity(id)
	s.Mu.Lock()
	defer s.Mu.Unlock()
	user := s.State.Users[who.User()]
	if user == nil || who.Token() == "" {
		return errors.Errorf("cannot find the user of token %q", id)
	}
	s.tokens[id] = secret
	if t := user.Tokens[who.Token()]; t != nil {
		t.Secret = secret
		return nil
	}
	user.Tokens[who.Token()] = &state.Token{Secret: secret, NoSeparation: true}
	return nil
}
