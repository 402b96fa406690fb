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

package controller_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"

	cluster "github.com/vitistack/provider-proxmox/apis/cluster/v1alpha1"
	namespaced "github.com/vitistack/provider-proxmox/apis/namespaced/v1alpha1"
	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/controller/machine/object"
)

// named returns the fields by which a resource of a tenant names something outside of it, by the kind, each with an attempt that uses it.
func named() map[string]map[string]string {
	return map[string]map[string]string{
		"Machine": {
			"vmid": "vmidvictim", "node": "node", "placement.nodes": "placement", "placement.nodeSelector": "nodeselector", "pool": "pool", "tags": "tags",
			"template": "secretvmid", "templateTags": "templatetags", "templateRef.name": "templateref", "templateSelector.matchLabels": "templateselector",
			"clone.storage": "clonestorage", "clone.snapshot": "clonesnapshot", "clone.vm": "clonevm", "clone.machine": "clonemachine",
			"clone.machineRef.name": "cloneref", "clone.machineSelector.matchLabels": "cloneselector",
			"image.volume": "imagevolume", "image.ref.name": "imageref", "image.url": "imageurl", "image.checksumURL": "imageurl", "image.storages": "imageurl",
			"restore.backupRef.name": "restoreref", "restore.volume": "restore", "restore.storage": "restorestorage", "restore.storageRef.name": "restorestorageref",
			"restore.latestOf.storage": "restorelatest", "restore.latestOf.vmid": "restorelatest", "restore.latestOf.storageRef.name": "restorelatestof",
			"restore.latestOf.machineRef.name": "restorelatestof",
			"iso":                              "iso", "cdroms.iso": "cdrom", "cdroms.physical": "physical", "cpu.affinity": "affinity",
			"cpu.numaNodes.hostNodes": "hostnodes",
			"memoryOptions.hugePages": "hugepages", "memoryOptions.keepHugePages": "keephuge",
			"disks.storage": "storage", "disks.device": "devicegrown", "disks.importFrom": "importfrom", "disks.volume": "volume", "disks.volumeRef.name": "volumeref",
			"disks.removalPolicy": "destroy", "disks.scsiBlock": "scsiblock", "efiDisk.storage": "efidisk", "tpm.storage": "tpm", "cloudInit.storage": "cloudinit",
			"networks.bridge": "bridge", "networks.networkRef.name": "networkref", "networks.networkRef.selector.matchLabels": "networkrefselector",
			"networks.vlan": "vlan", "networks.trunks": "trunks",
			"networks.ipConfig.poolRef.apiGroup": "ippoolgroup", "networks.ipConfig.poolRef.kind": "ippool", "networks.ipConfig.poolRef.name": "ippool",
			"networks.ipConfig.poolRef.namespace": "ipclaims", "networks.ipConfig.poolRef6.apiGroup": "ippool6", "networks.ipConfig.poolRef6.kind": "ippool6",
			"networks.ipConfig.poolRef6.name": "ippool6", "networks.ipConfig.poolRef6.namespace": "ippool6",
			"cloudInit.passwordSecretRef.namespace": "password", "cloudInit.sshKeySecretRefs.namespace": "sshsecret",
			"cloudInit.sshKeyConfigMapRefs.namespace": "sshmap", "cloudInit.userData.secretRef.namespace": "usersecret",
			"cloudInit.userData.configMapRef.namespace": "usermap", "cloudInit.vendorData.secretRef.namespace": "vendorsecret",
			"cloudInit.vendorData.configMapRef.namespace": "vendormap", "cloudInit.networkConfig.secretRef.namespace": "networksecret",
			"cloudInit.networkConfig.configMapRef.namespace": "networkmap",
			"startup.order": "startup", "startup.upSeconds": "startup", "startup.downSeconds": "startup", "serialPorts": "serial", "rng.source": "hwrng",
			"pciDevices.mapping": "pcimapping", "pciDevices.host": "pcihost", "pciDevices.romFile": "romfile", "usbDevices.mapping": "usbmapping",
			"usbDevices.host": "usbhost", "virtiofs.mapping": "virtiofs", "hookscript": "hookscript", "highAvailability.maxRestart": "ha",
			"highAvailability.group": "hagroup", "extraConfig": "args", "rollback.snapshot": "rollbackref",
			"restoreInPlace.backupRef.name": "restoreplaceref", "restoreInPlace.volume": "restoreplace", "restoreInPlace.storage": "restoreplacestorage",
			"restoreInPlace.storageRef.name": "restoreplacestorageref", "restoreInPlace.safetyBackup.storage": "restoresafety",
			"recreation.lostNode": "recreation", "recreation.removeRemains": "remains",
		},
		"Snapshot": {
			"machine": "machine", "machineRef.name": "machineref", "machineSelector.matchLabels": "machineselector", "vmid": "unmanaged", "allowUnmanaged": "unmanaged",
		},
		"Backup": {
			"machine": "machine", "machineRef.name": "machineref", "machineSelector.matchLabels": "machineselector", "storage": "elsewhere",
			"storageRef.name": "storageref", "storageSelector.matchLabels": "storageselector", "bandwidthLimit": "fast",
		},
		"Image": {
			"source.url": "url", "source.checksumURL": "sums", "source.oci": "oci", "source.volume": "volume", "source.machine": "machine",
			"source.machineRef.name": "machineref", "source.machineSelector.matchLabels": "machineselector", "content": "content", "fileName": "filename",
			"storages": "storages", "storageSelector.shared": "storageselector", "nodes": "nodes", "template.name": "template",
		},
		"Volume": {"storage": "elsewhere", "storageRef.name": "storageref", "storageSelector.matchLabels": "storageselector", "node": "node"},
	}
}

