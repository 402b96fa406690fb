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

package nocloud

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// The image is ISO 9660 (ECMA-119) with one directory. It has the real names of its files, which ISO 9660 itself does not allow, both as Rock Ridge
// (IEEE P1282) and as Joliet: guests read one of them. All times in it are the same, so that the same files result in the same bytes.
const (
	sector = 2048

	// label of the image. Cloud-init finds the image by it.
	label = "cidata"

	// primaryAt, jolietAt and endAt are the sectors of the volume descriptors;
	// those after them hold the path tables, both byte orders of each tree, and
	// the two directories.
	primaryAt, jolietAt, endAt = 16, 17, 18
	tablesAt                   = 19
	directoryAt, jolietDirAt   = 23, 24
	continuationAt             = 25
	filesAt                    = 26
)

// A file is a file of the image. Its name is in lower case and has no dots.
type file struct {
	name    string
	content []byte
}

// image returns an ISO 9660 image of files, in their order.
func image(files []file) []byte {
	at, extents := filesAt, make([]int, len(files))
	for i, f := range files {
		extents[i] = at
		at += max(1, sectors(len(f.content)))
	}
	out := make([]byte, at*sector)
	copy(out[primaryAt*sector:], descriptor(1, at, tablesAt, directoryAt, nil))
	copy(out[jolietAt*sector:], descriptor(2, at, tablesAt+2, jolietDirAt, []byte("%/E")))
	copy(out[endAt*sector:], "\xffCD001\x01")
	for i, dir := range []int{directoryAt, jolietDirAt} {
		copy(out[(tablesAt+2*i)*sector:], pathTable(binary.LittleEndian, dir))
		copy(out[(tablesAt+2*i+1)*sector:], pathTable(binary.BigEndian, dir))
	}
	copy(out[directoryAt*sector:], directory(directoryAt, files, extents, rockRidge))
	copy(out[jolietDirAt*sector:], directory(jolietDirAt, files, extents, joliet))
	copy(out[continuationAt*sector:], extensionReference())
	for i, f := range files {
		copy(out[extents[i]*sector:], f.content)
	}
	return out
}

func sectors(bytes int) int { return (bytes + sector - 1) / sector }

// both16 and both32 return numbers in both byte orders, little-endian first.
func both16(n int) []byte {
	b := binary.LittleEndian.AppendUint16(nil, uint16(n)) //nolint:gosec // Small.
	return binary.BigEndian.AppendUint16(b, uint16(n))    //nolint:gosec // Small.
}

func both32(n int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(n)) //nolint:gosec // Far below the limit.
	return binary.BigEndian.AppendUint32(b, uint32(n))    //nolint:gosec // Far below the limit.
}

// descriptor returns the descriptor of the volume: primary (kind 1), or supplementary (kind 2) with names in UCS-2, as its escape sequences declare.
func descriptor(kind byte, size, tables, dir int, escapes []byte) []byte {
	text := func(s string, length int) []byte { return []byte(s + strings.Repeat(" ", length-len(s))) }
	if kind == 2 {
		text = func(s string, length int) []byte {
			b := ucs2(s)
			for len(b)+1 < length {
				b = append(b, 0, ' ')
			}
			return append(b, make([]byte, length-len(b))...)
		}
	}
	const epoch, never = "1970010100000000\x00", "0000000000000000\x00"
	d := append([]byte{kind}, "CD001\x01\x00"...)
	for _, field := range [][]byte{
		text("", 32), text(label, 32), make([]byte, 8), both32(size), append(escapes, make([]byte, 32-len(escapes))...),
		both16(1), both16(1), both16(sector), both32(pathTableSize),
		binary.LittleEndian.AppendUint32(nil, uint32(tables)), make([]byte, 4), //nolint:gosec // Small.
		binary.BigEndian.AppendUint32(nil, uint32(tables+1)), make([]byte, 4), //nolint:gosec // Small.
		record(dir, sector, isDirectory, []byte{0}, nil),
		text("", 128), text("", 128), text("", 128), text("", 128), text("", 37), text("", 37), text("", 37),
		[]byte(epoch), []byte(epoch), []byte(never), []byte(never),
		{1},
	} {
		d = append(d, field...)
	}
	return d
}

