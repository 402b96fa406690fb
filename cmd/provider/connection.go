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

	"github.com/alecthomas/kong"
	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/connect"
	"github.com/vitistack/provider-proxmox/internal/proxmox"
	"github.com/vitistack/provider-proxmox/internal/version"
)

// connectionOptions are the flags for how a command reaches Proxmox VE.
type connectionOptions struct {
	Endpoint        []string `group:"direct" help:"URL of the API, such as https://pve1.example.com:8006. Several are tried in turn. Default: those of PROXMOX_ENDPOINT or PVE_ENDPOINT, unless Kubernetes has what --provider-config names." placeholder:"URL"`
	CredentialsFile string   `group:"direct" help:"File with a token (user@realm!id=secret), or with JSON as a ProviderConfig's Secret has it." placeholder:"FILE"`
	CAFile          string   `env:"PROXMOX_CA_FILE" group:"direct" help:"File with the certificates to trust. Default: the system's." name:"ca-file" placeholder:"FILE"`
	Insecure        bool     `env:"PROXMOX_INSECURE_SKIP_TLS_VERIFY,PVE_INSECURE_SKIP_VERIFY,PROXMOX_INSECURE" group:"direct" help:"Trust any certificate." name:"insecure-skip-tls-verify"`

	Kubeconfig         string `group:"config" help:"Path of the kubeconfig. Default: $KUBECONFIG, the pod's service account, or ~/.kube/config." placeholder:"PATH"`
	Namespace          string `group:"config" help:"Namespace of the Machines and of their ProviderConfig. Default: none, as of cluster-scoped Machines." placeholder:"NAME" short:"n"`
	ProviderConfig     string `group:"config" help:"Name of the provider configuration. Default: default." placeholder:"NAME"`
	ProviderConfigKind string `default:"" enum:",ClusterProviderConfig,ProviderConfig" group:"config" help:"Kind of the provider configuration: ClusterProviderConfig, or ProviderConfig, which is that of the namespace or of cluster-scoped resources. Default: ClusterProviderConfig with a namespace, the one that there is without." placeholder:"KIND"`

	// endpointOfVariables is for a command that names a provider configuration if there is no Kubernetes.
	endpointOfVariables []string
	// byVariables is true if the endpoint is from variables.
	byVariables bool
}

// connectionGroups returns the groups of these flags.
func connectionGroups() []kong.Group {
	return []kong.Group{
		{Key: "config", Title: "Connect as a provider configuration says"},
		{
			Key: "direct", Title: "Connect directly",
			Description: "With the credentials of a file, or those of the environment: PROXMOX_TOKEN (user@realm!id=secret), " +
				"PROXMOX_TOKEN_ID and PROXMOX_TOKEN_SECRET, or PROXMOX_USERNAME and PROXMOX_PASSWORD; or PVE_ in place of PROXMOX_.",
		},
	}
}

// complete completes the options with those of the environment. A command that names a provider configuration uses an endpoint of the environment only
// if there is no Kubernetes. The name then appears only in the manifests.
func (o *connectionOptions) complete(getenv func(string) string) {
	switch variables := list(first(getenv, "PROXMOX_ENDPOINT", "PVE_ENDPOINT")); {
	case len(o.Endpoint) > 0:
	case o.ProviderConfig == "":
		o.Endpoint, o.byVariables = variables, true
	default:
		o.endpointOfVariables = variables
	}
	o.ProviderConfig = cmp.Or(o.ProviderConfig, connect.DefaultName)
	if o.Namespace != "" {
		o.ProviderConfigKind = cmp.Or(o.ProviderConfigKind, namespaced.ClusterProviderConfigKind)
	}
}

