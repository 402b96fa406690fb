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

// Package configfile reads the configuration of a VM in the format of its file and its backups.
package configfile

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/proxmox/propertystring"
)

// Lines of the configuration file of a VM.
var (
	reConfigLine = regexp.MustCompile(`^([a-z][a-z_]*\d*):\s*(.*?)\s*$`)
	reDriveKey   = regexp.MustCompile(`^(ide|sata|scsi|virtio|efidisk|tpmstate)\d+$`)
	reUnusedKey  = regexp.MustCompile(`^unused\d+$`)
)

// Parse reads the options of a VM that is restored from a backup with this file. Disks that were excluded from the backup are not among them. Comments
// become the description.
func Parse(file string) map[string]string {
	values := map[string]string{}
	var description []string
	for line := range strings.Lines(file) {
		line = strings.TrimRight(line, "\r\n")
		comment, isComment := strings.CutPrefix(line, "#")
		switch {
		case strings.HasPrefix(line, "["): // Snapshots follow.
			return describe(values, description)
		case strings.HasPrefix(comment, "qmdump#"), strings.HasPrefix(comment, "vzdump#"):
		case isComment:
			description = append(description, decodeComment(comment))
		default:
			if p := reConfigLine.FindStringSubmatch(line); p != nil && restored(p[1], p[2]) {
				values[p[1]] = p[2]
			}
		}
	}
	return describe(values, description)
}

// describe adds the comments as the description.
func describe(values map[string]string, comments []string) map[string]string {
	if d := strings.TrimRight(strings.Join(comments, "\n"), " \t\r\n"); d != "" {
		values["description"] = d
	}
	return values
}

// decodeComment decodes a line of a description as PVE writes it.
func decodeComment(line string) string {
	if decoded, err := url.PathUnescape(line); err == nil {
		return decoded
	}
	return line
}

// restored reports whether a restored VM has an option of the backup.
func restored(key, value string) bool {
	if slices.Contains([]string{"lock", "parent", "digest"}, key) || reUnusedKey.MatchString(key) {
		return false
	}
	if !reDriveKey.MatchString(key) {
		return true
	}
	p, err := propertystring.Parse(value, "file")
	return err != nil || !slices.Contains([]string{"0", "no", "off", "false"}, p.Get("backup"))
}
