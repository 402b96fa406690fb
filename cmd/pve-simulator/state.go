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

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// saveEvery is the interval for saving the state if it has changed.
const saveEvery = 2 * time.Second

// readState loads the saved state into the server, if there is one.
func (o *options) readState(so *simulator.Options) (bool, error) {
	if o.State == "" {
		return false, nil
	}
	data, err := os.ReadFile(o.State)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	so.State = bytes.NewReader(data)
	return true, errors.Wrap(err, "cannot read the state")
}

// keeper keeps the state of a server in a file. Without a path it keeps nothing.
type keeper struct {
	path   string
	server *simulator.Server
	out    io.Writer
	// saved is the number of the server's changes at the last save; written is false before the first one.
	saved   uint64
	written bool
}

// keep saves the state periodically until ctx ends. It retries a failed save.
func (k *keeper) keep(ctx context.Context, ticks *time.Ticker) {
	defer ticks.Stop()
	for {
		if err := k.save(); err != nil {
			fmt.Fprintln(k.out, "pve-simulator:", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// save writes the state if it has changed.
func (k *keeper) save() error {
	changes := k.server.Changes()
	if k.path == "" || (k.written && changes == k.saved) {
		return nil
	}
	if err := replace(k.path, k.server.WriteState); err != nil {
		return errors.Wrap(err, "cannot save the state")
	}
	k.saved, k.written = changes, true
	return nil
}

// replace writes a file that only its owner can read. The old file stays until the new one is complete.
func replace(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // It is gone if all went well.
	err = errors.Join(write(f), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
