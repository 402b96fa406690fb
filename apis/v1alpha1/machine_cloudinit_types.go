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

// MachineCloudInit configures the guest at its first boot, with PVE's cloud-init
// drive. The template must have such a drive (or storage must name where to create
// one), and cloud-init must be installed in the guest. With userData, vendorData or
// networkConfig, the provider replaces the drive by its own ISO image (NoCloud). That
// image also contains the fields below; for fields that are not set, it has the values
// of the VM, such as those from its template.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.generatePassword) && self.generatePassword && has(self.passwordSecretRef))",message="cloudInit.generatePassword does not go with passwordSecretRef"
type MachineCloudInit struct {
	// Storage for a cloud-init drive, which is created if the VM has none. Default: the
	// drive of the template; for a VM that is made from an image or without a source, the
	// storage of its first disk. With userData, vendorData or networkConfig, it is the
	// storage of the provider's ISO image, and its content types must include iso. The
	// default is then a storage of the VM's node with that content type, preferably a
	// shared one. On local storage, the image is made again on a node to which the VM
	// migrates.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`
	Storage *string `json:"storage,omitempty"`

	// User to create or configure, up to 64 characters; empty for the guest's default
	// user. PVE: ciuser.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9._@-]*$`
	User *string `json:"user,omitempty"`

	// PasswordSecretRef is the key of a Secret with the user's password, plain or hashed.
	// PVE never shows the password, so the provider does not detect that somebody changes
	// it in PVE. If the Secret changes, the provider sends its password. With userData,
	// vendorData or networkConfig, the provider's ISO image has a hash of the password:
	// of SHA-512, or the hash in the Secret if the password is hashed there. PVE:
	// cipassword.
	// +optional
	PasswordSecretRef *SecretKeyReference `json:"passwordSecretRef,omitempty"`

	// GeneratePassword makes the provider generate the user's password once. It is stored
	// only in the connection Secret, which writeConnectionSecretToRef must name. If
	// somebody removes it from that Secret, the provider generates a new one. Cannot be
	// used with passwordSecretRef. With userData, vendorData or networkConfig, the
	// provider's ISO image has a hash of the password. PVE: cipassword. Default: false.
	// +optional
	GeneratePassword *bool `json:"generatePassword,omitempty"`

	// SSHKeys are public keys of the user, one per entry, optionally with options before
	// the key. PVE: sshkeys.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=16
	// +kubebuilder:validation:items:MaxLength=8192
	// +kubebuilder:validation:items:Pattern=`^([^\r\n]+[ \t])?(sk-)?(ssh|ecdsa)-[^ \t\r\n]+[ \t]+AAAA[A-Za-z0-9+/]+={0,2}([ \t][^\r\n]*)?$`
	SSHKeys []string `json:"sshKeys,omitzero"`

	// SSHKeySecretRefs are keys of Secrets with public keys of the user, in the format of
	// an authorized_keys file; blank lines and lines that begin with # are ignored. They
	// follow sshKeys, without duplicates. A change of the Secret is applied. A Secret
	// without a public key, or with any other content, is refused. PVE: sshkeys.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	SSHKeySecretRefs []SecretKeyReference `json:"sshKeySecretRefs,omitempty"`

	// SSHKeyConfigMapRefs are keys of ConfigMaps with public keys of the user, in the
	// same format as sshKeySecretRefs, which they follow. PVE: sshkeys.
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

	// Upgrade upgrades packages at the first boot. PVE: ciupgrade, default on.
	// +optional
	Upgrade *bool `json:"upgrade,omitempty"`

	// UserData is cloud-init's user-data, in any format that cloud-init supports. The
	// fields above then become vendor-data: if both have the same key of a cloud-config,
	// userData takes precedence. It is readable for everybody who can use the storage,
	// and in the guest.
	// +optional
	UserData *CloudInitData `json:"userData,omitempty"`

	// VendorData is cloud-init's vendor-data, for keys that userData does not set. With
	// userData, the fields above come first in it.
	// +optional
	VendorData *CloudInitData `json:"vendorData,omitempty"`

	// NetworkConfig is cloud-init's network-config, version 1 or 2. It replaces the
	// configuration that is generated from networks[].ipConfig, nameservers and
	// searchDomains.
	// +optional
	NetworkConfig *CloudInitData `json:"networkConfig,omitempty"`

	// ChangePolicy determines what a change of these fields, or of a Secret or ConfigMap
	// that they name, does to an existing VM. Ignore does nothing. Regenerate writes the
	// new data to the drive, and cloud-init reads it at the next boot. With the
	// provider's own image, cloud-init then repeats only what it does at every boot,
	// because the instance ID stays the same. RerunOnReboot also changes the instance ID
	// of that image, so that cloud-init repeats everything at the next boot, including
	// new SSH host keys. With PVE's own drive, cloud-init always repeats everything.
	// Default: Regenerate.
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

// SecretKeyReference is a key of a Secret or ConfigMap. Its namespace is the namespace
// of the referring resource, if that has one.
type SecretKeyReference struct {
	// Namespace of the object. Required for cluster-scoped resources; ignored for
	// namespaced ones, which read only their own namespace.
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
