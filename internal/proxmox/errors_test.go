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
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/google/go-cmp/cmp"
)

// predicates returns the predicates by name, so that a table can list those that hold. All others must not.
func predicates() map[string]func(error) bool {
	return map[string]func(error) bool{
		"AlreadyExists":    IsAlreadyExists,
		"DigestMismatch":   IsDigestMismatch,
		"DisabledStorage":  IsDisabledStorage,
		"HotplugRefused":   IsHotplugRefused,
		"InSnapshot":       IsInSnapshot,
		"Locked":           IsLocked,
		"NoStorage":        IsNoStorage,
		"NoSuchTask":       IsNoSuchTask,
		"NotFound":         IsNotFound,
		"NotInHA":          IsNotInHA,
		"OutcomeUnknown":   IsOutcomeUnknown,
		"Protected":        IsProtected,
		"StorageElsewhere": IsStorageElsewhere,
		"UnknownReference": IsUnknownReference,
	}
}

func holding(err error) map[string]bool {
	got := map[string]bool{}
	for name, is := range predicates() {
		if is(err) {
			got[name] = true
		}
	}
	return got
}

func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}

// message returns the body that PVE 8.4 and later send with a status line.
func message(s string) string {
	b, err := json.Marshal(map[string]any{"data": nil, "message": s + "\n"})
	if err != nil {
		return ""
	}
	return string(b)
}

// invalid400 returns a 400 about one parameter.
func invalid400(field, text string) reply {
	b, err := json.Marshal(map[string]any{
		"data": nil, "message": "Parameter verification failed.\n", "errors": map[string]string{field: text},
	})
	if err != nil {
		return reply{}
	}
	return reply{status: "400 Parameter verification failed.", body: string(b)}
}

// refused500 returns an answer with the message in both places.
func refused500(s string) reply { return reply{status: "500 " + s, body: message(s)} }

