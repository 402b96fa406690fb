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

import (
	"strings"
	"testing"
)

// A configKind is one of the kinds of provider configuration.
type configKind struct {
	scope     scope
	kind      string
	reference string // What a reference to a Secret must have beside its name.
}

func configKinds() map[string]configKind {
	cluster, namespaced := scopes()["Cluster"], scopes()["Namespaced"]
	return map[string]configKind{
		"ProviderConfig": {scope: cluster, kind: "ProviderConfig", reference: "namespace: crossplane-system, "},
		"ClusterProviderConfig": {
			scope: scope{group: namespaced.group}, kind: "ClusterProviderConfig", reference: "namespace: crossplane-system, ",
		},
		"NamespacedProviderConfig": {scope: namespaced, kind: "ProviderConfig"},
	}
}

// try whether the API server would create a configuration. In the spec, NS stands for what a reference must have.
func (k configKind) try(t *testing.T, spec string) error {
	t.Helper()
	return tryCreate(t.Context(), k.scope.object(t, k.kind, strings.ReplaceAll(spec, "NS ", k.reference)))
}

func TestProviderConfigRefused(t *testing.T) {
	cases := map[string]refusal{
		"Empty": {
			reason: "Where the cluster is must be said.",
			spec:   `{}`,
			want:   []string{"spec.endpoints", "Required value"},
		},
		"NoEndpoint": {
			reason: "One endpoint at least.",
			spec:   `{endpoints: [], credentials: {secretRef: {NS name: pve}}}`,
			want:   []string{"spec.endpoints", "at least 1"},
		},
		"HTTP": {
			reason: "Credentials do not travel in the clear.",
			spec:   `{endpoints: ["http://pve1.example.com:8006"], credentials: {secretRef: {NS name: pve}}}`,
			want:   []string{"spec.endpoints[0]", `"http://pve1.example.com:8006"`, "^https://"},
		},
		"PortTooHigh": {
			reason: "A port has 16 bits.",
			spec:   `{endpoints: ["https://pve1.example.com:80060"], credentials: {secretRef: {NS name: pve}}}`,
			want:   []string{"spec.endpoints[0]", "https://pve1.example.com:80060", "1 to 65535"},
		},
		"PortZero": {
			reason: "Nothing listens to port 0.",
			spec:   `{endpoints: ["https://[2001:db8::1]:0/api2/json"], credentials: {secretRef: {NS name: pve}}}`,
			want:   []string{"spec.endpoints[0]", "1 to 65535"},
		},
		"PortEndless": {
			reason: "A number may have too many digits.",
			spec:   `{endpoints: ["https://pve1:99999999999999999999999"], credentials: {secretRef: {NS name: pve}}}`,
			want:   []string{"spec.endpoints[0]", "1 to 65535"},
		},
		"NoScheme": {
			reason: "An endpoint is a URL.",
			spec:   `{endpoints: ["pve1.example.com"], credentials: {secretRef: {NS name: pve}}}`,
			want:   []string{"spec.endpoints[0]", `"pve1.example.com"`, "^https://"},
		},
		"CredentialsInTheURL": {
			reason: "A URL is no place for a secret.",
			spec:   `{endpoints: ["https://root:secret@pve1.example.com"], credentials: {secretRef: {NS name: pve}}}`,
			want:   []string{"spec.endpoints[0]", "^https://"},
		},
		"OtherPath": {
			reason: "The API is below /api2/json.",
			spec:   `{endpoints: ["https://pve1.example.com/proxmox"], credentials: {secretRef: {NS name: pve}}}`,
			want:   []string{"spec.endpoints[0]", `"https://pve1.example.com/proxmox"`, "api2"},
		},
		"OneEndpointTwice": {
			reason: "An endpoint is listed once.",
			spec:   `{endpoints: ["https://pve1.example.com", "https://pve1.example.com"], credentials: {secretRef: {NS name: pve}}}`,
			want:   []string{"spec.endpoints[1]", "Duplicate value", `"https://pve1.example.com"`},
		},
		"NoCredentials": {
			reason: "PVE answers nobody unknown.",
			spec:   `{endpoints: ["https://pve1.example.com"]}`,
			want:   []string{"spec.credentials", "Required value"},
		},
		"CredentialsEmpty": {
			reason: "PVE answers nobody unknown.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {}}`,
			want:   []string{"spec.credentials", "secretRef", "username", "password", "tokenSecret"},
		},
		"UsernameAlone": {
			reason: "A name without a secret is not enough.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {username: crossplane@pve}}`,
			want:   []string{"spec.credentials", "secretRef", "password", "tokenSecret"},
		},
		"PasswordAndToken": {
			reason: "One way to log in.",
			spec: `{endpoints: ["https://pve1.example.com"], credentials: {username: crossplane@pve, tokenID: provider,
				password: {secretRef: {NS name: pve, key: password}}, tokenSecret: {secretRef: {NS name: pve, key: token}}}}`,
			want: []string{"spec.credentials", "either password or tokenSecret"},
		},
		"SecretAndPassword": {
			reason: "One place for the credentials.",
			spec: `{endpoints: ["https://pve1.example.com"], credentials: {username: crossplane@pve, secretRef: {NS name: pve},
				password: {secretRef: {NS name: pve, key: password}}}}`,
			want: []string{"spec.credentials", "secretRef", "password"},
		},
		"SecretAndTokenID": {
			reason: "The Secret names the token.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {tokenID: crossplane@pve!provider, secretRef: {NS name: pve}}}`,
			want:   []string{"spec.credentials", "secretRef", "tokenID"},
		},
		"SecretAndUsername": {
			reason: "The Secret names the user.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {username: crossplane@pve, secretRef: {NS name: pve}}}`,
			want:   []string{"spec.credentials", "secretRef", "username"},
		},
		"TokenIDWithPassword": {
			reason: "A token has no password.",
			spec: `{endpoints: ["https://pve1.example.com"], credentials: {username: crossplane@pve, tokenID: provider,
				password: {secretRef: {NS name: pve, key: password}}}}`,
			want: []string{"spec.credentials", "tokenID", "tokenSecret"},
		},
		"TokenWithoutUser": {
			reason: "A token is a user's.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {tokenID: a1, tokenSecret: {secretRef: {NS name: pve, key: token}}}}`,
			want:   []string{"spec.credentials", "tokenID a1", "username", "user@realm!id"},
		},
		"TokenSecretInTheID": {
			reason: "A spec is no place for a secret.",
			spec: `{endpoints: ["https://pve1.example.com"], credentials: {tokenID: "crossplane@pve!provider=secret", tokenSecret: {secretRef: ` +
				`{NS name: pve, key: token}}}}`,
			want: []string{"spec.credentials.tokenID", "should match"},
		},
		"TokenWithoutID": {
			reason: "A user has many tokens.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {username: crossplane@pve, tokenSecret: {secretRef: {NS name: pve, key: token}}}}`,
			want:   []string{"spec.credentials", "tokenSecret needs tokenID"},
		},
		"PasswordWithoutUser": {
			reason: "A password is a user's.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {password: {secretRef: {NS name: pve, key: password}}}}`,
			want:   []string{"spec.credentials", "password needs username"},
		},
		"UsernameWithColon": {
			reason: "Users' names have no colons.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {username: cross:plane@pve, password: {secretRef: {NS name: pve, key: password}}}}`,
			want:   []string{"spec.credentials.username", `"cross:plane@pve"`, "should match"},
		},
		"UsernameWithoutRealm": {
			reason: "PVE's users have a realm.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {username: crossplane, password: {secretRef: {NS name: pve, key: password}}}}`,
			want:   []string{"spec.credentials.username", `"crossplane"`, "should match", "@"},
		},
		"PasswordWithoutKey": {
			reason: "A Secret has many keys.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {username: crossplane@pve, password: {secretRef: {NS name: pve}}}}`,
			want:   []string{"spec.credentials.password.secretRef.key", "Required value"},
		},
		"OtherSource": {
			reason: "Credentials are in Secrets.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {source: Environment, secretRef: {NS name: pve}}}`,
			want:   []string{"spec.credentials.source", `"Environment"`, `"Secret"`},
		},
		"RangeUpsideDown": {
			reason: "A range goes up.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {secretRef: {NS name: pve}}, vmidRange: {min: 2000, max: 1000}}`,
			want:   []string{"spec.vmidRange", "min 2000", "max 1000"},
		},
		"RangeTooLow": {
			reason: "VMIDs begin with 100.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {secretRef: {NS name: pve}}, vmidRange: {min: 99, max: 1000}}`,
			want:   []string{"spec.vmidRange.min", "99", "greater than or equal to 100"},
		},
		"RangeTooHigh": {
			reason: "VMIDs have nine digits.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {secretRef: {NS name: pve}}, vmidRange: {min: 100, max: 1000000000}}`,
			want:   []string{"spec.vmidRange.max", "1000000000", "less than or equal to 999999999"},
		},
		"RangeWithoutMax": {
			reason: "A range has two ends.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {secretRef: {NS name: pve}}, vmidRange: {min: 100}}`,
			want:   []string{"spec.vmidRange.max", "Required value"},
		},
		"TwoAuthorities": {
			reason: "One source of certificates.",
			spec: `{endpoints: ["https://pve1.example.com"], credentials: {secretRef: {NS name: pve}},
				tls: {caCertificate: x, caCertificateSecretRef: {NS name: pve, key: ca.crt}}}`,
			want: []string{"spec.tls", "at most one", "caCertificate", "caCertificateSecretRef"},
		},
		"TooManyRequests": {
			reason: "No cluster stands so many.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {secretRef: {NS name: pve}}, limits: {requestsPerSecond: 1001}}`,
			want:   []string{"spec.limits.requestsPerSecond", "1001", "less than or equal to 1000"},
		},
		"NoTasks": {
			reason: "With no task nothing is ever done.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {secretRef: {NS name: pve}}, limits: {concurrentTasks: 0}}`,
			want:   []string{"spec.limits.concurrentTasks", "greater than or equal to 1"},
		},
		"UnknownFeature": {
			reason: "Privileges are known for features that exist.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {secretRef: {NS name: pve}}, features: [Everything]}`,
			want:   []string{"spec.features[0]", "Everything", "Machines"},
		},
		"TimeoutZero": {
			reason: "A call takes time.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {secretRef: {NS name: pve}}, requestTimeoutSeconds: 0}`,
			want:   []string{"spec.requestTimeoutSeconds", "0", "greater than or equal to 1"},
		},
		"BadDefaultNode": {
			reason: "A node is named by its host name.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {secretRef: {NS name: pve}}, defaultNode: pve_1}`,
			want:   []string{"spec.defaultNode", `"pve_1"`, "should match"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for name, k := range configKinds() {
				t.Run(name, func(t *testing.T) { wantRefused(t, tc.reason, k.try(t, tc.spec), tc.want...) })
			}
		})
	}
}

