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
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// A Volume of a storage.
type Volume struct {
	// ID of the volume with its storage, such as local:iso/debian.iso.
	ID string

	// Content is what the volume is: images, iso, import, vztmpl, backup or
	// snippets.
	Content string

	// Format of the volume, such as qcow2.
	Format string

	// Size in bytes.
	Size int64

	// VMID of the guest that owns the volume, or 0.
	VMID int

	// Changed is when the volume's file was made or replaced, in seconds of the node's
	// clock; 0 if the storage does not tell.
	Changed int64
}

// File returns the name of the volume on its storage, without the folder of its content
// type: debian.iso of local:iso/debian.iso.
func (v Volume) File() string { return v.ID[strings.LastIndexAny(v.ID, ":/")+1:] }

// storageRequest is a request about a storage as a node sees it.
func storageRequest(op, method, node, storage, path string, args ...string) (request, string) {
	r := request{
		op: op + " storage " + strconv.Quote(storage) + " of node " + strconv.Quote(node), method: method,
		path: "/nodes/{node}/storage/{storage}" + path, args: append([]string{node, storage}, args...),
	}
	if !validNode(node) || !reStorage.MatchString(storage) {
		return r, "node or storage name is not valid"
	}
	return r, ""
}

var reStorage = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`)

// Volumes of one content type on a storage, as far as the user may see them. It
// takes as long as the storage takes to tell.
func (c *Client) Volumes(ctx context.Context, node, storage, content string) ([]Volume, error) {
	r, why := storageRequest("list the content of", http.MethodGet, node, storage, "/content")
	if why != "" {
		return nil, r.refuse(why)
	}
	r.query = url.Values{"content": {content}}
	var data list[struct {
		ID      text    `json:"volid"`
		Content text    `json:"content"`
		Format  text    `json:"format"`
		Size    integer `json:"size"`
		VMID    integer `json:"vmid"`
		Changed integer `json:"ctime"`
	}]
	if err := c.do(ctx, r, &data); err != nil {
		return nil, err
	}
	volumes := make([]Volume, 0, len(data))
	for _, d := range data {
		volumes = append(volumes, Volume{
			ID: string(d.ID), Content: string(d.Content), Format: string(d.Format), Size: int64(d.Size), VMID: int(d.VMID),
			Changed: int64(d.Changed),
		})
	}
	return volumes, nil
}

// DeleteVolume starts to remove a volume, such as local:iso/debian.iso, for good.
// That of one that is not there succeeds too.
func (c *Client) DeleteVolume(ctx context.Context, node, volume string) (UPID, error) {
	storage, _, _ := strings.Cut(volume, ":")
	r, why := storageRequest("delete volume "+`"`+volume+`" from`, http.MethodDelete, node, storage, "/content/{volume}", volume)
	if why != "" {
		return "", r.refuse(why)
	}
	return c.begin(ctx, r)
}