func TestErrorsOfPVE(t *testing.T) {
	cases := map[string]struct {
		reason string
		reply  reply
		class  Class
		is     map[string]bool
	}{
		"NoTicket": {reason: "Credentials were not sent.", reply: reply{status: "401 No ticket"}, class: ClassAuthentication},
		"BadToken": {reason: "The token is wrong.", reply: reply{status: "401 Authentication failed!"}, class: ClassAuthentication},
		"CSRF":     {reason: "The CSRF token is wrong.", reply: reply{status: "401 Permission denied - invalid csrf token"}, class: ClassAuthentication},
		"Forbidden": {
			reason: "A privilege is named.",
			reply:  reply{status: "403 Permission check failed (/vms/100, VM.PowerMgmt)", body: message("Permission check failed (/vms/100, VM.PowerMgmt)")},
			class:  ClassAuthorization,
		},
		"ForbiddenAny": {
			reason: "No privilege is named.", reply: reply{status: "403 Permission check failed", body: message("Permission check failed")},
			class: ClassAuthorization,
		},
		"ForbiddenLater": {
			reason: "What is checked under the lock of a file has the status in the text.",
			reply: reply{
				status: "500 update pools failed: 403 Permission check failed (/vms/100, VM.Allocate)",
				body:   message("update pools failed: 403 Permission check failed (/vms/100, VM.Allocate)"),
			},
			class: ClassAuthorization,
		},
		"NoPool": {
			reason: "A missing pool is a 403, yet nobody's lack of privileges.",
			reply:  reply{status: "403 Permission check failed (pool 'nopool' does not exist)", body: message("Permission check failed (pool 'nopool' does not exist)")},
			class:  ClassValidation, is: set("UnknownReference"),
		},

		"NotFound": {
			reason: "The VM is not on this node.", reply: refused500("Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist"),
			class: ClassConflict, is: set("NotFound"),
		},
		"NotFoundOld": {
			reason: "Before 8.4 the message is in the status line only.",
			reply:  reply{status: "500 Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist", body: `{"data":null}`},
			class:  ClassConflict, is: set("NotFound"),
		},
		"NotFoundBare": {
			reason: "The message is in the status line if there is no body at all.",
			reply:  reply{status: "500 Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist"},
			class:  ClassConflict, is: set("NotFound"),
		},
		"CloneNotFound": {
			reason: "Clone says it in other words.", reply: refused500("unable to find configuration file for VM 100 on node 'pve1'"),
			class: ClassConflict, is: set("NotFound"),
		},
		"NoStorage": {
			reason: "A missing storage is not a missing VM.", reply: refused500("storage 'nostore' does not exist"), class: ClassValidation,
			is: set("UnknownReference", "NoStorage"),
		},
		"NoStorage400": {
			reason: "The error of a missing storage has two forms.",
			reply:  invalid400("storage", "No such storage."), class: ClassValidation, is: set("UnknownReference"),
		},
		"StorageOff": {
			reason: "A disabled storage cannot be used, and is there.", reply: refused500("storage 'btr1' is disabled"), class: ClassValidation,
			is: set("UnknownReference", "DisabledStorage"),
		},
		"StorageElsewhere": {
			reason: "A storage of other nodes is there.", reply: refused500("storage 'nas' is not available on node 'pve1'"), class: ClassUnknown,
			is: set("StorageElsewhere"),
		},
		"NoDisk": {
			reason: "A missing disk is not a missing VM.", reply: refused500("disk 'scsi9' does not exist"), class: ClassValidation,
			is: set("UnknownReference"),
		},
		"NoVolume": {
			reason: "A missing volume is not a missing VM.", reply: refused500("volume 'local:100/vm-100-disk-9.qcow2' does not exist"),
			class: ClassValidation, is: set("UnknownReference"),
		},
		"NoSnapshot": {
			reason: "A missing snapshot is not a missing VM.", reply: refused500("snapshot 'nosnap' does not exist"), class: ClassValidation,
			is: set("UnknownReference"),
		},
		"NoBootDevice": {
			reason: "Boot names a device that is not there.", reply: refused500("invalid bootorder: device 'scsi9' does not exist'"),
			class: ClassValidation, is: set("UnknownReference"),
		},
		"NoNode": {
			reason: "The target is no node.", reply: refused500("no such cluster node 'othernode'"), class: ClassValidation,
			is: set("UnknownReference"),
		},
		"Exists": {
			reason: "The VMID is taken.", reply: refused500("unable to create VM 100 - VM 100 already exists on node 'pve1'"),
			class: ClassConflict, is: set("AlreadyExists"),
		},
		"ExistsElsewhere": {
			reason: "The clone's worker finds a VMID of another node.",
			reply:  refused500("close (rename) atomic file '/etc/pve/nodes/pve1/qemu-server/100.conf' failed: File exists"), class: ClassConflict,
			is: set("AlreadyExists"),
		},
		"ExistsClone": {
			reason: "Clone says it in other words.", reply: refused500("unable to create VM 100: config file already exists"),
			class: ClassConflict, is: set("AlreadyExists"),
		},
		"ExistsNextID": {
			reason: "A VMID that is taken is a 400 from nextid.", reply: invalid400("vmid", "VM 100 already exists"), class: ClassConflict, is: set("AlreadyExists"),
		},
		"UserExists": {reason: "Only a VM that exists is told as such.", reply: refused500("create pool failed: pool 'p1' already exists"), class: ClassUnknown},
		"Locked":     {reason: "Something else runs on the VM.", reply: refused500("VM is locked (backup)"), class: ClassConflict, is: set("Locked")},
		"LockFile": {
			reason: "Something else has the file.", reply: refused500("can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout"),
			class: ClassConflict, is: set("Locked"),
		},
		"ClusterLock": {
			reason: "Something else has a file of the cluster.", reply: refused500("cfs-lock 'domain-ha' error: got lock request timeout"), class: ClassConflict,
			is: set("Locked"),
		},
		"Digest": {
			reason: "The configuration has changed since.", reply: refused500("checksum mismatch (file change by other user?)"), class: ClassConflict,
			is: set("DigestMismatch"),
		},
		"DigestOther": {
			reason: "Other files say it in other words.",
			reply:  refused500("detected modified configuration - file changed by other user? Try again."), class: ClassConflict,
			is: set("DigestMismatch"),
		},
		"Running": {reason: "A running VM is not deleted.", reply: refused500("VM 100 is running - destroy failed"), class: ClassConflict},
		"RunningConvert": {
			reason: "A running VM becomes no template.", reply: refused500("you can't convert a VM to template if VM is running"), class: ClassConflict,
		},
		"NotRunning": {
			reason: "There is nothing to reboot, and no agent.", reply: refused500("VM 100 not running"), class: ClassConflict,
		},
		"NotRunningIs": {
			reason: "The agent's calls say it in other words.", reply: refused500("VM 100 is not running"), class: ClassConflict,
		},
		"AgentOff":  {reason: "No agent answers a call.", reply: refused500("QEMU guest agent is not running"), class: ClassUnknown},
		"AgentNone": {reason: "No agent is configured.", reply: refused500("No QEMU guest agent configured"), class: ClassUnknown},
		"AgentSlow": {
			reason: "The agent hangs until PVE gives up.", reply: refused500("VM 100 qga command 'guest-network-get-interfaces' failed - got timeout"),
			class: ClassUnknown,
		},
		"AgentError": {
			reason: "The agent cannot do it.",
			reply:  refused500("Agent error: failed to open file '/none' (mode: 'r'): No such file or directory"), class: ClassUnknown,
		},
		"InSnapshot": {
			reason: "A snapshot keeps the disk from another VM.", reply: refused500("Can't move disk used by a snapshot to another VM"),
			class: ClassUnknown, is: set("InSnapshot"),
		},
		"InSnapshotMove": {
			reason: "A snapshot keeps the disk from another storage.", reply: refused500("you can't move a disk with snapshots and delete the source"),
			class: ClassValidation, is: set("InSnapshot"),
		},
		"Protected": {
			reason: "A protected VM is not deleted.", reply: refused500("can't remove VM 100 - protection mode enabled"), class: ClassConflict,
			is: set("Protected"),
		},
		"NotInHA": {
			reason: "HA does not know the VM any more.",
			reply:  refused500("cannot delete service 'vm:100', not HA managed!"), class: ClassUnknown, is: set("NotInHA"),
		},
		"Hotplug8": {
			reason: "8.4's guest did not let go.", reply: invalid400("net1", "hotplug problem - error on hot-unplugging device 'net1'\n"),
			class: ClassConflict, is: set("HotplugRefused"),
		},
		"Hotplug9": {
			reason: "9.2's guest did not let go.",
			reply:  invalid400("net1", "hotplug problem - error on hot-unplugging device 'net1' - still busy in guest?\n"), class: ClassConflict,
			is: set("HotplugRefused"),
		},
		"NoTask": {reason: "The task is not visible yet.", reply: invalid400("upid", "no such task"), class: ClassConflict, is: set("NoSuchTask")},

		"BadValue": {reason: "A value out of range.", reply: invalid400("cores", "value must have a minimum value of 1"), class: ClassValidation},
		"BadOption": {
			reason: "An option that is none.",
			reply:  invalid400("foo", "property is not defined in schema and the schema does not allow additional properties"),
			class:  ClassValidation,
		},
		"RootOnly": {reason: "Only root may set an option.", reply: refused500("only root can set 'args' config"), class: ClassValidation},
		"RootOnlyPath": {
			reason: "Only root may name a path.",
			reply:  refused500("Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651."),
			class:  ClassValidation,
		},
		"RootOnly400": {reason: "Only root may skip a lock.", reply: invalid400("skiplock", "Only root may use this option."), class: ClassValidation},
		"NoLinkedClone": {
			reason: "The storage has no linked clones.", reply: refused500("Linked clone feature is not supported for 'local:501/vm-501-disk-0.raw' (scsi0)"),
			class: ClassValidation,
		},
		"LinkedStorage": {
			reason: "A linked clone stays on its storage.",
			reply:  refused500("parameter 'storage' not allowed for linked clones"), class: ClassValidation,
		},
		"BadKey": {reason: "The value is no SSH key.", reply: refused500("SSH public key validation error"), class: ClassValidation},
		"Volume": {reason: "The value is no volume.", reply: refused500("unable to parse directory volume name '1G'"), class: ClassValidation},
		"HASwitch": {
			reason: "A VM that HA has must be purged.", reply: refused500("unable to remove VM 100 - used in HA resources and purge parameter not set."),
			class: ClassValidation,
		},
		"Unimplemented": {
			reason: "Not in this PVE.",
			reply:  reply{status: "501 Method 'POST /nope' not implemented", body: message("Method 'POST /nope' not implemented")},
			class:  ClassValidation,
		},

		"NoQuorum": {reason: "Retry later; nothing ran.", reply: refused500("cluster not ready - no quorum?"), class: ClassUnavailable},
		"CfsLock": {
			reason: "Without a quorum for a lock nothing ran.", reply: refused500("create pool failed: cfs-lock 'file-user_cfg' error: no quorum!"),
			class: ClassUnavailable,
		},
		"ReadOnly": {
			reason: "Where a file cannot be written nothing ran.", class: ClassUnavailable,
			reply: refused500("unable to open file '/etc/pve/nodes/pve1/qemu-server/711.conf.tmp.4711' - Permission denied"),
		},
		"NoWorker": {reason: "No worker of a task was started.", reply: refused500("got no worker upid - start worker failed"), class: ClassUnavailable},
		"NoName": {
			reason: "The cluster's DNS fails.",
			reply:  refused500("hostname lookup 'pve2' failed - failed to get address info for: pve2: Temporary failure in name resolution"),
			class:  ClassUnavailable,
		},
		"595": {
			reason: "The node behind the proxy did not answer.", reply: reply{status: "595 Connection timed out"}, class: ClassUnavailable,
			is: set("OutcomeUnknown"),
		},
		"596": {
			reason: "The proxy could not trust the node, and may have sent the request.",
			reply:  reply{status: "596 error:0A000086:SSL routines::certificate verify failed"}, class: ClassUnavailable,
			is: set("OutcomeUnknown"),
		},
		"599": {
			reason: "The proxy was sent in circles, and may have sent the request.",
			reply:  reply{status: "599 Too many redirections"}, class: ClassUnavailable, is: set("OutcomeUnknown"),
		},
		"Gateway": {
			reason: "A reverse proxy lost the answer.", reply: reply{status: "502 Bad Gateway", body: "<html>"}, class: ClassUnavailable,
			is: set("OutcomeUnknown"),
		},
		"GatewayOut": {
			reason: "A reverse proxy did not wait for the answer.",
			reply:  reply{status: "504 Gateway Timeout", body: "<html>"}, class: ClassUnavailable, is: set("OutcomeUnknown"),
		},
		"Proxy": {
			reason: "A reverse proxy did not pass the request on.",
			reply:  reply{status: "503 Service Unavailable", body: "<html>"}, class: ClassUnavailable,
		},
		"Moved": {
			reason: "A redirect is not followed.", reply: reply{status: "301 Moved Permanently", header: "Location: https://elsewhere/\r\n"},
			class: ClassUnknown,
		},
		"Other": {
			reason: "An error that nobody foresaw has no class.", reply: refused500("volume_size_info on 'st1:500/vm-500-disk-0.qcow2' failed - no format"),
			class: ClassUnknown,
		},
		"Nonsense": {
			reason: "Success without sense may have been one.", reply: reply{status: "200 OK", body: "hello"}, class: ClassUnknown,
			is: set("OutcomeUnknown"),
		},
		"Empty":   {reason: "No content is no answer.", reply: reply{status: "200 OK"}, class: ClassUnknown, is: set("OutcomeUnknown")},
		"OddUPID": {reason: "What is no UPID is no answer.", reply: ok(`"hello"`), class: ClassUnknown, is: set("OutcomeUnknown")},
		"ShortBody": {
			reason: "The answer did not arrive whole.", reply: reply{status: "200 OK", body: `{"data":"UP`, short: true}, class: ClassUnavailable,
			is: set("OutcomeUnknown"),
		},
		"ShortError": {reason: "A refusal remains one.", reply: reply{status: "403 Permission check failed", body: `{"data`, short: true}, class: ClassAuthorization},
		"Cut":        {reason: "The connection broke before an answer.", reply: reply{cut: true}, class: ClassUnavailable, is: set("OutcomeUnknown")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pve := fixed(t, tc.reply)
			_, err := pve.client(t).Start(background(), vm100)
			if diff := cmp.Diff(tc.class, ClassOf(err)); diff != "" {
				t.Errorf("%s\nClassOf(%v): -want, +got:\n%s", tc.reason, err, diff)
			}
			want := tc.is
			if want == nil {
				want = set()
			}
			if diff := cmp.Diff(want, holding(err)); diff != "" {
				t.Errorf("%s\npredicates of %v: -want, +got:\n%s", tc.reason, err, diff)
			}
			if n := len(pve.asked()); n != 1 {
				t.Errorf("%s\nrequests: got %d, want 1", tc.reason, n)
			}
			if !strings.HasPrefix(err.Error(), `cannot start VM 100 on node "pve1": `) || strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("%s\ntext: got %q", tc.reason, err)
			}
		})
	}
}