func TestTenantsRefused(t *testing.T) {
	const base = `{endpoints: ["https://pve1.example.com"], credentials: {secretRef: {NS name: pve}}, tenants: [TENANTS]}`
	cases := map[string]refusal{
		"Nobody": {reason: "A tenant is somebody.", spec: `{name: a, pools: [a]}`, want: []string{"tenant a is nobody", "namespaceSelector"}},
		"NoRange": {
			reason: "VMs are told from those of others.", spec: `{name: a, namespaces: [a]}`,
			want: []string{"tenant a needs vmidRange or pools"},
		},
		"Both": {
			reason: "Who may do everything has no rules.", spec: `{name: a, namespaces: [a], unrestricted: true, pools: [a]}`,
			want: []string{"tenant a is unrestricted"},
		},
		"Twice": {
			reason: "Each has a name of its own.", spec: `{name: a, namespaces: [a], pools: [a]}, {name: a, namespaces: [b], pools: [b]}`,
			want: []string{"Duplicate value"},
		},
		"Range": {
			reason: "A range has a lower end.", spec: `{name: a, namespaces: [a], vmidRange: {min: 300, max: 200}}`,
			want: []string{"vmidRange.min 300"},
		},
		"VLANs": {
			reason: "A range of VLANs has a lower end.", spec: `{name: a, namespaces: [a], pools: [a], bridges: [{name: vmbr1, vlans: [{min: 20, max: 10}]}]}`,
			want: []string{"min 20 must not exceed max 10"},
		},
		"NoVLAN": {
			reason: "VLAN 0 is none.", spec: `{name: a, namespaces: [a], pools: [a], bridges: [{name: vmbr1, vlans: [{min: 0, max: 10}]}]}`,
			want: []string{"vlans", "greater than or equal to 1"},
		},
		"Images": {
			reason: "Images are volumes of two contents.", spec: `{name: a, namespaces: [a], pools: [a], images: ["local:snippets/x"]}`,
			want: []string{"images[0]", "should match"},
		},
		"ImageHostOfURL": {
			reason: "A host is no URL.", spec: `{name: a, namespaces: [a], pools: [a], imageHosts: ["https://images.example.org"]}`,
			want: []string{"imageHosts[0]", "should match"},
		},
		"ImageHostWildcard": {
			reason: "A wildcard stands for the first label alone.", spec: `{name: a, namespaces: [a], pools: [a], imageHosts: ["images.*.example.org"]}`,
			want: []string{"imageHosts[0]", "should match"},
		},
		"ImageHostOfAll": {
			reason: "A wildcard stands for no addresses.", spec: `{name: a, namespaces: [a], pools: [a], imageHosts: ["*.0.2.1", "*"]}`,
			want: []string{"imageHosts[0]", "imageHosts[1]", "should match"},
		},
		"ImageHostDot": {
			reason: "A name ends without a dot, and is in lower case.",
			spec:   `{name: a, namespaces: [a], pools: [a], imageHosts: ["images.example.org.", "Images.example.org"]}`,
			want:   []string{"imageHosts[0]", "imageHosts[1]", "should match"},
		},
		"ImageHostsOfAll": {
			reason: "Who may do everything has no hosts.", spec: `{name: a, namespaces: [a], unrestricted: true, imageHosts: [images.example.org]}`,
			want: []string{"tenant a is unrestricted"},
		},
		"AdoptTag": {
			reason: "Tags are as PVE writes them.", spec: `{name: a, namespaces: [a], pools: [a], allow: {adoptTags: [To-A]}}`,
			want: []string{"allow.adoptTags[0]", "should match"},
		},
		"AdoptOwnTag": {
			reason: "What all VMs carry tells none of them to be handed over.",
			spec:   `{name: a, namespaces: [a], pools: [a], tags: [to-a], allow: {adoptTags: [to-b, to-a]}}`,
			want:   []string{"tenant a has a tag in tags and in allow.adoptTags"},
		},
		"NoName": {reason: "Refusals name the tenant.", spec: `{namespaces: [a], pools: [a]}`, want: []string{"name", "Required value"}},
		"NoNamespaces": {
			reason: "A list that is empty names nobody.", spec: `{name: a, namespaces: [], pools: [a]}`,
			want: []string{"namespaces", "at least 1"},
		},
		"QuotaOfNothing": {
			reason: "A quota limits something.", spec: `{name: a, namespaces: [a], pools: [a], quota: {}}`,
			want: []string{"quota limits nothing: set vms"},
		},
		"QuotaBelowNone": {
			reason: "Nobody has less than nothing.", spec: `{name: a, namespaces: [a], pools: [a], quota: {memory: -1Gi}}`,
			want: []string{"quota.memory is 0 or more"},
		},
		"QuotaOfUnit": {
			reason: "Quantities have the units of Kubernetes.", spec: `{name: a, namespaces: [a], pools: [a], quota: {disks: [{storage: ceph, size: 5GB}]}}`,
			want: []string{"quota.disks[0].size", "should match"},
		},
		"QuotaOfLess": {
			reason: "A storage has no less than nothing.", spec: `{name: a, namespaces: [a], pools: [a], quota: {disks: [{storage: ceph, size: -5}]}}`,
			want: []string{"quota.disks.size is 0 or more"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []string{"ProviderConfig", "ClusterProviderConfig"} {
				wantRefused(t, tc.reason, configKinds()[kind].try(t, strings.Replace(base, "TENANTS", tc.spec, 1)), tc.want...)
			}
		})
	}
	for name, k := range configKinds() {
		err := k.try(t, strings.Replace(base, "TENANTS", `{name: a, namespaces: [a], pools: [a]}`, 1))
		if name == "NamespacedProviderConfig" {
			wantRefused(t, "A namespace has its own configuration for itself.", err, "spec.tenants is not for a namespaced ProviderConfig")
			continue
		}
		wantAccepted(t, "A tenant is told by its namespaces.", err)
		hosts := `{name: a, namespaces: [a], pools: [a], imageHosts: [images.example.org, "*.mirror.example.org:8443", "192.0.2.7", "[2001:db8::7]:80", local], ` +
			`allow: {adoptTags: [to-a], rootOptions: true}}`
		wantAccepted(t, "Hosts are names and addresses, with ports.", k.try(t, strings.Replace(base, "TENANTS", hosts, 1)))
		all := `{name: a, namespaces: [a], pools: [a], quota: {vms: 5, cores: 20, memory: 64Gi, disks: [{storage: ceph, size: 500Gi}, ` +
			`{storage: nfs, size: 0}], snapshots: 0, publicAddresses: [{bridge: vmbr0, count: 2}]}}`
		wantAccepted(t, "A quota limits what it names.", k.try(t, strings.Replace(base, "TENANTS", all, 1)))
		for _, one := range []string{
			"vms: 5", "cores: 20", "memory: 64Gi", "disks: [{storage: ceph, size: 500Gi}]", "snapshots: 9", "backups: 9", "publicAddresses: [{bridge: vmbr1, count: 4}]",
		} {
			spec := strings.Replace(base, "TENANTS", "{name: a, namespaces: [a], pools: [a], quota: {"+one+"}}", 1)
			wantAccepted(t, "A quota of one thing limits something: "+one+".", k.try(t, spec))
		}
	}
}

