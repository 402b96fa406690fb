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

// ProxmoxClusterOptions are options of a cluster. Only the options that are set are
// managed, and of an option with several parts only the parts that are set. If only
// some versions of Proxmox VE have an option, its description names them.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.httpProxy) || !has(self.httpProxySecretRef)",message="set only one of httpProxy and httpProxySecretRef"
type ProxmoxClusterOptions struct {
	// Description of the cluster, up to 65536 characters, shown in the notes of
	// the web interface. Empty removes it (PVE: description).
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Description *string `json:"description,omitempty"`

	// ConsentText is shown before a login, up to 40000 characters, in Markdown.
	// Empty removes it (PVE: consent-text).
	// +optional
	// +kubebuilder:validation:MaxLength=40000
	ConsentText *string `json:"consentText,omitempty"`

	// Console viewer that the web interface offers first: vv (SPICE), html5 or
	// xtermjs (PVE: console).
	// +optional
	// +kubebuilder:validation:Enum=vv;html5;xtermjs
	Console *string `json:"console,omitempty"`

	// Keyboard layout of VNC consoles (PVE: keyboard).
	// +optional
	// +kubebuilder:validation:Enum=de;de-ch;da;en-gb;en-us;es;fi;fr;fr-be;fr-ca;fr-ch;hu;is;it;ja;lt;mk;nl;no;pl;pt;pt-br;sv;sl;tr
	Keyboard *string `json:"keyboard,omitempty"`

	// Language of the web interface (PVE: language).
	// +optional
	// +kubebuilder:validation:Enum=ar;ca;da;de;en;es;eu;fa;fr;hr;he;it;ja;ka;kr;nb;nl;nn;pl;pt_BR;ru;sl;sv;tr;ukr;zh_CN;zh_TW
	Language *string `json:"language,omitempty"`

	// EmailFrom is the sender of e-mails. Empty removes it; then the sender is root@ and
	// the node's name (PVE: email_from).
	// +optional
	// +kubebuilder:validation:MaxLength=254
	// +kubebuilder:validation:Pattern=`^([^\s@,;]+@[^\s@,;]+)?$`
	EmailFrom *string `json:"emailFrom,omitempty"`

	// HTTPProxy that the nodes use for downloads, such as http://proxy.example.com:3128.
	// Empty removes it. Use httpProxySecretRef for a proxy with a password (PVE:
	// http_proxy).
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^(http://\S+)?$`
	// +kubebuilder:validation:XValidation:rule="!self.contains('@')",message="httpProxy has no user and password: use httpProxySecretRef"
	HTTPProxy *string `json:"httpProxy,omitempty"`

	// HTTPProxySecretRef is the key of a Secret that holds the HTTP proxy, such
	// as http://user:password@proxy.example.com:3128. It is never shown (PVE:
	// http_proxy).
	// +optional
	HTTPProxySecretRef *SecretKeyReference `json:"httpProxySecretRef,omitempty"`

	// MACPrefix is the beginning of generated MAC addresses: one to three bytes, and
	// optionally one more digit, such as BC:24:11 or BC:24:11:0. Default of Proxmox VE:
	// BC:24:11 (PVE: mac_prefix).
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){0,2}(:[0-9a-fA-F]?)?$`
	MACPrefix *string `json:"macPrefix,omitempty"`

	// MaxWorkers is the number of guests that a node starts or stops at the same time, at
	// least 1 (PVE: max_workers).
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxWorkers *int32 `json:"maxWorkers,omitempty"`

	// Fencing mode of HA. The modes hardware and both need fence devices and are
	// experimental. Default of Proxmox VE: watchdog (PVE: fencing).
	// +optional
	// +kubebuilder:validation:Enum=watchdog;hardware;both
	Fencing *string `json:"fencing,omitempty"`

	// Bandwidth limits of operations (PVE: bwlimit).
	// +optional
	Bandwidth *BandwidthLimits `json:"bandwidth,omitempty"`

	// Migration of guests (PVE: migration, which has replaced
	// migration_unsecure).
	// +optional
	Migration *TransferOptions `json:"migration,omitempty"`

	// Replication of guests, from Proxmox VE 9.0 on. In earlier versions, migration
	// applies to both (PVE: replication).
	// +optional
	Replication *TransferOptions `json:"replication,omitempty"`

	// HA settings (PVE: ha).
	// +optional
	HA *HAOptions `json:"ha,omitempty"`

	// CRS is the cluster's resource scheduling (PVE: crs).
	// +optional
	CRS *CRSOptions `json:"crs,omitempty"`

	// NextID is the range from which Proxmox VE suggests free VMIDs (PVE:
	// next-id).
	// +optional
	NextID *NextIDRange `json:"nextID,omitempty"`

	// Notify determines who is notified about what. Deprecated in Proxmox VE, where
	// notification targets and matchers have replaced it (PVE: notify).
	// +optional
	Notify *NotifyOptions `json:"notify,omitempty"`

	// TagStyle is the appearance and the order of tags (PVE: tag-style).
	// +optional
	TagStyle *TagStyle `json:"tagStyle,omitempty"`

	// UserTagAccess determines which tags users may set (PVE: user-tag-access).
	// +optional
	UserTagAccess *UserTagAccess `json:"userTagAccess,omitempty"`

	// RegisteredTags are tags that only users with Sys.Modify on / may set and remove. An
	// empty list removes the option (PVE: registered-tags).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=124
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9_][a-zA-Z0-9_+.-]*$`
	RegisteredTags []string `json:"registeredTags,omitzero"`

	// U2F settings (PVE: u2f).
	// +optional
	U2F *U2FOptions `json:"u2f,omitempty"`

	// WebAuthn settings (PVE: webauthn).
	// +optional
	WebAuthn *WebAuthnOptions `json:"webauthn,omitempty"`

	// Location of the cluster, from Proxmox VE 9.2 on (PVE: location).
	// +optional
	Location *Location `json:"location,omitempty"`
}

