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

package images

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/imageref"
)

// A Notifier informs controllers of Machines of changed Images.
type Notifier = kind.Notifier[imageref.Image]

// NewNotifier returns a Notifier without subscribers.
func NewNotifier() *Notifier { return kind.NewNotifier(imageref.Changed) }

// WaitingFor returns the Machines of a kind that wait for an Image.
func WaitingFor(ctx context.Context, kube client.Reader, list resource.ManagedList, image client.ObjectKey) ([]object.Machine, error) {
	all, err := kind.ListCached(ctx, kube, list, client.InNamespace(image.Namespace))
	if err != nil {
		return nil, err
	}
	var waiting []object.Machine
	for _, mg := range all {
		m, ok := mg.(object.Machine)
		if !ok || m.Observation().UUID != "" || meta.WasDeleted(m) {
			continue
		}
		if imageref.IsNamed(m, image.Name) {
			copied, _ := m.DeepCopyObject().(object.Machine)
			waiting = append(waiting, copied)
		}
	}
	return waiting, nil
}
