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

package proxmox

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Only this file knows the texts of PVE's messages, of 8.x and 9.x.

var (
	// A bare "does not exist" does not identify an absent VM, because PVE also uses it for storages, volumes, pools, disks and snapshots.
	reNotFound = regexp.MustCompile(`[Cc]onfiguration file '[^']*' does not exist|unable to find configuration file for (VM|CT) \d+`)

	reTakenFile     = regexp.MustCompile(`atomic file '[^']*/(\d+)\.conf' failed: File exists`)
	reAlreadyExists = regexp.MustCompile(`\b(VM|CT) \d+ already exists|config file already exists|atomic file '[^']*/\d+\.conf' failed: File exists`)
	reLocked        = regexp.MustCompile(`\b(VM|CT) is locked\b|can't lock file '[^']*'|cfs-lock '[^']*' error: got |got lock (request )?timeout`)
	reLockTimeout   = regexp.MustCompile(`can't lock file '/var/lock/qemu-server/lock-\d+\.conf' - got timeout`)
	reNotShutDown   = regexp.MustCompile(`^VM quit/powerdown failed - got timeout|: VM quit/powerdown failed - got timeout`)
	reDigest        = regexp.MustCompile(`checksum mismatch \(|detected modified configuration`)
	reRunning       = regexp.MustCompile(`\b(VM|CT) \d+ (is|already) running|if (VM|CT) is running`)
	reNotRunning    = regexp.MustCompile(`\b(VM|CT) \d+ (is )?not running`)
	reProtected     = regexp.MustCompile(`protection mode enabled`)
	reHotplug       = regexp.MustCompile(`^hotplug problem\b`)
	reNoSuchTask    = regexp.MustCompile(`^no such task$`)
	reNoHA          = regexp.MustCompile(`^cannot delete service '[^']*', not HA managed`)
	reNoSuchFile    = regexp.MustCompile(`: No such file or directory$`)
	reRootOnly      = regexp.MustCompile(`(?i)\bonly root (can|may)\b`)
	rePrivilege     = regexp.MustCompile(`\((/[^,]*), ([^)]+)\)`)
	rePrivileges    = regexp.MustCompile(`Permission check failed (\(/[^,]*, [^)]+\)(, )?)+`)
	// Checks under the lock of a cluster file fail with another status than 403.
	reForbidden = regexp.MustCompile(`failed: 403 Permission check failed`)
	reReference = regexp.MustCompile(`\b(storage|pool|disk|device|volume|snapshot|bridge) '[^']*' (does not exist|is disabled)|` +
		`no such cluster node|No such storage`)
	reUnknownParameter = regexp.MustCompile(`^property is not defined in schema`)
	reNoStorage        = regexp.MustCompile(`\bstorage '[^']*' does not exist`)
	reDisabledStorage  = regexp.MustCompile(`\bstorage '[^']*' is disabled`)
	reStorageElsewhere = regexp.MustCompile(`\bstorage '[^']*' is not available on node '[^']*'`)
	// PVE has three errors for a lost quorum, for methods that check it, that lock a file of the cluster, or that only write one.
	reNoQuorum       = regexp.MustCompile(`no quorum|unable to open file '/etc/pve/[^']*' - Permission denied`)
	reUnavailable    = regexp.MustCompile(reNoQuorum.String() + `|got no worker upid|start worker failed|hostname lookup '[^']*' failed|ipcc_send_rec`)
	reInvalidRequest = regexp.MustCompile(strings.Join([]string{
		`does not support '`, `not allowed for linked clones`, `Linked clone feature is not supported`,
		`no sdn vnet ID specified`, `^unable to parse `, `SSH public key validation error`,
		`cloud-init drive is already attached`, `^you can't `, `because VM contains snapshots`,
		`\(reserved name\)`, `no options specified`, `missing value for required option`, `purge parameter not set`,
	}, "|"))

	// How a stopped task ends: by its worker, by the command that it ran, or without a message.
	reInterrupted = regexp.MustCompile(`^got interrupted by signal|^interrupted by signal|^unexpected status$|^stopped:|^received interrupt`)

	reUPID = regexp.MustCompile(`UPID:[^\s'"]+`)
	reTime = regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*`)
)

// The texts of downloads, from PVE and from wget, which it uses.
var (
	reDownloadPercent = regexp.MustCompile(`\s(\d{1,3})%\s`)
	reDownloadCheck   = regexp.MustCompile(`^calculating checksum`)

	reDownloadMismatch = regexp.MustCompile(`^checksum mismatch: got '([^']*)' != expect '([^']*)'`)
	reDownloadAborting = regexp.MustCompile(`^checksum mismatch: got '([^']*)' != expect '([^']*)', aborting`)
	reDownloadExists   = regexp.MustCompile(`^refusing to override existing file`)
	reDownloadFormat   = regexp.MustCompile(`^failed to verify file: (.*)`)
	reDownloadAnswer   = regexp.MustCompile(`ERROR (\d{3}: .*?)\.?$`)
	reDownloadFull     = regexp.MustCompile(`[Nn]o space left on device`)
	reDownloadResolve  = regexp.MustCompile(`unable to resolve host address .([^‘’'\s]+?).$`)
	reDownloadConnect  = regexp.MustCompile(`Connecting to (\S+?)\.\.\. failed: (.*?)\.?$`)
	reDownloadCert     = regexp.MustCompile(`cannot verify (\S+)'s certificate|To connect to (\S+) insecurely`)
	reDownloadNetwork  = regexp.MustCompile(`^download failed: .*exit code 4$`)

	// Those of skopeo, which pulls OCI images.
	rePullCert    = regexp.MustCompile(`level=fatal .*x509: ([^"\\]*)`)
	rePullNetwork = regexp.MustCompile(`level=fatal .*(dial tcp.*?|i/o timeout|TLS handshake timeout)"?$`)
	rePullAnswer  = regexp.MustCompile(`level=fatal .*?(manifest unknown|name unknown|repository name not known to registry|` +
		`requested access to the resource is denied|unauthorized: [^"\\]*|authentication required|invalid username/password|toomanyrequests: [^"\\]*)`)
	rePullOther = regexp.MustCompile(`level=fatal msg="(.*)"$`)
)

// A downloadFailure is the meaning of a text.
type downloadFailure struct {
	pattern  *regexp.Regexp
	problem  DownloadProblem
	sentence func(m []string) string
}

// downloadFailures returns the meanings of the texts, the most specific first.
func downloadFailures() []downloadFailure {
	says := func(s string) func([]string) string { return func([]string) string { return s } }
	return []downloadFailure{
		{reDownloadAborting, DownloadExists, says("another file has the name, with another checksum")},
		{reDownloadMismatch, DownloadMismatch, func(m []string) string {
			return "the file has the checksum " + m[1] + ", not " + m[2]
		}},
		{reDownloadExists, DownloadExists, says("another file has the name")},
		{reDownloadFormat, DownloadFormat, func(m []string) string { return "the file is not what its extension says: " + m[1] }},
		{reDownloadFull, DownloadFull, says("no space is left on the storage")},
		{reDownloadCert, DownloadCertificate, func(m []string) string {
			return "the certificate of " + m[1] + m[2] + " is not trusted by the node"
		}},
		{reDownloadAnswer, DownloadAnswer, func(m []string) string { return "the server answered " + m[1] }},
		{reDownloadResolve, DownloadNetwork, func(m []string) string { return "the node cannot resolve the name " + m[1] }},
		{reDownloadConnect, DownloadNetwork, func(m []string) string { return "the node cannot connect to " + m[1] + ": " + m[2] }},
		{reDownloadNetwork, DownloadNetwork, says("the node cannot reach the server")},
		{reInterrupted, DownloadStopped, says("the download was stopped")},
		{rePullCert, DownloadCertificate, func(m []string) string { return "the certificate of the registry is not trusted by the node: " + m[1] }},
		{rePullNetwork, DownloadNetwork, func(m []string) string { return "the node cannot reach the registry: " + m[1] }},
		{rePullAnswer, DownloadAnswer, func(m []string) string { return "the registry answered: " + m[1] }},
		{rePullOther, DownloadFailed, func(m []string) string { return m[1] }},
	}
}

// The texts of snapshots.
var (
	reSnapshotExists   = regexp.MustCompile(`^snapshot name '[^']*' already used`)
	reSnapshotFeature  = regexp.MustCompile(`snapshot feature is not available`)
	reSnapshotTemplate = regexp.MustCompile(`can't (take|delete) a snapshot if (it's|vm is) a template`)
	reSnapshotFull     = regexp.MustCompile(`No space left on device|[Ii]nsufficient free space|not enough free space|` +
		`free space in thin pool|out of space|[Qq]uota exceeded`)
	reSnapshotReplication = regexp.MustCompile(`needed by replication job '([^']*)'`)
	reInSnapshot          = regexp.MustCompile(`[Cc]an't move (disk used by a snapshot|a disk with snapshots)`)
)

// A snapshotFailure is the meaning of a text.
type snapshotFailure struct {
	pattern  *regexp.Regexp
	problem  SnapshotProblem
	sentence string
}

// snapshotFailures returns the meanings of the texts.
func snapshotFailures() []snapshotFailure {
	return []snapshotFailure{
		{reSnapshotExists, SnapshotExists, "another snapshot has the name"},
		{reSnapshotFeature, SnapshotNotSupported, "the storage of a disk of the VM has no snapshots"},
		{reSnapshotTemplate, SnapshotNotSupported, "the VM is a template"},
		{reSnapshotFull, SnapshotStorageFull, "no space is left on the storage of the disks or of the memory"},
		{reSnapshotReplication, SnapshotInUse, "a replication job needs the snapshot until it has run again"},
		{reLocked, SnapshotLocked, "the VM is locked by something else that works on it"},
		{reInterrupted, SnapshotStopped, "the task was stopped"},
	}
}

// agentError is the prefix of PVE's message about an error in the guest agent's answer.
const agentError = "Agent error: "

// IsNotFound reports whether the VM does not exist on the node that was asked. It may exist on another one.
func IsNotFound(err error) bool { return says(err, reNotFound) }

// IsAlreadyExists reports whether the VMID is taken.
func IsAlreadyExists(err error) bool { return says(err, reAlreadyExists) }

// TakenVMID returns the VMID that a task has found to be in use by another VM, from the path of its configuration in pve-cluster. It is 0 if the error is
// not about that.
func TakenVMID(err error) int {
	var task *TaskError
	if !errors.As(err, &task) {
		return 0
	}
	found := reTakenFile.FindStringSubmatch(task.Task.ExitStatus)
	if found == nil {
		return 0
	}
	vmid, _ := strconv.Atoi(found[1]) // It is 0 if it is invalid.
	return vmid
}

// IsLocked reports whether another operation has locked the VM, its configuration file or a file of the cluster.
func IsLocked(err error) bool { return says(err, reLocked) }

// IsLockTimeout reports whether another operation held the lock of a VM's configuration file for as long as PVE waits for it, which is 10 seconds at most.
func IsLockTimeout(err error) bool { return says(err, reLockTimeout) }

// IsShutdownTimeout reports whether a guest has not shut down within the timeout of the request.
func IsShutdownTimeout(err error) bool { return says(err, reNotShutDown) }

// IsDigestMismatch reports whether the configuration changed since its digest was
// read.
func IsDigestMismatch(err error) bool { return says(err, reDigest) }

// IsProtected reports whether the VM's protection prevents the call.
func IsProtected(err error) bool { return says(err, reProtected) }

// IsInSnapshot reports whether a disk cannot be removed because a snapshot uses it.
func IsInSnapshot(err error) bool { return says(err, reInSnapshot) }

// IsHotplugRefused reports whether a running VM did not apply a change at once. PVE has stored the change, and it is pending.
func IsHotplugRefused(err error) bool { return says(err, reHotplug) }

// IsNoSuchTask reports whether PVE does not know the task, perhaps not yet.
func IsNoSuchTask(err error) bool { return says(err, reNoSuchTask) }

// IsNotInHA reports whether HA cannot remove the VM because it does not know it.
func IsNotInHA(err error) bool { return says(err, reNoHA) }

// IsNoSuchFile reports whether a file that was requested from the guest agent does not exist in the guest.
func IsNoSuchFile(err error) bool { return says(err, reNoSuchFile) }

// IsUnknownReference reports whether the call names a storage, node, pool, volume,
// disk or snapshot that does not exist or is disabled.
func IsUnknownReference(err error) bool { return says(err, reReference) }

// unknownParameter reports whether PVE rejected a call because it does not know one of its parameters. Then nothing was done.
func unknownParameter(err error, name string) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusBadRequest && reUnknownParameter.MatchString(e.Fields[name])
}

// IsNoStorage reports whether the call names a storage that is not defined. The content of a storage that is only disabled is available again once it is
// enabled.
func IsNoStorage(err error) bool { return says(err, reNoStorage) }

// IsDisabledStorage reports whether the call names a storage that is disabled.
func IsDisabledStorage(err error) bool { return says(err, reDisabledStorage) }

// IsStorageElsewhere reports whether the call names a storage that is only defined for other nodes than the one that was asked.
func IsStorageElsewhere(err error) bool { return says(err, reStorageElsewhere) }

// noQuorum reports whether the node that was asked is cut off from the majority of its cluster.
func noQuorum(message string) bool { return reNoQuorum.MatchString(message) }

// A Privilege is a missing privilege: one of Names on Path.
type Privilege struct {
	// Path of the object in PVE's permission tree, such as /vms/100.
	Path string

	// Names of privileges, such as VM.Audit, any of which suffices.
	Names []string
}

// String returns the privilege as PVE names it.
func (p Privilege) String() string { return "(" + p.Path + ", " + strings.Join(p.Names, "|") + ")" }

// Denial returns the error of a call that was not made because PVE would reject it. The text is that of PVE, but with all missing privileges.
func Denial(op string, missing ...Privilege) error {
	words := make([]string, 0, len(missing))
	for _, p := range missing {
		words = append(words, p.String())
	}
	return &Error{Op: op, Status: http.StatusForbidden, Message: "Permission check failed " + strings.Join(words, ", ")}
}

// MissingPrivilege returns the privilege that a 403 names. PVE does not always name
// one.
func MissingPrivilege(err error) (Privilege, bool) {
	all := MissingPrivileges(err)
	if len(all) == 0 {
		return Privilege{}, false
	}
	return all[0], true
}

// MissingPrivileges returns all privileges that a 403 names. PVE's own errors name one, that of Denial names all.
func MissingPrivileges(err error) []Privilege {
	var e *Error
	if !errors.As(err, &e) {
		return nil
	}
	var all []Privilege
	for _, m := range rePrivilege.FindAllStringSubmatch(rePrivileges.FindString(e.Message), -1) {
		all = append(all, Privilege{Path: m[1], Names: strings.Split(m[2], "|")})
	}
	return all
}

// says reports whether any text of PVE in the error matches.
func says(err error, re *regexp.Regexp) bool {
	var task *TaskError
	if errors.As(err, &task) {
		return re.MatchString(task.Task.ExitStatus)
	}
	var e *Error
	return errors.As(err, &e) && !e.local && e.says(re)
}

func (e *Error) says(re *regexp.Regexp) bool {
	if re.MatchString(e.Message) {
		return true
	}
	for _, f := range e.Fields {
		if re.MatchString(f) {
			return true
		}
	}
	return false
}

func unknownReference(e *Error) bool { return e.says(reReference) }

func unavailable(e *Error) bool { return e.says(reUnavailable) }

func invalid(e *Error) bool { return e.says(reRootOnly) || e.says(reInvalidRequest) }

func conflict(e *Error) bool {
	return slices.ContainsFunc([]*regexp.Regexp{
		reNotFound, reAlreadyExists, reLocked, reDigest, reRunning, reNotRunning, reProtected, reHotplug, reNoSuchTask,
	}, e.says)
}

// scrub prepares a text of PVE for a condition: one line, without the given secrets, and without tasks and times, which differ between attempts.
func scrub(s string, secrets []string) string {
	for _, secret := range secrets {
		s = redact(s, secret)
	}
	s = reUPID.ReplaceAllString(s, "task")
	s = reTime.ReplaceAllString(s, "(time)")
	return strings.Join(strings.Fields(s), " ")
}

// Scrub returns a line of a log without names of tasks and times, which differ each time.
func Scrub(line string) string { return scrub(line, nil) }

// redact hides a secret. PVE repeats a parameter's value in quotes. A short secret is only hidden there, because elsewhere it might match any word.
func redact(s, secret string) string {
	switch {
	case secret == "":
		return s
	case len(secret) < 4:
		return strings.ReplaceAll(s, "'"+secret+"'", "'"+redacted+"'")
	}
	return strings.ReplaceAll(s, secret, redacted)
}
