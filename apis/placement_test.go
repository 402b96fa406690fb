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

package apis_test

func placementRefusals() map[string]refusal {
	return map[string]refusal{
		"Strategy": {
			reason: "There are three strategies.",
			spec:   `{placement: {strategy: Random}}`,
			want:   []string{"spec.forProvider.placement.strategy", "Random", `"Balanced"`},
		},
		"NoNodes": {
			reason: "A list without nodes would leave none.",
			spec:   `{placement: {nodes: []}}`,
			want:   []string{"spec.forProvider.placement.nodes", "at least 1"},
		},
		"SpreadWithoutGroup": {
			reason: "Only a group can be spread.",
			spec:   `{placement: {spread: Required}}`,
			want:   []string{"placement.spread needs placement.group"},
		},
		"EmptyTerm": {
			reason: "A term that names nobody is a mistake.",
			spec:   `{placement: {antiAffinity: [{required: true}]}}`,
			want:   []string{"a term of affinity needs group, matchLabels or matchExpressions"},
		},
		"InWithoutValues": {
			reason: "An expression has to be complete.",
			spec:   `{placement: {affinity: [{matchExpressions: [{key: app, operator: In}]}]}}`,
			want:   []string{"In or NotIn with values"},
		},
		"ExistsWithValues": {
			reason: "Exists takes no values.",
			spec:   `{placement: {affinity: [{matchExpressions: [{key: app, operator: Exists, values: [a]}]}]}}`,
			want:   []string{"Exists or DoesNotExist without"},
		},
		"UnknownOperator": {
			reason: "Operators are those of Kubernetes.",
			spec:   `{placement: {affinity: [{matchExpressions: [{key: app, operator: Gt, values: ["1"]}]}]}}`,
			want:   []string{"In or NotIn with values"},
		},
		"NegativeMemory": {
			reason: "Headroom is not negative.",
			spec:   `{placement: {minFreeMemory: -1Gi}}`,
			want:   []string{"placement.minFreeMemory -1Gi is not a quantity of 0 to 16Ti"},
		},
		"HugeStorage": {
			reason: "Nobody keeps two petabytes free.",
			spec:   `{placement: {minFreeStorage: 2Pi}}`,
			want:   []string{"placement.minFreeStorage 2Pi is not a quantity of 0 to 1Pi"},
		},
		"MaxVMsPerNode": {
			reason: "No VMs at all would be nowhere.",
			spec:   `{placement: {maxVMsPerNode: 0}}`,
			want:   []string{"spec.forProvider.placement.maxVMsPerNode", "greater than or equal to 1"},
		},
		"CPUOvercommit": {
			reason: "The percentage has a range.",
			spec:   `{placement: {cpuOvercommitPercent: 5}}`,
			want:   []string{"spec.forProvider.placement.cpuOvercommitPercent", "greater than or equal to 10"},
		},
	}
}
