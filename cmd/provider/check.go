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
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/providerconfig"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// checkCommand is the first argument of a run that checks a connection.
const checkCommand = "check"

// errNotReady ends a check that found problems, which it has printed.
var errNotReady = errors.New("the provider cannot work with this connection")

// checkOptions are the flags of a run that checks a connection.
type checkOptions struct {
	connectionOptions

	Feature []v1alpha1.ProviderFeature `enum:"${features}" group:"check" help:"Feature whose privileges to check: ${features}. May be repeated. Default: those of the configuration, or Machines." placeholder:"NAME"`
}

// checkConnection runs the command of the arguments.
func checkConnection(ctx context.Context, args []string, out io.Writer) error {
	ctrl.SetLogger(logr.Discard())
	var o checkOptions
	k := kong.Must(&o, kong.Name("provider "+checkCommand), kong.Description("Checks from here whether Proxmox VE can be reached and accepts the credentials, "+
		"what they lack, and whether the cluster is quorate. It only reads. It fails if the provider could not work."), kong.Writers(os.Stdout, os.Stderr),
		kong.ShortUsageOnError(), kong.Vars{"features": featureNames()},
		kong.ExplicitGroups(append(connectionGroups(), kong.Group{Key: "check", Title: "What to check"})))
	_, err := k.Parse(args)
	k.FatalIfErrorf(err)
	if err = o.check(ctx, out); err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// featureNames returns the names of all features that can be checked.
func featureNames() string {
	all := proxmox.Features()
	names := make([]string, 0, len(all))
	for _, f := range all {
		names = append(names, string(f))
	}
	return strings.Join(names, ",")
}

func (o *checkOptions) check(ctx context.Context, out io.Writer) error {
	if err := o.validate(); err != nil {
		return err
	}
	conn, _, err := o.connect(ctx)
	if err != nil {
		return err
	}
	if len(o.Feature) > 0 {
		conn.Config.Features = o.Feature
	}
	conditions := providerconfig.Check(ctx, conn.Client, conn.Config)
	if err := printConditions(out, conditions); err != nil {
		return err
	}
	for _, c := range conditions {
		if c.Type == xpv2.TypeReady && c.Status != corev1.ConditionTrue {
			return errNotReady
		}
	}
	return nil
}

// printConditions writes a line for each condition.
func printConditions(out io.Writer, conditions []xpv2.Condition) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range conditions {
		if c.Type == xpv2.TypeReady {
			continue // Ready repeats the first condition that is false.
		}
		text := c.Message
		switch {
		case c.Status == corev1.ConditionUnknown && c.Message == "":
			text = "not checked"
		case c.Status != corev1.ConditionTrue:
			text = fmt.Sprintf("%s: %s", c.Reason, c.Message)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.Type, c.Status, text)
	}
	return errors.Wrap(w.Flush(), "cannot print what was found")
}
