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
	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/vitistack/provider-proxmox/internal/version"
)

// changeLogOptions returns the options for recording changes, or nil if changes are not recorded.
func changeLogOptions(o options) (*xpcontroller.ChangeLogOptions, error) {
	if !o.EnableChangeLogs {
		return nil, nil
	}
	// The socket is in a volume of the pod, so the connection needs no encryption.
	conn, err := grpc.NewClient("unix://"+o.ChangeLogsSocketPath, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, errors.Wrapf(err, "cannot use the change log service at %s", o.ChangeLogsSocketPath)
	}
	logger := managed.NewGRPCChangeLogger(changelogs.NewChangeLogServiceClient(conn), managed.WithProviderVersion("provider-proxmox:"+version.String()))
	return &xpcontroller.ChangeLogOptions{ChangeLogger: logger}, nil
}
