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

package kind

import (
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
)

// ReasonNodeOffline is the reason of the condition Ready if a node that has to be asked cannot be. The condition UpToDate has it too, also for a
// resource that is being deleted.
const ReasonNodeOffline xpv2.ConditionReason = "NodeOffline"

// A Problem keeps a resource from being ready. Its text is a sentence without its full stop.
type Problem struct {
	// Reason of the condition Ready.
	Reason xpv2.ConditionReason

	// Message of the condition.
	Message string
}

// Ready returns the condition of a resource with these problems. The first one gives the reason.
func Ready(problems ...Problem) xpv2.Condition {
	if len(problems) == 0 {
		return xpv2.Available()
	}
	messages := make([]string, 0, len(problems))
	for _, p := range problems {
		messages = append(messages, p.Message)
	}
	c := xpv2.Unavailable().WithMessage(strings.Join(messages, "; "))
	c.Reason = problems[0].Reason
	return c
}

// Announce records an event if the status or the message of the condition Ready differs from the one before: a warning that explains why the resource
// is not ready, or a normal event if it is.
func Announce(r event.Recorder, mg resource.Managed, before, after xpv2.Condition, well string) {
	switch {
	case before.Status == after.Status && before.Message == after.Message:
	case after.Status == corev1.ConditionTrue:
		r.Event(mg, event.Normal(event.Reason(after.Reason), well))
	default:
		r.Event(mg, event.Warning(event.Reason(after.Reason), errors.New(after.Message)))
	}
}
