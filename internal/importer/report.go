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

package importer

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/vitistack/provider-proxmox/internal/qemu/export"
)

// String returns the guest and its place.
func (f Find) String() string {
	what := "VM"
	if f.Type == "lxc" {
		what = "Container"
	}
	name := ""
	if f.Name != "" {
		name = " (" + f.Name + ")"
	}
	return what + " " + strconv.Itoa(f.VMID) + name + " on node " + f.Node
}

// WriteTable writes a table of guests, for people.
func WriteTable(w io.Writer, finds []Find) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "VMID\tNAME\tNODE\tSTATUS\tPOOL\tTAGS\tMACHINE")
	for _, f := range finds {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", f.VMID, f.Name, f.Node, f.Status, f.Pool, strings.Join(f.Tags, ","), f.machine())
	}
	return t.Flush()
}

// machine returns the Machine of the guest, or the reason why it has none or that is not known.
func (f Find) machine() string {
	switch {
	case f.Machine != "":
		return f.Machine
	case f.Skipped != "":
		return "- (" + f.Skipped + ")"
	case f.Err != nil:
		return "? (" + f.Err.Error() + ")"
	}
	return "-"
}

// An entry is a guest in lists and reports.
type entry struct {
	VMID   int      `json:"vmid"`
	Name   string   `json:"name,omitempty"`
	Type   string   `json:"type"`
	Node   string   `json:"node"`
	Status string   `json:"status,omitempty"`
	Pool   string   `json:"pool,omitempty"`
	Tags   []string `json:"tags,omitempty"`

	// Machine is its existing Machine, as namespace/name, and Manifest the name of the manifest that was written.
	Machine  string `json:"machine,omitempty"`
	Manifest string `json:"manifest,omitempty"`

	// Skipped is the reason why it has no manifest, and Error the reason why it could not be read.
	Skipped string `json:"skipped,omitempty"`
	Error   string `json:"error,omitempty"`

	// Omissions are what its manifest does not contain.
	Omissions []export.Omission `json:"omissions,omitempty"`
}

func (f Find) entry() entry {
	e := entry{
		VMID: f.VMID, Name: f.Name, Type: f.Type, Node: f.Node, Status: f.Status, Pool: f.Pool, Tags: f.Tags,
		Machine: f.Machine, Skipped: f.Skipped,
	}
	if f.Err != nil {
		e.Error = f.Err.Error()
	}
	if f.Description != nil {
		e.Manifest, e.Omissions = f.Resource, f.Description.Omissions
	}
	return e
}

// MarshalJSON encodes a guest without its description.
func (f Find) MarshalJSON() ([]byte, error) { return json.Marshal(f.entry()) }

// WriteJSON writes a list of guests as JSON, for programs.
func WriteJSON(w io.Writer, finds []Find) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(append([]Find{}, finds...))
}

// WriteYAML writes a list of guests as YAML, for programs.
func WriteYAML(w io.Writer, finds []Find) error {
	text, err := json.Marshal(append([]Find{}, finds...))
	if err != nil {
		return err
	}
	b, err := plainYAML(text)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// WriteReport writes a text about what the manifests do not contain, and the number of manifests.
func WriteReport(w io.Writer, finds []Find) error {
	var b strings.Builder
	written := 0
	for _, f := range finds {
		switch {
		case f.Err != nil:
			fmt.Fprintf(&b, "%s: no manifest: %s\n", f, f.Err)
		case f.Skipped != "":
			fmt.Fprintf(&b, "%s: no manifest: %s\n", f, f.Skipped)
		case f.Description != nil:
			written++
			for _, o := range f.Description.Omissions {
				fmt.Fprintf(&b, "%s: left alone: %s: %s\n", f, o.Option, o.Reason)
			}
		}
	}
	fmt.Fprintf(&b, "%d of %d guests have a manifest\n", written, len(finds))
	_, err := io.WriteString(w, b.String())
	return err
}
