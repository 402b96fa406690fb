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

package kind

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// TypeUpToDate is the condition that is True while the object in Proxmox VE matches the spec of its resource. A resource that may only observe has it
// too, as a dry run.
const TypeUpToDate = xpv2.TypeUpToDate

// Reasons of the condition UpToDate, as Crossplane defines them.
const (
	ReasonUpToDate  = xpv2.ReasonObserveMatched
	ReasonDifferent = xpv2.ReasonUpdateRequested
)

// UpToDate returns the condition UpToDate. It is False with the reason of the first problem while there are problems, False with the current and
// desired values while options differ, and True otherwise.
func UpToDate(difference []v1alpha1.OptionDifference, problems ...Problem) xpv2.Condition {
	c := xpv2.Condition{
		Type: TypeUpToDate, Status: corev1.ConditionTrue, Reason: ReasonUpToDate, LastTransitionTime: metav1.Now(),
	}
	var messages []string
	if len(difference) > 0 {
		c.Status, c.Reason = corev1.ConditionFalse, ReasonDifferent
		for _, d := range difference {
			messages = append(messages, Changes(d.Option, d.Current, d.Desired)...)
		}
	}
	if len(problems) > 0 {
		c.Status, c.Reason = corev1.ConditionFalse, problems[0].Reason
	}
	for _, p := range problems {
		messages = append(messages, p.Message)
	}
	c.Message = strings.Join(messages, "; ")
	return c
}

// UpToDateIf returns the condition UpToDate of a resource, given its condition Ready, the differences, and the reason why they cannot be changed.
func UpToDateIf(ready xpv2.Condition, difference []v1alpha1.OptionDifference, err error) xpv2.Condition {
	var problems []Problem
	if ready.Status != corev1.ConditionTrue {
		problems = append(problems, Problem{Reason: ready.Reason, Message: ready.Message})
	}
	if err != nil {
		problems = append(problems, Problem{Reason: xpv2.ReasonUpdateFailed, Message: err.Error()})
	}
	return UpToDate(difference, problems...)
}

// An upToDateConnector sets the condition UpToDate to unknown while there is no connection for a resource, because the last observation may be
// outdated.
type upToDateConnector[T resource.Managed] struct {
	next managed.TypedExternalConnector[T]
}

// Connect connects with the next connector.
func (c upToDateConnector[T]) Connect(ctx context.Context, mg T) (managed.TypedExternalClient[T], error) {
	external, err := c.next.Connect(ctx, mg)
	if err != nil && mg.GetCondition(TypeUpToDate).Status == corev1.ConditionTrue {
		unknown := UpToDate(nil, Problem{Reason: xpv2.ReasonUnavailable, Message: err.Error()})
		unknown.Status = corev1.ConditionUnknown
		mg.SetConditions(unknown.WithObservedGeneration(mg.GetGeneration()))
	}
	return external, err
}

// longestValue is how many characters of a value are shown.
const longestValue = 60

// none stands for a missing value.
const none = "(none)"

// Changes describes how an option changes, with one line per change: "memory 4096 → 8192". For an option with properties, it names only those that
// change: "net0 bridge vmbr9 → vmbr0".
func Changes(option, current, desired string) []string {
	if !hasProperties(current) || !hasProperties(desired) {
		return []string{option + " " + shown(current) + " → " + shown(desired)}
	}
	from, to := properties(current), properties(desired)
	var all []string
	for _, name := range slices.Sorted(maps.Keys(union(from, to))) {
		if from[name] != to[name] {
			all = append(all, strings.TrimSpace(option+" "+name)+" "+shown(from[name])+" → "+shown(to[name]))
		}
	}
	return all
}

// hasProperties reports whether a value is a list of properties, such as "virtio=…,bridge=vmbr0".
func hasProperties(value string) bool {
	return strings.Contains(value, "=") && !strings.ContainsAny(value, " \t\n")
}

// properties returns the properties of a value by their names. A property without a name has the empty name.
func properties(value string) map[string]string {
	all := map[string]string{}
	for p := range strings.SplitSeq(value, ",") {
		if name, v, named := strings.Cut(p, "="); named {
			all[name] = v
		} else {
			all[""] = p
		}
	}
	return all
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// shown returns a value shortened for display in a line.
func shown(value string) string {
	line := []rune(strings.Join(strings.Fields(value), " "))
	switch {
	case len(line) == 0:
		return none
	case len(line) > longestValue:
		return string(line[:longestValue]) + "…"
	}
	return string(line)
}
