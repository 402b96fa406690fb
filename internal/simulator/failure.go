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

package simulator

import (
	"fmt"
	"net/http"
	"strings"
)

// failure is an error as the API reports it.
type failure struct {
	status  int
	message string
	// params are the messages of parameters that are wrong.
	params map[string]string
	// bare failures come from the node that proxies the request, without a body.
	bare bool
}

// Error returns PVE's message.
func (f *failure) Error() string {
	if len(f.params) == 0 {
		return f.message
	}
	lines := make([]string, 0, len(f.params))
	for name, msg := range f.params {
		lines = append(lines, name+": "+strings.TrimSuffix(msg, "\n"))
	}
	return f.message + "\n" + strings.Join(lines, "\n")
}

// die is the error of a call that fails with a plain message: status 500.
func die(format string, args ...any) error {
	return &failure{status: http.StatusInternalServerError, message: fmt.Sprintf(format, args...)}
}

// errModified is the error of a change to something that has changed since its digest was read.
func errModified() error {
	return die("detected modified configuration - file changed by other user? Try again.")
}

// paramError is the error of a call with one wrong parameter: status 400.
func paramError(name, format string, args ...any) error {
	return paramErrors(map[string]string{name: fmt.Sprintf(format, args...)})
}

func paramErrors(params map[string]string) error {
	return &failure{status: http.StatusBadRequest, message: "Parameter verification failed.", params: params}
}

// forbidden is the error of a call without permission: status 403. The detail names path and privilege, if there is one.
func forbidden(detail string) error {
	msg := "Permission check failed"
	if detail != "" {
		msg += " (" + detail + ")"
	}
	return &failure{status: http.StatusForbidden, message: msg}
}

// notSimulated is the answer to methods of the API that have no behaviour here.
func notSimulated(verb, path string) error {
	return &failure{status: http.StatusNotImplemented, message: fmt.Sprintf("Method '%s %s' is not simulated", verb, path)}
}
