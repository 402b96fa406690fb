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

package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// ProviderConfigSpec has the connection to one Proxmox VE cluster, and the settings
// for the resources there.
type ProviderConfigSpec struct {
	// Endpoints of the cluster's API, https only, with or without /api2/json:
	// https://pve1.example.com:8006. The port defaults to 8006. Several endpoints must be
	// nodes of one cluster: if one cannot be reached, the provider uses the next. 1 to
	// 32.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:items:Pattern=`^https://[A-Za-z0-9.\[\]:-]+(/|/api2/?|/api2/json/?)?$`
	// +kubebuilder:validation:items:XValidation:rule="!isURL(self) || url(self).getPort() == '' || size(url(self).getPort()) <= 5 && int(url(self).getPort()) >= 1 && int(url(self).getPort()) <= 65535",messageExpression="'endpoint %s has a port that does not exist: ports are 1 to 65535, Proxmox VE has 8006'.format([self])"
	Endpoints []string `json:"endpoints"`

	// TLS has the server certificates to trust and the client certificate to present.
	// Default: the certificate authorities of the system.
	// +optional
	TLS *ProviderTLS `json:"tls,omitempty"`

	// Credentials to log in with.
	Credentials ProviderCredentials `json:"credentials"`

	// DefaultNode for new VMs whose spec names no node.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	DefaultNode *string `json:"defaultNode,omitempty"`

	// DefaultNodes are the candidates for new VMs whose spec names neither a node nor its
	// own candidates (placement.nodes), up to 64. A defaultNode takes precedence if the
	// spec has no placement. Default: all nodes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	DefaultNodes []string `json:"defaultNodes,omitempty"`

	// PreferredNodes take precedence over the other candidates for new VMs whose spec
	// names no node, up to 64. Another node is chosen if none of them has room for the
	// VM, or if affinity or anti-affinity of the spec prefers it. A defaultNode takes
	// precedence if the spec has no placement. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	PreferredNodes []string `json:"preferredNodes,omitempty"`

	// DefaultStorage for new disks whose spec names no storage.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	DefaultStorage *string `json:"defaultStorage,omitempty"`

	// DefaultBridge for new network interfaces whose spec names no bridge.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_.-]+$`
	DefaultBridge *string `json:"defaultBridge,omitempty"`

	// VMIDRange from which VMIDs are allocated, lowest free first. Default: 10000 to
	// 99999.
	// +optional
	VMIDRange *VMIDRange `json:"vmidRange,omitempty"`

	// TemplateVMIDRange from which the templates of Images get their VMIDs, lowest free
	// first, such as 100 to 999. Default: the range in vmidRange.
	// +optional
	TemplateVMIDRange *VMIDRange `json:"templateVMIDRange,omitempty"`

	// Limits on the load that the provider puts on the cluster.
	// +optional
	Limits *ProviderLimits `json:"limits,omitempty"`

	// Tenants that share the cluster, up to 64, and what the resources of each may use
	// and do. If any tenant is declared, resources that belong to no tenant can only be
	// deleted. Default: none: every resource may do everything that the credentials
	// permit.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Tenants []ProviderTenant `json:"tenants,omitempty"`

	// TenantEnforcement determines what happens when a resource breaks the rules of its
	// tenant. Refuse refuses it. Warn does everything as if there were no tenants, and
	// the condition TenantAllowed of the resource reports what would be refused: in its
	// spec and, for a Machine, in its VM and the VM's location. If nothing would be
	// refused, it reports what the resource would wait for because of the quota.
	// Default: Refuse.
	// +optional
	// +kubebuilder:default=Refuse
	// +kubebuilder:validation:Enum=Refuse;Warn
	TenantEnforcement *TenantEnforcement `json:"tenantEnforcement,omitempty"`

	// Features whose privileges are checked: Observe for resources that are only
	// observed; Machines; Migration between nodes; Snapshots; UserData for your own
	// cloud-init files; Images; Pools; Storages, with their volumes; Nodes, with their
	// networks; Cluster for its options. Each feature except Observe includes Observe.
	// The check only warns and forbids nothing. Default: Machines.
	// +optional
	// +kubebuilder:default={Machines}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +listType=set
	Features []ProviderFeature `json:"features,omitempty"`

	// RequestTimeoutSeconds is how long one API call may take, 1 to 300
	// seconds. Default: 30.
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	RequestTimeoutSeconds *int32 `json:"requestTimeoutSeconds,omitempty"`
}

