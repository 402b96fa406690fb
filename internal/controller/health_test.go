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

package controller_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// healthCheck is the health check of Argo CD. It shows a resource as Degraded if the reason of its condition Ready or UpToDate is one of the faults.
const healthCheck = "../../examples/gitops/argocd/resource_customizations/proxmox._vitistack.io/_/health.lua"

// notFaults are the reasons for which Argo CD shows a resource as Progressing or Suspended, and those that Ready and UpToDate never have.
var notFaults = map[string]string{ //nolint:gochecknoglobals // A table of the test.
	"the work is under way": `
		Available Binding Creating Deleting Downloading Locked MakingTemplate Moving NotCreated PowerMismatch Reloading Restarting
		Running Staged StagedByOthers WaitingForGuest`,
	"what it waits for may come by itself, or with other resources": `
		ClockBehind GuestsMissing InUse MachineNotFound MachineNotReady MembersMissing Missing NodeNotFound NotFound NotRunning
		PoolNotFound QuotaExceeded SourceNotFound StillAttached StorageNotFound Unavailable WaitingForAddress WaitingForBackup WaitingForIPAddress
		WaitingForImage WaitingForStorage WaitingForVolume`,
	"either of the two, which the message tells": "Incomplete",
	"Suspended":                                         "OutsideMaintenanceWindow PendingChanges",
	"Ready is unknown, and Synced says why":             "NotObserved",
	"Ready is unknown, and there was no reconcile":      "NotReconciled",
	"Synced has it, and is a fault whatever its reason": "Protected",
	"the condition Bootable has it, and Argo CD shows Degraded whatever the reason of its False": "NothingToBoot",
	"another condition has it, which Argo CD is not told by": `
		Adopted AllocationFailed AllocationSucceeded Allowed Applied BootDeviceFound Bound CloudInitFailed CloudInitFinished CloudInitRunning
		CreationFailed CreationSucceeded Disabled Fresh GuestNotReadable InsufficientResources LostCreation NetworkError NetworkReady
		NoChecksum NoRemains NotDeclared NotDownloaded NotReported NothingStaged Replicated Stale Unbound UpToDate Verified
		WaitingForAgent`,
	"a provider configuration has it, whose every reason is a fault": `
		ConnectionFailed InsecureSkipTLSVerify InvalidConfiguration MissingPrivilege Passed PasswordRefused SecondFactorRequired
		TenantsOverlap TokenRefused Unknown UnknownRealm VersionTooOld`,
}

// TestFaultsOfHealthCheck checks that for each reason of a condition it was decided what Argo CD shows.
func TestFaultsOfHealthCheck(t *testing.T) {
	reasons, faults := map[string]bool{}, faultsOf(t)
	for _, dir := range []string{".", "../tenancy", "../proxmox", "../../apis/v1alpha1"} {
		conditionReasons(t, dir, reasons)
	}
	reasons[string(xpv2.ReasonUpdateFailed)] = true // The other reasons of Crossplane are not faults.
	for fault := range faults {
		if !reasons[fault] {
			t.Errorf("%s has the fault %s, which is no reason of a condition", healthCheck, fault)
		}
	}
	passed := map[string]string{}
	for why, names := range notFaults {
		for name := range strings.FieldsSeq(names) {
			passed[name] = why
		}
	}
	for reason := range reasons {
		if why := passed[reason]; (why != "") == faults[reason] {
			t.Errorf("the reason %s must be one of the faults in %s (it is: %t), or in this test with why it is none (%q)", reason, healthCheck, faults[reason], why)
		}
	}
	for name := range passed {
		if !reasons[name] {
			t.Errorf("%s is no reason of a condition", name)
		}
	}
}

// faultsOf returns the faults in the health check.
func faultsOf(t *testing.T) map[string]bool {
	t.Helper()
	script, err := os.ReadFile(healthCheck)
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(script), "local faults = {")
	table, _, closed := strings.Cut(table, "}")
	if !found || !closed {
		t.Fatalf("%s has no table of faults", healthCheck)
	}
	faults := map[string]bool{}
	for _, m := range regexp.MustCompile(`(\w+) = true`).FindAllStringSubmatch(table, -1) {
		faults[m[1]] = true
	}
	return faults
}

// conditionReasons adds the constants in a folder and its subfolders that are reasons of conditions.
func conditionReasons(t *testing.T, dir string, reasons map[string]bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, r := range reasonsIn(n) {
				reasons[r] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// reasonsIn returns the reasons in a constant, or in the table of an act, which has them as texts.
func reasonsIn(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.ValueSpec:
		if ofConditions(n.Type) {
			return textsOf(n.Values)
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Refused" || key.Name == "Failed") {
			return textsOf([]ast.Expr{n.Value})
		}
	}
	return nil
}

// ofConditions reports whether a type is a type of reasons of conditions, or of problems that become reasons: xpv2.ConditionReason,
// proxmox.DownloadProblem.
func ofConditions(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name == "ConditionReason"
	case *ast.Ident:
		return e.Name == "DownloadProblem"
	}
	return false
}
