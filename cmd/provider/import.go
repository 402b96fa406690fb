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
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
	"github.com/vitistack/provider-proxmox/internal/importer"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/package"
)

// importCommand is the first argument of a run that imports.
const importCommand = "import"

// errInterrupted ends a run that was interrupted.
var errInterrupted = errors.New("interrupted")

// importOptions are the flags of a run that imports.
type importOptions struct {
	List  listCommand  `cmd:"" help:"List the guests of a Proxmox VE cluster."`
	Write writeCommand `cmd:"" help:"Write manifests of Machines for the VMs of a Proxmox VE cluster. Nothing is changed there."`
}

// importGroups returns the groups of these flags.
func importGroups() []kong.Group {
	return append(connectionGroups(), kong.Group{Key: "guests", Title: "Choose guests, which are those that fit all of these flags"})
}

// guestOptions select the guests and their cluster.
type guestOptions struct {
	connectionOptions

	Node []string `group:"guests" help:"Only guests on this node. May be repeated." placeholder:"NAME"`
	Pool []string `group:"guests" help:"Only members of this pool. May be repeated." placeholder:"NAME"`
	Tag  []string `group:"guests" help:"Only guests with this tag. May be repeated." placeholder:"TAG"`
	Name []string `group:"guests" help:"Only guests whose name matches this pattern; * and ? are wildcards. May be repeated." placeholder:"PATTERN"`
	VMID []int    `group:"guests" help:"Only the guest with this VMID. May be repeated." name:"vmid" placeholder:"ID"`
}

type listCommand struct {
	guestOptions

	Output string `default:"table" enum:"table,json,yaml" help:"Form of the list: table, json or yaml." short:"o"`
}

type writeCommand struct {
	guestOptions

	Output   string `help:"Folder to write a file for each VM into. Default: all to the standard output." placeholder:"FOLDER" short:"o"`
	Force    bool   `help:"Overwrite files in the folder that have something else."`
	Manage   bool   `help:"Let the Machines manage their VMs, instead of looking at them only. Deleting such a Machine deletes its VM."`
	Existing bool   `help:"Also write manifests of Machines that already exist. Applying them reverts later changes of their specs."`
	Report   string `help:"File to write the report to, too: what the manifests do not say, as JSON if its name ends so, otherwise as YAML." placeholder:"FILE"`
}

