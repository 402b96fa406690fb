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

package simulator_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vitistack/provider-proxmox/internal/simulator"
	"github.com/vitistack/provider-proxmox/internal/simulator/simulatortest"
)

func TestParseFault(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		text   string
		want   simulator.Fault
		words  string
	}{
		"Status": {
			reason: "A method and a path are known by their form.",
			text:   `POST /nodes/*/qemu/*/clone status=500 message="no space left" count=1 after=2`,
			want:   simulator.Fault{Method: "POST", Path: "/nodes/*/qemu/*/clone", Status: 500, Message: "no space left", Count: 1, Skip: 2},
			words:  `POST /nodes/*/qemu/*/clone after=2 count=1 status=500 message="no space left"`,
		},
		"Named": {
			reason: "A method and a path may be named.", text: `method=GET path=/version delay=1500ms`,
			want: simulator.Fault{Method: "GET", Path: "/version", Delay: 1500 * time.Millisecond}, words: "GET /version delay=1.5s",
		},
		"Regexp": {
			reason: "A regular expression begins with ^ and is taken as it is.", text: `^/nodes/[^/]+/qemu\b cut=before`,
			want: simulator.Fault{Path: `^/nodes/[^/]+/qemu\b`, CutBefore: true}, words: `^/nodes/[^/]+/qemu\b cut=before`,
		},
		"Cut": {reason: "The answer may be lost alone.", text: "cut=after", want: simulator.Fault{CutAfter: true}, words: "cut=after"},
		"Task": {
			reason: "A backslash keeps a quote.", text: `task=qmclone id=9000 exit="disk \"x\" is full"`,
			want:  simulator.Fault{Task: "qmclone", ID: "9000", TaskExit: `disk "x" is full`},
			words: `task=qmclone id=9000 exit="disk \"x\" is full"`,
		},
		"Hold": {
			reason: "Tasks may be kept from ending.", text: "task=qmreboot hold=true", want: simulator.Fault{Task: "qmreboot", Hold: true},
			words: "task=qmreboot hold=true",
		},
		"Refuse": {
			reason: "Tasks may not start.", text: "task=qmstart refuse=true", want: simulator.Fault{Task: "qmstart", Refuse: true},
			words: "task=qmstart refuse=true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := simulator.ParseFault(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if got.String() != tc.words {
				t.Errorf("%s: in words: %s, want %s", tc.reason, got, tc.words)
			}
			if again, err := simulator.ParseFault(got.String()); err != nil || again != got {
				t.Errorf("%s: %v, %v is not what was written", tc.reason, again, err)
			}
		})
	}
}

func TestParseFaultRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ reason, text string }{
		"Nothing":     {reason: "A fault does something.", text: "GET /version"},
		"Empty":       {reason: "A fault says something.", text: ""},
		"Unknown":     {reason: "Settings have names that are known.", text: "status=500 colour=red"},
		"LowerCase":   {reason: "Methods are in upper case.", text: "post status=500"},
		"Method":      {reason: "Methods are those of the API.", text: "PATCH status=500"},
		"Twice":       {reason: "Nothing is said twice.", text: "GET POST status=500"},
		"Status":      {reason: "A status is an error.", text: "status=200"},
		"Word":        {reason: "A status is a number.", text: "status=bad"},
		"Negative":    {reason: "A count is not negative.", text: "status=500 count=-1"},
		"Delay":       {reason: "A delay has a unit.", text: "delay=5"},
		"Quote":       {reason: "A quote has to be closed.", text: `status=500 message="x`},
		"Mixed":       {reason: "A fault is of requests or of tasks.", text: "GET /version task=qmclone exit=x"},
		"TaskDelay":   {reason: "Delays are of requests.", text: "task=qmclone delay=5s"},
		"TaskNothing": {reason: "A fault of tasks does something.", text: "task=qmclone"},
		"CutStatus":   {reason: "What is cut has no status.", text: "cut=before status=500"},
		"Cut":         {reason: "A cut is before or after.", text: "cut=now"},
		"Message":     {reason: "A message goes with a status.", text: "delay=1s message=x"},
		"Path":        {reason: "Paths begin at the top.", text: "path=nodes status=500"},
		"Regexp":      {reason: "A regular expression is one.", text: "^/nodes/( status=500"},
	} {
		t.Run(name, func(t *testing.T) {
			if f, err := simulator.ParseFault(tc.text); err == nil {
				t.Errorf("%s: got %+v", tc.reason, f)
			}
		})
	}
}

func TestFaultAnswers(t *testing.T) {
	for name, tc := range map[string]struct{ reason, fault, line, body string }{
		"Message": {
			reason: "The message is in the status line and in the body.", fault: "status=500 message=broken", line: "500 broken",
			body: `{"data":null,"message":"broken\n"}`,
		},
		"Usual": {
			reason: "A fault without a message has the usual one.", fault: "status=595", line: "595 No route to host",
			body: `{"data":null,"message":"No route to host\n"}`,
		},
		"Other": {
			reason: "Other statuses have their HTTP text.", fault: "status=503", line: "503 Service Unavailable",
			body: `{"data":null,"message":"Service Unavailable\n"}`,
		},
		"Unauthorized": {reason: "A refused token has no body.", fault: "status=401", line: "401 Authentication failed!"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := simulator.ParseFault(tc.fault)
			if err != nil {
				t.Fatal(err)
			}
			s := simulatortest.NewTest(t, simulator.Options{Faults: []simulator.Fault{f}})
			if got := connect(t, s).do("GET /version"); got.Line != tc.line || got.Body != tc.body {
				t.Errorf("%s: got %q %q, want %q %q", tc.reason, got.Line, got.Body, tc.line, tc.body)
			}
		})
	}
}

func TestFaultsCount(t *testing.T) {
	f, err := simulator.ParseFault("GET /version after=1 count=2 status=500")
	if err != nil {
		t.Fatal(err)
	}
	s := simulatortest.NewTest(t, simulator.Options{Faults: []simulator.Fault{f}})
	c := connect(t, s)
	lines := []string{}
	for range 5 {
		lines = append(lines, c.do("GET /version").Line)
	}
	want := []string{"200 OK", "500 got timeout", "500 got timeout", "200 OK", "200 OK"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := s.Faults(); len(got) != 1 || got[0].Matched != 5 || got[0].Hit != 2 {
		t.Errorf("faults: %+v", got)
	}
	s.Inject(simulator.Fault{Task: "qmclone", ID: "9001", TaskExit: "broken"})
	if exit := c.task("POST /nodes/pve1/qemu/9000/clone", "newid=300"); exit != "OK" {
		t.Errorf("a clone of another template: %s", exit)
	}
	s.Inject(simulator.Fault{Task: "qmclone", ID: "9000", TaskExit: "broken"})
	if exit := c.task("POST /nodes/pve1/qemu/9000/clone", "newid=301"); exit != "broken" {
		t.Errorf("a clone of the template: %s", exit)
	}
}

func FuzzParseFault(f *testing.F) {
	for _, seed := range []string{`POST /nodes/* status=500 message="a \"b\""`, `^/x\d cut=after`, `task=a id=1 exit="x=y" after=1`, `delay=1ms path="/a b"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := simulator.ParseFault(text)
		if err != nil {
			return
		}
		if again, err := simulator.ParseFault(fault.String()); err != nil || again != fault {
			t.Errorf("%q is %+v, in words %q, which is %+v, %v", text, fault, fault.String(), again, err)
		}
	})
}
