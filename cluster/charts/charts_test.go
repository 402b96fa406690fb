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

package charts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const chart = "provider-proxmox"

// everything enables what is off by default.
const everything = "metrics.serviceMonitor.enabled=true,metrics.prometheusRule.enabled=true,metrics.dashboards.enabled=true," +
	"networkPolicy.enabled=true,podDisruptionBudget.enabled=true,providerConfig.create=true,replicaCount=2," +
	"provider.tracing.enabled=true,provider.changeLogs.enabled=true,provider.changeLogs.image=changelogs-sidecar:v1"

func TestChartPassesLint(t *testing.T) {
	for _, values := range []string{"", everything, everything + ",crossplane.enabled=true"} {
		if out, err := helm(t, "lint", "--strict", "--set", values, chart); err != nil {
			t.Errorf("with %q: %v\n%s", values, err, out)
		}
	}
}

func TestChartMakes(t *testing.T) {
	optional := []string{"ConfigMap", "NetworkPolicy", "PodDisruptionBudget", "PrometheusRule", "ClusterProviderConfig", "ServiceMonitor"}
	alone := []string{"ClusterRole", "ClusterRoleBinding", "Deployment", "Role", "RoleBinding", "Service", "ServiceAccount"}
	crossplane := []string{"DeploymentRuntimeConfig", "Provider", "Service"}
	cases := map[string]struct {
		reason string
		values string
		want   []string
	}{
		"Alone": {
			reason: "without Crossplane the chart brings all that the provider needs",
			want:   append([]string{"CustomResourceDefinition"}, alone...),
		},
		"AloneWithEverything": {
			reason: "each addition has its switch",
			values: everything,
			want:   slices.Concat([]string{"CustomResourceDefinition"}, alone, optional),
		},
		"AloneWithoutRights": {
			reason: "an administrator may make the definitions, the account and its rights by other means",
			values: "crds.install=false,rbac.create=false,serviceAccount.create=false,serviceAccount.name=other,metrics.service.enabled=false",
			want:   []string{"Deployment"},
		},
		"Crossplane": {
			reason: "Crossplane makes definitions, account, rights and Deployment from the package",
			values: "crossplane.enabled=true",
			want:   crossplane,
		},
		"CrossplaneWithEverything": {
			reason: "what concerns pods works for those that Crossplane makes too",
			values: everything + ",crossplane.enabled=true",
			want:   append(crossplane, optional...),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := render(t, tc.values)
			var kinds []string
			for kind := range got {
				kinds = append(kinds, kind)
			}
			slices.Sort(kinds)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, kinds); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestObjectsHaveNoUnknownFields checks objects strictly: Kubernetes refuses an unknown field only if it is asked to, so a misplaced one would not be
// noticed.
func TestObjectsHaveNoUnknownFields(t *testing.T) {
	for _, values := range []string{everything, everything + ",crossplane.enabled=true"} {
		objects := render(t, values+`,nodeSelector.disk=ssd,imagePullSecrets[0].name=registry,priorityClassName=high,`+
			`podLabels.a=b,podAnnotations.c=d,provider.defaultCluster=lab`)
		for kind, into := range map[string]any{
			"Deployment": &appsv1.Deployment{}, "Service": &corev1.Service{}, "ServiceAccount": &corev1.ServiceAccount{},
			"ConfigMap": &corev1.ConfigMap{}, "NetworkPolicy": &networkingv1.NetworkPolicy{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudget{},
			"ClusterRole": &rbacv1.ClusterRole{}, "ClusterRoleBinding": &rbacv1.ClusterRoleBinding{}, "Role": &rbacv1.Role{},
			"RoleBinding": &rbacv1.RoleBinding{}, "CustomResourceDefinition": &apiextensionsv1.CustomResourceDefinition{},
			"ServiceMonitor": &monitoringv1.ServiceMonitor{}, "PrometheusRule": &monitoringv1.PrometheusRule{},
		} {
			for _, object := range objects[kind] {
				if err := yaml.UnmarshalStrict(object, into); err != nil {
					t.Errorf("%s with %q: %v", kind, values, err)
				}
			}
		}
	}
}

// TestRightsOfExamples checks that the examples for Crossplane grant the same permissions as the chart, and to the user that Crossplane runs the
// provider as. The end-to-end tests check that the provider needs them: with the chart in the step IPAM of cluster/e2e, with Crossplane in the steps
// IPAM and Tenants of cluster/crossplane.
func TestRightsOfExamples(t *testing.T) {
	granted := one[rbacv1.ClusterRole](t, render(t, ""), "ClusterRole").Rules
	for name, group := range map[string]string{"ipam": "ipam.cluster.x-k8s.io", "namespaces": ""} {
		text, err := os.ReadFile(filepath.Join("..", "..", "examples", "crossplane", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.ClusterRole
		var binding rbacv1.ClusterRoleBinding
		first, second, _ := bytes.Cut(text, []byte("\n---\n"))
		for part, into := range map[*[]byte]any{&first: &role, &second: &binding} {
			if err := yaml.UnmarshalStrict(*part, into); err != nil {
				t.Fatal(err)
			}
		}
		var want []rbacv1.PolicyRule
		for _, rule := range granted {
			if slices.Contains(rule.APIGroups, group) && (group != "" || slices.Contains(rule.Resources, name)) {
				want = append(want, rule)
			}
		}
		if diff := cmp.Diff(want, role.Rules); diff != "" || len(want) == 0 {
			t.Errorf("%s: the chart's rules, and those of the example: -want, +got:\n%s", name, diff)
		}
		wantSubjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:crossplane-system"}}
		if diff := cmp.Diff(wantSubjects, binding.Subjects); diff != "" || binding.RoleRef.Name != role.Name {
			t.Errorf("%s: bound to %q: -want, +got:\n%s", name, binding.RoleRef.Name, diff)
		}
	}
}

func TestDeployment(t *testing.T) {
	got := one[appsv1.Deployment](t, render(t,
		"image.repository=registry.example.com/pve,image.tag=v9.9.9,replicaCount=2,provider.logLevel=debug,provider.logFormat=console,"+
			"provider.reconcileInterval=1m,provider.maxConcurrentReconciles=7,provider.defaultCluster=lab"), "Deployment")
	container := got.Spec.Template.Spec.Containers[0]
	if container.Image != "registry.example.com/pve:v9.9.9" || *got.Spec.Replicas != 2 {
		t.Errorf("the image is %q, and there are %d replicas", container.Image, *got.Spec.Replicas)
	}
	want := []string{"--log-level=debug", "--log-format=console", "--reconcile-interval=1m", "--max-concurrent-reconciles=7", "--leader-election"}
	if diff := cmp.Diff(want, container.Args); diff != "" {
		t.Errorf("arguments: -want, +got:\n%s", diff)
	}
	if !slices.Contains(container.Env, corev1.EnvVar{Name: "PROXMOX_DEFAULT_CLUSTER", Value: "lab"}) {
		t.Errorf("the environment is %+v", container.Env)
	}
	if cpu, memory := container.Resources.Limits.Cpu().String(), container.Resources.Limits.Memory().String(); cpu != "200m" || memory != "256Mi" {
		t.Errorf("the limits are %s and %s", cpu, memory)
	}
	if diff := cmp.Diff(got.Spec.Selector.MatchLabels, selected(got.Spec.Template.Labels, got.Spec.Selector.MatchLabels)); diff != "" {
		t.Errorf("the Deployment does not select its own pods:\n%s", diff)
	}
}

// TestDeploymentDefaults checks that one replica runs the image of the chart's version unless values are set.
func TestDeploymentDefaults(t *testing.T) {
	got := one[appsv1.Deployment](t, render(t, ""), "Deployment")
	image := got.Spec.Template.Spec.Containers[0].Image
	if image != "ghcr.io/vitistack/provider-proxmox-controller:v0.0.0-dev" || *got.Spec.Replicas != 1 {
		t.Errorf("the image is %q, and there are %d replicas", image, *got.Spec.Replicas)
	}
}

// runtimeConfig has the pod settings of a DeploymentRuntimeConfig.
type runtimeConfig struct {
	Spec struct {
		DeploymentTemplate struct {
			Spec appsv1.DeploymentSpec `json:"spec"`
		} `json:"deploymentTemplate"`
	} `json:"spec"`
}

// pods returns the pod templates of both forms of the chart.
func pods(t *testing.T, values string) map[string]corev1.PodTemplateSpec {
	t.Helper()
	deployment := one[appsv1.Deployment](t, render(t, values), "Deployment")
	config := one[runtimeConfig](t, render(t, strings.TrimPrefix(values+",crossplane.enabled=true", ",")), "DeploymentRuntimeConfig")
	return map[string]corev1.PodTemplateSpec{
		"Deployment": deployment.Spec.Template, "DeploymentRuntimeConfig": config.Spec.DeploymentTemplate.Spec.Template,
	}
}

// TestResources checks that values with the usual names set the resources of a pod.
func TestResources(t *testing.T) {
	cases := map[string]struct{ reason, values, requests, limits string }{
		"Default": {"The least that is needed.", "", "50m 128Mi", "200m 256Mi"},
		"Recommended": {
			"Resources may be those that the reference recommends.", "resources.requests.cpu=200m,resources.requests.memory=256Mi", "200m 256Mi", "200m 256Mi",
		},
		"More": {
			"Resources may be any that one likes.",
			"resources.requests.cpu=100m,resources.requests.memory=256Mi,resources.limits.cpu=500m,resources.limits.memory=512Mi",
			"100m 256Mi", "500m 512Mi",
		},
	}
	of := func(l corev1.ResourceList) string { return l.Cpu().String() + " " + l.Memory().String() }
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for form, pod := range pods(t, tc.values) {
				r := pod.Spec.Containers[0].Resources
				if of(r.Requests) != tc.requests || of(r.Limits) != tc.limits {
					t.Errorf("%s\n%s: want %s and %s, got %s and %s", tc.reason, form, tc.requests, tc.limits, of(r.Requests), of(r.Limits))
				}
			}
		})
	}
}

// TestScheduling checks that values with the usual names set where pods run, and the labels that select them.
func TestScheduling(t *testing.T) {
	const term = "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]."
	const values = "replicaCount=2,podLabels.environment=development,nodeSelector.disk=ssd,tolerations[0].key=infra,tolerations[0].operator=Exists," +
		term + "weight=100," + term + "podAffinityTerm.topologyKey=kubernetes.io/hostname," +
		term + "podAffinityTerm.labelSelector.matchLabels.app=provider-proxmox"
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "provider-proxmox"}}
	apart := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: selector}
	want := corev1.PodSpec{
		NodeSelector: map[string]string{"disk": "ssd"}, Tolerations: []corev1.Toleration{{Key: "infra", Operator: corev1.TolerationOpExists}},
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: apart}},
		}},
	}
	for form, pod := range pods(t, values) {
		got := corev1.PodSpec{NodeSelector: pod.Spec.NodeSelector, Tolerations: pod.Spec.Tolerations, Affinity: pod.Spec.Affinity}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", form, diff)
		}
		if pod.Labels["app"] != "provider-proxmox" || pod.Labels["environment"] != "development" {
			t.Errorf("%s: the labels are %v", form, pod.Labels)
		}
	}
}

