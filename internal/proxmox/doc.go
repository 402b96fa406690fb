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

// Package proxmox is a client of the Proxmox VE (PVE) API for the parts that the provider needs. It is the only package that knows
// github.com/Telmate/proxmox-api-go, and it knows nothing of Kubernetes.
//
// # How a call is made
//
// The library's session makes the requests with one http.Client. Its transport is package transport, which authenticates, limits and counts requests, and
// chooses the endpoint. The library's interpretation of an answer is ignored, because the transport records the answer itself. Only messages.go knows the
// meaning of PVE's messages.
//
// # Parts of the library
//
//	used
//	NewSession, Session.NewRequest   each request is made by the session, with our http.Client
//	                                 (TestRequests)
//	Pool.CreateNoCheck, by           one POST with exactly the fields (TestCreatePoolOnce); for any
//	ClientNew and ConfigPool         other object the session sends the fields of its table (TestObjects)
//	GuestID.Validate                 the range of VMIDs (TestRefusedLocally)
//
//	not used, with the faults found (TestLibraryFaults shows each against the simulator)
//	typed interfaces with a plain    a POST whose answer is lost is sent again. With our
//	http.Client                      transport it is not (TestLibraryBehindTransport)
//	StartVm, as others that wait     the wait continues after its context has ended, and a call that
//	for a task                       PVE rejects is made three times
//	QemuGuest.Update                 the flag for a restart is inverted: with it the update is
//	                                 rejected, without it the VM is restarted
//	QemuGuest.UpdateNoCheck          returns no error, whatever PVE answers
//	Guest.ShutdownForce              sends a parameter that PVE does not have
//	Pool.Update, Pool.Set            send the pool in the path, where PVE accepts no nested pools, and
//	                                 remove members that are not in the arguments
//	Pool.AddMembers                  removes a VM from its current pool without being asked to
//	Pool.Delete                      removes the members of a pool that PVE refuses to delete
//	ConfigSDNZone.Create             omits the name and the type of the zone
//	Client.Login, a second time      the requests still use the first ticket
//	Client.GetNextID with a start    takes every error for a VMID that is in use, and counts on
//	GetVersion, Pool.Read,           panic if the answer has another form, as others may that
//	GetVmInfo                        read one. None of them is used
//	Pool.CreateNoCheck and all       panic if an error has another form, which the session reads
//	other calls                      for each call. With our transport, which rewrites each error,
//	                                 they do not (TestLibraryBehindTransport)
//
//	not used, because the provider does not need it
//	Snapshot of ClientNew            taking and removing one wait for their tasks, as StartVm does,
//	                                 and rolling back does not return its task (TestLibraryFaults)
//	ApiToken, Group and User of      the provider creates no tokens, groups and users: its own are
//	ClientNew                        created by the administrator
//
// A typed interface is used where it sends exactly the wanted fields and waits for no task.
//
// With our transport, no answer of a server is known that makes the used parts of the library panic. Each call recovers from panics anyway, and returns an
// error (TestLibraryPanicBecomesError, TestPanicsBecomeErrors). Calls are made in goroutines without recovery, where an unknown panic of the library, the
// transport or a decoder would end the provider, and with it the work for all clusters.
//
// # What a caller must know
//
// No method waits for a PVE task. Methods that start one return its UPID, and [Client.Task] reads it once. Many failures appear only there.
//
// Every error is an [*Error] or a [*TaskError] with a stable text that may be shown in a condition. [ClassOf] and the Is… predicates distinguish them.
// After an error for which [IsOutcomeUnknown] holds, the call may have run: check before you repeat it.
package proxmox
