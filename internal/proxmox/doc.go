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

// Package proxmox is a client of the Proxmox VE (PVE) API for those parts that
// the provider needs. It is the only package that knows
// github.com/Telmate/proxmox-api-go, and it knows nothing of Kubernetes.
//
// # How a call travels
//
// Requests are made by the library's session and pass one http.Client whose
// transport is a chain, from the outside in:
//
//	normalise       the library sees well-formed JSON, and never a transport
//	                error or an unfinished body, for which it would sleep and
//	                send a write again; the truth is kept aside
//	authenticate    API token, or a ticket that it obtains and renews
//	limit           requests per second and at a time, if configured
//	observe         one report per request that was really made
//	failover        the node's own endpoint, or the next one if nothing was sent
//	                to this; what was just seen to be dead fails at once
//	http.Transport  TLS and connections
//
// Limits and reports are inside of authentication, so that logins and
// repetitions count as what they are.
//
// # What a caller must know
//
// No method waits for a PVE task: those that start one return its UPID, and
// [Client.Task] is one look at it. Many failures appear only there.
//
// Every error is an [*Error] or a [*TaskError] with a stable text that may be
// shown in a condition. [ClassOf] and the Is… predicates tell them apart. After
// an error for which [IsOutcomeUnknown] holds the call may have run: look
// before doing it again.
package proxmox
