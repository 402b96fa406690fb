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

package engine

// Subdirs returns the index of a path by the key "subdir".
func Subdirs(names ...string) []map[string]any {
	out := make([]map[string]any, 0, len(names))
	for _, n := range names {
		out = append(out, map[string]any{"subdir": n})
	}
	return out
}

// Null answers with null.
func (c *Call) Null() (any, error) { return nil, nil } //nolint:nilnil // The answer is null.

// IndexOfSubdirs returns a list of the paths below one, in the other form of such lists.
func IndexOfSubdirs(names ...string) Handler {
	return func(*Call) (any, error) { return Subdirs(names...), nil }
}

// IndexOf returns a list of the paths below one.
func IndexOf(names ...string) Handler {
	return func(*Call) (any, error) {
		out := []map[string]any{}
		for _, name := range names {
			out = append(out, map[string]any{"name": name})
		}
		return out, nil
	}
}
