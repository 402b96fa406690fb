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

package backup

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/guest"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
	"github.com/vitistack/provider-proxmox/internal/simulator/state"
	"github.com/vitistack/provider-proxmox/internal/simulator/volume"
)

// compressedShare is the divisor of the size of a disk's content for the size of its backup.
const compressedShare = 2

// defaultLockWait is how many minutes a backup waits for others on its node.
const defaultLockWait = 180

// A job is one run of vzdump.
type job struct {
	storage, mode, compress, notes, bwlimit string
	protected, keep                         bool
	lockWait                                time.Duration
	retention                               string
	// allocates is true if the caller has full access to the storage. all is true for a run that skips guests that it may not back up.
	allocates, all bool
}

// vzdump backs up guests of the node. Only its task finds problems with the storage or a guest.
func vzdump(c *engine.Call) (any, error) {
	if err := checkOptions(c); err != nil {
		return nil, err
	}
	guests, elsewhere := included(c)
	if len(guests) == 0 && !c.Flag("all") {
		return "OK", nil // They are on other nodes.
	}
	j := jobOf(c)
	if err := c.State.Check(c.Who, "/storage/"+j.storage, "Datastore.AllocateSpace"); err != nil {
		return nil, err
	}
	subject := ""
	if len(guests) == 1 {
		subject = state.VmidText(guests[0])
	}
	line := commandLine(c)
	return c.Spawn("vzdump", subject, func(w *engine.Worker) error {
		if err := w.Do(func(st *state.State) error { return usable(st, j.storage, w.Task.Node) }); err != nil {
			return err
		}
		return w.WithBackups(j.lockWait, func() error {
			w.Logf("INFO: starting new backup job: %s", line)
			if len(elsewhere) > 0 {
				w.Logf("INFO: skip external VMs: %s", strings.Join(elsewhere, ", "))
			}
			return j.run(w, guests)
		})
	})
}

// jobOf reads the options of a call, with PVE's defaults for a node without settings.
func jobOf(c *engine.Call) *job {
	j := &job{
		storage: c.Str("storage"), mode: c.Str("mode"), compress: c.Str("compress"), notes: c.Str("notes-template"), bwlimit: c.Str("bwlimit"),
		protected: c.Flag("protected"), keep: c.Str("remove") == "0", retention: c.Str("prune-backups"), all: c.Flag("all"),
		lockWait: defaultLockWait * time.Minute,
	}
	if c.Has("lockwait") {
		j.lockWait = time.Duration(c.Num("lockwait")) * time.Minute
	}
	if j.storage == "" {
		j.storage = "local"
	}
	if j.mode == "" {
		j.mode = "snapshot"
	}
	j.allocates = c.State.May(c.Who, "/storage/"+j.storage, "Datastore.Allocate")
	return j
}

// checkOptions rejects conflicting options, and options that the caller may not set.
func checkOptions(c *engine.Call) error {
	for _, key := range []string{"tmpdir", "dumpdir", "script", "job-id"} {
		if c.Has(key) && c.Who != state.Root {
			return apierr.Param(key, "Only root may set this option.")
		}
	}
	if c.Has("bwlimit") || c.Has("ionice") || c.Has("performance") {
		if err := c.State.Check(c.Who, "/", "Sys.Modify"); err != nil {
			return err
		}
	}
	if c.Has("prune-backups") {
		if err := c.State.Check(c.Who, "/storage/"+c.Str("storage"), "Datastore.Allocate"); err != nil {
			return err
		}
	}
	if why := templateError(c.Str("notes-template")); why != "" {
		return apierr.Param("notes-template", "%s", why)
	}
	if !c.Has("vmid") && !c.Has("pool") && !c.Flag("all") {
		return apierr.Param("vmid", "property is missing")
	}
	return nil
}

var (
	reEscape   = regexp.MustCompile(`\\(.)`)
	reVariable = regexp.MustCompile(`\{\{([^\s{}]+)\}\}`)
)

// templateError returns what is wrong with a template for notes.
func templateError(template string) string {
	if strings.Contains(template, "\n") {
		return "contains a line feed"
	}
	var unknown []string
	for _, m := range reEscape.FindAllStringSubmatchIndex(template, -1) {
		if char := template[m[2]:m[3]]; char != "n" && char != `\` {
			unknown = append(unknown, fmt.Sprintf("escape sequence '\\%s' at char %d", char, m[0]))
		}
	}
	for _, m := range reVariable.FindAllStringSubmatchIndex(template, -1) {
		if name := template[m[2]:m[3]]; !slices.Contains([]string{"cluster", "guestname", "node", "vmid"}, name) {
			unknown = append(unknown, fmt.Sprintf("variable '%s' at char %d", name, m[1]-len(name)))
		}
	}
	if len(unknown) == 0 {
		return ""
	}
	return "found unknown: " + strings.Join(unknown, ", ")
}

// commandLine returns the command of a run as the log shows it.
func commandLine(c *engine.Call) string {
	out := []string{"vzdump"}
	out = append(out, schema.SplitList(c.Str("vmid"))...)
	for _, key := range slices.Sorted(maps.Keys(c.Values)) {
		if c.Has(key) && key != "vmid" && key != "job-id" && (key != "node" || !anyNode(c)) {
			value := c.Str(key)
			if strings.ContainsAny(value, " \\{}'") {
				value = "'" + strings.ReplaceAll(value, "'", `'"'"'`) + "'"
			}
			out = append(out, "--"+key+" "+value)
		}
	}
	return strings.Join(out, " ")
}

