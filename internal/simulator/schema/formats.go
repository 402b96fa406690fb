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

package schema

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// A stringFormat checks one value of a named format and returns PVE's message, or nothing if the value is valid.
type stringFormat func(value string) string

// pattern returns a format with a regular expression. message may contain one %s for the value.
func pattern(expression, message string) stringFormat {
	re := regexp.MustCompile(expression)
	return func(value string) string {
		if re.MatchString(value) {
			return ""
		}
		return describe(message, value)
	}
}

func describe(message, value string) string {
	if strings.Contains(message, "%s") {
		return fmt.Sprintf(message, value)
	}
	return message
}

// when returns a format with a predicate.
func when(valid func(string) bool, message string) stringFormat {
	return func(value string) string {
		if valid(value) {
			return ""
		}
		return describe(message, value)
	}
}

const (
	dnsName = `^([a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?\.)*([a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?)\n?$`
	tag     = `(?i)^[a-z0-9_][a-z0-9_\-+.]*\n?$`
)

// stringFormats returns the named formats of single values, with the messages of PVE's verifiers.
func stringFormats(version string) map[string]stringFormat {
	volume := pattern(`(?i)^[a-z][a-z0-9\-_.]*[a-z0-9]:.+`, "unable to parse volume ID '%s'")
	formats := map[string]stringFormat{
		"pve-configid":    pattern(`(?i)^[a-z][a-z0-9_-]+\n?$`, "invalid configuration ID '%s'"),
		"pve-storage-id":  storageID(),
		"pve-bridge-id":   pattern(`^[-_.\w\d]+$`, "invalid bridge ID '%s'"),
		"pve-vmid":        pattern(`^[1-9][0-9]{2,8}\n?$`, "value does not look like a valid VM ID"),
		"pve-node":        pattern(`^([a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?)\n?$`, "value does not look like a valid node name"),
		"mac-addr":        pattern(`(?i)^[a-f0-9][02468ace](:[a-f0-9]{2}){5}\n?$`, "value does not look like a valid unicast MAC address"),
		"mac-prefix":      pattern(`(?i)^[a-f0-9][02468ace](:[a-f0-9]{2}){0,2}(:[a-f0-9]?)?\n?$`, "value is not a valid unicast MAC address prefix"),
		"urlencoded":      pattern(`^[-%a-zA-Z0-9_.!~*'()]*\n?$`, "invalid urlencoded string: %s"),
		"dns-name":        pattern(dnsName, "value does not look like a valid DNS name"),
		"pve-tag":         pattern(tag, "invalid characters in tag"),
		"pve-iface":       pattern(`(?i)^[a-z][a-z0-9_]{1,20}([:.]\d+)?\n?$`, "invalid network interface name '%s'"),
		"pve-groupid":     pattern(`^[A-Za-z0-9.\-_]+\n?$`, "group name '%s' contains invalid characters"),
		"pve-roleid":      pattern(`^[A-Za-z0-9.\-_]+\n?$`, "role name '%s' contains invalid characters"),
		"pve-realm":       pattern(`^[A-Za-z][A-Za-z0-9.\-_]+\n?$`, "value does not look like a valid realm"),
		"pve-userid":      pattern(`^[^\s:/]+@[A-Za-z][A-Za-z0-9.\-_]+$`, "value '%s' does not look like a valid user name"),
		"pve-tokenid":     pattern(`^[^\s:/]+@[A-Za-z][A-Za-z0-9.\-_]+![A-Za-z][A-Za-z0-9.\-_]+$`, "value '%s' does not look like a valid token ID"),
		"pve-priv":        privilege(version),
		"pve-poolid":      poolID(),
		"pve-volume-id":   volume,
		"pve-qm-bootdev":  pattern(`^(net|scsi|virtio|sata|ide|usb|hostpci)\d+$`, "invalid boot device '%s'"),
		"pve-qm-bootdisk": pattern(`^(ide|sata|scsi|virtio|efidisk|tpmstate)\d+$`, "invalid boot disk '%s'"),
		"pve-storage-content": pattern(`^(images|rootdir|vztmpl|iso|backup|snippets|import|none)$`,
			"invalid content type '%s'"),
		"pve-storage-path":     pattern(`^/.+`, "value does not look like a valid absolute path"),
		"pve-calendar-event":   calendarEvent,
		"pve-startup-order":    startupOrder,
		"pve-hotplug-features": hotplugFeatures,
		"pve-cpuset":           pattern(`^\s*\d+(-\d+)?(\s*,\s*\d+(-\d+)?)*\s*$`, "cpuset contains invalid cpu list '%s'"),
		"pve-phys-bits":        physBits,
		"disk-size":            when(func(v string) bool { _, ok := ParseSize(v); return ok }, "value does not look like a valid disk size: %s"),
		"email":                pattern(`^[^\s@]+@[^\s@]+$`, "value does not look like a valid email address"),
	}
	maps.Copy(formats, haFormats())
	maps.Copy(formats, storageFormats())
	maps.Copy(formats, networkFormats())
	maps.Copy(formats, addressFormats())
	formats["pve-volume-id-or-absolute-path"] = unless(isAbsolute, volume)
	formats["pve-volume-id-or-qm-path"] = unless(isDriveWord, unless(isAbsolute, volume))
	return formats
}