func TestErrorsOfReads(t *testing.T) {
	cases := map[string]struct {
		reason string
		reply  reply
		class  Class
	}{
		"Proxy": {reason: "A read may be repeated.", reply: reply{status: "595 No route to host"}, class: ClassUnavailable},
		"Cut":   {reason: "A read may be repeated.", reply: reply{cut: true}, class: ClassUnavailable},
		"Null":  {reason: "No data is not an empty configuration.", reply: ok("null"), class: ClassUnknown},
		"List":  {reason: "A list is not an empty configuration.", reply: ok("[]"), class: ClassUnknown},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := fixed(t, tc.reply).client(t).Config(background(), vm100)
			if diff := cmp.Diff(tc.class, ClassOf(err)); diff != "" {
				t.Errorf("%s\nClassOf(%v): -want, +got:\n%s", tc.reason, err, diff)
			}
			if IsOutcomeUnknown(err) {
				t.Errorf("%s\nIsOutcomeUnknown(%v): got true for a read", tc.reason, err)
			}
		})
	}
}

func TestTaskErrors(t *testing.T) {
	cases := map[string]struct {
		reason string
		exit   string
		is     map[string]bool
	}{
		"NotFound": {reason: "Start of a missing VM.", exit: "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist", is: set("NotFound")},
		"Locked":   {reason: "Start of a locked VM.", exit: "VM is locked (migrate)", is: set("Locked")},
		"LockFile": {reason: "9.2 right after a stop.", exit: "can't lock file '/var/lock/qemu-server/lock-810.conf' - got timeout", is: set("Locked")},
		"Digest":   {reason: "A disk is resized after a change.", exit: "checksum mismatch (file change by other user?)", is: set("DigestMismatch")},
		"Download": {reason: "A wrong file is not a changed configuration.", exit: "checksum mismatch: got 'ede' != expect '000'", is: set()},
		"Running":  {reason: "Start of a running VM.", exit: "VM 810 already running", is: set()},
		"Storage": {
			reason: "A VM is created on a storage that is disabled.",
			exit:   "unable to create VM 262 - storage 'btr1' is disabled", is: set("UnknownReference", "DisabledStorage"),
		},
		"Shutdown": {reason: "A guest that does not listen.", exit: "VM quit/powerdown failed - got timeout", is: set()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := errors.Wrap(Task{Type: "qmstart", ID: "999", ExitStatus: tc.exit}.Err(), "cannot start")
			if diff := cmp.Diff(tc.is, holding(err)); diff != "" {
				t.Errorf("%s\npredicates of %v: -want, +got:\n%s", tc.reason, err, diff)
			}
			if ClassOf(err) != ClassTaskFailed || !strings.Contains(err.Error(), tc.exit) {
				t.Errorf("%s\ngot %v, want the task's error", tc.reason, err)
			}
		})
	}
}

