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

package lenient_test

import (
	"encoding/json"
	"testing"

	"github.com/vitistack/provider-proxmox/internal/proxmox/lenient"
)

func TestText(t *testing.T) {
	cases := map[string]struct {
		reason, json, want string
	}{
		"Plain":   {reason: "A string is taken as it is.", json: `"pve1"`, want: "pve1"},
		"Blank":   {reason: "Blanks belong to a string.", json: ` " a " `, want: " a "},
		"Empty":   {reason: "A string may be empty.", json: `""`},
		"Escaped": {reason: "What is escaped is decoded.", json: `"a\n\"\u00e9\\"`, want: "a\n\"é\\"},
		"UTF8":    {reason: "A string may have letters of any script.", json: `"Zürich"`, want: "Zürich"},
		"Broken":  {reason: "A byte that is no UTF-8 is replaced.", json: "\"a\xff\"", want: "a\ufffd"},
		"Number":  {reason: "A number is taken as text, without a needless fraction.", json: `1.50e1`, want: "15"},
		"True":    {reason: "Perl's true is 1.", json: `true`, want: "1"},
		"Null":    {reason: "Null is no value at all.", json: `null`},
		"Object":  {reason: "What is no scalar is nothing.", json: `{"a":1}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := lenient.Text("before")
			if err := json.Unmarshal([]byte(tc.json), &got); err != nil || string(got) != tc.want {
				t.Errorf("%s\nwant %q, got %q, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}
