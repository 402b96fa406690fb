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

package conditions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// A ValidationError is a spec that cannot be carried out, found before anything is created. Its aspect determines which condition shows it.
type ValidationError struct {
	Aspect  Aspect
	Message string
}

// Error returns why the spec cannot be carried out.
func (e ValidationError) Error() string { return e.Message }

// An Aspect is the part of a creation that a condition shows.
type Aspect int

// The aspects of a creation.
const (
	Creating Aspect = iota
	Allocating
	Networking
	Overcommitting
)

// Reject returns why a spec cannot be carried out.
func Reject(a Aspect, format string, args ...any) error {
	return ValidationError{Aspect: a, Message: fmt.Sprintf(format, args...)}
}

// Rejections returns what an error rejects of a spec, or the error if it rejects nothing.
func Rejections(err error) ([]string, error) {
	if r := (ValidationError{}); errors.As(err, &r) {
		return []string{r.Error()}, nil
	}
	return nil, err
}

// SetRejection shows why there is no VM and none can be created, and resets earlier conditions.
func SetRejection(m object.Machine, err error) {
	why := ofRejection(err)
	for _, t := range []xpv2.ConditionType{TypeVMCreated, TypeResourcesAllocated, TypeNetworkConfigured} {
		if t != why.Type && m.GetCondition(t).Status != corev1.ConditionUnknown {
			Set(m, New(t, corev1.ConditionUnknown, ReasonCreating, ""))
		}
	}
	Set(m, xpv2.Unavailable().WithMessage(err.Error()), why)
}

// ofRejection returns the condition that shows why a VM cannot be created.
func ofRejection(err error) xpv2.Condition {
	var r ValidationError
	if !errors.As(err, &r) {
		return New(TypeVMCreated, corev1.ConditionFalse, ReasonCreationFailed, err.Error())
	}
	switch r.Aspect {
	case Allocating:
		return New(TypeResourcesAllocated, corev1.ConditionFalse, ReasonAllocationFailed, err.Error())
	case Overcommitting:
		return New(TypeResourcesAllocated, corev1.ConditionFalse, ReasonInsufficientResources, err.Error())
	case Networking:
		return New(TypeNetworkConfigured, corev1.ConditionFalse, ReasonNetworkError, err.Error())
	case Creating:
	}
	return New(TypeVMCreated, corev1.ConditionFalse, ReasonCreationFailed, err.Error())
}

// maxNames is how many names a message lists at most.
const maxNames = 10

// Instead returns the end of a message that lists the alternatives to what is missing.
func Instead(what string, names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(names) == 0:
		return fmt.Sprintf("; there are no %s", what)
	case len(names) > maxNames:
		return fmt.Sprintf("; the %s are %s and %d more", what, strings.Join(names[:maxNames], ", "), len(names)-maxNames)
	}
	return fmt.Sprintf("; the %s are %s", what, strings.Join(names, ", "))
}
