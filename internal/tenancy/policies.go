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

package tenancy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/qemu/validate"
)

// The API groups of namespaced resources, which use a ClusterProviderConfig, and of cluster-scoped resources.
const (
	namespacedGroup = "proxmox.m.vitistack.io"
	clusterGroup    = "proxmox.vitistack.io"
)

// Labels of policies with the provider configuration whose tenants they are about: a ClusterProviderConfig, or a ProviderConfig of cluster-scoped
// resources. A name that is too long for a label is replaced by a hash.
const (
	LabelTenantsOf              = "proxmox.vitistack.io/tenants-of"
	LabelClusterScopedTenantsOf = "proxmox.vitistack.io/cluster-scoped-tenants-of"
)

// A PolicyTarget is the provider configuration whose tenants policies are about.
type PolicyTarget struct {
	// Config is its name.
	Config string

	// Names are those by which resources use it: its own, and "default" if it stands in for that.
	Names []string

	// ClusterScoped is true for a ProviderConfig of cluster-scoped resources, and false for a ClusterProviderConfig.
	ClusterScoped bool

	// Warns is true for a configuration that only warns: the API server reports what would be refused as a warning and in the audit log.
	Warns bool
}

// Policies returns ValidatingAdmissionPolicies and their bindings, by which the API server refuses what the tenants of a provider configuration may not
// request. They check the rules about Machines that a spec alone can break, the rules about kinds, and that each resource belongs to one tenant. The
// provider checks all other rules. An existing resource is refused only if its spec changes or it becomes the tenant's.
func Policies(of PolicyTarget, tenants []v1alpha1.ProviderTenant) (
	[]admissionv1.ValidatingAdmissionPolicy, []admissionv1.ValidatingAdmissionPolicyBinding,
) {
	var policies []admissionv1.ValidatingAdmissionPolicy
	var bindings []admissionv1.ValidatingAdmissionPolicyBinding
	for i, t := range tenants {
		if ptr.Deref(t.Unrestricted, false) {
			continue
		}
		a := admission{Tenant: tenantAt(tenants, i, Subject{}), of: of}
		for _, p := range []admissionv1.ValidatingAdmissionPolicy{a.machinePolicy(), a.kindPolicy()} {
			own := a.bindings(p.Name)
			if len(own) == 0 {
				continue // The tenant has no resources of this scope.
			}
			policies, bindings = append(policies, p), append(bindings, own...)
		}
	}
	if of.tellsTenants(tenants) {
		p := of.noTenantPolicy(tenants)
		policies, bindings = append(policies, p), append(bindings, binding(p.Name, p.Name, nil))
	}
	for i := range policies {
		policies[i].Labels = of.labels()
	}
	for i := range bindings {
		bindings[i].Labels = of.labels()
		bindings[i].Spec.ValidationActions = of.actions()
	}
	if len(policies) == 0 || of.ClusterScoped { // Users who may write the status of cluster-scoped resources may do so everywhere.
		return policies, bindings
	}
	p := statusPolicy()
	return append(policies, p), append(bindings, binding(p.Name, p.Name, nil))
}

// An admission has the rules of a tenant in the form that the API server reads.
type admission struct {
	*Tenant

	// of is the configuration that has the tenant.
	of PolicyTarget
}

// defaultConfig is the name of the provider configuration of resources that name none.
const defaultConfig = "default"

// labelOf returns the value of a label for a name.
func labelOf(name string) string {
	if len(name) <= 63 {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

// statusPolicy lets only the provider write the status of namespaced resources. A team may have roles for them by a RoleBinding, and Crossplane's own
// roles include /status. The policy identifies the provider by its permission to write the status in all namespaces, whatever its service account is
// called.
func statusPolicy() admissionv1.ValidatingAdmissionPolicy {
	p := policyOf("provider-proxmox-status", namespacedGroup, []string{"*/status"}, admissionv1.Update)
	p.Spec.Validations = []admissionv1.Validation{{
		Expression: "authorizer.group(" + quote(namespacedGroup) + ").resource(request.resource.resource).subresource('status').check('update').allowed()",
		Message:    "only the provider, and users who may write the status in all namespaces, may write the status",
		Reason:     ptr.To(metav1.StatusReasonForbidden),
	}}
	return p
}

// policyOf returns a policy for resources of this provider.
func policyOf(name, group string, resources []string, operations ...admissionv1.OperationType) admissionv1.ValidatingAdmissionPolicy {
	p := admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: operations,
					Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: resources},
				},
			}}},
		},
	}
	p.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy"))
	return p
}