// networkFormats returns the formats of virtual networks and firewalls.
func networkFormats() map[string]stringFormat {
	id := func(kind, expression string, longest int) stringFormat {
		legal := pattern(expression, kind+" ID '%s' contains illegal characters")
		return func(v string) string {
			if msg := legal(v); msg != "" || longest == 0 || len(v) <= longest {
				return msg
			}
			return fmt.Sprintf("%s ID '%s' can't be more length than %d characters", kind, v, longest)
		}
	}
	const word, plain = `(?i)^[a-z][a-z0-9_-]*[a-z0-9]\n?$`, `(?i)^[a-z][a-z0-9]*[a-z0-9]\n?$`
	network := when(func(v string) bool { return isIP(v) || isCIDR(v) }, "value does not look like a valid IP address or CIDR network")
	alias := regexp.MustCompile(`^(dc/|guest/)?[A-Za-z][A-Za-z0-9\-_]+$`)
	return map[string]stringFormat{
		"pve-sdn-zone-id": id("zone", plain, 8), "pve-sdn-vnet-id": id("vnet", word, 8), "pve-sdn-controller-id": id("controller", word, 0),
		"pve-sdn-dns-id": id("dns", word, 0), "pve-sdn-ipam-id": id("ipam", word, 0),
		"pve-sdn-isis-net": pattern(`^[a-fA-F0-9]{2}(\.[a-fA-F0-9]{4}){3,9}\.[a-fA-F0-9]{2}\n?$`, "value does not look like a valid isis net"),
		"pve-sdn-bgp-rt":   pattern(`^\d+:\d+\n?$`, "value does not look like a valid bgp route-target"),
		"IPorCIDR":         network, "IPorCIDRorAlias": unless(alias.MatchString, network),
	}
}

// storageFormats returns the formats of storages, backups and networks.
func storageFormats() map[string]stringFormat {
	name := regexp.MustCompile(dnsName)
	server := func(v string) bool { return isIP(v) || name.MatchString(v) }
	return map[string]stringFormat{
		"pve-storage-server":        when(server, "value does not look like a valid server name or IP address"),
		"pve-storage-portal-dns":    when(isPortal, "value does not look like a valid portal address"),
		"pve-storage-vgname":        pattern(`(?i)^[a-z0-9][a-z0-9\-_.]*[a-z0-9]\n?$`, "lvm name '%s' contains illegal characters"),
		"pve-storage-zfs-blocksize": zfsBlockSize,
		"pve-dir-override":          pattern(`^[a-z]+=[^.]*(\.?[^.]+)+\n?$`, "invalid override '%s'"),
		"pve-day-of-week":           pattern(`^(mon|tue|wed|thu|fri|sat|sun)\n?$`, "invalid day '%s'"),
		"pve-task-status-type":      pattern(`(?i)^(ok|error|warning|unknown)\n?$`, "invalid status '%s'"),
		"pve-vlan-id-or-range":      vlanRange,
		"pve-replication-job-id":    replicationJob,
		"storage-pair":              pair(storageID()),
		"bridge-pair":               pair(pattern(`^[-_.\w\d]+$`, "invalid bridge ID '%s'")),
		"email-or-username":         pattern(`^[^\s@,;]+(@[^\s@,;]+)?$`, "value does not look like a valid email address or user name"),
		"pve-storage-path-in-property-string": pattern(`^/[^;,=()]+`,
			"Value does not look like a valid absolute path. at /usr/share/perl5/PVE/Mapping/Dir.pm line 55."),
	}
}

