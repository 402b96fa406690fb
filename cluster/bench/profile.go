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
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// profiler takes profiles of the provider in steady state, if they are asked for.
func (b *bench) profiler(w *env, n int) func(context.Context) {
	return func(ctx context.Context) {
		stop := b.profile(ctx, w, "steady-"+itoa(n))
		_ = w.wait(ctx, b.Window-2*time.Second)
		stop()
	}
}

// profile takes a profile of the processor until the function that it returns is called, which takes one of the heap.
func (b *bench) profile(ctx context.Context, w *env, name string) func() {
	if b.Profile == "" {
		return func() {}
	}
	dir := b.repo.Resolve(b.Profile)
	seconds := int(b.Window.Seconds()) - 4
	go w.save(ctx, fmt.Sprintf("profile?seconds=%d", seconds), filepath.Join(dir, name+".cpu.pprof"))
	return func() { w.save(ctx, "heap", filepath.Join(dir, name+".heap.pprof")) }
}

// save writes a profile of the provider to a file. A failure is reported and does not end the run.
func (w *env) save(ctx context.Context, what, path string) {
	if err := w.download(ctx, "http://"+w.pprof+"/debug/pprof/"+what, path); err != nil {
		w.Console.Stepf("profile: %s", err)
	}
}

func (w *env) download(ctx context.Context, url, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // Only read.
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, resp.Body); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
