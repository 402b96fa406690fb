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

package controller_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	pvecluster "github.com/vitistack/provider-proxmox/internal/controller/cluster"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/conditions"
	"github.com/vitistack/provider-proxmox/internal/controller/node"
	"github.com/vitistack/provider-proxmox/internal/simulator"
)

// clusterScenarios returns scenarios about clusters and nodes, the same in both scopes and with both releases of PVE.
func clusterScenarios() map[string]scenario {
	return map[string]scenario{
		"cluster":  {reason: "A cluster shows what it has and lacks.", run: clusterShown},
		"options":  {reason: "Options that are declared are kept, and no others.", run: clusterOptions},
		"lookonly": {reason: "A cluster and a node may be observed only.", run: lookOnly},
		"denied":   {reason: "Who may not change options is told what is missing.", run: optionsDenied},
		"secret":   {reason: "A proxy with a password is kept in a Secret, and shown nowhere.", run: proxyOfSecret},
		"wrong":    {reason: "If the connection leads to another cluster, nothing is changed there.", run: wrongCluster},
		"managers": {reason: "The older one of two that manage the same does.", run: managers},
		"node":     {reason: "A node shows what it has.", run: nodeShown},
		"settings": {reason: "Settings that are declared are kept, and no others.", run: nodeSettings},
		"nonode":   {reason: "A node that does not exist is said to.", run: noNode},
		"found":    {reason: "A node belongs to the cluster that it refers to.", run: nodeOfCluster},
		"resident": {reason: "A Machine says what becomes of its node and its storages, and stays where it is.", run: machineInTrouble},
		"trouble":  {reason: "What goes away is said, and what comes back.", run: trouble},
	}
}

func TestClustersAndNodes(t *testing.T) {
	t.Parallel()
	runVersions(t, clusterScenarios())
}

// inNamespace reports whether the world uses the namespaced kinds.
func (w *world) inNamespace() bool {
	_, ok := w.scope.config(w.meta(), v1alpha1.ProviderConfigSpec{Credentials: v1alpha1.ProviderCredentials{
		SecretRef: &v1alpha1.SecretOptionalKeyReference{},
	}}).(*namespaced.ProviderConfig)
	return ok
}

// cluster returns a cluster to create, which uses the world's provider configuration.
func (w *world) cluster(name string, spec v1alpha1.ProxmoxClusterParameters) pvecluster.Cluster {
	o := w.meta()
	o.Name += name
	if w.inNamespace() {
		o.Namespace = namespace
		c := &namespaced.ProxmoxCluster{ObjectMeta: o, Spec: namespaced.ProxmoxClusterSpec{ForProvider: spec}}
		c.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: w.name})
		return c
	}
	c := &cluster.ProxmoxCluster{ObjectMeta: o, Spec: cluster.ProxmoxClusterSpec{ForProvider: spec}}
	c.SetProviderConfigReference(&xpv2.Reference{Name: w.name})
	return c
}

// node returns a node to create, which uses the world's provider configuration.
func (w *world) node(name string, spec v1alpha1.ProxmoxNodeParameters) node.Node {
	o := w.meta()
	o.Name += name
	if w.inNamespace() {
		o.Namespace = namespace
		n := &namespaced.ProxmoxNode{ObjectMeta: o, Spec: namespaced.ProxmoxNodeSpec{ForProvider: spec}}
		n.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: w.name})
		return n
	}
	n := &cluster.ProxmoxNode{ObjectMeta: o, Spec: cluster.ProxmoxNodeSpec{ForProvider: spec}}
	n.SetProviderConfigReference(&xpv2.Reference{Name: w.name})
	return n
}

// make creates a resource, and removes it at the end.
func (w *world) make(mg resource.Managed) {
	w.Helper()
	if err := w.kube.Create(w.Context(), mg); err != nil {
		w.Fatal(err)
	}
}

// show reads the present state of a resource.
func (w *world) show(mg resource.Managed) bool {
	w.Helper()
	err := w.kube.Get(w.Context(), client.ObjectKeyFromObject(mg), mg)
	if err != nil && !kerrors.IsNotFound(err) {
		w.Fatal(err)
	}
	return err == nil
}