// exempt returns the fields of resources of tenants that name nothing outside of them, or nothing that is forbidden to their tenant, by the reason.
func exempt() map[string]map[string]string {
	return map[string]map[string]string{
		"Machine": {
			"It is what the VM is called or described by, and nothing is found by it.": `name|description|smbios\..*|disks\.(serial|wwn|model|vendor|product)`,
			"It is the name of the entry in the spec.": "" +
				`(disks|cdroms|networks|pciDevices|usbDevices|virtiofs)\.name|image\.disk|bootOrder`,
			"It is the place of a device in the VM itself.": `(cdroms|networks)\.device|(disks|cdroms)\.type`,
			"It is how the VM's own hardware works.": "" +
				`(acpi|kvm|tablet|localTime|hotplug|bios|machineType|scsiController|balloon|osType|memory)|(machineOptions|vga|audio|` +
				`watchdog)\..*|agent|agentOptions\..*`,
			"It is how much of a node the VM has, which a quota limits but for the weights, which the documentation leaves free.": "" +
				`cpu\.(cores|sockets|threadsPerCore|vcpus|limit|units)|memoryOptions\.(minimum|shares|allowKSM)`,
			"It is what the processor of the VM is like.": "" +
				`cpu\.(type|flags|hidden|hvVendorID|physBits|guestPhysBits|level|numa)|cpu\.numaNodes\.(cpus|memory|policy)`,
			"It is how the VM's own disk is read and written.": "" +
				`disks\.(size|format|cache|aio|discard|ssd|ioThread|backup|replicate|readOnly|queues|detectZeroes|readError|writeError|` +
				`shared|snapshot)|disks\.(geometry|limits)\..*`,
			"It is what a drive of the VM's own is made as.": "" +
				`efiDisk\.(enabled|format|type|preEnrolledKeys|msCertificate)|tpm\.(enabled|format|version)|clone\.(full|format)`,
			"It is how the VM's own interface works, in a network that is judged.": `networks\.(model|macAddress|firewall|mtu|queues|rateMBps|linkDown|hostTunnel)`,
			"It is what the guest is told, which does as it likes in a network anyhow.": "" +
				`networks\.ipConfig\.(address|gateway|address6|gateway6)|cloudInit\.(user|generatePassword|sshKeys|nameservers|` +
				`searchDomains|upgrade|changePolicy)|cloudInit\.(userData|vendorData|networkConfig)\.inline`,
			"It is a name in a namespace that is judged.": `cloudInit\..*(SecretRef|SecretRefs|ConfigMapRefs|secretRef|configMapRef)\.(name|key)`,
			"It chooses among what is judged.": `placement\.(strategy|maxVMsPerNode|minFreeMemory|minFreeStorage|cpuOvercommitPercent)|` +
				`(templateSelector|clone\.machineSelector)\.matchControllerRef|image\.(checksum|format)`,
			"It counts Machines by VMs that are their tenants', as TestTenantsPlaced tries; cluster-scoped ones are one group, as the documentation says.": "" +
				`placement\.(group|spread)|placement\.(affinity|antiAffinity)\..*`,
			"It is how a device works that is judged.": "" +
				`pciDevices\.(pcie|primaryGPU|legacyIGD|romBar|mediatedDevice|driver|vendorID|deviceID|subVendorID|subDeviceID)|` +
				`usbDevices\.usb3|virtiofs\.(cache|directIO|exposeACL|exposeXattr)|rng\.(enabled|maxBytes|periodMilliseconds)`,
			"Only the disks of VMs are kept from being destroyed.": `(cdroms|networks|pciDevices|usbDevices|virtiofs)\.removalPolicy`,
			"It is when the VM runs, and how it stops.": `onBoot|powerState|runStrategy|shutdownTimeoutSeconds|restartPolicy|restartTimeoutSeconds|powerAction\..*|` +
				`maintenanceWindow\..*|startup\.enabled|protection`,
			"It is only what is shown.":                `reportProvisioning|showConfig`,
			"High availability is refused as a whole.": `highAvailability\.(enabled|state|maxRelocate|failback|rules)`,
			"It is how an act is done whose names are judged.": "" +
				`rollback\.(token|allowRunning|safetySnapshot)|restoreInPlace\.(token|allowRunning|discardSnapshots|replaceDisks)|` +
				`recreation\.token|restore\.unique`,
			"The Backup that is made by it is refused, as attempts of Backups are.": `restoreInPlace\.safetyBackup\.storageRef\.name`,
		},
		"Snapshot": {
			"It is of a VM that is judged.":     `name|description|removalPolicy|machineSelector\.matchControllerRef`,
			"Its test is savesMemory, by a VM.": `includeMemory`,
		},
		"SnapshotPolicy": {
			"It selects Machines of its own tenant alone, and the Snapshots that it makes are judged.": "" +
				`machineSelector|snapshotTemplate\.(description|includeMemory|removalPolicy)`,
			"It is when Snapshots are made, and which of its own are kept.": "" +
				`schedule|timeZone|maxConcurrent|startingDeadlineMinutes|suspend|retention\.(last|hourly|daily|weekly|monthly)`,
		},
		"Backup": {
			"It is how a backup is made, of a VM and on a storage that are judged.": "" +
				`mode|compression|notes|protected|removalPolicy|(machine|storage)Selector\.matchControllerRef`,
		},
		"Image": {
			"It is how a file is fetched whose host is judged.":            `source\.(checksum|decompression|format|insecureSkipTLSVerify)`,
			"It is when files are fetched, and which of its own are kept.": `refresh\.schedule|keep`,
			"A selector is refused as a whole.":                            `storageSelector\.types|source\.machineSelector\.matchControllerRef`,
			"A template is refused as a whole.": `template\.(storage|cpu\..*|memory|diskType|diskFormat|agent|cloudInit|osType|bios|` +
				`machineType|scsiController|serialConsole|bridge|tags|description|pool)`,
		},
		"Volume": {"It is of a disk that is the Volume's own.": `size|format|reclaimPolicy|recoverLost|storageSelector\.matchControllerRef`},
	}
}

