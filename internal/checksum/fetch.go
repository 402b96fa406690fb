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

package checksum

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
)

// Limits for reading a list.
const (
	// maxSize of a list, in bytes. Lists of distributions have a few thousand bytes.
	maxSize = 4 << 20

	// maxRedirects is how many redirects are followed. A list is often served by a mirror.
	maxRedirects = 5

	// fetchTimeout limits the whole of a fetch.
	fetchTimeout = 30 * time.Second
)

// A Fetcher reads lists of checksums. A user who may create an Image chooses the address, so the Fetcher must not reach anything that is only for the
// provider's pod.
type Fetcher struct {
	// Hosts that may be read from, such as cloud.debian.org or *.fedoraproject.org. Empty allows all.
	Hosts []string

	// AllowLocal permits addresses of this machine, of its link, and of services that clouds offer only to their machines.
	AllowLocal bool

	// Permit returns an error for a URL that must not be read, including the targets of redirects. Nil permits all.
	Permit func(url string) error
}

// Fetch reads the list at an address.
func (f Fetcher) Fetch(ctx context.Context, address string, insecure bool) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("cannot read the list of checksums: the URL is not valid")
	}
	if err := f.permit(req.URL); err != nil {
		return nil, errors.Wrap(err, "cannot read the list of checksums")
	}
	client := f.client(insecure)
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return nil, errors.Wrapf(plain(err), "cannot read the list of checksums from %s", req.URL.Host)
	}
	defer resp.Body.Close() //nolint:errcheck // It was only read.
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Errorf("cannot read the list of checksums: %s answered %d %s",
			resp.Request.URL.Host, resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return readAll(resp.Body)
}

func readAll(r io.Reader) ([]byte, error) {
	list, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, errors.Wrap(plain(err), "cannot read the list of checksums")
	}
	if len(list) > maxSize {
		return nil, errors.Errorf("cannot read the list of checksums: it has more than %d MiB", maxSize>>20)
	}
	return list, nil
}

// plain returns an error without the URL and the local port, which a condition must not have: the URL may contain a secret, and the port changes each
// time.
func plain(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return err
}

// client creates a client for one list. It keeps no connections.
func (f Fetcher) client(insecure bool) *http.Client {
	proxied := &atomic.Bool{}
	dialer := &net.Dialer{Timeout: fetchTimeout / 3, Control: func(_, address string, _ syscall.RawConn) error {
		if proxied.Load() || f.AllowLocal {
			return nil
		}
		return permitAddress(address)
	}}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: func(r *http.Request) (*url.URL, error) {
				to, err := http.ProxyFromEnvironment(r)
				proxied.Store(to != nil)
				return to, err
			},
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure}, //nolint:gosec // The user asks for it.
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: 1 << 16,
		},
		CheckRedirect: func(r *http.Request, before []*http.Request) error {
			if len(before) > maxRedirects {
				return errors.Errorf("there are more than %d redirects", maxRedirects)
			}
			if r.URL.Scheme == "http" && before[0].URL.Scheme == "https" {
				return errors.New("it redirects from https to http")
			}
			return f.permit(r.URL)
		},
	}
}

// permit returns an error for a URL that must not be read from. The address of its host is checked when the client connects.
func (f Fetcher) permit(u *url.URL) error {
	if f.Permit != nil {
		if err := f.Permit(u.String()); err != nil {
			return err
		}
	}
	return f.permitHost(u)
}

// permitHost returns an error for a scheme or a host that no user may have read from.
func (f Fetcher) permitHost(u *url.URL) error {
	if u.Scheme != "https" && u.Scheme != "http" {
		return errors.Errorf("the scheme %q is neither https nor http", u.Scheme)
	}
	host := strings.ToLower(u.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil && !f.AllowLocal && local(ip) {
		return errLocal(ip)
	}
	for _, allowed := range f.Hosts {
		suffix, wildcard := strings.CutPrefix(strings.ToLower(allowed), "*")
		if host == suffix || wildcard && strings.HasPrefix(suffix, ".") && strings.HasSuffix(host, suffix) {
			return nil
		}
	}
	if len(f.Hosts) > 0 {
		return errors.Errorf("the host %q is not among those that the provider may read from (--checksum-hosts)", host)
	}
	return nil
}

// permitAddress returns an error for an address with a port that no host name may resolve to.
func permitAddress(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return errors.New("the address cannot be read")
	}
	if local(at.Addr()) {
		return errLocal(at.Addr())
	}
	return nil
}

func errLocal(ip netip.Addr) error {
	return errors.Errorf("%s is an address of the machine or of its link, which the provider does not read from", ip.WithZone(""))
}

// local reports whether an address belongs to this machine or its link, or to a service that gives the machines of a cloud secrets.
func local(ip netip.Addr) bool {
	ip = embedded(ip.WithZone("").Unmap())
	if ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsInterfaceLocalMulticast() {
		return true
	}
	if ip.Is4() && ip.As4()[0] == 0 {
		return true
	}
	for _, metadata := range []string{"100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"} {
		if ip == netip.MustParseAddr(metadata) {
			return true
		}
	}
	return false
}

// embedded returns the IPv4 address in a NAT64 address, or the address itself.
func embedded(ip netip.Addr) netip.Addr {
	if nat64 := netip.MustParsePrefix("64:ff9b::/96"); nat64.Contains(ip) {
		b := ip.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return ip
}
