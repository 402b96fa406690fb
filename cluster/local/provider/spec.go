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

package provider

import (
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/cluster/local/process"
)

// Spec describes the provider's process: the program at path, against the API server of a kubeconfig, with its metrics and probes on free ports of
// 127.0.0.1. It passes on the environment env, in the form of os.Environ, except secrets and endpoints, so that variables such as LOG_LEVEL and
// RECONCILE_INTERVAL take effect.
func Spec(path, kubeconfig string, env []string) (process.Spec, error) {
	metrics, err := process.FreeAddress()
	if err != nil {
		return process.Spec{}, err
	}
	probes, err := process.FreeAddress()
	if err != nil {
		return process.Spec{}, err
	}
	return process.Spec{
		Name: "provider",
		Path: path,
		Env: append(withoutConnection(env),
			"KUBECONFIG="+kubeconfig,
			"METRICS_BIND_ADDRESS="+metrics,
			"HEALTH_PROBE_BIND_ADDRESS="+probes,
		),
		Ready: process.HTTP("http://" + probes + "/readyz"),
	}, nil
}

func withoutConnection(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(connectionVariables(), name)
	})
}
