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

// Package gitops evaluates resources in the same way as Argo CD and Flux, to test the health checks in examples/gitops.
package gitops

import (
	"context"
	"errors"
	"fmt"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/event"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"github.com/gobwas/glob"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// HealthOf returns the health that Argo CD shows of a resource whose kind has the health check. Argo CD's library decides, for example about a resource
// that is being deleted, and runs the health check.
func HealthOf(script string, resource *unstructured.Unstructured) (health.HealthStatus, error) {
	shown, err := health.GetResourceHealth(resource, Script(script))
	if err != nil {
		return health.HealthStatus{}, fmt.Errorf("cannot conclude the health: %w", err)
	}
	return *shown, nil
}

// Covers reports whether Argo CD uses the health check with a key of its settings for a kind. It matches the key with the library that Argo CD uses.
func Covers(key string, kind schema.GroupKind) (bool, error) {
	pattern, err := glob.Compile(key)
	if err != nil {
		return false, fmt.Errorf("cannot read the key %q: %w", key, err)
	}
	return pattern.Match(kind.Group + "/" + kind.Kind), nil
}

// A Script is a health check of Argo CD, in Lua, that finds the resource in the global obj.
type Script string

// GetResourceHealth runs the health check. As with a health check in Argo CD's settings, only the base library and tables are available: no strings,
// and nothing that reaches files or other programs.
func (s Script) GetResourceHealth(resource *unstructured.Unstructured) (*health.HealthStatus, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
	} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return nil, fmt.Errorf("cannot open the library %q: %w", name, err)
		}
	}
	state.SetGlobal("obj", value(state, resource.Object))
	if err := state.DoString(string(s)); err != nil {
		return nil, fmt.Errorf("cannot run the health check: %w", err)
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return nil, errors.New("the health check returns no table")
	}
	return &health.HealthStatus{
		Status: health.HealthStatusCode(lua.LVAsString(result.RawGetString("status"))), Message: lua.LVAsString(result.RawGetString("message")),
	}, nil
}

// value converts a JSON value to Lua.
func value(state *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, each := range v {
			table.RawSetString(key, value(state, each))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, each := range v {
			table.Append(value(state, each))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}

// HealthChecks returns the expressions of a Kustomization of Flux.
func HealthChecks(manifest []byte) ([]kustomize.CustomHealthCheck, error) {
	var kustomization struct {
		Spec struct {
			HealthCheckExprs []kustomize.CustomHealthCheck `json:"healthCheckExprs"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(manifest, &kustomization); err != nil {
		return nil, fmt.Errorf("cannot read the Kustomization: %w", err)
	}
	return kustomization.Spec.HealthCheckExprs, nil
}

// StatusOf returns the status that Flux's own library computes for a resource from a Kustomization's expressions for its kind. If they cannot be
// evaluated, the status is Unknown and contains an error: Flux then waits.
func StatusOf(ctx context.Context, checks []kustomize.CustomHealthCheck, resource *unstructured.Unstructured) (*event.ResourceStatus, error) {
	reader, err := cel.NewStatusReader(checks)
	if err != nil {
		return nil, fmt.Errorf("cannot read the expressions: %w", err)
	}
	result, err := reader(nil).ReadStatusForObject(ctx, nil, resource)
	if err != nil {
		return nil, fmt.Errorf("cannot evaluate the expressions: %w", err)
	}
	return result, nil
}
