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

package providerconfig

import (
	"context"
	"fmt"
	"slices"
	"strings"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/tenancy"
)

// Reasons of conditions. Connected can also have the problems of package proxmox as its reason. They are part of the API: users and programs match
// them.
const (
	// ReasonInvalidConfiguration means that the configuration, or what it refers
	// to, cannot be used.
	ReasonInvalidConfiguration xpv2.ConditionReason = "InvalidConfiguration"

	// ReasonConnectionFailed means that there is no connection, and that no more specific reason is known.
	ReasonConnectionFailed xpv2.ConditionReason = "ConnectionFailed"

	// ReasonServerError means that the server answered with an error that does not concern the connection.
	ReasonServerError xpv2.ConditionReason = "ServerError"

	// ReasonTokenRefused means that Proxmox VE does not accept the API token.
	ReasonTokenRefused xpv2.ConditionReason = "TokenRefused"

	// ReasonPasswordRefused means that Proxmox VE does not accept the password.
	ReasonPasswordRefused xpv2.ConditionReason = "PasswordRefused"

	// ReasonSecondFactorRequired means that the user cannot log in with a password alone.
	ReasonSecondFactorRequired xpv2.ConditionReason = "SecondFactorRequired"

	// ReasonUnknownRealm means that the cluster has no such authentication realm.
	ReasonUnknownRealm xpv2.ConditionReason = "UnknownRealm"

	// ReasonVersionTooOld means that Proxmox VE is older than 8.0.
	ReasonVersionTooOld xpv2.ConditionReason = "VersionTooOld"

	// ReasonMissingPrivilege means that a feature needs a privilege that the user
	// or token does not have.
	ReasonMissingPrivilege xpv2.ConditionReason = "MissingPrivilege"

	// ReasonNoQuorum means that the node that answers is cut off from the
	// majority of its cluster.
	ReasonNoQuorum xpv2.ConditionReason = "NoQuorum"

	// ReasonInsecureSkipTLSVerify means that any server certificate is accepted.
	ReasonInsecureSkipTLSVerify xpv2.ConditionReason = "InsecureSkipTLSVerify"

	// ReasonVerified means that the server certificate is verified.
	ReasonVerified xpv2.ConditionReason = "Verified"

	// ReasonTenantsOverlap means that two tenants have something in common.
	ReasonTenantsOverlap xpv2.ConditionReason = "TenantsOverlap"

	// ReasonUnknown means that an earlier failure prevented the check.
	ReasonUnknown xpv2.ConditionReason = "Unknown"

	// ReasonPassed means that a check found nothing wrong.
	ReasonPassed xpv2.ConditionReason = "Passed"
)

// A checkResult is the result of one check.
type checkResult struct {
	kind    xpv2.ConditionType
	status  corev1.ConditionStatus
	reason  xpv2.ConditionReason
	message string
}

func (v checkResult) condition() xpv2.Condition {
	return xpv2.Condition{Type: v.kind, Status: v.status, Reason: v.reason, Message: v.message, LastTransitionTime: metav1.Now()}
}

func passed(kind xpv2.ConditionType, message string) checkResult {
	return checkResult{kind: kind, status: corev1.ConditionTrue, reason: ReasonPassed, message: message}
}

func failed(kind xpv2.ConditionType, reason xpv2.ConditionReason, message string) checkResult {
	return checkResult{kind: kind, status: corev1.ConditionFalse, reason: reason, message: message}
}

// checks returns the types of conditions that Ready summarizes, ordered so that a failure can be the cause of those after it.
func checks() []xpv2.ConditionType {
	return []xpv2.ConditionType{
		v1alpha1.TypeConnected, v1alpha1.TypeAuthenticated, v1alpha1.TypeVersionSupported, v1alpha1.TypePermitted, v1alpha1.TypeQuorate,
	}
}

// conclude returns the conditions for results. Checks that were not reached are unknown, and Ready shows the first problem.
func conclude(found ...checkResult) []xpv2.Condition {
	ready := checkResult{kind: xpv2.TypeReady, status: corev1.ConditionTrue, reason: xpv2.ReasonAvailable}
	out := make([]xpv2.Condition, 0, len(found)+2)
	for _, kind := range checks() {
		i := slices.IndexFunc(found, func(v checkResult) bool { return v.kind == kind })
		if i < 0 {
			out = append(out, checkResult{kind: kind, status: corev1.ConditionUnknown, reason: ReasonUnknown}.condition())
			continue
		}
		out = append(out, found[i].condition())
		if ready.status == corev1.ConditionTrue && found[i].status == corev1.ConditionFalse {
			ready = checkResult{kind: xpv2.TypeReady, status: corev1.ConditionFalse, reason: found[i].reason, message: found[i].message}
		}
	}
	return append(out, ready.condition())
}

