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
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/providerconfig"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/categorytest"
	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

// invalid returns failures of the configuration itself, and of what it refers to.
func invalid() map[string]failure {
	const kind, want = v1alpha1.TypeConnected, ReasonInvalidConfiguration
	return map[string]failure{
		"NoSecret": {
			reason: "The Secret is missing.", do: func(b *bench) { b.secret = nil }, kind: kind, want: want,
			says: []string{`secret "system/pve"`, "does not exist"},
		},
		"NoNamespace": {
			reason: "The reference is incomplete.", do: func(b *bench) { b.pc.Spec.Credentials.SecretRef.Namespace = nil }, kind: kind, want: want,
			says: []string{"spec.credentials.secretRef.namespace"},
		},
		"NoKey": {
			reason: "The Secret has no such key.", do: func(b *bench) { b.pc.Spec.Credentials.SecretRef.Key = ptr.To("token") }, kind: kind,
			want: want, says: []string{`secret "system/pve" has no key "token"`},
		},
		"EmptySecret": {
			reason: "The Secret has nothing of use.", do: func(b *bench) { b.keys("other", hidden) }, kind: kind, want: want,
			says: []string{"neither tokenID and tokenSecret nor username and password"},
		},
		"NotJSON": {
			reason: "The document is broken.",
			do:     func(b *bench) { b.keys("k", `{"password":"`+hidden); b.pc.Spec.Credentials.SecretRef.Key = ptr.To("k") }, kind: kind, want: want,
			says: []string{`key "k"`, "is not valid JSON"},
		},
		"NotAToken": {
			reason: "The document is something else.",
			do:     func(b *bench) { b.keys("k", hidden); b.pc.Spec.Credentials.SecretRef.Key = ptr.To("k") }, kind: kind, want: want,
			says: []string{"neither a JSON document nor a token"},
		},
		"TokenAlone": {
			reason: "A token has a secret.", do: func(b *bench) { b.keys("tokenID", "a@pve!b") }, kind: kind, want: want,
			says: []string{"has a tokenID but no tokenSecret"},
		},
		"SecretAlone": {
			reason: "A secret has a token.", do: func(b *bench) { b.keys("tokenSecret", hidden) }, kind: kind, want: want,
			says: []string{"has a tokenSecret but no tokenID"},
		},
		"PasswordAlone": {
			reason: "A password has a user.", do: func(b *bench) { b.keys("password", hidden) }, kind: kind, want: want,
			says: []string{"has a password but no username"},
		},
		"UserNoRealm": {
			reason: "A user has a realm.", do: func(b *bench) { b.keys("username", "root", "password", hidden) }, kind: kind, want: want,
			says: []string{"username that is not of the form user@realm"},
		},
		"NoConfigMap": {reason: "The ConfigMap is missing.", do: func(b *bench) {
			b.tls().CACertificate, b.tls().CACertificateConfigMapRef = nil, ptr.To(secretKey("ca", "ca.crt"))
		}, kind: kind, want: want, says: []string{`config map "system/ca"`, "does not exist"}},
		"CANotPEM": {
			reason: "The CA is no certificate.", do: func(b *bench) { b.tls().CACertificate = ptr.To("AAAA") }, kind: kind, want: want,
			says: []string{"CA bundle has no PEM certificate"},
		},
		"NoClientSecret": {reason: "The client certificate is missing.", do: func(b *bench) {
			b.tls().ClientCertificateSecretRef = &v1alpha1.SecretReference{Namespace: ptr.To(systemNamespace), Name: "client"}
		}, kind: kind, want: want, says: []string{`secret "system/client"`, "does not exist"}},
		"HTTP": {
			reason: "Credentials do not travel in the clear.", do: func(b *bench) { b.endpoint("http://pve1:8006") }, kind: kind, want: want,
			says: []string{`endpoint "http://pve1:8006"`, "https://"},
		},
	}
}

