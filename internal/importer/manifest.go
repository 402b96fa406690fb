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

package importer

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeyaml "sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A Form has the common parts of all manifests of a run.
type Form struct {
	// APIVersion and Kind of the manifests.
	APIVersion, Kind string

	// Namespace of the resources; empty for resources without one.
	Namespace string

	// ProviderConfig that they name; nil for the default.
	ProviderConfig *ProviderConfig

	// Policies are the management policies, such as Observe, or * for all.
	Policies []string
}

// A ProviderConfig is a reference to a provider configuration.
type ProviderConfig struct {
	// Kind of the provider configuration, if there are several.
	Kind string `json:"kind,omitempty"`

	// Name of the provider configuration.
	Name string `json:"name"`
}

// A manifest has its fields in the conventional order.
type manifest struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec"`
}

type metadata struct {
	Namespace   string            `json:"namespace,omitempty"`
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
}

type spec struct {
	ManagementPolicies []string                   `json:"managementPolicies"`
	ProviderConfigRef  *ProviderConfig            `json:"providerConfigRef,omitempty"`
	ForProvider        v1alpha1.MachineParameters `json:"forProvider"`
}

// externalName is the annotation with the external name, which identifies the VM of a Machine.
const externalName = "crossplane.io/external-name"

// Manifest returns the manifest of a VM that was described, as YAML, with a comment about what it does not contain.
func (f Form) Manifest(find Find) ([]byte, error) {
	text, err := json.Marshal(manifest{
		APIVersion: f.APIVersion,
		Kind:       f.Kind,
		Metadata: metadata{
			Namespace: f.Namespace, Name: find.Resource,
			Annotations: map[string]string{externalName: strconv.Itoa(find.VMID)},
		},
		Spec: spec{ManagementPolicies: f.Policies, ProviderConfigRef: f.ProviderConfig, ForProvider: find.Description.Parameters},
	})
	if err != nil {
		return nil, errors.Wrapf(err, "cannot write VM %d", find.VMID)
	}
	b, err := plainYAML(text)
	return append([]byte(heading(find)), b...), errors.Wrapf(err, "cannot write VM %d", find.VMID)
}

func heading(find Find) string {
	var b strings.Builder
	b.WriteString("# " + find.String() + "\n")
	if len(find.Description.Omissions) > 0 {
		b.WriteString("# Not in here, and left alone:\n")
	}
	for _, o := range find.Description.Omissions {
		b.WriteString("#   " + o.Option + ": " + strings.ReplaceAll(o.Reason, "\n", " ") + "\n")
	}
	return b.String()
}

// plainYAML converts JSON to YAML with its members in the same order.
func plainYAML(text []byte) ([]byte, error) {
	var doc yaml.Node
	text = bytes.ReplaceAll(text, []byte("\u0085"), []byte(`\u0085`)) // YAML takes this character for the end of a line.
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	plain(&doc)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(&doc)
	return b.Bytes(), errors.Join(err, e.Close())
}

// plain removes JSON's style, and writes decimals in the usual form.
func plain(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode || !ambiguous(n.Value) {
		n.Style &^= yaml.FlowStyle | yaml.DoubleQuotedStyle
	}
	for i, child := range n.Content {
		plain(child)
		if n.Kind == yaml.MappingNode && i%2 == 1 && isDecimal(n.Content[i-1].Value) {
			child.Value, child.Tag = decimal(child.Value)
			child.Style = 0 // The encoder quotes text that looks like a number.
		}
	}
}

// sexagesimal matches text that is a number to some programs that read YAML, and may be a MAC address.
var sexagesimal = regexp.MustCompile(`^[0-9]+(:[0-9]+)+$`)

// ambiguous reports whether text without quotes would be another value for Kubernetes, whose YAML takes yes for true, or for other programs. Text with
// several lines needs no quotes.
func ambiguous(s string) bool {
	if sexagesimal.MatchString(s) {
		return true
	}
	var v any
	err := kubeyaml.Unmarshal([]byte(s), &v)
	return !strings.Contains(s, "\n") && (err != nil || v != any(s))
}

// isDecimal reports whether a field has a number with decimals, which Kubernetes writes
// in thousandths: cpu.limit, and limits in MBps.
func isDecimal(field string) bool { return field == "limit" || strings.HasSuffix(field, "MBps") }

// decimal returns the number, and its type in YAML.
func decimal(s string) (value, tag string) {
	q, err := resource.ParseQuantity(s)
	if err != nil {
		return s, "!!str"
	}
	if v, whole := q.AsInt64(); whole {
		return strconv.FormatInt(v, 10), "!!int"
	}
	return strconv.FormatFloat(q.AsApproximateFloat64(), 'f', -1, 64), "!!str"
}
