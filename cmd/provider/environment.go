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
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
)

const (
	// environmentName is the name of the Secret that is created from variables.
	environmentName = "provider-proxmox-environment"
	// environmentLabel is on objects that are created from variables.
	environmentLabel = "proxmox.vitistack.io/from-environment"
	// environmentNamespace is the namespace of the Secret outside of a pod.
	environmentNamespace = "default"
	// environmentRetry is the interval for retrying to create a configuration.
	environmentRetry = 10 * time.Second
)

// prefixes returns the prefixes of the variables. The first takes precedence.
func prefixes() []string { return []string{"PROXMOX_", "PVE_"} }

// credentialVariables returns the variables of credentials, without a prefix.
func credentialVariables() []string {
	return []string{"TOKEN", "TOKEN_ID", "TOKEN_SECRET", "USERNAME", "PASSWORD"}
}

// byPrefix returns, for each prefix with which some of the names have a value, the first such variable. The first of them is used.
func byPrefix(getenv func(string) string, names ...string) (found, ofPrefixes []string) {
	for _, prefix := range prefixes() {
		for _, name := range names {
			if first(getenv, prefix+name) != "" {
				found, ofPrefixes = append(found, prefix+name), append(ofPrefixes, prefix)
				break
			}
		}
	}
	return found, ofPrefixes
}

// environmentCredentials returns the credentials in variables, which must all have the same prefix.
func environmentCredentials(getenv func(string) string) (proxmox.Credentials, error) {
	found, ofPrefixes := byPrefix(getenv, credentialVariables()...)
	prefix, values := append(ofPrefixes, prefixes()...)[0], map[string]string{}
	for _, name := range credentialVariables() {
		values[prefix+name] = getenv(prefix + name)
	}
	for _, part := range []string{prefix + "TOKEN_ID", prefix + "TOKEN_SECRET"} {
		if first(getenv, prefix+"TOKEN") != "" && first(getenv, part) != "" {
			return proxmox.Credentials{}, errors.Errorf("%sTOKEN and %s are both set: a token has one form", prefix, part)
		}
	}
	credentials, err := connect.SortCredentials(values, "the environment")
	if err == nil {
		return credentials, nil
	}
	if len(found) > 1 {
		err = errors.Errorf("%w, and %s cannot be combined with %s", err, found[1], found[0])
	}
	return proxmox.Credentials{}, errors.Wrapf(err,
		"cannot use %[1]sTOKEN, %[1]sTOKEN_ID with %[1]sTOKEN_SECRET, or %[1]sUSERNAME with %[1]sPASSWORD", prefix)
}

// checkPrefixes returns an error if the endpoint of one prefix would be used with the credentials of the other although both have credentials.
func checkPrefixes(getenv func(string) string) error {
	endpoints, ofEndpoints := byPrefix(getenv, "ENDPOINT")
	credentials, ofCredentials := byPrefix(getenv, credentialVariables()...)
	others := slices.Concat(endpoints[min(1, len(endpoints)):], credentials[min(1, len(credentials)):])
	if len(endpoints) == 0 || len(credentials) == 0 || ofEndpoints[0] == ofCredentials[0] || len(others) == 0 {
		return nil
	}
	return errors.Errorf("%s would be used with %s although %s is set: set the endpoint and the credentials with one prefix",
		endpoints[0], credentials[0], others[0])
}

// certificates returns the trusted certificates: those of a file, otherwise those of a variable.
func certificates(file string, getenv func(string) string) ([]byte, error) {
	if file == "" {
		return []byte(getenv("PVE_CA_BUNDLE")), nil
	}
	b, err := os.ReadFile(filepath.Clean(file))
	return b, errors.Wrap(err, "cannot read the certificates to trust")
}

// first returns the first variable that has a value.
func first(getenv func(string) string, names ...string) string {
	values := make([]string, 0, len(names))
	for _, n := range names {
		values = append(values, strings.TrimSpace(getenv(n)))
	}
	return cmp.Or(values...)
}