// TestLabelOfPackage checks that an installation by the guide, with only the package, has the label of the chart's pods, which other guides use to find
// the log.
func TestLabelOfPackage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "installation.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, manifest, found := strings.Cut(string(text), "\nkind: DeploymentRuntimeConfig\n")
	manifest, _, ended := strings.Cut(manifest, "```")
	var config runtimeConfig
	if err := yaml.Unmarshal([]byte(manifest), &config); err != nil || !found || !ended {
		t.Fatalf("the guide has no DeploymentRuntimeConfig: %v\n%s", err, manifest)
	}
	if got := config.Spec.DeploymentTemplate.Spec.Template.Labels["app"]; got != "provider-proxmox" {
		t.Errorf("the label app is %q in\n%s", got, manifest)
	}
}

// TestChangeLogs checks that the sidecar and the provider share the folder of the socket in both forms of the chart.
func TestChangeLogs(t *testing.T) {
	for name, made := range pods(t, "provider.changeLogs.enabled=true,provider.changeLogs.image=changelogs-sidecar:v1") {
		pod := made.Spec
		if len(pod.Containers) != 2 || len(pod.Volumes) != 1 {
			t.Fatalf("%s: want the provider, the sidecar and one volume, got %+v", name, pod)
		}
		if !slices.Contains(pod.Containers[0].Args, "--enable-changelogs") || pod.Containers[1].Image != "changelogs-sidecar:v1" {
			t.Errorf("%s: got arguments %v and the sidecar %q", name, pod.Containers[0].Args, pod.Containers[1].Image)
		}
		for _, c := range pod.Containers {
			if len(c.VolumeMounts) != 1 || c.VolumeMounts[0].Name != pod.Volumes[0].Name || c.VolumeMounts[0].MountPath != "/var/run/changelogs" {
				t.Errorf("%s: container %s mounts %+v", name, c.Name, c.VolumeMounts)
			}
		}
	}
}

