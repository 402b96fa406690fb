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
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/kind"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/quota"
	"github.com/vitistack/provider-proxmox/internal/tenancy/report"
)

// tenantsCommand is the first argument of a run about tenants.
const tenantsCommand = "tenants"

// errBroken ends a check that found resources that break rules, which were printed.
var errBroken = errors.New("there are resources that the tenants of the provider configuration would not have")

// tenantsOptions are the flags of such a run.
type tenantsOptions struct {
	Check    tenantsCheck    `cmd:"" help:"Show what tenants may use and do, and which present resources break the rules. It only reads."`
	Policies tenantsPolicies `cmd:"" help:"Write ValidatingAdmissionPolicies by which the API server refuses what tenants may not ask for."`
}

type tenantsCheck struct {
	Name string `arg:"" help:"Name of the provider configuration."`

	ClusterScoped bool   `help:"Check the ProviderConfig of the cluster-scoped resources, instead of the ClusterProviderConfig."`
	File          string `help:"Manifest of a provider configuration whose tenants are tried instead of those that are there." placeholder:"FILE" short:"f"`
	Kubeconfig    string `help:"Path of the kubeconfig. Default: that of KUBECONFIG, the pod's account or ~/.kube/config." placeholder:"PATH"`
}

// tenants runs the command of the arguments.
func tenants(ctx context.Context, args []string, out io.Writer) error {
	ctrl.SetLogger(logr.Discard())
	var o tenantsOptions
	k := kong.Must(&o, kong.Name("provider "+tenantsCommand), kong.Description("Looks at tenants before they are enforced."),
		kong.Writers(os.Stdout, os.Stderr), kong.ShortUsageOnError(), kong.BindTo(ctx, (*context.Context)(nil)), kong.BindTo(out, (*io.Writer)(nil)))
	parsed, err := k.Parse(args)
	k.FatalIfErrorf(err)
	if err = parsed.Run(); err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

type tenantsPolicies struct {
	Name string `arg:"" help:"Name of the ClusterProviderConfig."`

	DefaultCluster string `env:"PROXMOX_DEFAULT_CLUSTER" help:"ClusterProviderConfig where there is none named default, as the provider's option." placeholder:"NAME"`

	File       string `help:"Manifest of a ClusterProviderConfig whose tenants are taken instead of those that are there." placeholder:"FILE" short:"f"`
	Kubeconfig string `help:"Path of the kubeconfig. Default: that of KUBECONFIG, the pod's account or ~/.kube/config." placeholder:"PATH"`
}

// Run writes policies.
func (o *tenantsPolicies) Run(ctx context.Context, out io.Writer) error {
	var kube client.Reader
	if o.File == "" {
		c, err := kubeClient(o.Kubeconfig)
		if err != nil {
			return err
		}
		kube = c
	}
	return o.write(ctx, kube, out)
}

// write writes policies for the tenants of the manifest, or for those that a client reads.
func (o *tenantsPolicies) write(ctx context.Context, kube client.Reader, out io.Writer) error {
	among, names, err := o.tenants(ctx, kube)
	if err != nil {
		return err
	}
	policies, bindings := tenancy.Policies(o.Name, names, among)
	all := make([]any, 0, len(policies)+len(bindings))
	for i := range policies {
		all = append(all, &policies[i])
	}
	for i := range bindings {
		all = append(all, &bindings[i])
	}
	for _, p := range all {
		text, err := yaml.Marshal(p)
		if err != nil {
			return errors.Wrap(err, "cannot write the policies")
		}
		if _, err := fmt.Fprintf(out, "---\n%s", text); err != nil {
			return errors.Wrap(err, "cannot write the policies")
		}
	}
	return nil
}

// tenants returns the tenants of the manifest, or of the configuration that is there, and the names by which resources come to use it. With a manifest it
// is not known whether there is a configuration named default.
func (o *tenantsPolicies) tenants(ctx context.Context, kube client.Reader) ([]v1alpha1.ProviderTenant, []string, error) {
	names := []string{o.Name}
	if o.DefaultCluster == o.Name && o.Name != connect.DefaultName {
		names = append(names, connect.DefaultName)
	}
	if o.File != "" {
		among, err := tenantsOf(o.File)
		return among, names, err
	}
	pc := &namespaced.ClusterProviderConfig{}
	if err := kube.Get(ctx, client.ObjectKey{Name: o.Name}, pc); err != nil {
		return nil, nil, errors.Wrap(err, "cannot read the provider configuration")
	}
	if len(names) == 1 {
		return pc.Spec.Tenants, names, nil
	}
	err := kube.Get(ctx, client.ObjectKey{Name: connect.DefaultName}, &namespaced.ClusterProviderConfig{})
	if err == nil {
		names = names[:1]
	}
	return pc.Spec.Tenants, names, errors.Wrap(client.IgnoreNotFound(err), "cannot tell whether there is a provider configuration named default")
}

// kubeClient returns a client of the API server of a kubeconfig.
func kubeClient(kubeconfig string) (client.Client, error) {
	cfg, err := restConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	return kubeClientOf(cfg)
}

// kubeClientOf returns a client of an API server.
func kubeClientOf(cfg *rest.Config) (client.Client, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	kube, err := client.New(cfg, client.Options{Scheme: scheme})
	return kube, errors.Wrap(err, "cannot make a client of the Kubernetes API")
}

// Run runs the check.
func (o *tenantsCheck) Run(ctx context.Context, out io.Writer) error {
	kube, err := kubeClient(o.Kubeconfig)
	if err != nil {
		return err
	}
	return o.check(ctx, kube, out)
}

// check checks the resources that use the configuration.
func (o *tenantsCheck) check(ctx context.Context, kube client.Client, out io.Writer) error {
	connections := newConnections(kube)
	key, err := o.choice().find(ctx, connections, kube)
	if err != nil {
		return err
	}
	conn, err := connections.Open(ctx, key)
	if err != nil {
		return err
	}
	among := conn.Config.Tenants
	if o.File != "" {
		if among, err = tenantsOf(o.File); err != nil {
			return err
		}
	}
	all, err := o.resources(ctx, kube, func(mg resource.Managed) bool {
		k, err := connect.KeyOf(mg)
		if err == nil && k != key && k.Name == connect.DefaultName {
			k, err = connections.Resolve(ctx, k)
		}
		return err == nil && k == key
	})
	if err != nil {
		return err
	}
	findings, err := report.Of(ctx, conn.Inventory, all, func(ctx context.Context, mg resource.Managed) (*tenancy.Tenant, error) {
		t, err := connections.TenantAmong(ctx, mg, among)
		if err != nil {
			return nil, err
		}
		return connect.WithVNets(ctx, conn.Inventory, t)
	})
	if err != nil {
		return err
	}
	used, err := usedOf(ctx, kube, key)
	if err != nil {
		return err
	}
	return printTenants(out, among, o.usage(among, used), findings)
}

// usedOf is what the status of a provider configuration says of the usage of its tenants.
func usedOf(ctx context.Context, kube client.Reader, key connect.Key) ([]v1alpha1.TenantObservation, error) {
	var pc interface {
		client.Object
		Observation() *v1alpha1.ProviderConfigStatus
	} = &namespaced.ClusterProviderConfig{}
	if key.Kind == cluster.ProviderConfigGroupVersionKind.GroupKind() {
		pc = &cluster.ProviderConfig{}
	}
	err := kube.Get(ctx, key.ObjectKey, pc)
	return pc.Observation().Tenants, errors.Wrap(err, "cannot read the usage of the tenants")
}

// usage are the rows of a table with what the tenants use of their quotas, as far as that is known, and the limits: those that the provider keeps, or
// those of the manifest.
func (o *tenantsCheck) usage(tenants []v1alpha1.ProviderTenant, used []v1alpha1.TenantObservation) []string {
	var rows []string
	for _, t := range tenants {
		limits := tenancy.TenantNamed(tenants, t.Name).Limits()
		i := slices.IndexFunc(used, func(u v1alpha1.TenantObservation) bool { return u.Name == t.Name })
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			row := usageRow{tenant: t.Name, resource: name, used: "-", limit: ptr.To(quota.Quantity(name, limits[name])).String(), waiting: "-"}
			if i >= 0 {
				row.fill(used[i].Usage, o.File == "")
			}
			rows = append(rows, row.String())
		}
	}
	return rows
}

