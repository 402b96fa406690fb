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

// Package kube is a client of the Kubernetes API of a launch.
package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	_ "github.com/vitistack/provider-proxmox/cluster/local/cachehome" // It must be imported with envtest.
)

// fieldManager owns the fields that the launcher applies.
const fieldManager = client.FieldOwner("provider-proxmox-launcher")

// crdTimeout limits the time from applying the definitions until they are served.
const crdTimeout = 30 * time.Second

// Client reads and applies objects of any kind.
type Client struct {
	client.Client
	config *rest.Config
}

// NewClient returns a client for an API server. It discovers the kinds that the server serves, and repeats that for a kind that it does not know.
func NewClient(config *rest.Config) (Client, error) {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return Client{}, fmt.Errorf("cannot make a Kubernetes client: %w", err)
	}
	return Client{Client: c, config: config}, nil
}

// Config returns a configuration for another client of the same API server.
func (c Client) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Apply applies an object on the server's side and takes over fields that others own.
func (c Client) Apply(ctx context.Context, obj *unstructured.Unstructured) error {
	err := c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), fieldManager, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("cannot apply %s %q: %w", obj.GetKind(), obj.GetName(), err)
	}
	return nil
}

// ApplyAll applies objects in their order and stops at the first that fails.
func (c Client) ApplyAll(ctx context.Context, objs []*unstructured.Unstructured) error {
	for _, obj := range objs {
		if err := c.Apply(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

// InstallCRDs applies the CustomResourceDefinitions in the YAML files of a folder, waits until the server
// serves them, and returns how many there are.
func (c Client) InstallCRDs(ctx context.Context, dir string) (int, error) {
	objs, err := ReadDir(dir)
	if err != nil {
		return 0, err
	}
	if len(objs) == 0 {
		return 0, fmt.Errorf("cannot find a definition in %q: run \"make generate\" first", dir)
	}
	if err := c.ApplyAll(ctx, objs); err != nil {
		return 0, err
	}
	crds, err := definitions(objs)
	if err != nil {
		return 0, err
	}
	options := envtest.CRDInstallOptions{MaxTime: crdTimeout, PollInterval: 100 * time.Millisecond}
	if err := envtest.WaitForCRDs(c.config, crds, options); err != nil {
		return 0, fmt.Errorf("cannot wait until the definitions are served: %w", err)
	}
	return len(crds), nil
}

func definitions(objs []*unstructured.Unstructured) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(objs))
	for _, obj := range objs {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, crd); err != nil {
			return nil, fmt.Errorf("cannot read the definition %q: %w", obj.GetName(), err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}

// ReadDir reads the objects in the *.yaml files of a folder, in the order of the files' names. A folder that does not exist has none.
func ReadDir(dir string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("cannot list %q: %w", dir, err)
	}
	var objs []*unstructured.Unstructured
	for _, file := range files {
		more, err := ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("cannot read %q: %w", file, err)
		}
		objs = append(objs, more...)
	}
	return objs, nil
}

// ReadFile returns the objects of a manifest, in its order.
func ReadFile(path string) ([]*unstructured.Unstructured, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // Only read.
	return decode(f)
}

func decode(r io.Reader) ([]*unstructured.Unstructured, error) {
	d := yaml.NewYAMLOrJSONDecoder(r, 4096)
	var objs []*unstructured.Unstructured
	for {
		obj := &unstructured.Unstructured{}
		err := d.Decode(&obj.Object)
		if errors.Is(err, io.EOF) {
			return objs, nil
		}
		if err != nil {
			return nil, err
		}
		if len(obj.Object) > 0 {
			objs = append(objs, obj)
		}
	}
}