// references to Secrets and ConfigMaps, with REF for the reference.
func references() map[string]string {
	return map[string]string{
		"spec.credentials.secretRef":          `{endpoints: ["https://a.example"], credentials: {secretRef: {REF}}}`,
		"spec.credentials.password.secretRef": `{endpoints: ["https://a.example"], credentials: {username: a@pve, password: {secretRef: {REF, key: k}}}}`,
		"spec.credentials.tokenSecret.secretRef": `{endpoints: ["https://a.example"], credentials: {tokenID: a@pve!provider, tokenSecret: ` +
			`{secretRef: {REF, key: k}}}}`,
		"spec.tls.caCertificateSecretRef": `{endpoints: ["https://a.example"], credentials: {secretRef: {NS name: a}}, tls: ` +
			`{caCertificateSecretRef: {REF, key: k}}}`,
		"spec.tls.caCertificateConfigMapRef": `{endpoints: ["https://a.example"], credentials: {secretRef: {NS name: a}}, tls: ` +
			`{caCertificateConfigMapRef: {REF, key: k}}}`,
		"spec.tls.clientCertificateSecretRef": `{endpoints: ["https://a.example"], credentials: {secretRef: {NS name: a}}, tls: {clientCertificateSecretRef: {REF}}}`,
	}
}

