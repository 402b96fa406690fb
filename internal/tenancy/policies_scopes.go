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
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
)

// group returns the API group of the resources that use the configuration.
func (o PolicyTarget) group() string {
	if o.ClusterScoped {
		return clusterGroup
	}
	return namespacedGroup
}

// labels returns the labels of the policies.
func (o PolicyTarget) labels() map[string]string {
	if o.ClusterScoped {
		return map[string]string{LabelClusterScopedTenantsOf: labelOf(o.Config)}
	}
	return map[string]string{LabelTenantsOf: labelOf(o.Config)}
}

// policyName returns a name that no other policy has: names of tenants have no dots, and names for a ClusterProviderConfig continue with another
// character.
func (o PolicyTarget) policyName(suffix string) string {
	if o.ClusterScoped {
		return "provider-proxmox.cluster-scoped-" + o.Config + "." + suffix
	}
	return "provider-proxmox-" + o.Config + "." + suffix
}

// actions returns the actions for what the policies refuse.
func (o PolicyTarget) actions() []admissionv1.ValidationAction {
	if o.Warns {
		return []admissionv1.ValidationAction{admissionv1.Warn, admissionv1.Audit}
	}
	return []admissionv1.ValidationAction{admissionv1.Deny}
}

// tellsTenants reports whether the API server can count the tenants of a resource. It sees the namespaces of claims that are selected by their labels
// one at a time, and does not know which others there are.
func (o PolicyTarget) tellsTenants(tenants []v1alpha1.ProviderTenant) bool {
	return len(tenants) > 0 && (!o.ClusterScoped || !SelectsByLabels(tenants))
}

// noTenantPolicy refuses a resource that belongs to no tenant or to several. An existing resource is refused if its spec changes, or if it no longer
// belongs to one tenant.
func (o PolicyTarget) noTenantPolicy(tenants []v1alpha1.ProviderTenant) admissionv1.ValidatingAdmissionPolicy {
	p := policyOf(o.policyName("no-tenant"), o.group(), []string{"*"}, admissionv1.Create, admissionv1.Update)
	changed := changedSpec()
	if o.ClusterScoped {
		changed += " || " + o.tenantsOf("oldObject", tenants) + " == 1"
	}
	p.Spec.MatchConditions = []admissionv1.MatchCondition{
		{Name: "is-managed", Expression: "has(object.spec) && has(object.spec.forProvider)"},
		{Name: "uses-the-configuration", Expression: o.uses()},
		{Name: "asks-for-something-new", Expression: changed},
	}
	p.Spec.Validations = []admissionv1.Validation{{
		Expression: o.tenantsOf("object", tenants) + " == 1",
		Message:    "this resource belongs to no tenant of the provider configuration " + o.Config + ", or to several of them",
		Reason:     ptr.To(metav1.StatusReasonInvalid),
	}}
	return p
}

// tenantsOf returns an expression for the number of tenants of an object.
func (o PolicyTarget) tenantsOf(object string, tenants []v1alpha1.ProviderTenant) string {
	all := make([]string, 0, len(tenants))
	for i, t := range tenants {
		if o.ClusterScoped {
			all = append(all, admission{Tenant: tenantAt(tenants, i, Subject{}), of: o}.owns(object))
			continue
		}
		all = append(all, object+".metadata.namespace in "+list(t.Namespaces)+" || "+selected(t.NamespaceSelector, "namespaceObject"))
	}
	return "[" + strings.Join(all, ", ") + "].filter(t, t).size()"
}

// uses returns an expression that holds for resources that use the configuration.
func (o PolicyTarget) uses() string {
	named := "object.spec.providerConfigRef.name in " + list(o.Names)
	if !o.ClusterScoped {
		named = "object.spec.providerConfigRef.kind == 'ClusterProviderConfig' && " + named
	}
	return fmt.Sprintf("(has(object.spec.providerConfigRef) ? %s : %t)", named, slices.Contains(o.Names, defaultConfig))
}

// namedAfter returns an expression for the prefix of the names of Images' files.
func (o PolicyTarget) namedAfter() string {
	if o.ClusterScoped {
		return "the namespace of its claim or, where labels alone tell the tenant, after that and the configuration"
	}
	return "the namespace"
}

// clusterScopedBindings returns the bindings of a policy: one for the resources whose own labels select the tenant, and one for those whose claims are
// in namespaces whose labels do. With the latter, the API server evaluates a resource once for each of these namespaces.
func (t admission) clusterScopedBindings(policy string) []admissionv1.ValidatingAdmissionPolicyBinding {
	var all []admissionv1.ValidatingAdmissionPolicyBinding
	if len(t.Namespaces) > 0 || t.ResourceSelector != nil {
		all = append(all, binding(policy+"-resources", policy, nil))
	}
	if t.NamespaceSelector != nil {
		b := binding(policy+"-claims", policy, nil)
		b.Spec.ParamRef = &admissionv1.ParamRef{Selector: t.NamespaceSelector.DeepCopy(), ParameterNotFoundAction: ptr.To(admissionv1.AllowAction)}
		all = append(all, b)
	}
	return all
}

// confine limits a policy to the cluster-scoped resources of the tenant.
func (t admission) confine(p *admissionv1.ValidatingAdmissionPolicy) {
	claim := claimNamespace("object")
	if t.NamespaceSelector != nil {
		p.Spec.ParamKind = &admissionv1.ParamKind{APIVersion: "v1", Kind: "Namespace"}
	}
	p.Spec.MatchConditions = append(p.Spec.MatchConditions, admissionv1.MatchCondition{Name: "belongs-to-the-tenant", Expression: t.owns("object")})
	p.Spec.Variables = append(p.Spec.Variables,
		admissionv1.Variable{Name: "claimNamespace", Expression: claim}, admissionv1.Variable{Name: "prefixes", Expression: t.prefixes()})
}

