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

// Package conditions is a function for Compositions. It gives the composite resource and its claim conditions of a composed resource, and the condition
// Failed, whose reason is a category of errors. It refuses composite resources that are older than their definition, such as those of another operator.
// It makes no calls and keeps no state.
package conditions

import (
	"context"
	"fmt"

	fnv1 "github.com/crossplane/crossplane/v2/proto/fn/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/vitistack/provider-proxmox/cluster/functionserver"
)

const (
	// failedType is True while something prevents the composite resource from being as requested.
	failedType = "Failed"
	// noCategory is the category if nothing does.
	noCategory = "None"
	// reasonNotReported is the reason of a condition that is Unknown.
	reasonNotReported = "NotReported"
)

// Function handles Crossplane's requests for a composite resource.
type Function struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

// RunFunction adds conditions to the results of earlier steps of the pipeline. Each condition is returned in every run: Crossplane does not update a
// condition that is not returned.
func (Function) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := &fnv1.RunFunctionResponse{
		Meta: &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag()}, Desired: req.GetDesired(), Context: req.GetContext(),
	}
	in, err := functionserver.Read[input](req.GetInput())
	if err != nil {
		return fatal(rsp, fmt.Sprintf("cannot use the input: %v", err)), nil
	}
	if refusal := in.predates(req); refusal != "" {
		return fatal(rsp, refusal), nil
	}
	if in.Copied != nil {
		rsp.Conditions = append(rsp.Conditions, in.Copied.conditions(req)...)
	}
	if in.Failed != nil {
		rsp.Conditions = append(rsp.Conditions, in.Failed.condition(req))
	}
	return rsp, nil
}

// fatal returns a response after which nothing is composed.
func fatal(rsp *fnv1.RunFunctionResponse, message string) *fnv1.RunFunctionResponse {
	rsp.Results = append(rsp.GetResults(), &fnv1.Result{Severity: fnv1.Severity_SEVERITY_FATAL, Message: message})
	return rsp
}

// conditions returns the conditions of the composed resource.
func (c copied) conditions(req *fnv1.RunFunctionRequest) []*fnv1.Condition {
	has := map[string]map[string]*structpb.Value{}
	status := req.GetObserved().GetResources()[c.Resource].GetResource().GetFields()["status"].GetStructValue()
	for _, v := range status.GetFields()["conditions"].GetListValue().GetValues() {
		fields := v.GetStructValue().GetFields()
		has[fields["type"].GetStringValue()] = fields
	}
	var out []*fnv1.Condition
	for _, t := range c.Types {
		next := condition(t, statusOf(has[t]["status"].GetStringValue()), has[t]["reason"].GetStringValue(), has[t]["message"].GetStringValue())
		if next.GetReason() == "" {
			next = condition(t, fnv1.Status_STATUS_CONDITION_UNKNOWN, reasonNotReported, fmt.Sprintf("the resource %q does not report it", c.Resource))
		}
		out = append(out, next)
	}
	return out
}

// condition returns the condition Failed, by the results of an earlier step.
func (f failed) condition(req *fnv1.RunFunctionRequest) *fnv1.Condition {
	status := req.GetDesired().GetComposite().GetResource().GetFields()["status"].GetStructValue().GetFields()
	switch category := status[f.Category].GetStringValue(); category {
	case "":
		return condition(failedType, fnv1.Status_STATUS_CONDITION_UNKNOWN, reasonNotReported, fmt.Sprintf("there is no status.%s yet", f.Category))
	case noCategory:
		return condition(failedType, fnv1.Status_STATUS_CONDITION_FALSE, noCategory, "")
	default:
		return condition(failedType, fnv1.Status_STATUS_CONDITION_TRUE, category, status[f.Message].GetStringValue())
	}
}

// condition returns a condition of the composite resource and of its claim, if it has one.
func condition(kind string, status fnv1.Status, reason, message string) *fnv1.Condition {
	return &fnv1.Condition{
		Type: kind, Status: status, Reason: reason, Message: &message, Target: fnv1.Target_TARGET_COMPOSITE_AND_CLAIM.Enum(),
	}
}

func statusOf(text string) fnv1.Status {
	switch text {
	case "True":
		return fnv1.Status_STATUS_CONDITION_TRUE
	case "False":
		return fnv1.Status_STATUS_CONDITION_FALSE
	default:
		return fnv1.Status_STATUS_CONDITION_UNKNOWN
	}
}
