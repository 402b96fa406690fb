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

package crossplane

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vitistack/provider-proxmox/cluster/crossplane/stack"
	"github.com/vitistack/provider-proxmox/cluster/local/controlplane"
)

const (
	packageName = "vitistack/provider-proxmox"
	release     = "provider-proxmox"
	// The versions of the package that make e2e-crossplane builds.
	older, newer = "v0.0.1", "v0.0.2"
)

// kinds returns the managed kinds of a group, by the beginning of the names of their definitions.
func kinds() []string {
	const prefix = "../../package/crds/proxmox.vitistack.io_"
	files, err := filepath.Glob(prefix + "*.yaml")
	if err != nil || len(files) == 0 {
		panic("cannot list the definitions of the package")
	}
	var all []string
	for _, f := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(f, prefix), ".yaml")
		if !strings.HasPrefix(name, "providerconfig") {
			all = append(all, name)
		}
	}
	return all
}

// testInstall installs the package with the chart and checks that Crossplane runs it, that no managed kind is served before it is activated, and that
// the provider waits for them.
func (s *suite) testInstall(t *testing.T) {
	for _, version := range []string{older, newer} {
		if err := s.PushLayout(s.ctx, packageName, version, built(version, "package")); err != nil {
			t.Fatal(err)
		}
	}
	s.install(t, older)
	s.testLabels(t)
	if s.activation {
		s.testInactive(t)
	} else {
		s.untilServed(t, definitions())
		s.mustConnect(t)
	}
	if log := s.providerLog(t); !strings.Contains(log, `"version":"`+older+`"`) {
		t.Errorf("the program of the package does not say that it is %s:\n%s", older, log)
	}
}

// testInactive checks that no managed kind is served.
func (s *suite) testInactive(t *testing.T) {
	t.Helper()
	for _, name := range definitions() {
		s.until(t, func() string { return s.isInactive(name) })
		crd := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)
		if err := s.Kube.Get(s.ctx, client.ObjectKey{Name: name}, crd); client.IgnoreNotFound(err) != nil || err == nil {
			t.Errorf("%s is served before it is activated (%v)", name, err)
		}
	}
}

// testLabels checks that Pods have the labels that the guides use to find their logs and run commands in them: that of the chart, and that of
// Crossplane with the name of the Provider.
func (s *suite) testLabels(t *testing.T) {
	t.Helper()
	d := &appsv1.Deployment{}
	if err := s.Kube.Get(s.ctx, client.ObjectKey{Namespace: stack.Namespace, Name: s.activeRevision(t)}, d); err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]string{"app": "provider-proxmox", "pkg.crossplane.io/provider": release} {
		if got := d.Spec.Template.Labels[label]; got != want {
			t.Errorf("the label %s is %q, want %q", label, got, want)
		}
	}
}

// built returns the folder in which make e2e-crossplane has left the package or the configuration of a version.
func built(version, what string) string {
	return checkout.Resolve(filepath.Join("_output", "e2e", version, what))
}

// install installs a version of the package, or replaces the installed one, and waits until Crossplane reports it to be healthy.
func (s *suite) install(t *testing.T, version string) {
	t.Helper()
	manifests, err := s.Template(s.ctx, release, checkout.Resolve("cluster/charts/provider-proxmox"),
		"crossplane.enabled=true", "crossplane.package.tag="+version, "provider.logLevel=debug", "provider.reconcileInterval=10s",
		// The RBAC manager uses the default address, and all Pods share one network here.
		"provider.extraEnv[0].name=METRICS_BIND_ADDRESS", "provider.extraEnv[0].value=:8090")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ApplyText(s.ctx, manifests); err != nil {
		t.Fatal(err)
	}
	s.until(t, func() string {
		if got := s.deployed(); !strings.HasSuffix(got, version) {
			return fmt.Sprintf("the Deployment of %s is not there, that of %q is", version, got)
		}
		return ""
	})
	s.untilTrue(t, []*unstructured.Unstructured{s.theProvider()}, "Installed", "Healthy")
}

func (s *suite) theProvider() *unstructured.Unstructured {
	return object("pkg.crossplane.io/v1", "Provider", release)
}

// deployed returns the package of the active revision of the provider.
func (s *suite) deployed() string {
	for _, r := range s.revisions() {
		if state, _, _ := unstructured.NestedString(r.Object, "spec", "desiredState"); state == "Active" {
			image, _, _ := unstructured.NestedString(r.Object, "spec", "image")
			return image
		}
	}
	return ""
}

func (s *suite) revisions() []unstructured.Unstructured {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("pkg.crossplane.io/v1")
	list.SetKind("ProviderRevisionList")
	if err := s.Kube.List(s.ctx, list, client.MatchingLabels{"pkg.crossplane.io/package": release}); err != nil {
		return nil
	}
	return list.Items
}

// activeRevision returns the name of the active revision, of its Deployment and of its ServiceAccount.
func (s *suite) activeRevision(t *testing.T) string {
	t.Helper()
	for _, r := range s.revisions() {
		if state, _, _ := unstructured.NestedString(r.Object, "spec", "desiredState"); state == "Active" {
			return r.GetName()
		}
	}
	t.Fatal("no revision of the provider is active")
	return ""
}

