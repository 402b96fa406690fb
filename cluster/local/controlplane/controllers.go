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

package controlplane

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

const (
	// controllerWorkers is how many objects each controller handles at the same time.
	controllerWorkers = 5
	// discoveryInterval is how often the garbage collector looks for kinds that have been added.
	discoveryInterval = 5 * time.Second
	// namespaceResync is how often the namespace controller handles each namespace again.
	namespaceResync = 5 * time.Minute
)

// controllers runs three controllers of kube-controller-manager in this process: the garbage collector deletes objects whose owner is deleted, the
// namespace controller empties namespaces that are deleted, and the aggregation controller fills ClusterRoles that aggregate others. The remaining
// controllers manage workloads and nodes, which no control plane of this package has. Building the whole kube-controller-manager takes minutes.
type controllers struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	log     *os.File
}

// startControllers starts the controllers as the user of a configuration. They write their log to a file.
func startControllers(config *rest.Config, logFile string) (*controllers, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &controllers{cancel: cancel, log: log}
	ctx = klog.NewContext(ctx, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log))))
	if err := c.start(ctx, config); err != nil {
		c.stop()
		return nil, fmt.Errorf("cannot start the controllers: %w", err)
	}
	return c, nil
}

func (c *controllers) start(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.WarningHandler = -1, -1, rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	started := make(chan struct{})
	all := informerfactory.NewInformerFactory(factory, metadatainformer.NewSharedInformerFactory(objects, 0))
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	collector, err := garbagecollector.NewGarbageCollector(ctx, client, objects, mapper,
		garbagecollector.DefaultIgnoredResources(), all, started)
	if err != nil {
		return err
	}
	namespaces := namespace.NewNamespaceController(ctx, client, objects, client.Discovery().ServerPreferredNamespacedResources,
		factory.Core().V1().Namespaces(), namespaceResync, corev1.FinalizerKubernetes)
	roles := clusterroleaggregation.NewClusterRoleAggregation(factory.Rbac().V1().ClusterRoles(), client.RbacV1())

	c.running.Go(func() { collector.Run(ctx, controllerWorkers, discoveryInterval) })
	c.running.Go(func() { collector.Sync(ctx, client.Discovery(), discoveryInterval) })
	c.running.Go(func() { namespaces.Run(ctx, controllerWorkers) })
	c.running.Go(func() { roles.Run(ctx, controllerWorkers) })
	all.Start(ctx.Done())
	close(started)
	return nil
}

// stop stops the controllers and waits until they have ended.
func (c *controllers) stop() {
	c.cancel()
	c.running.Wait()
	_ = c.log.Close()
}
