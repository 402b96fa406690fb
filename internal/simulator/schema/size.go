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

package schema

import (
	"regexp"
	"strconv"
)

// ParseSize reads a size such as "32G", "512M" or "1024" and returns it in bytes.
func ParseSize(s string) (int64, bool) {
	m := regexp.MustCompile(`^(\d+(?:\.\d+)?)([KMGT])?(?:iB)?$`).FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(m[1], 64)
	units := map[string]float64{"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
	return int64(f * units[m[2]]), err == nil
}

// FormatSize writes a size in bytes with the largest unit that divides it, as PVE does in drive options.
func FormatSize(bytes int64) string {
	units := []string{"", "K", "M", "G", "T"}
	i := 0
	for i < len(units)-1 && bytes%1024 == 0 && bytes != 0 {
		bytes /= 1024
		i++
	}
	return strconv.FormatInt(bytes, 10) + units[i]
}
