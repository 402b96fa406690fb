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
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	"github.com/vitistack/provider-proxmox/internal/controller/providerconfig"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
	"github.com/vitistack/provider-proxmox/internal/tenancy/report"
)

// tenantsCommand is the first argument of a run about tenants.
const tenantsCommand = "tenants"

// errBroken ends a check that found resources that break rules or exceed quotas, which it has printed.
var errBroken = errors.New("there are resources that the tenants of the provider configuration would not have")

// tenantsOptions are the flags of such a run.
type tenantsOptions struct {
	Check    tenantsCheck    `cmd:"" help:"Show what tenants may use and do, and which present resources break the rules or exceed quotas. It only reads."`
	Policies tenantsPolicies `cmd:"" help:"Write ValidatingAdmissionPolicies by which the API server refuses what tenants may not ask for."`
}

type tenantsCheck struct {
	Name string `arg:"" help:"Name of the provider configuration."`

	ClusterScoped bool   `help:"Check the ProviderConfig of the cluster-scoped resources, instead of the ClusterProviderConfig."`
	Namespace     string `help:"Show only this namespace: what its resources, and cluster-scoped resources of its claims, may do." placeholder:"NAMESPACE" short:"n"`
	File          string `help:"Manifest of a provider configuration to check instead of the one in the cluster." placeholder:"FILE" short:"f"`
	Kubeconfig    string `help:"Path of the kubeconfig. Default: $KUBECONFIG, the pod's service account, or ~/.kube/config." placeholder:"PATH"`
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
	Name string `arg:"" help:"Name of the provider configuration."`

	DefaultCluster string `env:"PROXMOX_DEFAULT_CLUSTER" help:"Provider configuration where there is none named default, as the provider's option." placeholder:"NAME"`

	ClusterScoped bool   `help:"Write policies for the ProviderConfig of the cluster-scoped resources, instead of the ClusterProviderConfig."`
	File          string `help:"Manifest of a provider configuration whose tenants are taken instead of those that are there." placeholder:"FILE" short:"f"`
	Kubeconfig    string `help:"Path of the kubeconfig. Default: $KUBECONFIG, the pod's service account, or ~/.kube/config." placeholder:"PATH"`
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
	spec, names, err := o.config(ctx, kube)
	if err != nil {
		return err
	}
	of := tenancy.PolicyTarget{
		Config: o.Name, Names: names, ClusterScoped: o.ClusterScoped, Warns: ptr.Deref(spec.TenantEnforcement, "") == v1alpha1.TenantWarn,
	}
	policies, bindings := tenancy.Policies(of, spec.Tenants)
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

// config returns the configuration of the manifest or of the cluster, and the names by which resources use it. With a manifest, it is not known whether
// there is a configuration named default.
func (o *tenantsPolicies) config(ctx context.Context, kube client.Reader) (*v1alpha1.ProviderConfigSpec, []string, error) {
	names := []string{o.Name}
	if o.DefaultCluster == o.Name && o.Name != connect.DefaultName {
		names = append(names, connect.DefaultName)
	}
	if o.File != "" {
		spec, err := specOf(o.File)
		return spec, names, err
	}
	pc := configOf(o.ClusterScoped)
	if err := kube.Get(ctx, client.ObjectKey{Name: o.Name}, pc); err != nil {
		return nil, nil, errors.Wrap(err, "cannot read the provider configuration")
	}
	if len(names) == 1 {
		return pc.Settings(), names, nil
	}
	err := kube.Get(ctx, client.ObjectKey{Name: connect.DefaultName}, configOf(o.ClusterScoped))
	if err == nil {
		names = names[:1]
	}
	return pc.Settings(), names, errors.Wrap(client.IgnoreNotFound(err), "cannot tell whether there is a provider configuration named default")
}

// configOf returns an empty ProviderConfig of cluster-scoped resources, or an empty ClusterProviderConfig.
func configOf(clusterScoped bool) providerconfig.Config {
	if clusterScoped {
		return &cluster.ProviderConfig{}
	}
	return &namespaced.ClusterProviderConfig{}
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
		spec, err := specOf(o.File)
		if err != nil {
			return err
		}
		among = spec.Tenants
	}
	shown, err := o.shown(ctx, connections, among, out)
	if err != nil {
		return err
	}
	all, err := o.resources(ctx, kube, func(mg resource.Managed) bool {
		if o.Namespace != "" && tenancy.NamespaceOf(mg) != o.Namespace {
			return false
		}
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
	quotas, err := o.quotas(ctx, kube, account{connections: connections, conn: conn, key: key, tenants: among}, shown)
	if err != nil {
		return err
	}
	if len(among) == 0 {
		fmt.Fprintln(out, "The provider configuration has no tenants: every resource may do all that the credentials may.")
	}
	return printTenants(out, shown, quotas, findings)
}

// shown returns the tenants to show: all, or that of the namespace. It prints a message about a namespace that may do everything or nothing.
func (o *tenantsCheck) shown(ctx context.Context, c *connect.Connector, among []v1alpha1.ProviderTenant, out io.Writer) ([]v1alpha1.ProviderTenant, error) {
	if o.Namespace == "" || len(among) == 0 {
		return among, nil
	}
	var mg resource.Managed = &namespaced.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace}}
	if o.ClusterScoped {
		mg = &cluster.Machine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{tenancy.LabelClaimNamespace: o.Namespace}}}
	}
	t, err := c.TenantAmong(ctx, mg, among)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		fmt.Fprintf(out, "Namespace %q may do everything: it belongs to an unrestricted tenant.\n", o.Namespace)
	case t.Name == "":
		fmt.Fprintln(out, t.CheckSpec(mg))
	default:
		return []v1alpha1.ProviderTenant{t.ProviderTenant}, nil
	}
	return nil, nil
}