func TestReferenceWithoutNamespaceRefused(t *testing.T) {
	for path, spec := range references() {
		t.Run(path, func(t *testing.T) {
			for _, name := range []string{"ProviderConfig", "ClusterProviderConfig"} {
				t.Run(name, func(t *testing.T) {
					err := configKinds()[name].try(t, strings.ReplaceAll(spec, "REF", "name: x"))
					wantRefused(t, "What has no namespace must name that of its Secrets.", err, path+".namespace is required")
				})
			}
		})
	}
}

func TestReferenceWithNamespaceRefused(t *testing.T) {
	for path, spec := range references() {
		t.Run(path, func(t *testing.T) {
			err := configKinds()["NamespacedProviderConfig"].try(t, strings.ReplaceAll(spec, "REF", "name: x, namespace: kube-system"))
			wantRefused(t, "A namespaced configuration reads its own namespace only.", err, path+".namespace", "own namespace only")
		})
	}
}

func TestProviderConfigAccepted(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   string
	}{
		"Minimal": {
			reason: "An endpoint and a Secret are enough.",
			spec:   `{endpoints: ["https://pve1.example.com:8006"], credentials: {secretRef: {NS name: pve}}}`,
		},
		"SecretKey": {
			reason: "One key of a Secret may hold all.",
			spec:   `{endpoints: ["https://pve1.example.com"], credentials: {source: Secret, secretRef: {NS name: pve, key: credentials}}}`,
		},
		"Endpoints": {
			reason: "All ways to write an endpoint.",
			spec: `{endpoints: ["https://pve1", "https://pve2/", "https://pve3:8006/api2/json", "https://pve4/api2/json/", "https://192.0.2.1:8006",
				"https://[2001:db8::1]:8006", "https://pve5:65535"], credentials: {secretRef: {NS name: pve}}}`,
		},
		"Token": {
			reason: "A token in its parts.",
			spec:   `{endpoints: ["https://pve1"], credentials: {username: crossplane@pve, tokenID: provider, tokenSecret: {secretRef: {NS name: pve, key: token}}}}`,
		},
		"WholeTokenID": {
			reason: "A token's ID as PVE writes it names the user.",
			spec:   `{endpoints: ["https://pve1"], credentials: {tokenID: crossplane@pve!provider, tokenSecret: {secretRef: {NS name: pve, key: token}}}}`,
		},
		"Password": {
			reason: "A user and a password.",
			spec:   `{endpoints: ["https://pve1"], credentials: {username: root@pam, password: {secretRef: {NS name: pve, key: password}}}}`,
		},
		"UserWithAt": {
			reason: "Users of a directory may be called like mail addresses.",
			spec:   `{endpoints: ["https://pve1"], credentials: {username: crossplane@example.com@ldap, password: {secretRef: {NS name: pve, key: password}}}}`,
		},
		"Everything": {
			reason: "Every field that is served.",
			spec: `{endpoints: ["https://pve1"], credentials: {secretRef: {NS name: pve}}, defaultNode: pve1, defaultStorage: ceph, defaultBridge: vmbr0,
				vmidRange: {min: 100, max: 999999999}, templateVMIDRange: {min: 100, max: 999}, requestTimeoutSeconds: 60, features: [Machines, Images],
				limits: {requestsPerSecond: 20, concurrentTasks: 8, concurrentTasksPerNode: 4, concurrentClonesPerSource: 1},
				tls: {insecureSkipTLSVerify: false, caCertificateConfigMapRef: {NS name: pve, key: ca.crt}, clientCertificateSecretRef: {NS name: ` +
				`client}, serverName: pve1}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for name, k := range configKinds() {
				t.Run(name, func(t *testing.T) { wantAccepted(t, tc.reason, k.try(t, tc.spec)) })
			}
		})
	}
}
