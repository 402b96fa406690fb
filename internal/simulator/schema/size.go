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
	"strconv"
	"strings"
)

// ParseSize parses a size such as "32G", "512M" or "1024" and returns it in bytes.
func ParseSize(s string) (int64, bool) {
	s = strings.TrimSuffix(s, "iB")
	factor := float64(1)
	if i := strings.IndexAny(s, "KMGT"); i >= 0 && i == len(s)-1 {
		factor = float64(int64(1024) << (10 * strings.IndexByte("KMGT", s[i])))
		s = s[:i]
	}
	whole, fraction, point := strings.Cut(s, ".")
	if !digits(whole) || (point && !digits(fraction)) {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return int64(f * factor), err == nil
}

// FormatSize writes a size in bytes with the largest unit that divides it, like PVE in drive options.
func FormatSize(bytes int64) string {
	units := []string{"", "K", "M", "G", "T"}
	i := 0
	for i < len(units)-1 && bytes%1024 == 0 && bytes != 0 {
		bytes /= 1024
		i++
	}
	return strconv.FormatInt(bytes, 10) + units[i]
}