// TestVariablesOfOthers checks that variables can come from a ConfigMap and a Secret in both forms of the chart, and that all of them take effect: a
// flag takes precedence over the variable of its setting, and a variable of the pod over one of a ConfigMap, so neither is set unless values request
// it.
func TestVariablesOfOthers(t *testing.T) {
	const values = "provider.envFrom[0].configMapRef.name=settings,provider.envFrom[1].secretRef.name=proxmox-credentials"
	want := []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}},
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "proxmox-credentials"}}},
	}
	for form, pod := range pods(t, values) {
		if diff := cmp.Diff(want, pod.Spec.Containers[0].EnvFrom); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", form, diff)
		}
		if args := pod.Spec.Containers[0].Args; len(args) > 0 {
			t.Errorf("%s: the arguments %q go before variables", form, args)
		}
		for _, v := range pod.Spec.Containers[0].Env {
			if v.Name != "POD_NAMESPACE" {
				t.Errorf("%s: the variable %s goes before that of a ConfigMap", form, v.Name)
			}
		}
	}
}

// TestVariablesOfKeys checks that a variable can be a key of a Secret, in both forms of the chart.
func TestVariablesOfKeys(t *testing.T) {
	const variable = "provider.extraEnv[0]."
	const values = variable + "name=PVE_TOKEN_SECRET," + variable + "valueFrom.secretKeyRef.name=proxmox-credentials," +
		variable + "valueFrom.secretKeyRef.key=PVE_TOKEN_SECRET"
	want := corev1.EnvVar{Name: "PVE_TOKEN_SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "proxmox-credentials"}, Key: "PVE_TOKEN_SECRET",
	}}}
	for form, pod := range pods(t, values) {
		env := pod.Spec.Containers[0].Env
		if i := slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == want.Name }); i < 0 || !cmp.Equal(want, env[i]) {
			t.Errorf("%s: want the variable of the Secret, got %+v", form, env)
		}
	}
}