// unconnected returns failures on the way to the API.
func unconnected() map[string]failure {
	const kind = v1alpha1.TypeConnected
	return map[string]failure{
		"NoHost": {
			reason: "There is no such name.", do: func(b *bench) { b.endpoint("https://pve.invalid:8006") }, kind: kind, want: "HostNotFound",
			says: []string{`host "pve.invalid"`, "DNS"},
		},
		"Refused": {
			reason: "Nobody listens at the endpoint.", do: func(b *bench) { b.endpoint(closed(b.T)) }, kind: kind, want: "ConnectionRefused",
			says: []string{"connection refused", "pveproxy"},
		},
		"Silent": {
			reason: "Somebody listens and says nothing.", do: func(b *bench) {
				b.hurries()
				b.plain(func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
			},
			kind: kind, want: "Timeout", says: []string{"no answer in time", "firewall"},
		},
		"SilentAPI": {
			reason: "The API does not answer.", do: func(b *bench) {
				b.hurries()
				b.pve.Inject(simulator.Fault{Path: "^/", Delay: time.Minute})
			}, kind: kind,
			want: "Timeout", says: []string{"no answer in time", "requestTimeoutSeconds"},
		},
		"Closed": {
			reason: "The connection ends before an answer.", do: func(b *bench) { b.secure(func(*tls.Config) {}, handshake) }, kind: kind, want: "ConnectionClosed",
			says: []string{"closed before the answer", "journalctl"},
		},
		"Cut": {
			reason: "The API cuts the connection.", do: func(b *bench) { b.pve.Inject(simulator.Fault{Path: "^/", CutBefore: true}) }, kind: kind,
			want: "ConnectionClosed", says: []string{"closed before the answer"},
		},
		"SystemCA": {
			reason: "The cluster has a CA of its own.", category: categorytest.Configuration,
			do: func(b *bench) { b.pc.Spec.TLS = nil }, kind: kind, want: "UnknownAuthority",
			says: []string{`unknown authority "pve-simulator CA"`, "pve-root-ca.pem"},
		},
		"OtherCA": {
			reason: "The CA is that of another cluster.", category: categorytest.Configuration,
			do: func(b *bench) { b.tls().CACertificate = otherCA(b.T) }, kind: kind,
			want: "UnknownAuthority", says: []string{"unknown authority", "spec.tls.caCertificate"},
		},
		"Name": {
			reason: "The certificate is for other names.", category: categorytest.Configuration,
			do: func(b *bench) { b.tls().ServerName = ptr.To("pve.example.org") }, kind: kind,
			want: "CertificateNameMismatch", says: []string{`not valid for "pve.example.org"`, "localhost, 127.0.0.1", "serverName"},
		},
		"Expired": {
			reason: "The certificate has ended.", category: categorytest.Configuration,
			pve: at(-3 * 365 * 24 * time.Hour), do: func(*bench) {}, kind: kind, want: "CertificateExpired",
			says: []string{"has expired on 20", "pvecm updatecerts"},
		},
		"NotYet": {
			reason: "The certificate has not begun.", category: categorytest.Configuration,
			pve: at(48 * time.Hour), do: func(*bench) {}, kind: kind, want: "CertificateNotYetValid",
			says: []string{"is not valid before 20", "clocks"},
		},
		"SSH": {
			reason: "Something else listens at the endpoint.", category: categorytest.Configuration,
			do: func(b *bench) { b.plain(say("SSH-2.0-OpenSSH_9.2\r\n")) }, kind: kind, want: "NotTLS",
			says: []string{"does not speak TLS", "8006"},
		},
		"PlainHTTP": {
			reason: "A web server without TLS listens.", category: categorytest.Configuration,
			do: func(b *bench) { b.plain(say("HTTP/1.1 400 Bad Request\r\n\r\n")) }, kind: kind,
			want: "NotTLS", says: []string{"does not speak TLS"},
		},
		"OldTLS": {reason: "TLS 1.1 is not safe.", category: categorytest.Configuration, do: func(b *bench) {
			b.secure(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, handshake)
		}, kind: kind, want: "TLSVersion", says: []string{"TLS 1.2"}},
		"NoClient": {
			reason: "A proxy wants a client certificate.", category: categorytest.Configuration,
			do: func(b *bench) { b.secure(requireClient, handshake) }, kind: kind,
			want: "ClientCertificateRefused", says: []string{"certificate required", "clientCertificateSecretRef"},
		},
		"Redirect": {
			reason: "Credentials are not sent elsewhere.", category: categorytest.Configuration,
			do: func(b *bench) { b.answers(301, "Moved Permanently") }, kind: kind,
			want: "Redirect", says: []string{"redirect", "spec.endpoints"},
		},
		"Website": {
			reason: "A website is no API.", category: categorytest.Configuration,
			do: func(b *bench) {
				b.serve(map[string]string{"/version": "<html>hello</html>", "/cluster/resources": "<html>hello</html>"})
			}, kind: kind,
			want: "NotProxmoxVE", says: []string{"not a JSON object", "spec.endpoints"},
		},
		"BadGateway": {
			reason: "A proxy has no node behind it.", do: func(b *bench) { b.answers(502, "Bad Gateway") }, kind: kind,
			want: ReasonConnectionFailed, says: []string{"Bad Gateway", "pvedaemon"},
		},
		"Overloaded": {
			reason: "The node takes no more.", do: func(b *bench) { b.answers(503, "Service Unavailable") }, kind: kind,
			want: ReasonConnectionFailed, says: []string{"Service Unavailable", "pveproxy"},
		},
		"NoDaemon": {reason: "The proxy of PVE runs without its daemon.", do: func(b *bench) {
			b.answers(595, "Errors during connection establishment, proxy handshake: Connection refused")
		}, kind: kind, want: ReasonConnectionFailed, says: []string{"Connection refused", "pvedaemon"}},
		"Broken": {
			reason: "The node is broken.", category: categorytest.Validation,
			do: func(b *bench) { b.answers(500, "unable to open database") }, kind: kind, want: ReasonServerError,
			says: []string{"unable to open database", "journalctl"},
		},
		"AllOfThem": {
			reason: "No endpoint of several answers.", do: func(b *bench) { b.pc.Spec.Endpoints = []string{closed(b.T), closed(b.T)} }, kind: kind,
			want: "ConnectionRefused", says: []string{"connection refused"},
		},
	}
}

const anyToken = "crossplane@pve!demo"

func (b *bench) user(change func(*simulator.User)) {
	b.pve.Edit(func(s *simulator.State) { change(s.Users["crossplane@pve"]) })
}

// refusals returns failures because the credentials are refused, or lack privileges.
func refusals() map[string]failure {
	const kind = v1alpha1.TypeAuthenticated
	return map[string]failure{
		"TokenSecret": {
			reason: "The secret is another one.", do: func(b *bench) { b.keys("tokenID", anyToken, "tokenSecret", hidden) }, kind: kind,
			want: ReasonTokenRefused, says: []string{`token "crossplane@pve!demo"`, "pveum user token"},
		},
		"TokenID": {
			reason: "There is no such token.", do: func(b *bench) { b.keys("tokenID", "crossplane@pve!nope", "tokenSecret", hidden) }, kind: kind,
			want: ReasonTokenRefused, says: []string{`token "crossplane@pve!nope"`, "no such token"},
		},
		"TokenUser": {
			reason: "There is no such user.", do: func(b *bench) { b.keys("tokenID", "ghost@pve!demo", "tokenSecret", hidden) }, kind: kind,
			want: ReasonTokenRefused, says: []string{`token "ghost@pve!demo"`},
		},
		"TokenRealm": {
			reason: "There is no such realm.", do: func(b *bench) { b.keys("tokenID", "crossplane@ldap!demo", "tokenSecret", hidden) }, kind: kind,
			want: ReasonUnknownRealm, says: []string{`no realm "ldap"`, "pam, pve"},
		},
		"TokenExpired": {
			reason: "The token has ended.", do: func(b *bench) { b.user(func(u *simulator.User) { u.Tokens["demo"].Expire = 1 }) }, kind: kind,
			want: ReasonTokenRefused, says: []string{"expired"},
		},
		"UserDisabled": {
			reason: "The user is disabled.", do: func(b *bench) { b.user(func(u *simulator.User) { u.Disabled = true }) }, kind: kind,
			want: ReasonTokenRefused, says: []string{"disabled"},
		},
		"Password": {
			reason: "The password is another one.", do: func(b *bench) { b.keys("username", "crossplane@pve", "password", hidden) }, kind: kind,
			want: ReasonPasswordRefused, says: []string{`user "crossplane@pve"`, "pveum passwd"},
		},
		"User": {
			reason: "There is no such user.", do: func(b *bench) { b.keys("username", "ghost@pve", "password", hidden) }, kind: kind,
			want: ReasonPasswordRefused, says: []string{`user "ghost@pve"`, "no such user"},
		},
		"Realm": {
			reason: "There is no such realm.", do: func(b *bench) { b.keys("username", "crossplane@PVE", "password", hidden) }, kind: kind,
			want: ReasonUnknownRealm, says: []string{`no realm "PVE"`, "pam, pve"},
		},
		"SecondFactor": {
			reason: "The user has a second factor.", kind: kind, want: ReasonSecondFactorRequired, says: []string{"second factor", "API token"},
			do: func(b *bench) {
				b.keys("username", "root@pam", "password", hidden)
				b.serve(map[string]string{"/access/ticket": `{"data":{"ticket":"PVE:!tfa!x","NeedTFA":1}}`, "/access/domains": `{"data":[{"realm":"pam"}]}`})
			},
		},
		"TooOld": {
			reason: "PVE 7 is not supported.", category: categorytest.None,
			kind: v1alpha1.TypeVersionSupported, want: ReasonVersionTooOld, says: []string{"Proxmox VE is 7.4-17", "upgrade", "8.0"},
			do: func(b *bench) {
				b.serve(map[string]string{
					"/version": `{"data":{"version":"7.4-17","release":"7.4"}}`, "/access/permissions": `{"data":{}}`, "/cluster/resources": `{"data":[]}`,
				})
			},
		},
		"Separated": {
			reason: "A token with privilege separation has no privileges of its own.", category: categorytest.None,
			kind: v1alpha1.TypePermitted, want: ReasonMissingPrivilege,
			says: []string{
				"VM.Audit on /vms", "(pveum acl modify /vms --tokens 'crossplane@pve!demo' --roles PVEAuditor,PVEVMAdmin; pveum acl modify /storage",
				"privilege separation",
			},
			do: func(b *bench) { b.user(func(u *simulator.User) { u.Tokens["demo"].NoSeparation = false }) },
		},
		"Auditor": {
			reason: "Who may only look cannot create.", category: categorytest.None,
			kind: v1alpha1.TypePermitted, want: ReasonMissingPrivilege,
			says: []string{
				`user "auditor@pve"`, "VM.Allocate", "VM.PowerMgmt on /vms (role PVEVMAdmin)",
				"Datastore.AllocateSpace on /storage (role PVEDatastoreUser)", "SDN.Use on /sdn (role PVESDNUser)",
				"(pveum acl modify /vms --users 'auditor@pve' --roles PVEVMAdmin; pveum acl modify /storage --users 'auditor@pve' --roles PVEDatastoreUser;",
			},
			do: func(b *bench) { b.keys("username", "auditor@pve", "password", "auditor-password") },
		},
		"Images": {
			reason: "Features need privileges of their own.", category: categorytest.None,
			kind: v1alpha1.TypePermitted, want: ReasonMissingPrivilege,
			says: []string{
				"Sys.AccessNetwork on /nodes", "role of your own",
				"(pveum role add provider-proxmox --privs Sys.AccessNetwork; pveum acl modify /storage ",
				"; pveum acl modify /nodes --tokens 'crossplane@pve!demo' --roles provider-proxmox)",
			},
			do: func(b *bench) {
				b.pve.Edit(func(s *simulator.State) {
					delete(s.Roles["Uploader"].Privileges, "Datastore.Allocate")
					delete(s.Roles["NetworkReader"].Privileges, "Sys.AccessNetwork")
				})
				b.pc.Spec.Features = []v1alpha1.ProviderFeature{"Machines", "Images"}
			},
		},
		"NoQuorum": {
			reason: "The node is cut off.", category: categorytest.None,
			kind: v1alpha1.TypeQuorate, want: ReasonNoQuorum, says: []string{`cluster "demo" has no quorum`, "pvecm status"},
			do: func(b *bench) { b.pve.Edit(func(s *simulator.State) { s.NoQuorum = true }) },
		},
	}
}

// TestCutOff cuts off the node of the first endpoint while that of the second has quorum, and checks that the second is used, and the first is named.
func TestCutOff(t *testing.T) {
	b := newBench(t, simulator.Options{NodeAddresses: map[string]string{"pve2": "127.0.0.1:0"}})
	first, second := b.pve.URL(), b.pve.NodeURL("pve2")
	b.pc.Spec.Endpoints = []string{first, second}
	b.pve.CutOff("pve1")
	pc, _ := b.check()
	quorate, connected := pc.GetCondition(v1alpha1.TypeQuorate), pc.GetCondition(v1alpha1.TypeConnected)
	if quorate.Status != corev1.ConditionTrue || !strings.Contains(quorate.Message, "cut off from the cluster, and not used until they have it too: "+first) {
		t.Errorf("want the endpoint that is cut off named, got %s: %s", quorate.Status, quorate.Message)
	}
	if !strings.Contains(connected.Message, second+"; without quorum, and not used: "+first) {
		t.Errorf("want the other endpoint used, got %s", connected.Message)
	}
	if got := pc.Observation(); got.Endpoint != second || !slices.Equal(got.UnavailableEndpoints, []string{first}) || *got.NodesOnline != 2 {
		t.Errorf("want what the others see, got %+v", got)
	}
}

// TestFailures checks that each failure has its own condition, reason and sentence with the remedy.
func TestFailures(t *testing.T) {
	t.Parallel()
	n := 0
	for group, failures := range map[string]map[string]failure{"Invalid": invalid(), "Unconnected": unconnected(), "Refused": refusals()} {
		category := map[string]string{
			"Invalid": categorytest.Configuration, "Unconnected": categorytest.Network, "Refused": categorytest.Authentication,
		}[group]
		for name, f := range failures {
			n++
			t.Run(group+"/"+name, func(t *testing.T) {
				f.category = cmp.Or(f.category, category)
				t.Parallel()
				testFailure(t, f)
			})
		}
	}
	if n < 30 {
		t.Errorf("%d failures are driven, want 30 at least", n)
	}
}

func testFailure(t *testing.T, f failure) {
	t.Helper()
	o := simulator.Options{}
	if f.pve != nil {
		o = f.pve(t)
	}
	b := newBench(t, o)
	f.do(b)
	pc, again := b.check()
	got, ready := pc.GetCondition(f.kind), pc.GetCondition(xpv2.TypeReady)
	if got.Status != corev1.ConditionFalse || got.Reason != f.want {
		t.Errorf("%s\n%s is %s %s, want False %s: %s", f.reason, f.kind, got.Status, got.Reason, f.want, got.Message)
	}
	for _, s := range append(f.says, "") {
		if !strings.Contains(got.Message, s) {
			t.Errorf("%s\nthe message does not say %q: %s", f.reason, s, got.Message)
		}
	}
	if ready.Status != corev1.ConditionFalse || ready.Reason != got.Reason || ready.Message != got.Message {
		t.Errorf("%s\nReady must say the same, got %s %s: %s", f.reason, ready.Status, ready.Reason, ready.Message)
	}
	if len(got.Message) > 1000 || strings.ContainsAny(got.Message, "\r\n") || strings.Contains(got.Message, hidden) ||
		strings.Contains(got.Message, simulatortest.TestSecret) {
		t.Errorf("%s\nthe message is not one sentence without secrets: %s", f.reason, got.Message)
	}
	warned := func(e event.Event) bool { return e.Type == event.TypeWarning && e.Message == got.Message }
	if !slices.ContainsFunc(b.events, warned) {
		t.Errorf("%s\nno event says so: %v", f.reason, b.events)
	}
	if got := b.category(); got != f.category {
		t.Errorf("%s\na ProxmoxVM shows %s, want %s", f.reason, got, f.category)
	}
	if again <= 0 || again > refusedEvery {
		t.Errorf("%s\nit is checked again in %s", f.reason, again)
	}
}

// TestWorks checks what is shown for a configuration that works.
func TestWorks(t *testing.T) {
	for _, version := range []string{"8.4", "9.2"} {
		t.Run(version, func(t *testing.T) {
			b := newBench(t, simulator.Options{Version: version})
			pc, again := b.check()
			for _, kind := range append(checks(), xpv2.TypeReady, v1alpha1.TypeCertificateVerified) {
				if c := pc.GetCondition(kind); c.Status != corev1.ConditionTrue || c.ObservedGeneration != 1 {
					t.Errorf("%s is %s %s: %s", kind, c.Status, c.Reason, c.Message)
				}
			}
			o := pc.Status
			if !strings.HasPrefix(o.Version, version) || o.Endpoint != b.pve.URL() || o.Cluster != "demo" || *o.NodesOnline != 3 || *o.NodesTotal != 3 {
				t.Errorf("status is %+v", o)
			}
			if again < checkEvery*8/10 || again > checkEvery {
				t.Errorf("checked again in %s, want about %s", again, checkEvery)
			}
			if n := len(b.pve.Requests()); n > 6 {
				t.Errorf("a check cost %d requests", n)
			}
			if len(b.events) != 1 || b.events[0].Type != event.TypeNormal {
				t.Errorf("events: %v", b.events)
			}
		})
	}
}

// TestObservedGeneration checks that the status and each of its conditions contain the generation that was checked, even if the check failed.
func TestObservedGeneration(t *testing.T) {
	cases := map[string]struct {
		reason string
		edit   func(b *bench)
		want   corev1.ConditionStatus
	}{
		"Works":   {"The other spec works as the first did.", func(b *bench) { b.pc.Spec.RequestTimeoutSeconds = ptr.To[int32](50) }, corev1.ConditionTrue},
		"Refused": {"Nobody listens at the other endpoint.", func(b *bench) { b.endpoint(closed(b.T)) }, corev1.ConditionFalse},
		"Invalid": {"The other spec is not even tried.", func(b *bench) { b.pc.Spec.Credentials.SecretRef.Key = ptr.To("none") }, corev1.ConditionFalse},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, simulator.Options{})
			b.pc.Spec.Tenants = []v1alpha1.ProviderTenant{{Name: "shop"}}
			b.pc.Status.ObservedGeneration = -1
			pc, _ := b.check()
			if pc.Status.ObservedGeneration != 1 || pc.GetCondition(xpv2.TypeReady).Status != corev1.ConditionTrue {
				t.Fatalf("want generation 1 to be ready, got %+v", pc.Status)
			}
			pc.Generation, pc.ResourceVersion, b.secret.ResourceVersion = 2, "", ""
			b.pc = pc
			tc.edit(b)
			pc, _ = b.check()
			if got := pc.GetCondition(xpv2.TypeReady).Status; pc.Status.ObservedGeneration != 2 || got != tc.want {
				t.Errorf("%s\nwant generation 2 with Ready %s, got %d with %s", tc.reason, tc.want, pc.Status.ObservedGeneration, got)
			}
			for _, c := range pc.Status.Conditions {
				if c.ObservedGeneration != 2 {
					t.Errorf("%s\n%s is about generation %d", tc.reason, c.Type, c.ObservedGeneration)
				}
			}
		})
	}
}

