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

package nodenetwork

import (
	"context"
	"fmt"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/config"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/nodenet"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Reasons of the conditions Applied, Staged and Ready.
const (
	ReasonApplied        xpv2.ConditionReason = "Applied"
	ReasonStaged         xpv2.ConditionReason = "Staged"
	ReasonStagedByOthers xpv2.ConditionReason = "StagedByOthers"
	ReasonRefused        xpv2.ConditionReason = "Refused"
	ReasonReloading      xpv2.ConditionReason = "Reloading"
	ReasonReloadFailed   xpv2.ConditionReason = "ReloadFailed"
	ReasonInactive       xpv2.ConditionReason = "Inactive"
	ReasonNothingStaged  xpv2.ConditionReason = "NothingStaged"
	ReasonNotCreated     xpv2.ConditionReason = "NotCreated"
)

// knownFor is how old the list of interfaces may be for an observation.
const knownFor = time.Minute

// A look is one inspection of an interface.
type look struct {
	view

	stager  *stager
	now     pending
	change  proxmox.Change // required by the spec
	dynamic bool           // The interface gets addresses by DHCP or router advertisements.
}

// inspect determines whether an interface is in force as configured, and what prevents a change.
func (s *stager) inspect(ctx context.Context, v view) (config.Findings, error) {
	p := v.Resource.Parameters()
	now, err := s.look(ctx, v, v.MaxAge(knownFor))
	if err != nil {
		return config.Findings{}, err
	}
	change, err := declare(p).Change(v.Seen)
	if err != nil {
		return config.Findings{}, err
	}
	l := &look{view: v, stager: s, now: now, change: complete(v, change)}
	if change.Empty() {
		l.change = change
	}
	l.dynamic = isDynamic(v.Seen.Values["method"]) || isDynamic(v.Seen.Values["method6"])
	l.show()
	return l.findings(ctx)
}

func isDynamic(method string) bool { return method == "dhcp" || method == "auto" }

// show shows the staged changes, and whether the interface is active.
func (l *look) show() {
	l.showStaged()
	o := l.Resource.Observation()
	o.Active, o.Staged = nil, nil
	if l.Exists {
		o.Active = new(l.Seen.Values["active"] == "1")
	}
	if l.now.changes == "" {
		return
	}
	o.Staged = &v1alpha1.NodeNetworkStaged{
		Checksum: nodenet.Checksum(l.now.changes), Changes: nodenet.Shown(l.now.changes),
		ByOthers: l.now.foreign || l.now.consented, Interfaces: l.now.interfaces,
	}
}

// showStaged sets the condition Staged.
func (l *look) showStaged() {
	n, noted := noteOf(l.Resource)
	if noted && l.Exists && l.now.changes != "" && l.change.Empty() && nodenet.AsStaged(n.Interface, l.now.config[l.Resource.Parameters().Interface]) {
		condition(l.Resource, TypeStaged, corev1.ConditionTrue, kind.Problem{Reason: ReasonStaged, Message: "the change is staged on the node, and not in force yet"})
		return
	}
	condition(l.Resource, TypeStaged, corev1.ConditionFalse, kind.Problem{Reason: ReasonNothingStaged})
}

// findings decides what to do.
func (l *look) findings(ctx context.Context) (config.Findings, error) {
	if problem, err := l.obstacle(ctx); err != nil || problem != nil {
		if err != nil {
			return config.Findings{}, err
		}
		l.applied(corev1.ConditionFalse, *problem)
		if kind.MayChange(l.Resource) {
			return config.Findings{Rejected: config.Rejection(*problem)}, nil
		}
		return config.Findings{}, nil
	}
	if !l.Exists {
		l.applied(corev1.ConditionFalse, kind.Problem{Reason: ReasonNotCreated, Message: "the interface does not exist yet"})
		return config.Findings{}, nil
	}
	switch {
	case !l.change.Empty():
		l.applied(corev1.ConditionFalse, kind.Problem{Reason: kind.ReasonDifferent, Message: "the interface differs from the spec"})
		return config.Findings{}, nil
	case l.now.changes != "":
		return l.staged(ctx)
	}
	return l.inForce(ctx)
}

// obstacle returns what prevents the change that the spec requires.
func (l *look) obstacle(ctx context.Context) (*kind.Problem, error) {
	if l.change.Empty() {
		return nil, nil //nolint:nilnil // Nothing stands in the way.
	}
	if l.now.foreign {
		p := stagedByOthers(l.now)
		return &p, nil
	}
	p := l.Resource.Parameters()
	if l.dynamic {
		return &kind.Problem{Reason: ReasonRefused, Message: fmt.Sprintf(
			"the change is refused: %s gets its address by DHCP or router advertisements, and Proxmox VE would remove that setting with any change", p.Interface)}, nil
	}
	if isCard(p.Type) && !l.Exists {
		return &kind.Problem{Reason: ReasonRefused, Message: fmt.Sprintf(
			"network card %q does not exist on node %q, or is not a port of %s yet: a card cannot be created", p.Interface, p.Node, "Open vSwitch")}, nil
	}
	verb := config.Update
	if !l.Exists {
		verb = config.Create
	}
	return l.stager.refusal(ctx, l.view, nodenet.Request{Before: l.now.config, After: after(l.now.config, l.view, verb, l.change)})
}

// staged returns the findings for an interface while changes of the node wait to be applied.
func (l *look) staged(ctx context.Context) (config.Findings, error) {
	_, ours := noteOf(l.Resource)
	running, err := l.stager.reloading(ctx, l.view)
	if err != nil {
		return config.Findings{}, err
	}
	switch {
	case !ours && !l.now.consented && l.keeps():
		return l.inForce(ctx) // The changes concern other interfaces.
	case l.now.foreign:
		return l.waiting(stagedByOthers(l.now)), nil
	case running:
		return l.waiting(l.reloading()), nil
	case manual(l.Resource.Parameters()):
		return l.waiting(kind.Problem{Reason: ReasonStaged, Message: "the change is staged, and somebody has to apply it, since apply is Manual"}), nil
	}
	waits, err := l.stager.waitsFor(ctx, l.view)
	if err != nil {
		return config.Findings{}, err
	}
	if waits != "" {
		return l.waiting(kind.Problem{Reason: ReasonStaged, Message: "the change is staged, and is applied together with that of " + waits}), nil
	}
	f := l.waiting(kind.Problem{Reason: ReasonStaged, Message: "the change is staged, and is applied next"})
	return l.apply(f, "staged"), nil
}

// keeps reports whether the interface is as it is in force, as far as that is known.
func (l *look) keeps() bool {
	name, last := l.Resource.Parameters().Interface, l.stager.keep(l.view, nil)
	return last != nil && last.Keep(l.now.config, name) || !l.now.foreign && l.now.before.Keep(l.now.config, name)
}

// waiting returns the findings for an interface that is not in force as configured.
func (l *look) waiting(p kind.Problem) config.Findings {
	l.applied(corev1.ConditionFalse, p)
	return config.Findings{Problems: []kind.Problem{p}}
}

// apply adds a reload of the network to findings.
func (l *look) apply(f config.Findings, current string) config.Findings {
	if !kind.MayChange(l.Resource) || manual(l.Resource.Parameters()) {
		return f
	}
	f.Difference = []v1alpha1.OptionDifference{{Option: "applied", Current: current, Desired: "in force"}}
	f.Apply = func(ctx context.Context) error { return l.stager.apply(ctx, l.view) }
	return f
}

func (l *look) reloading() kind.Problem {
	return kind.Problem{Reason: ReasonReloading, Message: "node " + l.Resource.Parameters().Node + " reloads its network"}
}

// again is the delay after which a failed reload is repeated.
const again = 5 * time.Minute

// inForce returns the findings for an interface whose staged changes, if any, are in force or are being put into force.
func (l *look) inForce(ctx context.Context) (config.Findings, error) {
	task, known, err := l.reload(ctx)
	switch {
	case err != nil:
		return config.Findings{}, err
	case !known:
		return l.apply(l.waiting(kind.Problem{
			Reason: ReasonReloading, Message: "it is not known how the reload of the network ended: it is done again",
		}), "unknown"), nil
	case task.Running:
		return l.waiting(l.reloading()), nil
	case task.UPID != "" && !task.OK():
		f := l.waiting(kind.Problem{
			Reason: ReasonReloadFailed, Message: "the network could not be reloaded, which is tried again after five minutes: " + task.ExitStatus,
		})
		if l.Now().Sub(task.Start) > again {
			f = l.apply(f, "failed")
		}
		return f, nil
	case l.Seen.Values["active"] != "1" && !l.Fresh && l.Resource.GetCondition(TypeApplied).Reason != ReasonInactive:
		return config.Findings{Unsure: true}, nil // It may have been read during a reload of the network.
	case l.Seen.Values["active"] != "1":
		f := l.waiting(kind.Problem{Reason: ReasonInactive, Message: "the interface is not active on node " + l.Resource.Parameters().Node +
			": see there why it is not up (ifquery --check -a)"})
		if !l.started() {
			f.Problems = nil
		}
		return f, l.forget(ctx)
	}
	l.applied(corev1.ConditionTrue, kind.Problem{Reason: ReasonApplied})
	return config.Findings{}, l.forget(ctx)
}

// started reports whether the interface is to be active.
func (l *look) started() bool {
	p := l.Resource.Parameters()
	return l.Seen.Values[optionAutostart] == "1" && !isCard(p.Type) || startedByBridge(p.Type) && p.Type != typeOVSPort
}

// reload returns the reload that puts the interface into force, and shows its result. The reload is not known if the provider was killed, or the
// answer was lost, when it was started.
func (l *look) reload(ctx context.Context) (t proxmox.Task, known bool, err error) {
	n, noted := noteOf(l.Resource)
	if !noted || !kind.MayChange(l.Resource) {
		return t, true, nil
	}
	upid := l.stager.reloadOf(l.view, n)
	if upid == "" {
		return t, manual(l.Resource.Parameters()), nil
	}
	if t, err = l.Client.Task(ctx, upid); proxmox.IsNoSuchTask(err) {
		return proxmox.Task{}, false, nil
	}
	l.Resource.Observation().Reload = &v1alpha1.NodeNetworkReload{UPID: string(upid), Result: t.ExitStatus}
	return t, true, err
}

// applied sets the condition Applied.
func (l *look) applied(status corev1.ConditionStatus, p kind.Problem) {
	condition(l.Resource, TypeApplied, status, p)
}

// condition sets a condition of a resource.
func condition(mg resource.Managed, of xpv2.ConditionType, status corev1.ConditionStatus, p kind.Problem) {
	c := xpv2.Condition{Type: of, Status: status, Reason: p.Reason, Message: p.Message, LastTransitionTime: metav1.Now()}
	mg.SetConditions(c.WithObservedGeneration(mg.GetGeneration()))
}

// forget removes the note of a change that is in force.
func (l *look) forget(ctx context.Context) error {
	if _, noted := noteOf(l.Resource); !noted || l.now.changes != "" {
		return nil
	}
	return dropNote(ctx, l.view)
}