func TestMissingPrivilege(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   Privilege
		ok     bool
	}{
		"One": {
			reason: "One privilege on a path is missing.", text: "Permission check failed (/vms/100, VM.Audit)",
			want: Privilege{Path: "/vms/100", Names: []string{"VM.Audit"}}, ok: true,
		},
		"Any": {
			reason: "Any of some privileges is enough.", text: "Permission check failed (/storage/local, Datastore.Audit|Datastore.AllocateSpace)",
			want: Privilege{Path: "/storage/local", Names: []string{"Datastore.Audit", "Datastore.AllocateSpace"}}, ok: true,
		},
		"Deep": {
			reason: "The path of a privilege may be deep.", text: "Permission check failed (/sdn/zones/localnetwork/vmbr0, SDN.Use)",
			want: Privilege{Path: "/sdn/zones/localnetwork/vmbr0", Names: []string{"SDN.Use"}}, ok: true,
		},
		"Unnamed": {reason: "No privilege is named in the text.", text: "Permission check failed"},
		"Pool":    {reason: "What is named is no privilege.", text: "Permission check failed (pool 'nopool' does not exist)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := fixed(t, reply{status: "403 " + tc.text, body: message(tc.text)}).client(t).Config(background(), vm100)
			got, ok := MissingPrivilege(err)
			if diff := cmp.Diff(tc.want, got); diff != "" || ok != tc.ok {
				t.Errorf("%s\nMissingPrivilege(%v): %t, -want, +got:\n%s", tc.reason, err, ok, diff)
			}
		})
	}
}