// providerLog returns what the provider has logged since its revision was first active.
func (s *suite) providerLog(t *testing.T) string {
	t.Helper()
	return s.podLog(s.activeRevision(t) + "-package-runtime")
}

func definitions() []string {
	var names []string
	for _, group := range []string{"proxmox.vitistack.io", "proxmox.m.vitistack.io"} {
		for _, kind := range kinds() {
			names = append(names, kind+"."+group)
		}
	}
	return names
}

func (s *suite) isInactive(name string) string {
	definition := object("apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition", name)
	if err := s.Kube.Get(s.ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
		return err.Error()
	}
	if state, _, _ := unstructured.NestedString(definition.Object, "spec", "state"); state != "Inactive" {
		return fmt.Sprintf("%s is %q, want it inactive", name, state)
	}
	return ""
}

// activate activates managed kinds by their names, in which * is a wildcard, and waits until they are served.
func (s *suite) activate(t *testing.T, policy string, wanted []string, names ...any) {
	t.Helper()
	p := object("apiextensions.crossplane.io/v1alpha1", "ManagedResourceActivationPolicy", policy)
	p.Object["spec"] = map[string]any{"activate": names}
	if err := s.Kube.Apply(s.ctx, p); err != nil {
		t.Fatal(err)
	}
	s.untilServed(t, wanted)
}

// serveAll activates all managed kinds. Crossplane 1 serves them by itself.
func (s *suite) serveAll(t *testing.T) {
	t.Helper()
	if s.activation {
		s.activate(t, "proxmox", definitions(), "*.proxmox.vitistack.io", "*.proxmox.m.vitistack.io")
	}
	s.untilServed(t, definitions())
}

// untilServed waits until kinds are served, by the names of their definitions.
func (s *suite) untilServed(t *testing.T, names []string) {
	t.Helper()
	var definitions []*unstructured.Unstructured
	for _, name := range names {
		definitions = append(definitions, object("apiextensions.k8s.io/v1", "CustomResourceDefinition", name))
	}
	s.untilTrue(t, definitions, "Established")
}

// testActivation activates one kind, which the running provider then manages, then those of the example, and finally all of them.
func (s *suite) testActivation(t *testing.T) {
	const machines = "machines.proxmox.m.vitistack.io"
	revision := s.activeRevision(t)
	s.mustConnect(t)
	s.activate(t, "machines", []string{machines}, machines)
	objs := read(t, "examples/quickstart/01-web.yaml")
	s.kubectl(t, "apply", "-f", "examples/quickstart/01-web.yaml")
	s.untilTrue(t, objs, "Ready", "Synced")
	for _, name := range definitions() {
		if name == machines {
			continue
		}
		if missing := s.isInactive(name); missing != "" {
			t.Error(missing)
		}
	}
	const example, inactive = "examples/crossplane/activation.yaml", "machines.proxmox.vitistack.io"
	s.kubectl(t, "apply", "-f", example)
	s.untilServed(t, slices.DeleteFunc(definitions(), func(name string) bool { return name == inactive }))
	if missing := s.isInactive(inactive); missing != "" {
		t.Error(missing)
	}
	s.kubectl(t, "delete", "-f", example)
	s.serveAll(t)
	if got := s.activeRevision(t); got != revision {
		t.Errorf("revision %q has become %q", revision, got)
	}
}

// mustConnect creates the provider's configurations.
func (s *suite) mustConnect(t *testing.T) {
	t.Helper()
	objs, err := s.Connection.Objects()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Kube.ApplyAll(s.ctx, objs); err != nil {
		t.Fatal(err)
	}
}

// testRights checks that Crossplane's permissions for the provider include all that the provider requests.
func (s *suite) testRights(t *testing.T) {
	t.Helper()
	denials, err := controlplane.Denials(s.Dir, stack.Namespace, s.activeRevision(t))
	if err != nil {
		t.Fatal(err)
	}
	if denials = slices.DeleteFunc(denials, s.isEarly); len(denials) > 0 {
		t.Errorf("the API server denies the provider:\n%s", strings.Join(denials, "\n"))
	}
	account := &corev1.ServiceAccount{}
	if err := s.Kube.Get(s.ctx, client.ObjectKey{Namespace: stack.Namespace, Name: s.activeRevision(t)}, account); err != nil {
		t.Errorf("the provider does not run as the account of its revision: %v", err)
	}
	for line := range strings.Lines(s.providerLog(t)) {
		if strings.Contains(line, "forbidden") && s.activation {
			t.Errorf("the provider logs a denial:\n%s", line)
		}
	}
}

// isEarly reports whether a denial is one that every provider gets from Crossplane 1 at its start: Crossplane binds the permissions for the provider's
// own kinds a moment later. The provider retries.
func (s *suite) isEarly(denial string) bool {
	verb, path, _ := strings.Cut(denial, " ")
	return !s.activation && (verb == "list" || verb == "watch") && strings.HasPrefix(path, "/apis/proxmox.")
}
