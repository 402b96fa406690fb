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

package connect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

// plain makes credentials comparable, since they are redacted when they are printed or compared.
type plain struct{ Username, Password, TokenID, TokenSecret string }

func plainOf(c proxmox.Credentials) plain {
	return plain{c.Username, c.Password, c.TokenID, c.TokenSecret}
}

func keyed(key string) v1alpha1.ProviderCredentials {
	return v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{
		SecretReference: v1alpha1.SecretReference{Namespace: ptr.To("ns"), Name: "pve"},
		Key:             ptr.To(key),
	}}
}

func whole() v1alpha1.ProviderCredentials {
	c := keyed("")
	c.SecretRef.Key = nil
	return c
}

func valueOf(name, key string) *v1alpha1.SecretValue {
	return &v1alpha1.SecretValue{SecretRef: v1alpha1.SecretKeyReference{Namespace: ptr.To("ns"), Name: name, Key: key}}
}

type credentialsCase struct {
	reason string
	spec   v1alpha1.ProviderCredentials
	data   map[string]string
	want   plain
	err    string
}

func testCredentials(t *testing.T, cases map[string]credentialsCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := newReader(newObjects(kube(t, secretOf("ns", "pve", tc.data))), reference{})
			got, err := in.credentials(t.Context(), tc.spec)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tc.err, text); diff != "" {
				t.Errorf("\n%s\ncredentials(): -want error, +got error:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, plainOf(got)); diff != "" {
				t.Errorf("\n%s\ncredentials(): -want, +got:\n%s", tc.reason, diff)
			}
			if strings.Contains(text, hidden) {
				t.Errorf("\n%s\ncredentials(): the error has a secret in it: %s", tc.reason, text)
			}
		})
	}
}