// TestPortsOfProxmox checks that the network policy lets the provider reach Proxmox VE on the ports of its API and of other services of it.
func TestPortsOfProxmox(t *testing.T) {
	policy := one[networkingv1.NetworkPolicy](t, render(t, "networkPolicy.enabled=true,networkPolicy.proxmox[0].ipBlock.cidr=192.0.2.0/24"), "NetworkPolicy")
	var got []string
	for _, rule := range policy.Spec.Egress {
		to := "everywhere"
		if len(rule.To) == 1 {
			to = rule.To[0].IPBlock.CIDR
		}
		for _, p := range rule.Ports {
			protocol := corev1.ProtocolTCP
			if p.Protocol != nil {
				protocol = *p.Protocol
			}
			got = append(got, fmt.Sprintf("%d/%s %s", p.Port.IntValue(), protocol, to))
		}
	}
	want := []string{
		"53/UDP everywhere", "53/TCP everywhere", "443/TCP everywhere", "6443/TCP everywhere", "443/TCP everywhere",
		"8006/TCP 192.0.2.0/24", "8007/TCP 192.0.2.0/24",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ports: -want, +got:\n%s", diff)
	}
}

func selected(labels, selector map[string]string) map[string]string {
	out := map[string]string{}
	for k := range selector {
		out[k] = labels[k]
	}
	return out
}

