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

// ProviderConfigSpec says how one Proxmox VE cluster is reached, and what
// holds for the resources there.
type ProviderConfigSpec struct {
	// Endpoints of the cluster's API, https only, with or without /api2/json:
	// https://pve1.example.com:8006. The port defaults to 8006. With several,
	// of the nodes of one cluster, the next one is used when one cannot be
	// reached. 1 to 32.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:items:Pattern=`^https://[A-Za-z0-9.\[\]:-]+(/|/api2/?|/api2/json/?)?$`
	// +kubebuilder:validation:items:XValidation:rule="!isURL(self) || url(self).getPort() == '' || size(url(self).getPort()) <= 5 && int(url(self).getPort()) >= 1 && int(url(self).getPort()) <= 65535",messageExpression="'endpoint %s has a port that does not exist: ports are 1 to 65535, Proxmox VE has 8006'.format([self])"
	Endpoints []string `json:"endpoints"`

	// TLS says which server certificate is trusted and which client
	// certificate is shown. Default: the certificate authorities of the system.
	// +optional
	TLS *ProviderTLS `json:"tls,omitempty"`

	// Credentials to log in with.
	Credentials ProviderCredentials `json:"credentials"`

	// DefaultNode for new VMs whose spec names none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	DefaultNode *string `json:"defaultNode,omitempty"`

	// DefaultNodes are the candidates of new VMs whose spec names neither a node
	// nor candidates of its own (placement.nodes), up to 64. A defaultNode goes
	// before them where the spec has no placement. Default: all nodes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	DefaultNodes []string `json:"defaultNodes,omitempty"`

	// PreferredNodes come before the other candidates of new VMs whose spec names no
	// node, up to 64: another is chosen if none of them can take the VM, or if
	// affinity or anti-affinity of the spec prefers it. A defaultNode goes before
	// them where the spec has no placement. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	PreferredNodes []string `json:"preferredNodes,omitempty"`

	// DefaultStorage for new disks whose spec names none.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	DefaultStorage *string `json:"defaultStorage,omitempty"`

	// DefaultBridge for new network interfaces whose spec names none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_.-]+$`
	DefaultBridge *string `json:"defaultBridge,omitempty"`

	// VMIDRange that VMIDs are taken from, lowest free first. Default: 10000
	// to 99999.
	// +optional
	VMIDRange *VMIDRange `json:"vmidRange,omitempty"`

	// TemplateVMIDRange that the templates of Images take their VMIDs from, lowest free
	// first, such as 100 to 999. Default: that of vmidRange.
	// +optional
	TemplateVMIDRange *VMIDRange `json:"templateVMIDRange,omitempty"`

	// Limits on what is asked of the cluster.
	// +optional
	Limits *ProviderLimits `json:"limits,omitempty"`

	// Tenants share the cluster, up to 64: what the resources of each may use and do. With
	// one, resources that belong to none may do nothing but be deleted. Default: none, and
	// every resource may do all that the credentials may.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Tenants []ProviderTenant `json:"tenants,omitempty"`

	// TenantEnforcement says what becomes of what tenants may not have: Refuse, or
	// Warn, with which everything is done as if there were no tenants, and the
	// condition TenantAllowed of each resource says what would be refused of its
	// spec and, of a Machine, of what its VM has and where it is. Default: Refuse.
	// +optional
	// +kubebuilder:default=Refuse
	// +kubebuilder:validation:Enum=Refuse;Warn
	TenantEnforcement *TenantEnforcement `json:"tenantEnforcement,omitempty"`

	// Features whose privileges are checked: Observe for resources that are only
	// looked at; Machines; Migration between nodes; Snapshots; UserData for cloud-init files of one's own;
	// Images; Pools; Storages, with their volumes; Nodes, with their networks;
	// Cluster for its options. Each but Observe is beside Observe. The check
	// warns and forbids nothing. Default: Machines.
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

// ProviderTLS says which server certificate is trusted and which client
// certificate is shown. TLS 1.2 is the least that is spoken.
//
// +kubebuilder:validation:XValidation:rule="[has(self.caCertificate), has(self.caCertificateSecretRef), has(self.caCertificateConfigMapRef)].filter(s, s).size() <= 1",message="set at most one of caCertificate, caCertificateSecretRef and caCertificateConfigMapRef"
type ProviderTLS struct {
	// InsecureSkipTLSVerify accepts any server certificate. Whoever sits
	// between can then read the credentials: for trials only. Default: false.
	// +optional
	InsecureSkipTLSVerify *bool `json:"insecureSkipTLSVerify,omitempty"`

	// CACertificate is one or more PEM certificates to trust instead of those
	// of the system; of PVE, /etc/pve/pve-root-ca.pem.
	// +optional
	// +kubebuilder:validation:MaxLength=131072
	CACertificate *string `json:"caCertificate,omitempty"`

	// CACertificateSecretRef is the key of a Secret that holds them.
	// +optional
	CACertificateSecretRef *SecretKeyReference `json:"caCertificateSecretRef,omitempty"`

	// CACertificateConfigMapRef is the key of a ConfigMap that holds them.
	// +optional
	CACertificateConfigMapRef *SecretKeyReference `json:"caCertificateConfigMapRef,omitempty"`

	// ClientCertificateSecretRef is a Secret of type kubernetes.io/tls with
	// the certificate to show (tls.crt) and its key (tls.key).
	// +optional
	ClientCertificateSecretRef *SecretReference `json:"clientCertificateSecretRef,omitempty"`

	// ServerName that the server's certificate must be for. Default: the host
	// of the endpoint.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName *string `json:"serverName,omitempty"`
}

// ProviderCredentials are an API token (recommended) or a user and password.
//
// They come from one Secret (secretRef), or each part from where it is named
// (username, password, tokenID, tokenSecret).
//
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) != (has(self.password) || has(self.tokenSecret))",message="set either secretRef, or username with password or tokenSecret"
// +kubebuilder:validation:XValidation:rule="!(has(self.password) && has(self.tokenSecret))",message="set either password or tokenSecret"
// +kubebuilder:validation:XValidation:rule="!has(self.tokenSecret) || has(self.tokenID)",message="tokenSecret needs tokenID"
// +kubebuilder:validation:XValidation:rule="!has(self.password) || has(self.username)",message="password needs username"
// +kubebuilder:validation:XValidation:rule="!has(self.secretRef) || (!has(self.username) && !has(self.tokenID))",message="secretRef stands for all parts: leave out username and tokenID, which the Secret holds"
// +kubebuilder:validation:XValidation:rule="!has(self.tokenID) || has(self.secretRef) || has(self.tokenSecret)",messageExpression="'tokenID %s needs tokenSecret'.format([self.tokenID])"
// +kubebuilder:validation:XValidation:rule="!has(self.tokenID) || self.tokenID.contains('!') || has(self.username)",messageExpression="'tokenID %s needs username, or is written whole: user@realm!id'.format([self.tokenID])"
type ProviderCredentials struct {
	// Source of the credentials. Only Secret.
	// +optional
	// +kubebuilder:default=Secret
	// +kubebuilder:validation:Enum=Secret
	Source xpv2.CredentialsSource `json:"source,omitempty"`

	// SecretRef is a Secret with all that is needed. With a key, that key
	// holds a JSON document ({"username": "user@realm", "tokenID": "id",
	// "tokenSecret": "…"} or {"username": …, "password": …}) or a token as PVE
	// writes it (user@realm!id=…). Without, the Secret's own keys are read:
	// username, password, tokenID, tokenSecret; also token-id, token-secret,
	// token_id, token_secret and the PVE_ variables. If tls has no certificates to
	// trust, a key ca.crt of the Secret has them.
	// +optional
	SecretRef *SecretOptionalKeyReference `json:"secretRef,omitempty"`

	// Username with realm, such as crossplane@pve. The user may have an @ of its
	// own, as in user@example.com@ldap.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[^\s:/]+@[A-Za-z][A-Za-z0-9._-]+$`
	Username *string `json:"username,omitempty"`

	// Password of the user.
	// +optional
	Password *SecretValue `json:"password,omitempty"`

	// TokenID of an API token: its name, or whole as user@realm!name.
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
	// Namespace of the Secret. Required for cluster-scoped resources; of no
	// meaning for namespaced ones, which read their own namespace only.
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

// ProviderLimits limit what is asked of the cluster.
type ProviderLimits struct {
	// RequestsPerSecond, 1 to 1000. Default: 50.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	RequestsPerSecond *int32 `json:"requestsPerSecond,omitempty"`

	// ConcurrentTasks is how many tasks this provider keeps running in the
	// cluster, 1 to 1000. What would start one more waits for its turn. Default:
	// no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	ConcurrentTasks *int32 `json:"concurrentTasks,omitempty"`

	// ConcurrentTasksPerNode is how many tasks this provider keeps running on
	// one node, 1 to 100. Default: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	ConcurrentTasksPerNode *int32 `json:"concurrentTasksPerNode,omitempty"`

	// ConcurrentClonesPerSource is how many clones of one template or VM this
	// provider keeps running, 1 to 100. Default: 12. Proxmox VE clones a template
	// as often as one likes at a time, but makes one volume after the other on a
	// storage, and who waits ten seconds for that fails; it clones a running VM once.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	ConcurrentClonesPerSource *int32 `json:"concurrentClonesPerSource,omitempty"`
}

// A ProviderFeature is a set of kinds or fields that needs privileges of its own.
//
// +kubebuilder:validation:Enum=Observe;Machines;Migration;Snapshots;UserData;Images;Pools;Storages;Nodes;Cluster
type ProviderFeature string

// Conditions of a provider configuration beside Ready.
const (
	// TypeConnected reports whether an endpoint of the API answers.
	TypeConnected xpv2.ConditionType = "Connected"

	// TypeCertificateVerified reports whether the server's certificate is verified.
	TypeCertificateVerified xpv2.ConditionType = "CertificateVerified"

	// TypeAuthenticated reports whether Proxmox VE accepts the credentials.
	TypeAuthenticated xpv2.ConditionType = "Authenticated"

	// TypeVersionSupported reports whether Proxmox VE is 8.0 or later.
	TypeVersionSupported xpv2.ConditionType = "VersionSupported"

	// TypePermitted reports whether all privileges are there that the features need.
	TypePermitted xpv2.ConditionType = "Permitted"

	// TypeQuorate reports whether the cluster takes writes.
	TypeQuorate xpv2.ConditionType = "Quorate"

	// TypeTenantsDistinct reports whether no two tenants have VMs, VMIDs or namespaces in common.
	TypeTenantsDistinct xpv2.ConditionType = "TenantsDistinct"
)

// ProviderConfigStatus is what is seen of a provider configuration.
type ProviderConfigStatus struct {
	xpv2.ProviderConfigStatus `json:",inline"`

	// ObservedGeneration is the metadata.generation of the spec that was checked
	// last, whether that worked or not. -1 until one was.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Version of Proxmox VE that the endpoint in use says it is.
	// +optional
	Version string `json:"version,omitempty"`

	// Endpoint in use: the first that answers. Calls for one node go to that
	// node's own endpoint where there is one.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// UnavailableEndpoints do not answer, or have no quorum, while another does.
	// +optional
	// +listType=atomic
	UnavailableEndpoints []string `json:"unavailableEndpoints,omitempty"`

	// Cluster is the name of the cluster. Empty for a node that is in none.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// NodesOnline is how many nodes of the cluster are online.
	// +optional
	NodesOnline *int32 `json:"nodesOnline,omitempty"`

	// NodesTotal is how many nodes the cluster has.
	// +optional
	NodesTotal *int32 `json:"nodesTotal,omitempty"`

	// Tenants that have a quota, and how much of it they use. Looked at every minute.
	// +optional
	// +listType=map
	// +listMapKey=name
	Tenants []TenantObservation `json:"tenants,omitempty"`
}
