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

package backupjob

import (
	"slices"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/settings"
)

// Options of PVE that several functions name.
const (
	storageOption = "storage"
	vmidOption    = "vmid"
	poolOption    = "pool"
	allOption     = "all"
	excludeOption = "exclude"
	nodeOption    = "node"

	pruneOption = "prune-backups"

	// keepAll is the rule that removes nothing.
	keepAll = "keep-all=1"

	// nextRun is reported in addition to the options.
	nextRun = "next-run"
)

// declare declares the options of a spec. resolve declares those that name other resources.
func declare(p *parameters) settings.Declared {
	d := settings.Declared{}
	for option, value := range map[string]*string{
		"schedule": &p.Schedule, "comment": p.Comment, nodeOption: p.Node, "mode": p.Mode, "compress": compression(p.Compression),
		"zstd": settings.Number(p.ZstdThreads), "pigz": settings.Number(p.PigzThreads), "remove": settings.Boolean(p.Prune),
		"notes-template": p.NotesTemplate, "protected": settings.Boolean(p.Protected), "bwlimit": settings.Number(p.BandwidthLimit),
		"ionice": settings.Number(p.IOPriority), "lockwait": settings.Number(p.LockWaitMinutes), "stopwait": settings.Number(p.StopWaitMinutes),
		"pbs-change-detection-mode": p.PBSChangeDetectionMode,
	} {
		d.Set(option, value)
	}
	d.SetSame("repeat-missed", settings.Boolean(p.RepeatMissed), sameFlag)
	d.SetSame("enabled", settings.Boolean(p.Enabled), func(a, b string) bool { return (a == "0") == (b == "0") })
	declareParts(d, p)
	if n := p.Notification; n != nil {
		d.Set("notification-mode", n.Mode)
		d.SetSame("mailto", settings.List(n.MailTo), settings.SameList)
		d.Set("mailnotification", n.MailOn)
	}
	return d
}

// declareParts declares the options that have parts.
func declareParts(d settings.Declared, p *parameters) {
	declareRetention(d, p)
	if f := p.Performance; f != nil {
		d.SetParts("performance", "", map[string]*string{
			"max-workers": settings.Number(f.MaxWorkers), "pbs-entries-max": settings.Number(f.PBSEntriesMax),
		})
	}
}

// declareRetention declares which backups a run removes. PVE does not distinguish the backups of a job from others on the storage, so without consent
// none are removed, whatever the rules of the storage.
func declareRetention(d settings.Declared, p *parameters) {
	allowed := p.AllowPruningOthers != nil && *p.AllowPruningOthers
	switch b := p.PruneBackups; {
	case b != nil && (allowed || b.KeepAll == nil || !*b.KeepAll): // Without consent prune is false.
		d.SetParts(pruneOption, "", retention(b))
	case b != nil || !allowed:
		d.SetSame(pruneOption, new(keepAll), func(_, seen string) bool { return keepsAll(seen) })
	}
}

// keepsAll reports whether the rules remove nothing.
func keepsAll(rules string) bool {
	return slices.Contains([]string{keepAll, "keep-all=on", "keep-all=yes", "keep-all=true"}, rules)
}

// prunesUnasked reports whether a job removes backups, or may, although the spec does not mention it. This is an adopted job, or one whose consent
// was withdrawn.
func prunesUnasked(v view) bool {
	p := v.Resource.Parameters()
	silent := p.Prune == nil && p.PruneBackups == nil && p.AllowPruningOthers == nil
	return v.Exists && silent && v.Seen.Values["remove"] != "0" && !keepsAll(v.Seen.Values[pruneOption])
}

// retention returns the parts of the rules by which backups are kept. PVE accepts no other rule together with keep-all.
func retention(b *v1alpha1.StoragePruneBackups) map[string]*string {
	all := settings.Boolean(b.KeepAll)
	if all == nil {
		all = new("")
	}
	return map[string]*string{
		"keep-all": all, "keep-last": settings.Number(b.KeepLast), "keep-hourly": settings.Number(b.KeepHourly),
		"keep-daily": settings.Number(b.KeepDaily), "keep-weekly": settings.Number(b.KeepWeekly),
		"keep-monthly": settings.Number(b.KeepMonthly), "keep-yearly": settings.Number(b.KeepYearly),
	}
}

// compression returns the compression as PVE names it.
func compression(c *string) *string {
	if c != nil && *c == "none" {
		return new("0")
	}
	return c
}

// sameFlag compares options whose default is off.
func sameFlag(a, b string) bool { return (a == "1") == (b == "1") }
