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

// Package apierr defines the errors of the API as Proxmox VE reports them: status, message and the messages of wrong parameters.
package apierr

import (
	"fmt"
	"net/http"
	"strings"
)

// Error is an error as the API reports it.
type Error struct {
	Status  int
	Message string
	// Params are the messages of parameters that are wrong.
	Params map[string]string
	// Bare failures come from the node that proxies the request, and have no body.
	Bare bool
}

// Error returns PVE's message.
func (f *Error) Error() string {
	if len(f.Params) == 0 {
		return f.Message
	}
	lines := make([]string, 0, len(f.Params))
	for name, msg := range f.Params {
		lines = append(lines, name+": "+strings.TrimSuffix(msg, "\n"))
	}
	return f.Message + "\n" + strings.Join(lines, "\n")
}

// Errorf returns the error of a call that fails with a plain message: status 500.
func Errorf(format string, args ...any) error {
	return &Error{Status: http.StatusInternalServerError, Message: fmt.Sprintf(format, args...)}
}

// Modified returns the error of a change to an object that has changed since its digest was read.
func Modified() error {
	return Errorf("detected modified configuration - file changed by other user? Try again.")
}

// Param returns the error of a call with one wrong parameter: status 400.
func Param(name, format string, args ...any) error {
	return Params(map[string]string{name: fmt.Sprintf(format, args...)})
}

// Params returns the error of a call with wrong parameters: status 400.
func Params(params map[string]string) error {
	return &Error{Status: http.StatusBadRequest, Message: "Parameter verification failed.", Params: params}
}

// Forbidden returns the error of a call without permission: status 403. The detail names path and privilege, if there is one.
func Forbidden(detail string) error {
	msg := "Permission check failed"
	if detail != "" {
		msg += " (" + detail + ")"
	}
	return &Error{Status: http.StatusForbidden, Message: msg}
}

// NotSimulated returns the answer for methods of the API that are not simulated.
func NotSimulated(verb, path string) error {
	return &Error{Status: http.StatusNotImplemented, Message: fmt.Sprintf("Method '%s %s' is not simulated", verb, path)}
}

// StatusNoRoute is the answer of a node that proxies a request if the other node cannot be reached.
const StatusNoRoute = 595

// StatusProxyTLS is the answer of a node that proxies a request to a name that resolves but is not a member's, because it has no certificate for it. The
// body is empty.
const StatusProxyTLS = 596
