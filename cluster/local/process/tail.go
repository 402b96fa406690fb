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

package process

import (
	"io"
	"os"
	"strings"
)

// tailBytes limits how much of a log LogTail reads.
const tailBytes = 64 << 10

// LogTail returns the last n lines of a log file, or a line with the reason why there are none.
func LogTail(path string, n int) string {
	text, err := readEnd(path, tailBytes)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	return lastLines(text, n)
}

func readEnd(path string, limit int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // Only read.

	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if _, err := f.Seek(max(0, info.Size()-limit), io.SeekStart); err != nil {
		return "", err
	}
	b, err := io.ReadAll(f)
	return string(b), err
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
