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

package simulator

import (
	"crypto/sha256"
	gohash "hash"
	"regexp"
	"strings"
)

const (
	// cryptAlphabet are the characters of crypt(3).
	cryptAlphabet = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	// cryptRounds and cryptSalt are what PVE uses.
	cryptRounds, cryptSalt = 5000, 8
)

// hashedPassword is a password as PVE keeps it for cloud-init: hashed, unless it already is.
func hashedPassword(password string) string {
	if regexp.MustCompile(`^\$(?:[156]|2[ay])(\$.+){2}`).MatchString(password) {
		return password
	}
	salt := make([]byte, 0, cryptSalt)
	for _, b := range randomBytes(cryptSalt) {
		salt = append(salt, cryptAlphabet[b&63])
	}
	return sha256Crypt(password, string(salt))
}

// sha256Crypt is the hash "$5$" of crypt(3).
func sha256Crypt(password, salt string) string {
	key, seed := []byte(password), []byte(salt)
	sum := firstSum(key, seed)
	p := repeated(sum256(strings.Repeat(password, len(key))), len(key))
	s := repeated(sum256(strings.Repeat(salt, 16+int(sum[0]))), len(seed))
	for i := range cryptRounds {
		h := sha256.New()
		write(h, pick(i%2 == 1, p, sum))
		if i%3 != 0 {
			write(h, s)
		}
		if i%7 != 0 {
			write(h, p)
		}
		write(h, pick(i%2 == 1, sum, p))
		sum = h.Sum(nil)
	}
	return "$5$" + salt + "$" + cryptText(sum)
}

func firstSum(key, salt []byte) []byte {
	other := sum256(string(key) + string(salt) + string(key))
	h := sha256.New()
	write(h, append(append([]byte{}, key...), salt...))
	write(h, repeated(other, len(key)))
	for n := len(key); n > 0; n >>= 1 {
		write(h, pick(n&1 == 1, other, key))
	}
	return h.Sum(nil)
}

func sum256(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// repeated is a block repeated up to a length.
func repeated(block []byte, length int) []byte {
	out := make([]byte, 0, length)
	for len(out) < length {
		out = append(out, block[:min(len(block), length-len(out))]...)
	}
	return out
}

func pick(first bool, a, b []byte) []byte {
	if first {
		return a
	}
	return b
}

// write feeds a hash, which takes everything.
func write(h gohash.Hash, b []byte) { _, _ = h.Write(b) }

// cryptText encodes a sum in the order of crypt(3): three bytes, of which the indices turn, become four characters.
func cryptText(sum []byte) string {
	out := &strings.Builder{}
	a, b, c := 0, 10, 20
	for range 10 {
		cryptGroup(out, uint(sum[a])<<16|uint(sum[b])<<8|uint(sum[c]), 4)
		a, b, c = c+1, a+1, b+1
	}
	cryptGroup(out, uint(sum[31])<<8|uint(sum[30]), 3)
	return out.String()
}

func cryptGroup(out *strings.Builder, bits uint, characters int) {
	for range characters {
		out.WriteByte(cryptAlphabet[bits&63])
		bits >>= 6
	}
}