// exemptAnnotations returns the annotations and labels that need no attempt, by the reason.
func exemptAnnotations() map[string]string {
	return map[string]string{
		"It is about the Machine's own VM, which is judged before.": "" +
			`devices|password-version|power-action|running-since|last-restart`,
		"It names the cluster that a Machine goes on in, of a configuration that is judged.":    `cluster`,
		"It is signed, and its attempts are those of the record that it is the signature of.":   `(backup|volume|image)-record-signature`,
		"It is of kinds that tenants may not have, or tells an Image that Machines share.":      `shared-image|staged-interface|create-intent|removed|owned`,
		"It is of what Crossplane keeps of a resource whose definition is gone.":                `orphaned-by-crd`,
		"It tells a Snapshot of a policy, which has to own it by its UID too.":                  `snapshot-policy|scheduled-time`,
		"It is on objects of Cluster API's IPAM, each of which has to be of the Machine's own.": `vm-uuid|network`,
		"It is on what tenants cannot write.":                                                   `(cluster-scoped-)?tenants-of|from-environment`,
		"It is the name of an index of the provider's cache, and on no object.":                 `claim`,
	}
}

// offline returns a world without a server, for its tables.
func offline(t *testing.T) *tenantWorld {
	t.Helper()
	w := &tenantWorld{world: &world{T: t, name: "offline"}, config: "offline"}
	own := &cluster.Machine{}
	own.SetName("own")
	own.Status.AtProvider.VMID = new(int32(20000))
	w.m = own
	return w
}

// An attempted resource is a resource with and without the changes of an attempt.
type attempted struct{ base, with resource.Managed }

