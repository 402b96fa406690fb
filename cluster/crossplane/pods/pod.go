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

package pods

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/vitistack/provider-proxmox/cluster/local/process"
)

// pause is the time from the end of a container to its next start.
const pause = 250 * time.Millisecond

// pod is the running Pod of a Deployment.
type pod struct {
	runner     *Runner
	deployment *appsv1.Deployment
	template   corev1.PodTemplateSpec
	address    string
	cancel     context.CancelFunc
	ended      chan struct{}
	ready      atomic.Bool
	err        error
}

func (r *Runner) begin(d *appsv1.Deployment) *pod {
	ctx, cancel := context.WithCancel(context.Background())
	p := &pod{
		runner: r, deployment: d.DeepCopy(), template: *d.Spec.Template.DeepCopy(), address: r.addresses[d.Name], cancel: cancel, ended: make(chan struct{}),
	}
	go func() {
		defer close(p.ended)
		p.run(ctx)
	}()
	return p
}

// wait waits until the Pod has ended, and returns the error of its end.
func (p *pod) wait() error {
	<-p.ended
	return p.err
}

// run runs the init containers one after the other, each until it succeeds, and then keeps the container running.
func (p *pod) run(ctx context.Context) {
	for _, c := range p.template.Spec.InitContainers {
		for !p.try(ctx, c, p.complete) {
			if ctx.Err() != nil {
				return
			}
		}
	}
	for ctx.Err() == nil {
		p.try(ctx, p.template.Spec.Containers[0], p.serve)
	}
}

// try runs a container and reports whether it succeeded. If not, the reason is in the container's log.
func (p *pod) try(ctx context.Context, c corev1.Container, run func(context.Context, process.Spec) error) bool {
	spec, err := p.prepare(ctx, c)
	if err == nil {
		err = run(ctx, spec)
	}
	if err == nil || ctx.Err() != nil {
		return err == nil
	}
	p.note(c, err)
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
	return false
}

// complete runs an init container to its end.
func (p *pod) complete(ctx context.Context, spec process.Spec) error {
	container, err := process.Start(ctx, spec)
	if err != nil {
		return err
	}
	select {
	case <-container.Exited():
		return container.Failure()
	case <-ctx.Done():
		return container.Stop()
	}
}

// serve runs the container until it ends by itself, or the Pod has to end.
func (p *pod) serve(ctx context.Context, spec process.Spec) error {
	container, err := process.Start(ctx, spec)
	if err != nil {
		return err
	}
	p.become(true)
	defer p.become(false)
	select {
	case <-container.Exited():
		return fmt.Errorf("it ended: %w", container.Err())
	case <-ctx.Done():
		p.err = container.Stop()
		return p.err
	}
}

// become requests an update of the Deployment's status.
func (p *pod) become(ready bool) {
	p.ready.Store(ready)
	select {
	case p.runner.changed <- event.TypedGenericEvent[*appsv1.Deployment]{Object: p.deployment}:
	default:
		// So many changes are pending that they include one of this Deployment, or a later one will.
	}
}

func (p *pod) log(c corev1.Container) string {
	return filepath.Join(p.runner.Logs, p.deployment.Name+"-"+c.Name+".log")
}

func (p *pod) note(c corev1.Container, problem error) {
	f, err := os.OpenFile(p.log(c), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // There is no caller that could handle it.
	_, _ = fmt.Fprintf(f, "---- %s\n", problem)
}