// becomes waits until a resource is in a state.
func (w *world) becomes(mg resource.Managed, what string, holds func() bool) {
	w.Helper()
	late := time.After(slowest)
	for again := time.NewTicker(pace); ; {
		if w.show(mg) && holds() {
			return
		}
		select {
		case <-again.C:
		case <-late:
			w.Fatalf("%s %s never happened: %s\n%+v", mg.GetName(), what, described(mg), mg)
		}
	}
}

func described(mg resource.Managed) string {
	var b strings.Builder
	for _, t := range []xpv2.ConditionType{xpv2.TypeReady, xpv2.TypeSynced} {
		c := mg.GetCondition(t)
		fmt.Fprintf(&b, "%s %s %s: %s\n", t, c.Status, c.Reason, c.Message)
	}
	return b.String()
}

// well waits until a resource is ready and matches its present spec.
func (w *world) well(mg resource.Managed) {
	w.Helper()
	w.becomes(mg, "ready", func() bool {
		r, s := mg.GetCondition(xpv2.TypeReady), mg.GetCondition(xpv2.TypeSynced)
		return r.Status == corev1.ConditionTrue && s.Status == corev1.ConditionTrue && s.ObservedGeneration == mg.GetGeneration()
	})
}

// waitNotReady waits until a resource is not ready for a reason, with these parts of the message.
func (w *world) waitNotReady(mg resource.Managed, r xpv2.ConditionReason, parts ...string) {
	w.Helper()
	w.becomes(mg, string(r)+" "+strings.Join(parts, ", "), func() bool {
		c := mg.GetCondition(xpv2.TypeReady)
		return c.Status == corev1.ConditionFalse && c.Reason == r &&
			!slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(c.Message, p) })
	})
}

// edit edits the spec of a resource.
func (w *world) edit(mg resource.Managed, change func()) {
	w.Helper()
	w.becomes(mg, "edited", func() bool {
		change()
		err := w.kube.Update(w.Context(), mg)
		if err != nil && !kerrors.IsConflict(err) {
			w.Fatal(err)
		}
		return err == nil
	})
}

// remove removes a resource and waits until it no longer exists.
func (w *world) remove(mg resource.Managed) {
	w.Helper()
	if err := w.kube.Delete(w.Context(), mg); err != nil {
		w.Fatal(err)
	}
	w.eventually(mg.GetName()+" is gone", func() bool { return !w.show(mg) })
}

// promote allows the provider's user to change options.
func (w *world) promote() {
	w.pve.Edit(func(s *simulator.State) {
		s.ACL = append(s.ACL, simulator.Grant{Path: "/", Kind: "user", ID: "crossplane@pve", Role: "Administrator", Propagate: true})
	})
}

// option returns an option of the cluster in PVE.
func (w *world) option(name string) string {
	var v string
	w.pve.Edit(func(s *simulator.State) { v = s.Options[name] })
	return v
}

func (w *world) setOption(name, value string) {
	w.pve.Edit(func(s *simulator.State) {
		options := maps.Clone(s.Options)
		if options == nil {
			options = map[string]string{}
		}
		options[name] = value
		s.Options = options
	})
}

// quiet fails the test if anything was written to PVE.
func (w *world) quiet() {
	w.Helper()
	if r := w.writes(); len(r) > 0 {
		w.Errorf("want nothing written to PVE, got %+v", r)
	}
}

func clusterShown(w *world) {
	c := w.cluster("", v1alpha1.ProxmoxClusterParameters{
		Nodes: []string{"pve1", "pve2", "pve3"}, Storages: []string{"ceph", "local"}, Networks: []string{"vmbr0"},
	})
	w.make(c)
	w.well(c)
	o := c.Observation()
	if !o.Ready || o.Name != "demo" || !*o.Quorate || o.NodesOnline != "3/3" || meta.GetExternalName(c) != "demo" || o.LastHealthCheck == nil {
		w.Errorf("want a healthy cluster, got %+v", o)
	}
	if i := slices.IndexFunc(o.Storages, func(s v1alpha1.ProxmoxClusterStorage) bool { return s.Name == "ceph" }); i < 0 ||
		!o.Storages[i].Shared || o.Storages[i].Total != 4<<40 || o.Storages[i].Used == 0 || len(o.Storages[i].Nodes) != 3 {
		w.Errorf("want ceph once with its size, got %+v", o.Storages)
	}
	want := []v1alpha1.ProxmoxClusterNetwork{
		{Name: "vmbr0", Type: "bridge", Nodes: []string{"pve1", "pve2", "pve3"}}, {Name: "vmbr1", Type: "bridge", Nodes: []string{"pve1", "pve2", "pve3"}},
	}
	if diff := cmp.Diff(want, o.Networks); diff != "" {
		w.Errorf("networks: -want, +got:\n%s", diff)
	}
	w.calm(c, "/cluster/ha/status/current")
	w.edit(c, func() {
		p := c.Parameters()
		p.Nodes, p.Storages, p.Networks = []string{"pve1", "pve9"}, []string{"nope"}, []string{"vmbr9"}
	})
	w.waitNotReady(c, pvecluster.ReasonMissing, `node "pve9" does not exist`, `storage "nope" does not exist`, `network "vmbr9" does not exist`)
	if c.Observation().Ready {
		w.Error("status: want it not ready")
	}
	w.remove(c)
	w.quiet()
}