// verification reports whether the server's certificate is verified.
func verification(spec *v1alpha1.ProviderConfigSpec) checkResult {
	if spec.TLS != nil && spec.TLS.InsecureSkipTLSVerify != nil && *spec.TLS.InsecureSkipTLSVerify {
		return failed(v1alpha1.TypeCertificateVerified, ReasonInsecureSkipTLSVerify,
			"any server certificate is accepted, so an attacker on the network path can read the credentials: "+
				"give the cluster's CA, of /etc/pve/pve-root-ca.pem, in spec.tls and remove insecureSkipTLSVerify")
	}
	return checkResult{kind: v1alpha1.TypeCertificateVerified, status: corev1.ConditionTrue, reason: ReasonVerified}
}

// mostOverlaps is how many overlaps are listed.
const mostOverlaps = 10

// distinct checks whether the tenants of a configuration overlap.
func distinct(spec *v1alpha1.ProviderConfigSpec) checkResult {
	all := tenancy.Overlaps(spec)
	if len(all) == 0 {
		return passed(v1alpha1.TypeTenantsDistinct, "")
	}
	text := strings.Join(all[:min(len(all), mostOverlaps)], "; ")
	if more := len(all) - mostOverlaps; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return failed(v1alpha1.TypeTenantsDistinct, ReasonTenantsOverlap, text+"; these are not kept apart")
}

// A subject names the user and the cluster of a login in sentences.
type subject struct {
	// who is the token or the user: token "u@pve!t".
	who string

	// id of the token or the user: u@pve!t.
	id string

	token bool
	realm string
}

func subjectOf(c proxmox.Identity) subject {
	_, realm, _ := strings.Cut(c.ID[strings.LastIndex(c.ID, "@"):], "@")
	realm, _, _ = strings.Cut(realm, "!")
	s := subject{who: fmt.Sprintf("user %q", c.ID), id: c.ID, token: c.Token, realm: realm}
	if c.Token {
		s.who = fmt.Sprintf("token %q", c.ID)
	}
	return s
}

// notChecked returns the result for an error that prevented a check of the cluster. realms are those of the cluster, if it could be asked.
func notChecked(err error, s subject, realms []string) []checkResult {
	switch {
	case proxmox.IsAuthentication(err):
		return []checkResult{passed(v1alpha1.TypeConnected, ""), refused(err, s, realms)}
	case proxmox.ProblemOf(err) != "":
		p := proxmox.ProblemOf(err)
		return []checkResult{failed(v1alpha1.TypeConnected, xpv2.ConditionReason(p), sentence(err)+": "+remedies()[p])}
	case proxmox.IsUnavailable(err):
		return []checkResult{failed(v1alpha1.TypeConnected, ReasonConnectionFailed, sentence(err)+": "+
			"see whether the node is up and pveproxy and pvedaemon run on it (systemctl status pveproxy pvedaemon)")}
	case connect.IsConfiguration(err):
		return []checkResult{failed(v1alpha1.TypeConnected, ReasonInvalidConfiguration, err.Error()+"; correct it there, or in the spec")}
	}
	return []checkResult{failed(v1alpha1.TypeConnected, ReasonServerError, sentence(err)+": "+
		"see the log of pveproxy and pvedaemon on the node (journalctl -u pveproxy -u pvedaemon)")}
}

// sentence returns the error without the name of the operation, which is the check.
func sentence(err error) string {
	_, text, ok := strings.Cut(err.Error(), ": ")
	if !ok {
		return err.Error()
	}
	return text
}

// refused returns why credentials are not accepted, as far as that is known. Proxmox VE gives the same answer for everything that may be wrong with
// them.
func refused(err error, s subject, realms []string) checkResult {
	switch {
	case len(realms) > 0 && !slices.Contains(realms, s.realm):
		return failed(v1alpha1.TypeAuthenticated, ReasonUnknownRealm, fmt.Sprintf(
			"%s is not accepted: the cluster has no realm %q, but %s; correct the part after the @", s.who, s.realm, strings.Join(realms, ", ")))
	case proxmox.ProblemOf(err) == proxmox.ProblemSecondFactor:
		return failed(v1alpha1.TypeAuthenticated, ReasonSecondFactorRequired, fmt.Sprintf(
			"%s needs a second factor to log in: use an API token, which needs none (pveum user token add %s provider)", s.who, s.id))
	case s.token:
		user, name, _ := strings.Cut(s.id, "!")
		return failed(v1alpha1.TypeAuthenticated, ReasonTokenRefused, fmt.Sprintf(
			"%s is not accepted: there is no such token, its secret is another one, or it or its user has expired or is disabled; "+
				"compare with pveum user token list %s, or create the token again (pveum user token add %s %s) and put its value into the Secret", s.who, user, user, name))
	}
	return failed(v1alpha1.TypeAuthenticated, ReasonPasswordRefused, fmt.Sprintf(
		"%s is not accepted: there is no such user, the password is another one, or the user has expired or is disabled; "+
			"see pveum user list, set the password with pveum passwd %s and put it into the Secret", s.who, s.id))
}

