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

package consistency

import (
	"testing"

	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

var (
	v8 = proxmox.Version{Version: "8.4.10"} //nolint:gochecknoglobals // It is a constant.
	v9 = proxmox.Version{Version: "9.2.6"}  //nolint:gochecknoglobals // It is a constant.
)

const volume = "snapshotting 'drive-scsi0' (local-lvm:vm-100-disk-0)"

func TestSnapshot(t *testing.T) {
	cases := map[string]struct {
		reason string
		is     Snapshot
		log    string
		want   Level
	}{
		"Memory":   {"The memory tells all.", Snapshot{Memory: true, Version: v8}, volume, Memory},
		"Off":      {"Nobody writes to the disks of a VM that is off.", Snapshot{Power: Off, Agent: "1", Version: v8}, volume, Offline},
		"Frozen":   {"Silence means that it was done.", Snapshot{Power: Ran, Agent: "1", Version: v9}, volume, FileSystem},
		"Aliases":  {"A flag has several words.", Snapshot{Power: Ran, Agent: "enabled=on,freeze-fs=yes", Version: v9}, volume, FileSystem},
		"Silent":   {"PVE 8 ignores errors of the agent.", Snapshot{Power: Ran, Agent: "1", Version: v8}, volume, Unknown},
		"Early9":   {"PVE 9.0 ignores errors of the agent.", Snapshot{Power: Ran, Agent: "1", Version: proxmox.Version{Version: "9.0.3"}}, volume, Unknown},
		"No agent": {"Nobody freezes the file systems without an agent.", Snapshot{Power: Ran, Version: v8}, volume, Crash},
		"Disabled": {"A disabled agent freezes nothing.", Snapshot{Power: Ran, Agent: "0", Version: v8}, volume, Crash},
		"Unclear":  {"Silence of a VM that may have been off.", Snapshot{Agent: "1", Version: v9}, volume, Unknown},
		"Told":     {"The log tells that the VM ran.", Snapshot{Version: v9}, "skipping guest filesystem freeze - disabled in VM options", Crash},
		"Not there": {
			"The agent does not run.",
			Snapshot{Power: Ran, Agent: "1", Version: v9},
			"skipping guest filesystem freeze - agent configured but not running?", Crash,
		},
		"Not in 8": {
			"PVE 8 says it in its own words.",
			Snapshot{Power: Ran, Agent: "1", Version: v8},
			"QEMU Guest Agent is not running - VM 100 qga command 'guest-ping' failed - got timeout", Crash,
		},
		"Option": {"Whether the option is for snapshots depends.", Snapshot{Power: Ran, Agent: "1,freeze-fs-on-backup=0", Version: v8}, volume, Unknown},
		"Before": {"Somebody else has frozen.", Snapshot{Power: Ran, Agent: "1", Version: v9}, "skipping guest filesystem freeze - already frozen", FileSystem},
		"Failed": {
			"The agent could not.",
			Snapshot{Power: Ran, Agent: "1", Version: v8},
			"guest-fsfreeze-freeze problems - VM 100 qga command 'guest-fsfreeze-freeze' failed - got timeout", Crash,
		},
		"Refused": {"The agent would not.", Snapshot{Power: Ran, Agent: "1", Version: v9}, "unable to freeze guest fs - The command is disabled", Crash},
		"Thawed": {
			"The agent may have thawed too early.",
			Snapshot{Power: Ran, Agent: "1", Version: v9},
			"guest-fsfreeze-thaw problems - Agent error: fsfreeze is limited up to 10 seconds.", Unknown,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.is.Log, tc.is.Logged = []string{tc.log}, true
			if got := tc.is.Level(); got != tc.want {
				t.Errorf("%s got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
	if got := (Snapshot{Power: Ran, Agent: "1", Version: v9}).Level(); got != Unknown {
		t.Errorf("Without a log nothing is known, got %s", got)
	}
}

func TestBackup(t *testing.T) {
	running := []string{"INFO: Starting Backup of VM 100 (qemu)", "INFO: status = running", "INFO: backup mode: snapshot"}
	const issued, thaw = "INFO: issuing guest-agent 'fs-freeze' command", "INFO: issuing guest-agent 'fs-thaw' command"
	cases := map[string]struct {
		reason string
		log    []string
		in     proxmox.Version
		want   Level
	}{
		"Off":      {"The VM was off.", []string{"INFO: status = stopped", "INFO: backup mode: stop"}, v8, Offline},
		"Stopped":  {"The VM was shut down.", []string{"INFO: status = running", "INFO: backup mode: stop"}, v8, Offline},
		"Frozen":   {"The agent has frozen.", append(running, issued, thaw), v9, FileSystem},
		"Silent":   {"PVE 8 ignores errors of the agent.", append(running, issued, thaw), v8, Unknown},
		"No agent": {"Without an agent PVE 8 says nothing.", running, v8, Crash},
		"Disabled": {"PVE 9 says that freezing is disabled.", append(running, "INFO: skipping guest filesystem freeze - disabled in VM options"), v9, Crash},
		"Missing":  {"The agent does not run.", append(running, "INFO: skipping guest-agent 'fs-freeze', agent configured but not running?"), v8, Crash},
		"Failed":   {"The agent could not freeze.", append(running, issued, "ERROR: unable to freeze guest fs - unknown", thaw), v9, Crash},
		"Thawed":   {"The file systems were thawed too early.", append(running, issued, thaw, "ERROR: Agent error: unable to thaw guest filesystem"), v9, Unknown},
		"Suspend": {
			"The agent of a suspended guest is silent.",
			[]string{running[1], "INFO: backup mode: suspend", "INFO: skipping guest filesystem freeze - agent configured but not running?"},
			v9, Crash,
		},
		"No log": {"Nothing is known without a log.", nil, v9, Unknown},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := OfBackup(tc.log, tc.in); got != tc.want {
				t.Errorf("%s got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
