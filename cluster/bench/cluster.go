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
	"crypto/rand"
	"fmt"
	"text/template"
	"time"
)

// The template of clones, and the first VMID of the VMs that are there from the beginning.
const (
	templateID   = 9000
	templateName = "linux"
	firstID      = 10_000
)

// link is how long the storage is locked for the volume of a linked clone. With it ten VMs are cloned, changed and started within
// about the eight seconds that a real server needs for that.
const link = 300 * time.Millisecond

// firstNode holds the template, and vmNode the VMs that are there from the beginning.
const (
	firstNode = "pve1"
	vmNode    = "pve2"
)

// stoppedShare of the VMs do not run: one of so many.
const stoppedShare = 10

// A cluster is a simulated one with its VMs.
type cluster struct {
	machines int
	// rate is the limit of requests per second; 0 is the provider's default.
	rate int
	// clones is the limit of clones of the template at once; 0 is the provider's default.
	clones int
	secret string
	// link is how long the storage is locked for the volume of a linked clone.
	link time.Duration
	// settings are environment variables of the provider.
	settings []string
}

func newCluster(machines int) cluster {
	return cluster{machines: machines, secret: rand.Text(), link: link}
}

func (c cluster) stopped() int { return c.machines / stoppedShare }

func (c cluster) running() int { return c.machines - c.stopped() }

func (c cluster) guests() int { return c.machines + 1 }

// operator is the token of somebody who may do everything.
func (c cluster) operator() token { return token{id: "operator@pve!bench", secret: c.secret} }

// scenario describes the cluster for the simulator.
func (c cluster) scenario() []byte {
	var b bytes.Buffer
	err := template.Must(template.New("").Parse(clusterTemplate)).Execute(&b, map[string]any{
		"Running": c.running(), "Stopped": c.stopped(), "First": firstID, "FirstStopped": firstID + c.running(), "Secret": c.secret,
		"Nodes": []string{firstNode, vmNode, "pve3", "pve4"}, "TemplateID": templateID, "Link": c.link, "Template": templateName,
	})
	if err != nil {
		panic(fmt.Sprintf("cannot execute a constant template: %s", err))
	}
	return b.Bytes()
}

const clusterTemplate = `version: "9.2"
cluster: bench
durations:
  link: {{ .Link }}
nodes:
{{- range .Nodes }}
  - {name: {{ . }}, cpus: 128, memory: 8T, disk: 1T}
{{- end }}
storages:
  - {id: local, type: dir, path: /var/lib/vz, content: [iso, import, backup], total: 1T}
  - {id: ceph, type: rbd, shared: true, content: [images, rootdir], total: 1000T, used: 100T}
{{- define "guest" }}
      ostype: l26
      cores: "2"
      memory: "2048"
      cpu: x86-64-v2-AES
      scsihw: virtio-scsi-single
      scsi0: ceph:8,discard=on,iothread=1,ssd=1
      ide2: ceph:cloudinit
      net0: virtio,bridge=vmbr0
      boot: order=scsi0
      serial0: socket
      vga: serial0
      agent: "1"
{{- end }}
guests:
  - vmid: {{ .TemplateID }}
    node: {{ index .Nodes 0 }}
    template: true
    config:
      name: {{ .Template }}
      {{- template "guest" }}
{{- if .Running }}
  - vmid: {{ .First }}
    count: {{ .Running }}
    node: {{ index .Nodes 1 }}
    running: true
    config:
      name: vm
      {{- template "guest" }}
    agent:
      addresses:
        net0: [192.0.2.10/24]
{{- end }}
{{- if .Stopped }}
  - vmid: {{ .FirstStopped }}
    count: {{ .Stopped }}
    node: {{ index .Nodes 1 }}
    config:
      name: "off"
      {{- template "guest" }}
{{- end }}
users:
  - id: crossplane@pve
    tokens:
      - {id: demo, secret: replaced-at-the-start}
  - id: operator@pve
    tokens:
      - {id: bench, secret: {{ .Secret }}}
acl:
  - {path: /, user: crossplane@pve, roles: [PVEVMAdmin, PVEDatastoreUser, PVEAuditor, PVESDNUser, PVEPoolUser, LogReader, Downloader]}
  - {path: /, user: operator@pve, roles: [Administrator]}
roles:
  - {id: LogReader, privileges: [Sys.Syslog]}
  - {id: Downloader, privileges: [Datastore.AllocateTemplate, Sys.AccessNetwork]}
`
