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

package apis

// Generated code depends on itself: the kinds come first, then their deep copies,
// then their method sets.

//go:generate go run ../hack/wrappers ../hack/boilerplate.go.txt v1alpha1 .
//go:generate go run ../hack/examples ../examples/cluster ../examples/namespaced
//go:generate sh -c "rm -f ../package/crds/*.yaml"
//go:generate go tool controller-gen object:headerFile=../hack/boilerplate.go.txt paths=./...
//go:generate go tool controller-gen crd:crdVersions=v1,allowDangerousTypes=false,maxDescLen=1000 output:artifacts:config=../package/crds paths=./...
//go:generate go run ../hack/definitions ../package/crds snapshots backups
//go:generate go tool angryjet generate-methodsets --header-file=../hack/boilerplate.go.txt ./...
//go:generate go run ../hack/reference ../package/crds ../docs/reference ../examples/crossplane/activation.yaml
