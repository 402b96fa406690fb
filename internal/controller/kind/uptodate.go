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

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// TypeUpToDate is the condition that is True while what a resource stands for in
// Proxmox VE is as its spec asks. A resource that may only observe has it too, as a dry
// run.
const TypeUpToDate xpv2.ConditionType = "UpToDate"

// Reasons of the condition UpToDate.
const (
	ReasonUpToDate  xpv2.ConditionReason = "UpToDate"
	ReasonDifferent xpv2.ConditionReason = "Different"
)

// UpToDate returns the condition UpToDate: False with the first problem's reason while
// there are problems, False while options differ, which it names, and True otherwise.
func UpToDate(difference []v1alpha1.OptionDifference, problems ...Problem) xpv2.Condition {
	c := xpv2.Condition{
		Type: TypeUpToDate, Status: corev1.ConditionTrue, Reason: ReasonUpToDate, LastTransitionTime: metav1.Now(),
	}
	var messages []string
	if len(difference) > 0 {
		c.Status, c.Reason = corev1.ConditionFalse, ReasonDifferent
		names := make([]string, 0, len(difference))
		for _, d := range difference {
			names = append(names, d.Option)
		}
		messages = append(messages, "in Proxmox VE differ: "+strings.Join(names, ", "))
	}
	if len(problems) > 0 {
		c.Status, c.Reason = corev1.ConditionFalse, problems[0].Reason
	}
	for _, p := range problems {
		messages = append(messages, p.Message)
	}
	c.Message = strings.Join(messages, "; ")
	return c
}