// TestSecretsOfOthers reads the Secrets in the documentation of other operators.
func TestSecretsOfOthers(t *testing.T) {
	const secret = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	cases := map[string]struct {
		reason string
		want   plain
	}{
		"others/proxmox-operator/secret.yaml": {
			reason: "The token counts where there is a password beside it.",
			want:   plain{Username: "operator@pve", TokenID: "operator-token", TokenSecret: "token-secret-value"},
		},
		"others/virtrigaud/secret-password.yaml": {
			reason: "A user has a password.", want: plain{Username: "virtrigaud@pve", Password: "secure-password"},
		},
		"others/virtrigaud/secret-variables.yaml": {
			reason: "Names of variables are keys of a Secret.", want: plain{TokenID: "virtrigaud@pve!automation", TokenSecret: secret},
		},
		"others/virtrigaud/secret-variables-of-namespace.yaml": {
			reason: "Variables are keys, beside others that say where the API is.", want: plain{TokenID: "virtrigaud@pve!vrtg-token", TokenSecret: secret},
		},
		"migration/virtrigaud/secret-token.yaml": {
			reason: "A token is named with its user.", want: plain{TokenID: "virtrigaud@pve!vrtg-token", TokenSecret: secret},
		},
	}
	for file, tc := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join("..", "..", "examples", "composition", file))
			if err != nil {
				t.Fatal(err)
			}
			var secret corev1.Secret
			if err := yaml.UnmarshalStrict(raw, &secret); err != nil {
				t.Fatal(err)
			}
			in := newReader(newObjects(kube(t, secretOf("ns", "pve", secret.StringData))), reference{})
			got, err := in.credentials(t.Context(), whole())
			if diff := cmp.Diff(tc.want, plainOf(got)); diff != "" || err != nil {
				t.Errorf("\n%s\ncredentials(): %v\n-want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}

func TestCredentialForms(t *testing.T) {
	token := plain{TokenID: "u@pve!t1", TokenSecret: hidden}
	userToken := plain{Username: "u@pve", TokenID: "t1", TokenSecret: hidden}
	password := plain{Username: "root@pam", Password: hidden}
	testCredentials(t, map[string]credentialsCase{
		"JSONToken": {
			reason: "A key may hold a JSON document with a user and its token.",
			spec:   keyed("credentials"),
			data:   map[string]string{"credentials": `{"username":"u@pve","tokenID":"t1","tokenSecret":"` + hidden + `"}`},
			want:   userToken,
		},
		"JSONPassword": {
			reason: "A key may hold a JSON document with a password, among other things.",
			spec:   keyed("credentials.json"),
			data:   map[string]string{"credentials.json": ` {"username":"root@pam","password":"` + hidden + `","site":{"n":1}}` + "\n"},
			want:   password,
		},
		"JSONSnake": {
			reason: "JSON names may be written with underscores.",
			spec:   keyed("c"),
			data:   map[string]string{"c": `{"token_id":"u@pve!t1","token_secret":"` + hidden + `"}`},
			want:   token,
		},
		"JSONWholeToken": {
			reason: "A JSON document may have the token whole.",
			spec:   keyed("c"),
			data:   map[string]string{"c": `{"token":"u@pve!t1=` + hidden + `"}`},
			want:   token,
		},
		"RawToken": {
			reason: "A key may hold a token as PVE writes it.",
			spec:   keyed("token"),
			data:   map[string]string{"token": "u@pve!t1=" + hidden + "\n"},
			want:   token,
		},
		"RawTokenHeader": {
			reason: "A token may have been copied with the name of its header.",
			spec:   keyed("token"),
			data:   map[string]string{"token": "PVEAPIToken=u@pve!t1=" + hidden},
			want:   token,
		},
		"Keys": {
			reason: "Without a key the Secret's own keys are read.",
			spec:   whole(),
			data:   map[string]string{"username": "root@pam", "password": hidden + "\n"},
			want:   password,
		},
		"KebabKeys": {
			reason: "Keys may be written with hyphens.",
			spec:   whole(),
			data:   map[string]string{"username": "u@pve", "token-id": "t1", "token-secret": hidden},
			want:   userToken,
		},
		"SnakeKeys": {
			reason: "Keys may be written with underscores.",
			spec:   whole(),
			data:   map[string]string{"token_id": "u@pve!t1", "token_secret": hidden},
			want:   token,
		},
		"Environment": {
			reason: "Keys may be the names of environment variables.",
			spec:   whole(),
			data: map[string]string{
				"PVE_ENDPOINT": "https://pve:8006", "PVE_TOKEN_ID": "u@pve!t1", "PVE_TOKEN_SECRET": hidden,
			},
			want: token,
		},
		"EnvironmentPassword": {
			reason: "Keys may be the names of other environment variables.",
			spec:   whole(),
			data:   map[string]string{"PROXMOX_USERNAME": "root@pam", "PROXMOX_PASSWORD": hidden},
			want:   password,
		},
		"PVEPassword": {
			reason: "The names that begin with PVE_ may be those of a user and a password.",
			spec:   whole(),
			data:   map[string]string{"PVE_ENDPOINT": "https://pve:8006", "PVE_USERNAME": "root@pam", "PVE_PASSWORD": hidden},
			want:   password,
		},
		"WholeTokenAsID": {
			reason: "A token given whole as its ID is split.",
			spec:   whole(),
			data:   map[string]string{"tokenID": "u@pve!t1=" + hidden},
			want:   token,
		},
		"TokenBeforePassword": {
			reason: "With a token the password is not used.",
			spec:   whole(),
			data:   map[string]string{"username": "u@pve", "password": "x", "tokenID": "t1", "tokenSecret": hidden},
			want:   userToken,
		},
		"PasswordWithBlanks": {
			reason: "A password keeps its blanks, not the line break of its file.",
			spec:   whole(),
			data:   map[string]string{"username": " root@pam\n", "password": " a b \r\n"},
			want:   plain{Username: "root@pam", Password: " a b "},
		},
		"PartsPassword": {
			reason: "A password may be where its own field says.",
			spec:   v1alpha1.ProviderCredentials{Username: ptr.To("root@pam"), Password: valueOf("pve", "pw")},
			data:   map[string]string{"pw": hidden},
			want:   password,
		},
		"PartsToken": {
			reason: "A token's secret may be where its own field says.",
			spec: v1alpha1.ProviderCredentials{
				Username: ptr.To("u@pve"), TokenID: ptr.To("t1"), TokenSecret: valueOf("pve", "value"),
			},
			data: map[string]string{"value": hidden},
			want: userToken,
		},
	})
}

func TestCredentialMistakes(t *testing.T) {
	testCredentials(t, map[string]credentialsCase{
		"NoSecret": {
			reason: "A missing Secret is named.",
			spec:   v1alpha1.ProviderCredentials{Username: ptr.To("root@pam"), Password: valueOf("other", "pw")},
			err:    `cannot read secret "ns/other": it does not exist`,
		},
		"NoKey": {
			reason: "A missing key is named.",
			spec:   keyed("credentials"),
			data:   map[string]string{"creds": hidden},
			err:    `secret "ns/pve" has no key "credentials"`,
		},
		"EmptyKey": {
			reason: "An empty key is not mistaken for a document.",
			spec:   keyed("credentials"),
			data:   map[string]string{"credentials": ""},
			err:    `key "credentials" of secret "ns/pve" is empty`,
		},
		"NoNamespace": {
			reason: "A Secret must have a namespace.",
			spec: v1alpha1.ProviderCredentials{SecretRef: &v1alpha1.SecretOptionalKeyReference{
				SecretReference: v1alpha1.SecretReference{Name: "pve"},
			}},
			err: `spec.credentials.secretRef.namespace is not set`,
		},
		"Neither": {
			reason: "A Secret with neither form says what it needs.",
			spec:   whole(),
			data:   map[string]string{"something": hidden, "username": "root@pam"},
			err:    `secret "ns/pve" has neither tokenID and tokenSecret nor username and password`,
		},
		"Blank": {
			reason: "Blank values are as good as none.",
			spec:   whole(),
			data:   map[string]string{"username": "root@pam", "password": "\n"},
			err:    `secret "ns/pve" has neither tokenID and tokenSecret nor username and password`,
		},
		"NeitherJSONNorToken": {
			reason: "A key with something else says which forms there are.",
			spec:   keyed("c"),
			data:   map[string]string{"c": hidden},
			err:    `key "c" of secret "ns/pve" is neither a JSON document nor a token of the form user@realm!id=secret`,
		},
		"BadJSON": {
			reason: "Broken JSON is not quoted.",
			spec:   keyed("c"),
			data:   map[string]string{"c": `{"password":"` + hidden},
			err:    `key "c" of secret "ns/pve" is not valid JSON`,
		},
		"NotText": {
			reason: "A value of another type is named, not quoted.",
			spec:   keyed("c"),
			data:   map[string]string{"c": `{"username":"root@pam","password":["` + hidden + `"]}`},
			err:    `key "c" of secret "ns/pve" has a "password" that is not a string`,
		},
		"Twice": {
			reason: "Which of two spellings counts must not be a matter of luck.",
			spec:   whole(),
			data:   map[string]string{"tokenID": "u@pve!t1", "token-id": "u@pve!t2", "tokenSecret": hidden},
			err:    `secret "ns/pve" has the tokenID twice, under different names`,
		},
		"NoTokenSecret": {
			reason: "Half a token says which half is missing.",
			spec:   whole(),
			data:   map[string]string{"tokenID": "u@pve!t1"},
			err:    `secret "ns/pve" has a tokenID but no tokenSecret`,
		},
		"NoTokenID": {
			reason: "Half a token says which half is missing.",
			spec:   whole(),
			data:   map[string]string{"username": "u@pve", "tokenSecret": hidden},
			err:    `secret "ns/pve" has a tokenSecret but no tokenID`,
		},
		"NoTokenUser": {
			reason: "A token needs its user.",
			spec:   whole(),
			data:   map[string]string{"tokenID": "t1", "tokenSecret": hidden},
			err:    `secret "ns/pve" has a tokenID without user (user@realm!id) and no username`,
		},
		"NoRealm": {
			reason: "A user needs a realm.",
			spec:   whole(),
			data:   map[string]string{"username": "root", "password": hidden},
			err:    `secret "ns/pve" has a username that is not of the form user@realm`,
		},
		"SecretAsUsername": {
			reason: "A value in the wrong place is not shown.",
			spec:   whole(),
			data:   map[string]string{"username": "u@pve!t=" + hidden, "password": "x"},
			err:    `secret "ns/pve" has a username that is not of the form user@realm`,
		},
		"SecretAsTokenID": {
			reason: "A value in the wrong place is not shown.",
			spec:   whole(),
			data:   map[string]string{"tokenID": "u@pve!t1=" + hidden, "tokenSecret": hidden},
			err:    `secret "ns/pve" has a tokenID that is neither the name of a token nor of the form user@realm!id`,
		},
		"WholeTokenAsSecret": {
			reason: "A whole token where only its secret belongs would be refused by PVE.",
			spec:   whole(),
			data:   map[string]string{"tokenID": "u@pve!t1", "tokenSecret": "u@pve!t1=" + hidden},
			err:    `secret "ns/pve" has a tokenSecret with blanks or = in it`,
		},
		"OtherUsersToken": {
			reason: "User and token must fit.",
			spec:   whole(),
			data:   map[string]string{"username": "v@pve", "tokenID": "u@pve!t1", "tokenSecret": hidden},
			err:    `secret "ns/pve" has a tokenID of another user than its username`,
		},
		"BadWholeToken": {
			reason: "A whole token must be whole.",
			spec:   whole(),
			data:   map[string]string{"token": hidden},
			err:    `secret "ns/pve" has a token that is not of the form user@realm!id=secret`,
		},
		"NoUsername": {
			reason: "A password needs a user.",
			spec:   whole(),
			data:   map[string]string{"password": hidden},
			err:    `secret "ns/pve" has a password but no username`,
		},
	})
}