// importVMs runs the command of the arguments.
func importVMs(ctx context.Context, args []string) error {
	ctrl.SetLogger(logr.Discard())
	var o importOptions
	k := kong.Must(&o, kong.Name("provider "+importCommand), kong.Description("Writes manifests for VMs that exist."),
		kong.Writers(os.Stdout, os.Stderr), kong.ShortUsageOnError(), kong.ExplicitGroups(importGroups()), kong.BindTo(ctx, (*context.Context)(nil)))
	parsed, err := k.Parse(args)
	k.Stdout = os.Stderr // Errors in the arguments must not be mixed with manifests.
	k.FatalIfErrorf(err)
	if err = parsed.Run(); err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// noGuest is the message if there is nothing to do.
const noGuest = "no guest fits: Proxmox VE shows those alone that the credentials have VM.Audit for"

// Run lists guests.
func (o *listCommand) Run(ctx context.Context) error {
	source, finds, err := o.guests(ctx)
	if err != nil {
		return err
	}
	managed, err := source.managed(ctx)
	if err != nil {
		return err
	}
	if err := managed.Find(ctx, source, finds); err != nil {
		return err
	}
	write := map[string]func(io.Writer, []importer.Find) error{
		"table": importer.WriteTable, "json": importer.WriteJSON, "yaml": importer.WriteYAML,
	}[o.Output]
	return write(os.Stdout, finds)
}

// Run writes manifests.
func (o *writeCommand) Run(ctx context.Context) error {
	if err := o.prepare(); err != nil {
		return err
	}
	source, finds, err := o.guests(ctx)
	if err != nil {
		return err
	}
	managed, err := source.managed(ctx)
	if err != nil {
		return err
	}
	schema, err := importer.NewSchema(definitions.Files, o.definition())
	if err != nil {
		return err
	}
	rules := importer.Rules{
		Refuses: schema.Refuses, Namespace: o.Namespace, Managed: managed, Existing: o.Existing,
		Each: importer.Progress(os.Stderr, len(finds)),
	}
	if err := importer.Describe(ctx, source, finds, rules); err != nil {
		return err
	}
	if err := o.write(finds); err != nil {
		return err
	}
	return importer.Unread(finds)
}

// prepare opens the output, before minutes are spent on reading.
func (o *writeCommand) prepare() error {
	if o.Namespace == "" {
		if o.ProviderConfigKind == namespaced.ClusterProviderConfigKind {
			return errors.New("cluster-scoped Machines use a ProviderConfig: only those of a --namespace can use a ClusterProviderConfig")
		}
		o.ProviderConfigKind = cluster.ProviderConfigKind
	}
	if o.Output != "" {
		if err := os.MkdirAll(o.Output, 0o750); err != nil {
			return errors.Wrap(err, "cannot make the folder for manifests")
		}
	}
	if o.Report == "" {
		return nil
	}
	_, err := os.Stat(filepath.Dir(o.Report))
	return errors.Wrap(err, "cannot write the report")
}

func (o *writeCommand) write(finds []importer.Find) error {
	form := o.form()
	err := form.WriteStream
	if o.Output != "" {
		err = func(_ io.Writer, finds []importer.Find) error { return form.WriteFiles(o.Output, finds, o.Force) }
	}
	return errors.Join(err(os.Stdout, finds), importer.WriteReport(os.Stderr, finds), o.report(finds))
}

// report writes the report to a file, if there is one.
func (o *writeCommand) report(finds []importer.Find) error {
	if o.Report == "" {
		return nil
	}
	f, err := os.Create(o.Report)
	if err != nil {
		return errors.Wrap(err, "cannot write the report")
	}
	write := importer.WriteYAML
	if strings.HasSuffix(o.Report, ".json") {
		write = importer.WriteJSON
	}
	return errors.Wrap(errors.Join(write(f, finds), f.Close()), "cannot write the report")
}

// form returns the form of the manifests.
func (o *writeCommand) form() importer.Form {
	f := importer.Form{APIVersion: cluster.SchemeGroupVersion.String(), Kind: cluster.MachineKind, Policies: []string{"Observe"}}
	if o.Manage {
		f.Policies = []string{"*"}
	}
	if o.Namespace != "" {
		f.APIVersion, f.Namespace = namespaced.SchemeGroupVersion.String(), o.Namespace
	}
	if o.ProviderConfig == connect.DefaultName && (o.Namespace == "" || o.ProviderConfigKind == namespaced.ClusterProviderConfigKind) {
		return f
	}
	f.ProviderConfig = &importer.ProviderConfig{Name: o.ProviderConfig}
	if o.Namespace != "" {
		f.ProviderConfig.Kind = o.ProviderConfigKind
	}
	return f
}

// definition returns the file with the definition of Machines.
func (o *guestOptions) definition() string {
	group := cluster.SchemeGroupVersion.Group
	if o.Namespace != "" {
		group = namespaced.SchemeGroupVersion.Group
	}
	return "crds/" + group + "_machines.yaml"
}

// A source is the cluster that is imported from.
type source struct {
	*proxmox.Client

	// kube is the client for existing Machines; nil if there is none.
	kube client.Client
}

// guests returns the selected guests and their cluster.
func (o *guestOptions) guests(ctx context.Context) (source, []importer.Find, error) {
	if err := o.validate(); err != nil {
		return source{}, nil, err
	}
	filter := importer.Filter{Nodes: o.Node, Pools: o.Pool, Tags: o.Tag, Names: o.Name, VMIDs: o.VMID}
	if err := filter.Validate(); err != nil {
		return source{}, nil, err
	}
	conn, kube, err := o.connect(ctx)
	if err != nil {
		return source{}, nil, err
	}
	s := source{Client: conn.Client, kube: kube}
	finds, err := importer.Guests(ctx, s, filter)
	switch {
	case err != nil || len(finds) > 0:
	case o.chooses():
		err = errors.New(noGuest) // A script must be able to detect that requested guests do not exist.
	default:
		fmt.Fprintln(os.Stderr, noGuest)
	}
	return s, finds, err
}

// chooses reports whether any flag selects guests.
func (o *guestOptions) chooses() bool {
	return len(o.Node)+len(o.Pool)+len(o.Tag)+len(o.Name)+len(o.VMID) > 0
}

// managed returns the Machines of both scopes.
func (s source) managed(ctx context.Context) (importer.Machines, error) {
	all := importer.Machines{ByUUID: map[string]string{}, VMIDs: map[int]bool{}}
	if s.kube == nil {
		return all, nil
	}
	for _, list := range []resource.ManagedList{&cluster.MachineList{}, &namespaced.MachineList{}} {
		if err := s.kube.List(ctx, list); err != nil {
			return all, errors.Wrap(err, "cannot see which VMs have Machines")
		}
		for _, m := range list.GetItems() {
			all.ByUUID[strings.ToLower(m.GetAnnotations()[object.AnnotationUUID])] = path.Join(m.GetNamespace(), m.GetName())
			if id, err := strconv.Atoi(meta.GetExternalName(m)); err == nil {
				all.VMIDs[id] = true
			}
		}
	}
	delete(all.ByUUID, "")
	return all, nil
}