// validate validates the names in the manifests, which are otherwise not checked until the manifests are applied.
func (o *connectionOptions) validate() error {
	o.complete(os.Getenv)
	if len(validation.IsDNS1123Label(o.Namespace)) > 0 && o.Namespace != "" {
		return errors.Errorf("%q is not a name of a namespace", o.Namespace)
	}
	if len(validation.IsDNS1123Subdomain(o.ProviderConfig)) > 0 {
		return errors.Errorf("%q is not a name of a provider configuration", o.ProviderConfig)
	}
	return nil
}

// connect returns the connection. It also returns a Kubernetes client if the provider configuration is in Kubernetes.
func (o *connectionOptions) connect(ctx context.Context) (*connect.Connection, client.Client, error) {
	if len(o.Endpoint) > 0 {
		c, err := o.direct()
		return c, nil, err
	}
	cfg, err := restConfig(o.Kubeconfig)
	if err != nil && len(o.endpointOfVariables) > 0 {
		o.Endpoint, o.byVariables = o.endpointOfVariables, true
		c, err := o.direct()
		return c, nil, err
	}
	if err != nil {
		return nil, nil, errors.Wrap(err, "there is no --endpoint to connect to, and no Kubernetes with a provider configuration")
	}
	kube, err := kubeClientOf(cfg)
	if err != nil {
		return nil, nil, err
	}
	connections := newConnections(kube)
	key, err := o.choice().find(ctx, connections, kube)
	if err != nil {
		return nil, nil, err
	}
	conn, err := connections.Open(ctx, key)
	return conn, kube, err
}

// choice returns the provider configurations that the flags may refer to.
func (o *connectionOptions) choice() choice {
	c := choice{hint: "name one with --provider-config, --provider-config-kind and --namespace"}
	own := o.ProviderConfigKind == namespaced.ProviderConfigKind
	switch {
	case own && o.Namespace != "":
		c.meant = []connect.Key{ofNamespace(o.Namespace, o.ProviderConfig)}
	case own:
		c.meant = []connect.Key{clusterScoped(o.ProviderConfig)}
	case o.ProviderConfigKind == namespaced.ClusterProviderConfigKind:
		c.meant = []connect.Key{forAllNamespaces(o.ProviderConfig)}
	default:
		c.meant = []connect.Key{clusterScoped(o.ProviderConfig), forAllNamespaces(o.ProviderConfig)}
	}
	return c
}

func userAgent() string { return "provider-proxmox/" + version.String() }

// requestsPerSecond leaves capacity of Proxmox VE to other clients.
const requestsPerSecond = 20

// direct connects without a provider configuration.
func (o *connectionOptions) direct() (*connect.Connection, error) {
	credentials, err := o.credentials(os.Getenv)
	if err != nil {
		return nil, err
	}
	cfg := proxmox.Config{
		Endpoints: o.Endpoint, Credentials: credentials, TLS: proxmox.TLS{InsecureSkipVerify: o.Insecure},
		Limits: proxmox.Limits{PerSecond: requestsPerSecond}, UserAgent: userAgent(),
	}
	if cfg.TLS.CA, err = certificates(o.CAFile, os.Getenv); err != nil {
		return nil, err
	}
	c, err := proxmox.New(cfg)
	spec := &v1alpha1.ProviderConfigSpec{TLS: &v1alpha1.ProviderTLS{InsecureSkipTLSVerify: &o.Insecure}}
	return &connect.Connection{Client: c, Config: spec, Name: o.Endpoint[0]}, err
}

// credentials returns the credentials of a file or of the environment.
func (o *connectionOptions) credentials(getenv func(string) string) (proxmox.Credentials, error) {
	if o.CredentialsFile != "" {
		b, err := os.ReadFile(o.CredentialsFile)
		if err != nil {
			return proxmox.Credentials{}, errors.Wrap(err, "cannot read credentials")
		}
		return connect.ParseCredentials(b, o.CredentialsFile)
	}
	if o.byVariables {
		if err := checkPrefixes(getenv); err != nil {
			return proxmox.Credentials{}, err
		}
	}
	return environmentCredentials(getenv)
}