// claimNamespace returns an expression for the namespace of an object's claim, or an empty string.
func claimNamespace(object string) string { return entry(object, "labels", LabelClaimNamespace) }

// owns returns an expression that holds for a cluster-scoped object of the tenant, selected by the namespace that is the parameter, or by its labels.
func (t admission) owns(object string) string {
	byLabels := "(" + claimNamespace(object) + " in " + list(t.Namespaces) + " || " + selected(t.ResourceSelector, object) + ")"
	if t.NamespaceSelector == nil {
		return byLabels
	}
	return "(params != null ? " + claimNamespace(object) + " == params.metadata.name : " + byLabels + ")"
}

// joins returns an expression that holds for a cluster-scoped object that was not the tenant's before, or that had another claim.
func (t admission) joins() string {
	return claimNamespace("object") + " != " + claimNamespace("oldObject") + " || !" + t.owns("oldObject")
}

// prefixes returns an expression for the prefixes that the names of Images' files may have. Whether a namespace selector selects the claim's namespace
// is known only if that namespace is the parameter. Otherwise, both prefixes are allowed.
func (t admission) prefixes() string {
	const byClaim = "[variables.claimNamespace + '.']"
	labelled := quote(t.Name + "_" + labelOf(t.of.Config) + "_.")
	if t.NamespaceSelector == nil {
		return "variables.claimNamespace in " + list(t.Namespaces) + " ? " + byClaim + " : [" + labelled + "]"
	}
	return "params != null || variables.claimNamespace in " + list(t.Namespaces) + " ? " + byClaim +
		" : size(variables.claimNamespace) == 0 ? [" + labelled + "] : [" + labelled + ", variables.claimNamespace + '.']"
}

// selected returns an expression that holds for an object whose labels a selector selects.
func selected(s *metav1.LabelSelector, object string) string {
	if s == nil {
		return "false"
	}
	all := []string{"true"}
	for _, r := range requirements(s) {
		labels, key := object+".metadata.labels", quote(r.Key)
		has := "has(" + labels + ") && " + key + " in " + labels
		in := has + " && " + labels + "[" + key + "] in " + list(r.Values)
		all = append(all, map[metav1.LabelSelectorOperator]string{
			metav1.LabelSelectorOpExists: has, metav1.LabelSelectorOpDoesNotExist: "!(" + has + ")",
			metav1.LabelSelectorOpIn: in, metav1.LabelSelectorOpNotIn: "!(" + in + ")",
		}[r.Operator])
	}
	return "(" + strings.Join(all, " && ") + ")"
}

// requirements returns the requirements of a selector in a stable order.
func requirements(s *metav1.LabelSelector) []metav1.LabelSelectorRequirement {
	var all []metav1.LabelSelectorRequirement
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		all = append(all, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{s.MatchLabels[key]}})
	}
	return append(all, s.MatchExpressions...)
}

// ownNamespace returns an expression that holds for a field with a namespace in which the tenant may name objects.
func (t admission) ownNamespace(field string) string {
	return "(size(" + field + ") > 0 && " + field + " == variables.claimNamespace || " + field + " in " + list(t.Namespaces) + ")"
}

// inOwnNamespace returns an expression that holds if a field refers to an object of such a namespace, or is unset.
func (t admission) inOwnNamespace(field string) string {
	return "(" + unset(field, "has("+field+".namespace) && "+t.ownNamespace(field+".namespace")) + ")"
}

// connectionSecretRule refuses a connection Secret in a namespace of others.
func (t admission) connectionSecretRule() admissionv1.Validation {
	const ref = "object.spec.writeConnectionSecretToRef"
	return t.validation("namespaces", "writeConnectionSecretToRef of a namespace that is not the tenant's",
		unset(ref, t.ownNamespace(ref+".namespace")+" || "+ref+".namespace in "+list(t.ConnectionSecretNamespaces)))
}

// secretRules refuses Secrets and ConfigMaps of namespaces that are not the tenant's.
func (t admission) secretRules() []admissionv1.Validation {
	const c = "variables.vm.cloudInit"
	each := func(field string) string {
		return "(" + unset(c+"."+field, c+"."+field+".all(r, has(r.namespace) && "+t.ownNamespace("r.namespace")+")") + ")"
	}
	all := []string{t.inOwnNamespace(c + ".passwordSecretRef"), each("sshKeySecretRefs"), each("sshKeyConfigMapRefs")}
	for _, field := range []string{"userData", "vendorData", "networkConfig"} {
		data := c + "." + field
		all = append(all, "("+unset(data, t.inOwnNamespace(data+".secretRef")+" && "+t.inOwnNamespace(data+".configMapRef"))+")")
	}
	return []admissionv1.Validation{
		t.connectionSecretRule(),
		t.validation("namespaces", "Secrets and ConfigMaps of cloudInit in a namespace that is not the tenant's", unset(c, strings.Join(all, " && "))),
	}
}

// ipClaimRule refuses claims of addresses in namespaces that are not the tenant's.
func (t admission) ipClaimRule() admissionv1.Validation {
	return t.validation("namespaces", "a pool of addresses of a namespace that is not the tenant's", unset("variables.vm.networks",
		"variables.vm.networks.all(n, !has(n.ipConfig) || "+t.inOwnNamespace("n.ipConfig.poolRef")+" && "+t.inOwnNamespace("n.ipConfig.poolRef6")+")"))
}