// checkResults returns the results for a cluster that answers.
func checkResults(h proxmox.Health, s subject, features []proxmox.Feature) []checkResult {
	return []checkResult{
		connected(h), passed(v1alpha1.TypeAuthenticated, s.who), supported(h), permitted(h, s, features), quorate(h),
	}
}

func connected(h proxmox.Health) checkResult {
	message := h.Endpoint
	if down := downEndpoints(h); len(down) > 0 {
		message += "; not available: " + strings.Join(down, ", ")
	}
	if len(h.CutOff) > 0 {
		message += "; without quorum, and not used: " + strings.Join(h.CutOff, ", ")
	}
	return passed(v1alpha1.TypeConnected, message)
}

// downEndpoints returns the endpoints that do not answer.
func downEndpoints(h proxmox.Health) []string {
	var down []string
	for _, d := range h.Down {
		down = append(down, d.Endpoint)
	}
	slices.Sort(down)
	return down
}

func supported(h proxmox.Health) checkResult {
	if h.Version.Supported() {
		return passed(v1alpha1.TypeVersionSupported, h.Version.Version)
	}
	return failed(v1alpha1.TypeVersionSupported, ReasonVersionTooOld,
		fmt.Sprintf("Proxmox VE is %s: upgrade it to 8.0 or later", h.Version.Version))
}

func permitted(h proxmox.Health, s subject, features []proxmox.Feature) checkResult {
	lacks := h.Missing(features...)
	if len(lacks) == 0 {
		return passed(v1alpha1.TypePermitted, "")
	}
	texts := make([]string, 0, len(lacks))
	for _, l := range lacks {
		texts = append(texts, l.String())
	}
	hint, grantee := "", "--users"
	if s.token {
		grantee = "--tokens"
		hint = "; a token with privilege separation needs permissions of its own in addition to those of its user"
	}
	return failed(v1alpha1.TypePermitted, ReasonMissingPrivilege, fmt.Sprintf(
		"%s lacks %s: grant a role that includes it (%s)%s", s.who, strings.Join(texts, ", no "), grants(lacks, grantee+" '"+s.id+"'"), hint))
}

// ownRole is the name of a role to create for privileges that are in no suitable role of PVE.
const ownRole = "provider-proxmox"

// grants returns the commands that grant missing privileges: one to create a role, if necessary, and one for each path.
func grants(lacks []proxmox.Lack, grantee string) string {
	var paths, own []string
	roles := map[string][]string{}
	for _, l := range lacks {
		role := l.Role
		if strings.Contains(role, " ") { // The text is a hint to create one.
			role, own = ownRole, append(own, l.Privileges...)
		}
		if roles[l.Path] == nil {
			paths = append(paths, l.Path)
		}
		if !slices.Contains(roles[l.Path], role) {
			roles[l.Path] = append(roles[l.Path], role)
		}
	}
	commands := make([]string, 0, len(paths)+1)
	if len(own) > 0 {
		commands = append(commands, fmt.Sprintf("pveum role add %s --privs %s", ownRole, strings.Join(own, ",")))
	}
	for _, p := range paths {
		commands = append(commands, fmt.Sprintf("pveum acl modify %s %s --roles %s", p, grantee, strings.Join(roles[p], ",")))
	}
	return strings.Join(commands, "; ")
}

func quorate(h proxmox.Health) checkResult {
	switch {
	case !h.StatusKnown:
		return checkResult{
			kind: v1alpha1.TypeQuorate, status: corev1.ConditionUnknown, reason: ReasonMissingPrivilege,
			message: "only users with Sys.Audit on / (role PVEAuditor) may read it",
		}
	case !h.Status.Quorate:
		return failed(v1alpha1.TypeQuorate, ReasonNoQuorum, fmt.Sprintf(
			"cluster %q has no quorum as %s sees it, and no other endpoint that answers has it, so nothing can be changed: "+
				"bring back its other nodes or their network (pvecm status)", h.Status.Name, h.Endpoint))
	case len(h.CutOff) > 0:
		return passed(v1alpha1.TypeQuorate, fmt.Sprintf("%s has quorum; cut off from the cluster, and not used until they have it too: %s",
			h.Endpoint, strings.Join(h.CutOff, ", ")))
	}
	return passed(v1alpha1.TypeQuorate, "")
}

