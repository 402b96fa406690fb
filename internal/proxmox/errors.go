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

package proxmox

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox/tasklimit"
	"github.com/vitistack/provider-proxmox/internal/proxmox/transport"
)

// A Class of errors that are handled in the same way.
type Class string

const (
	// ClassUnknown is an error that fits no other class. It is worth retrying.
	ClassUnknown Class = "Unknown"

	// ClassAuthentication means that PVE does not accept the credentials.
	ClassAuthentication Class = "Authentication"

	// ClassAuthorization means that the user or token lacks a privilege.
	ClassAuthorization Class = "Authorization"

	// ClassValidation means that the request itself is at fault: a parameter, or
	// a storage, node, pool or volume that does not exist. Retrying the same
	// request does not help.
	ClassValidation Class = "Validation"

	// ClassConflict means that the state in PVE is not the expected one: a taken
	// VMID, a lock, a changed digest, a VM that is running, protected or gone.
	// Look again, then retry.
	ClassConflict Class = "Conflict"

	// ClassUnavailable means that PVE, a node of it or its quorum cannot be
	// reached now. Retry.
	ClassUnavailable Class = "Unavailable"

	// ClassTaskFailed means that a task ended with an error.
	ClassTaskFailed Class = "TaskFailed"
)

// ClassOf returns the class of an error of this package, anywhere in its chain. It is
// empty for nil and ClassUnknown for errors of others.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	var task *TaskError
	if errors.As(err, &task) {
		return ClassTaskFailed
	}
	var e *Error
	if errors.As(err, &e) {
		return e.class()
	}
	return ClassUnknown
}

// An Error says why a call failed. Its text is stable: it has no secret, no
// time, no task and no port of ours, so it may stand in a condition.
type Error struct {
	// Op is what was tried, such as: start VM 100.
	Op string

	// Method is the HTTP method of the call.
	Method string

	// Path is the path's template, such as /nodes/{node}/qemu/{vmid}/config.
	Path string

	// Status is the HTTP status that PVE answered, or 0 without an answer.
	Status int

	// Message is what PVE said, or why there was no answer.
	Message string

	// Problem is why there was no answer, if that is known more exactly.
	Problem Problem

	// Fields has PVE's complaints about single parameters.
	Fields map[string]string

	// local means that the call was refused here, before anything was sent.
	local bool

	// waiting is when the call may be tried again. It was not made.
	waiting *tasklimit.Turn

	// sent means that PVE may have got the request.
	sent bool

	cause error
}

// Error returns the whole text.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cannot %s: %s", e.Op, e.message())
	for i, k := range slices.Sorted(maps.Keys(e.Fields)) {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s: %s", sep, k, e.Fields[k])
	}
	return b.String()
}

func (e *Error) message() string {
	if e.Message != "" {
		return strings.TrimSuffix(e.Message, ".")
	}
	return strings.TrimSpace(fmt.Sprintf("HTTP status %d %s", e.Status, http.StatusText(e.Status)))
}

// ProblemOf returns the problem with the connection that an error is about, if it is
// about one.
func ProblemOf(err error) Problem {
	var e *Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Problem
}

// Unwrap returns the context's error if that ended the call.
func (e *Error) Unwrap() error { return e.cause }

// A TaskError says how a task failed.
type TaskError struct {
	// Task that failed.
	Task Task

	// Log has the last lines of the task's log, if they were asked for.
	Log []string
}

// Error returns the task's type, what it worked on and its exit status.
func (e *TaskError) Error() string {
	on := ""
	if e.Task.ID != "" {
		on = " of " + e.Task.ID
	}
	return fmt.Sprintf("task %s%s failed: %s", e.Task.Type, on, scrub(e.Task.ExitStatus, nil))
}

// IsAuthentication reports whether PVE did not accept the credentials.
func IsAuthentication(err error) bool { return ClassOf(err) == ClassAuthentication }

// IsAuthorization reports whether a privilege is missing. See MissingPrivilege.
func IsAuthorization(err error) bool { return ClassOf(err) == ClassAuthorization }

// IsInvalid reports whether the request itself was at fault. See ClassValidation.
func IsInvalid(err error) bool { return ClassOf(err) == ClassValidation }

// IsUnavailable reports whether PVE, a node of it or its quorum cannot be reached.
func IsUnavailable(err error) bool { return ClassOf(err) == ClassUnavailable }

// IsOutcomeUnknown reports whether a writing call may have run although it failed
// here: its answer did not arrive, or a node in between lost it (HTTP status 595
// to 599). Never repeat such a call without looking first.
func IsOutcomeUnknown(err error) bool {
	var e *Error
	if !errors.As(err, &e) || !e.sent || e.Method == http.MethodGet {
		return false
	}
	return lostAnswer(e.Status)
}

// lostAnswer reports whether the status leaves open what became of the request.
// PVE's proxy answers 595 to 599 for failures between two nodes, a reverse proxy
// 502 and 504. A success is an error only if its body was no answer.
func lostAnswer(status int) bool {
	switch status {
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return status < 300 || status >= 595
}

// class decides from the status, and from the message where PVE's status, which
// is 500 for most things, says nothing.
func (e *Error) class() Class {
	switch {
	case e.local:
		return ClassValidation
	case e.waiting != nil:
		return ClassConflict
	case e.Status == http.StatusUnauthorized:
		return ClassAuthentication
	case unknownReference(e):
		return ClassValidation
	case e.Status == http.StatusForbidden || e.says(reForbidden):
		return ClassAuthorization
	case e.Status == 0 || unavailableStatus(e.Status) || unavailable(e):
		return ClassUnavailable
	case conflict(e):
		return ClassConflict
	case e.Status == http.StatusBadRequest || e.Status == http.StatusNotImplemented || invalid(e):
		return ClassValidation
	}
	return ClassUnknown
}

func unavailableStatus(s int) bool {
	switch s {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	}
	return lostAnswer(s) && s >= http.StatusInternalServerError
}

// Problems with a connection.
const (
	ProblemHostNotFound      = transport.ProblemHostNotFound
	ProblemRefused           = transport.ProblemRefused
	ProblemUnreachable       = transport.ProblemUnreachable
	ProblemTimeout           = transport.ProblemTimeout
	ProblemClosed            = transport.ProblemClosed
	ProblemUnknownAuthority  = transport.ProblemUnknownAuthority
	ProblemNameMismatch      = transport.ProblemNameMismatch
	ProblemExpired           = transport.ProblemExpired
	ProblemNotYetValid       = transport.ProblemNotYetValid
	ProblemBadCertificate    = transport.ProblemBadCertificate
	ProblemNotTLS            = transport.ProblemNotTLS
	ProblemTLSVersion        = transport.ProblemTLSVersion
	ProblemClientCertificate = transport.ProblemClientCertificate
	ProblemTLSRefused        = transport.ProblemTLSRefused
	ProblemSecondFactor      = transport.ProblemSecondFactor
	ProblemRedirect          = transport.ProblemRedirect
	ProblemNotPVE            = transport.ProblemNotPVE
)
