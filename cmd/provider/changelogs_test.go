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
	"context"
	"net"
	"path/filepath"
	"testing"

	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"google.golang.org/grpc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
)

// A changeLogService keeps the entries that it gets.
type changeLogService struct {
	changelogs.UnimplementedChangeLogServiceServer

	entries chan *changelogs.ChangeLogEntry
}

func (s changeLogService) SendChangeLog(_ context.Context, r *changelogs.SendChangeLogRequest) (*changelogs.SendChangeLogResponse, error) {
	s.entries <- r.GetEntry()
	return &changelogs.SendChangeLogResponse{}, nil
}

func TestChangeLogOptions(t *testing.T) {
	o := defaults()
	if got, err := changeLogOptions(o); got != nil || err != nil {
		t.Fatalf("change logs are off by default, got %v, %v", got, err)
	}
	o.EnableChangeLogs, o.ChangeLogsSocketPath = true, filepath.Join(t.TempDir(), "changelogs.sock")
	l, err := net.Listen("unix", o.ChangeLogsSocketPath)
	if err != nil {
		t.Fatal(err)
	}
	service, server := changeLogService{entries: make(chan *changelogs.ChangeLogEntry, 1)}, grpc.NewServer()
	changelogs.RegisterChangeLogServiceServer(server, service)
	go server.Serve(l) //nolint:errcheck // It ends with the test.
	t.Cleanup(server.Stop)
	got, err := changeLogOptions(o)
	if err != nil {
		t.Fatal(err)
	}
	mg := &namespaced.Pool{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "pool"}}
	meta.SetExternalName(mg, "team-a")
	if err := got.ChangeLogger.Log(t.Context(), mg, changelogs.OperationType_OPERATION_TYPE_CREATE, nil, nil); err != nil {
		t.Fatal(err)
	}
	if e := <-service.entries; e.GetName() != "pool" || e.GetExternalName() != "team-a" {
		t.Errorf("got the entry %v", e)
	}
}