// ProviderTLS has the server certificates to trust and the client certificate to
// present. The minimum version is TLS 1.2.
//
// +kubebuilder:validation:XValidation:rule="[has(self.caCertificate), has(self.caCertificateSecretRef), has(self.caCertificateConfigMapRef)].filter(s, s).size() <= 1",message="set at most one of caCertificate, caCertificateSecretRef and caCertificateConfigMapRef"
type ProviderTLS struct {
	// InsecureSkipTLSVerify accepts any server certificate. Anybody on the network path
	// can then read the credentials: use it only for trials. Default: false.
	// +optional
	InsecureSkipTLSVerify *bool `json:"insecureSkipTLSVerify,omitempty"`

	// CACertificate is one or more PEM certificates to trust instead of the certificates
	// of the system; for PVE, /etc/pve/pve-root-ca.pem.
	// +optional
	// +kubebuilder:validation:MaxLength=131072
	CACertificate *string `json:"caCertificate,omitempty"`

	// CACertificateSecretRef is the key of a Secret that holds these certificates.
	// +optional
	CACertificateSecretRef *SecretKeyReference `json:"caCertificateSecretRef,omitempty"`

	// CACertificateConfigMapRef is the key of a ConfigMap that holds these certificates.
	// +optional
	CACertificateConfigMapRef *SecretKeyReference `json:"caCertificateConfigMapRef,omitempty"`

	// ClientCertificateSecretRef is a Secret of type kubernetes.io/tls with the
	// certificate to present (tls.crt) and its key (tls.key).
	// +optional
	ClientCertificateSecretRef *SecretReference `json:"clientCertificateSecretRef,omitempty"`

	// ServerName for which the server's certificate must be valid. Default: the host of
	// the endpoint.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName *string `json:"serverName,omitempty"`
}

// ProviderCredentials are an API token (recommended) or a user and password.
//
// All of them come from one Secret (secretRef), or each from its own source (username,
// password, tokenID, tokenSecret).
//
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) != (has(self.password) || has(self.tokenSecret))",message="set either secretRef, or username with password or tokenSecret"
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && has(self.tokenSecret))",message="set either password or tokenSecret"
// +kubebuilder:validation:XValidation:rule="!has(self.tokenSecret) || has(self.tokenID)",message="tokenSecret needs tokenID"
// +kubebuilder:validation:XValidation:rule="!has(self.password) || has(self.username)",message="password needs username"
// +kubebuilder:validation:XValidation:rule="!has(self.secretRef) || (!has(self.username) && !has(self.tokenID))",message="secretRef stands for all parts: leave out username and tokenID, which the Secret holds"
// +kubebuilder:validation:XValidation:rule="!has(self.tokenID) || has(self.secretRef) || has(self.tokenSecret)",messageExpression="'tokenID %s needs tokenSecret'.format([self.tokenID])"
// +kubebuilder:validation:XValidation:rule="!has(self.tokenID) || self.tokenID.contains('!') || has(self.username)",messageExpression="'tokenID %s needs username, or is written whole: user@realm!id'.format([self.tokenID])"
type ProviderCredentials struct {
	// Source of the credentials. Must be Secret.
	// +optional
	// +kubebuilder:default=Secret
	// +kubebuilder:validation:Enum=Secret
	Source xpv2.CredentialsSource `json:"source,omitempty"`

	// SecretRef is a Secret with all credentials. If key is set, that key holds a JSON
	// document ({"username": "user@realm", "tokenID": "id", "tokenSecret": "…"} or
	// {"username": …, "password": …}) or a token as PVE writes it (user@realm!id=…).
	// Otherwise the Secret's own keys are read: username, password, tokenID, tokenSecret;
	// also token-id, token-secret, token_id, token_secret and the PVE_ variables. If tls
	// has no certificates to trust, the key ca.crt of the Secret is used.
	// +optional
	SecretRef *SecretOptionalKeyReference `json:"secretRef,omitempty"`

	// Username with realm, such as crossplane@pve. The user name itself may contain an @,
	// as in user@example.com@ldap.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[^\s:/]+@[A-Za-z][A-Za-z0-9._-]+$`
	Username *string `json:"username,omitempty"`

	// Password of the user.
	// +optional
	Password *SecretValue `json:"password,omitempty"`

	// TokenID of an API token: its name only, or in full as user@realm!name.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^([^\s:/!=]+@[A-Za-z][A-Za-z0-9._-]+!)?[A-Za-z][A-Za-z0-9._-]+$`
	TokenID *string `json:"tokenID,omitempty"`

	// TokenSecret of the API token.
	// +optional
	TokenSecret *SecretValue `json:"tokenSecret,omitempty"`
}

// SecretValue is a value held by a Secret.
type SecretValue struct {
	// SecretRef is the key of the Secret.
	SecretRef SecretKeyReference `json:"secretRef"`
}

