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

// Package gitops evaluates resources as Argo CD and Flux do, to test the health checks in examples/gitops.
package gitops

import (
	"errors"
	"fmt"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/cel-go/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// HealthOf returns what Argo CD shows of a resource whose kind has the health check: its library decides, of a resource that is being
// deleted for example, and asks the health check.
func HealthOf(script string, resource *unstructured.Unstructured) (health.HealthStatus, error) {
	shown, err := health.GetResourceHealth(resource, Script(script))
	if err != nil {
		return health.HealthStatus{}, fmt.Errorf("cannot conclude the health: %w", err)
	}
	return *shown, nil
}

// A Script is a health check of Argo CD, in Lua, that finds the resource in the global obj.
type Script string

// GetResourceHealth runs the health check. As in Argo CD, it has the language itself, tables and strings, and nothing that reaches
// files or other programs.
func (s Script) GetResourceHealth(resource *unstructured.Unstructured) (*health.HealthStatus, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString,
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

// value returns the value of JSON in Lua.
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

// A HealthCheck has the expressions in CEL by which a Kustomization of Flux judges resources of a kind.
type HealthCheck struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	InProgress string `json:"inProgress"`
	Failed     string `json:"failed"`
	Current    string `json:"current"`
}

// StatusOf returns the status of a resource as Flux concludes it from its expressions: in progress, failed, current, and otherwise
// in progress, by the first that holds.
func (h HealthCheck) StatusOf(resource *unstructured.Unstructured) (status.Status, error) {
	for _, each := range []struct {
		expression string
		is         status.Status
	}{{h.InProgress, status.InProgressStatus}, {h.Failed, status.FailedStatus}, {h.Current, status.CurrentStatus}} {
		holds, err := evaluate(each.expression, resource.Object)
		if err != nil {
			return "", err
		}
		if holds {
			return each.is, nil
		}
	}
	return status.InProgressStatus, nil
}

// evaluate evaluates an expression whose variables are the fields of the resource.
func evaluate(expression string, resource map[string]any) (bool, error) {
	env, err := cel.NewEnv(cel.Variable("metadata", cel.DynType), cel.Variable("spec", cel.DynType), cel.Variable("status", cel.DynType))
	if err != nil {
		return false, fmt.Errorf("cannot set up CEL: %w", err)
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return false, fmt.Errorf("cannot compile %q: %w", expression, issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		return false, fmt.Errorf("cannot set up %q: %w", expression, err)
	}
	result, _, err := program.Eval(resource)
	if err != nil {
		return false, fmt.Errorf("cannot evaluate %q: %w", expression, err)
	}
	holds, ok := result.Value().(bool)
	if !ok {
		return false, fmt.Errorf("%q is neither true nor false", expression)
	}
	return holds, nil
}
