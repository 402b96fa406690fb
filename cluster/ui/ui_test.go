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

// Package ui tests the page of the built pve-simulator in a Chromium, as users see it.
package ui

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/cluster/local/process"
	"github.com/vitistack/provider-proxmox/cluster/local/repository"
	"github.com/vitistack/provider-proxmox/cluster/local/supervisor"
)

// maxWait limits how long the page may take to show a change. The page makes a request once a second.
const maxWait = 20 * time.Second

// Set by TestMain.
var (
	runContext context.Context       //nolint:gochecknoglobals // Nothing else reaches tests from TestMain.
	checkout   repository.Repository //nolint:gochecknoglobals // See above.
)

// TestMain runs the tests under a supervisor, so that no program outlives them, however they end.
func TestMain(m *testing.M) {
	var err error
	if checkout, err = repository.Find("."); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(supervisor.Run(checkout.Runs(), "ui", func(ctx context.Context, _ string) error {
		runContext = ctx //nolint:fatcontext // It is set once.
		if m.Run() != 0 {
			return errors.New("a test of the page failed")
		}
		return nil
	}))
}

// pve is a running simulator with its built-in scenario.
type pve struct{ url string }

// startSimulator starts the program with further arguments. It ends with the test.
func startSimulator(t *testing.T, args ...string) *pve {
	t.Helper()
	path, err := checkout.Binary("pve-simulator")
	if err != nil {
		t.Fatal(err)
	}
	address, err := process.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(runContext, process.Spec{
		Name: "pve-simulator", Path: path, Args: append([]string{"--address", address}, args...), Env: os.Environ(),
		Log: t.TempDir() + "/log", Ready: process.HTTP("https://" + address + "/healthz"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return &pve{url: "https://" + address}
}

// ask sends a request such as "POST /api2/json/nodes/pve1/qemu" with the token of the built-in scenario. The request must succeed.
func (p *pve) ask(t *testing.T, request, kind, body string) {
	t.Helper()
	verb, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(runContext, verb, p.url+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	if strings.HasPrefix(path, "/api2/") {
		req.Header.Set("Authorization", "PVEAPIToken=crossplane@pve!demo=00000000-0000-4000-8000-000000000001")
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // Only read.
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s %v", request, resp.Status, text, err)
	}
}

const form, object = "application/x-www-form-urlencoded", "application/json"

func TestPage(t *testing.T) {
	sim := startSimulator(t, "--speed", "4")
	b := openBrowser(runContext, t, t.TempDir())
	b.call(t, "Page.navigate", map[string]any{"url": sim.url + "/"}, nil)

	b.until(t, "connection", "Live")
	for id, want := range map[string]string{
		"about": "Proxmox VE 9.2, cluster demo", "nodes": "pve2 online", "nodes-count": "3 of 3 online", "guests": "9000", "guests-count": "running",
	} {
		b.until(t, id, want)
	}
	if got := b.evaluate(t, "document.querySelector('main h2').innerText"); got != "Guests" {
		t.Errorf("the page begins with %v", got)
	}
	// A new VM, its task from start to end, and the request that created it.
	sim.ask(t, "POST /api2/json/nodes/pve1/qemu/9000/clone", form, "newid=300&name=made-by-a-client&full=1&storage=local-lvm")
	b.until(t, "tasks", "qmclone 9000 pve1 crossplane@pve!demo running")
	b.until(t, "guests", "300 made-by-a-client pve1 stopped, locked: clone")
	b.until(t, "requests", "POST /nodes/pve1/qemu/9000/clone crossplane@pve!demo 200 OK")
	b.until(t, "tasks", "qmclone 9000 pve1 crossplane@pve!demo OK")
	sim.ask(t, "PUT /api2/json/nodes/pve1/qemu/300/config", form, "tags=blue&cipassword=hidden-password&net1=e1000%3DBC:24:11:00:00:01,bridge%3Dvmbr1,tag%3D20")
	b.until(t, "guests", "scsi0 local-lvm:vm-300-disk-0 8G")
	b.until(t, "guests", "net1 e1000 vmbr1 VLAN 20 BC:24:11:00:00:01 blue")
	b.checkWords(t)

	// Faults.
	sim.ask(t, "POST /_simulator/faults", object, `{"path":"/version","status":500}`)
	b.until(t, "faults", "/version status=500")
	sim.ask(t, "PUT /_simulator/nodes/pve2", object, `{"online":false}`)
	b.until(t, "nodes", "pve2 offline")
	sim.ask(t, "PUT /_simulator/quorum", object, `{"quorate":false}`)
	b.until(t, "about", "no quorum")

	// The search of a user.
	b.evaluate(t, "search.value = 'made-by pve1'; search.dispatchEvent(new Event('input'))")
	b.until(t, "guests-count", "1 shown")
	if got := b.text(t, "guests"); strings.Contains(got, "9000") {
		t.Errorf("guests that do not match are shown: %s", got)
	}
	b.evaluate(t, "writes.click()")
	b.until(t, "requests", "PUT")

	b.checkLook(t)
	html := b.evaluate(t, "document.documentElement.outerHTML").(string)
	if strings.Contains(html, "hidden-password") || strings.Contains(html, "00000000-0000-4000-8000-000000000001") {
		t.Error("the page shows a secret")
	}
	troubles, urls := b.seen()
	if len(troubles) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(troubles, "\n"))
	}
	for _, url := range urls {
		if !strings.HasPrefix(url, sim.url+"/") && !strings.HasPrefix(url, "data:") {
			t.Errorf("the page asks %q", url)
		}
	}
}

// checkWords checks that no line of a table breaks within a word.
func (b *browser) checkWords(t *testing.T) {
	t.Helper()
	if got := b.evaluate(t, brokenWords); got != "" {
		t.Errorf("words are broken: %v", got)
	}
}

// brokenWords returns the words of the tables that are split over several lines. The parts of a path count as separate words.
const brokenWords = `(() => {
	const broken = [];
	for (const cell of document.querySelectorAll("td, th")) {
		const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
		for (let node; (node = texts.nextNode());) {
			for (const word of node.data.matchAll(/[^\s\/]+/g)) {
				const range = document.createRange();
				range.setStart(node, word.index);
				range.setEnd(node, word.index + word[0].length);
				if (new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1) broken.push(word[0]);
			}
		}
	}
	return broken.join(" ");
})()`

// checkLook checks the page on a phone, in dark mode, and for screen readers.
func (b *browser) checkLook(t *testing.T) {
	t.Helper()
	b.call(t, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true}, nil)
	if got := b.evaluate(t, "document.documentElement.scrollWidth"); got != 360.0 {
		t.Errorf("on a phone the page is %v wide", got)
	}
	b.checkWords(t)
	if got := b.text(t, "guests"); !strings.Contains(got, "scsi0 local-lvm:vm-300-disk-0 8G") {
		t.Errorf("on a phone the disks are not shown: %s", got)
	}
	const ground = "getComputedStyle(document.body).backgroundColor"
	grounds := map[any]bool{}
	for _, scheme := range []string{"light", "dark"} {
		b.call(t, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
		grounds[b.evaluate(t, ground)] = true
		if ratio := b.evaluate(t, contrast).(float64); ratio < 4.5 {
			t.Errorf("in the %s scheme a text has a contrast of %.1f, want 4.5", scheme, ratio)
		}
	}
	if len(grounds) != 2 {
		t.Errorf("light and dark look alike: %v", grounds)
	}
	for what, expression := range map[string]string{
		"inputs without a label":  "[...document.querySelectorAll('input')].filter(e => e.labels.length === 0).length",
		"tables without a name":   "[...document.querySelectorAll('table')].filter(e => !e.caption).length",
		"headings without a cell": "[...document.querySelectorAll('th')].filter(e => e.scope !== 'col').length",
	} {
		if got := b.evaluate(t, expression); got != 0.0 {
			t.Errorf("%v %s", got, what)
		}
	}
}

// contrast is the lowest contrast between the texts of the page and their card.
const contrast = `(() => {
	const light = color => {
		const [r, g, b] = color.match(/[\d.]+/g).map(Number).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const ground = light(getComputedStyle(document.querySelector("section")).backgroundColor);
	return Math.min(...[...document.querySelectorAll("section *")].map(e => light(getComputedStyle(e).color))
		.map(ink => (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05)));
})()`

// TestControlToken checks that nothing is shown without the token.
func TestControlToken(t *testing.T) {
	file := t.TempDir() + "/token"
	if err := os.WriteFile(file, []byte("open-sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sim := startSimulator(t, "--control-token-file", file)
	b := openBrowser(runContext, t, t.TempDir())
	b.call(t, "Page.navigate", map[string]any{"url": sim.url + "/"}, nil)
	b.until(t, "connection", "needs its token")
	if got := b.text(t, "nodes"); got != "" {
		t.Errorf("without the token the page shows %q", got)
	}
	b.evaluate(t, "token.value = 'open-sesame'; login.requestSubmit()")
	b.until(t, "connection", "Live")
	b.until(t, "nodes", "pve1 online")
}

// TestManyGuests checks that the number of shown guests is limited, but not that of counted ones.
func TestManyGuests(t *testing.T) {
	file := t.TempDir() + "/many.yaml"
	scenario := "nodes: [{name: a}, {name: b}]\nguests:\n- {vmid: 1000, node: a, count: 10000, config: {name: many}}\n"
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	sim := startSimulator(t, "--scenario", file)
	b := openBrowser(runContext, t, t.TempDir())
	b.call(t, "Page.navigate", map[string]any{"url": sim.url + "/"}, nil)
	b.until(t, "guests-count", "10,000 guests, 0 running; the first 50 of 10,000 shown")
	if got := b.evaluate(t, "document.getElementById('guests').rows.length"); got != 50.0 {
		t.Errorf("%v rows", got)
	}
	b.evaluate(t, "search.value = 'many-9999'; search.dispatchEvent(new Event('input'))")
	b.until(t, "guests", "10999 many-9999 a stopped")
	if troubles, _ := b.seen(); len(troubles) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(troubles, "\n"))
	}
}