// binding returns a binding of a policy to the selected namespaces, or to all.
func binding(name, policy string, s *metav1.LabelSelector) admissionv1.ValidatingAdmissionPolicyBinding {
	b := admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	if s != nil {
		b.Spec.MatchResources = &admissionv1.MatchResources{NamespaceSelector: s}
	}
	b.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding"))
	return b
}

// bindings returns the bindings of a policy to the tenant's resources.
func (t admission) bindings(policy string) []admissionv1.ValidatingAdmissionPolicyBinding {
	if t.of.ClusterScoped {
		return t.clusterScopedBindings(policy)
	}
	var all []admissionv1.ValidatingAdmissionPolicyBinding
	if len(t.Namespaces) > 0 {
		all = append(all, binding(policy+"-names", policy, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: t.Namespaces,
		}}}))
	}
	if t.NamespaceSelector != nil {
		all = append(all, binding(policy+"-labels", policy, t.NamespaceSelector.DeepCopy()))
	}
	return all
}

// policy returns a policy of the tenant for some kinds.
func (t admission) policy(suffix string, resources []string, validations []admissionv1.Validation) admissionv1.ValidatingAdmissionPolicy {
	p := policyOf(t.of.policyName(t.Name+"-"+suffix), t.of.group(), resources, admissionv1.Create, admissionv1.Update)
	changed := changedSpec()
	p.Spec.MatchConditions = []admissionv1.MatchCondition{{Name: "uses-the-configuration", Expression: t.of.uses()}}
	if t.of.ClusterScoped {
		t.confine(&p)
		changed += " || " + t.joins()
	}
	p.Spec.MatchConditions = append(p.Spec.MatchConditions, admissionv1.MatchCondition{Name: "asks-for-something-new", Expression: changed})
	p.Spec.Validations = validations
	return p
}

// changedSpec returns an expression that holds for a new resource, and for one whose spec or external name changes.
func changedSpec() string {
	return "request.operation == 'CREATE' || object.spec != oldObject.spec || " + externalName("object") + " != " + externalName("oldObject")
}

// externalName returns an expression for the external name of an object, or an empty string.
func externalName(object string) string {
	return entry(object, "annotations", "crossplane.io/external-name")
}

// entry returns an expression for an entry of the labels or annotations of an object, or an empty string.
func entry(object, field, key string) string {
	all, key := object+".metadata."+field, quote(key)
	return "(has(" + all + ") && " + key + " in " + all + " ? " + all + "[" + key + "] : '')"
}

// Kinds of resources in CEL, among those that tenants may have.
const (
	ofSnapshots = "request.resource.resource == 'snapshots'"
	ofBackups   = "request.resource.resource == 'backups'"
	ofVolumes   = "request.resource.resource == 'volumes'"
	ofImages    = "request.resource.resource == 'images'"
)

// ofKind returns an expression that holds for other kinds, and for objects whose field is unset or meets the given expression.
func ofKind(kind, field, expression string) string {
	field = "object.spec.forProvider." + field
	return "!(" + kind + ") || !has(object.spec.forProvider) || " + unset(field, field+expression)
}

// kindPolicy refuses the kinds that tenants may not have, Snapshots of VMs that no Machine manages, and Backups, Volumes and Images in places that are
// not the tenant's.
func (t admission) kindPolicy() admissionv1.ValidatingAdmissionPolicy {
	resources := []string{"backupjobs", "nodenetworks", "pools", "proxmoxclusters", "proxmoxnodes", "storages", "snapshots", "backups", "volumes", "images"}
	kinds := []string{ofSnapshots, ofBackups, ofVolumes}
	if len(t.ImageHosts) > 0 {
		kinds = append(kinds, ofImages)
	}
	if t.of.ClusterScoped {
		resources, kinds = append(resources, "snapshotpolicies"), append(kinds, "request.resource.resource == 'snapshotpolicies'")
	}
	all := []admissionv1.Validation{
		t.validation("kinds", "to have a resource of this kind", strings.Join(kinds, " || ")),
		t.validation("allow.adopt", "a snapshot of a VM that no Machine manages", "!("+ofSnapshots+") || !has(object.spec.forProvider.vmid)"),
		t.validation("allow.adopt", "a backup that was not made for this resource",
			"!("+ofBackups+") || request.operation != 'CREATE' || size("+externalName("object")+") == 0"),
		t.validation("kinds", "bandwidthLimit, by which a backup takes more than nodes let others have",
			"!("+ofBackups+") || !has(object.spec.forProvider.bandwidthLimit)"),
		t.validation("storages", "a backup on a storage but "+listed(t.Storages), ofKind(ofBackups, "storage", " in "+list(t.Storages))),
		t.validation("storages", "a disk on a storage but "+listed(t.Storages), ofKind(ofVolumes, "storage", " in "+list(t.Storages))),
	}
	if len(t.Nodes) > 0 {
		all = append(all, t.validation("nodes", "a disk made on a node but "+listed(t.Nodes), ofKind(ofVolumes, "node", " in "+list(t.Nodes))))
	}
	if !mayAdoptAny(t.Tenant) {
		all = append(all, t.validation("allow.adopt", "a disk that was not made for this resource",
			"!("+ofVolumes+") || request.operation != 'CREATE' || size("+externalName("object")+") == 0"))
	}
	if t.of.ClusterScoped {
		all = append(all, t.connectionSecretRule())
	}
	return t.policy("kinds", resources, slices.Concat(all, t.imageRules()))
}

