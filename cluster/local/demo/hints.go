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

package demo

import (
	"fmt"
	"strings"
)

// hints returns the text that explains how to go on with kubectl.
func (d *demo) hints() string {
	keys := sortedKeys(d.board.machines)
	first := strings.Join(keys[0].Arguments(), " ")
	last := strings.Join(keys[len(keys)-1].Arguments(), " ")
	return strings.Join([]string{
		"",
		"Go on in another terminal:",
		"",
		d.Usage(),
		"",
		"  kubectl get managed --all-namespaces",
		"  kubectl explain machine.spec.forProvider",
		"  kubectl describe " + first,
		`  kubectl patch ` + first + ` --type=merge --patch='{"spec":{"forProvider":{"powerState":"Stopped"}}}'`,
		"  kubectl delete " + last,
		"",
		fmt.Sprintf("The guests of the simulated Proxmox VE, in a browser: %s", d.simulator.URL()),
		fmt.Sprintf("The provider's log: %s", d.provider.Log()),
		"Changes show below. Ctrl-C stops everything and leaves nothing behind.",
		"",
	}, "\n")
}