// A usageRow is what a tenant uses of something that its quota limits.
type usageRow struct{ tenant, resource, used, limit, waiting string }

// fill in what the provider has reported, with its limit if that is the one that counts.
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

// choice returns which provider configuration the flags mean.
func (o *tenantsCheck) choice() choice {
	c := choice{meant: []connect.Key{forAllNamespaces(o.Name)}, hint: "--cluster-scoped means a ProviderConfig of cluster-scoped resources"}
	if o.ClusterScoped {
		c.meant = []connect.Key{clusterScoped(o.Name)}
	}
	return c
}

// tenantsOf returns the tenants of a manifest.
func tenantsOf(file string) ([]v1alpha1.ProviderTenant, error) {
	text, err := os.ReadFile(file) //nolint:gosec // The user names the file.
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the manifest")
	}
	var manifest struct {
		Spec v1alpha1.ProviderConfigSpec `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &manifest); err != nil {
		return nil, errors.Wrapf(err, "cannot read %s as a provider configuration", file)
	}
	return manifest.Spec.Tenants, nil
}

// resources returns the resources of all kinds that use the configuration.
func (o *tenantsCheck) resources(ctx context.Context, kube client.Client, uses func(resource.Managed) bool) ([]resource.Managed, error) {
	group := namespaced.SchemeGroupVersion
	if o.ClusterScoped {
		group = cluster.SchemeGroupVersion
	}
	var all []resource.Managed
	for name := range kube.Scheme().KnownTypes(group) {
		object, err := kube.Scheme().New(group.WithKind(name))
		list, is := object.(resource.ManagedList)
		if err != nil || !is {
			continue
		}
		items, err := kind.List(ctx, kube, list) // A kind that is not activated has none.
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(items, func(mg resource.Managed) bool { return !uses(mg) })...)
	}
	return all, nil
}

// printTenants writes the rules, what is used of the quotas, and a line for each resource that breaks a rule.
func printTenants(out io.Writer, tenants []v1alpha1.ProviderTenant, usage []string, findings []report.Finding) error {
	if len(tenants) == 0 {
		fmt.Fprintln(out, "The provider configuration has no tenants: every resource may do all that the credentials may.")
	}
	for _, t := range tenants {
		name := t.Name
		if ptr.Deref(t.Unrestricted, false) {
			name += " (may do everything)"
		}
		t.Name = "" // The heading has it.
		text, err := yaml.Marshal(t)
		if err != nil {
			return errors.Wrap(err, "cannot print the tenants")
		}
		rules := strings.TrimPrefix(string(text), "name: \"\"\n")
		fmt.Fprintf(out, "%s\n  %s\n", name, strings.ReplaceAll(strings.TrimSpace(rules), "\n", "\n  "))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(usage) > 0 {
		fmt.Fprintln(w, "\nTENANT\tQUOTA OF\tUSED\tLIMIT\tWAITING\n"+strings.Join(usage, "\n"))
		if err := w.Flush(); err != nil {
			return errors.Wrap(err, "cannot print the usage")
		}
	}
	broken := 0
	for _, f := range findings {
		for _, b := range f.Breaks {
			if broken == 0 {
				fmt.Fprintln(w, "\nNAMESPACE\tKIND\tNAME\tVMID\tWOULD BE REFUSED")
			}
			broken++
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", f.Namespace, f.Kind, f.Name, vmidText(f.VMID), b)
		}
	}
	if err := w.Flush(); err != nil {
		return errors.Wrap(err, "cannot print what was found")
	}
	if broken > 0 {
		return errBroken
	}
	fmt.Fprintf(out, "\n%d resources, and none breaks a rule.\n", len(findings))
	return nil
}

func vmidText(id int) string {
	if id == 0 {
		return "-"
	}
	return strconv.Itoa(id)
}