// machinePolicy refuses what the spec of a Machine alone shows.
func (t admission) machinePolicy() admissionv1.ValidatingAdmissionPolicy {
	rules := slices.Concat(t.placeRules(), t.storageRules(), t.networkRules(), t.deviceRules(), t.optionRules())
	if t.of.ClusterScoped {
		rules = slices.Concat(rules, t.secretRules())
	}
	p := t.policy("machines", []string{"machines"}, rules)
	p.Spec.Variables = append(p.Spec.Variables,
		admissionv1.Variable{Name: "vm", Expression: "object.spec.forProvider"}, admissionv1.Variable{Name: "externalName", Expression: externalName("object")})
	return p
}

// validation returns the validation of a rule. The expression holds for what is allowed. The reason is Invalid and not Forbidden, since that does not
// stop Crossplane from applying the other resources of a composite.
func (t admission) validation(rule, what, expression string) admissionv1.Validation {
	return admissionv1.Validation{Expression: expression, Message: t.refuse(rule, "%s", what).Error(), Reason: ptr.To(metav1.StatusReasonInvalid)}
}

// unset returns an expression that holds if a field is not set or the given expression holds.
func unset(field, expression string) string { return fmt.Sprintf("!has(%s) || %s", field, expression) }

func (t admission) placeRules() []admissionv1.Validation {
	all := []admissionv1.Validation{
		t.validation("kinds", "to restore a backup other than that of a Backup",
			"("+unset("variables.vm.restore", "has(variables.vm.restore.backupRef)")+") && "+
				"("+unset("variables.vm.restoreInPlace", "has(variables.vm.restoreInPlace.backupRef)")+")"),
	}
	all = append(all, t.imageURLRules()...)
	if r := t.VMIDRange; r != nil {
		all = append(all, t.validation("vmidRange", fmt.Sprintf("a vmid that is not within %d and %d", r.Min, r.Max),
			unset("variables.vm.vmid", fmt.Sprintf("(variables.vm.vmid >= %d && variables.vm.vmid <= %d)", r.Min, r.Max))))
	}
	if r := t.VMIDRange; r != nil && !mayAdoptAny(t.Tenant) {
		all = append(all, t.validation("vmidRange", fmt.Sprintf("an external name that is not within %d and %d", r.Min, r.Max),
			fmt.Sprintf("!variables.externalName.matches('^[0-9]{1,9}$') || int(variables.externalName) >= %d && int(variables.externalName) <= %d", r.Min, r.Max)))
	}
	pools := slices.Concat(t.Pools, adoptPools(t.ProviderTenant))
	if len(t.Pools) == 0 {
		pools = append(pools, "")
	}
	all = append(all, t.validation("pools", "a pool but "+listed(pools), unset("variables.vm.pool", "variables.vm.pool in "+list(pools))))
	if len(t.Nodes) > 0 {
		all = append(all, t.validation("nodes", "a node but "+listed(t.Nodes),
			"("+unset("variables.vm.node", "variables.vm.node in "+list(t.Nodes))+") && (!has(variables.vm.placement) || "+
				unset("variables.vm.placement.nodes", "variables.vm.placement.nodes.all(n, n in "+list(t.Nodes)+")")+")"))
	}
	if reserved := forbiddenTags(t.Tenant); len(reserved) > 0 {
		all = append(all, t.validation("tags", "tags that are for other tenants, or that operators set",
			unset("variables.vm.tags", "!variables.vm.tags.exists(t, t.lowerAscii() in "+list(reserved)+")")))
	}
	return all
}

