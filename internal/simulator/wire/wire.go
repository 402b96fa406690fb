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

// Package wire implements HTTP/1.1 like pveproxy. Go's HTTP server is not used, because it cannot set the reason phrase of the status line, which contains
// Proxmox VE's messages, and because pveproxy rejects some requests that Go accepts.
package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// readTimeout limits how long a request may take to arrive after its first byte.
	readTimeout = 30 * time.Second
	// idleTimeout limits how long an unused connection stays open.
	idleTimeout = 2 * time.Minute
	// maxPost is the size above which pveproxy rejects a body that is not an upload.
	maxPost = 512 * 1024
	// maxUpload is the maximum size of an upload.
	maxUpload = 1 << 30
)

// A Request is a request with its body.
type Request struct {
	*http.Request
	// Content is the whole body.
	Content []byte
	// Endpoint is the name of the listener.
	Endpoint string
}

// A Response is the answer to a request.
type Response struct {
	// Status is the HTTP status code.
	Status int
	// Reason is the reason phrase, of which only the first line is sent. Empty means the usual phrase of Status.
	Reason string
	// Type is the content type, Content the body.
	Type    string
	Content []byte
	// Location is the header of that name.
	Location string
	// Cut closes the connection instead of answering.
	Cut bool
}

// A Handler answers requests. Admit runs when the head of a request has arrived: a response from it is final, and the body is not read. Answer runs when
// the body has arrived.
type Handler interface {
	Admit(*Request) *Response
	Answer(*Request) *Response
}

// A Server serves connections until it is closed.
type Server struct {
	handler Handler
	config  *tls.Config
	now     func() time.Time

	mu        sync.Mutex
	listeners []net.Listener
	idle      map[net.Conn]bool
	closing   bool
	running   sync.WaitGroup
	stop      context.CancelFunc
	ctx       context.Context //nolint:containedctx // It ends every request of the server.
}

// NewServer returns a server for TLS connections. now is the clock of the Date header.
func NewServer(h Handler, config *tls.Config, now func() time.Time) *Server {
	ctx, stop := context.WithCancel(context.Background())
	config = config.Clone()
	config.NextProtos = []string{"http/1.1"}
	return &Server{handler: h, config: config, now: now, idle: map[net.Conn]bool{}, ctx: ctx, stop: stop}
}

// Serve accepts connections of ln in the background. It adds the endpoint's name to every request.
func (s *Server) Serve(ln net.Listener, endpoint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, ln)
	s.running.Add(1)
	go s.accept(ln, endpoint)
}

func (s *Server) accept(ln net.Listener, endpoint string) {
	defer s.running.Done()
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		s.running.Add(1)
		go s.serve(c, endpoint)
	}
}

// Close stops accepting, ends idle connections and waits for running requests, whose context is cancelled.
func (s *Server) Close() {
	s.mu.Lock()
	s.closing = true
	for _, ln := range s.listeners {
		_ = ln.Close()
	}
	for c := range s.idle {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.stop()
	s.running.Wait()
}

// markIdle marks a connection as idle. It reports false when the server is closing.
func (s *Server) markIdle(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle[c] = true
	return !s.closing
}

func (s *Server) markBusy(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.idle, c)
}

func (s *Server) serve(raw net.Conn, endpoint string) {
	defer s.running.Done()
	defer raw.Close() //nolint:errcheck // Nothing can be done about it.
	defer s.markBusy(raw)
	if !s.markIdle(raw) {
		return
	}
	_ = raw.SetDeadline(time.Now().Add(readTimeout))
	peeked := bufio.NewReader(raw)
	first, err := peeked.Peek(1)
	if err != nil {
		return
	}
	if first[0] != recordTypeHandshake {
		s.redirect(raw, peeked)
		return
	}
	c := tls.Server(&prefixed{Conn: raw, reader: peeked}, s.config)
	if c.HandshakeContext(s.ctx) != nil {
		return
	}
	s.requests(&conn{server: s, raw: raw, stream: c, reader: bufio.NewReaderSize(c, maxHead), endpoint: endpoint})
}

// recordTypeHandshake is the first byte of a TLS connection.
const recordTypeHandshake = 0x16

// prefixed is a connection whose first bytes were already read into a buffer.
type prefixed struct {
	net.Conn
	reader *bufio.Reader
}

func (p *prefixed) Read(b []byte) (int, error) { return p.reader.Read(b) }

// redirect answers plain HTTP on the TLS port.
func (s *Server) redirect(raw net.Conn, r *bufio.Reader) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	resp := failure(http.StatusMovedPermanently, "Moved Permanently")
	resp.Location = "https://" + req.Host + req.RequestURI
	c := &conn{server: s, raw: raw, stream: raw}
	_ = c.write(resp, &Request{Request: req}, false)
}

func (s *Server) requests(c *conn) {
	for s.markIdle(c.raw) {
		_ = c.raw.SetDeadline(time.Now().Add(idleTimeout))
		if _, err := c.reader.Peek(1); err != nil {
			return
		}
		s.markBusy(c.raw)
		_ = c.raw.SetDeadline(time.Now().Add(readTimeout))
		if !c.request() {
			return
		}
	}
}

// conn is one open connection.
type conn struct {
	server   *Server
	raw      net.Conn
	stream   net.Conn
	reader   *bufio.Reader
	endpoint string
}

// request serves one request and reports whether the connection stays open.
func (c *conn) request() bool {
	if !bounded(c.reader) {
		return false // PVE sends no answer.
	}
	r, err := http.ReadRequest(c.reader)
	if err != nil {
		_ = c.write(failure(http.StatusBadRequest, "bad request"), nil, false)
		return false
	}
	r.RemoteAddr = c.raw.RemoteAddr().String()
	req := &Request{Request: r.WithContext(c.server.ctx), Endpoint: c.endpoint}
	resp := c.answer(req)
	if resp.Cut {
		return false
	}
	keep := resp.Status < http.StatusBadRequest && !r.Close
	if c.write(resp, req, keep) != nil {
		return false
	}
	return c.drained(req) && keep
}

// lingerTimeout is how long the rest of a rejected request is read, so that its sender sees the answer.
const lingerTimeout = 2 * time.Second

// drained reads the rest of a request and reports whether that was all, so that the next request can follow.
func (c *conn) drained(req *Request) bool {
	_ = c.raw.SetReadDeadline(time.Now().Add(lingerTimeout))
	n, err := io.Copy(io.Discard, io.LimitReader(req.Body, maxUpload))
	return err == nil && n < maxUpload
}

func (c *conn) answer(req *Request) *Response {
	if resp := refuseHead(req); resp != nil {
		return resp
	}
	if resp := c.server.handler.Admit(req); resp != nil {
		return resp
	}
	if resp := refuseBody(req); resp != nil {
		return resp
	}
	if req.Header.Get("Expect") == "100-continue" {
		if _, err := io.WriteString(c.stream, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return &Response{Cut: true}
		}
	}
	var err error
	if req.Content, err = io.ReadAll(io.LimitReader(req.Body, maxUpload)); err != nil {
		return &Response{Cut: true}
	}
	_ = c.raw.SetDeadline(time.Time{})
	return c.server.handler.Answer(req)
}

// failure returns a response without a formatter: the message is both reason and body.
func failure(status int, message string) *Response {
	return &Response{Status: status, Reason: message, Content: []byte(message)}
}

func itoa(n int) string { return strconv.Itoa(n) }
