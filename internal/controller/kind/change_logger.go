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
	"context"
	"maps"

	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	corev1 "k8s.io/api/core/v1"
)

// detailDifference is the key in an entry of the change log for the message of the condition UpToDate, which lists the differences.
const detailDifference = "difference"

// changeLogger records each operation, with the difference that caused it.
type changeLogger struct {
	next managed.ChangeLogger
}

// Log logs the operation, unless it waits for its turn and nothing was done yet.
func (l changeLogger) Log(
	ctx context.Context, mg resource.Managed, op changelogs.OperationType, changeErr error, details managed.AdditionalDetails,
) error {
	if changeErr == nil && waited(ctx) {
		return nil
	}
	if c := mg.GetCondition(TypeUpToDate); op == changelogs.OperationType_OPERATION_TYPE_UPDATE && c.Status == corev1.ConditionFalse {
		details = maps.Clone(details)
		if details == nil {
			details = managed.AdditionalDetails{}
		}
		details[detailDifference] = c.Message
	}
	return l.next.Log(ctx, mg, op, changeErr, details)
}

// waited reports whether the reconcile has encountered something that it waits for.
func waited(ctx context.Context) bool {
	of, ok := ctx.Value(outcomeKey{}).(*outcome)
	return ok && of.err != nil
}
