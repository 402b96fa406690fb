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
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/qemu"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
	"github.com/vitistack/provider-proxmox/internal/tenancy/report"
)

// An account identifies the quotas to report: those of the tenants of a provider configuration, or of the manifest that replaces it.
type account struct {
	connections *connect.Connector
	conn        *connect.Connection
	key         connect.Key
	tenants     []v1alpha1.ProviderTenant
}

// A quotaReport has the rows of the tables about quotas.
type quotaReport struct{ usage, over, waiting []string }

// exceeded reports whether usage is above a limit, or a resource waits.
func (r quotaReport) exceeded() bool { return len(r.over)+len(r.waiting) > 0 }

// print writes the tables that have rows.
func (r quotaReport) print(w io.Writer) {
	for _, table := range []struct {
		head string
		rows []string
	}{
		{head: "TENANT\tQUOTA OF\tUSED\tLIMIT\tWAITING", rows: r.usage},
		{head: "TENANT\tQUOTA OF\tOVER BY\tUSED BY", rows: r.over},
		{head: "NAMESPACE\tKIND\tNAME\tVMID\tWOULD WAIT (QuotaExceeded)", rows: r.waiting},
	} {
		if len(table.rows) > 0 {
			fmt.Fprintln(w, "\n"+table.head+"\n"+strings.Join(table.rows, "\n"))
		}
	}
}

// quotas returns the usage of the quotas of tenants by existing resources, and the resources that wait or would wait. It shows what the provider has
// counted, unless tenants are not enforced or a manifest changes more of a tenant than its quota.
func (o *tenantsCheck) quotas(ctx context.Context, kube client.Client, of account, tenants []v1alpha1.ProviderTenant) (quotaReport, error) {
	var all quotaReport
	used, err := usedOf(ctx, kube, of.key)
	if err != nil {
		return all, err
	}
	for _, t := range tenants {
		limits := tenancy.TenantNamed(tenants, t.Name).Limits()
		if limits == nil {
			continue
		}
		usage, waiters, err := of.count(ctx, kube, t.Name)
		if err != nil {
			return all, errors.Wrapf(err, "cannot count what tenant %q uses of its quota", t.Name)
		}
		i := slices.IndexFunc(used, func(u v1alpha1.TenantObservation) bool { return u.Name == t.Name })
		for _, u := range usage {
			limit, limited := limits[u.Name]
			if !limited {
				continue // Another configuration that shares the account limits it.
			}
			row := usageRow{tenant: t.Name, resource: u.Name, limit: quantity(u.Name, limit)}
			row.used, row.waiting = atLeast(u.AtLeast)+quantity(u.Name, u.Used), strconv.Itoa(u.Waiting)
			if i >= 0 && of.keeps(t) {
				row.fill(used[i].Usage, o.File == "")
			}
			all.usage = append(all.usage, row.String())
		}
		all.over = append(all.over, overRows(t.Name, usage)...)
		for _, w := range waiters {
			if o.Namespace == "" || w.Namespace == o.Namespace {
				all.waiting = append(all.waiting, strings.Join([]string{w.Namespace, w.Kind, w.Name, vmidText(w.VMID), w.Why}, "\t"))
			}
		}
	}
	return all, nil
}

// keeps reports whether the provider keeps a quota of a tenant, whatever it limits. If tenants are not enforced, the provider counts only what exists.
func (a account) keeps(t v1alpha1.ProviderTenant) bool {
	warns := ptr.Deref(a.conn.Config.TenantEnforcement, "") == v1alpha1.TenantWarn
	return !warns && slices.ContainsFunc(a.conn.Config.Tenants, func(kept v1alpha1.ProviderTenant) bool {
		kept.Quota = t.Quota
		return reflect.DeepEqual(kept, t)
	})
}

// count counts what the resources of a tenant use of its quota, including those of other configurations that share the quota.
func (a account) count(ctx context.Context, kube client.Client, tenant string) ([]report.Usage, []report.Waiter, error) {
	shared, err := a.connections.AccountOf(ctx, a.key.String(), a.tenants, tenant)
	if err != nil {
		return nil, nil, err
	}
	var all []resource.Managed
	for _, group := range []schema.GroupVersion{namespaced.SchemeGroupVersion, cluster.SchemeGroupVersion} {
		for _, name := range []string{"Machine", "Volume", "Snapshot", "Backup"} {
			listed, err := resourcesOf(ctx, kube, group.WithKind(name+"List"))
			if err != nil {
				return nil, nil, err
			}
			for _, mg := range listed {
				is, err := a.connections.IsIn(ctx, mg, shared)
				if err != nil {
					return nil, nil, err
				}
				if is {
					all = append(all, mg)
				}
			}
		}
	}
	return report.OfQuota(ctx, a.conn.Inventory, report.Account{
		Tenant: tenant, Limits: shared.Limits(), Owns: shared.Owns, Resources: all, Manages: kind.Manages, Defaults: qemu.DefaultsOf(a.conn.Config),
	})
}

// usersNamed is how many users of an exceeded limit are named.
const usersNamed = 3

// overRows returns the rows about limits that are exceeded.
func overRows(tenant string, usage []report.Usage) []string {
	var rows []string
	for _, u := range usage {
		if u.Over() == 0 {
			continue
		}
		named := make([]string, 0, usersNamed+1)
		for _, user := range u.Users[:min(len(u.Users), usersNamed)] {
			named = append(named, user.Name+": "+quantity(u.Name, user.Amount))
		}
		if more := len(u.Users) - usersNamed; more > 0 {
			named = append(named, fmt.Sprintf("%d more", more))
		}
		rows = append(rows, strings.Join([]string{tenant, u.Name, atLeast(u.AtLeast) + quantity(u.Name, u.Over()), strings.Join(named, ", ")}, "\t"))
	}
	return rows
}

// quantity returns an amount in a form for people.
func quantity(name string, n int64) string { return ptr.To(quota.Quantity(name, n)).String() }

// atLeast returns the prefix of an amount that may grow.
func atLeast(is bool) string {
	if is {
		return "at least "
	}
	return ""
}

// usedOf returns the usage of the tenants in the status of a provider configuration.
func usedOf(ctx context.Context, kube client.Reader, key connect.Key) ([]v1alpha1.TenantObservation, error) {
	pc := configOf(key.Kind == cluster.ProviderConfigGroupVersionKind.GroupKind())
	err := kube.Get(ctx, key.ObjectKey, pc)
	return pc.Observation().Tenants, errors.Wrap(err, "cannot read the usage of the tenants")
}

// A usageRow is what a tenant uses of an amount that its quota limits.
type usageRow struct{ tenant, resource, used, limit, waiting string }

// fill adds what the provider has reported, with its limit if that is the one that counts.
func (r *usageRow) fill(all []v1alpha1.TenantUsage, limit bool) {
	i := slices.IndexFunc(all, func(u v1alpha1.TenantUsage) bool { return u.Resource == r.resource })
	if i < 0 {
		return
	}
	r.used, r.waiting = all[i].Used.String(), strconv.Itoa(int(ptr.Deref(all[i].Waiting, 0)))
	if limit {
		r.limit = all[i].Limit.String()
	}
}

func (r *usageRow) String() string {
	return strings.Join([]string{r.tenant, r.resource, r.used, r.limit, r.waiting}, "\t")
}
