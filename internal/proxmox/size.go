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
	"math"
	"regexp"
	"strconv"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A Size of a disk in bytes.
type Size int64

// Sizes that PVE has letters for. They are powers of 1024.
const (
	Byte Size = 1
	KiB       = 1024 * Byte
	MiB       = 1024 * KiB
	GiB       = 1024 * MiB
	TiB       = 1024 * GiB
)

//nolint:gochecknoglobals // Constants.
var (
	reSize = regexp.MustCompile(`^(\d+)(\.\d+)?([KMGT]?)$`)
	units  = map[string]Size{"": Byte, "K": KiB, "M": MiB, "G": GiB, "T": TiB}
)

// ParseSize reads a size as PVE writes it in disks: 32G, 512M, 0.5T, or bytes
// without a letter. Fractions of a byte are cut.
func ParseSize(s string) (Size, error) {
	m := reSize.FindStringSubmatch(s)
	if m == nil {
		return 0, errors.Errorf("cannot read %q as a size", s)
	}
	unit := units[m[3]]
	if m[2] != "" {
		return parseFraction(s, m[1]+m[2], unit)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n > math.MaxInt64/int64(unit) {
		return 0, errors.Errorf("cannot read %q as a size: too large", s)
	}
	return Size(n) * unit, nil
}

func parseFraction(s, number string, unit Size) (Size, error) {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f*float64(unit) >= math.MaxInt64 {
		return 0, errors.Errorf("cannot read %q as a size: too large", s)
	}
	return Size(f * float64(unit)), nil
}

// String is the size as PVE writes it: with the largest letter that leaves a
// whole number.
func (s Size) String() string {
	if s == 0 {
		return "0"
	}
	letter := ""
	for _, l := range []string{"K", "M", "G", "T"} {
		if s%KiB != 0 {
			break
		}
		s, letter = s/KiB, l
	}
	return strconv.FormatInt(int64(s), 10) + letter
}
