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

package image

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/robfig/cron/v3"
	"k8s.io/utils/ptr"

	"github.com/vitistack/provider-proxmox/apis/v1alpha1"
	"github.com/vitistack/provider-proxmox/internal/checksum"
)

// scheduleOf reads the schedule of refreshes; nil if there is none.
func scheduleOf(p *v1alpha1.ImageParameters) (cron.Schedule, error) {
	if p.Refresh == nil {
		return nil, nil //nolint:nilnil // No schedule is no error.
	}
	s, err := cron.ParseStandard(p.Refresh.Schedule)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read schedule %q", p.Refresh.Schedule)
	}
	if s.Next(time.Unix(0, 0).UTC()).IsZero() {
		return nil, errors.Errorf("cannot use schedule %q: no date matches it", p.Refresh.Schedule)
	}
	return s, nil
}

// listFor identifies the source of a list. A change of either URL causes it to be read again.
func listFor(p *v1alpha1.ImageParameters) string {
	return *p.Source.ChecksumURL + " " + ptr.Deref(p.Source.URL, "")
}

// refreshDue returns whether the list of checksums is to be read now, and when next; zero for never.
func (r *record) refreshDue(p *v1alpha1.ImageParameters, now time.Time) (due bool, next time.Time, err error) {
	s, err := scheduleOf(p)
	if err != nil || p.Source.ChecksumURL == nil {
		return false, time.Time{}, err
	}
	if r.Listed == nil || r.Listed.For != listFor(p) {
		return true, now, nil
	}
	if s == nil {
		return false, time.Time{}, nil
	}
	next = s.Next(time.Unix(r.Listed.At, 0).UTC())
	return !next.After(now), next, nil
}

// A listFetcher reads lists of checksums.
type listFetcher interface {
	Fetch(ctx context.Context, address string, insecure bool) ([]byte, error)
}

// refresh reads the list of checksums.
func (e *external) refresh(ctx context.Context, p *v1alpha1.ImageParameters, r *record) error {
	list, err := e.fetcher.Fetch(ctx, *p.Source.ChecksumURL, ptr.Deref(p.Source.InsecureSkipTLSVerify, false))
	if err != nil {
		return err
	}
	c, err := checksum.Find(list, *p.Source.URL)
	if err != nil {
		return err
	}
	r.Listed = &listed{For: listFor(p), Checksum: c.String(), At: e.now().Unix()}
	return nil
}