// BandwidthLimits of operations, in KiB/s; 0 is no limit.
//
// +kubebuilder:validation:MinProperties=1
type BandwidthLimits struct {
	// Default limit for operations without their own limit, in KiB/s.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Default *int64 `json:"default,omitempty"`

	// Clone is the limit for cloning disks, in KiB/s.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Clone *int64 `json:"clone,omitempty"`

	// Migration is the limit for migrating guests and their local disks, in
	// KiB/s.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Migration *int64 `json:"migration,omitempty"`

	// Move is the limit for moving disks, in KiB/s.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Move *int64 `json:"move,omitempty"`

	// Restore is the limit for restoring backups, in KiB/s.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Restore *int64 `json:"restore,omitempty"`
}

// TransferOptions determine how guests are transferred between nodes.
type TransferOptions struct {
	// Type of the traffic: secure uses SSH, insecure is not encrypted and is faster.
	// +kubebuilder:validation:Enum=secure;insecure
	Type string `json:"type"`

	// Network for the traffic, in CIDR notation, such as 192.0.2.0/24.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="network is in CIDR notation, such as 192.0.2.0/24"
	Network *string `json:"network,omitempty"`
}

// HAOptions are settings of high availability.
type HAOptions struct {
	// ShutdownPolicy determines what happens to HA guests when their node shuts down:
	// freeze, failover, conditional or migrate. Default of Proxmox VE: conditional (PVE:
	// shutdown_policy).
	// +kubebuilder:validation:Enum=freeze;failover;conditional;migrate
	ShutdownPolicy string `json:"shutdownPolicy"`
}

