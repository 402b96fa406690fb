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

package qemu

import (
	"strconv"
	"strings"
)

// The number of devices of each bus in PVE.
//
//nolint:gochecknoglobals // A constant.
var busSizes = map[string]int{"ide": 4, "sata": 6, "scsi": 31, "virtio": 16, "net": 32, "hostpci": 16, "usb": 14, "virtiofs": 10}

// BusOf returns the bus of a device of disks, media or networks, or nothing for other options.
func BusOf(device string) string {
	bus, _ := splitDevice(device)
	return bus
}

// splitDevice returns the bus of a device of disks, media or networks, and its number. Both are empty for other options.
func splitDevice(device string) (bus, number string) {
	bus = strings.TrimRight(device, "0123456789")
	number = device[len(bus):]
	switch bus {
	case "ide", "sata", "scsi", "virtio", "net":
		if number != "" {
			return bus, number
		}
	}
	return "", ""
}

// IsDisk reports whether an option is a disk or a drive.
func IsDisk(option string) bool {
	b := BusOf(option)
	return b != "" && b != "net" || option == EFIDevice || option == TPMDevice
}

// CompareDevices orders devices by bus, then by number.
func CompareDevices(a, b string) int {
	x, y := BusOf(a), BusOf(b)
	if x != y {
		return strings.Compare(x, y)
	}
	return deviceNumber(a) - deviceNumber(b)
}

func deviceNumber(device string) int {
	_, number := splitDevice(device)
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return n
}

// DevicesOnBus returns the names of all devices that a bus has.
func DevicesOnBus(bus string) []string {
	all := make([]string, 0, busSizes[bus])
	for i := range busSizes[bus] {
		all = append(all, bus+strconv.Itoa(i))
	}
	return all
}
