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

package main

import (
	"context"
	"os"
	"reflect"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
)

// A choice has the provider configurations that the flags of a command may refer to.
type choice struct {
	meant []connect.Key

	// hint describes how to name others.
	hint string
}

// clusterScoped returns the ProviderConfig of cluster-scoped resources.
func clusterScoped(name string) connect.Key {
	return connect.Key{ObjectKey: client.ObjectKey{Name: name}, Kind: cluster.ProviderConfigGroupVersionKind.GroupKind()}
}

// forAllNamespaces returns the ClusterProviderConfig with a name.
func forAllNamespaces(name string) connect.Key {
	return connect.Key{ObjectKey: client.ObjectKey{Name: name}, Kind: namespaced.ClusterProviderConfigGroupVersionKind.GroupKind()}
}

// ofNamespace returns the ProviderConfig of a namespace.
func ofNamespace(namespace, name string) connect.Key {
	return connect.Key{ObjectKey: client.ObjectKey{Namespace: namespace, Name: name}, Kind: namespaced.ProviderConfigGroupVersionKind.GroupKind()}
}

// newConnections returns a Connector for a command.
func newConnections(kube client.Client) *connect.Connector {
	return connect.New(kube, connect.WithUserAgent(userAgent()), connect.WithDefault(os.Getenv("PROXMOX_DEFAULT_CLUSTER")))
}

// find returns the configuration that exists, or an error that lists the existing ones. Of two with the same spec, either may be returned.
func (c choice) find(ctx context.Context, connections *connect.Connector, kube client.Reader) (connect.Key, error) {
	found, err := connections.Existing(ctx, c.meant...)
	if err != nil {
		return connect.Key{}, err
	}
	if len(found) == 0 {
		return connect.Key{}, c.missing(ctx, kube)
	}
	for _, other := range found[1:] {
		if !reflect.DeepEqual(other.Spec, found[0].Spec) {
			return connect.Key{}, errors.Errorf("there are %s and %s, which differ: %s", found[0], other, c.hint)
		}
	}
	return found[0].Key, nil
}

// missing returns an error that none of the possible configurations exists, and lists the others.
func (c choice) missing(ctx context.Context, kube client.Reader) error {
	meant := make([]string, 0, len(c.meant))
	for _, k := range c.meant {
		meant = append(meant, k.String())
	}
	others, err := configurations(ctx, kube)
	text := "there is no " + strings.Join(meant, " and no ")
	switch {
	case err != nil:
		return errors.Errorf("%s, and the others cannot be listed: %v", text, err)
	case len(others) == 0:
		return errors.Errorf("%s, nor any other provider configuration", text)
	}
	return errors.Errorf("%s, but %s: %s", text, strings.Join(others, ", "), c.hint)
}

// configurations returns the names of all configurations.
func configurations(ctx context.Context, kube client.Reader) ([]string, error) {
	var (
		own    cluster.ProviderConfigList
		shared namespaced.ClusterProviderConfigList
		teams  namespaced.ProviderConfigList
	)
	for _, list := range []client.ObjectList{&own, &shared, &teams} {
		if err := kube.List(ctx, list); err != nil {
			return nil, err
		}
	}
	var all []string
	for i := range own.Items {
		all = append(all, clusterScoped(own.Items[i].Name).String())
	}
	for i := range shared.Items {
		all = append(all, forAllNamespaces(shared.Items[i].Name).String())
	}
	for i := range teams.Items {
		all = append(all, ofNamespace(teams.Items[i].Namespace, teams.Items[i].Name).String())
	}
	return all, nil
}
