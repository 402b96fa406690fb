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

// Package pods runs the Pods of Deployments as processes of this machine: from the files of their images, and with the user, arguments, environment,
// token and volumes of their templates. Thus the programs of a cluster run without a kubelet or a container runtime. All Pods share the machine's
// network. Each has a separate loopback address, which the names of its Services resolve to. Two Pods can listen on the same port only if both listen
// at their own addresses.
package pods

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// loopback is the address of everything that is not a Pod.
const loopback = "127.0.0.1"

// Runner runs the Pods of all Deployments of one namespace, one Pod each.
type Runner struct {
	Options

	client client.Client

	changed chan event.TypedGenericEvent[*appsv1.Deployment]
	pods    map[string]*pod
	// addresses are those of Pods, by the names of their Deployments. They are not reused.
	addresses map[string]string
	cancel    context.CancelFunc
	ended     chan struct{}
}

// Options select the Pods to run and how to run them.
type Options struct {
	// Config is an administrator's configuration for the API server.
	Config *rest.Config
	// Namespace is the namespace of the Pods.
	Namespace string
	// Dir is the folder for the Pods' files.
	Dir string
	// Logs is the folder for their logs, which are named DEPLOYMENT-CONTAINER.log.
	Logs string
	// Names are further names by which Pods reach this machine.
	Names []string
}

// Start runs the Pods of a namespace until Stop is called.
func Start(ctx context.Context, o Options) (*Runner, error) {
	mgr, err := ctrl.NewManager(o.Config, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{o.Namespace: {}}},
		Client:  client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.Service{}}}},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot run Pods: %w", err)
	}
	r := &Runner{
		Options: o,
		client:  mgr.GetClient(),
		changed: make(chan event.TypedGenericEvent[*appsv1.Deployment], 100),
		pods:    map[string]*pod{},
		ended:   make(chan struct{}),

		addresses: map[string]string{},
	}
	if err := r.setup(mgr); err != nil {
		return nil, fmt.Errorf("cannot run Pods: %w", err)
	}
	ctx, r.cancel = context.WithCancel(ctx)
	go func() {
		defer close(r.ended)
		_ = mgr.Start(ctx)
	}()
	return r, nil
}

func (r *Runner) setup(mgr ctrl.Manager) error {
	if err := os.MkdirAll(r.Dir, 0o755); err != nil { //nolint:gosec // Programs of other users find their files in it.
		return err
	}
	if err := os.WriteFile(r.hosts(), nil, 0o644); err != nil { //nolint:gosec // See above.
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&appsv1.Deployment{}).
		WithOptions(controller.Options{SkipNameValidation: new(true)}). // Each namespace has a separate runner.
		WatchesRawSource(source.Channel(r.changed, &handler.TypedEnqueueRequestForObject[*appsv1.Deployment]{})).
		Complete(r)
}

// Stop ends all Pods and returns when they have ended.
func (r *Runner) Stop() error {
	r.cancel()
	<-r.ended
	var errs []error
	for _, p := range r.pods {
		p.cancel()
	}
	for _, p := range r.pods {
		errs = append(errs, p.wait())
	}
	return errors.Join(errs...)
}

// RunJob runs the Pod of a Job once, waits until its container has ended, and returns an error unless it has succeeded.
func (r *Runner) RunJob(ctx context.Context, job *batchv1.Job) error {
	if err := r.nameServices(ctx); err != nil {
		return err
	}
	owner := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name}}
	p := &pod{runner: r, deployment: owner, template: job.Spec.Template}
	spec, err := p.prepare(ctx, job.Spec.Template.Spec.Containers[0])
	if err != nil {
		return err
	}
	return p.complete(ctx, spec)
}

// Reconcile starts or ends the Pod of a Deployment and reports in the Deployment's status whether it is ready.
func (r *Runner) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	d := &appsv1.Deployment{}
	err := r.client.Get(ctx, request.NamespacedName, d)
	if apierrors.IsNotFound(err) || (err == nil && d.DeletionTimestamp != nil) {
		return ctrl.Result{}, r.end(request.Name)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	r.give(d.Name)
	if err := r.nameServices(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if p := r.pods[d.Name]; p != nil && !equality.Semantic.DeepEqual(p.template, d.Spec.Template) {
		if err := r.end(d.Name); err != nil {
			return ctrl.Result{}, err
		}
	}
	if r.pods[d.Name] == nil {
		// The Pod outlives this request.
		r.pods[d.Name] = r.begin(d) //nolint:contextcheck // See above.
	}
	return ctrl.Result{}, r.tell(ctx, d, r.pods[d.Name].ready.Load())
}

func (r *Runner) end(name string) error {
	p := r.pods[name]
	if p == nil {
		return nil
	}
	delete(r.pods, name)
	p.cancel()
	return p.wait()
}

// tell writes the status that the controllers of Kubernetes would write.
func (r *Runner) tell(ctx context.Context, d *appsv1.Deployment, ready bool) error {
	count, available := int32(0), corev1.ConditionFalse
	if ready {
		count, available = 1, corev1.ConditionTrue
	}
	status := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation,
		Replicas:           1,
		UpdatedReplicas:    1,
		ReadyReplicas:      count,
		AvailableReplicas:  count,
		Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentAvailable, Status: available, Reason: "Pod", LastUpdateTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}},
	}
	if told := d.Status.Conditions; len(told) == 1 && told[0].Status == available && d.Status.ObservedGeneration == d.Generation {
		return nil
	}
	d.Status = status
	return r.client.Status().Update(ctx, d)
}

func (r *Runner) hosts() string { return filepath.Join(r.Dir, "hosts") }

// give gives the Pod of a Deployment an address, unless it has one: 127.0.1.1 and so on.
func (r *Runner) give(deployment string) {
	if r.addresses[deployment] == "" {
		r.addresses[deployment] = fmt.Sprintf("127.0.1.%d", len(r.addresses)+1)
	}
}

// nameServices resolves the name of each Service to the address of the Pod that it selects, also for Pods that have already started.
func (r *Runner) nameServices(ctx context.Context) error {
	services := &corev1.ServiceList{}
	if err := r.client.List(ctx, services, client.InNamespace(r.Namespace)); err != nil {
		return err
	}
	deployments := &appsv1.DeploymentList{}
	if err := r.client.List(ctx, deployments, client.InNamespace(r.Namespace)); err != nil {
		return err
	}
	lines := []string{loopback + " localhost " + strings.Join(r.Names, " ") + "\n"}
	for _, s := range services.Items {
		lines = append(lines, fmt.Sprintf("%[3]s %[1]s.%[2]s %[1]s.%[2]s.svc\n", s.Name, s.Namespace, r.addressOf(s, deployments.Items)))
	}
	slices.Sort(lines)
	text := strings.Join(lines, "")
	if known, err := os.ReadFile(r.hosts()); err == nil && string(known) == text {
		return nil
	}
	return os.WriteFile(r.hosts(), []byte(text), 0o644) //nolint:gosec // Programs of other users read it.
}

// addressOf returns the address of the Pod that a Service selects, or the loopback address.
func (r *Runner) addressOf(s corev1.Service, deployments []appsv1.Deployment) string {
	for _, d := range deployments {
		selected := len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(d.Spec.Template.Labels))
		if address := r.addresses[d.Name]; selected && address != "" {
			return address
		}
	}
	return loopback
}