// TestMissingPrivileges checks that all privileges of a denial are found, and nothing of the text after it.
func TestMissingPrivileges(t *testing.T) {
	denial := Denial("create VM 7", Privilege{Path: "/vms/7", Names: []string{"VM.Config.CPU", "VM.Clone"}}, Privilege{Path: "/", Names: []string{"Sys.Modify"}})
	want := []Privilege{{Path: "/vms/7", Names: []string{"VM.Config.CPU", "VM.Clone"}}, {Path: "/", Names: []string{"Sys.Modify"}}}
	if diff := cmp.Diff(want, MissingPrivileges(denial)); diff != "" {
		t.Errorf("MissingPrivileges(%v): -want, +got:\n%s", denial, diff)
	}
	other := &Error{Status: http.StatusForbidden, Message: "Permission check failed (/vms/7, VM.Audit) - see (/etc, passwd)"}
	if got := MissingPrivileges(other); len(got) != 1 || got[0].Path != "/vms/7" {
		t.Errorf("want /vms/7 alone, got %v", got)
	}
	if got := MissingPrivileges(errors.New("no")); got != nil {
		t.Errorf("want none of another error, got %v", got)
	}
}

func TestErrorTextIsStable(t *testing.T) {
	const upid = "UPID:pve1:00000EF8:000629DA:6B00B985:qmclone:501:tester@pve!full:"
	cases := map[string]struct {
		reason string
		reply  reply
		want   string
	}{
		"Fields": {
			reason: "All complaints, in one order and one line.",
			reply:  reply{status: "400 Parameter verification failed.", body: `{"errors":{"b":"two\n","a":"one\nmore\n"},"message":"Parameter verification failed.\n"}`},
			want:   "Parameter verification failed: a: one more; b: two",
		},
		"Task": {reason: "Tasks differ each time.", reply: refused500("lost " + upid + " again"), want: "lost task again"},
		"Time": {reason: "Times differ each time.", reply: refused500("since 2026-11-21T10:00:00Z"), want: "since (time)"},
		"Secret": {
			reason: "Secrets are nobody's business.", reply: invalid400("cipassword", "no good: sesame, "+tokenSecret),
			want: "Parameter verification failed: cipassword: no good: ***, ***",
		},
		"NoText": {reason: "A status will do.", reply: reply{status: "502 "}, want: "HTTP status 502 Bad Gateway"},
		"Cut":    {reason: "No ports of ours.", reply: reply{cut: true}, want: "connection closed before the answer"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pve := fixed(t, tc.reply)
			err := pve.client(t).Configure(background(), vm100, Change{Set: Params{"cipassword": "sesame"}})
			want := `cannot configure VM 100 on node "pve1": ` + tc.want
			if err == nil || err.Error() != want {
				t.Errorf("%s\ngot  %v\nwant %s", tc.reason, err, want)
			}
		})
	}
}