// TestDeleted checks that a configuration that is deleted while it is used shows that, and is still checked.
func TestDeleted(t *testing.T) {
	b := newBench(t, simulator.Options{})
	b.pc.DeletionTimestamp, b.pc.Finalizers = new(metav1.Now()), []string{"in-use.crossplane.io"}
	pc, _ := b.check()
	if c := pc.GetCondition(xpv2.TypeReady); c.Status != corev1.ConditionFalse || c.Reason != xpv2.ReasonDeleting || !strings.Contains(c.Message, "uses it") {
		t.Errorf("Ready is %s %s: %s", c.Status, c.Reason, c.Message)
	}
	if c := pc.GetCondition(v1alpha1.TypeConnected); c.Status != corev1.ConditionTrue {
		t.Errorf("it serves those that use it, got %s: %s", c.Reason, c.Message)
	}
}

// A behindClient has a cache that has one version of an object.
type behindClient struct {
	client.Client

	held *cluster.ProviderConfig
}

// Get returns the version that the cache has.
func (c behindClient) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	pc, ok := o.(*cluster.ProviderConfig)
	if !ok {
		return errors.Errorf("the cache has no %T", o)
	}
	c.held.DeepCopyInto(pc)
	return nil
}

// TestCheckedBehind checks a configuration that is being deleted, whose status the reconciler that counts its users has written meanwhile.
func TestCheckedBehind(t *testing.T) {
	b := newBench(t, simulator.Options{})
	b.pc.Finalizers = []string{"in-use.crossplane.io"}
	c, kube := b.checker()
	name := client.ObjectKeyFromObject(b.pc)
	held, pc := &cluster.ProviderConfig{}, &cluster.ProviderConfig{}
	if err := kube.Get(t.Context(), name, held); err != nil {
		t.Fatal(err)
	}
	held.DeepCopyInto(pc)
	if err := kube.Delete(t.Context(), pc); err != nil {
		t.Fatal(err)
	}
	if err := kube.Get(t.Context(), name, pc); err != nil {
		t.Fatal(err)
	}
	pc.SetUsers(1)
	pc.SetConditions(providerconfig.Terminating())
	if err := kube.Status().Update(t.Context(), pc); err != nil {
		t.Fatal(err)
	}

	c.kube = behindClient{Client: kube, held: held}
	if _, err := c.Reconcile(t.Context(), reconcile.Request{NamespacedName: name}); err != nil {
		t.Fatal(err)
	}
	if err := kube.Get(t.Context(), name, pc); err != nil {
		t.Fatal(err)
	}
	for _, want := range []xpv2.Condition{
		{Type: providerconfig.TypeTerminating, Status: corev1.ConditionTrue, Reason: providerconfig.ReasonInUse},
		{Type: v1alpha1.TypeConnected, Status: corev1.ConditionTrue, Reason: "Passed"},
		{Type: xpv2.TypeReady, Status: corev1.ConditionFalse, Reason: xpv2.ReasonDeleting},
	} {
		if got := pc.GetCondition(want.Type); got.Status != want.Status || got.Reason != want.Reason {
			t.Errorf("%s: want %s %s, got %s %s", want.Type, want.Status, want.Reason, got.Status, got.Reason)
		}
	}
	if pc.GetUsers() != 1 {
		t.Errorf("want the user that was counted, got %d", pc.GetUsers())
	}
}

