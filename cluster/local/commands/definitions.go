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

package commands

import (
	"context"
	"path/filepath"

	"github.com/vitistack/provider-proxmox/cluster/local/assets"
)

// Definitions are CustomResourceDefinitions of another project: files in the folder of its module where controller-gen writes them.
type Definitions struct {
	// Provider finds the source of the module.
	Provider assets.Provider
	Module   string
	// Names are the names of the files, without .yaml.
	Names []string
}

// InstallOthers applies definitions of other projects and waits until they are served.
func (s *Environment) InstallOthers(ctx context.Context, of ...Definitions) error {
	var files []string
	for _, each := range of {
		source, err := each.Provider.Source(ctx, each.Module)
		if err != nil {
			return err
		}
		for _, name := range each.Names {
			files = append(files, "-f", filepath.Join(source, "config", "crd", "bases", name+".yaml"))
		}
	}
	if _, err := s.RunKubectl(ctx, append([]string{"apply", "--server-side"}, files...)...); err != nil {
		return err
	}
	_, err := s.RunKubectl(ctx, append([]string{"wait", "--for=condition=Established", "--timeout=1m"}, files...)...)
	return err
}
