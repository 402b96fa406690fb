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

package tenancy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// Records tells what the provider itself has recorded in the status of resources, which Crossplane's own
// roles let users write, from what was made up: by a signature with a key that users do not know. It holds
// for one resource, as the API server numbers them, one provider configuration and one VM, so that
// it is of no use anywhere else.
type Records struct {
	// Key of the signatures. Without one nothing is signed, and no record holds.
	Key []byte

	// Config is the provider configuration by which a VM was seen.
	Config string
}

// Of returns the VMID and the UUID of the VM that a resource is about, if the provider has recorded
// them with this provider configuration.
func (r Records) Of(mg resource.Managed) (vmid int, uuid string) {
	kept := signatureOf(mg)
	if kept == nil || *kept == "" || !hmac.Equal([]byte(*kept), []byte(r.signature(mg))) {
		return 0, ""
	}
	return Recorded(mg)
}

// Sign what the status of a resource says of its VM, which has to be proven to be the resource's and
// to be its tenant's.
func (r Records) Sign(mg resource.Managed) {
	if kept := signatureOf(mg); kept != nil {
		*kept = r.signature(mg)
	}
}

func (r Records) signature(mg resource.Managed) string {
	vmid, uuid := Recorded(mg)
	if len(r.Key) == 0 || vmid == 0 {
		return ""
	}
	h := hmac.New(sha256.New, r.Key)
	_, _ = fmt.Fprintf(h, "%s\n%s\n%d\n%s", mg.GetUID(), r.Config, vmid, strings.ToLower(uuid)) // A hash takes everything.
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// signatureOf is where the status of a resource has its signature; nil if it has none.
func signatureOf(mg resource.Managed) *string {
	switch m := mg.(type) {
	case interface {
		Observation() *v1alpha1.MachineObservation
	}:
		return &m.Observation().RecordSignature
	case interface {
		Observation() *v1alpha1.SnapshotObservation
	}:
		return &m.Observation().RecordSignature
	}
	return nil
}
