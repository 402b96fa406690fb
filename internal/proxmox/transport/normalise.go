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

package transport

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/vitistack/provider-proxmox/internal/proxmox/lenient"
)

const (
	// maxBody limits the size of one answer, in bytes.
	maxBody = 64 << 20

	// maxHeader limits the size of the header of one answer, in bytes.
	maxHeader = 1 << 20

	// statusSynthetic stands for every failure without an answer. The library sees a well-formed error, and neither sleeps nor sends the request again.
	statusSynthetic = 599
)

// normalise turns every outcome into a complete answer that the library can process: a JSON object with a 2xx status, or a JSON error. It never returns an
// error.
type normalise struct{ next http.RoundTripper }

// Normalise adds the outermost link of the chain to another one.
func Normalise(next http.RoundTripper) http.RoundTripper { return normalise{next: next} }

func (n normalise) RoundTrip(r *http.Request) (*http.Response, error) {
	x := requestOf(r)
	resp, err := n.next.RoundTrip(r)
	if err != nil {
		return synthetic(r, x, asFailure(err, true)), nil
	}
	body, err := ReadAll(resp.Body)
	if err != nil {
		f := asFailure(err, true)
		f.Status = statusOfBroken(resp.StatusCode)
		return synthetic(r, x, f), nil
	}
	if f := failureOf(resp, body); f != nil {
		return synthetic(r, x, f), nil
	}
	x.set(nil)
	return answer(r, resp.StatusCode, body), nil
}

// statusOfBroken returns the status to report if the body did not arrive. A broken success counts as no answer, and a rejection remains one.
func statusOfBroken(status int) int {
	if status < http.StatusMultipleChoices {
		return 0
	}
	return status
}

// failureOf returns nil for a success with a JSON object, and the failure otherwise.
func failureOf(resp *http.Response, body []byte) *Failure {
	f := &Failure{Status: resp.StatusCode, Message: reason(resp), Sent: true}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		if lenient.IsObject(body) && json.Valid(body) {
			return nil
		}
		f.Problem, f.Message = ProblemNotPVE, "answer is not a JSON object"
		return f
	}
	var envelope struct {
		Message lenient.Text            `json:"message"`
		Errors  map[string]lenient.Text `json:"errors"`
	}
	err := json.Unmarshal(body, &envelope)
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		f.Problem, f.Message = ProblemRedirect, "answer is a redirect, which is not followed: "+f.Message
	case err == nil && strings.TrimSpace(string(envelope.Message)) != "":
		f.Message = string(envelope.Message)
	}
	for k, v := range envelope.Errors {
		if f.Fields == nil {
			f.Fields = make(map[string]string, len(envelope.Errors))
		}
		f.Fields[k] = string(v)
	}
	return f
}

// reason returns the phrase of the status line, which contains PVE's message before 8.4.
func reason(resp *http.Response) string {
	return strings.TrimSpace(strings.TrimPrefix(resp.Status, strconv.Itoa(resp.StatusCode)))
}

// readBody is a body that was read before.
type readBody struct {
	*bytes.Reader

	text []byte
}

func (readBody) Close() error { return nil }

// ReadAll reads a body of at most maxBody bytes and closes it. A body that Normalise has read is not copied, because the list of a large cluster's VMs has
// megabytes.
func ReadAll(body io.ReadCloser) ([]byte, error) {
	if b, ok := body.(readBody); ok {
		return b.text, nil
	}
	defer body.Close() //nolint:errcheck // Nothing depends on it after reading.
	return readBounded(body, maxBody)
}

func readBounded(r io.Reader, limit int64) ([]byte, error) {
	var b bytes.Buffer // It grows in larger steps than io.ReadAll.
	if _, err := b.ReadFrom(io.LimitReader(r, limit+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) > limit {
		return nil, &Failure{Message: "answer is larger than " + strconv.FormatInt(limit, 10) + " bytes", Sent: true}
	}
	return b.Bytes(), nil
}

// synthetic records the failure and returns an answer that reports it to the library.
func synthetic(r *http.Request, x *Request, f *Failure) *http.Response {
	e := x.Scrubbed(f)
	x.set(e)
	status := f.Status
	if status < http.StatusMultipleChoices {
		status = statusSynthetic
	}
	fields := make(map[string]any, len(e.Fields))
	for k, v := range e.Fields {
		fields[k] = v
	}
	//nolint:errchkjson // Strings always marshal.
	body, _ := json.Marshal(map[string]any{"data": nil, "message": e.Message, "errors": fields})
	return answer(r, status, body)
}

// answer returns an answer without headers of the server, so that no redirect is followed and no length is wrong.
func answer(r *http.Request, status int, body []byte) *http.Response {
	return &http.Response{
		Status:     strconv.Itoa(status) + " " + http.StatusText(status),
		StatusCode: status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": []string{"application/json"}},
		Body:          readBody{Reader: bytes.NewReader(body), text: body},
		ContentLength: int64(len(body)),
		Request:       r,
	}
}

// asFailure returns the failure in err's chain, or a new one for an error of the
// transport.
func asFailure(err error, sent bool) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	problem, text := transportError(err)
	return &Failure{Problem: problem, Message: text, Sent: sent, Cause: contextCause(err)}
}
