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
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// builder builds once, in its folder, what the tests need.
type builder struct{ folder string }

// prepare returns a session that runs the tests.
func (b *builder) prepare(ctx context.Context) (*session, error) {
	terraform, err := b.terraform(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.source(ctx, providerModule, b.tests()); err != nil {
		return nil, err
	}
	simulator := filepath.Join(b.folder, "pve-simulator")
	if err := command(ctx, ".", "go", "build", "-buildvcs=false", "-trimpath", "-o", simulator, "./cmd/pve-simulator"); err != nil {
		return nil, err
	}
	program, err := os.ReadFile(simulator) //nolint:gosec // The program that was just built.
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the simulator")
	}
	sum := sha256.Sum256(program)
	results := filepath.Join(b.folder, "results", hex.EncodeToString(sum[:6]))
	return &session{builder: b, terraform: terraform, simulator: simulator, results: results}, nil
}

// tests returns the folder with bpg's source.
func (b *builder) tests() string { return filepath.Join(b.folder, "bpg") }

// source copies the source of a module into a folder where it can be built.
func (b *builder) source(ctx context.Context, module, folder string) error {
	if _, err := os.Stat(folder); err == nil {
		return nil
	}
	if err := os.MkdirAll(b.folder, 0o750); err != nil {
		return errors.Wrap(err, "cannot make the folder")
	}
	from, err := b.download(ctx, module)
	if err != nil {
		return err
	}
	part := folder + ".part"
	if err := os.RemoveAll(part); err != nil {
		return errors.Wrap(err, "cannot remove what is left of another run")
	}
	if err := os.CopyFS(part, os.DirFS(from)); err != nil {
		return errors.Wrapf(err, "cannot copy %s", from)
	}
	err = filepath.WalkDir(part, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o700) //nolint:gosec // The folders of modules cannot be written to.
	})
	if err != nil {
		return errors.Wrap(err, "cannot make the copy writable")
	}
	return errors.Wrap(os.Rename(part, folder), "cannot keep the copy")
}

// A missingError is about something that this machine lacks, so that the tests cannot run here.
type missingError struct{ error }

// download returns the folder of a module in Go's cache. If the module cannot be downloaded, the error is a missingError.
func (b *builder) download(ctx context.Context, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module) //nolint:gosec // A constant.
	cmd.Dir, cmd.Env = b.folder, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	answer := struct {
		Dir   string `json:"Dir"`
		Error string `json:"Error"`
	}{}
	if wrong := json.Unmarshal(out, &answer); wrong != nil {
		return "", errors.Errorf("cannot read what go mod download says of %s: %v, %v", module, wrong, err)
	}
	if answer.Dir == "" {
		return "", missingError{errors.Errorf("%s cannot be downloaded: %s", module, answer.Error)}
	}
	return answer.Dir, nil
}

// terraform returns the available Terraform or OpenTofu: the one that TERRAFORM names, one in the PATH, or OpenTofu built from its module.
func (b *builder) terraform(ctx context.Context) (string, error) {
	for _, name := range []string{os.Getenv("TERRAFORM"), "terraform", "tofu"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		} else if name == os.Getenv("TERRAFORM") && name != "" {
			return "", errors.Wrap(err, "cannot find what TERRAFORM names")
		}
	}
	tofu, source := filepath.Join(b.folder, "tofu"), filepath.Join(b.folder, "opentofu")
	if _, err := os.Stat(tofu); err == nil {
		return tofu, nil
	}
	err := b.source(ctx, tofuModule, source)
	if errors.As(err, &missingError{}) {
		return "", missingError{errors.Wrap(err, "install Terraform 1.11 or OpenTofu 1.10, or name one in TERRAFORM")}
	}
	if err != nil {
		return "", err
	}
	return tofu, command(ctx, source, "go", "build", "-buildvcs=false", "-trimpath", "-mod=mod", "-o", tofu, "./cmd/tofu")
}

// groups returns the packages with acceptance tests, by their folders below fwprovider.
func (b *builder) groups() ([]string, error) {
	var out []string
	root := filepath.Join(b.tests(), "fwprovider")
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // A file of the module.
		if bytes.HasPrefix(text, []byte("//go:build acceptance")) {
			group, _ := filepath.Rel(root, filepath.Dir(path))
			out = append(out, group)
		}
		return err
	})
	slices.Sort(out)
	return slices.Compact(out), errors.Wrap(err, "cannot list the tests")
}

// program builds the tests of a group.
func (b *builder) program(ctx context.Context, group string) (string, error) {
	out := filepath.Join(b.folder, "bin", strings.ReplaceAll(group, "/", "-")+".test")
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	return out, command(ctx, b.tests(), "go", "test", "-c", "-buildvcs=false", "-trimpath", "-mod=mod", "-vet=off", "-tags=acceptance",
		"-o", out, "./fwprovider/"+group)
}

// command runs a command. If it fails, the error contains its output.
func command(ctx context.Context, folder, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // The commands of this file.
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return errors.Wrapf(err, "%s %s: %s", name, strings.Join(args, " "), out)
}
