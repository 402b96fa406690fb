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
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/metrics"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

func TestTypeOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"Class": {
			reason: "Errors of PVE have their class.",
			err:    errors.Wrap(&proxmox.Error{Status: 401}, "cannot do it"),
			want:   "Authentication",
		},
		"Kubernetes": {
			reason: "Errors of the Kubernetes API have a type of their own.",
			err:    errors.Wrap(kerrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "s"), "cannot get it"),
			want:   "Kubernetes",
		},
		"Deadline": {
			reason: "What was not answered in time was unavailable.",
			err:    errors.Wrap(context.DeadlineExceeded, "cannot wait"),
			want:   "Unavailable",
		},
		"Configuration": {
			reason: "A configuration that cannot be used has a type of its own.",
			err:    errors.Wrap(unusable(t), "cannot connect"),
			want:   "Configuration",
		},
		"Other": {
			reason: "Other errors are unknown.",
			err:    errors.New("boom"),
			want:   "Unknown",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, typeOf(tc.err)); diff != "" {
				t.Errorf("\n%s\ntypeOf(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// unusable returns the error of a resource without a provider configuration.
func unusable(t *testing.T) error {
	t.Helper()
	m := newMachine()
	m.SetUID("uid")
	_, err := connect.New(kube(t)).Connect(t.Context(), m)
	if err == nil {
		t.Fatal("Connect(): want an error")
	}
	return err
}

// An external client for which everything fails, or nothing.
type external struct{ err error }

func (c external) Observe(context.Context, *cluster.Machine) (managed.ExternalObservation, error) {
	return managed.ExternalObservation{ResourceExists: true}, c.err
}

func (c external) Create(context.Context, *cluster.Machine) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{AdditionalDetails: managed.AdditionalDetails{"create": "1"}}, c.err
}

func (c external) Update(context.Context, *cluster.Machine) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{AdditionalDetails: managed.AdditionalDetails{"update": "1"}}, c.err
}

func (c external) Delete(context.Context, *cluster.Machine) (managed.ExternalDelete, error) {
	return managed.ExternalDelete{AdditionalDetails: managed.AdditionalDetails{"delete": "1"}}, c.err
}

func (c external) Disconnect(context.Context) error { return c.err }

func connecting(c managed.TypedExternalClient[*cluster.Machine], err error) managed.TypedExternalConnector[*cluster.Machine] {
	return managed.TypedExternalConnectorFn[*cluster.Machine](
		func(context.Context, *cluster.Machine) (managed.TypedExternalClient[*cluster.Machine], error) {
			return c, err
		})
}

// callAll calls all functions of the client and returns the results.
func callAll(ctx context.Context, c managed.TypedExternalClient[*cluster.Machine]) ([]any, []error) {
	o, err1 := c.Observe(ctx, nil)
	cr, err2 := c.Create(ctx, nil)
	u, err3 := c.Update(ctx, nil)
	d, err4 := c.Delete(ctx, nil)
	return []any{o, cr, u, d}, []error{err1, err2, err3, err4, c.Disconnect(ctx)}
}

const errorsHelp = `
# HELP proxmox_operator_errors_total Errors by their class and the controller that met them.
# TYPE proxmox_operator_errors_total counter
`

func compare(t *testing.T, m *metrics.Metrics, want string) {
	t.Helper()
	r := prometheus.NewRegistry()
	if err := m.Register(r); err != nil {
		t.Fatal(err)
	}
	if want != "" {
		want = errorsHelp + want
	}
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "proxmox_operator_errors_total"); err != nil {
		t.Error(err)
	}
}

func TestCounting(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"Fine": {
			reason: "What goes well is not counted.",
		},
		"Errors": {
			reason: "Each error is counted once.",
			err:    boom,
			want:   `proxmox_operator_errors_total{controller="c",error_type="Unknown"} 5` + "\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := metrics.New()
			next := external{err: tc.err}
			c, err := countingConnector[*cluster.Machine]{next: connecting(next, nil), counter: counter{m, "c"}}.Connect(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			results, errs := callAll(t.Context(), c)
			wantResults, _ := callAll(t.Context(), next)
			if diff := cmp.Diff(wantResults, results); diff != "" {
				t.Errorf("\n%s\nresults: -want, +got:\n%s", tc.reason, diff)
			}
			for i, err := range errs {
				if !errors.Is(err, tc.err) {
					t.Errorf("\n%s\nerror %d: want %v, got %v", tc.reason, i, tc.err, err)
				}
			}
			compare(t, m, tc.want)
		})
	}
}