// choice returns the provider configuration that the flags refer to.
func (o *tenantsCheck) choice() choice {
	c := choice{meant: []connect.Key{forAllNamespaces(o.Name)}, hint: "--cluster-scoped means a ProviderConfig of cluster-scoped resources"}
	if o.ClusterScoped {
		c.meant = []connect.Key{clusterScoped(o.Name)}
	}
	return c
}

// specOf returns the provider configuration of a manifest.
func specOf(file string) (*v1alpha1.ProviderConfigSpec, error) {
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
	return &manifest.Spec, nil
}

// resources returns the resources of all kinds that use the configuration.
func (o *tenantsCheck) resources(ctx context.Context, kube client.Client, uses func(resource.Managed) bool) ([]resource.Managed, error) {
	group := namespaced.SchemeGroupVersion
	if o.ClusterScoped {
		group = cluster.SchemeGroupVersion
	}
	var all []resource.Managed
	for name := range kube.Scheme().KnownTypes(group) {
		items, err := resourcesOf(ctx, kube, group.WithKind(name))
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(items, func(mg resource.Managed) bool { return !uses(mg) })...)
	}
	return all, nil
}

// resourcesOf returns the resources of the kind of a list. It returns none for another kind of list, or for a kind that is not activated.
func resourcesOf(ctx context.Context, kube client.Client, list schema.GroupVersionKind) ([]resource.Managed, error) {
	object, err := kube.Scheme().New(list)
	empty, is := object.(resource.ManagedList)
	if err != nil || !is {
		return nil, nil //nolint:nilerr // It is none.
	}
	return kind.List(ctx, kube, empty)
}

// printTenants writes the rules, the usage of the quotas, and a line for each resource that breaks a rule or waits for a quota.
func printTenants(out io.Writer, tenants []v1alpha1.ProviderTenant, quotas quotaReport, findings []report.Finding) error {
	for _, t := range tenants {
		name := t.Name
		if ptr.Deref(t.Unrestricted, false) {
			name += " (may do everything)"
		}
		t.Name = "" // The heading has the name.
		text, err := yaml.Marshal(t)
		if err != nil {
			return errors.Wrap(err, "cannot print the tenants")
		}
		rules := strings.TrimPrefix(string(text), "name: \"\"\n")
		fmt.Fprintf(out, "%s\n  %s\n", name, strings.ReplaceAll(strings.TrimSpace(rules), "\n", "\n  "))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	quotas.print(w)
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
	switch {
	case broken > 0:
		return errBroken
	case quotas.exceeded():
		fmt.Fprintf(out, "\n%d resources: none breaks a rule, but quotas are exceeded.\n", len(findings))
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