// CRSOptions are settings of the cluster's resource scheduling.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.autoRebalance) || !(has(self.autoRebalanceThreshold) || has(self.autoRebalanceMargin) || has(self.autoRebalanceHoldDuration) || has(self.autoRebalanceMethod))",message="the settings of autoRebalance need autoRebalance"
type CRSOptions struct {
	// HA is the mode in which HA chooses nodes: basic counts guests, static uses the
	// configured resources of guests, dynamic (from Proxmox VE 9.2 on) also uses their
	// actual usage. Default of Proxmox VE: basic (PVE: ha).
	// +optional
	// +kubebuilder:validation:Enum=basic;static;dynamic
	HA *string `json:"ha,omitempty"`

	// RebalanceOnStart chooses the node again when an HA guest is started. Default of
	// Proxmox VE: false (PVE: ha-rebalance-on-start).
	// +optional
	RebalanceOnStart *bool `json:"rebalanceOnStart,omitempty"`

	// AutoRebalance moves HA guests when the load of the nodes is uneven, from Proxmox VE
	// 9.2 on. Default of Proxmox VE: false (PVE: ha-auto-rebalance).
	// +optional
	AutoRebalance *bool `json:"autoRebalance,omitempty"`

	// AutoRebalanceThreshold is the imbalance, in percent, 0 to 100, above which guests
	// are moved. Default of Proxmox VE: 30 (PVE: ha-auto-rebalance-threshold).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	AutoRebalanceThreshold *int32 `json:"autoRebalanceThreshold,omitempty"`

	// AutoRebalanceMargin is the minimum improvement of the balance by a move, in
	// percent, 0 to 100. Default of Proxmox VE: 10 (PVE: ha-auto-rebalance-margin).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	AutoRebalanceMargin *int32 `json:"autoRebalanceMargin,omitempty"`

	// AutoRebalanceHoldDuration is the number of rounds of HA for which the threshold
	// must be exceeded. Default of Proxmox VE: 3 (PVE: ha-auto-rebalance-hold-duration).
	// +optional
	// +kubebuilder:validation:Minimum=0
	AutoRebalanceHoldDuration *int32 `json:"autoRebalanceHoldDuration,omitempty"`

	// AutoRebalanceMethod is the method to compare moves. Default of Proxmox VE:
	// bruteforce (PVE: ha-auto-rebalance-method).
	// +optional
	// +kubebuilder:validation:Enum=bruteforce;topsis
	AutoRebalanceMethod *string `json:"autoRebalanceMethod,omitempty"`
}

// NextIDRange is a range of VMIDs.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.lower) || !has(self.upper) || self.lower <= self.upper",message="lower is not above upper"
type NextIDRange struct {
	// Lower is the first VMID, 100 to 999999999. Default of Proxmox VE: 100.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=999999999
	Lower *int32 `json:"lower,omitempty"`

	// Upper is the VMID after the last, 100 to 1000000000. Default of Proxmox
	// VE: 1000000.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=1000000000
	Upper *int32 `json:"upper,omitempty"`
}

// NotifyOptions determine who is notified about what.
//
// +kubebuilder:validation:MinProperties=1
type NotifyOptions struct {
	// PackageUpdates determines when users are notified of available updates. Default of
	// Proxmox VE: auto (PVE: package-updates).
	// +optional
	// +kubebuilder:validation:Enum=auto;always;never
	PackageUpdates *string `json:"packageUpdates,omitempty"`

	// Fencing has no effect since Proxmox VE 8.1 (PVE: fencing).
	// +optional
	// +kubebuilder:validation:Enum=always;never
	Fencing *string `json:"fencing,omitempty"`

	// Replication has no effect since Proxmox VE 8.1 (PVE: replication).
	// +optional
	// +kubebuilder:validation:Enum=always;never
	Replication *string `json:"replication,omitempty"`

	// TargetPackageUpdates has no effect since Proxmox VE 8.1 (PVE:
	// target-package-updates).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^\s,]+$`
	TargetPackageUpdates *string `json:"targetPackageUpdates,omitempty"`

	// TargetFencing has no effect since Proxmox VE 8.1 (PVE: target-fencing).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^\s,]+$`
	TargetFencing *string `json:"targetFencing,omitempty"`

	// TargetReplication has no effect since Proxmox VE 8.1 (PVE: target-replication).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^\s,]+$`
	TargetReplication *string `json:"targetReplication,omitempty"`
}

