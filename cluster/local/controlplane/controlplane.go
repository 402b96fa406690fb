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

// Package controlplane runs a Kubernetes control plane on loopback: etcd, kube-apiserver, and the controllers of
// kube-controller-manager without which namespaces would not terminate, owned objects would not be deleted, and aggregated
// ClusterRoles would be empty.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/vitistack/provider-proxmox/cluster/local/assets"
	_ "github.com/vitistack/provider-proxmox/cluster/local/cachehome" // It must be imported with envtest.
	"github.com/vitistack/provider-proxmox/cluster/local/process"
)

// ServiceRange is the range of cluster IPs. It is part of loopback, so that the address of a Service, such as that of a webhook, reaches a process of
// this machine.
const ServiceRange = "127.96.0.0/16"

const (
	startTimeout = 60 * time.Second
	stopTimeout  = 20 * time.Second
)

// ControlPlane is a running Kubernetes API.
type ControlPlane struct {
	env         *envtest.Environment
	controllers *controllers
	logs        []io.Closer
	kubeconfig  string
	options     []Option
}

// Start starts a control plane that listens on free ports of 127.0.0.1 and writes a kubeconfig for its administrator. It writes all files, including
// logs, into the folder dir.
func Start(ctx context.Context, paths assets.Paths, dir string, options ...Option) (*ControlPlane, error) {
	c := &ControlPlane{kubeconfig: filepath.Join(dir, "kubeconfig"), options: options}
	if err := c.start(ctx, paths, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start the control plane: %w", err), c.Stop())
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context, paths assets.Paths, dir string) error {
	if err := c.startAPI(paths, dir); err != nil {
		return err
	}
	// The start of the API server ignores ctx, so a launcher that was stopped meanwhile returns here.
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := os.WriteFile(c.kubeconfig, c.env.KubeConfig, 0o600); err != nil {
		return err
	}
	controllers, err := startControllers(c.env.Config, filepath.Join(dir, "controllers.log"))
	c.controllers = controllers
	return err
}

func (c *ControlPlane) startAPI(paths assets.Paths, dir string) error {
	env, err := c.environment(paths, dir)
	if err != nil {
		return err
	}
	c.env = env
	if _, err := env.Start(); err != nil {
		return fmt.Errorf("%w\n%s", err, process.LogTail(filepath.Join(dir, assets.APIServer+".log"), 20))
	}
	return nil
}

func (c *ControlPlane) environment(paths assets.Paths, dir string) (*envtest.Environment, error) {
	etcdDir, apiDir := filepath.Join(dir, assets.Etcd), filepath.Join(dir, assets.APIServer)
	for _, d := range []string{etcdDir, apiDir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	etcdLog, err := c.openLog(etcdDir + ".log")
	if err != nil {
		return nil, err
	}
	apiLog, err := c.openLog(apiDir + ".log")
	if err != nil {
		return nil, err
	}

	api := &envtest.APIServer{Path: paths.APIServer, CertDir: apiDir, Out: apiLog, Err: apiLog}
	api.Configure().Set("service-cluster-ip-range", ServiceRange)
	// Without a default route the server would not find its own address. No client uses this one.
	api.Configure().Set("advertise-address", "127.0.0.1").Set("endpoint-reconciler-type", "none")
	for _, option := range c.options {
		if err := option(api, dir); err != nil {
			return nil, err
		}
	}
	return &envtest.Environment{
		ControlPlane: envtest.ControlPlane{
			APIServer:   api,
			Etcd:        &envtest.Etcd{Path: paths.Etcd, DataDir: etcdDir, Out: etcdLog, Err: etcdLog},
			KubectlPath: paths.Kubectl,
		},
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  stopTimeout,
		UseExistingCluster:       new(bool),
	}, nil
}

func (c *ControlPlane) openLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		c.logs = append(c.logs, f)
	}
	return f, err
}

// Config returns a client configuration for an administrator of the API.
func (c *ControlPlane) Config() *rest.Config { return rest.CopyConfig(c.env.Config) }

// Kubeconfig returns the file that lets kubectl and other programs administer the control plane.
func (c *ControlPlane) Kubeconfig() string { return c.kubeconfig }

// Stop stops the control plane: first the controllers, then the API, then its storage.
func (c *ControlPlane) Stop() error {
	var errs []error
	if c.controllers != nil {
		c.controllers.stop()
	}
	if c.env != nil {
		errs = append(errs, c.env.Stop())
	}
	for _, l := range c.logs {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
