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
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// logLevel is a level of severity.
type logLevel slog.Level

// UnmarshalText parses debug, info, warn or error, regardless of case.
func (l *logLevel) UnmarshalText(text []byte) error {
	switch s := strings.ToLower(string(text)); s {
	case "debug", "info", "warn", "error":
		return (*slog.Level)(l).UnmarshalText([]byte(s))
	default:
		return errors.Errorf("%q is not a log level: use debug, info, warn or error", s)
	}
}

// loggers are the loggers of the program.
type loggers struct {
	// own is for the provider's own messages.
	own logr.Logger

	// library is for messages of libraries, which are more verbose.
	library logr.Logger
}

func newLoggers(w io.Writer, o options) loggers {
	level := slog.Level(o.LogLevel)
	if o.Debug {
		level = slog.LevelDebug
	}
	quiet := level
	if level == slog.LevelInfo {
		quiet = slog.LevelWarn
	}
	return loggers{own: newLogger(w, o.LogFormat, level), library: newLogger(w, o.LogFormat, quiet)}
}

func newLogger(w io.Writer, format string, level slog.Level) logr.Logger {
	ho := &slog.HandlerOptions{Level: level, ReplaceAttr: plainLevel}
	var h slog.Handler = slog.NewJSONHandler(w, ho)
	if format == "console" {
		h = slog.NewTextHandler(w, ho)
	}
	return logr.FromSlogHandler(lateHandler{Handler: h})
}

// A lateHandler formats the attributes of a logger only when a line is written: each reconcile creates loggers with its names, and nearly all of them
// write nothing.
type lateHandler struct {
	slog.Handler

	attrs []slog.Attr
}

func (h lateHandler) Handle(ctx context.Context, r slog.Record) error {
	return h.Handler.WithAttrs(h.attrs).Handle(ctx, r)
}

func (h lateHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = append(slices.Clip(h.attrs), attrs...)
	return h
}

func (h lateHandler) WithGroup(name string) slog.Handler {
	return lateHandler{Handler: h.Handler.WithAttrs(h.attrs).WithGroup(name)}
}

// plainLevel writes DEBUG for all levels of verbosity, which differ between libraries.
func plainLevel(_ []string, a slog.Attr) slog.Attr {
	if l, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey && l < slog.LevelInfo {
		return slog.String(slog.LevelKey, slog.LevelDebug.String())
	}
	return a
}

// setLoggers sets the logger of the libraries.
func setLoggers(l loggers) {
	ctrl.SetLogger(l.library)
	klog.SetLogger(l.library.WithName("client-go"))
}