func TestErrorDetails(t *testing.T) {
	_, err := fixed(t, invalid400("cores", "value must have a minimum value of 1")).client(t).Create(background(), vm100, nil)
	var got *Error
	if !errors.As(err, &got) {
		t.Fatalf("got %T, want *Error", err)
	}
	want := &Error{
		Op: `create VM 100 on node "pve1"`, Method: http.MethodPost, Path: "/nodes/{node}/qemu", Status: 400,
		Message: "Parameter verification failed.", Fields: map[string]string{"cores": "value must have a minimum value of 1"}, sent: true,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Error{})); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestForeignErrors(t *testing.T) {
	if got := ClassOf(nil); got != "" {
		t.Errorf("ClassOf(nil): got %q, want none", got)
	}
	if got := ClassOf(io.EOF); got != ClassUnknown {
		t.Errorf("ClassOf(io.EOF): got %q, want %q", got, ClassUnknown)
	}
	for name, is := range predicates() {
		if is(nil) || is(io.EOF) {
			t.Errorf("Is%s holds for nil or a foreign error", name)
		}
	}
}

func TestRefusedLocally(t *testing.T) {
	cases := map[string]struct {
		reason string
		call   func(context.Context, *Client) error
	}{
		"NoNode": {reason: "A node must be named.", call: func(ctx context.Context, c *Client) error { _, err := c.Start(ctx, Ref{VMID: 100}); return err }},
		"NodePath": {reason: "A node is not a path.", call: func(ctx context.Context, c *Client) error {
			_, err := c.Config(ctx, Ref{Node: "a/b", VMID: 100})
			return err
		}},
		"VMID99": {reason: "PVE starts at 100.", call: func(ctx context.Context, c *Client) error {
			_, err := c.Create(ctx, Ref{Node: "pve1", VMID: 99}, nil)
			return err
		}},
		"VMIDMinus": {reason: "PVE has no negative VMIDs.", call: func(ctx context.Context, c *Client) error {
			_, err := c.Delete(ctx, Ref{Node: "pve1", VMID: -100}, DeleteOptions{})
			return err
		}},
		"VMIDLarge": {reason: "VMIDs end at nine digits.", call: func(ctx context.Context, c *Client) error {
			_, err := c.Interfaces(ctx, Ref{Node: "pve1", VMID: 1000000000})
			return err
		}},
		"ContainerConfigured": {reason: "A container is not changed.", call: func(ctx context.Context, c *Client) error {
			return c.Configure(ctx, Ref{Node: "pve1", VMID: 101, Container: true}, Change{Set: Params{"cores": "2"}})
		}},
		"ContainerDeleted": {reason: "A container is not deleted.", call: func(ctx context.Context, c *Client) error {
			_, err := c.Delete(ctx, Ref{Node: "pve1", VMID: 101, Container: true}, DeleteOptions{})
			return err
		}},
		"ContainerBackedUp": {reason: "A container is not backed up.", call: func(ctx context.Context, c *Client) error {
			_, err := c.BackUp(ctx, Ref{Node: "pve1", VMID: 101, Container: true}, BackupOptions{Storage: "local"})
			return err
		}},
		"CloneID": {
			reason: "Never a clone without an id.",
			call:   func(ctx context.Context, c *Client) error { _, err := c.Clone(ctx, vm100, CloneOptions{}); return err },
		},
		"Relative": {reason: "A relative size adds each time.", call: func(ctx context.Context, c *Client) error {
			_, err := c.Resize(ctx, vm100, "scsi0", "+1G", "")
			return err
		}},
		"Target": {reason: "A target must be a node.", call: func(ctx context.Context, c *Client) error {
			_, err := c.Migrate(ctx, vm100, MigrateOptions{})
			return err
		}},
		"UPID":    {reason: "A UPID must be one.", call: func(ctx context.Context, c *Client) error { _, err := c.Task(ctx, "UPID:x"); return err }},
		"LogUPID": {reason: "A UPID must be one.", call: func(ctx context.Context, c *Client) error { _, err := c.TaskLog(ctx, "../..", 5); return err }},
		"OwnTasks": {
			reason: "A node whose own tasks are asked for is not a path.",
			call:   func(ctx context.Context, c *Client) error { _, err := c.OwnTasks(ctx, ".."); return err },
		},
		"Bridges": {reason: "A node is not a path.", call: func(ctx context.Context, c *Client) error { _, err := c.Bridges(ctx, "-"); return err }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pve := fixed(t, ok("null"))
			err := tc.call(background(), pve.client(t))
			if !IsInvalid(err) || IsOutcomeUnknown(err) {
				t.Errorf("%s\ngot %v, want an invalid request", tc.reason, err)
			}
			if n := len(pve.asked()); n != 0 {
				t.Errorf("%s\nrequests: got %d, want none", tc.reason, n)
			}
		})
	}
}

func TestTakenVMID(t *testing.T) {
	const taken = "close (rename) atomic file '/etc/pve/nodes/pve1/qemu-server/100.conf' failed: File exists"
	cases := map[string]struct {
		reason string
		err    error
		want   int
	}{
		"Task":    {reason: "A task of a clone names the file of the VM that is there.", err: &TaskError{Task: Task{ExitStatus: taken}}, want: 100},
		"Wrapped": {reason: "An error that adds to it is about the same VM.", err: errors.Wrap(&TaskError{Task: Task{ExitStatus: taken}}, "x"), want: 100},
		"Other":   {reason: "Other failures of tasks are about no other VM.", err: &TaskError{Task: Task{ExitStatus: "no space left"}}},
		"Reply":   {reason: "The reply to a call is about no task.", err: errors.New(taken)},
		"None":    {reason: "No failure is about no other VM."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := TakenVMID(tc.err); got != tc.want {
				t.Errorf("\n%s\nTakenVMID(): want %d, got %d", tc.reason, tc.want, got)
			}
		})
	}
}
