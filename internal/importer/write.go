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

// WriteFiles writes the manifest of each VM that was described into a file of the
// folder, named as its Machine. A file that is there and has something else is left
// as it is unless force says so.
func (f Form) WriteFiles(folder string, finds []Find, force bool) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return errors.Wrap(err, "cannot make the folder for manifests")
	}
	var failed []error
	for _, find := range finds {
		if find.Description == nil {
			continue
		}
		b, err := f.Manifest(find)
		if err != nil {
			return err
		}
		failed = append(failed, writeFile(filepath.Join(folder, find.Resource+".yaml"), b, force))
	}
	return errors.Join(failed...)
}

func writeFile(name string, b []byte, force bool) error {
	has, err := os.ReadFile(name) //nolint:gosec // The user names the folder.
	switch {
	case err == nil && bytes.Equal(has, b):
		return nil
	case err == nil && !force:
		return errors.Errorf("%s has something else and is left as it is: --force overwrites it", name)
	case err != nil && !os.IsNotExist(err):
		return errors.Wrap(err, "cannot see what a manifest has")
	}
	return errors.Wrap(os.WriteFile(name, b, 0o600), "cannot write a manifest")
}