// anyNode reports whether the scheduler makes a call for a job that names no node. All other calls name one.
func anyNode(c *engine.Call) bool {
	return c.Has("job-id") && c.State.Backups[c.Str("job-id")]["node"] == ""
}

// usable fails for a storage that does not accept backups from a node.
func usable(st *state.State, id, node string) error {
	s, err := st.EnabledStorage(id, node)
	if err != nil {
		return apierr.Errorf("could not activate storage '%s': %s", id, err)
	}
	if !s.Holds("backup") {
		return apierr.Errorf("could not get storage information for '%s': can't use storage '%s' for backups - wrong content type", id, id)
	}
	return nil
}

// included returns the selected guests of a call that are on the node or do not exist. If the call names no node, it also returns those on other nodes.
func included(c *engine.Call) (here []int, elsewhere []string) {
	for _, vmid := range meant(c) {
		switch g := c.State.Guests[vmid]; {
		case g == nil || g.Node == c.Node:
			here = append(here, vmid)
		case anyNode(c):
			elsewhere = append(elsewhere, state.VmidText(vmid))
		}
	}
	return here, elsewhere
}

// meant returns the guests that a call selects, in order.
func meant(c *engine.Call) []int {
	var out []int
	if c.Has("vmid") {
		for _, text := range schema.SplitList(c.Str("vmid")) {
			out = append(out, schema.Int(text))
		}
		slices.Sort(out)
		return out
	}
	excluded := schema.SplitList(c.Str("exclude"))
	for _, vmid := range slices.Sorted(maps.Keys(c.State.Guests)) {
		p := c.State.Pools[c.Str("pool")]
		if p != nil && p.VMs[vmid] || c.Flag("all") && !slices.Contains(excluded, state.VmidText(vmid)) {
			out = append(out, vmid)
		}
	}
	return out
}

// run backs up guests, one after another.
func (j *job) run(w *engine.Worker, guests []int) error {
	failed := 0
	for _, vmid := range guests {
		var denied error
		w.Engine.Update(func(st *state.State) {
			if st.Guests[vmid] != nil {
				denied = st.Check(state.Identity(w.Task.User), state.VMPath(vmid), "VM.Backup")
			}
		})
		switch {
		case denied != nil && j.all:
			continue
		case denied != nil:
			return denied
		}
		if err := j.backup(w, vmid); err != nil {
			w.Logf("ERROR: Backup of VM %d failed - %s", vmid, err)
			w.Logf("INFO: Failed at %s", w.Engine.Clock.Now().Format(time.DateTime))
			failed++
		}
	}
	w.Logf("INFO: Backup job finished%s", map[bool]string{true: " with errors", false: " successfully"}[failed > 0])
	if failed > 0 {
		return apierr.Errorf("job errors")
	}
	return nil
}

// backup writes the backup of one VM, which is locked meanwhile.
func (j *job) backup(w *engine.Worker, vmid int) error {
	began := w.Engine.Clock.Now()
	if err := w.Do(func(st *state.State) error { return j.admit(w.Op(st), vmid) }); err != nil {
		return err
	}
	w.Logf("INFO: Starting Backup of VM %d (qemu)", vmid)
	w.Logf("INFO: Backup started at %s", began.Format(time.DateTime))
	err := w.Locked(vmid, engine.Exclusive, engine.ConfigLockWait, func() error {
		return w.Do(func(st *state.State) error { return j.begin(w.Op(st), st.Guests[vmid]) })
	})
	if err != nil {
		return err
	}
	defer w.Engine.Update(func(st *state.State) {
		if g := st.Guests[vmid]; g != nil && g.Config["lock"] == "backup" && !w.Task.Lost {
			delete(g.Config, "lock")
		}
	})
	if err := w.PauseFor("vzdump"); err != nil {
		return err
	}
	return w.Do(func(st *state.State) error {
		if st.Guests[vmid] == nil {
			return apierr.Errorf("unable to find VM '%d'", vmid)
		}
		return j.write(w.Op(st), st.Guests[vmid], began)
	})
}

