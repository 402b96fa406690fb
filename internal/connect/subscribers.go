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
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Key names a provider configuration, or another resource that follows Secrets
// and ConfigMaps.
type Key struct {
	client.ObjectKey

	// Kind of the resource.
	Kind schema.GroupKind
}

// String returns the configuration in a form for metrics and logs: ProviderConfig/team-a/default.
func (k Key) String() string { return k.reference().path() }

func (k Key) reference() reference {
	return reference{kind: k.Kind, namespace: k.Namespace, name: k.Name}
}

// Forget forgets a configuration that no longer exists.
func (c *Connector) Forget(k Key) {
	c.pool.release(k.reference())
	c.watches.watch(k.reference(), nil)
}

// Follow calls the functions that were given to OnChange when a Secret or ConfigMap changes that a resource refers to now, and once for each that
// exists. It stops following those that the resource does not refer to any more. Without WithWatcher, it never calls them.
func (c *Connector) Follow(k Key, secrets, configMaps []client.ObjectKey) {
	all := make([]object, 0, len(secrets)+len(configMaps))
	for _, s := range secrets {
		all = append(all, object{kind: secret, key: s})
	}
	for _, m := range configMaps {
		all = append(all, object{kind: configMap, key: m})
	}
	c.followed.watch(k.reference(), all)
}

// subscribers are informed of changes.
type subscribers struct {
	mu         sync.Mutex
	ofConfig   map[schema.GroupKind][]func(client.ObjectKey)
	ofRecovery []func(used func(resource.Managed) bool)
}

// OnChange registers a function that is called when a Secret or a ConfigMap has changed that a configuration of the kind refers to, or that a resource
// of the kind follows. It must not block.
func (c *Connector) OnChange(kind schema.GroupKind, fn func(client.ObjectKey)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ofConfig == nil {
		c.ofConfig = map[schema.GroupKind][]func(client.ObjectKey){}
	}
	c.ofConfig[kind] = append(c.ofConfig[kind], fn)
}

// changed informs the subscribers that an object that the configuration refers to has changed.
func (c *Connector) changed(r reference) {
	c.mu.Lock()
	told := c.ofConfig[r.kind]
	c.mu.Unlock()
	for _, fn := range told {
		fn(client.ObjectKey{Namespace: r.namespace, Name: r.name})
	}
}

// OnRecovered registers a function that is called when a configuration works again, or has been replaced. Its argument reports whether a resource uses
// the configuration. It must not block.
func (c *Connector) OnRecovered(fn func(used func(resource.Managed) bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ofRecovery = append(c.ofRecovery, fn)
}

// Recovered informs the subscribers that resources that failed because of the configuration should be retried.
func (c *Connector) Recovered(k Key) {
	r := k.reference()
	c.mu.Lock()
	told := c.ofRecovery
	c.mu.Unlock()
	for _, fn := range told {
		fn(func(mg resource.Managed) bool { return c.uses(mg, r) })
	}
}

// uses reports whether the resource uses the configuration, or will use it if there is none named default.
func (c *Connector) uses(mg resource.Managed, r reference) bool {
	named, err := referenceOf(mg)
	if err != nil {
		return false
	}
	if named != r && named.name == DefaultName && c.defaultName != "" {
		named.name = c.defaultName
	}
	return named == r
}
