// Package shootstore reads and writes Shoots where the API server keeps them:
// in etcd, in the server's own encoding. The simulator uses it to lay down a
// fleet with a past (creation times, status, versions that have expired since),
// which no client could create through the API, and to see every change that
// was committed, whoever made it and whether or not its answer arrived.
package shootstore

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/gardener/gardener/pkg/api"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

const (
	// prefix is where the API server keeps Shoots.
	prefix = "/registry-gardener/core.gardener.cloud/shoots/"
	// writing is how many Shoots are written in parallel.
	writing = 8
)

// Store gives access to the stored Shoots. It is safe for concurrent use.
type Store struct {
	etcd    *clientv3.Client
	encoder runtime.Encoder
	decoder runtime.Decoder
}

// New returns the store over the API server's etcd.
func New(etcd *clientv3.Client) *Store {
	serializer := protobuf.NewSerializer(api.Scheme, api.Scheme)
	return &Store{
		etcd:    etcd,
		encoder: api.Codecs.EncoderForVersion(serializer, gardencorev1beta1.SchemeGroupVersion),
		decoder: api.Codecs.DecoderToVersion(serializer, gardencorev1beta1.SchemeGroupVersion),
	}
}

// Put writes the Shoots as they are, replacing those of the same name. Each is
// a transaction of its own: the API server's watches tell changes apart by their
// revision, and one that is cut between two changes of the same revision goes on
// without the second.
func (s *Store) Put(ctx context.Context, shoots []*gardencorev1beta1.Shoot) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writing)
	for _, shoot := range shoots {
		group.Go(func() error {
			var encoded bytes.Buffer
			if err := s.encoder.Encode(shoot, &encoded); err != nil {
				return fmt.Errorf("encode Shoot %s: %w", shoot.Name, err)
			}
			if _, err := s.etcd.Put(ctx, key(shoot.Namespace, shoot.Name), encoded.String()); err != nil {
				return fmt.Errorf("write Shoot %s: %w", shoot.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// DeleteAll removes every Shoot of the namespace, finalizers or not, each in a
// transaction of its own.
func (s *Store) DeleteAll(ctx context.Context, namespace string) error {
	found, err := s.etcd.Get(ctx, prefix+namespace+"/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return fmt.Errorf("list Shoots of %s: %w", namespace, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writing)
	for _, pair := range found.Kvs {
		group.Go(func() error {
			_, name := splitKey(string(pair.Key))
			return s.Delete(ctx, namespace, name)
		})
	}
	return group.Wait()
}

// Delete removes one Shoot at once, finalizers or not.
func (s *Store) Delete(ctx context.Context, namespace, name string) error {
	if _, err := s.etcd.Delete(ctx, key(namespace, name)); err != nil {
		return fmt.Errorf("delete Shoot %s: %w", name, err)
	}
	return nil
}

// Revision returns the revision of the newest change.
func (s *Store) Revision(ctx context.Context) (int64, error) {
	response, err := s.etcd.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("read revision: %w", err)
	}
	return response.Header.Revision, nil
}

func key(namespace, name string) string { return prefix + namespace + "/" + name }

func splitKey(key string) (namespace, name string) {
	namespace, name, _ = strings.Cut(strings.TrimPrefix(key, prefix), "/")
	return namespace, name
}

func (s *Store) decode(value []byte, revision int64) (*gardencorev1beta1.Shoot, error) {
	object, err := runtime.Decode(s.decoder, value)
	if err != nil {
		return nil, fmt.Errorf("decode Shoot: %w", err)
	}
	shoot, ok := object.(*gardencorev1beta1.Shoot)
	if !ok {
		return nil, fmt.Errorf("decode Shoot: found a %T", object)
	}
	shoot.ResourceVersion = fmt.Sprint(revision)
	return shoot, nil
}
