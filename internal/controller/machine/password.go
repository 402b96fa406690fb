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

package machine

import (
	"context"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
)

// A password is to be sent to PVE, which shows it to nobody. That it was sent is
// kept as the version of its Secret, from which nothing can be guessed.
type password struct{ text, version string }

// addPassword adds the password of the user to what is desired unless it was sent
// already, or says why it cannot be read.
func (e *external) addPassword(ctx context.Context, m Machine, d *desired) ([]string, error) {
	c := d.CloudInit
	if c == nil || c.PasswordSecretRef == nil || d.settled || meta.WasDeleted(m) || e.vm.beingCreated() {
		return nil, nil
	}
	from := secretEntry(m, *c.PasswordSecretRef)
	text, err := e.read(ctx, from)
	if r := (refusal{}); errors.As(err, &r) {
		return []string{r.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	version := fmt.Sprintf("%s/%s", from.object.GetUID(), from.object.GetResourceVersion())
	if text != "" && m.GetAnnotations()[AnnotationPassword] != version {
		d.password = &password{text: text, version: version}
	}
	return nil, nil
}

// withPassword adds the password to a change. One that takes a task goes first:
// how it ends is seen by nobody who could tell whether the password was set.
func (d desired) withPassword(change difference) difference {
	if d.password != nil && !change.Allocates {
		change.Set["cipassword"] = d.password.text
	}
	return change
}

// keepPassword notes that the password was sent.
func (e *external) keepPassword(ctx context.Context, m Machine) error {
	if e.plan.password == nil || e.plan.change.Set["cipassword"] == "" {
		return nil
	}
	return kind.Annotate(ctx, e.kube, m, map[string]string{AnnotationPassword: e.plan.password.version})
}

// checkPassword looks for the password before anything is created.
func (e *external) checkPassword(ctx context.Context, m Machine, c *creation) error {
	if c.CloudInit == nil || c.CloudInit.PasswordSecretRef == nil {
		return nil
	}
	_, err := e.read(ctx, secretEntry(m, *c.CloudInit.PasswordSecretRef))
	return err
}
