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

package simulator

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"
	"testing"
	"time"

	telmate "github.com/Telmate/proxmox-api-go/proxmox"
	luthermonson "github.com/luthermonson/go-proxmox"
)

// httpClient trusts the server.
func httpClient(t *testing.T, s *Server) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.CA())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestTelmateClient(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			s := NewTest(t, Options{Version: version})
			c, err := telmate.NewClient(s.URL()+"/api2/json", httpClient(t, s), "", nil, "", 30, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Login(t.Context(), "crossplane@pve", "crossplane", ""); err != nil {
				t.Fatal(err)
			}
			driveTelmate(t, s, c)
		})
	}
}

func driveTelmate(t *testing.T, s *Server, c *telmate.Client) {
	t.Helper()
	ctx := t.Context()
	template, vm := telmate.NewVmRef(9000), telmate.NewVmRef(300)
	if err := c.CheckVmRef(ctx, template); err != nil {
		t.Fatal(err)
	}
	exit := func(what string, run func() (string, error)) {
		t.Helper()
		if got, err := run(); err != nil || got != "OK" {
			t.Errorf("%s: exit status %q, error %v", what, got, err)
		}
	}
	exit("clone", func() (string, error) {
		return c.CloneQemuVm(ctx, template, map[string]any{"newid": 300, "name": "telmate", "full": false})
	})
	exit("create", func() (string, error) {
		return c.CreateQemuVm(ctx, "pve2", map[string]any{"vmid": 301, "name": "fresh", "memory": 512, "net0": "virtio,bridge=vmbr0"})
	})
	if err := c.CheckVmRef(ctx, vm); err != nil {
		t.Fatal(err)
	}
	exit("config", func() (string, error) {
		out, err := c.SetVmConfig(vm, map[string]any{"cores": 4, "description": "two\nlines"})
		text, _ := out.(string)
		return text, err
	})
	exit("start", func() (string, error) { return c.StartVm(ctx, vm) })
	interfaces, err := c.GetVmAgentNetworkInterfaces(ctx, vm)
	if err != nil || len(interfaces) != 2 {
		t.Errorf("agent: %v, error %v", interfaces, err)
	}
	if _, err := c.DeleteVm(ctx, vm); err == nil || !strings.Contains(err.Error(), "VM 300 is running - destroy failed") {
		t.Errorf("delete of a running VM: %v", err)
	}
	exit("shutdown", func() (string, error) { return c.ShutdownVm(ctx, vm) })
	config, err := c.GetVmConfig(ctx, vm)
	if err != nil || config["cores"] != 4.0 || config["description"] != "two\nlines" {
		t.Errorf("config: %v, error %v", config, err)
	}
	exit("delete", func() (string, error) { return c.DeleteVm(ctx, vm) })
	if _, there := s.Guest(300); there {
		t.Error("the VM is still there")
	}
}

func TestGoProxmoxClient(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			s := NewTest(t, Options{Version: version})
			c := luthermonson.NewClient(s.URL()+"/api2/json", luthermonson.WithHTTPClient(httpClient(t, s)),
				luthermonson.WithAPIToken(TestToken, TestSecret))
			driveGoProxmox(t, s, c)
		})
	}
}

func driveGoProxmox(t *testing.T, s *Server, c *luthermonson.Client) {
	t.Helper()
	ctx := t.Context()
	wait := func(what string, task *luthermonson.Task, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := task.Wait(ctx, time.Millisecond, time.Minute); err != nil || task.ExitStatus != "OK" {
			t.Fatalf("%s: exit status %q, error %v", what, task.ExitStatus, err)
		}
	}
	node, err := c.Node(ctx, "pve1")
	if err != nil {
		t.Fatal(err)
	}
	template, err := node.VirtualMachine(ctx, 9000)
	if err != nil {
		t.Fatal(err)
	}
	id, task, err := template.Clone(ctx, &luthermonson.VirtualMachineCloneOptions{Name: "luthermonson", Full: 1})
	wait("clone", task, err)
	vm, err := node.VirtualMachine(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	task, err = vm.Config(ctx, luthermonson.VirtualMachineOption{Name: "memory", Value: 4096})
	wait("config", task, err)
	task, err = vm.ResizeDisk(ctx, "scsi0", "+2G")
	wait("resize", task, err)
	task, err = vm.NewSnapshot(ctx, "before")
	wait("snapshot", task, err)
	task, err = vm.Start(ctx)
	wait("start", task, err)
	if interfaces, err := vm.AgentGetNetworkIFaces(ctx); err != nil || len(interfaces) != 1 {
		t.Errorf("agent: %v, error %v", interfaces, err)
	}
	task, err = vm.Stop(ctx)
	wait("stop", task, err)
	task, err = vm.Delete(ctx)
	wait("delete", task, err)
	if _, there := s.Guest(id); there {
		t.Error("the VM is still there")
	}
	if _, err := node.VirtualMachine(ctx, id); err == nil {
		t.Error("no error for a missing VM")
	}
}