// list returns the names in a variable, which are separated by commas.
func list(value string) []string {
	var out []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// An environmentConfig is a configuration from variables, with its Secret.
type environmentConfig struct {
	config *namespaced.ClusterProviderConfig
	secret *corev1.Secret
}

// configOfEnvironment reads a configuration from variables. It returns nil if they name no endpoint.
func configOfEnvironment(getenv func(string) string, namespace string) (*environmentConfig, error) {
	endpoints := list(first(getenv, "PROXMOX_ENDPOINT", "PVE_ENDPOINT"))
	if len(endpoints) == 0 {
		return nil, nil //nolint:nilnil // There is none.
	}
	if err := checkPrefixes(getenv); err != nil {
		return nil, err
	}
	credentials, err := environmentCredentials(getenv)
	if err != nil {
		return nil, err
	}
	ca, err := certificates(first(getenv, "PROXMOX_CA_FILE"), getenv)
	if err != nil {
		return nil, err
	}
	insecure, err := strconv.ParseBool(cmp.Or(first(getenv, "PROXMOX_INSECURE_SKIP_TLS_VERIFY", "PVE_INSECURE_SKIP_VERIFY", "PROXMOX_INSECURE"), "false"))
	if err != nil {
		return nil, errors.New("PROXMOX_INSECURE_SKIP_TLS_VERIFY (PVE_INSECURE_SKIP_VERIFY) must be true or false")
	}
	made := metav1.ObjectMeta{Labels: map[string]string{environmentLabel: "true"}}
	e := &environmentConfig{config: &namespaced.ClusterProviderConfig{ObjectMeta: *made.DeepCopy()}, secret: &corev1.Secret{ObjectMeta: made}}
	e.secret.Namespace, e.secret.Name = namespace, environmentName
	e.secret.StringData = keysOf(credentials)
	e.config.Name = connect.DefaultName
	spec := &e.config.Spec
	spec.Endpoints, spec.PreferredNodes = endpoints, list(first(getenv, "PVE_NODE_SELECTOR"))
	spec.Credentials.SecretRef = &v1alpha1.SecretOptionalKeyReference{SecretReference: v1alpha1.SecretReference{Namespace: &namespace, Name: environmentName}}
	if insecure || len(ca) > 0 {
		spec.TLS = &v1alpha1.ProviderTLS{InsecureSkipTLSVerify: &insecure}
	}
	if len(ca) > 0 {
		spec.TLS.CACertificate = ptr.To(string(ca))
	}
	return e, nil
}

// keysOf returns the keys of a Secret with credentials.
func keysOf(c proxmox.Credentials) map[string]string {
	if c.TokenID != "" {
		keys := map[string]string{"tokenID": c.TokenID, "tokenSecret": c.TokenSecret}
		if c.Username != "" {
			keys["username"] = c.Username
		}
		return keys
	}
	return map[string]string{"username": c.Username, "password": c.Password}
}

// addEnvironment lets the manager create the configuration from variables, if there is none.
func addEnvironment(mgr ctrl.Manager, l logging.Logger, o options) error {
	e, err := configOfEnvironment(os.Getenv, cmp.Or(o.LeaderElectionNamespace, environmentNamespace))
	if err != nil {
		l.Info("Cannot use the variables that name a Proxmox VE", "error", err) // Existing configurations continue to work.
	}
	if e == nil {
		return nil
	}
	return errors.Wrap(mgr.Add(e.runner(mgr.GetAPIReader(), mgr.GetClient(), l)), "cannot add what makes a configuration of variables")
}

// runner retries until there is a configuration: its kind, or the permission to create it, may be added later.
func (e *environmentConfig) runner(reader client.Reader, writer client.Writer, l logging.Logger) runnable {
	return func(ctx context.Context) error {
		_ = wait.PollUntilContextCancel(ctx, environmentRetry, true, func(ctx context.Context) (bool, error) {
			made, err := e.make(ctx, reader, writer)
			switch {
			case err != nil:
				l.Info("Cannot make a provider configuration of variables", "name", e.config.Name, "error", err)
			case made:
				l.Info("Made a provider configuration of variables", "name", e.config.Name)
			default:
				l.Info("Variables that name a Proxmox VE are not used: there is a provider configuration", "name", e.config.Name)
			}
			return err == nil, nil
		})
		return nil
	}
}

// A runnable runs while the replica is the leader.
type runnable func(context.Context) error

// Start runs the function.
func (r runnable) Start(ctx context.Context) error { return r(ctx) }

// make creates the configuration and its Secret, unless there is a configuration with that name. It reports whether it has created one.
func (e *environmentConfig) make(ctx context.Context, reader client.Reader, writer client.Writer) (bool, error) {
	err := reader.Get(ctx, client.ObjectKeyFromObject(e.config), &namespaced.ClusterProviderConfig{})
	if !kerrors.IsNotFound(err) {
		return false, errors.Wrap(err, "cannot get it")
	}
	if err := e.makeSecret(ctx, reader, writer); err != nil {
		return false, err
	}
	err = writer.Create(ctx, e.config.DeepCopy())
	if kerrors.IsAlreadyExists(err) {
		return false, nil
	}
	return err == nil, errors.Wrap(err, "cannot create it")
}

// makeSecret creates the Secret, or updates one that is left of a deleted configuration. It does not change a Secret that it has not created.
func (e *environmentConfig) makeSecret(ctx context.Context, reader client.Reader, writer client.Writer) error {
	now := &corev1.Secret{}
	err := reader.Get(ctx, client.ObjectKeyFromObject(e.secret), now)
	if kerrors.IsNotFound(err) {
		return errors.Wrap(writer.Create(ctx, e.secret.DeepCopy()), "cannot create its Secret")
	}
	if err != nil {
		return errors.Wrap(err, "cannot get its Secret")
	}
	if now.Labels[environmentLabel] != "true" {
		return errors.Errorf("Secret %s/%s is not one that was made of variables: remove it, or make the configuration yourself", now.Namespace, now.Name)
	}
	now.Data, now.StringData = nil, e.secret.StringData
	return errors.Wrap(writer.Update(ctx, now), "cannot update its Secret")
}
