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

// Package version provides the version of the running program.
package version

import "runtime/debug"

// version is set by the linker:
// -X github.com/vitistack/provider-proxmox/internal/version.version=v1.2.3.
var version string

// unknown is the version of a program that was built without one.
const unknown = "v0.0.0-dev"

// String returns the version that the linker has set, otherwise that of the module, otherwise a development version with the commit if it is known.
func String() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	return of(info)
}

func of(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	v := unknown
	if commit := settings["vcs.revision"]; commit != "" {
		v += "+" + commit[:min(12, len(commit))]
	}
	if settings["vcs.modified"] == "true" {
		v += ".dirty"
	}
	return v
}