// isPortal reports whether v is a host with or without a port.
func isPortal(v string) bool {
	host := regexp.MustCompile(`:\d+$`).ReplaceAllString(v, "")
	return isIP(strings.Trim(host, "[]")) || isIP(v) || regexp.MustCompile(dnsName).MatchString(host)
}

// vlanRange checks a VLAN tag, or two with a dash between them. The minimum of the first tag is 2.
func vlanRange(v string) string {
	m := regexp.MustCompile(`^(\d+)(?:-(\d+))?\n?$`).FindStringSubmatch(v)
	if m == nil {
		return fmt.Sprintf("invalid VLAN configuration '%s'", v)
	}
	for _, tag := range m[1:] {
		if n, err := strconv.Atoi(tag); err == nil && (n < 2 || n > 4094) {
			return fmt.Sprintf("invalid VLAN tag '%s'", tag)
		}
	}
	return ""
}

// replicationJob checks a VMID and a number.
func replicationJob(v string) string {
	const message = "invalid replication job id '%s'"
	m := regexp.MustCompile(`^(\d+)-(\d+)\n?$`).FindStringSubmatch(v)
	if m == nil {
		return fmt.Sprintf(message, v)
	}
	if n, err := strconv.Atoi(m[1]); err != nil || n < 100 {
		return fmt.Sprintf(message+" (guest IDs < 100 are reserved)", v)
	}
	return ""
}

// zfsBlockSize checks a power of two with or without a unit.
func zfsBlockSize(v string) string {
	m := regexp.MustCompile(`(?i)^([1-9][0-9]*)([km])?\n?$`).FindStringSubmatch(v)
	if m == nil && v != "" {
		return fmt.Sprintf("invalid ZFS blocksize format '%s'. Use a positive number (no leading zeros) with an optional 'k' or 'm' suffix.", v)
	}
	if v == "" {
		return ""
	}
	n, err := strconv.ParseInt(m[1], 10, 32)
	n <<= map[string]int{"k": 10, "m": 20}[strings.ToLower(m[2])]
	if err != nil || n < 512 || n > 16<<20 || n&(n-1) != 0 {
		return fmt.Sprintf("value '%s' is not a valid ZFS blocksize. Must be a power of 2 between 512B and 16MiB (e.g., 4k, 8k, 16k, 64k, 1m).", v)
	}
	return ""
}

// pair checks a map from IDs to IDs: "1" keeps each ID, one ID is the target of all, and two with a colon map one ID.
func pair(id stringFormat) stringFormat {
	return func(v string) string {
		parts := strings.Split(v, ":")
		if v == "1" {
			return ""
		}
		for _, part := range parts {
			if msg := id(part); msg != "" || len(parts) > 2 {
				return fmt.Sprintf("entry '%s' contains invalid ID - invalid format - %s\n\n", v, msg)
			}
		}
		return ""
	}
}

func haFormats() map[string]stringFormat {
	return map[string]stringFormat{
		"pve-ha-resource-id":       pattern(`^[a-z]+:\S+\n?$`, "value does not look like a valid ha resource id"),
		"pve-ha-resource-or-vm-id": pattern(`^([a-z]+:\S+|\d+)\n?$`, "value does not look like a valid ha resource id"),
		"pve-ha-node":              pattern(`^([a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?)(:\d+)?\n?$`, "value does not look like a valid ha node"),
		"pve-ha-group-node":        pattern(`^([a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?)(:\d+)?\n?$`, "value does not look like a valid ha node"),
	}
}

func addressFormats() map[string]stringFormat {
	name := regexp.MustCompile(dnsName)
	return map[string]stringFormat{
		"ipv4":            when(isIPv4, "value does not look like a valid IPv4 address"),
		"ipv6":            when(isIPv6, "value does not look like a valid IPv6 address"),
		"ip":              when(isIP, "value does not look like a valid IP address"),
		"CIDRv4":          when(isCIDRv4, "value does not look like a valid IPv4 CIDR network"),
		"CIDRv6":          when(isCIDRv6, "value does not look like a valid IPv6 CIDR network"),
		"CIDR":            when(isCIDR, "value does not look like a valid CIDR network"),
		"ipv4mask":        when(isMask, "value does not look like a valid IP netmask"),
		"address":         when(func(v string) bool { return isIP(v) || name.MatchString(v) }, "value does not look like a valid address: %s"),
		"pve-ipv4-config": when(isIPv4Config, "value does not look like a valid ipv4 network configuration"),
		"pve-ipv6-config": when(isIPv6Config, "value does not look like a valid ipv6 network configuration"),
	}
}

