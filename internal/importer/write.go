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

package importer

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// WriteStream writes the manifests of the VMs that were described, one after the
// other.
func (f Form) WriteStream(w io.Writer, finds []Find) error {
	separator := ""
	for _, find := range finds {
		if find.Description == nil {
			continue
		}
		b, err := f.Manifest(find)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, separator+string(b)); err != nil {
			return errors.Wrap(err, "cannot write manifests")
		}
		separator = "---\n"
	}
	return nil
}

// WriteFiles writes the manifest of each VM that was described into a file of the folder with the name of its Machine. An existing file with other
// content is not changed unless force is true.
func (f Form) WriteFiles(folder string, finds []Find, force bool) error {
	var kept []string
	for _, find := range finds {
		if find.Description == nil {
			continue
		}
		b, err := f.Manifest(find)
		if err != nil {
			return err
		}
		name := filepath.Join(folder, find.Resource+".yaml")
		other, err := hasOther(name, b)
		if err != nil {
			return err
		}
		if other && !force {
			kept = append(kept, name)
			continue
		}
		if err := os.WriteFile(name, b, 0o600); err != nil {
			return errors.Wrap(err, "cannot write a manifest")
		}
	}
	if len(kept) > 0 {
		return errors.Errorf("%d files have something else and are left as they are, %q the first: --force overwrites them", len(kept), kept[0])
	}
	return nil
}

// hasOther reports whether a file has other content.
func hasOther(name string, b []byte) (bool, error) {
	has, err := os.ReadFile(name) //nolint:gosec // The user names the folder.
	if os.IsNotExist(err) {
		return false, nil
	}
	return !bytes.Equal(has, b), errors.Wrap(err, "cannot see what a manifest has")
}
