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

// Package checksum reads checksums of files, and the lists of them that distributions publish next to their images. It reads a list safely, and finds
// the entry of a file in it.
package checksum

import (
	"encoding/hex"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// A Checksum is the checksum of a file.
type Checksum struct {
	// Algorithm in Proxmox VE's spelling, such as sha256. Empty for no checksum.
	Algorithm string

	// Sum is the value in lower-case hexadecimal digits.
	Sum string
}

// String returns the checksum as algorithm:digits, or an empty string if there is none.
func (c Checksum) String() string {
	if c.Algorithm == "" {
		return ""
	}
	return c.Algorithm + ":" + c.Sum
}

// Parse reads a checksum in the form algorithm:digits. The empty string stands for no checksum.
func Parse(s string) (Checksum, error) {
	if s == "" {
		return Checksum{}, nil
	}
	algorithm, sum, _ := strings.Cut(s, ":")
	c := Checksum{Algorithm: strings.ToLower(algorithm), Sum: strings.ToLower(sum)}
	if digits, known := lengths()[c.Algorithm]; !known || len(c.Sum) != digits || !isHex(c.Sum) {
		return Checksum{}, errors.Errorf("%q is not a checksum: want an algorithm, a colon and hexadecimal digits", s)
	}
	return c, nil
}

// lengths returns the number of hexadecimal digits of each algorithm's sums.
func lengths() map[string]int {
	return map[string]int{"md5": 32, "sha1": 40, "sha224": 56, "sha256": 64, "sha384": 96, "sha512": 128}
}

// algorithmOf returns the algorithm whose sums have this many digits, or an empty string.
func algorithmOf(sum string) string {
	for algorithm, digits := range lengths() {
		if len(sum) == digits && isHex(sum) {
			return algorithm
		}
	}
	return ""
}

func isHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil
}

// An entry of a list.
type entry struct {
	Checksum

	// name of the file, with its folders; empty for a sum that stands alone.
	name string
}

// Find returns the checksum of the file at an address, from a list in the form of sha256sum or similar programs, in BSD's form, or of a single sum. It
// does not check a signature around the list. If the list has sums of several algorithms, it returns the longest.
func Find(list []byte, address string) (Checksum, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Checksum{}, errors.Errorf("cannot find a file name in the URL")
	}
	file := path.Base(u.Path)
	entries, alone := entriesOf(string(list))
	if len(entries) == 0 && alone.Algorithm != "" {
		return alone.Checksum, nil
	}
	matching := named(entries, u.Path)
	if len(matching) == 0 {
		return Checksum{}, errors.Errorf("the list of checksums has no entry for %q", file)
	}
	best := matching[0]
	for _, e := range matching[1:] {
		switch {
		case len(e.Sum) > len(best.Sum):
			best = e
		case len(e.Sum) == len(best.Sum) && e.Sum != best.Sum:
			return Checksum{}, errors.Errorf("the list of checksums has different entries for %q", file)
		}
	}
	return best.Checksum, nil
}

// named returns the entries of the file at a path: those whose folders match the path if there are any, otherwise all with its name.
func named(entries []entry, at string) []entry {
	var byName, byPath []entry
	for _, e := range entries {
		name := strings.TrimPrefix(e.name, "./")
		if path.Base(name) != path.Base(at) {
			continue
		}
		byName = append(byName, e)
		if strings.HasSuffix(at, "/"+name) && strings.Contains(name, "/") {
			byPath = append(byPath, e)
		}
	}
	if len(byPath) > 0 {
		return byPath
	}
	return byName
}

// entriesOf reads a list, and the sum without a name in it, if there is one.
func entriesOf(list string) (entries []entry, alone entry) {
	sums := 0
	for line := range strings.Lines(body(list)) {
		e, ok := parseLine(strings.TrimRight(line, "\r\n"))
		switch {
		case !ok:
		case e.name == "":
			alone, sums = e, sums+1
		default:
			entries = append(entries, e)
		}
	}
	if sums != 1 {
		alone = entry{}
	}
	return entries, alone
}

const (
	signedBegin   = "-----BEGIN PGP SIGNED MESSAGE-----"
	signatureLine = "-----BEGIN PGP SIGNATURE-----"
)

// body returns the text of a signed message, or the whole of an unsigned one.
func body(list string) string {
	_, rest, signed := strings.Cut(list, signedBegin)
	if !signed {
		return list
	}
	rest, _, _ = strings.Cut(rest, signatureLine)
	return rest
}

var (
	// reGNU matches a line of sha256sum: the sum, a blank, a blank or the star of a binary file, and the name.
	reGNU = regexp.MustCompile(`^\\?([0-9a-fA-F]{32,128})[ \t]+\*?(\S.*)$`)
	reBSD = regexp.MustCompile(`^([A-Za-z0-9-]+) ?\((.+)\) ?= ?([0-9a-fA-F]{32,128})$`)
	reSum = regexp.MustCompile(`^[0-9a-fA-F]{32,128}$`)
)

// parseLine reads a line, and reports whether it has a sum. Other lines, such as the comments in Fedora's lists, have none.
func parseLine(line string) (entry, bool) {
	line = strings.TrimSpace(strings.TrimPrefix(line, "- ")) // A signed message escapes dashes.
	if m := reBSD.FindStringSubmatch(line); m != nil {
		algorithm := strings.ReplaceAll(strings.ToLower(m[1]), "-", "")
		e := entry{Checksum: Checksum{Algorithm: algorithm, Sum: strings.ToLower(m[3])}, name: m[2]}
		return e, lengths()[algorithm] == len(e.Sum)
	}
	sum, name := line, ""
	if m := reGNU.FindStringSubmatch(line); m != nil {
		sum, name = m[1], strings.TrimSpace(m[2])
	} else if !reSum.MatchString(line) {
		return entry{}, false
	}
	sum = strings.ToLower(sum)
	algorithm := algorithmOf(sum)
	return entry{Checksum: Checksum{Algorithm: algorithm, Sum: sum}, name: name}, algorithm != ""
}