// admit rejects problems before anything is done to a guest.
func (j *job) admit(o *engine.Op, vmid int) error {
	g := o.State.Guests[vmid]
	if g == nil {
		return apierr.Errorf("unable to find VM '%d'", vmid)
	}
	if h := o.State.HA[state.HAID(vmid)]; j.mode == "stop" && h != nil && h.Wanted() == "started" {
		return apierr.Errorf("Cannot execute a backup with stop mode on a HA managed and enabled Service. Use snapshot mode or disable the Service.")
	}
	s := o.State.Storages[j.storage]
	all, protected := backupsOf(o, s, vmid), 0
	for _, b := range all {
		if b.volume.Protected {
			protected++
		}
	}
	limit := 0
	for _, n := range j.keeps(s) {
		limit += n
	}
	most := s.MaxProtected(j.allocates)
	switch {
	case j.protected && most >= 0 && protected >= most:
		return apierr.Errorf("The number of protected backups per guest is limited to %d on storage '%s'", most, s.ID)
	case !j.protected && j.keep && limit > 0 && len(all)-protected >= limit:
		return apierr.Errorf("There is a max backup limit of %d enforced by the target storage or the vzdump parameters. "+
			"Either increase the limit or delete old backups.", limit)
	}
	return nil
}

// begin locks a guest and logs what is done with it.
func (j *job) begin(o *engine.Op, g *state.Guest) error {
	if g == nil {
		return apierr.Errorf("unable to find VM")
	}
	o.Logf("INFO: status = %s", map[bool]string{true: "stopped", false: "running"}[g.Power == state.Stopped])
	if err := g.Lock(); err != nil {
		return err
	}
	g.Config["lock"] = "backup"
	o.Logf("INFO: backup mode: %s", map[bool]string{true: "stop", false: j.mode}[g.Power == state.Stopped])
	if j.bwlimit != "" && j.bwlimit != "0" {
		o.Logf("INFO: bandwidth limit: %s KiB/s", j.bwlimit)
	}
	o.Logf("INFO: ionice priority: 7")
	if name := g.Config["name"]; name != "" {
		o.Logf("INFO: VM Name: %s", name)
	}
	return nil
}

// backupOf returns the content of a backup, without pending changes, unused disks, snapshots and excluded disks.
func backupOf(o *engine.Op, g *state.Guest) *state.Backup {
	out := &state.Backup{Config: maps.Clone(g.Config), Disks: map[string]state.Volume{}}
	maps.DeleteFunc(out.Config, func(key, _ string) bool {
		return guest.IsUnused(key) || slices.Contains([]string{"lock", "parent", "vmstate"}, key) || strings.HasPrefix(key, "running")
	})
	for _, key := range slices.Sorted(maps.Keys(out.Config)) {
		d := guest.ParseDrive(o.Engine, key, out.Config[key])
		if !guest.IsDrive(key) || d.CDROM() {
			continue
		}
		if d["backup"] == "0" {
			o.Logf("INFO: exclude disk '%s' '%s' (backup=no)", key, d.File())
			continue
		}
		if v := o.State.Volume(g.Node, d.File()); v != nil {
			o.Logf("INFO: include disk '%s' '%s' %s", key, d.File(), volume.SizeOption(v.Size))
			out.Disks[key] = *v
		}
	}
	return out
}

// write writes the archive of a guest with its notes, and removes backups that are not to be kept.
func (j *job) write(o *engine.Op, g *state.Guest, began time.Time) error {
	s := o.State.Storages[j.storage]
	content, size := backupOf(o, g), int64(0)
	for _, disk := range content.Disks {
		size += disk.Used
	}
	name, format := j.archive(s, g.VMID, began)
	v := &state.Volume{
		VMID: g.VMID, Format: format, Content: "backup", Size: size, Used: size / compressedShare, Created: began, Backup: content,
		Protected: j.protected, Notes: expand(j.notes, o, g),
	}
	what, path := "vzdump", s.FilePath("backup", name)
	if s.Type == "pbs" {
		what, path = "Proxmox Backup Server", strings.TrimPrefix(name, "backup/")
	}
	o.Logf("INFO: creating %s archive '%s'", what, path)
	if g.Power != state.Stopped && j.mode != "stop" {
		for _, line := range guest.FreezeForBackup(o, g) {
			o.Logf("INFO: %s", line)
		}
	}
	if err := volume.Store(o, s, name, v); err != nil {
		o.Logf("INFO: aborting backup job")
		return apierr.Errorf("vma_queue_write: write error - Broken pipe")
	}
	if s.Type != "pbs" {
		o.Logf("INFO: archive file size: %dMB", v.Used>>20)
	}
	if j.notes != "" {
		o.Logf("INFO: adding notes to backup")
	}
	if j.protected {
		o.Logf("INFO: marking backup as protected")
	}
	j.prune(o, s, g.VMID)
	o.Logf("INFO: Finished Backup of VM %d (%s)", g.VMID, time.Time{}.Add(o.Engine.Clock.Now().Sub(began)).Format(time.TimeOnly))
	return nil
}

