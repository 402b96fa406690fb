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
// # How a call is made
//
// Requests are made by the library's session and pass one http.Client whose
// transport is package transport: it authenticates, limits, counts, and knows which
// endpoint to ask. What the library makes of an answer does not count: the transport
// keeps the answer itself beside it. What PVE's messages mean is in messages.go alone.
//
// # What is used of the library
//
//	used
//	NewSession, Session.NewRequest   each request is made by the session, with our http.Client
//	                                 (TestRequests)
//	Pool.CreateNoCheck, by           one POST of just what is wanted (TestCreatePoolOnce); of any
//	ClientNew and ConfigPool         other object the session sends what its table says (TestObjects)
//	GuestID.Validate                 the range of VMIDs (TestRefusedLocally)
//
//	not used, and what was seen wrong (TestLibraryFaults shows each against the simulator)
//	typed interfaces with a plain    a POST whose answer is lost is sent again; behind our
//	http.Client                      transport it is not (TestLibraryBehindTransport)
//	StartVm, as others that wait     the wait goes on when its context has ended, and a call that
//	for a task                       PVE refuses is made three times
//	QemuGuest.Update                 the flag for a restart is inverted: with it the update is
//	                                 refused, without it the VM is restarted
//	QemuGuest.UpdateNoCheck          returns no error, whatever PVE answered
//	Guest.ShutdownForce              sends a parameter that PVE does not have
//	Pool.Update, Pool.Set            have the pool in the path, where PVE knows no nested pools, and
//	                                 take out members that they are not given
//	Pool.AddMembers                  takes a VM out of the pool that it is in, unasked
//	Pool.Delete                      takes the members out of a pool that PVE refuses to delete
//	ConfigSDNZone.Create             leaves out the name and the type of the zone
//	Client.Login, a second time      the requests still have the first ticket
//	Client.GetNextID with a start    takes every error for a VMID that is taken, and counts on
//	GetVersion, Pool.Read,           panic when the answer has another shape, as others may that
//	GetVmInfo                        read one: nothing of it is used
//	Pool.CreateNoCheck and all       panics when an error has another shape, which the session reads
//	other calls                      for each call: behind our transport, which writes each error
//	                                 anew, it does not (TestLibraryBehindTransport)
//
//	not used, since nothing of it is wanted
//	Snapshot of ClientNew            taking and removing one wait for their tasks, as StartVm does,
//	                                 and going back does not tell its task (TestLibraryFaults)
//	ApiToken, Group and User of      the provider makes no tokens, groups and users: its own are
//	ClientNew                        made by who sets it up
//
// A typed interface is used where it sends exactly what is wanted and waits for no task.
//
// No answer of a server is known with which what is used of the library panics behind our
// transport. Each call recovers from panics all the same, and returns an error
// (TestLibraryPanicBecomesError, TestPanicsBecomeErrors): calls are made in goroutines
// that have no recovery, where a panic that is not known yet, of the library, the
// transport or a decoder, would end the provider, and with it the work for all clusters.
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