// wrote checks the number of writes to PVE since before. A write is in the log of requests only after its effect is visible.
func (w *world) wrote(before, want int, why string) {
	w.Helper()
	w.eventually("what was written is in the log", func() bool { return len(w.writes()) >= before+want })
	if got := w.writes(); len(got) != before+want {
		w.Errorf("want %d writes %s, got %d:\n%s", want, why, len(got)-before, w)
	}
}

func clusterOptions(w *world) {
	w.promote()
	w.setOption("language", "de")
	w.setOption("migration", "type=insecure,network=192.0.2.0/24")
	c := w.cluster("", v1alpha1.ProxmoxClusterParameters{
		OnDelete: new(v1alpha1.OnDeleteReset),
		Options: &v1alpha1.ProxmoxClusterOptions{
			Console: new("xtermjs"), Description: new("The lab."), MACPrefix: new("bc:24:11"),
			Migration:      &v1alpha1.TransferOptions{Type: "secure"},
			RegisteredTags: []string{"b", "a"},
			UserTagAccess:  &v1alpha1.UserTagAccess{Allow: new("list"), AllowList: []string{"y", "x"}},
		},
	})
	w.make(c)
	w.well(c)
	w.holds(c, map[string]string{
		"console": "xtermjs", "description": "The lab.", "migration": "network=192.0.2.0/24,type=secure", "language": "de",
		"registered-tags": "b;a", "user-tag-access": "user-allow=list,user-allow-list=y;x",
	})
	before := len(w.writes())
	w.setOption("language", "fr")
	w.setOption("console", "vv")
	w.holds(c, map[string]string{"console": "xtermjs", "language": "fr"})
	w.wrote(before, 1, "for the drift")
	w.remove(c)
	w.holdsNow(map[string]string{
		"console": "", "description": "", "migration": "network=192.0.2.0/24,type=secure", "registered-tags": "", "user-tag-access": "", "language": "fr",
	})
}

// holds waits until options of the cluster have values, and the status shows no difference.
func (w *world) holds(c pvecluster.Cluster, want map[string]string) {
	w.Helper()
	w.becomes(c, fmt.Sprint("options ", want), func() bool {
		return !slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(k string) bool { return !sameParts(w.option(k), want[k]) }) &&
			len(c.Observation().Difference) == 0
	})
}

func (w *world) holdsNow(want map[string]string) {
	w.Helper()
	for k, v := range want {
		if got := w.option(k); !sameParts(got, v) {
			w.Errorf("option %s: want %q, got %q", k, v, got)
		}
	}
}

