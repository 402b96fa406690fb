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

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/vitistack/provider-proxmox/cluster/local/machine"
	"github.com/vitistack/provider-proxmox/cluster/local/provider"
)

// fewer of a kind are compared with all of them: one of so many.
const fewer = 10

// A manyOf is a kind of which there are many.
type manyOf struct {
	kind, resource string
	number         int
	spec           func(i int) map[string]any
}

// manyOf lists the kinds. An Image is a file that is there, which every node gets.
func (b *bench) manyOf(file imageFile) []manyOf {
	return []manyOf{
		{kind: "Snapshot", resource: "snapshots", number: b.Snapshots, spec: func(i int) map[string]any {
			return map[string]any{"vmid": int64(firstID + i), "allowUnmanaged": true}
		}},
		{kind: "Volume", resource: "volumes", number: b.Volumes, spec: func(int) map[string]any {
			return map[string]any{"size": "1G", "storage": "ceph"}
		}},
		{kind: "Image", resource: "images", number: b.Images, spec: func(int) map[string]any {
			return map[string]any{
				"source": map[string]any{"url": file.url, "checksum": file.checksum}, "content": "iso", "storages": []any{"local"},
			}
		}},
	}
}

// A group is so many of a kind, in a cluster of their own, whose calls are counted.
type group struct {
	manyOf
	*site

	number int
	ends   *ends
}

// named is the one of a group with a number.
func (g *group) named(i int) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: declared(g.spec(i))}
	u.SetAPIVersion(machine.NamespacedGroup + "/v1alpha1")
	u.SetKind(g.kind)
	u.SetNamespace(provider.DefaultNamespace)
	u.SetName(fmt.Sprintf("%s-%d-%d", g.resource, g.number, i))
	_ = unstructured.SetNestedMap(u.Object, map[string]any{"kind": "ClusterProviderConfig", "name": g.name}, "spec", "providerConfigRef")
	return u
}

// kinds measures what many Snapshots, Volumes and Images cost while nothing happens: as much as a few.
func (b *bench) kinds(ctx context.Context) (err error) {
	file, closeFile, err := serveImage()
	if err != nil {
		return err
	}
	defer closeFile()
	w, ctx, err := b.open(ctx, newCluster(0))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	all, err := b.makeKinds(ctx, w, file) // It waits for tasks, and takes less than half of a processor of the provider: it keeps nobody waiting.
	if err != nil {
		return err
	}
	if err := w.wait(ctx, settle(max(b.Snapshots, b.Volumes, b.Images))); err != nil {
		return err
	}
	return b.watchKinds(ctx, w, all) // Calls are counted, which others do not disturb.
}

// makeKinds makes a few of each kind, and many.
func (b *bench) makeKinds(ctx context.Context, w *env, file imageFile) ([]*group, error) {
	var all []*group
	for _, k := range b.manyOf(file) {
		for _, n := range []int{k.number / fewer, k.number} {
			c := newCluster(0)
			if c.rate = resourcesRate; k.kind == "Snapshot" {
				c.machines = n*stoppedShare/(stoppedShare-1) + 1
			}
			s, err := w.addSite(ctx, c, len(all))
			if err != nil {
				return nil, err
			}
			all = append(all, &group{manyOf: k, site: s, number: n})
		}
	}
	if err := w.startProvider(ctx); err != nil {
		return nil, err
	}
	following, unfollow := context.WithCancel(ctx)
	defer unfollow()
	stop := b.profile(ctx, w, "kinds")
	defer stop()
	for _, g := range all {
		if err := w.makeGroup(ctx, following, g); err != nil {
			return nil, fmt.Errorf("%s: %w", g.kind, err)
		}
	}
	left := func() (n int) {
		for _, g := range all {
			n += g.ends.left()
		}
		return n
	}
	return all, w.until(ctx, "making Snapshots, Volumes and Images", left)
}

// makeGroup creates the resources of a group, and follows them while it may.
func (w *env) makeGroup(ctx, following context.Context, g *group) error {
	resource := machine.Namespaced().GroupVersion().WithResource(g.resource)
	ready := func(u *unstructured.Unstructured) bool { return condition(u, "Ready") }
	g.ends = &ends{operation: operation{name: g.kind, resource: resource, done: ready}, at: map[string]time.Time{}}
	for i := range g.number {
		g.ends.at[g.named(i).GetName()] = time.Time{}
	}
	if err := g.ends.follow(following, w.Kube.Config()); err != nil {
		return err
	}
	w.Console.Stepf("%d %s", g.number, g.resource)
	return w.machineSet.eachOf(ctx, resource, g.number, func(ctx context.Context, client dynamic.ResourceInterface, i int) error {
		_, err := client.Create(ctx, g.named(i), metav1.CreateOptions{})
		return err
	})
}

// kindWindow is how long the kinds are watched: some of their lists are read once in several minutes, by all at once.
func (b *bench) kindWindow() time.Duration { return 3 * b.Window }

// watchKinds counts the calls of all groups at once.
func (b *bench) watchKinds(ctx context.Context, w *env, all []*group) error {
	sites := make([]*site, len(all))
	for i, g := range all {
		sites[i] = g.site
	}
	calls, _, _, err := w.watchSites(ctx, sites, b.kindWindow())
	if err != nil {
		return err
	}
	t := table{name: "kinds", rows: append([][]string{{"kind", "number", "calls/min", "bound"}}, b.kindRows(all, calls)...)}
	by := table{name: "kinds-endpoints", rows: [][]string{{"kind", "number", "call", "per minute"}}}
	for i, g := range all {
		for _, k := range calls[i].names() {
			by.rows = append(by.rows, []string{g.kind, itoa(g.number), "`" + k + "`", number(float64(calls[i][k]) / b.kindWindow().Minutes())})
		}
	}
	b.add(t, by)
	b.show(t)
	return nil
}

// kindRows are the rows of groups with so many calls. Of each kind there are a few, and then many.
func (b *bench) kindRows(all []*group, calls []counts) (rows [][]string) {
	few := 0.0
	for i, g := range all {
		perMinute, bound := float64(calls[i].total())/b.kindWindow().Minutes(), ""
		if i%2 == 0 {
			few = perMinute + resourcesPerMinute - float64(calls[i][listOfResources])/b.kindWindow().Minutes()
		} else {
			bound = b.atMost(itoa(g.number)+" "+g.resource+": calls per minute", perMinute, mostOf(few), "")
		}
		rows = append(rows, []string{g.kind, itoa(g.number), number(perMinute), bound})
	}
	return rows
}

// The list of resources is read for all who want it, at most once in ten seconds: less often for a few, who look at it all at the same time.
const (
	listOfResources    = "GET /cluster/resources"
	resourcesPerMinute = 6.0
)

// mostOf is how many calls many may cost where a few cost so many: a fifth more, since a minute may have one poll of each sort more.
func mostOf(few float64) float64 { return few * 1.2 }

// An imageFile is what Images are downloaded from.
type imageFile struct{ url, checksum string }

// serveImage serves a small ISO image until the function that it returns is called.
func serveImage() (imageFile, func(), error) {
	content := bytes.Repeat([]byte("not bootable\n"), 1000)
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It is closed.
	if err != nil {
		return imageFile{}, nil, fmt.Errorf("cannot serve an image: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "image.iso", time.Time{}, bytes.NewReader(content))
	})}
	go func() { _ = server.Serve(listener) }()
	sum := sha256.Sum256(content)
	file := imageFile{url: "http://" + listener.Addr().String() + "/image.iso", checksum: "sha256:" + hex.EncodeToString(sum[:])}
	return file, func() { _ = server.Close() }, nil
}