// attempts returns the attempts of all tables, by the kind and the name.
func (w *tenantWorld) attempts() map[string]map[string]attempted {
	w.Helper()
	machines, all := map[string]attempted{}, w.newAttempts()
	for _, table := range []map[string]attempt{w.editAttempts(), w.actAttempts(), w.restoreAttempts(), deviceAttempts()} {
		maps.Copy(all, table)
	}
	for name, a := range all {
		m := w.of("a", name, linux())
		if a.spec != nil {
			a.spec(m.Parameters())
		}
		if a.object != nil {
			a.object(m)
		}
		machines[name] = attempted{base: w.of("a", name, linux()), with: m}
	}
	for name, annotations := range w.forgedAnnotations() {
		m := w.of("a", name, linux())
		annotated(annotations)(m)
		machines["forged-"+name] = attempted{base: w.of("a", name, linux()), with: m}
	}
	snapshots, backups, volumes := map[string]attempted{}, map[string]attempted{}, map[string]attempted{}
	for name, a := range w.snapshotAttempts() {
		s := w.takes(name)
		a.change(s)
		snapshots[name] = attempted{base: w.takes(name), with: s}
	}
	for name, a := range w.backupAttempts() {
		b := w.backupOf("a", name, "own")
		a.change(b)
		backups[name] = attempted{base: w.backupOf("a", name, "own"), with: b}
	}
	for name, a := range w.volumeAttempts() {
		v := w.volumeOf("a", name)
		a.change(v)
		volumes[name] = attempted{base: w.volumeOf("a", name), with: v}
	}
	images := map[string]attempted{}
	for name, a := range w.imageAttempts() {
		i := w.imageOf("a", name)
		a.change(i)
		images[name] = attempted{base: w.imageOf("a", name), with: i}
	}
	return map[string]map[string]attempted{"Machine": machines, "Snapshot": snapshots, "Backup": backups, "Volume": volumes, "Image": images}
}

// TestTenantsFields checks that each field of the kinds that tenants may have is used by an attempt, or exempt with a reason, so that a new field
// that names something outside is not forgotten.
func TestTenantsFields(t *testing.T) {
	w := offline(t)
	all := w.attempts()
	for kind, k := range cluster.Kinds() {
		if _, has := administrators()[kind]; has {
			continue // The kind is refused, whatever its fields contain.
		}
		fields := fieldsOf(reflect.TypeOf(parameters(t, k.Object)))
		for field := range named()[kind] {
			if !slices.Contains(fields, field) {
				t.Errorf("%s has no field %s, which is said to name something outside", kind, field)
			}
		}
		for why, pattern := range exempt()[kind] {
			if !slices.ContainsFunc(fields, func(f string) bool { return whole(pattern).MatchString(f) }) {
				t.Errorf("%s: no field is exempt because %q", kind, why)
			}
		}
		for _, field := range fields {
			w.checkField(kind, field, all[kind])
		}
	}
	if n := len(all["Machine"]) + len(all["Snapshot"]) + len(all["Backup"]) + len(all["Volume"]); n < 60 {
		t.Errorf("want at least 60 attempts, got %d", n)
	}
}

// beside returns the fields of specs other than forProvider, with the tests in which they name what is not for a team, or with the reason why they
// name nothing outside.
func beside() map[string]string {
	return map[string]string{
		"providerConfigRef":          "TestTenantsElsewhere and TestTenantsOtherConfigurations",
		"writeConnectionSecretToRef": "attempts secretsystem and secrettheirs, and those called secret of other kinds",
		"managementPolicies":         "attempts called observed; it says what is done of all that is judged",
		"deletionPolicy":             "it is about what is the resource's own",
	}
}

// TestTenantsSpecs checks that each field of specs in both scopes, except those of Proxmox VE, is known here.
func TestTenantsSpecs(t *testing.T) {
	found := map[string]bool{}
	for _, kinds := range []v1alpha1.Kinds{cluster.Kinds(), namespaced.Kinds()} {
		for kind, k := range kinds {
			for _, field := range specFields(reflect.TypeOf(k.Object).Elem()) {
				if found[field] = true; field != "forProvider" && beside()[field] == "" {
					t.Errorf("%s: spec.%s has no test that names what is not for a team by it", kind, field)
				}
			}
		}
	}
	for field := range beside() {
		if !found[field] {
			t.Errorf("no spec has the field %s", field)
		}
	}
}

// specFields returns the names of the fields of a kind's spec.
func specFields(of reflect.Type) []string {
	spec, has := of.FieldByName("Spec")
	if !has {
		return nil
	}
	return inlined(spec.Type)
}

// inlined returns the names of fields, including those of inline structures.
func inlined(of reflect.Type) []string {
	var all []string
	for f := range of.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			all = append(all, name)
		} else {
			all = append(all, inlined(f.Type)...)
		}
	}
	return all
}