// TestInsecure checks that there is one warning about a certificate that is not verified.
func TestInsecure(t *testing.T) {
	b := newBench(t, simulator.Options{})
	b.pc.Spec.TLS = &v1alpha1.ProviderTLS{InsecureSkipTLSVerify: ptr.To(true)}
	pc, _ := b.check()
	if c := pc.GetCondition(v1alpha1.TypeCertificateVerified); c.Status != corev1.ConditionFalse || c.Reason != ReasonInsecureSkipTLSVerify {
		t.Errorf("got %s %s", c.Status, c.Reason)
	}
	if c := pc.GetCondition(xpv2.TypeReady); c.Status != corev1.ConditionTrue {
		t.Errorf("it works all the same, got %s: %s", c.Reason, c.Message)
	}
	if b.events[0].Type != event.TypeWarning || b.events[0].Reason != reasonInsecure {
		t.Errorf("want a warning, got %v", b.events)
	}
	b.pc, b.events = pc, nil
	b.pc.ResourceVersion, b.secret.ResourceVersion = "", ""
	b.check()
	if len(b.events) > 0 {
		t.Errorf("nothing has changed, got %v", b.events)
	}
}

// TestTenantsDistinct checks that overlapping tenants are shown while there are any, and prevent nothing.
func TestTenantsDistinct(t *testing.T) {
	b := newBench(t, simulator.Options{})
	for i := range 7 {
		b.pc.Spec.Tenants = append(b.pc.Spec.Tenants, v1alpha1.ProviderTenant{Name: fmt.Sprintf("team%d", i), Pools: []string{"shared"}})
	}
	pc, _ := b.check()
	c := pc.GetCondition(v1alpha1.TypeTenantsDistinct)
	if c.Status != corev1.ConditionFalse || c.Reason != ReasonTenantsOverlap {
		t.Errorf("got %s %s", c.Status, c.Reason)
	}
	if !strings.Contains(c.Message, "tenants team0 and team1 both have VMIDs 10000 to 99999; tenants team0 and team1 both have VMs of pool shared; ") ||
		!strings.Contains(c.Message, "; and 32 more; ") {
		t.Errorf("got %s", c.Message)
	}
	if c := pc.GetCondition(xpv2.TypeReady); c.Status != corev1.ConditionTrue {
		t.Errorf("it works all the same, got %s: %s", c.Reason, c.Message)
	}
	b.pc, b.events = pc, nil
	b.pc.ResourceVersion, b.secret.ResourceVersion, b.pc.Spec.Tenants = "", "", nil
	if pc, _ = b.check(); pc.GetCondition(v1alpha1.TypeTenantsDistinct).Status != corev1.ConditionTrue {
		t.Error("without tenants nothing is in common")
	}
}

