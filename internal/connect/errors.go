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

import "github.com/crossplane/crossplane-runtime/v2/pkg/errors"

// A configurationError is one that the maintainer of the provider configuration has to fix.
type configurationError struct{ error }

// Unwrap returns the error itself.
func (e configurationError) Unwrap() error { return e.error }

// IsConfiguration reports whether there was no connection because of the provider configuration, or of an object that it refers to.
func IsConfiguration(err error) bool {
	var e configurationError
	return errors.As(err, &e)
}

func asConfiguration(err error) error {
	if err == nil {
		return nil
	}
	return configurationError{err}
}

// A missingError is about a provider configuration that does not exist.
type missingError struct{ reference }

// Error names the configuration.
func (e missingError) Error() string { return e.String() + " does not exist" }