func isIPv4Config(v string) bool { return v == "dhcp" || v == "manual" || isCIDRv4(v) }

func isIPv6Config(v string) bool { return v == "auto" || v == "dhcp" || v == "manual" || isCIDRv6(v) }

func isIP(v string) bool { return isIPv4(v) || isIPv6(v) }

func isIPv4(v string) bool {
	a, err := netip.ParseAddr(v)
	return err == nil && a.Is4()
}

func isIPv6(v string) bool {
	a, err := netip.ParseAddr(v)
	return err == nil && a.Is6() && a.Zone() == ""
}

func isCIDR(v string) bool { return isCIDRv4(v) || isCIDRv6(v) }

func isCIDRv4(v string) bool { return isPrefix(v, isIPv4, 32) }

func isCIDRv6(v string) bool { return isPrefix(v, isIPv6, 128) }

// isPrefix reports whether v is an address and a length. PVE accepts no networks larger than /8.
func isPrefix(v string, address func(string) bool, longest int) bool {
	ip, length, ok := strings.Cut(v, "/")
	n, err := strconv.Atoi(length)
	return ok && err == nil && address(ip) && n > 7 && n <= longest
}

func isMask(v string) bool {
	a, err := netip.ParseAddr(v)
	if err != nil || !a.Is4() {
		return false
	}
	b := a.As4()
	bits := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	return ^bits&(^bits+1) == 0
}

func storageID() stringFormat {
	legal := pattern(`(?i)^[a-z][a-z0-9\-_.]*[a-z0-9]\n?$`, "storage ID '%s' contains illegal characters")
	return func(v string) string {
		if len(v) < 2 {
			return fmt.Sprintf("storage ID '%s' cannot be shorter than 2 characters", v)
		}
		return legal(v)
	}
}

func poolID() stringFormat {
	legal := pattern(`^[A-Za-z0-9.\-_]+(/[A-Za-z0-9.\-_]+)*$`, "pool name '%s' contains invalid characters")
	return func(v string) string {
		if strings.Count(v, "/") > 2 {
			return fmt.Sprintf("pool name '%s' nested too deeply (max levels = 3)", v)
		}
		return legal(v)
	}
}

// unless returns a format that accepts some values in addition to those of another one.
func unless(fine func(string) bool, otherwise stringFormat) stringFormat {
	return func(v string) string {
		if fine(v) {
			return ""
		}
		return otherwise(v)
	}
}

// isDriveWord reports whether v is a special word for the file of a VM's drive.
func isDriveWord(v string) bool { return v == "none" || v == "cdrom" || v == "cloudinit" }

func isAbsolute(v string) bool { return strings.HasPrefix(v, "/") && len(v) > 1 }

func startupOrder(v string) string {
	part := regexp.MustCompile(`^\s*$|^(order=)?\d+$|^up=\d+$|^down=\d+$`)
	for p := range strings.SplitSeq(v, ",") {
		if v == "" || v == "0" || !part.MatchString(p) { // PVE takes 0 for an empty value here.
			return "unable to parse startup options"
		}
	}
	return ""
}

func hotplugFeatures(v string) string {
	if v == "0" || v == "1" {
		return ""
	}
	feature := regexp.MustCompile(`^(network|disk|cpu|memory|usb|cloudinit)$`)
	for _, f := range SplitList(v) {
		if !feature.MatchString(f) {
			return fmt.Sprintf("invalid hotplug feature '%s'", f)
		}
	}
	return ""
}

func physBits(v string) string {
	if n, err := strconv.Atoi(v); v == "host" || (err == nil && n >= 8 && n <= 64) {
		return ""
	}
	return fmt.Sprintf("value must be an integer between 8 and 64 or 'host', got '%s'", v)
}

// SplitList splits a list like PVE: at NUL characters if there are any, else at commas, semicolons and spaces.
func SplitList(list string) []string {
	if strings.Contains(list, "\x00") {
		return strings.Split(list, "\x00")
	}
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ';' || r == ' ' || r == '\t' || r == '\n' })
}
