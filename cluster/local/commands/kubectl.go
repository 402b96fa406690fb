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
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// RunKubectl runs kubectl against the environment's control plane in the top folder of the checkout and returns its
// output. The cache of kubectl is in the environment's folder.
func (s *Environment) RunKubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.Kubectl, args...)
	cmd.Dir = s.Repo.Root()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig, "KUBECACHEDIR="+filepath.Join(s.Dir, "kubectl-cache"))
	b, err := cmd.CombinedOutput()
	output := strings.TrimRight(string(b), "\n")
	if ctx.Err() != nil {
		return output, context.Cause(ctx)
	}
	if err != nil {
		return output, fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return output, nil
}
