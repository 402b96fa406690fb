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

// The program is Velero with a plugin that keeps backups in files. The plugin is the same program under another name. Velero itself only has object
// stores for clouds.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"
	"github.com/vmware-tanzu/velero/pkg/cmd"
	"github.com/vmware-tanzu/velero/pkg/cmd/velero"
	"github.com/vmware-tanzu/velero/pkg/plugin/framework"
	plugin "github.com/vmware-tanzu/velero/pkg/plugin/velero"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// pluginName is the name under which the program is the plugin.
	pluginName = "velero-plugin-for-files"

	// provider is the name of this store in a backup location.
	provider = "proxmox.vitistack.io/files"

	// configPath is the key for the folder of the buckets in a backup location's configuration.
	configPath = "path"
)

func main() {
	name := filepath.Base(os.Args[0])
	if name == pluginName {
		framework.NewServer().BindFlags(pflag.CommandLine).RegisterObjectStore(provider, newStore).Serve()
		return
	}
	metrics.DefaultBindAddress = "0" // It also has a separate server for metrics, in addition to this one with a fixed port.
	cmd.CheckError(velero.NewCommand(name).Execute())
}

// A store has a folder for each bucket.
type store struct {
	dir string
}

var _ plugin.ObjectStore = &store{}

func newStore(logrus.FieldLogger) (any, error) { return &store{}, nil }

// Init sets the configuration of a backup location.
func (s *store) Init(config map[string]string) error {
	if err := framework.ValidateObjectStoreConfigKeys(config, configPath); err != nil {
		return err
	}
	if s.dir = config[configPath]; !filepath.IsAbs(s.dir) {
		return errors.New("the configuration of the backup location has no absolute path")
	}
	return nil
}

// in opens a bucket for a function.
func (s *store) in(bucket string, do func(context.Context, *blob.Bucket) error) error {
	b, err := s.open(bucket)
	if err != nil {
		return err
	}
	return errors.Join(do(context.Background(), b), b.Close())
}

func (s *store) open(bucket string) (*blob.Bucket, error) {
	return fileblob.OpenBucket(filepath.Join(s.dir, bucket), &fileblob.Options{
		CreateDir: true, DirFileMode: 0o700, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
	})
}

// PutObject writes an object.
func (s *store) PutObject(bucket, key string, body io.Reader) error {
	return s.in(bucket, func(ctx context.Context, b *blob.Bucket) error {
		return b.Upload(ctx, key, body, &blob.WriterOptions{ContentType: "application/octet-stream"})
	})
}

// ObjectExists reports whether the bucket has an object with this key.
func (s *store) ObjectExists(bucket, key string) (is bool, err error) {
	err = s.in(bucket, func(ctx context.Context, b *blob.Bucket) error {
		is, err = b.Exists(ctx, key)
		return err
	})
	return is, err
}

// GetObject opens an object.
func (s *store) GetObject(bucket, key string) (io.ReadCloser, error) {
	b, err := s.open(bucket)
	if err != nil {
		return nil, err
	}
	r, err := b.NewReader(context.Background(), key, nil)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return reader{Reader: r, bucket: b}, nil
}

// A reader of an object closes its bucket too.
type reader struct {
	*blob.Reader

	bucket *blob.Bucket
}

func (r reader) Close() error { return errors.Join(r.Reader.Close(), r.bucket.Close()) }

// ListCommonPrefixes returns the parts of the keys with a prefix up to the next delimiter.
func (s *store) ListCommonPrefixes(bucket, prefix, delimiter string) ([]string, error) {
	return s.list(bucket, blob.ListOptions{Prefix: prefix, Delimiter: delimiter}, true)
}

// ListObjects returns the keys with a prefix.
func (s *store) ListObjects(bucket, prefix string) ([]string, error) {
	return s.list(bucket, blob.ListOptions{Prefix: prefix}, false)
}

func (s *store) list(bucket string, options blob.ListOptions, prefixes bool) ([]string, error) {
	var keys []string
	err := s.in(bucket, func(ctx context.Context, b *blob.Bucket) error {
		all, failure := b.List(&options).All(ctx)
		for o := range all {
			if o.IsDir == prefixes {
				keys = append(keys, o.Key)
			}
		}
		return failure()
	})
	return keys, err
}

// DeleteObject removes an object.
func (s *store) DeleteObject(bucket, key string) error {
	return s.in(bucket, func(ctx context.Context, b *blob.Bucket) error { return b.Delete(ctx, key) })
}

// CreateSignedURL returns an error, because nothing serves the files.
func (s *store) CreateSignedURL(string, string, time.Duration) (string, error) {
	return "", errors.New("the files of this store have no URLs")
}
