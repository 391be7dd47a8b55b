// Package etcd runs one embedded etcd member for the landscape simulator: no
// peers, no TCP port, no fsync. Its data lives in a temporary folder that is
// removed when it stops, or, if it is killed, when the next one starts.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"
)

// quotaBytes bounds the size of the database: enough for tens of thousands of
// Shoots with their history.
const quotaBytes = 4 << 30

// Member is a running etcd member. Stop it with Close.
type Member struct {
	server *embed.Etcd
	client *clientv3.Client
	folder *folder
}

// Start launches the member and waits until it serves, or until ctx ends.
func Start(ctx context.Context) (*Member, error) {
	// The socket's path has to stay below the 108 bytes that a Unix address can
	// hold, so the folder is not put below a caller's possibly deep one.
	sweep(os.TempDir())
	folder, err := newFolder(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("create etcd folder: %w", err)
	}
	server, err := start(ctx, folder.path)
	if err != nil {
		return nil, errors.Join(err, folder.remove())
	}
	return &Member{server: server, client: v3client.New(server.Server), folder: folder}, nil
}

func start(ctx context.Context, folder string) (*embed.Etcd, error) {
	cfg := embed.NewConfig()
	cfg.Name = "landscape"
	cfg.Dir = filepath.Join(folder, "data")
	cfg.ListenClientUrls = []url.URL{{Scheme: "unix", Path: filepath.Join(folder, "c")}}
	cfg.ListenPeerUrls = nil
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = true
	cfg.TickMs = 10
	cfg.ElectionMs = 100
	cfg.QuotaBackendBytes = quotaBytes
	cfg.AutoCompactionMode = embed.CompactorModePeriodic
	cfg.AutoCompactionRetention = "10m"
	cfg.LogLevel = "error"
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())

	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		server.Close()
		return nil, fmt.Errorf("start etcd: %w", err)
	case <-ctx.Done():
		server.Close()
		return nil, fmt.Errorf("wait for etcd: %w", ctx.Err())
	}
	return server, nil
}

// Endpoint returns the address that an etcd client dials.
func (m *Member) Endpoint() string {
	return "unix://" + filepath.Join(m.folder.path, "c")
}

// Client returns a client that calls the member directly, without a socket.
func (m *Member) Client() *clientv3.Client { return m.client }

// Close stops the member and removes its data.
func (m *Member) Close() error {
	err := m.client.Close()
	m.server.Close()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, m.folder.remove())
}
