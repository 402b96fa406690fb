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
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
)

// verify checks the VMs and Secrets of the examples, tries the proposed commands, deletes the Machines, and checks that none of their VMs remains.
func (d *demo) verify(ctx context.Context) error {
	machines := maps.Clone(d.board.machines)
	secrets, err := d.check(ctx, machines)
	if err != nil {
		d.diagnose(ctx)
		return err
	}
	d.Console.Stepf("checked: every Machine is a VM of the simulator, %d connection Secrets are written", secrets)
	if err := d.tryProposals(ctx); err != nil {
		d.diagnose(ctx)
		return err
	}
	d.Console.Stepf("checked: what is proposed for going on does what it is proposed for")
	if err := d.deleteAll(ctx); err != nil {
		d.diagnose(ctx)
		return err
	}
	if err := d.kubectl(ctx, "delete", "images."+machine.NamespacedGroup, "--all", "--all-namespaces", "--timeout=1m"); err != nil {
		d.diagnose(ctx)
		return err
	}
	if err := d.checkGone(ctx, machines); err != nil {
		return err
	}
	d.Console.Stepf("checked: the simulator holds none of their VMs any more")
	seconds := d.Console.Elapsed().Seconds()
	d.Console.Text(fmt.Sprintf("\nPASS: %d Machines became ready, were checked and deleted in %.0f s.\n", len(machines), seconds))
	return nil
}

// check compares Machines with the simulator's content, and returns how many connection Secrets it found.
func (d *demo) check(ctx context.Context, machines map[machine.Key]machine.Machine) (int, error) {
	vms, err := d.simulator.VMs(ctx)
	if err != nil {
		return 0, err
	}
	secrets := 0
	for _, key := range sortedKeys(machines) {
		m := machines[key]
		vm, ok := vms[m.VMID]
		if !ok {
			return 0, fmt.Errorf("cannot find the VM %d of Machine %q in the simulator", m.VMID, key)
		}
		if vm.Node != m.Node {
			return 0, fmt.Errorf("cannot confirm Machine %q: VM %d is on node %q, not %q", key, m.VMID, vm.Node, m.Node)
		}
		if m.Secret.Name == "" {
			continue
		}
		if err := d.checkSecret(ctx, m); err != nil {
			return 0, err
		}
		secrets++
	}
	return secrets, nil
}

func (d *demo) checkSecret(ctx context.Context, m machine.Machine) error {
	secret := &corev1.Secret{}
	if err := d.Kube.Get(ctx, m.Secret, secret); err != nil {
		return fmt.Errorf("cannot read the connection Secret of Machine %q: %w", m.Key, err)
	}
	if len(secret.Data) == 0 {
		return fmt.Errorf("cannot find connection details of Machine %q: Secret %q is empty", m.Key, m.Secret)
	}
	return nil
}

// deleteAll deletes the Machines and waits until they no longer exist.
func (d *demo) deleteAll(ctx context.Context) error {
	for _, resource := range machine.Resources() {
		args := []string{"delete", resource.GroupResource().String(), "--all", "--wait=false"}
		if resource.Group == machine.NamespacedGroup {
			args = append(args, "--all-namespaces")
		}
		if err := d.kubectl(ctx, args...); err != nil {
			return err
		}
	}
	if err := d.board.until(ctx, deleteTimeout, d.board.empty); err != nil {
		return fmt.Errorf("cannot see every Machine gone: %w", err)
	}
	return nil
}

func (d *demo) checkGone(ctx context.Context, machines map[machine.Key]machine.Machine) error {
	vms, err := d.simulator.VMs(ctx)
	if err != nil {
		return err
	}
	for _, key := range sortedKeys(machines) {
		if vm, ok := vms[machines[key].VMID]; ok {
			return fmt.Errorf("the deleted Machine %q left VM %d, %q, in the simulator", key, vm.ID, vm.Name)
		}
	}
	return nil
}