// TagStyle is the appearance and the order of tags.
//
// +kubebuilder:validation:MinProperties=1
type TagStyle struct {
	// Shape of tags in the tree of the web interface: full, circle, dense or
	// none. Default of Proxmox VE: circle (PVE: shape).
	// +optional
	// +kubebuilder:validation:Enum=full;circle;dense;none
	Shape *string `json:"shape,omitempty"`

	// Ordering of tags: config keeps their order, alphabetical sorts them.
	// Default of Proxmox VE: alphabetical (PVE: ordering).
	// +optional
	// +kubebuilder:validation:Enum=config;alphabetical
	Ordering *string `json:"ordering,omitempty"`

	// CaseSensitive distinguishes tags that differ only in case. Default of Proxmox VE:
	// false (PVE: case-sensitive).
	// +optional
	CaseSensitive *bool `json:"caseSensitive,omitempty"`

	// Colors of tags. An empty list removes them (PVE: color-map).
	// +optional
	// +listType=map
	// +listMapKey=tag
	// +kubebuilder:validation:MaxItems=1000
	Colors []TagColor `json:"colors,omitzero"`
}

// TagColor is the color of a tag.
type TagColor struct {
	// Tag that has the color.
	// +kubebuilder:validation:MaxLength=124
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9_][a-zA-Z0-9_+.-]*$`
	Tag string `json:"tag"`

	// Background color as six hexadecimal digits, such as ff0000.
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{6}$`
	Background string `json:"background"`

	// Text color as six hexadecimal digits. Default: a color that is readable on the
	// background.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{6}$`
	Text *string `json:"text,omitempty"`
}

// UserTagAccess determines which tags users without Sys.Modify on / may set.
//
// +kubebuilder:validation:MinProperties=1
type UserTagAccess struct {
	// Allow determines which tags are allowed: none, list (the tags of allowList),
	// existing (also the tags that exist already), or free (any). Default of Proxmox VE:
	// free (PVE: user-allow).
	// +optional
	// +kubebuilder:validation:Enum=none;list;existing;free
	Allow *string `json:"allow,omitempty"`

	// AllowList has the tags that the values list and existing allow. An empty list
	// removes them (PVE: user-allow-list).
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=124
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9_][a-zA-Z0-9_+.-]*$`
	AllowList []string `json:"allowList,omitzero"`
}

// U2FOptions are settings of U2F.
//
// +kubebuilder:validation:MinProperties=1
type U2FOptions struct {
	// AppID overrides the U2F AppId. Default of Proxmox VE: the origin (PVE:
	// appid).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\s,]+$`
	AppID *string `json:"appID,omitempty"`

	// Origin overrides the U2F origin, a URL (PVE: origin).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\s,]+$`
	Origin *string `json:"origin,omitempty"`
}

// WebAuthnOptions are settings of WebAuthn.
//
// +kubebuilder:validation:MinProperties=1
type WebAuthnOptions struct {
	// RelyingParty is the name of the relying party (PVE: rp).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^,\r\n]+$`
	RelyingParty *string `json:"relyingParty,omitempty"`

	// Origin that users type into their browsers, https:// and the host. A
	// change may make existing credentials useless (PVE: origin).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[^\s,]+$`
	Origin *string `json:"origin,omitempty"`

	// ID of the relying party: the domain without protocol and port. A change
	// makes existing credentials useless (PVE: id).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^\s,]+$`
	ID *string `json:"id,omitempty"`

	// AllowSubdomains accepts origins that are subdomains. Default of Proxmox
	// VE: true (PVE: allow-subdomains).
	// +optional
	AllowSubdomains *bool `json:"allowSubdomains,omitempty"`
}
