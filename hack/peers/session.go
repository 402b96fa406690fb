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
	"bufio"
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

//go:embed scenario.yaml
var scenario []byte

// speed is how many times faster than on a real cluster tasks run. They take a short time, in which clients can observe them.
const speed = "100"

// nowhere is a proxy that does not exist: what the simulator downloads in the tests is served by this machine, whether or not it reaches other hosts.
const nowhere = "http://127.0.0.1:1"

// session runs groups of tests with one build of the simulator.
type session struct {
	*builder
	terraform, simulator, results string
	fresh                         bool
	known                         []*known
}

// skip returns a pattern for the tests of a group that are not run.
func (s *session) skip(group string) string {
	var out []string
	for _, k := range s.known {
		for _, test := range k.Tests {
			if name, ok := strings.CutPrefix(test, group+" "); ok && k.Ends {
				out = append(out, "^"+strings.ReplaceAll(name, "/", "$/^")+"$")
			}
		}
	}
	return strings.Join(out, "|")
}

// group returns the output of the tests of a group. It runs them if they have not completed yet.
func (s *session) group(ctx context.Context, version, group string) (string, error) {
	path := filepath.Join(s.results, version, strings.ReplaceAll(group, "/", "-")+".log")
	if text, err := os.ReadFile(path); err == nil && !s.fresh { //nolint:gosec // In our folder.
		return string(text), nil
	}
	program, err := s.program(ctx, group)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return "", errors.Wrap(err, "cannot make the folder of the results")
	}
	out, err := s.runGroup(ctx, version, group, program)
	if err != nil {
		return "", errors.Wrapf(err, "cannot run the tests of %s", group)
	}
	return out, errors.Wrap(os.WriteFile(path, []byte(out), 0o600), "cannot keep the results")
}

// runGroup runs the tests of a group with a separate simulator.
func (s *session) runGroup(ctx context.Context, version, group, program string) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	url, stopped, err := s.start(ctx, version)
	defer func() {
		cancel()
		<-stopped
	}()
	if err != nil {
		return "", err
	}
	files, err := images(ctx)
	if err != nil {
		return "", err
	}
	args := []string{"-test.v", "-test.parallel=" + parallel(group), "-test.timeout=30m"}
	if skip := s.skip(group); skip != "" {
		args = append(args, "-test.skip="+skip)
	}
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // The tests that were just built.
	cmd.Dir = filepath.Join(s.tests(), "fwprovider", group)
	cmd.Env = append(os.Environ(), s.environment(url, files)...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); ctx.Err() == nil && errors.As(err, &exit) {
		err = nil // The output shows which tests fail.
	}
	return string(out), err
}

// parallel returns how many tests of a group run in parallel: some change the same settings of the node or of the cluster.
func parallel(group string) string {
	if group == "nodes/config" || group == "cluster/options" {
		return "1"
	}
	return "4"
}

// images serves replacements for the images that the tests download.
func images(ctx context.Context) (string, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", errors.Wrap(err, "cannot listen")
	}
	qcow2 := make([]byte, 1<<16)
	copy(qcow2, "QFI\xfb\x00\x00\x00\x03")
	binary.BigEndian.PutUint32(qcow2[20:], 16)    // Clusters of 64 KiB.
	binary.BigEndian.PutUint64(qcow2[24:], 1<<30) // A disk of 1 GiB.
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(qcow2) // The error of a client that has disconnected does not matter.
	})}
	go server.Serve(ln) //nolint:errcheck // It ends with the program.
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return "http://" + ln.Addr().String(), nil
}

// environment returns the environment variables for bpg's tests.
func (s *session) environment(url, files string) []string {
	out := []string{
		"TF_ACC=1", "TF_ACC_TERRAFORM_PATH=" + s.terraform, "CHECKPOINT_DISABLE=1", "PROXMOX_VE_ENDPOINT=" + url, "PROXMOX_VE_INSECURE=true",
		"PROXMOX_VE_API_TOKEN=root@pam!tests=00000000-0000-4000-8000-000000000001", "PROXMOX_VE_USERNAME=root@pam", "PROXMOX_VE_PASSWORD=root",
		"TF_CLI_CONFIG_FILE=" + filepath.Join(s.folder, "terraformrc"), "PROXMOX_VE_ACC_IFACE_NAME=ens18",
		// The tests must not use an SSH server of this machine.
		"PROXMOX_VE_SSH_USERNAME=root", "PROXMOX_VE_SSH_PASSWORD=root", "PROXMOX_VE_ACC_NODE_SSH_ADDRESS=127.0.0.1", "PROXMOX_VE_ACC_NODE_SSH_PORT=1",
		"PROXMOX_VE_ACC_BOND_SLAVE1=eno2", "PROXMOX_VE_ACC_BOND_SLAVE2=eno3",
		"PROXMOX_VE_ACC_CLOUD_IMAGES_SERVER=" + files, "PROXMOX_VE_ACC_CONTAINER_IMAGES_SERVER=" + files, "PROXMOX_VE_ACC_TEST_FILE_SERVER_IP=127.0.0.1",
	}
	if strings.HasSuffix(s.terraform, "tofu") {
		out = append(out, "TF_ACC_PROVIDER_NAMESPACE=hashicorp", "TF_ACC_PROVIDER_HOST=registry.opentofu.org")
	}
	return out
}

// start starts a simulator on a free port, until ctx ends.
func (s *session) start(ctx context.Context, version string) (url string, stopped <-chan struct{}, err error) {
	done := make(chan struct{})
	file := filepath.Join(s.folder, "scenario.yaml")
	for path, content := range map[string][]byte{file: scenario, filepath.Join(s.folder, "terraformrc"): nil} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			close(done)
			return "", done, errors.Wrapf(err, "cannot write %s", path)
		}
	}
	args := []string{"--scenario=" + file, "--version=" + version, "--speed=" + speed, "--address=127.0.0.1:0"}
	cmd := exec.CommandContext(ctx, s.simulator, args...) //nolint:gosec // The program that was just built.
	cmd.Env = append(os.Environ(), "HTTP_PROXY="+nowhere, "HTTPS_PROXY="+nowhere, "NO_PROXY=localhost,127.0.0.1")
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		close(done)
		return "", done, errors.Wrap(err, "cannot start the simulator")
	}
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, lines) // The output ends with the process.
		_ = cmd.Wait()                    // The process is ended by a signal.
	}()
	if _, err := fmt.Sscanf(first, "pve-simulator listens on %s", &url); err != nil {
		return "", done, errors.Errorf("the simulator does not start: %s", first)
	}
	return url + "/", done, errors.Wrap(err, "the simulator says nothing")
}
