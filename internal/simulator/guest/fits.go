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

package guest

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vitistack/provider-proxmox/internal/simulator/apierr"
	"github.com/vitistack/provider-proxmox/internal/simulator/engine"
	"github.com/vitistack/provider-proxmox/internal/simulator/schema"
)

// Fits fails for a configuration that PVE accepts but with which it cannot start a VM. It checks the conditions of PVE::QemuServer::config_to_command that
// depend on the configuration alone.
func Fits(s *engine.Engine, config map[string]string) error {
	for _, check := range []func(*engine.Engine, map[string]string) error{memoryFits, devicesFit, firmwareFits, clipboardFits} {
		if err := check(s, config); err != nil {
			return err
		}
	}
	return nil
}

// memoryFits performs the first checks of PVE::QemuServer::Memory::config.
func memoryFits(_ *engine.Engine, config map[string]string) error {
	numa := config["numa"] == "1"
	plugged := slices.Contains(strings.FieldsFunc(config["hotplug"], func(r rune) bool { return strings.ContainsRune(",; ", r) }), "memory")
	switch {
	case plugged && !numa:
		return apierr.Errorf("NUMA needs to be enabled for memory hotplug")
	case config["hugepages"] != "" && !numa:
		return apierr.Errorf("numa needs to be enabled to use hugepages at /usr/share/perl5/PVE/QemuServer/Memory.pm line 388.")
	}
	return nil
}

// devicesFit performs the checks of PVE::QemuServer::PCI::parse_hostpci_devices and PVE::QemuServer::print_netdevice_full.
func devicesFit(s *engine.Engine, config map[string]string) error {
	q35 := strings.Contains(config["machine"], "q35")
	for key, value := range config {
		p := s.Parse(key, value)
		switch {
		case IsNIC(key) && p["model"] == "virtio" && p["bridge"] != "" && p["mtu"] != "" && schema.Int(p["mtu"]) != 1 && schema.Int(p["mtu"]) < 576:
			return apierr.Errorf("netdev %s: MTU '%s' is smaller than the IP minimum MTU '576'", key, p["mtu"])
		case !strings.HasPrefix(key, "hostpci"):
		case p["pcie"] == "1" && !q35:
			return apierr.Errorf("q35 machine model is not enabled at /usr/share/perl5/PVE/QemuServer/PCI.pm line 510.")
		case p["legacy-igd"] == "1" && config["vga"] != "none":
			return apierr.Errorf("legacy IGD assignment requires VGA mode to be 'none'")
		case p["legacy-igd"] == "1" && q35:
			return apierr.Errorf("legacy IGD assignment is not compatible with q35")
		}
	}
	return nil
}

// firmwareFits performs the checks of PVE::QemuServer::CPUConfig::get_amd_sev_object and get_intel_tdx_object.
func firmwareFits(_ *engine.Engine, config map[string]string) error {
	switch {
	case config["bios"] == "ovmf":
		return nil
	case config["amd-sev"] != "":
		return apierr.Errorf("To use AMD SEV, you need to change the BIOS to OVMF.")
	case config["intel-tdx"] != "":
		return apierr.Errorf("To use Intel TDX, you need to change the BIOS to OVMF.")
	}
	return nil
}

var clipboardType = regexp.MustCompile(`^(std|cirrus|vmware|virtio|qxl)`)

// clipboardFits performs the checks of PVE::QemuServer::assert_clipboard_config.
func clipboardFits(s *engine.Engine, config map[string]string) error {
	vga := s.Parse("vga", config["vga"])
	if kind := vga["type"]; vga["clipboard"] == "vnc" && kind != "" && !clipboardType.MatchString(kind) {
		return apierr.Errorf("vga type %s is not compatible with VNC clipboard", kind)
	}
	return nil
}
