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

// Package cachehome keeps the files of the control plane's start-up library inside the checkout.
//
// That library, controller-runtime's envtest, reserves ports with files in the user's cache folder and creates a folder for them while the program
// initializes. Importing this package, which depends on no package that initializes later than envtest, moves the folder to .cache of the checkout. On
// systems whose cache folder does not follow XDG_CACHE_HOME (macOS) the library's folder stays where it is.
package cachehome

import (
	"os"
	"path/filepath"

	"github.com/vitistack/provider-proxmox/cluster/local/repository"
)

// init runs before that of envtest: Go initializes packages in the order of their import paths as far as dependencies allow. Later it would be too late
// to choose the folder.
func init() { //nolint:gochecknoinits // See above.
	repo, err := repository.Find(".")
	if err != nil {
		return
	}
	move(repo.Cache())
}

// move points the cache folder of this process at dir, and keeps that of the Go tool where it was.
func move(dir string) {
	home, err := os.UserCacheDir()
	if err != nil {
		return
	}
	if os.Getenv("GOCACHE") == "" && os.Getenv("XDG_CACHE_HOME") != dir {
		_ = os.Setenv("GOCACHE", filepath.Join(home, "go-build"))
	}
	_ = os.Setenv("XDG_CACHE_HOME", dir)
}