func (t admission) storageRules() []admissionv1.Validation {
	storages, images := list(t.Storages), quote(expressionOf(t.Images))
	may := func(field string) string {
		if len(t.Images) == 0 {
			return t.ownFile(field)
		}
		return " || " + field + ".matches(" + images + ")" + t.ownFile(field)
	}
	on := func(field string) string { return "(" + unset(field, field+" in "+storages) + ")" }
	from := func(field string) string { return unset(field, "size("+field+") == 0"+may(field)) }
	within := func(parent string) string {
		return "(" + unset("variables.vm."+parent, on("variables.vm."+parent+".storage")) + ")"
	}
	all := []admissionv1.Validation{
		t.validation("storages", "a storage but "+listed(t.Storages), strings.Join([]string{
			"(" + unset("variables.vm.disks", "variables.vm.disks.all(d, "+on("d.storage")+")") + ")",
			within("clone"), within("efiDisk"), within("tpm"), within("cloudInit"), within("restore"), within("restoreInPlace"),
			"(" + unset("variables.vm.restoreInPlace", unset("variables.vm.restoreInPlace.safetyBackup", on("variables.vm.restoreInPlace.safetyBackup.storage"))) + ")",
		}, " && ")),
		t.validation("images", "an image but "+listed(t.Images), strings.Join([]string{
			"(" + from("variables.vm.iso") + ")",
			"(" + unset("variables.vm.cdroms", "variables.vm.cdroms.all(c, "+from("c.iso")+")") + ")",
			"(" + unset("variables.vm.disks", "variables.vm.disks.all(d, "+from("d.importFrom")+")") + ")",
			"(" + unset("variables.vm.image", "("+from("variables.vm.image.volume")+")") + ")",
		}, " && ")),
	}
	if t.may(func(a *v1alpha1.TenantPermissions) *bool { return a.DestroyDisks }) {
		return all
	}
	return append(all, t.validation("allow.destroyDisks", "removalPolicy Destroy of disks",
		unset("variables.vm.disks", "variables.vm.disks.all(d, !has(d.removalPolicy) || d.removalPolicy != 'Destroy')")))
}

// expressionOf returns a regular expression for patterns.
func expressionOf(patterns []string) string {
	all := make([]string, 0, len(patterns))
	for _, p := range patterns {
		all = append(all, strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, `[^/]*`))
	}
	return "^(" + strings.Join(all, "|") + ")$"
}

func (t admission) networkRules() []admissionv1.Validation {
	names := make([]string, 0, len(t.Bridges))
	var all []admissionv1.Validation
	for _, b := range t.Bridges {
		names = append(names, b.Name)
		if len(b.VLANs) == 0 {
			continue
		}
		var ranges []string
		for _, r := range b.VLANs {
			ranges = append(ranges, fmt.Sprintf("n.vlan >= %d && n.vlan <= %d", r.Min, r.Max))
		}
		all = append(all, t.validation("bridges", "a VLAN of bridge "+b.Name+" that is not the tenant's", unset("variables.vm.networks",
			fmt.Sprintf("variables.vm.networks.all(n, %s || !has(n.vlan) || %s)", eachBridge("!= "+quote(b.Name)), strings.Join(ranges, " || ")))))
	}
	all = append(all, t.validation("ipPools", "a pool of addresses but "+listed(t.IPPools), unset("variables.vm.networks",
		"variables.vm.networks.all(n, !has(n.ipConfig) || "+t.ipPoolRule("n.ipConfig.poolRef")+" && "+t.ipPoolRule("n.ipConfig.poolRef6")+")")))
	if t.of.ClusterScoped {
		all = append(all, t.ipClaimRule())
	}
	if len(t.SDNZones) > 0 {
		return all // Only the provider knows the VNets of a zone.
	}
	return append(all, t.validation("bridges", "a bridge but "+listed(names),
		unset("variables.vm.networks", "variables.vm.networks.all(n, "+eachBridge("in "+list(names))+")")))
}

// eachBridge returns an expression that holds for a network n if the comparison holds for the bridge that n names, directly or as the interface of
// NodeNetworks.
func eachBridge(comparison string) string {
	return "(" + unset("n.bridge", "n.bridge "+comparison) + ") && (!has(n.networkRef) || " + unset("n.networkRef.name", "n.networkRef.name "+comparison) + ")"
}

// ipPoolRule returns a rule that holds if a field refers to a pool of addresses of the tenant, or is unset.
func (t admission) ipPoolRule(field string) string {
	if len(t.IPPools) == 0 {
		return "!has(" + field + ")"
	}
	return "(" + unset(field, "("+field+".kind + '/' + "+field+".apiGroup + '/' + "+field+".name).matches("+quote(expressionOf(poolPatterns(t.IPPools)))+")") + ")"
}

