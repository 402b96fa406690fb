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

// MachineCloudInit configures the guest at its first boot, through PVE's
// cloud-init drive. The template must have such a drive (or storage names
// where to create one) and cloud-init must be installed in the guest. With
// userData, vendorData or networkConfig the drive gives way to an ISO image of
// the provider's own (NoCloud), which has the fields below in it too, and of those
// that are left out what the VM has, as from its template.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.generatePassword) && self.generatePassword && has(self.passwordSecretRef))",message="cloudInit.generatePassword does not go with passwordSecretRef"
type MachineCloudInit struct {
	// Storage for a cloud-init drive, made when the VM has none. Default: the
	// drive of the template; for a VM that is made from an image or from nothing
	// the storage of its first disk. With userData, vendorData or networkConfig
	// it is where the provider puts its ISO image, so that its content includes
	// iso; default then: a storage of the VM's node that does, rather a shared
	// one. On local storage the image is made anew on a node that the VM goes to.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// User that is created or configured, up to 64 characters; empty for the
	// guest's default user. PVE: ciuser.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9._@-]*$`
	User *string `json:"user,omitempty"`

	// PasswordSecretRef is the key of a Secret with the user's password, plain or
	// hashed. PVE shows it to nobody, so that a password that was changed there is
	// not noticed; a changed Secret is, and its password is sent. With userData,
	// vendorData or networkConfig its hash is in the provider's ISO image: that of
	// SHA-512, or of what the Secret has it hashed with. PVE: cipassword.
	// +optional
	PasswordSecretRef *SecretKeyReference `json:"passwordSecretRef,omitempty"`

	// GeneratePassword has the provider generate the user's password, once, and
	// keep it in the connection Secret alone, which writeConnectionSecretToRef has
	// to name. It is made anew when it is taken out of that Secret. Not with
	// passwordSecretRef. With userData, vendorData or networkConfig its hash is in
	// the provider's ISO image. PVE: cipassword. Default: false.
	// +optional
	GeneratePassword *bool `json:"generatePassword,omitempty"`

	// SSHKeys are public keys of the user, one each, with options before it if need
	// be. PVE: sshkeys.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=16
	// +kubebuilder:validation:items:MaxLength=8192
	// +kubebuilder:validation:items:Pattern=`^([^\r\n]+[ \t])?(sk-)?(ssh|ecdsa)-[^ \t\r\n]+[ \t]+AAAA[A-Za-z0-9+/]+={0,2}([ \t][^\r\n]*)?$`
	SSHKeys []string `json:"sshKeys,omitzero"`

	// SSHKeySecretRefs are keys of Secrets with public keys of the user, in lines
	// as of an authorized_keys file; lines that are blank or begin with # do not
	// count. They come after sshKeys, each once, and are declared like these. A
	// changed Secret is noticed. What has no key, or something else, is refused. PVE:
	// sshkeys.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	SSHKeySecretRefs []SecretKeyReference `json:"sshKeySecretRefs,omitempty"`

	// SSHKeyConfigMapRefs are keys of ConfigMaps with public keys of the user, as
	// those of sshKeySecretRefs, which they come after. PVE: sshkeys.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	SSHKeyConfigMapRefs []SecretKeyReference `json:"sshKeyConfigMapRefs,omitempty"`

	// Nameservers of the guest, IP addresses. PVE: nameserver.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="self.all(a, isIP(a))",messageExpression="'cloudInit.nameservers: %s is not an IP address'.format([self.filter(a, !isIP(a))[0]])"
	Nameservers []string `json:"nameservers,omitzero"`

	// SearchDomains of the guest. PVE: searchdomain.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?$`
	SearchDomains []string `json:"searchDomains,omitzero"`

	// Upgrade packages at the first boot. PVE: ciupgrade, default on.
	// +optional
	Upgrade *bool `json:"upgrade,omitempty"`

	// UserData is cloud-init's user-data, of any format that it knows. The fields
	// above become vendor-data beside it: for each key of a cloud-config that
	// userData has, userData counts. It is readable for everybody who may use the
	// storage, and in the guest.
	// +optional
	UserData *CloudInitData `json:"userData,omitempty"`

	// VendorData is cloud-init's vendor-data: what userData leaves open. With
	// userData, the fields above come first in it.
	// +optional
	VendorData *CloudInitData `json:"vendorData,omitempty"`

	// NetworkConfig is cloud-init's network-config, version 1 or 2. It replaces
	// what is generated from networks[].ipConfig, nameservers and searchDomains.
	// +optional
	NetworkConfig *CloudInitData `json:"networkConfig,omitempty"`

	// ChangePolicy says what a change of these fields, or of a Secret or ConfigMap
	// that they name, does to an existing VM. Ignore: nothing. Regenerate: the
	// drive has the new data, which cloud-init reads at the next boot; of an image
	// of the provider's own it does again only what it does at every boot, since
	// the instance ID stays. RerunOnReboot: the instance ID of that image changes
	// too, so that cloud-init does all of it again at the next boot, new SSH host
	// keys included. PVE's own drive always has it run again. Default: Regenerate.
	// +optional
	// +kubebuilder:validation:Enum=Ignore;Regenerate;RerunOnReboot
	ChangePolicy *string `json:"changePolicy,omitempty"`
}

// CloudInitData is given inline or taken from a Secret or ConfigMap.
//
// +kubebuilder:validation:XValidation:rule="[has(self.inline), has(self.secretRef), has(self.configMapRef)].filter(s, s).size() == 1",message="set one of inline, secretRef and configMapRef"
type CloudInitData struct {
	// Inline data.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Inline *string `json:"inline,omitempty"`

	// SecretRef is the key of a Secret that holds the data.
	// +optional
	SecretRef *SecretKeyReference `json:"secretRef,omitempty"`

	// ConfigMapRef is the key of a ConfigMap that holds the data.
	// +optional
	ConfigMapRef *SecretKeyReference `json:"configMapRef,omitempty"`
}

// SecretKeyReference is a key of a Secret or ConfigMap. The namespace is that
// of the referring resource where it has one.
type SecretKeyReference struct {
	// Namespace of the object. Required for cluster-scoped resources; of no
	// meaning for namespaced ones, which read their own namespace only.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace *string `json:"namespace,omitempty"`

	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Key in the object's data.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
}
