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
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tokenDir is where client libraries look for the token of their Pod.
const tokenDir = "var/run/secrets/kubernetes.io/serviceaccount" //nolint:gosec // The path of a secret is none.

// unpack pulls an image and unpacks its files into the folder root, unless they exist from an earlier start.
func unpack(ctx context.Context, image, root string) (v1.Config, error) {
	ref, err := name.ParseReference(image)
	if err != nil {
		return v1.Config{}, fmt.Errorf("cannot understand the image %q: %w", image, err)
	}
	pulled, err := remote.Image(ref, remote.WithContext(ctx), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
	if err != nil {
		return v1.Config{}, fmt.Errorf("cannot pull %q: %w", image, err)
	}
	config, err := pulled.ConfigFile()
	if err != nil {
		return v1.Config{}, fmt.Errorf("cannot read the configuration of %q: %w", image, err)
	}
	done := root + ".unpacked"
	if known, err := os.ReadFile(done); err == nil && string(known) == image {
		return config.Config, nil
	}
	if err := extract(pulled, root); err != nil {
		return v1.Config{}, fmt.Errorf("cannot unpack %q: %w", image, err)
	}
	return config.Config, os.WriteFile(done, []byte(image), 0o600)
}

func extract(image v1.Image, dir string) error {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil { //nolint:gosec // Another user's root.
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // What it has opened is closed already.
	files := mutate.Extract(image)
	defer files.Close() //nolint:errcheck // Only read.
	reader := tar.NewReader(files)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = place(root, header, reader)
		}
		if err != nil {
			return err
		}
	}
}

// place writes one file of an image. Images that are built here contain only folders and files.
func place(root *os.Root, header *tar.Header, content io.Reader) error {
	at := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
	switch header.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(path.Clean("./"+at), 0o755)
	case tar.TypeReg:
		if err := root.MkdirAll(path.Dir(at), 0o755); err != nil {
			return err
		}
		f, err := root.OpenFile(at, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, fs.FileMode(header.Mode).Perm()) //nolint:gosec // A mode.
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		return errors.Join(err, f.Close())
	default:
		return fmt.Errorf("%q is neither a folder nor a file", header.Name)
	}
}

// furnish adds to a container's files what a kubelet would add: names, the token, volumes.
func (p *pod) furnish(ctx context.Context, c corev1.Container, root string, user uint32) error {
	hosts := filepath.Join(root, "etc", "hosts")
	if err := os.MkdirAll(filepath.Dir(hosts), 0o755); err != nil { //nolint:gosec // Another user's root.
		return err
	}
	// A link includes names that are added later.
	if err := os.Link(p.runner.hosts(), hosts); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	token, err := p.token(ctx)
	if err != nil {
		return err
	}
	if err := fill(filepath.Join(root, tokenDir), token); err != nil {
		return err
	}
	for _, m := range c.VolumeMounts {
		if err := p.mount(ctx, m, filepath.Join(root, m.MountPath), user); err != nil {
			return fmt.Errorf("cannot mount volume %q: %w", m.Name, err)
		}
	}
	return nil
}

// token returns the token files of a ServiceAccount's Pods.
func (p *pod) token(ctx context.Context) (map[string][]byte, error) {
	account := &corev1.ServiceAccount{}
	account.Namespace, account.Name = p.deployment.Namespace, p.template.Spec.ServiceAccountName
	request := &authenticationv1.TokenRequest{}
	if err := p.runner.client.SubResource("token").Create(ctx, account, request); err != nil {
		return nil, fmt.Errorf("cannot get a token for ServiceAccount %q: %w", account.Name, err)
	}
	return map[string][]byte{
		"token":     []byte(request.Status.Token),
		"ca.crt":    p.runner.Config.CAData,
		"namespace": []byte(account.Namespace),
	}, nil
}

func (p *pod) mount(ctx context.Context, m corev1.VolumeMount, at string, user uint32) error {
	for _, v := range p.template.Spec.Volumes {
		switch {
		case v.Name != m.Name:
		case v.EmptyDir != nil:
			return errors.Join(os.MkdirAll(at, 0o755), os.Chown(at, int(user), int(user))) //nolint:gosec // Another user's folder.
		case v.Secret != nil:
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.deployment.Namespace, Name: v.Secret.SecretName}}
			if err := p.runner.client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
				return err
			}
			return fill(at, chosen(secret.Data, v.Secret.Items))
		default:
			return errors.New("it is neither an emptyDir nor a Secret")
		}
	}
	return errors.New("the Pod has no such volume")
}

func chosen(data map[string][]byte, items []corev1.KeyToPath) map[string][]byte {
	if len(items) == 0 {
		return data
	}
	files := map[string][]byte{}
	for _, i := range items {
		files[i.Path] = data[i.Key]
	}
	return files
}

// fill writes files that Pods may read, into a folder of a run that only root can enter.
func fill(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // See above.
		return err
	}
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o644); err != nil { //nolint:gosec // See above.
			return err
		}
	}
	return nil
}
