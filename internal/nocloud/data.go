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

// Package nocloud creates NoCloud images, which cloud-init reads in a guest from a CD-ROM drive. It defines their content, their names, references to
// them, and the passwords in them. It makes no calls.
package nocloud

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"regexp"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"sigs.k8s.io/yaml"
)

// Data is the configuration for a guest. Cloud-init does not change what is left out.
type Data struct {
	// InstanceID identifies the instance for cloud-init: with another one, cloud-init repeats what it does once per instance.
	InstanceID string

	// Hostname of the guest, with its domain or without.
	Hostname string

	// User to create or configure, and the hash of the user's password.
	User, PasswordHash string

	// SSHKeys of the user.
	SSHKeys []string

	// Upgrade packages at the first boot. Nil leaves the decision to the guest.
	Upgrade *bool

	// Nameservers and SearchDomains of the guest. They take effect only with Networks.
	Nameservers, SearchDomains []string

	// Networks to configure. If there are none, the guest configures one by itself.
	Networks []Network

	// UserData, VendorData and NetworkConfig as users have written them.
	UserData, VendorData, NetworkConfig *string
}

// Image returns the NoCloud image of the data. The same data result in the same bytes.
func (d Data) Image() ([]byte, error) {
	files, err := d.files()
	if err != nil {
		return nil, err
	}
	return image(files), nil
}

// Sum returns a short text that identifies an image: 16 hexadecimal digits.
func Sum(image []byte) string {
	sum := sha256.Sum256(image)
	return hex.EncodeToString(sum[:8])
}

// WithInstance returns the data with an instance ID that changes with them.
func (d Data) WithInstance(id string) (Data, error) {
	d.InstanceID = id
	image, err := d.Image()
	d.InstanceID = id + "-" + Sum(image)
	return d, err
}

// files returns the files of the image by name, sorted. Files that cloud-init looks for exist even if they are empty: meta-data, user-data and
// vendor-data.
func (d Data) files() ([]file, error) {
	meta, err := yaml.Marshal(map[string]string{"instance-id": d.InstanceID, "local-hostname": d.fqdn()})
	if err != nil {
		return nil, errors.Wrap(err, "cannot write meta-data")
	}
	network, err := d.network()
	if err != nil {
		return nil, err
	}
	if err := d.understood(); err != nil {
		return nil, err
	}
	user, vendor, err := d.configs()
	if err != nil {
		return nil, err
	}
	files := []file{{"meta-data", meta}}
	if network != nil {
		files = append(files, file{"network-config", network})
	}
	return append(files, file{"user-data", user}, file{"vendor-data", vendor}), nil
}

// fqdn returns the hostname in the first of the search domains, unless it has a domain.
func (d Data) fqdn() string {
	if d.Hostname == "" || strings.Contains(d.Hostname, ".") || len(d.SearchDomains) == 0 {
		return d.Hostname
	}
	return d.Hostname + "." + d.SearchDomains[0]
}

// configs returns user-data and vendor-data. User-data that users have written takes precedence over the fields: their cloud-config becomes
// vendor-data, which provides only the keys that user-data does not have.
func (d Data) configs() (user, vendor []byte, err error) {
	fields, err := d.fields()
	if err != nil {
		return nil, nil, err
	}
	written := []byte(text(d.VendorData))
	switch {
	case d.UserData == nil:
		return fields, written, nil
	case len(written) == 0:
		return []byte(*d.UserData), fields, nil
	case len(fields) == 0:
		return []byte(*d.UserData), written, nil
	}
	vendor, err = joined(fields, written)
	return []byte(*d.UserData), vendor, err
}

// understood returns an error if cloud-init would ignore what users have written, with a warning in a log that is not accessible then. The error
// contains nothing of the data, which may be secret.
func (d Data) understood() error {
	for _, written := range []struct {
		name string
		data *string
	}{{"userData", d.UserData}, {"vendorData", d.VendorData}, {"networkConfig", d.NetworkConfig}} {
		config := written.name == "networkConfig" || isCloudConfig(text(written.data))
		if line := brokenAt(text(written.data)); config && line != "" {
			return errors.Errorf("cloudInit.%s is not YAML, near %s: cloud-init would leave out all of it", written.name, line)
		}
	}
	return nil
}

// isCloudConfig reports whether data are cloud-config, and not a template for it.
func isCloudConfig(data string) bool {
	first, _, _ := strings.Cut(data, "\n")
	return strings.TrimSpace(first) == "#cloud-config"
}

var yamlLine = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: (line \d+)`)

// brokenAt returns where data stop being YAML. It is empty if they are YAML.
func brokenAt(data string) string {
	var whatever any
	err := yaml.Unmarshal([]byte(data), &whatever)
	if err == nil {
		return ""
	}
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return ""
	}
	return m[1]
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// fields returns the fields as cloud-config, or nothing if all are unset.
func (d Data) fields() ([]byte, error) {
	config := map[string]any{}
	if d.User != "" {
		config["user"] = d.User
	}
	if d.PasswordHash != "" {
		config["password"] = d.PasswordHash
		config["chpasswd"] = map[string]any{"expire": false}
	}
	if len(d.SSHKeys) > 0 {
		config["ssh_authorized_keys"] = d.SSHKeys
	}
	if d.Upgrade != nil {
		config["package_upgrade"] = *d.Upgrade
	}
	if len(config) == 0 {
		return nil, nil
	}
	if d.User == "root" {
		config["disable_root"] = false // Otherwise the keys of root only print a message to log in as another user.
	} else {
		config["users"] = []string{"default"}
	}
	out, err := yaml.Marshal(config)
	return append([]byte("#cloud-config\n"), out...), errors.Wrap(err, "cannot write user-data")
}

// boundary separates the parts of joined data. It is constant, so that images are reproducible.
const boundary = "==provider-proxmox=="

// joined returns joined data as a MIME archive, which cloud-init merges in this order. Cloud-init determines the type of a part by its first line.
func joined(parts ...[]byte) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=%q\nMIME-Version: 1.0\n\n", boundary)
	w := multipart.NewWriter(&b)
	if err := w.SetBoundary(boundary); err != nil {
		return nil, errors.Wrap(err, "cannot join vendor-data")
	}
	for _, content := range parts {
		if isArchive(content) || bytes.HasPrefix(content, []byte("\x1f\x8b")) {
			return nil, errors.New("vendorData that is a MIME archive or compressed cannot be joined with user, sshKeys, upgrade or a password: put these into userData")
		}
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {`text/plain; charset="utf-8"`}})
		if err == nil {
			_, err = part.Write(content)
		}
		if err != nil {
			return nil, errors.Wrap(err, "cannot join vendor-data")
		}
	}
	err := w.Close()
	return b.Bytes(), errors.Wrap(err, "cannot join vendor-data")
}

// isArchive reports whether data are a MIME archive themselves.
func isArchive(content []byte) bool {
	first := strings.ToLower(strings.TrimSpace(string(content[:min(len(content), 64)])))
	return strings.HasPrefix(first, "content-type:") || strings.HasPrefix(first, "mime-version:")
}
