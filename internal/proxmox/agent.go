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

package proxmox

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	telmate "github.com/Telmate/proxmox-api-go/proxmox"
)

// An Interface is a network interface as the guest agent sees it.
type Interface struct {
	// Name of the interface in the guest, such as eth0.
	Name string

	// MAC address in lower case, or empty if it has none.
	MAC string

	// Addresses of the interface, with loopback and link-local ones.
	Addresses []netip.Addr
}

// Interfaces asks the guest agent for the guest's network interfaces. If nobody
// answers there, IsAgentUnavailable holds for the error. Each node does this for
// few VMs at a time.
func (c *Client) Interfaces(ctx context.Context, ref Ref) ([]Interface, error) {
	r := machine("ask the guest agent of", http.MethodGet, ref, "/agent/network-get-interfaces")
	if why := ref.validate(); why != "" {
		return nil, r.refuse(why)
	}
	vm := telmate.NewVmRef(telmate.GuestID(ref.VMID)) //nolint:gosec // Within 100 and 999999999.
	vm.SetNode(ref.Node)
	vm.SetVmType(telmate.GuestQemu)
	var found []Interface
	err := c.exchange(ctx, r, func(ctx context.Context) error {
		raw, state, err := vm.GetAgentInformation(ctx, c.library)
		if err != nil || state != telmate.GuestAgentStateRunning {
			return err
		}
		for _, i := range raw.Get() {
			found = append(found, Interface{Name: i.Name, MAC: i.MacAddress.String(), Addresses: addresses(i.IpAddresses)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// addresses leaves out what the library could not parse.
func addresses(ips []net.IP) []netip.Addr {
	var out []netip.Addr
	for _, ip := range ips {
		if a, ok := netip.AddrFromSlice(ip); ok {
			out = append(out, a.Unmap())
		}
	}
	return out
}

// ReadFile asks the guest agent for a file of the guest, such as
// /etc/ssh/ssh_host_ed25519_key.pub. PVE 9 wants VM.GuestAgent.FileRead for it,
// PVE 8 VM.Monitor. If nobody answers there, or the file cannot be read,
// IsAgentUnavailable holds for the error.
func (c *Client) ReadFile(ctx context.Context, ref Ref, path string) (string, error) {
	r := machine("read a file of the guest of", http.MethodGet, ref, "/agent/file-read")
	r.query = url.Values{"file": {path}}
	var data struct {
		Content text `json:"content"`
	}
	if err := c.vm(ctx, ref, r, &data); err != nil {
		return "", err
	}
	return string(data.Content), nil
}