// TestEndpointDown checks that an endpoint that is down is shown while another one works.
func TestEndpointDown(t *testing.T) {
	b := newBench(t, simulator.Options{})
	down := closed(t)
	b.pc.Spec.Endpoints = []string{down, b.pve.URL()}
	pc, _ := b.check()
	if diff := gocmp.Diff([]string{down}, pc.Status.UnavailableEndpoints); diff != "" || pc.Status.Endpoint != b.pve.URL() {
		t.Errorf("endpoint %s\n-want, +got:\n%s", pc.Status.Endpoint, diff)
	}
	if c := pc.GetCondition(v1alpha1.TypeConnected); c.Status != corev1.ConditionTrue || !strings.Contains(c.Message, down) {
		t.Errorf("Connected is %s: %s", c.Status, c.Message)
	}
}

// A logged stores the messages of a log, except those for debugging.
type logged struct {
	logging.Logger

	lines *[]string
}

func (l logged) Info(msg string, args ...any) {
	*l.lines = append(*l.lines, fmt.Sprintln(append([]any{msg}, args...)...))
}

// TestLogsOfAuthentication checks that a refusal is logged once, in the words that monitoring looks for, and that no other failure is.
func TestLogsOfAuthentication(t *testing.T) {
	cases := map[string]struct {
		reason string
		do     func(*bench)
		want   int
	}{
		"Refused": {reason: "The secret is another one.", do: func(b *bench) { b.keys("tokenID", anyToken, "tokenSecret", hidden) }, want: 1},
		"Quorum":  {reason: "Who is let in is not refused.", do: func(b *bench) { b.pve.Edit(func(s *simulator.State) { s.NoQuorum = true }) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, simulator.Options{})
			tc.do(b)
			c, _ := b.checker()
			var lines []string
			c.log = logged{Logger: c.log, lines: &lines}
			for range 2 {
				if _, err := c.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b.pc)}); err != nil {
					t.Fatal(err)
				}
			}
			got := 0
			for _, l := range lines {
				if strings.HasPrefix(l, "Authentication failed ") && strings.Contains(l, " error ") {
					got++
				}
				if strings.Contains(l, hidden) {
					t.Errorf("the secret is logged: %s", l)
				}
			}
			if got != tc.want {
				t.Errorf("\n%s\nwant %d lines, got %q", tc.reason, tc.want, lines)
			}
		})
	}
}
