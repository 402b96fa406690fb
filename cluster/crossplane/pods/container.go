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
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/api/v1/resource"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"github.com/vitistack/provider-proxmox/cluster/local/process"
)

// prepare creates the files of a container and describes its process.
func (p *pod) prepare(ctx context.Context, c corev1.Container) (process.Spec, error) {
	root := filepath.Join(p.runner.Dir, p.deployment.Name, c.Name)
	image, err := unpack(ctx, c.Image, root)
	if err != nil {
		return process.Spec{}, err
	}
	user, err := p.user(c, image)
	if err != nil {
		return process.Spec{}, err
	}
	if err := p.furnish(ctx, c, root, user); err != nil {
		return process.Spec{}, err
	}
	env, err := p.environment(c, image)
	if err != nil {
		return process.Spec{}, err
	}
	command := p.command(c, image, env)
	return process.Spec{
		Name: p.deployment.Name + "-" + c.Name, Path: command[0], Args: command[1:], Env: flatten(env),
		Root: root, User: user, Log: p.log(c), Ready: probe(c),
	}, nil
}

// user returns the user that a container runs as. It refuses root, as the images and the templates intend.
func (p *pod) user(c corev1.Container, image v1.Config) (uint32, error) {
	text, _, _ := strings.Cut(image.User, ":")
	if s := p.template.Spec.SecurityContext; s != nil && s.RunAsUser != nil {
		text = strconv.FormatInt(*s.RunAsUser, 10)
	}
	if s := c.SecurityContext; s != nil && s.RunAsUser != nil {
		text = strconv.FormatInt(*s.RunAsUser, 10)
	}
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || id == 0 {
		return 0, fmt.Errorf("cannot run container %q as user %q: it must be the number of one that is not root", c.Name, text)
	}
	return uint32(id), nil
}

func (p *pod) command(c corev1.Container, image v1.Config, env map[string]string) []string {
	command, args := image.Entrypoint, image.Cmd
	if len(c.Command) > 0 {
		command, args = c.Command, nil
	}
	if len(c.Args) > 0 {
		args = c.Args
	}
	whole := slices.Concat(command, args)
	for i := range whole {
		whole[i] = expand(whole[i], env)
	}
	return whole
}

func expand(text string, env map[string]string) string {
	return expansion.Expand(text, expansion.MappingFuncFor(env))
}

// environment returns the environment of the image, the address of the API server, and the variables of the template.
func (p *pod) environment(c corev1.Container, image v1.Config) (map[string]string, error) {
	env := map[string]string{"HOSTNAME": p.deployment.Name}
	for _, line := range image.Env {
		name, value, _ := strings.Cut(line, "=")
		env[name] = value
	}
	server, err := url.Parse(p.runner.Config.Host)
	if err != nil {
		return nil, fmt.Errorf("cannot tell where the API server is: %w", err)
	}
	env["KUBERNETES_SERVICE_HOST"], env["KUBERNETES_SERVICE_PORT"] = server.Hostname(), server.Port()
	for _, e := range c.Env {
		value, err := p.value(c, e)
		if err != nil {
			return nil, fmt.Errorf("cannot tell the value of %q: %w", e.Name, err)
		}
		env[e.Name] = expand(value, env)
	}
	return env, nil
}

func (p *pod) value(c corev1.Container, e corev1.EnvVar) (string, error) {
	from := e.ValueFrom
	switch {
	case from == nil:
		return e.Value, nil
	case from.FieldRef != nil && from.FieldRef.FieldPath == "spec.serviceAccountName":
		return p.template.Spec.ServiceAccountName, nil
	case from.FieldRef != nil && from.FieldRef.FieldPath == "status.podIP":
		return p.address, nil
	case from.FieldRef != nil:
		return fieldpath.ExtractFieldPathAsString(p.object(), from.FieldRef.FieldPath)
	case from.ResourceFieldRef != nil:
		return resource.ExtractContainerResourceValue(from.ResourceFieldRef, &c)
	default:
		return "", fmt.Errorf("its source is not known here: %s", from)
	}
}

// object returns the Pod in the form of the API.
func (p *pod) object() *corev1.Pod {
	meta := metav1.ObjectMeta{
		Namespace: p.deployment.Namespace, Name: p.deployment.Name,
		Labels: p.template.Labels, Annotations: p.template.Annotations,
	}
	return &corev1.Pod{ObjectMeta: meta, Spec: p.template.Spec}
}

func flatten(env map[string]string) []string {
	lines := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		lines = append(lines, name+"="+env[name])
	}
	return lines
}

// probe returns the readiness probe of a container. A container without probes is ready when it has started.
func probe(c corev1.Container) process.Probe {
	for _, p := range []*corev1.Probe{c.ReadinessProbe, c.StartupProbe} {
		switch {
		case p == nil:
		case p.HTTPGet != nil:
			return process.HTTP("http://" + address(c, p.HTTPGet.Port) + p.HTTPGet.Path)
		case p.TCPSocket != nil:
			return process.TCP(address(c, p.TCPSocket.Port))
		}
	}
	return nil
}

func address(c corev1.Container, port intstr.IntOrString) string {
	number := port.IntValue()
	for _, p := range c.Ports {
		if p.Name == port.StrVal && port.Type == intstr.String {
			number = int(p.ContainerPort)
		}
	}
	return net.JoinHostPort(loopback, strconv.Itoa(number))
}