const pathTableSize = 10

// pathTable returns the path table of a tree with only a root.
func pathTable(order binary.AppendByteOrder, dir int) []byte {
	b := order.AppendUint32([]byte{1, 0}, uint32(dir)) //nolint:gosec // Small.
	return append(order.AppendUint16(b, 1), 0, 0)
}

// isDirectory is the flag of directories.
const isDirectory = 2

// record returns a directory record: a file or directory, its name, and the additions of Rock Ridge.
func record(at, size int, flags byte, name, systemUse []byte) []byte {
	pad := (len(name) + 1) % 2
	b := []byte{0, 0}
	b = append(b, both32(at)...)
	b = append(b, both32(size)...)
	b = append(b, 70, 1, 1, 0, 0, 0, 0, flags, 0, 0) // 1 January 1970.
	b = append(b, both16(1)...)
	b = append(b, byte(len(name))) //nolint:gosec // Names are short.
	b = append(b, name...)
	b = append(b, make([]byte, pad)...)
	b = append(b, systemUse...)
	b = append(b, make([]byte, len(b)%2)...)
	b[0] = byte(len(b)) //nolint:gosec // At most 255 with the names that there are.
	return b
}

// A naming sets the names and attributes of the files of a directory.
type naming struct {
	name         func(string) []byte
	file         func(string) []byte
	self, parent []byte
}

//nolint:gochecknoglobals // Constants.
var (
	rockRidge = naming{
		// Names of at most eight upper-case letters and digits, which only a system without both extensions reads.
		name: func(s string) []byte {
			s = strings.ToUpper(strings.ReplaceAll(s, "-", "_"))
			return []byte(s[:min(len(s), 8)] + ".;1")
		},
		file: func(s string) []byte {
			return append(attributes(0o100444), append([]byte{'N', 'M', byte(5 + len(s)), 1, 0}, s...)...)
		},
		// The root declares that system use is shared (SP), by which extension (CE refers to ER), and its attributes.
		self: append(append([]byte{'S', 'P', 7, 1, 0xbe, 0xef, 0}, attributes(0o040555)...),
			append(append(append([]byte{'C', 'E', 28, 1}, both32(continuationAt)...), both32(0)...), both32(len(extensionReference()))...)...),
		parent: attributes(0o040555),
	}
	joliet = naming{
		name: ucs2,
		file: func(string) []byte { return nil },
	}
)

// attributes returns the mode, one link, and root as owner and group.
func attributes(mode int) []byte {
	b := []byte{'P', 'X', 36, 1}
	for _, n := range []int{mode, 1, 0, 0} {
		b = append(b, both32(n)...)
	}
	return b
}

// extensionReference returns the entry that declares system use to be Rock Ridge's.
func extensionReference() []byte {
	const id, description, source = "RRIP_1991A", "THE ROCK RIDGE INTERCHANGE PROTOCOL PROVIDES SUPPORT FOR POSIX FILE SYSTEM SEMANTICS",
		"PLEASE CONTACT DISC PUBLISHER FOR SPECIFICATION SOURCE.  SEE PUBLISHER IDENTIFIER IN PRIMARY VOLUME DESCRIPTOR FOR CONTACT INFORMATION."
	b := []byte{'E', 'R', byte(8 + len(id) + len(description) + len(source)), 1, byte(len(id)), byte(len(description)), byte(len(source)), 1}
	return append(b, id+description+source...)
}

func ucs2(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.BigEndian.AppendUint16(b, u)
	}
	return b
}

// directory returns a directory with its own record, that of its parent, which is itself, and those
// of the files. It fits into one sector.
func directory(at int, files []file, extents []int, n naming) []byte {
	b := record(at, sector, isDirectory, []byte{0}, n.self)
	b = append(b, record(at, sector, isDirectory, []byte{1}, n.parent)...)
	for i, f := range files {
		b = append(b, record(extents[i], len(f.content), 0, n.name(f.name), n.file(f.name))...)
	}
	return b
}
