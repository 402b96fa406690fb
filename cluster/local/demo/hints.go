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
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
	"github.com/vitistack/provider-proxmox/cluster/local/simulator"
)

// A proposal is a command of kubectl to continue with.
type proposal struct {
	arguments []string
	// shows is a part of the output of the command.
	shows string
	// effect fails unless the command has the effect that it is proposed for. It is nil for a command that only shows something.
	effect func(context.Context) error
}

// String returns the command for a shell.
func (p proposal) String() string {
	words := []string{"kubectl"}
	for _, a := range p.arguments {
		if strings.ContainsAny(a, `{}" `) {
			name, value, _ := strings.Cut(a, "=")
			a = name + "='" + value + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// proposals returns commands for the first and the last Machine.
func (d *demo) proposals() []proposal {
	keys := sortedKeys(d.board.machines)
	first, last := keys[0], keys[len(keys)-1]
	patch := []string{"--type=merge", `--patch={"spec":{"forProvider":{"powerState":"Stopped"}}}`}
	return []proposal{
		{arguments: []string{"get", "managed", "--all-namespaces"}, shows: first.Name},
		{arguments: []string{"explain", "machine.spec.forProvider"}, shows: "powerState"},
		{arguments: on("describe", first), shows: first.Name},
		{arguments: append(on("patch", first), patch...), shows: "patched", effect: func(ctx context.Context) error { return d.checkStopped(ctx, first) }},
		{arguments: on("delete", last), shows: "deleted", effect: func(ctx context.Context) error { return d.checkDeleted(ctx, last) }},
	}
}

func on(verb string, key machine.Key) []string { return append([]string{verb}, key.Arguments()...) }

// hints returns the text that explains how to continue with kubectl.
func (d *demo) hints() string {
	lines := []string{"", "Go on in another terminal:", "", d.Usage(), ""}
	for _, p := range d.proposals() {
		lines = append(lines, "  "+p.String())
	}
	return strings.Join(append(lines,
		"",
		fmt.Sprintf("The guests of the simulated Proxmox VE, in a browser: %s", d.simulator.URL()),
		fmt.Sprintf("The provider's log: %s", d.provider.Log()),
		"Changes show below. Ctrl-C stops everything and leaves nothing behind.",
		"",
	), "\n")
}

// tryProposals runs the proposed commands, and checks their output and effects.
func (d *demo) tryProposals(ctx context.Context) error {
	for _, p := range d.proposals() {
		d.Console.Stepf("$ %s", p)
		output, err := d.RunKubectl(ctx, p.arguments...)
		if err != nil {
			return err
		}
		if !strings.Contains(output, p.shows) {
			return fmt.Errorf("cannot find %q in what %q shows:\n%s", p.shows, p, output)
		}
		if p.effect == nil {
			continue
		}
		if err := p.effect(ctx); err != nil {
			return fmt.Errorf("cannot see the effect of %q: %w", p, err)
		}
	}
	return nil
}

// checkStopped waits until a Machine shows that its VM is stopped, and until the list of VMs shows it too, which Proxmox VE updates every ten seconds.
func (d *demo) checkStopped(ctx context.Context, key machine.Key) error {
	if err := d.board.until(ctx, readyTimeout, func() bool { return d.board.machines[key].Phase == "Stopped" }); err != nil {
		return err
	}
	var vm simulator.VM
	err := wait.PollUntilContextTimeout(ctx, listedPoll, listedWithin, true, func(ctx context.Context) (bool, error) {
		vms, err := d.simulator.VMs(ctx)
		vm = vms[d.board.machines[key].VMID]
		return vm.Status == "stopped", err
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if wait.Interrupted(err) {
		return fmt.Errorf("the VM %d, %q, is %s", vm.ID, vm.Name, vm.Status)
	}
	return err
}

// The list of VMs is read until it shows the effect, with this timeout and interval.
const (
	listedWithin = 15 * time.Second
	listedPoll   = 200 * time.Millisecond
)

// checkDeleted waits until a Machine no longer exists. A later check covers the VMs of all Machines.
func (d *demo) checkDeleted(ctx context.Context, key machine.Key) error {
	return d.board.until(ctx, deleteTimeout, func() bool {
		_, there := d.board.machines[key]
		return !there
	})
}
