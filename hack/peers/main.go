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

// Command peers runs the acceptance tests of bpg's Terraform provider against the simulator. Their authors did not know the simulator, so the tests
// show where it differs from what clients expect of Proxmox VE. Failures that known.yaml does not list are errors, and so are listed tests that pass.
//
// The programs that it builds and the output of each group of tests are kept in a folder: a run after an interrupted one continues with the next group.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// The module under test, and the program that is built if there is no Terraform.
const (
	providerModule = "github.com/bpg/terraform-provider-proxmox@v0.111.1"
	tofuModule     = "github.com/opentofu/opentofu@v1.10.6"
)

func main() {
	folder := flag.String("folder", ".cache/peers", "where everything is kept")
	groups := flag.String("groups", "", "the groups of tests, with commas between them; all without it")
	versions := flag.String("versions", "9.2,8.4", "the releases of Proxmox VE")
	fresh := flag.Bool("fresh", false, "run groups again that have run with this simulator")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, *folder, fields(*groups), fields(*versions), *fresh)
	if errors.As(err, &missingError{}) {
		fmt.Fprintln(os.Stdout, "SKIP:", err)
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		stop()
		os.Exit(1) //nolint:gocritic // What is deferred has been done.
	}
}

func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func run(ctx context.Context, folder string, groups, versions []string, fresh bool) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return errors.Wrap(err, "cannot find the folder")
	}
	listed, err := readKnown()
	if err != nil {
		return err
	}
	b := &builder{folder: folder}
	s, err := b.prepare(ctx)
	if err != nil {
		return err
	}
	s.fresh, s.known = fresh, listed
	all, err := b.groups()
	if err != nil {
		return err
	}
	if len(groups) == 0 {
		groups = all
	}
	wrong := 0
	for _, version := range versions {
		r := &report{version: version, known: listed}
		for _, group := range groups {
			text, err := s.group(ctx, version, group)
			if err != nil {
				return err
			}
			fmt.Fprintln(os.Stdout, r.add(group, text))
		}
		fmt.Fprintln(os.Stdout, r.sum())
		wrong += len(r.wrong)
		for _, line := range r.wrong {
			fmt.Fprintln(os.Stdout, "  "+line)
		}
	}
	if wrong > 0 {
		return errors.Errorf("%d tests end otherwise than hack/peers/known.yaml says; their logs are in %s", wrong, s.results)
	}
	return nil
}
