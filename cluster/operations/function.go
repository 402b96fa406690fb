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
	"fmt"

	fnv1 "github.com/crossplane/crossplane/v2/proto/fn/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/vitistack/provider-proxmox/cluster/functionserver"
)

// The names of an Operation's requirements.
const (
	machinesRequired = "machines"
	nodesRequired    = "nodes"
)

// A function handles Crossplane's requests for an Operation.
type function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

// A plan has the objects and the messages of a run.
type plan struct {
	// apply are objects, or parts of existing objects.
	apply []object
	// events are messages about what is applied and what the run waits for.
	events []string
	// remaining is the number of Machines for another run.
	remaining int
}

// RunFunction plans one run. An error in the input or of a Machine fails the Operation, which then applies nothing.
func (function) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := &fnv1.RunFunctionResponse{
		Meta: &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag()}, Desired: req.GetDesired(), Context: req.GetContext(),
	}
	p, err := planned(req)
	if err == nil {
		err = p.into(rsp)
	}
	if err != nil {
		rsp.Results = append(rsp.GetResults(), &fnv1.Result{Severity: fnv1.Severity_SEVERITY_FATAL, Message: err.Error()})
	}
	return rsp, nil
}

func planned(req *fnv1.RunFunctionRequest) (plan, error) {
	in, err := functionserver.Read[input](req.GetInput())
	if err != nil {
		return plan{}, fmt.Errorf("cannot use the input: %w", err)
	}
	machines, err := required(req, machinesRequired, "Machine")
	if err != nil {
		return plan{}, err
	}
	if len(machines) == 0 {
		return plan{}, fmt.Errorf("there is no Machine: the step needs requiredResources with the requirementName %q that select some", machinesRequired)
	}
	switch {
	case in.Snapshot != nil:
		return in.Snapshot.plan(machines), nil
	case in.Reboot != nil:
		return in.Reboot.plan(machines)
	}
	nodes, err := required(req, nodesRequired, "ProxmoxNode")
	if err != nil {
		return plan{}, err
	}
	return in.Drain.plan(machines, nodes), nil
}

// into adds the plan to the results of earlier steps of the pipeline.
func (p plan) into(rsp *fnv1.RunFunctionResponse) error {
	if rsp.GetDesired() == nil {
		rsp.Desired = &fnv1.State{}
	}
	if rsp.Desired.Resources == nil {
		rsp.Desired.Resources = map[string]*fnv1.Resource{}
	}
	for _, o := range p.apply {
		resource, err := structpb.NewStruct(o.Object)
		if err != nil {
			return fmt.Errorf("cannot apply %s: %w", o, err)
		}
		rsp.Desired.Resources[o.String()] = &fnv1.Resource{Resource: resource}
	}
	for _, text := range p.events {
		rsp.Results = append(rsp.Results, &fnv1.Result{Severity: fnv1.Severity_SEVERITY_NORMAL, Message: text})
	}
	output, err := structpb.NewStruct(map[string]any{"applied": len(p.apply), "remaining": p.remaining})
	rsp.Output = output
	return err
}
