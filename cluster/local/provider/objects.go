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

package provider

import (
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Names of the objects that Objects returns.
const (
	// SystemNamespace has the Secret that cluster-scoped configurations read.
	SystemNamespace = "crossplane-system"
	// DefaultNamespace has the namespaced configuration and its Secret.
	DefaultNamespace = "default"

	secretName = "proxmox-credentials" //nolint:gosec // The name of a Secret is none.
	secretKey  = "credentials"
	configName = "default"

	clusterAPI    = "proxmox.vitistack.io/v1alpha1"
	namespacedAPI = "proxmox.m.vitistack.io/v1alpha1"
)

// Objects returns the objects that configure the connection, in the order in which to apply them: the system namespace, the Secrets with the
// credentials, and a configuration named default of each kind. The namespaced one is in the namespace default. It has a separate Secret there, since it
// reads none elsewhere.
func (c Connection) Objects() ([]*unstructured.Unstructured, error) {
	credentials, err := json.Marshal(c.Credentials) //nolint:gosec // It goes into a Secret.
	if err != nil {
		return nil, fmt.Errorf("cannot encode the credentials: %w", err)
	}
	system := map[string]any{"namespace": SystemNamespace, "name": secretName, "key": secretKey}
	own := map[string]any{"name": secretName, "key": secretKey}
	return []*unstructured.Unstructured{
		object("v1", "Namespace", "", SystemNamespace, nil),
		secret(SystemNamespace, string(credentials)),
		secret(DefaultNamespace, string(credentials)),
		object(clusterAPI, "ProviderConfig", "", configName, c.spec(system)),
		object(namespacedAPI, "ClusterProviderConfig", "", configName, c.spec(system)),
		object(namespacedAPI, "ProviderConfig", DefaultNamespace, configName, c.spec(own)),
	}, nil
}

func secret(namespace, credentials string) *unstructured.Unstructured {
	return object("v1", "Secret", namespace, secretName, map[string]any{
		"type":       "Opaque",
		"stringData": map[string]any{secretKey: credentials},
	})
}

func (c Connection) spec(secretRef map[string]any) map[string]any {
	endpoints := make([]any, 0, len(c.Endpoints))
	for _, e := range c.Endpoints {
		endpoints = append(endpoints, e)
	}
	tls := map[string]any{"insecureSkipTLSVerify": c.InsecureSkipTLSVerify}
	if c.CA != "" {
		tls["caCertificate"] = c.CA
	}
	spec := map[string]any{
		"endpoints":   endpoints,
		"tls":         tls,
		"credentials": map[string]any{"source": "Secret", "secretRef": secretRef},
	}
	if len(c.Nodes) > 0 {
		nodes := make([]any, 0, len(c.Nodes))
		for _, n := range c.Nodes {
			nodes = append(nodes, n)
		}
		spec["preferredNodes"] = nodes
	}
	return map[string]any{"spec": spec}
}

// object returns an object with the given fields in addition to its metadata.
func object(api, kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": api, "kind": kind}}
	u.SetNamespace(namespace)
	u.SetName(name)
	maps.Copy(u.Object, fields)
	return u
}