// remedies returns the remedies of problems with the connection.
func remedies() map[proxmox.Problem]string {
	return map[proxmox.Problem]string{
		proxmox.ProblemHostNotFound: "correct the host in spec.endpoints, or add it to the DNS that the provider's pod uses",
		proxmox.ProblemRefused:      "see whether the host and port in spec.endpoints are right and pveproxy runs there (systemctl status pveproxy)",
		proxmox.ProblemUnreachable:  "see whether the host in spec.endpoints is up and the network and its policies let the provider's pod reach it",
		proxmox.ProblemTimeout: "see whether the host in spec.endpoints is up and no firewall drops the provider's connections, " +
			"or raise spec.requestTimeoutSeconds",
		proxmox.ProblemClosed: "see the log of pveproxy on the node (journalctl -u pveproxy) and of any load balancer before it",
		proxmox.ProblemUnknownAuthority: "give its certificate in spec.tls.caCertificate, caCertificateSecretRef or caCertificateConfigMapRef; " +
			"that of Proxmox VE is /etc/pve/pve-root-ca.pem",
		proxmox.ProblemNameMismatch: "use one of these names in spec.endpoints, set spec.tls.serverName to one of them, " +
			"or make a certificate for the host (pvecm updatecerts --force)",
		proxmox.ProblemExpired:           "renew it on the node (pvecm updatecerts --force, or pvenode acme cert renew)",
		proxmox.ProblemNotYetValid:       "set the clocks of the node and of this cluster right",
		proxmox.ProblemBadCertificate:    "make a new one on the node (pvecm updatecerts --force)",
		proxmox.ProblemNotTLS:            "correct the host and port in spec.endpoints, for Proxmox VE listens with TLS on port 8006",
		proxmox.ProblemTLSVersion:        "let the server, or what stands before it, speak TLS 1.2 or 1.3",
		proxmox.ProblemClientCertificate: "give a certificate that it accepts in spec.tls.clientCertificateSecretRef",
		proxmox.ProblemTLSRefused:        "see the log of the server, or of what stands before it",
		proxmox.ProblemRedirect:          "put the address of the API itself into spec.endpoints: the provider does not send credentials to the target of a redirect",
		proxmox.ProblemNotPVE:            "put the address of the API of Proxmox VE into spec.endpoints",
	}
}

// Check returns the results of checking a cluster, as conditions of a provider configuration. It only reads.
func Check(ctx context.Context, c *proxmox.Client, spec *v1alpha1.ProviderConfigSpec) []xpv2.Condition {
	_, found, _ := ask(ctx, c, spec)
	return append(conclude(found...), verification(spec).condition())
}

// check checks the cluster of a configuration.
func check(ctx context.Context, c *connect.Connection) (proxmox.Health, []checkResult) {
	h, found, answers := ask(ctx, c.Client, c.Config)
	if answers && !h.StatusKnown {
		h.Status.Nodes = members(c.Inventory.Nodes(ctx))
	}
	return h, found
}

// ask sends requests to a cluster. It reports whether the cluster has answered all of them.
func ask(ctx context.Context, c *proxmox.Client, spec *v1alpha1.ProviderConfigSpec) (proxmox.Health, []checkResult, bool) {
	s := subjectOf(c.Identity())
	h, err := c.Check(ctx)
	if err == nil {
		return h, checkResults(h, s, features(spec)), true
	}
	var realms []string
	if proxmox.IsAuthentication(err) {
		if realms, _ = c.Realms(ctx); realms != nil { // The rest of the message is valid without them.
			slices.Sort(realms)
		}
	}
	return h, notChecked(err, s, realms), false
}

// members returns the nodes, as far as the user may see them.
func members(nodes []proxmox.Node, err error) []proxmox.ClusterNode {
	if err != nil {
		return nil
	}
	out := make([]proxmox.ClusterNode, 0, len(nodes))
	for _, n := range nodes {
		out = append(out, proxmox.ClusterNode{Name: n.Name, Online: n.Online()})
	}
	return out
}

func features(spec *v1alpha1.ProviderConfigSpec) []proxmox.Feature {
	if len(spec.Features) == 0 {
		return []proxmox.Feature{proxmox.FeatureMachines}
	}
	out := make([]proxmox.Feature, 0, len(spec.Features))
	for _, f := range spec.Features {
		out = append(out, proxmox.Feature(f))
	}
	return out
}