// archive returns the name of a guest's backup, and its format.
func (j *job) archive(s *state.Storage, vmid int, began time.Time) (name, format string) {
	if s.Type == "pbs" {
		return fmt.Sprintf("backup/vm/%d/%s", vmid, began.UTC().Format("2006-01-02T15:04:05Z")), "pbs-vm"
	}
	format = "vma" + map[string]string{"1": ".lzo", "lzo": ".lzo", "gzip": ".gz", "zstd": ".zst"}[j.compress]
	return fmt.Sprintf("backup/vzdump-qemu-%d-%s.%s", vmid, began.Format("2006_01_02-15_04_05"), format), format
}

// expand expands the template of the notes for a guest.
func expand(template string, o *engine.Op, g *state.Guest) string {
	text := reEscape.ReplaceAllStringFunc(template, func(s string) string { return map[string]string{`\n`: "\n", `\\`: `\`}[s] })
	cluster := o.State.ClusterName
	if cluster == "" {
		cluster = "standalone node"
	}
	return strings.NewReplacer("{{cluster}}", cluster, "{{guestname}}", g.Name(), "{{node}}", g.Node, "{{vmid}}", state.VmidText(g.VMID)).Replace(text)
}

// extractConfig returns the configuration in a backup.
func extractConfig(c *engine.Call) (any, error) {
	id := c.Str("volume")
	storage, name, ok := state.SplitVolume(id)
	if !ok {
		return nil, apierr.Errorf("Only root can pass arbitrary filesystem paths.")
	}
	s, err := c.State.EnabledStorage(storage, c.Node)
	if err != nil {
		return nil, err
	}
	kind, owner, err := s.KindOf(name)
	if err != nil {
		return nil, err
	}
	if kind != "backup" {
		return nil, apierr.Errorf("unable to use volume %s - content type needs to be 'backup'", id)
	}
	if !c.State.May(c.Who, "/storage/"+storage, "Datastore.Allocate") {
		if err := c.State.Check(c.Who, "/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
			return nil, err
		}
	}
	if err := c.State.Check(c.Who, state.VMPath(owner), "VM.Backup"); err != nil {
		return nil, err
	}
	v := c.State.Volume(c.Node, id)
	if v == nil || v.Backup == nil {
		return nil, apierr.Errorf("ERROR: file '%s' does not exist", s.FilePath("backup", name))
	}
	return configText(c, v.Backup), nil
}

// configText writes a configuration as in an archive: a description becomes comments, and each disk has a line with its storage.
func configText(c *engine.Call, b *state.Backup) string {
	out := &strings.Builder{}
	if d := b.Config["description"]; d != "" {
		for line := range strings.SplitSeq(d, "\n") {
			fmt.Fprintf(out, "#%s\n", strings.NewReplacer("%", "%25", ":", "%3A").Replace(line))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b.Config)) {
		if key != "description" {
			fmt.Fprintf(out, "%s: %s\n", key, b.Config[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b.Disks)) {
		file := guest.ParseDrive(c.Engine, key, b.Config[key]).File()
		storage, _, _ := state.SplitVolume(file)
		fmt.Fprintf(out, "#qmdump#map:%s:drive-%s:%s:%s:\n", key, key, storage, b.Disks[key].Format)
	}
	return out.String()
}

// backupDefaults returns the backup settings of a node without its own.
func backupDefaults(c *engine.Call) (any, error) {
	out := map[string]any{
		"all": 0, "bwlimit": 0, "compress": "0", "fleecing": map[string]any{"enabled": 0}, "ionice": 7, "lockwait": 180,
		"mailnotification": "always", "mode": "snapshot", "notification-mode": "auto", "pigz": 0, "quiet": 0, "remove": 1,
		"performance":   map[string]any{"max-workers": 16, "pbs-entries-max": 1048576},
		"prune-backups": "keep-all=1", "stdexcludes": 1, "stop": 0, "stopwait": 10, "zstd": 1,
	}
	if c.State.Version == "8.4" {
		out["notification-policy"] = "always"
	}
	id := c.Str("storage")
	if id == "" {
		id = "local"
	}
	s, err := c.State.Storage(id)
	if err != nil {
		return nil, err
	}
	out["storage"] = id
	if s.FileBased() {
		out["dumpdir"] = fmt.Sprintf("%s/dump", s.Root())
	}
	return out, nil
}
