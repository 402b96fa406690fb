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

package conditions

import (
	"errors"
	"fmt"
	"regexp"

	xpextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/vitistack/provider-proxmox/cluster/functionserver"
)

const (
	inputVersion = "conditions.proxmox.vitistack.io/v1alpha1"
	inputKind    = "Conditions"
)

// An input selects the conditions that the composite resource gets, and the composite resources that are refused.
type input struct {
	functionserver.Header

	Copied *copied `json:"copy,omitempty"`
	Failed *failed `json:"failed,omitempty"`
	// NotOlderThan is the name of a requirement of the step. It requests the definition of the composite resource.
	NotOlderThan string `json:"notOlderThan,omitempty"`
}

// copied selects conditions of a composed resource.
type copied struct {
	// Resource is its name in the Composition.
	Resource string `json:"resource"`
	// Types are the types of the conditions.
	Types []string `json:"types"`
}

// failed has the names of fields in the status of the composite resource. There, an earlier step of the pipeline has left the category of errors and a
// message.
type failed struct {
	Category string `json:"category"`
	Message  string `json:"message,omitempty"`
}

// conditionType matches the condition types that Kubernetes accepts.
var conditionType = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// Validate refuses contradictory or missing values.
func (in input) Validate() error {
	if err := in.Check(inputVersion, inputKind); err != nil {
		return err
	}
	switch {
	case in.Copied == nil && in.Failed == nil && in.NotOlderThan == "":
		return errors.New("set copy, failed or notOlderThan")
	case in.Failed != nil && in.Failed.Category == "":
		return errors.New("failed.category is empty")
	case in.Copied != nil:
		return in.Copied.validate()
	}
	return nil
}

func (c copied) validate() error {
	if c.Resource == "" || len(c.Types) == 0 {
		return errors.New("copy needs resource and types")
	}
	for _, t := range c.Types {
		switch {
		case !conditionType.MatchString(t):
			return fmt.Errorf("copy.types has %q, which is no type of a condition", t)
		case xpextv1.IsSystemConditionType(xpv2.ConditionType(t)):
			return fmt.Errorf("copy.types has %s, which Crossplane sets by itself", t)
		case t == failedType:
			return fmt.Errorf("copy.types has %s, which failed sets", t)
		}
	}
	return nil
}
