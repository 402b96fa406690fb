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

package controlplane

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/vitistack/provider-proxmox/cluster/local/assets"
	"github.com/vitistack/provider-proxmox/cluster/local/process"
)

// controllers are the ones that run. The others act on workloads, which nothing here runs.
const controllers = "clusterrole-aggregation-controller,garbage-collector-controller,namespace-controller"

func startManager(ctx context.Context, path, kubeconfig, dir string) (*process.Process, error) {
	port, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	return process.Start(ctx, process.Spec{
		Name:  assets.ControllerManager,
		Path:  path,
		Args:  managerArgs(port, kubeconfig, filepath.Join(dir, assets.ControllerManager)),
		Env:   os.Environ(),
		Log:   filepath.Join(dir, assets.ControllerManager+".log"),
		Ready: process.HTTP("https://127.0.0.1:" + strconv.Itoa(port) + "/healthz"),
	})
}

func managerArgs(port int, kubeconfig, certDir string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--controllers=" + controllers,
		"--leader-elect=false",
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--cert-dir=" + certDir,
		"--authentication-skip-lookup=true",
	}
}