// outOfTurn returns the error of a call that has to wait for its turn, and the client that made it.
func outOfTurn(t *testing.T) (*proxmox.Client, error) {
	t.Helper()
	c, err := proxmox.New(proxmox.Config{
		Endpoints: []string{"https://192.0.2.1"}, Credentials: proxmox.Credentials{TokenID: "u@pve!t", TokenSecret: "s"},
		Limits: proxmox.Limits{Tasks: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ReserveCreate(proxmox.Ref{Node: "pve1", VMID: 100}); err != nil {
		t.Fatal(err)
	}
	err = c.ReserveCreate(proxmox.Ref{Node: "pve1", VMID: 101})
	if _, ok := proxmox.Waiting(err); !ok {
		t.Fatalf("want to have to wait, got %v", err)
	}
	return c, errors.Wrap(err, "cannot go on")
}

// TestWaitingIsNoFailure checks that a call that only waits for its turn, or for something that ends by itself, does not fail, and that it is the
// outcome of the reconcile.
func TestWaitingIsNoFailure(t *testing.T) {
	_, turn := outOfTurn(t)
	for name, waits := range map[string]error{"Turn": turn, "Lock": Wait(said(500, "can't lock file '/x' - got timeout"))} {
		t.Run(name, func(t *testing.T) { waitingIsNoFailure(t, waits) })
	}
}

func waitingIsNoFailure(t *testing.T, waits error) {
	t.Helper()
	m := metrics.New()
	c := countingClient[*cluster.Machine]{next: external{err: waits}, counter: counter{m, "c"}}
	calls := map[string]func(context.Context) error{
		"Observe": func(ctx context.Context) error {
			o, err := c.Observe(ctx, nil)
			if !o.ResourceExists || !o.ResourceUpToDate {
				t.Error("Observe(): what waits must be left alone")
			}
			return err
		},
		"Update": func(ctx context.Context) error { _, err := c.Update(ctx, nil); return err },
		"Delete": func(ctx context.Context) error { _, err := c.Delete(ctx, nil); return err },
	}
	for name, call := range calls {
		var o outcome
		if err := call(withOutcome(t.Context(), &o)); err != nil {
			t.Errorf("%s(): %v", name, err)
		}
		if !errors.Is(o.err, waits) {
			t.Errorf("%s(): the outcome is %v, want %v", name, o.err, waits)
		}
	}
	compare(t, m, "")
}

func TestCountingConnect(t *testing.T) {
	boom := errors.New("boom")
	m := metrics.New()
	c := countingConnector[*cluster.Machine]{next: connecting(nil, boom), counter: counter{m, "c"}}
	if _, err := c.Connect(t.Context(), nil); !errors.Is(err, boom) {
		t.Errorf("Connect(): want %v, got %v", boom, err)
	}
	compare(t, m, `proxmox_operator_errors_total{controller="c",error_type="Unknown"} 1`+"\n")
}

func TestCountingInitializers(t *testing.T) {
	m := metrics.New()
	var order []string
	initializer := func(name string, err error) managed.Initializer {
		return managed.InitializerFn(func(context.Context, resource.Managed) error {
			order = append(order, name)
			return err
		})
	}
	boom := errors.New("boom")
	chain := managed.InitializerChain(counting([]managed.Initializer{
		initializer("first", nil), initializer("second", boom), initializer("third", nil),
	}, counter{m, "c"}))
	if err := chain.Initialize(t.Context(), nil); !errors.Is(err, boom) {
		t.Errorf("Initialize(): want %v, got %v", boom, err)
	}
	if diff := cmp.Diff([]string{"first", "second"}, order); diff != "" {
		t.Errorf("Initialize(): -want, +got:\n%s", diff)
	}
	compare(t, m, `proxmox_operator_errors_total{controller="c",error_type="Unknown"} 1`+"\n")
}