func (t admission) deviceRules() []admissionv1.Validation {
	mappings := list(t.allowed(func(a *v1alpha1.TenantPermissions) []string { return a.Passthrough }))
	each := func(field, expression string) string {
		return "(" + unset("variables.vm."+field, "variables.vm."+field+".all(d, "+expression+")") + ")"
	}
	mapped := "(!has(d.mapping) || d.mapping in " + mappings + ")"
	pci, usb, serial := "!has(d.host) && (!has(d.romFile) || size(d.romFile) == 0)", "(!has(d.host) || d.host == 'spice')", "d == 'socket'"
	if rootOptions(t.Tenant) {
		pci, usb, serial = "(has(d.host) || !has(d.romFile) || size(d.romFile) == 0)", "true", "true"
	}
	return []admissionv1.Validation{t.validation("allow.passthrough", "devices and directories of nodes but those of its mappings", strings.Join([]string{
		each("pciDevices", pci+" && "+mapped),
		each("usbDevices", usb+" && "+mapped),
		each("virtiofs", mapped),
		each("serialPorts", serial),
		each("cdroms", "!has(d.physical) || !d.physical"),
		each("disks", "!has(d.scsiBlock) || !d.scsiBlock"),
		"(!has(variables.vm.rng) || " + unset("variables.vm.rng.source", "variables.vm.rng.source != '/dev/hwrng'") + ")",
	}, " && "))}
}

func (t admission) optionRules() []admissionv1.Validation {
	options := list(t.allowed(func(a *v1alpha1.TenantPermissions) []string { return a.ExtraConfig }))
	extra := "k in " + options
	if rootOptions(t.Tenant) {
		extra += " || k.matches(" + quote(validate.RootOnlyOptions()) + ")"
	}
	all := []admissionv1.Validation{
		t.validation("allow.extraConfig", "options of extraConfig that are not allowed", unset("variables.vm.extraConfig",
			"variables.vm.extraConfig.all(k, size(variables.vm.extraConfig[k]) == 0 || "+extra+")")),
		t.validation("allow.extraConfig", "startup, which delays the VMs of others when a node boots", unset("variables.vm.startup",
			"has(variables.vm.startup.enabled) && !variables.vm.startup.enabled || 'startup' in "+options)),
	}
	if !rootOptions(t.Tenant) {
		all = append(all, t.rootRule())
	}
	const off = "has(variables.vm.highAvailability.enabled) && !variables.vm.highAvailability.enabled"
	switch may := t.may(func(a *v1alpha1.TenantPermissions) *bool { return a.HighAvailability }); {
	case may && len(t.Nodes) == 0:
		return all
	case may:
		return append(all, t.validation("nodes", "an HA group, whose nodes are its own", unset("variables.vm.highAvailability",
			off+" || "+unset("variables.vm.highAvailability.group", "size(variables.vm.highAvailability.group) == 0"))))
	}
	return append(all, t.validation("allow.highAvailability", "high availability", unset("variables.vm.highAvailability", "("+off+")")))
}

// rootRule refuses the fields of options that only root may set.
func (t admission) rootRule() admissionv1.Validation {
	empty := func(parent, field string) string {
		return "(!has(" + parent + ") || " + unset(parent+"."+field, "size("+parent+"."+field+") == 0") + ")"
	}
	return t.validation("allow.rootOptions", "hookscript, cpu.affinity, cpu.numaNodes[].hostNodes and huge pages", strings.Join([]string{
		"(" + unset("variables.vm.hookscript", "size(variables.vm.hookscript) == 0") + ")",
		"(!has(variables.vm.cpu) || " + unset("variables.vm.cpu.numaNodes", "variables.vm.cpu.numaNodes.all(n, !has(n.hostNodes))") + ")",
		empty("variables.vm.cpu", "affinity"), empty("variables.vm.memoryOptions", "hugePages"),
		"(!has(variables.vm.memoryOptions) || " + unset("variables.vm.memoryOptions.keepHugePages", "!variables.vm.memoryOptions.keepHugePages") + ")",
	}, " && "))
}

// list returns a list of strings in CEL.
func list(all []string) string {
	quoted := make([]string, 0, len(all))
	for _, s := range all {
		quoted = append(quoted, quote(s))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// quote returns a string literal for CEL, whose escapes are those of Go for the characters that names have.
func quote(s string) string { return strconv.Quote(s) }

// listed returns names as part of a sentence.
func listed(all []string) string {
	named := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == "" })
	if len(named) == 0 {
		return "none"
	}
	return strings.Join(named, ", ")
}