// SecretReference names a Secret.
type SecretReference struct {
	// Namespace of the Secret. Required for cluster-scoped resources; ignored for
	// namespaced ones, which read only their own namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace *string `json:"namespace,omitempty"`

	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// SecretOptionalKeyReference names a Secret, or one key of it.
type SecretOptionalKeyReference struct {
	SecretReference `json:",inline"`

	// Key in the Secret's data.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key *string `json:"key,omitempty"`
}

// VMIDRange is a range of VMIDs, both ends included.
//
// +kubebuilder:validation:XValidation:rule="self.min <= self.max",messageExpression="'vmidRange.min %d must not exceed vmidRange.max %d'.format([self.min, self.max])"
type VMIDRange struct {
	// Min is the lowest VMID to use, 100 to 999999999.
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=999999999
	Min int32 `json:"min"`

	// Max is the highest VMID to use, 100 to 999999999.
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=999999999
	Max int32 `json:"max"`
}

// ProviderLimits limit the load that the provider puts on the cluster.
type ProviderLimits struct {
	// RequestsPerSecond is the maximum rate of API requests, 1 to 1000. Default: 50.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	RequestsPerSecond *int32 `json:"requestsPerSecond,omitempty"`

	// ConcurrentTasks is the maximum number of tasks of this provider that run in the
	// cluster at the same time, 1 to 1000. Further tasks wait. Default: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	ConcurrentTasks *int32 `json:"concurrentTasks,omitempty"`

	// ConcurrentTasksPerNode is the maximum number of tasks of this provider that run on
	// one node at the same time, 1 to 100. Default: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	ConcurrentTasksPerNode *int32 `json:"concurrentTasksPerNode,omitempty"`

	// ConcurrentClonesPerSource is the maximum number of clones of one template or VM
	// that this provider runs at the same time, 1 to 100. Default: 12. Proxmox VE does
	// not limit the concurrent clones of a template, but it creates the volumes on a
	// storage one after another, and a clone that waits ten seconds for that fails.
	// Proxmox VE makes only one clone of a running VM at a time.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	ConcurrentClonesPerSource *int32 `json:"concurrentClonesPerSource,omitempty"`
}

// A ProviderFeature is a set of kinds or fields that needs its own privileges.
//
// +kubebuilder:validation:Enum=Observe;Machines;Migration;Snapshots;UserData;Images;Pools;Storages;Nodes;Cluster
type ProviderFeature string

// Conditions of a provider configuration in addition to Ready.
const (
	// TypeConnected reports whether an endpoint of the API answers.
	TypeConnected xpv2.ConditionType = "Connected"

	// TypeCertificateVerified reports whether the server's certificate is verified.
	TypeCertificateVerified xpv2.ConditionType = "CertificateVerified"

	// TypeAuthenticated reports whether Proxmox VE accepts the credentials.
	TypeAuthenticated xpv2.ConditionType = "Authenticated"

	// TypeVersionSupported reports whether Proxmox VE is 8.0 or later.
	TypeVersionSupported xpv2.ConditionType = "VersionSupported"

	// TypePermitted reports whether the credentials have all privileges that the features
	// need.
	TypePermitted xpv2.ConditionType = "Permitted"

	// TypeQuorate reports whether the cluster accepts writes.
	TypeQuorate xpv2.ConditionType = "Quorate"

	// TypeTenantsDistinct reports whether no two tenants have VMs, VMIDs or namespaces in common.
	TypeTenantsDistinct xpv2.ConditionType = "TenantsDistinct"
)

// ProviderConfigStatus is the observed state of a provider configuration.
type ProviderConfigStatus struct {
	xpv2.ProviderConfigStatus `json:",inline"`

	// ObservedGeneration is the metadata.generation of the spec that was last checked,
	// whether the check succeeded or not. -1 before the first check.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Version of Proxmox VE that the endpoint in use reports.
	// +optional
	Version string `json:"version,omitempty"`

	// Endpoint in use: the first that answers. Calls for one node go to that node's own
	// endpoint if there is one.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// UnavailableEndpoints do not answer, or have no quorum, while another endpoint does.
	// +optional
	// +listType=atomic
	UnavailableEndpoints []string `json:"unavailableEndpoints,omitempty"`

	// Cluster is the name of the cluster. It is empty for a node that is not in a
	// cluster.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// NodesOnline is the number of nodes of the cluster that are online.
	// +optional
	NodesOnline *int32 `json:"nodesOnline,omitempty"`

	// NodesTotal is the number of nodes of the cluster.
	// +optional
	NodesTotal *int32 `json:"nodesTotal,omitempty"`

	// Tenants that have a quota, and their usage of it. Updated every minute.
	// +optional
	// +listType=map
	// +listMapKey=name
	Tenants []TenantObservation `json:"tenants,omitempty"`
}
