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

// Package machine reads and follows the Machines of both scopes.
package machine

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// The API groups that have the kind Machine.
const (
	ClusterGroup    = "proxmox.vitistack.io"
	NamespacedGroup = "proxmox.m.vitistack.io"
)

// Resources returns the resources of Machines, cluster-scoped and namespaced.
func Resources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		{Group: ClusterGroup, Version: "v1alpha1", Resource: "machines"},
		Namespaced(),
	}
}

// Namespaced returns the resource of namespaced Machines.
func Namespaced() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: NamespacedGroup, Version: "v1alpha1", Resource: "machines"}
}

// Key names a Machine. A cluster-scoped one has no namespace.
type Key struct {
	Namespace, Name string
}

// String returns NAMESPACE/NAME, or NAME alone.
func (k Key) String() string {
	return strings.TrimPrefix(k.Namespace+"/"+k.Name, "/")
}

// KeyOf returns the key of an object.
func KeyOf(u *unstructured.Unstructured) Key {
	return Key{Namespace: u.GetNamespace(), Name: u.GetName()}
}

// Arguments returns the arguments that name the Machine for kubectl.
func (k Key) Arguments() []string {
	if k.Namespace == "" {
		return []string{"machines." + ClusterGroup, k.Name}
	}
	return []string{"machines." + NamespacedGroup, k.Name, "--namespace=" + k.Namespace}
}

// Machine is the state of a Machine according to its status.
type Machine struct {
	Key Key
	// VMID is 0 until it is known.
	VMID int64
	// Node, Phase and IP are empty until they are known.
	Node, Phase, IP string
	// Ready and Synced are the status of these conditions, empty until there is one.
	Ready, Synced string
	// Message explains a condition that is not true.
	Message string
	// Deleting is true if its deletion was requested.
	Deleting bool
	// Secret is the Secret for its connection details. A zero Secret means none.
	Secret types.NamespacedName
}

// Of reads a Machine of either scope.
func Of(u *unstructured.Unstructured) Machine {
	m := Machine{
		Key:      KeyOf(u),
		Deleting: u.GetDeletionTimestamp() != nil,
		Secret:   secretOf(u),
	}
	m.VMID, _, _ = unstructured.NestedInt64(u.Object, "status", "atProvider", "vmid")
	m.Node, _, _ = unstructured.NestedString(u.Object, "status", "atProvider", "node")
	m.Phase, _, _ = unstructured.NestedString(u.Object, "status", "atProvider", "phase")
	ips, _, _ := unstructured.NestedStringSlice(u.Object, "status", "atProvider", "ipAddresses")
	if len(ips) > 0 {
		m.IP = ips[0]
	}
	return m.withConditions(u)
}

// withConditions returns the Machine with the state in its conditions.
func (m Machine) withConditions(u *unstructured.Unstructured) Machine {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		status, _, _ := unstructured.NestedString(fields, "status")
		message, _, _ := unstructured.NestedString(fields, "message")
		switch fields["type"] {
		case "Ready":
			m.Ready = status
		case "Synced":
			m.Synced = status
		default:
			continue
		}
		if status != "True" && message != "" {
			m.Message = message
		}
	}
	return m
}

func secretOf(u *unstructured.Unstructured) types.NamespacedName {
	name, _, _ := unstructured.NestedString(u.Object, "spec", "writeConnectionSecretToRef", "name")
	if name == "" {
		return types.NamespacedName{}
	}
	namespace, _, _ := unstructured.NestedString(u.Object, "spec", "writeConnectionSecretToRef", "namespace")
	if namespace == "" {
		namespace = u.GetNamespace()
	}
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// Complete reports whether the Machine is ready, in sync, and has a VMID.
func (m Machine) Complete() bool {
	return m.Ready == "True" && m.Synced == "True" && m.VMID > 0 && !m.Deleting
}

// Headings returns the headings of the columns that Row returns.
func Headings() []string {
	return []string{"NAMESPACE", "NAME", "VMID", "NODE", "PHASE", "IP", "READY", ""}
}

// Row returns the columns of a table's row.
func (m Machine) Row() []string {
	return []string{
		orDash(m.Key.Namespace), m.Key.Name, m.vmid(), orDash(m.Node), m.phase(), orDash(m.IP), orDash(m.Ready), firstLine(m.Message),
	}
}

// String describes the Machine in a line.
func (m Machine) String() string {
	s := fmt.Sprintf("machine %s: VMID %s, node %s, phase %s, IP %s, ready %s",
		m.Key, m.vmid(), orDash(m.Node), m.phase(), orDash(m.IP), orDash(m.Ready))
	if m.Message != "" {
		s += ": " + firstLine(m.Message)
	}
	return s
}

func (m Machine) vmid() string {
	if m.VMID == 0 {
		return "-"
	}
	return strconv.FormatInt(m.VMID, 10)
}

func (m Machine) phase() string {
	if m.Deleting {
		return "Deleting"
	}
	return orDash(m.Phase)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
