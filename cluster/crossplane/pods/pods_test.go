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

package pods

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/vitistack/provider-proxmox/cluster/xpkg/image"
)

func newPod(template corev1.PodTemplateSpec) *pod {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "provider-1"}}
	return &pod{runner: &Runner{Options: Options{Config: &rest.Config{Host: "https://127.0.0.1:6443/"}}}, deployment: d, template: template}
}

func field(path string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
}

func TestEnvironment(t *testing.T) {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"pkg.crossplane.io/revision": "provider-1"}},
		Spec:       corev1.PodSpec{ServiceAccountName: "account"},
	}
	c := corev1.Container{
		Name: "runtime",
		Args: []string{"--namespace=$(NS)", "--certs=$(DIR)", "$(MISSING)"},
		Env: []corev1.EnvVar{
			{Name: "NS", ValueFrom: field("metadata.namespace")},
			{Name: "ADDRESS", ValueFrom: field("status.podIP")},
			{Name: "ACCOUNT", ValueFrom: field("spec.serviceAccountName")},
			{Name: "REVISION", ValueFrom: field("metadata.labels['pkg.crossplane.io/revision']")},
			{Name: "CPUS", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu", Divisor: resource.MustParse("1")}}},
			{Name: "TLS", Value: "/tls"},
			{Name: "DIR", Value: "$(TLS)/server"},
			{Name: "SSL_CERT_FILE", Value: "/other"},
		},
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}},
	}
	img := v1.Config{Entrypoint: []string{"/provider"}, Env: []string{"SSL_CERT_FILE=/etc/ssl", "A=b"}}
	p := newPod(template)
	p.address = "127.0.1.1"
	env, err := p.environment(c, img)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"HOSTNAME": "provider-1", "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "6443",
		"A": "b", "NS": "system", "ADDRESS": "127.0.1.1", "ACCOUNT": "account", "REVISION": "provider-1", "CPUS": "1",
		"TLS": "/tls", "DIR": "/tls/server", "SSL_CERT_FILE": "/other",
	}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("environment: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/provider", "--namespace=system", "--certs=/tls/server", "$(MISSING)"}, p.command(c, img, env)); diff != "" {
		t.Errorf("command: -want, +got:\n%s", diff)
	}
	c.Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{}}}}
	if _, err := p.environment(c, img); err == nil {
		t.Error("a variable whose source is not known has a value")
	}
}

func TestUser(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	cases := map[string]struct {
		reason             string
		image              string
		ofPod, ofContainer *int64
		want               uint32
		refused            bool
	}{
		"Image": {reason: "without another user, a container runs as the user of its image", image: "65532:65532", want: 65532},
		"Pod":   {reason: "the user of a Pod takes precedence over that of the image", image: "65532", ofPod: number(2000), want: 2000},
		"Container": {
			reason: "the user of a container takes precedence over that of its Pod", image: "65532", ofPod: number(2000),
			ofContainer: number(3000), want: 3000,
		},
		"Root":   {reason: "a container that would run as root is refused", image: "0", refused: true},
		"Nobody": {reason: "an image without a user runs as root", refused: true},
		"Name":   {reason: "a user by name is refused, since it would have to be looked up in the image", image: "nonroot", refused: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPod(corev1.PodTemplateSpec{Spec: corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{RunAsUser: tc.ofPod}}})
			got, err := p.user(corev1.Container{SecurityContext: &corev1.SecurityContext{RunAsUser: tc.ofContainer}}, v1.Config{User: tc.image})
			if got != tc.want || (err != nil) != tc.refused {
				t.Errorf("%s: got %d, %v", tc.reason, got, err)
			}
		})
	}
}

// TestAddresses checks that a Service resolves to the address of the Pod that it selects, and that each Pod keeps its address.
func TestAddresses(t *testing.T) {
	deployment := func(name string) appsv1.Deployment {
		d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}}
		d.Spec.Template.Labels = map[string]string{"pkg.crossplane.io/function": name, "pkg.crossplane.io/revision": name + "-1"}
		return d
	}
	r := &Runner{addresses: map[string]string{}}
	for _, name := range []string{"a", "b", "a"} {
		r.give(name)
	}
	cases := map[string]struct {
		reason   string
		selector map[string]string
		want     string
	}{
		"First":   {"the first Pod has the first address, also when it comes again", map[string]string{"pkg.crossplane.io/function": "a"}, "127.0.1.1"},
		"Second":  {"the next Pod has another address", map[string]string{"pkg.crossplane.io/function": "b"}, "127.0.1.2"},
		"Unknown": {"a Pod that has not come has no address", map[string]string{"pkg.crossplane.io/function": "c"}, loopback},
		"Every":   {"a Service without a selector means no Pod", nil, loopback},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := corev1.Service{Spec: corev1.ServiceSpec{Selector: tc.selector}}
			if got := r.addressOf(s, []appsv1.Deployment{deployment("a"), deployment("b"), deployment("c")}); got != tc.want {
				t.Errorf("%s: want %s, got %s", tc.reason, tc.want, got)
			}
		})
	}
}

func TestAddress(t *testing.T) {
	c := corev1.Container{Ports: []corev1.ContainerPort{{Name: "health", ContainerPort: 8081}}}
	for want, port := range map[string]intstr.IntOrString{"127.0.0.1:8081": intstr.FromString("health"), "127.0.0.1:9090": intstr.FromInt32(9090)} {
		if got := address(c, port); got != want {
			t.Errorf("port %s is at %q, want %q", port.String(), got, want)
		}
	}
	if probe(c) != nil {
		t.Error("a container without probes has one")
	}
}

func TestExtract(t *testing.T) {
	layer, err := image.Layer([]image.File{
		{Path: "provider", Executable: true, Content: []byte("program")},
		{Path: "etc/passwd", Content: []byte("root")},
	}, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "root")
	if err := extract(img, dir); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for file, mode := range map[string]fs.FileMode{"provider": 0o755, "etc/passwd": 0o644} {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		got[file] = string(content)
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s is %v, %v, want %v", file, info.Mode(), err, mode)
		}
	}
	if diff := cmp.Diff(map[string]string{"provider": "program", "etc/passwd": "root"}, got); diff != "" {
		t.Errorf("files: -want, +got:\n%s", diff)
	}
}

func TestChosen(t *testing.T) {
	data := map[string][]byte{"tls.crt": []byte("a"), "tls.key": []byte("b")}
	if diff := cmp.Diff(data, chosen(data, nil)); diff != "" {
		t.Errorf("without a choice: -want, +got:\n%s", diff)
	}
	want := map[string][]byte{"cert.pem": []byte("a")}
	if diff := cmp.Diff(want, chosen(data, []corev1.KeyToPath{{Key: "tls.crt", Path: "cert.pem"}})); diff != "" {
		t.Errorf("with one: -want, +got:\n%s", diff)
	}
}
