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
	"encoding/json"
	"io/fs"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	openapi "k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// A Schema is the schema by which admission checks the parameters of a Machine.
type Schema struct {
	parameters *openapi.Schema
}

// NewSchema reads the schema of Machines from their definition in a file.
func NewSchema(files fs.FS, name string) (*Schema, error) {
	b, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, errors.Wrap(err, "cannot read the definition of Machines")
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(b, crd); err != nil {
		return nil, errors.Wrapf(err, "cannot read %q", name)
	}
	if len(crd.Spec.Versions) == 0 || crd.Spec.Versions[0].Schema == nil {
		return nil, errors.Errorf("%q has no schema", name)
	}
	text, err := json.Marshal(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["forProvider"])
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read %q", name)
	}
	s := &Schema{parameters: &openapi.Schema{}}
	return s, errors.Wrapf(json.Unmarshal(text, s.parameters), "cannot read %q", name)
}

// Refuses returns the paths of the fields whose value is refused.
func (s *Schema) Refuses(p v1alpha1.MachineParameters) []string {
	text, err := json.Marshal(p)
	if err != nil {
		return nil // Parameters can always be encoded.
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil
	}
	var paths []string
	for _, err := range validate.NewSchemaValidator(s.parameters, nil, "", strfmt.Default).Validate(tree).Errors {
		if v := (*openapierrors.Validation)(nil); errors.As(err, &v) {
			paths = append(paths, v.Name)
		}
	}
	return paths
}
