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

// Package providerconfig keeps provider configurations for as long as resources
// use them.
package providerconfig

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/providerconfig"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kinds are a kind of provider configurations and that of its usages.
type Kinds struct {
	resource.ProviderConfigKinds

	// Object and UsageObject of the kinds, both empty.
	Object, UsageObject client.Object
}

// Setup adds a controller of the kind of provider configurations to the manager.
func Setup(mgr ctrl.Manager, o controller.Options, k Kinds) error {
	gvk := k.Config
	name := providerconfig.ControllerName(gvk.GroupKind().String())
	events := mgr.GetEventRecorderFor(name)
	r := providerconfig.NewReconciler(mgr, k.ProviderConfigKinds,
		providerconfig.WithLogger(o.Logger.WithValues("controller", name)),
		providerconfig.WithRecorder(event.NewAPIRecorder(events, o.EventFilterFunctions...)))
	err := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(o.ForControllerRuntime()).
		For(k.Object).
		Watches(k.UsageObject, &resource.EnqueueRequestForProviderConfig{Kind: gvk.Kind}).
		Complete(ratelimiter.NewReconciler(name, errors.WithSilentRequeueOnConflict(r), o.GlobalRateLimiter))
	return errors.Wrapf(err, "cannot add controller %q", name)
}
