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

// Package velero runs Velero in an environment.
package velero

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/vitistack/provider-proxmox/cluster/local/assets"
	"github.com/vitistack/provider-proxmox/cluster/local/commands"
	"github.com/vitistack/provider-proxmox/cluster/local/process"
)

const (
	namespace = "velero"

	// bucket is a folder of the store.
	bucket = "backups"

	// plugin is the name of the program as the plugin for files.
	plugin = "velero-plugin-for-files"
)

// Velero is the Velero of one cluster.
type Velero struct {
	dir   string
	store string
	env   []string
}

// Start installs Velero in the cluster of an environment and starts its server with the permissions of an administrator, as in Velero's installation.
// The location of backups is a folder. Several clusters may use the same folder.
func Start(ctx context.Context, e *commands.Environment, store string) (Velero, error) {
	dir, err := commands.VeleroAssets(e.Repo).Build(ctx, assets.VeleroWithFiles())
	if err != nil {
		return Velero{}, err
	}
	v := Velero{dir: dir, store: store, env: append(os.Environ(), "KUBECONFIG="+e.Kubeconfig, "HOME="+e.Dir, "TMPDIR="+e.Dir, "PATH="+dir+":"+os.Getenv("PATH"))}
	// Its Deployment has no Pods here, but a restore reads it.
	if _, err := v.Run(ctx, "velero install --image=velero --plugins=files --no-secret --use-volume-snapshots=false --provider=proxmox.vitistack.io/files "+
		"--bucket="+bucket+" --backup-location-config='path="+store+"'"); err != nil {
		return Velero{}, err
	}
	server, err := v.server(e.Dir)
	if err != nil {
		return Velero{}, err
	}
	if err := v.checkLocation(ctx, e, server); err != nil {
		return Velero{}, err
	}
	_, err = e.Run(ctx, server)
	return v, err
}

// checkLocation runs the server until it has found the location to be available. A server checks a location for backups only when it starts and once a
// minute.
func (v Velero) checkLocation(ctx context.Context, e *commands.Environment, server process.Spec) error {
	server.Log = filepath.Join(e.Dir, server.Name+".log")
	first, err := process.Start(ctx, server)
	if err != nil {
		return err
	}
	_, err = e.RunKubectl(ctx, "wait", "--for=jsonpath={.status.phase}=Available", "--timeout=1m", "--namespace="+namespace,
		"backupstoragelocations.velero.io/default")
	return errors.Join(err, first.Stop())
}

// server returns how to start Velero's server, with the plugin for files in its folder of plugins.
func (v Velero) server(dir string) (process.Spec, error) {
	plugins := filepath.Join(dir, "velero-plugins")
	if err := os.MkdirAll(plugins, 0o700); err != nil {
		return process.Spec{}, err
	}
	if err := os.Symlink(filepath.Join(v.dir, assets.Velero), filepath.Join(plugins, plugin)); err != nil {
		return process.Spec{}, err
	}
	address, err := process.FreeAddress()
	if err != nil {
		return process.Spec{}, err
	}
	return process.Spec{
		Name:  "velero",
		Path:  filepath.Join(v.dir, assets.Velero),
		Args:  []string{"server", "--namespace=" + namespace, "--plugin-dir=" + plugins, "--metrics-address=" + address, "--profiler-address="},
		Env:   v.env,
		Ready: process.HTTP("http://" + address + "/metrics"),
	}, nil
}

// Run runs a command line with velero in it, like a shell, and returns its output.
func (v Velero) Run(ctx context.Context, line string) (string, error) {
	shell := exec.CommandContext(ctx, "bash", "-c", line)
	shell.Env = v.env
	output, err := shell.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", line, err, output)
	}
	return string(output), err
}

// Problems returns Velero's messages about backups and restores that are not complete.
func (v Velero) Problems(ctx context.Context) string {
	output, _ := v.Run(ctx, "zcat '"+v.store+"'/"+bucket+"/*/*/*-results.gz")
	return output
}