func TestDefinitionsAreThoseOfThePackageAndStay(t *testing.T) {
	files, err := filepath.Glob("../../package/crds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := render(t, "")["CustomResourceDefinition"]
	if len(files) == 0 || len(got) != len(files) {
		t.Errorf("got %d definitions, the package has %d", len(got), len(files))
	}
	for _, object := range got {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(object, &crd); err != nil {
			t.Fatal(err)
		}
		if crd.Annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("uninstalling deletes %s and all that was made with it", crd.Name)
		}
	}
}

// TestReadme checks that the chart's README has each value with its default.
func TestReadme(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(chart, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(read("values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	defaults(t, want, "", values)
	_, table, _ := strings.Cut(read("README.md"), "| value | default | what it is |\n|---|---|---|\n")
	for _, row := range regexp.MustCompile("(?m)^\\| `(.+?)` \\| `(.*?)` \\| .+ \\|$").FindAllStringSubmatch(table, -1) {
		got[row[1]] = row[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values and their defaults: -want of values.yaml, +got of README.md:\n%s", diff)
	}
}

// defaults adds the values below a name, as JSON. An empty map is a value itself.
func defaults(t *testing.T, to map[string]string, name string, value any) {
	t.Helper()
	if parts, ok := value.(map[string]any); ok && len(parts) > 0 {
		for key, part := range parts {
			defaults(t, to, strings.TrimPrefix(name+"."+key, "."), part)
		}
		return
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	to[name] = string(text)
}

// TestConnectionWaitsForItsKind checks that the connection is left out while its kind is not served. Helm would refuse the whole release otherwise.
func TestConnectionWaitsForItsKind(t *testing.T) {
	cluster, scoped := "proxmox.m.vitistack.io/v1alpha1/ClusterProviderConfig", "proxmox.vitistack.io/v1alpha1/ProviderConfig"
	cases := map[string]struct {
		reason string
		values string
		served string
		want   string
	}{
		"Default":      {"without a kind the chart connects the namespaced resources", "", cluster, cluster},
		"Waits":        {"the release is installed before its definitions are served", "", scoped, ""},
		"Scoped":       {"cluster-scoped resources use a configuration of their own group", "providerConfig.kind=ProviderConfig,", scoped, scoped},
		"ScopedWaits":  {"each kind waits for its own definition", "providerConfig.kind=ProviderConfig,", cluster, ""},
		"NothingAsked": {"configurations are applied like other resources by default", "providerConfig.create=false,", cluster, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := helm(t, "template", "test", chart, "--kube-version=1.36.0", "--api-versions="+tc.served,
				"--set", "providerConfig.create=true,"+tc.values+"providerConfig.spec.defaultNode=pve1")
			if err != nil {
				t.Fatalf("cannot render: %v\n%s", err, out)
			}
			if got := connection(t, out); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// connection returns the API version and kind of the provider configuration of a release, if it has one.
func connection(t *testing.T, out string) string {
	t.Helper()
	for doc := range strings.SplitSeq(out, "\n---\n") {
		var object struct {
			metav1.TypeMeta   `json:",inline"`
			metav1.ObjectMeta `json:"metadata"`

			Spec struct {
				DefaultNode string `json:"defaultNode"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		if !strings.HasSuffix(object.Kind, "ProviderConfig") {
			continue
		}
		if object.Name != "default" || object.Spec.DefaultNode != "pve1" {
			t.Errorf("got the name %q and the spec %+v", object.Name, object.Spec)
		}
		return object.APIVersion + "/" + object.Kind
	}
	return ""
}

func TestWrongValuesAreRefused(t *testing.T) {
	cases := map[string]struct {
		reason string
		values string
		want   string
	}{
		"Typo":        {"a value that nothing reads is a mistake", "replicas=2", "replicas"},
		"LogLevel":    {"the program would not start", "provider.logLevel=loud", "/provider/logLevel"},
		"Interval":    {"the program would not start", "provider.reconcileInterval=30", "/provider/reconcileInterval"},
		"Concurrency": {"nothing would be reconciled", "provider.maxConcurrentReconciles=0", "/provider/maxConcurrentReconciles"},
		"Connection":  {"no resource uses a configuration of another kind", "providerConfig.kind=Config", "/providerConfig/kind"},
		"NoAccount":   {"pods would run with the namespace's own account, without rights", "serviceAccount.create=false", "serviceAccount.name is needed"},
		"NoSidecar":   {"the provider would wait for a change log service that is not there", "provider.changeLogs.enabled=true", "provider.changeLogs.image"},
		"NoRatio":     {"there is no more than all", "provider.tracing.ratio=2", "/provider/tracing/ratio"},
		"NothingSeen": {"there would be nothing to scrape", "metrics.service.enabled=false,metrics.serviceMonitor.enabled=true", "needs metrics.service"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := template(t, tc.values)
			if err == nil || !strings.Contains(out, tc.want) {
				t.Errorf("%s: got %v\n%s", tc.reason, err, out)
			}
		})
	}
}

func one[T any](t *testing.T, objects map[string][][]byte, kind string) T {
	t.Helper()
	var out T
	if len(objects[kind]) != 1 {
		t.Fatalf("got %d of kind %s", len(objects[kind]), kind)
	}
	if err := yaml.Unmarshal(objects[kind][0], &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// render returns the rendered objects of the chart, by their kinds.
func render(t *testing.T, values string) map[string][][]byte {
	t.Helper()
	out, err := template(t, values)
	if err != nil {
		t.Fatalf("cannot render the chart with %q: %v\n%s", values, err, out)
	}
	objects := map[string][][]byte{}
	for doc := range bytes.SplitSeq([]byte(out), []byte("\n---\n")) {
		var object struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal(doc, &object); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		if object.Kind != "" {
			objects[object.Kind] = append(objects[object.Kind], doc)
		}
	}
	return objects
}

func template(t *testing.T, values string) (string, error) {
	t.Helper()
	return helm(t, "template", "test", chart, "--kube-version=1.36.0", "--api-versions=proxmox.m.vitistack.io/v1alpha1/ClusterProviderConfig", "--set", values)
}

// helm runs the program that HELM names and returns its output. Messages on standard error are included only if it fails.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	program := os.Getenv("HELM")
	if program == "" {
		t.Fatal("HELM does not name the helm program: run make test")
	}
	var out, report bytes.Buffer
	cmd := exec.CommandContext(context.Background(), program, args...)
	cmd.Stdout, cmd.Stderr = &out, &report
	if err := cmd.Run(); err != nil {
		return out.String() + report.String(), err
	}
	return out.String(), nil
}