// checkField checks that an attempt sets a field, or that there is a reason for none.
func (w *tenantWorld) checkField(kind, field string, all map[string]attempted) {
	w.Helper()
	var reasons []string
	for why, pattern := range exempt()[kind] {
		if whole(pattern).MatchString(field) {
			reasons = append(reasons, why)
		}
	}
	name, has := named()[kind][field]
	switch a, there := all[name]; {
	case has == (len(reasons) > 0), len(reasons) > 1:
		w.Errorf("%s.%s: want an attempt, or else one reason to have none, got %q and %q", kind, field, name, reasons)
	case has && !there:
		w.Errorf("%s.%s: there is no attempt %q", kind, field, name)
	case has && cmp.Equal(valuesOf(parameters(w.T, a.base))[field], valuesOf(parameters(w.T, a.with))[field]):
		w.Errorf("%s.%s: attempt %q does not set it", kind, field, name)
	}
}

// TestTenantsAnnotations checks that each annotation and label of the provider is used by an attempt, or exempt with a reason.
func TestTenantsAnnotations(t *testing.T) {
	w, tried := offline(t), map[string]bool{}
	for _, all := range w.attempts() {
		for _, a := range all {
			for name := range a.with.GetAnnotations() {
				tried[strings.TrimPrefix(name, "proxmox.vitistack.io/")] = true
			}
		}
	}
	for name := range annotationsOf(t) {
		var reasons []string
		for why, pattern := range exemptAnnotations() {
			if whole(pattern).MatchString(name) {
				reasons = append(reasons, why)
			}
		}
		if tried[name] == (len(reasons) > 0) || len(reasons) > 1 {
			t.Errorf("annotation %s: want an attempt, or else one reason to have none, got %t and %q", name, tried[name], reasons)
		}
	}
}

// annotationsOf returns the annotations of the provider in its source.
func annotationsOf(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	literal := regexp.MustCompile(`"proxmox\.vitistack\.io/([a-z0-9-]+)"|annotationPrefix \+ "([a-z0-9-]+)"`)
	err := fs.WalkDir(os.DirFS(filepath.Join("..", "..")), "internal", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Join("..", "..", path))
		for _, m := range literal.FindAllStringSubmatch(string(text), -1) {
			all[m[1]+m[2]] = true
		}
		return err
	})
	for former := range object.FormerAnnotations() {
		delete(all, strings.TrimPrefix(former, "proxmox.vitistack.io/"))
	}
	if err != nil || len(all) == 0 {
		t.Fatalf("found %d annotations: %v", len(all), err)
	}
	return all
}

func whole(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(` + pattern + `)$`) }

// parameters returns the parameters of a resource, which point to its spec.
func parameters(t *testing.T, o any) any {
	t.Helper()
	got := reflect.ValueOf(o).MethodByName("Parameters")
	if !got.IsValid() {
		t.Fatalf("a %T has no parameters", o)
	}
	return got.Call(nil)[0].Interface()
}

// fieldsOf returns the paths of a type to everything that is not a structure of the API.
func fieldsOf(of reflect.Type) []string {
	var all []string
	eachField(of, "", func(path string) { all = append(all, path) })
	return all
}

func eachField(of reflect.Type, path string, found func(path string)) {
	switch {
	case of.Kind() == reflect.Pointer, of.Kind() == reflect.Slice:
		eachField(of.Elem(), path, found)
	case isOurs(of):
		for f := range of.Fields() {
			eachField(f.Type, join(path, f), found)
		}
	default:
		found(path)
	}
}

// valuesOf returns the values of the fields of a value, by their paths.
func valuesOf(v any) map[string][]string {
	all := map[string][]string{}
	eachValue(reflect.ValueOf(v), "", func(path string, v reflect.Value) { all[path] = append(all[path], fmt.Sprint(v.Interface())) })
	return all
}

func eachValue(v reflect.Value, path string, found func(path string, v reflect.Value)) {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
	case v.Kind() == reflect.Pointer:
		eachValue(v.Elem(), path, found)
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			eachValue(v.Index(i), path, found)
		}
	case isOurs(v.Type()):
		for i := range v.NumField() {
			eachValue(v.Field(i), join(path, v.Type().Field(i)), found)
		}
	default:
		found(path, v)
	}
}

// isOurs reports whether a type is a structure of this API.
func isOurs(of reflect.Type) bool {
	return of.Kind() == reflect.Struct && of.PkgPath() == reflect.TypeFor[v1alpha1.MachineParameters]().PkgPath()
}

// join joins a path and the name of a field.
func join(path string, f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return strings.Trim(path+"."+name, ".")
}
