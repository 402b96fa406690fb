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

package ui

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vitistack/provider-proxmox/cluster/local/process"
)

// A browser is a Chromium without a window, with one page. It is controlled over a pair of pipes with the DevTools protocol, in which each message is
// followed by a zero byte.
type browser struct {
	ctx     context.Context //nolint:containedctx // It ends with the test.
	in      io.WriteCloser
	session string
	log     string

	mu       sync.Mutex
	last     int
	waiting  map[int]chan message
	troubles []string
	urls     []string
	ended    chan struct{}
}

type message struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
	Session string `json:"sessionId,omitempty"`
}

// openBrowser starts the Chromium that the environment names. It ends with the test.
func openBrowser(ctx context.Context, t *testing.T, dir string) *browser {
	t.Helper()
	path := os.Getenv("CHROMIUM")
	if path == "" {
		t.Fatal("the variable CHROMIUM must name a Chromium; make test-ui sets it")
	}
	fromTest, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, toTest, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "chromium.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--ignore-certificate-errors", "--user-data-dir="+filepath.Join(dir, "chromium"))
	cmd.ExtraFiles = []*os.File{fromTest, toTest} // Its file descriptors 3 and 4.
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{fromTest, toTest, log} {
		_ = f.Close() // Chromium has inherited them.
	}
	b := &browser{ctx: ctx, in: in, log: log.Name(), waiting: map[int]chan message{}, ended: make(chan struct{})}
	go b.listen(out)
	t.Cleanup(func() {
		_ = in.Close() // It ends when the pipe is closed.
		_ = cmd.Wait()
	})
	b.openPage(t)
	return b
}

// openPage creates the page that all further calls use.
func (b *browser) openPage(t *testing.T) {
	t.Helper()
	var target struct{ TargetID string }
	b.call(t, "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call(t, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(t, domain+".enable", nil, nil)
	}
}

// listen receives the messages of the browser: responses, and events that were subscribed to.
func (b *browser) listen(out io.Reader) {
	defer close(b.ended)
	messages := bufio.NewReader(out)
	for {
		text, err := messages.ReadBytes(0)
		if err != nil {
			return
		}
		m := message{}
		if json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m) != nil {
			continue
		}
		b.take(m)
	}
}

func (b *browser) take(m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch m.Method {
	case "":
		if answer := b.waiting[m.ID]; answer != nil {
			delete(b.waiting, m.ID)
			answer <- m
		}
	case "Runtime.exceptionThrown", "Log.entryAdded":
		b.troubles = append(b.troubles, string(m.Params))
	case "Runtime.consoleAPICalled":
		if !strings.Contains(string(m.Params), `"type":"log"`) {
			b.troubles = append(b.troubles, string(m.Params))
		}
	case "Network.requestWillBeSent":
		var sent struct{ Request struct{ URL string } }
		if json.Unmarshal(m.Params, &sent) == nil {
			b.urls = append(b.urls, sent.Request.URL)
		}
	}
}

// call sends a command and waits for its result.
func (b *browser) call(t *testing.T, method string, params any, into any) {
	t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan message, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.waiting[id] = answer
	b.mu.Unlock()
	m := message{ID: id, Method: method, Session: b.session}
	if params != nil {
		m.Params = raw
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		t.Fatal(err)
	}
	select {
	case m = <-answer:
	case <-b.ended:
		t.Fatalf("Chromium ended during %s:\n%s", method, process.LogTail(b.log, 20))
	case <-b.ctx.Done():
		t.Fatalf("%s: %v", method, context.Cause(b.ctx))
	}
	if m.Error != nil {
		t.Fatalf("%s: %s", method, m.Error.Message)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(m.Result, into); err != nil {
		t.Fatal(err)
	}
}

// evaluate returns the value of a JavaScript expression in the page.
func (b *browser) evaluate(t *testing.T, expression string) any {
	t.Helper()
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	b.call(t, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &out)
	if out.ExceptionDetails != nil {
		t.Fatalf("%s: %s", expression, out.ExceptionDetails.Exception.Description)
	}
	return out.Result.Value
}

// text returns the visible text of an element, on one line.
func (b *browser) text(t *testing.T, id string) string {
	t.Helper()
	return strings.Join(strings.Fields(fmt.Sprint(b.evaluate(t, "document.getElementById('"+id+"')?.innerText ?? ''"))), " ")
}

// until waits until an element shows a text.
func (b *browser) until(t *testing.T, id, want string) {
	t.Helper()
	deadline := time.NewTimer(maxWait)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		got := b.text(t, id)
		if strings.Contains(got, want) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("after %s %q shows %q, want %q", maxWait, id, got, want)
		case <-b.ctx.Done():
			t.Fatal(context.Cause(b.ctx))
		}
	}
}

// seen returns the errors in the page and the addresses that it requested so far.
func (b *browser) seen() (troubles, urls []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.troubles...), append([]string{}, b.urls...)
}