// sameParts compares property strings.
func sameParts(a, b string) bool {
	x, y := strings.Split(a, ","), strings.Split(b, ",")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

func lookOnly(w *world) {
	w.promote()
	c := w.cluster("", v1alpha1.ProxmoxClusterParameters{Options: &v1alpha1.ProxmoxClusterOptions{Console: new("vv")}})
	n := w.node("", v1alpha1.ProxmoxNodeParameters{NodeName: new("pve1"), Description: new("mine"), TimeZone: new("Europe/Oslo")})
	for _, mg := range []resource.Managed{c, n} {
		mg.SetManagementPolicies(xpv2.ManagementPolicies{xpv2.ManagementActionObserve})
		w.make(mg)
		w.well(mg)
	}
	if diff := cmp.Diff([]v1alpha1.OptionDifference{{Option: "console", Desired: "vv"}}, c.Observation().Difference); diff != "" {
		w.Errorf("difference of the cluster: -want, +got:\n%s", diff)
	}
	want := []v1alpha1.OptionDifference{{Option: "description", Desired: "mine"}, {Option: "timezone", Current: "Etc/UTC", Desired: "Europe/Oslo"}}
	if diff := cmp.Diff(want, n.Observation().Difference); diff != "" {
		w.Errorf("difference of the node: -want, +got:\n%s", diff)
	}
	w.remove(c)
	w.remove(n)
	w.quiet()
}

func optionsDenied(w *world) {
	c := w.cluster("", v1alpha1.ProxmoxClusterParameters{Options: &v1alpha1.ProxmoxClusterOptions{Console: new("vv")}})
	w.make(c)
	w.becomes(c, "refused", func() bool {
		s := c.GetCondition(xpv2.TypeSynced)
		healthy := c.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue
		return healthy && s.Status == corev1.ConditionFalse && strings.Contains(s.Message, "Sys.Modify")
	})
	w.remove(c)
	if v := w.option("console"); v != "" {
		w.Errorf("want the option unset, got %q", v)
	}
}

func proxyOfSecret(w *world) {
	w.promote()
	const first, second = "http://user:first@proxy.example.org:3128", "http://user:second@proxy.example.org:3128"
	ref := &v1alpha1.SecretKeyReference{Name: w.name + "-proxy", Key: "url"}
	if !w.inNamespace() {
		ref.Namespace = new(namespace)
	}
	c := w.cluster("", v1alpha1.ProxmoxClusterParameters{
		OnDelete: new(v1alpha1.OnDeleteReset), Options: &v1alpha1.ProxmoxClusterOptions{HTTPProxySecretRef: ref},
	})
	w.make(c)
	w.becomes(c, "without the Secret", func() bool {
		s := c.GetCondition(xpv2.TypeSynced)
		return s.Status == corev1.ConditionFalse && strings.Contains(s.Message, "cannot use options.httpProxySecretRef: cannot read secret")
	})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ref.Name}, StringData: map[string]string{"url": first + "\n"}}
	if err := w.kube.Create(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
	w.holds(c, map[string]string{"http_proxy": first})
	w.well(c)
	secret.StringData = map[string]string{"url": second}
	if err := w.kube.Update(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
	w.holds(c, map[string]string{"http_proxy": second})
	secret.StringData = map[string]string{"url": "user:third@proxy.example.org"}
	if err := w.kube.Update(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
	w.becomes(c, "told of a wrong Secret", func() bool {
		return strings.Contains(c.GetCondition(xpv2.TypeSynced).Message, "does not begin with http://")
	})
	events := &corev1.EventList{}
	if err := w.kube.List(w.Context(), events); err != nil {
		w.Fatal(err)
	}
	shown, err := json.Marshal([]any{c, events})
	if err != nil {
		w.Fatal(err)
	}
	for _, password := range []string{"user:first", "user:second", "user:third"} {
		if strings.Contains(string(shown), password) {
			w.Errorf("the password %s is shown: %s", password, shown)
		}
	}
	if err := w.kube.Delete(w.Context(), secret); err != nil {
		w.Fatal(err)
	}
	w.remove(c)
	w.holdsNow(map[string]string{"http_proxy": ""})
}

func wrongCluster(w *world) {
	w.promote()
	c := w.cluster("", v1alpha1.ProxmoxClusterParameters{
		OnDelete: new(v1alpha1.OnDeleteReset), Options: &v1alpha1.ProxmoxClusterOptions{Console: new("vv")},
	})
	n := w.node("", v1alpha1.ProxmoxNodeParameters{NodeName: new("pve1"), Description: new("mine")})
	w.make(c)
	w.make(n)
	w.well(c)
	w.well(n)
	w.holds(c, map[string]string{"console": "vv"})
	before := len(w.writes())
	w.pve.Edit(func(s *simulator.State) { s.ClusterName = "other" })
	w.waitNotReady(n, node.ReasonConflict, `leads to cluster "other", not to "demo" as before`)
	w.onNode("pve1", func(s *simulator.Node) { s.Description = "theirs" })
	w.waitNotReady(c, pvecluster.ReasonConflict, `leads to cluster "other", not to "demo"`)
	w.setOption("console", "html5")
	w.edit(c, func() { c.Parameters().Options.Console = new("xtermjs") })
	w.becomes(c, "told again", func() bool {
		return c.GetCondition(xpv2.TypeReady).ObservedGeneration == c.GetGeneration()
	})
	w.edit(n, func() { n.Parameters().Description = new("still mine") })
	w.becomes(n, "told again", func() bool {
		return n.GetCondition(xpv2.TypeReady).ObservedGeneration == n.GetGeneration()
	})
	w.remove(c)
	w.remove(n)
	if n := len(w.writes()); n != before || w.option("console") != "html5" {
		w.Errorf("want the other cluster left alone, got %d writes and console %q", n-before, w.option("console"))
	}
}

func managers(w *world) {
	w.promote()
	first := w.cluster("-first", v1alpha1.ProxmoxClusterParameters{Options: &v1alpha1.ProxmoxClusterOptions{Console: new("vv")}})
	firstNode := w.node("-first", v1alpha1.ProxmoxNodeParameters{NodeName: new("pve1"), Description: new("first")})
	for _, mg := range []resource.Managed{first, firstNode} {
		w.make(mg)
		w.well(mg)
	}
	w.eventually("time goes on", func() bool { return time.Since(firstNode.GetCreationTimestamp().Time) > 2*time.Second })
	second := w.cluster("-second", v1alpha1.ProxmoxClusterParameters{
		OnDelete: new(v1alpha1.OnDeleteReset), Options: &v1alpha1.ProxmoxClusterOptions{Console: new("html5")},
	})
	secondNode := w.node("-second", v1alpha1.ProxmoxNodeParameters{NodeName: new("pve1"), Description: new("second")})
	watcher := w.cluster("-watcher", v1alpha1.ProxmoxClusterParameters{Nodes: []string{"pve1"}})
	for _, mg := range []resource.Managed{second, secondNode, watcher} {
		w.make(mg)
	}
	w.well(watcher)
	w.waitNotReady(second, pvecluster.ReasonConflict, first.GetName()+" manages the options of this cluster already")
	w.waitNotReady(secondNode, node.ReasonConflict, firstNode.GetName()+" stands for this node already")
	w.remove(second)
	w.remove(secondNode)
	if got := w.option("console"); got != "vv" {
		w.Errorf("console: want that of the first, got %q", got)
	}
	w.well(first)
	w.well(firstNode)
	for _, mg := range []resource.Managed{first, firstNode, watcher} {
		w.remove(mg)
	}
}

func nodeShown(w *world) {
	w.promote()
	w.pve.Edit(func(s *simulator.State) {
		s.Mappings["pci"]["gpu"] = map[string]string{"map": "id=10de:2204,node=pve1,path=0000:01:00.0"}
	})
	n := w.node("", v1alpha1.ProxmoxNodeParameters{NodeName: new("pve1"), MaxVMs: new(int32(20)), Schedulable: new(true), Labels: map[string]string{"rack": "r1"}})
	w.make(n)
	w.well(n)
	o := n.Observation()
	if meta.GetExternalName(n) != "pve1" || o.NodeName != "pve1" || o.ClusterName != "demo" || o.Status != "online" || !o.Ready {
		w.Errorf("want node pve1 of demo online, got %+v", o)
	}
	if *o.VMCount != 1 || o.Kernel == "" || o.UptimeSeconds == nil || !strings.HasPrefix(o.Version, w.version()) {
		w.Errorf("want one VM (templates are none), a kernel, an uptime and version %s, got %+v", w.version(), o)
	}
	if r := o.Resources; r.CPU.Total != 16 || r.CPU.Used < 1 || r.Memory.Total != 64<<30 || r.Memory.Used == 0 || r.Storage.Total < 6<<40 || r.Storage.Used == 0 {
		w.Errorf("want what the node has and uses, got %+v", r)
	}
	if len(o.Networks) != 2 || o.Networks[0].Name != "vmbr0" || o.Networks[0].CIDR != "192.0.2.11/24" || !o.Networks[1].VLANAware {
		w.Errorf("want both bridges, got %+v", o.Networks)
	}
	want := []v1alpha1.ProxmoxNodePCIMapping{{Name: "gpu", Devices: []string{"0000:01:00.0"}}}
	if diff := cmp.Diff(want, o.PCIMappings); diff != "" {
		w.Errorf("mappings: -want, +got:\n%s", diff)
	}
	w.calm(n, "/cluster/status")
	w.remove(n)
	w.quiet()
}

// calm checks that a resource is reconciled again without a write.
func (w *world) calm(mg resource.Managed, path string) {
	w.Helper()
	looks := func() int {
		return len(slices.DeleteFunc(w.pve.Requests(), func(r simulator.Request) bool { return r.Template != path }))
	}
	for range 3 { // The time of the last observation is written once a minute.
		w.show(mg)
		before, version := looks(), mg.GetResourceVersion()
		w.eventually("three more looks", func() bool { return looks() >= before+3 })
		if w.show(mg); mg.GetResourceVersion() == version {
			return
		}
	}
	w.Errorf("%s was written although nothing had changed", mg.GetName())
}

// version returns the version of PVE in the world, such as 9.2.
func (w *world) version() string {
	var v string
	w.pve.Edit(func(s *simulator.State) { v = s.Version })
	return v
}

func nodeSettings(w *world) {
	w.promote()
	w.onNode("pve2", func(n *simulator.Node) {
		n.DNS, n.SearchDomain, n.Options = []string{"192.0.2.1", "192.0.2.2"}, "old.example.com", map[string]string{"ballooning-target": "70"}
	})
	n := w.node("", v1alpha1.ProxmoxNodeParameters{
		NodeName: new("pve2"), Description: new("The second."), TimeZone: new("Europe/Oslo"), StartAllOnBootDelay: new(int32(30)),
		WakeOnLAN: &v1alpha1.WakeOnLAN{MACAddress: "bc:24:11:00:00:02"},
		DNS:       &v1alpha1.NodeDNS{SearchDomain: new("example.com")},
	})
	w.make(n)
	w.well(n)
	kept := func() bool {
		ok := false
		w.onNode("pve2", func(s *simulator.Node) {
			ok = strings.TrimSpace(s.Description) == "The second." && s.TimeZone == "Europe/Oslo" && s.SearchDomain == "example.com" &&
				slices.Equal(s.DNS, []string{"192.0.2.1", "192.0.2.2"}) && s.Options["startall-onboot-delay"] == "30" &&
				s.Options["ballooning-target"] == "70" && strings.Contains(strings.ToLower(s.Options["wakeonlan"]), "bc:24:11:00:00:02")
		})
		return ok && len(n.Observation().Difference) == 0
	}
	w.becomes(n, "as declared", kept)
	before := len(w.writes())
	w.onNode("pve2", func(s *simulator.Node) { s.TimeZone, s.SearchDomain = "Etc/UTC", "other.example.com" })
	w.becomes(n, "as declared again", kept)
	w.wrote(before, 2, "for two drifts")
	w.remove(n)
	w.onNode("pve2", func(s *simulator.Node) {
		if strings.TrimSpace(s.Description) != "The second." {
			w.Errorf("nothing must change in PVE when the resource goes, got %+v", s)
		}
	})
}

func (w *world) onNode(name string, do func(*simulator.Node)) {
	w.pve.Edit(func(s *simulator.State) { do(s.Nodes[name]) })
}

func noNode(w *world) {
	n := w.node("", v1alpha1.ProxmoxNodeParameters{NodeName: new("pve9")})
	w.make(n)
	w.waitNotReady(n, node.ReasonNotFound, `node "pve9" does not exist: the cluster has pve1, pve2, pve3`)
	w.remove(n)
	w.quiet()
}

func nodeOfCluster(w *world) {
	c := w.cluster("-lab", v1alpha1.ProxmoxClusterParameters{})
	w.make(c)
	n := w.node("", v1alpha1.ProxmoxNodeParameters{NodeName: new("pve1"), ClusterRef: &v1alpha1.Reference{Name: c.GetName()}})
	selected := w.node("-selected", v1alpha1.ProxmoxNodeParameters{
		NodeName: new("pve2"), ClusterSelector: &v1alpha1.Selector{MatchLabels: map[string]string{label: w.name}},
	})
	for _, mg := range []node.Node{n, selected} {
		w.nowhere(mg)
		w.make(mg)
		w.well(mg)
		if got := mg.Parameters().Cluster; got == nil || *got != c.GetName() {
			w.Errorf("want cluster %q, got %v", c.GetName(), got)
		}
	}
	w.remove(c)
	w.waitNotReady(n, xpv2.ReasonUnavailable, "ProxmoxCluster", "does not exist")
	w.remove(n)
	w.remove(selected)
	w.quiet()
}

// nowhere gives a node a provider configuration that does not exist. That of its cluster is used.
func (w *world) nowhere(n node.Node) {
	switch n := n.(type) {
	case *namespaced.ProxmoxNode:
		n.SetProviderConfigReference(&xpv2.ProviderConfigReference{Kind: "ProviderConfig", Name: "nowhere"})
	case *cluster.ProxmoxNode:
		n.SetProviderConfigReference(&xpv2.Reference{Name: "nowhere"})
	}
}

func trouble(w *world) {
	c := w.cluster("", v1alpha1.ProxmoxClusterParameters{Nodes: []string{"pve2"}, Storages: []string{"ceph"}, Networks: []string{"vmbr1"}})
	n := w.node("", v1alpha1.ProxmoxNodeParameters{NodeName: new("pve2"), TimeZone: new("Etc/UTC")})
	for _, mg := range []resource.Managed{c, n} {
		w.make(mg)
		w.well(mg)
	}
	w.onNode("pve2", func(s *simulator.Node) { s.Offline = true })
	w.waitNotReady(c, pvecluster.ReasonMissing, `node "pve2" is offline`)
	w.waitNotReady(n, node.ReasonOffline, `node "pve2" is offline`)
	if o := n.Observation(); o.Ready || o.Resources == nil || o.Status != "offline" || c.Observation().NodesOnline != "2/3" {
		w.Errorf("want an offline node with what it had, got %+v", o)
	}
	w.onNode("pve2", func(s *simulator.Node) { s.Offline = false })
	w.well(c)
	w.well(n)
	w.onNode("pve3", func(s *simulator.Node) { s.Interfaces = map[string]*simulator.Interface{} })
	w.waitNotReady(c, pvecluster.ReasonMissing, `network "vmbr1" is missing on node pve3`)
	w.pve.Edit(func(s *simulator.State) { s.Storages["ceph"].Disabled = true })
	w.waitNotReady(c, pvecluster.ReasonMissing, `storage "ceph" does not exist`)
	w.pve.Edit(func(s *simulator.State) { s.NoQuorum = true })
	w.waitNotReady(c, pvecluster.ReasonNoQuorum, "the cluster has no quorum")
	w.pve.Close()
	w.waitNotReady(c, xpv2.ReasonUnavailable)
	w.waitNotReady(n, xpv2.ReasonUnavailable)
	w.remove(c)
	w.remove(n)
}

func machineInTrouble(w *world) {
	spec := ubuntu()
	spec.Node = new("pve2")
	w.create(spec)
	w.ready()
	w.says(conditions.TypeNetworkConfigured, conditions.ReasonNetworkReady, "")
	before := len(w.writes())

	var bridges map[string]*simulator.Interface
	w.onNode("pve2", func(s *simulator.Node) { bridges, s.Interfaces = s.Interfaces, map[string]*simulator.Interface{} })
	w.says(conditions.TypeNetworkConfigured, conditions.ReasonNetworkError, "bridge 'vmbr0' not found on node pve2")
	w.onNode("pve2", func(s *simulator.Node) { s.Interfaces = bridges })
	w.says(conditions.TypeNetworkConfigured, conditions.ReasonNetworkReady, "")

	var used int64
	w.pve.Edit(func(s *simulator.State) {
		used, s.Storages["ceph"].Used = s.Storages["ceph"].Used, s.Storages["ceph"].Total
	})
	w.says(conditions.TypeResourcesAllocated, conditions.ReasonInsufficientResources, "storage 'ceph' on node pve2 is full")
	w.pve.Edit(func(s *simulator.State) { s.Storages["ceph"].Used = used })
	w.says(conditions.TypeResourcesAllocated, conditions.ReasonAllocationSucceeded, "")

	w.onNode("pve2", func(s *simulator.Node) { s.Offline = true })
	w.says(xpv2.TypeReady, conditions.ReasonNodeOffline, `node "pve2" is offline`)
	w.onNode("pve2", func(s *simulator.Node) { s.Offline = false })
	w.ready()
	if n := len(w.writes()); n != before || w.vm().Node != "pve2" {
		w.Errorf("want nothing changed nor moved, got %d writes and the VM on %s", n-before, w.vm().Node)
	}
	w.finish()
}
