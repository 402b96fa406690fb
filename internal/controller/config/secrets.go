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

package config

import (
	"context"
	"maps"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// A Secret is an option that Proxmox VE accepts but never shows, so that a difference cannot be seen. It is written when the object is created, and
// again whenever the Kubernetes Secret has changed.
type Secret[P any] struct {
	// Option by its PVE name.
	Option string

	// Ref returns the reference to the value, or nil.
	Ref func(*P) *v1alpha1.SecretKeyReference
}

// annotationSecret is the prefix of the annotations that name the version of a Kubernetes Secret that was written last, one for each option.
const annotationSecret = "secret.proxmox.vitistack.io/" //nolint:gosec // It is no secret.

// hidden is shown in place of a secret.
const hidden = "********"

// A secretValue is the present value of a secret in Kubernetes.
type secretValue struct {
	option, value, version string
}

func (s secretValue) difference() v1alpha1.OptionDifference {
	return v1alpha1.OptionDifference{Option: s.option, Current: hidden, Desired: hidden}
}

// ReadSecret reads a key of a Secret that a resource refers to, and returns the version of the Secret too. A namespaced resource reads only Secrets
// of its namespace.
func ReadSecret(ctx context.Context, kube client.Reader, mg resource.Managed, ref v1alpha1.SecretKeyReference) (value, version string, err error) {
	key := client.ObjectKey{Namespace: mg.GetNamespace(), Name: ref.Name}
	if key.Namespace == "" {
		if ref.Namespace == nil {
			return "", "", errors.New("the namespace of the Secret is missing")
		}
		key.Namespace = *ref.Namespace
	}
	s := &corev1.Secret{}
	if err := kube.Get(ctx, key, s); err != nil {
		return "", "", errors.Wrapf(err, "cannot read secret %q", key)
	}
	value = strings.TrimSpace(string(s.Data[ref.Key]))
	if value == "" {
		return "", "", errors.Errorf("key %q of secret %q is missing or empty", ref.Key, key)
	}
	return value, string(s.UID) + "/" + s.ResourceVersion, nil
}

// allSecrets reads the secrets that the spec refers to.
func (e *external[P, O]) allSecrets(ctx context.Context, mg Resource[P, O]) ([]secretValue, error) {
	var all []secretValue
	for _, s := range e.table.Secrets {
		ref := s.Ref(mg.Parameters())
		if ref == nil {
			continue
		}
		value, version, err := ReadSecret(ctx, e.kube, mg, *ref)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot use the option %q", s.Option)
		}
		all = append(all, secretValue{option: s.Option, value: value, version: version})
	}
	return all, nil
}

// newSecrets returns the secrets that are not known to have been written.
func (e *external[P, O]) newSecrets(ctx context.Context, mg Resource[P, O]) ([]secretValue, error) {
	all, err := e.allSecrets(ctx, mg)
	var changed []secretValue
	for _, s := range all {
		if e.seen == nil || mg.GetAnnotations()[annotationSecret+s.option] != s.version {
			changed = append(changed, s)
		}
	}
	return changed, err
}

// secretVersions returns the annotations for the secrets of an adopted object. Adoption writes nothing, and therefore assumes that they match the
// spec. For a created object they are unknown, so its secrets are written once more.
func (e *external[P, O]) secretVersions(ctx context.Context, mg Resource[P, O], adopted bool) (map[string]string, error) {
	if !adopted {
		return nil, nil
	}
	all, err := e.allSecrets(ctx, mg)
	return versions(all), err
}

// versions returns the annotations for secrets that were written.
func versions(written []secretValue) map[string]string {
	all := map[string]string{}
	for _, s := range written {
		all[annotationSecret+s.option] = s.version
	}
	return all
}

// withSecrets adds secrets to options.
func withSecrets(options proxmox.Params, secrets []secretValue) proxmox.Params {
	all := maps.Clone(options)
	if all == nil {
		all = proxmox.Params{}
	}
	for _, s := range secrets {
		all[s.option] = s.value
	}
	return all
}
