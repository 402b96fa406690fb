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

package controlplane

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// An Option changes how an API server runs, which writes into a folder.
type Option func(api *envtest.APIServer, dir string) error

// auditLog is the file of audit events in the folder of the control plane.
const auditLog = "audit.log"

// auditPolicy records only requests of service accounts.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - level: Metadata
    userGroups: ["system:serviceaccounts"]
  - level: None
`

// request is an audit event.
type request struct {
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"` //nolint:tagliatelle // Kubernetes spells it like that.
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// Audited makes the API server record the requests of service accounts and their results, which Denials reads.
func Audited() Option {
	return func(api *envtest.APIServer, dir string) error {
		policy := filepath.Join(dir, "audit-policy.yaml")
		api.Configure().Set("audit-policy-file", policy).Set("audit-log-path", filepath.Join(dir, auditLog))
		return os.WriteFile(policy, []byte(auditPolicy), 0o600)
	}
}

// Denials returns the requests of a service account that the API server of a control plane has denied, as "VERB PATH", each once. The control plane
// runs in the folder dir with the option Audited.
func Denials(dir, namespace, account string) ([]string, error) {
	f, err := os.Open(filepath.Join(dir, auditLog))
	if err != nil {
		return nil, fmt.Errorf("cannot read what was asked of the API server: %w", err)
	}
	defer f.Close() //nolint:errcheck // Only read.
	user := "system:serviceaccount:" + namespace + ":" + account
	decoder := json.NewDecoder(bufio.NewReader(f))
	var denials []string
	for {
		var r request
		err := decoder.Decode(&r)
		// The last line may be half written.
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			slices.Sort(denials)
			return slices.Compact(denials), nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot understand what was asked of the API server: %w", err)
		}
		if r.User.Username == user && r.ResponseStatus.Code == http.StatusForbidden {
			denials = append(denials, r.Verb+" "+r.RequestURI)
		}
	}
}
