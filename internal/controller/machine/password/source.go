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

package password

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// A Source finds the password of one Machine during one reconcile.
type Source struct {
	Kube client.Reader

	// generated is the password of the connection Secret, if the spec asks for one.
	generated string
}

// Of returns the password of the user of cloud-init, or nil if none is declared.
func (s *Source) Of(ctx context.Context, m object.Machine, c *v1alpha1.MachineCloudInit) (*Password, error) {
	switch {
	case c == nil:
		return nil, nil
	case ptr.Deref(c.GeneratePassword, false):
		p, err := generate(ctx, s.Kube, m, s.generated)
		if err == nil {
			s.generated = p.Text
		}
		return p, err
	case c.PasswordSecretRef == nil:
		return nil, nil
	}
	return readSecret(ctx, s.Kube, m, *c.PasswordSecretRef)
}

// Publish adds a generated password to connection details.
func (s *Source) Publish(d managed.ConnectionDetails) managed.ConnectionDetails {
	if s.generated == "" {
		return d
	}
	if d == nil {
		d = managed.ConnectionDetails{}
	}
	d[xpv2.CredentialsSecretPasswordKey] = []byte(s.generated)
	return d
}
