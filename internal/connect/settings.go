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

package connect

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// Defaults of a provider configuration, as documented in its schema.
const (
	defaultTimeoutSeconds    = 30
	defaultRequestsPerSecond = 50
	defaultClonesPerSource   = 12
)

// settings returns the settings of the client that the configuration describes.
func (c *Connector) settings(ctx context.Context, r reference, spec *v1alpha1.ProviderConfigSpec) (proxmox.Config, error) {
	in := newReader(c.objects, r)
	defer func() { c.watches.watch(r, *in.reads) }()
	credentials, err := in.credentials(ctx, spec.Credentials)
	if err != nil {
		return proxmox.Config{}, err
	}
	tls, err := in.tls(ctx, spec.TLS)
	if err != nil {
		return proxmox.Config{}, err
	}
	if len(tls.CA) == 0 {
		if tls.CA, err = in.authoritiesBeside(ctx, spec.Credentials); err != nil {
			return proxmox.Config{}, err
		}
	}
	return proxmox.Config{
		Endpoints:   spec.Endpoints,
		Credentials: credentials,
		TLS:         tls,
		Timeout:     time.Duration(ptr.Deref(spec.RequestTimeoutSeconds, defaultTimeoutSeconds)) * time.Second,
		Limits:      limits(spec.Limits),
		UserAgent:   c.userAgent,
		Observe:     c.observe,
		Clock:       c.objects.now,
	}, nil
}

func limits(l *v1alpha1.ProviderLimits) proxmox.Limits {
	if l == nil {
		l = &v1alpha1.ProviderLimits{}
	}
	return proxmox.Limits{
		PerSecond:       float64(ptr.Deref(l.RequestsPerSecond, defaultRequestsPerSecond)),
		Tasks:           int(ptr.Deref(l.ConcurrentTasks, 0)),
		TasksPerNode:    int(ptr.Deref(l.ConcurrentTasksPerNode, 0)),
		ClonesPerSource: int(ptr.Deref(l.ConcurrentClonesPerSource, defaultClonesPerSource)),
	}
}

// A reader reads the objects that one configuration refers to.
type reader struct {
	objects *objects
	of      reference
	reads   *[]object // the objects that were read so far
}

func newReader(o *objects, of reference) reader {
	return reader{objects: o, of: of, reads: new([]object)}
}

// object returns the object of a reference in the given field. A namespaced configuration reads only its own namespace, whatever namespace the
// reference has.
func (in reader) object(kind, field, name string, namespace *string) (object, error) {
	ns := in.of.namespace
	if ns == "" {
		ns = ptr.Deref(namespace, "")
	}
	if ns == "" {
		return object{}, errors.Errorf("%s.namespace is not set", field)
	}
	o := object{kind: kind, key: client.ObjectKey{Namespace: ns, Name: name}}
	*in.reads = append(*in.reads, o)
	return o, nil
}

// key reads one key of an object.
func (in reader) key(ctx context.Context, kind, field string, ref v1alpha1.SecretKeyReference) ([]byte, error) {
	o, err := in.object(kind, field, ref.Name, ref.Namespace)
	if err != nil {
		return nil, err
	}
	return in.objects.value(ctx, o, ref.Key)
}

func (in reader) tls(ctx context.Context, spec *v1alpha1.ProviderTLS) (proxmox.TLS, error) {
	if spec == nil {
		return proxmox.TLS{}, nil
	}
	t := proxmox.TLS{
		ServerName:         ptr.Deref(spec.ServerName, ""),
		InsecureSkipVerify: ptr.Deref(spec.InsecureSkipTLSVerify, false),
	}
	var err error
	if t.CA, err = in.authorities(ctx, spec); err != nil {
		return proxmox.TLS{}, err
	}
	if spec.ClientCertificateSecretRef == nil {
		return t, nil
	}
	t.Certificate, t.Key, err = in.pair(ctx, *spec.ClientCertificateSecretRef)
	return t, err
}

// authorities returns the certificates to trust, if the configuration has any.
func (in reader) authorities(ctx context.Context, spec *v1alpha1.ProviderTLS) ([]byte, error) {
	switch {
	case spec.CACertificate != nil:
		return []byte(*spec.CACertificate), nil
	case spec.CACertificateSecretRef != nil:
		return in.key(ctx, secret, "spec.tls.caCertificateSecretRef", *spec.CACertificateSecretRef)
	case spec.CACertificateConfigMapRef != nil:
		return in.key(ctx, configMap, "spec.tls.caCertificateConfigMapRef", *spec.CACertificateConfigMapRef)
	default:
		return nil, nil
	}
}

// authoritiesBeside returns the certificates in the Secret of the credentials, if there
// are any.
func (in reader) authoritiesBeside(ctx context.Context, spec v1alpha1.ProviderCredentials) ([]byte, error) {
	if spec.SecretRef == nil {
		return nil, nil
	}
	o, err := in.object(secret, "spec.credentials.secretRef", spec.SecretRef.Name, spec.SecretRef.Namespace)
	if err != nil {
		return nil, err
	}
	data, err := in.objects.data(ctx, o)
	return data[corev1.ServiceAccountRootCAKey], err
}

// pair returns a client certificate and its key.
func (in reader) pair(ctx context.Context, ref v1alpha1.SecretReference) (certificate, key []byte, err error) {
	o, err := in.object(secret, "spec.tls.clientCertificateSecretRef", ref.Name, ref.Namespace)
	if err != nil {
		return nil, nil, err
	}
	if certificate, err = in.objects.value(ctx, o, corev1.TLSCertKey); err != nil {
		return nil, nil, err
	}
	key, err = in.objects.value(ctx, o, corev1.TLSPrivateKeyKey)
	return certificate, key, err
}
