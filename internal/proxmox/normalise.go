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

package proxmox

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

const (
	// maxBody bounds what is read of one answer.
	maxBody = 64 << 20

	// maxHeader bounds the head of one answer, in bytes.
	maxHeader = 1 << 20

	// statusSynthetic stands for every failure without an answer. The library
	// sees a well-formed error and neither sleeps nor sends again.
	statusSynthetic = 599
)

// normalise makes every outcome a complete answer that the library can digest:
// a JSON object with a 2xx status, or a JSON error. It never returns an error.
type normalise struct{ next http.RoundTripper }

func (n normalise) RoundTrip(r *http.Request) (*http.Response, error) {
	x := callFrom(r)
	resp, err := n.next.RoundTrip(r)
	if err != nil {
		return synthetic(r, x, asFailure(err, true)), nil
	}
	body, err := readAll(resp.Body)
	if err != nil {
		f := asFailure(err, true)
		f.status = statusOfBroken(resp.StatusCode)
		return synthetic(r, x, f), nil
	}
	if f := judge(resp, body); f != nil {
		return synthetic(r, x, f), nil
	}
	x.set(nil)
	return answer(r, resp.StatusCode, body), nil
}

// statusOfBroken is the status to report when the body did not arrive. A broken
// success is no answer; a refusal remains one.
func statusOfBroken(status int) int {
	if status < http.StatusMultipleChoices {
		return 0
	}
	return status
}

// judge is nil for a success with a JSON object, otherwise what went wrong.
func judge(resp *http.Response, body []byte) *failure {
	f := &failure{status: resp.StatusCode, message: reason(resp), sent: true}
	ok := resp.StatusCode >= 200 && resp.StatusCode < 300
	var envelope struct {
		Message text            `json:"message"`
		Errors  map[string]text `json:"errors"`
	}
	err := json.Unmarshal(body, &envelope)
	switch {
	case ok && isObject(body) && json.Valid(body):
		return nil
	case ok:
		f.problem, f.message = ProblemNotPVE, "answer is not a JSON object"
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		f.problem, f.message = ProblemRedirect, "answer is a redirect, which is not followed: "+f.message
	case err == nil && strings.TrimSpace(string(envelope.Message)) != "":
		f.message = string(envelope.Message)
	}
	for k, v := range envelope.Errors {
		if f.fields == nil {
			f.fields = make(map[string]string, len(envelope.Errors))
		}
		f.fields[k] = string(v)
	}
	return f
}

func isObject(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) }

// reason is the phrase of the status line, where PVE before 8.4 has its message.
func reason(resp *http.Response) string {
	return strings.TrimSpace(strings.TrimPrefix(resp.Status, strconv.Itoa(resp.StatusCode)))
}

// readAll reads a body of at most maxBody bytes and closes it.
func readAll(body io.ReadCloser) ([]byte, error) {
	defer body.Close() //nolint:errcheck // Nothing depends on it after reading.
	return readBounded(body, maxBody)
}

func readBounded(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, &failure{message: "answer is larger than " + Size(limit).String(), sent: true}
	}
	return b, nil
}

// synthetic notes the failure and tells the library of it.
func synthetic(r *http.Request, x *call, f *failure) *http.Response {
	e := x.fail(f)
	x.set(e)
	status := f.status
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

// answer has no headers of the server: no redirect is followed, no length is
// wrong.
func answer(r *http.Request, status int, body []byte) *http.Response {
	return &http.Response{
		Status:     strconv.Itoa(status) + " " + http.StatusText(status),
		StatusCode: status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": []string{"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       r,
	}
}

// asFailure is the failure in err's chain, or a new one for an error of the
// transport.
func asFailure(err error, sent bool) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	problem, text := transportError(err)
	return &failure{problem: problem, message: text, sent: sent, cause: contextCause(err)}
}
