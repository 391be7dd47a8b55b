// Package landscape puts the simulator together: etcd, Gardener's API server,
// the simulated gardenlet, the audit log, one door per fleet, and OpenID Connect providers.
package landscape

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/swell-fleet/swell/landscape/internal/apiserver"
	"github.com/swell-fleet/swell/landscape/internal/audit"
	"github.com/swell-fleet/swell/landscape/internal/etcd"
	"github.com/swell-fleet/swell/landscape/internal/gardenlet"
	"github.com/swell-fleet/swell/landscape/internal/shootstore"
)

// Name is what the simulator calls itself wherever a user could take it for a
// real landscape: contexts of kubeconfigs, certificate, status of Shoots.
const Name = "swell-landscape-simulator"

// The files that a landscape writes into its folder.
const (
	KubeconfigFile      = "kubeconfig"
	AdminKubeconfigFile = "admin.kubeconfig"
	RuntimesFile        = "runtimes.json"
	AuditFile           = "audit.jsonl"
)

// The users of the simulator's own parts. Their requests are not recorded.
const (
	gardenletUser = "landscape:gardenlet"
	loopbackUser  = "system:apiserver"
)

// Landscape is a running simulator. Stop it with Close.
type Landscape struct {
	dir        string
	log        *slog.Logger
	etcd       *etcd.Member
	server     *apiserver.Server
	store      *shootstore.Store
	watch      *shootstore.Watch
	gardenlet  *gardenlet.Gardenlet
	identities *apiserver.Identities
	audit      *audit.Log
	auditFile  *os.File

	kymas kymas

	mu      sync.Mutex
	fleets  map[string]*Fleet
	issuers issuers
	closed  bool

	// run ends with Close.
	run     context.Context //nolint:containedctx // What starts later runs until Close, too.
	cancel  context.CancelFunc
	running sync.WaitGroup
	failed  chan error
}

// Start brings the landscape up, without any fleet yet. Its files go to dir,
// which is made if it does not exist.
func Start(ctx context.Context, dir string, log *slog.Logger) (*Landscape, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	l := &Landscape{
		dir: dir, log: log, identities: apiserver.NewIdentities(), fleets: map[string]*Fleet{},
		issuers: issuers{byID: map[string]*Issuer{}}, cancel: func() {}, failed: make(chan error, 1),
	}
	if err := l.start(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Landscape) start(ctx context.Context) (err error) {
	if l.auditFile, err = os.Create(filepath.Join(l.dir, AuditFile)); err != nil {
		return fmt.Errorf("create audit log: %w", err)
	}
	l.audit = audit.NewLog(l.auditFile)
	if l.etcd, err = etcd.Start(ctx); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	l.server, err = apiserver.Start(ctx, apiserver.Options{
		EtcdEndpoint: l.etcd.Endpoint(),
		Listener:     listener,
		Identities:   l.identities,
		Audit:        audit.NewBackend(l.audit),
		AuditPolicy:  audit.Policy{Silent: map[string]bool{gardenletUser: true, loopbackUser: true}},
	})
	if err != nil {
		return err
	}
	l.store = shootstore.New(l.etcd.Client())
	if err := l.seed(ctx); err != nil {
		return err
	}
	if err := l.runParts(ctx, listener.Addr().String()); err != nil {
		return err
	}
	return l.writeAdminKubeconfig(listener.Addr().String())
}

// runParts starts what runs beside the API server until Close.
func (l *Landscape) runParts(ctx context.Context, address string) error {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.run, l.cancel = run, cancel
	revision, err := l.store.Revision(ctx)
	if err != nil {
		return err
	}
	l.watch = l.store.NewWatch(revision, l.committed)
	l.running.Go(func() {
		if err := l.watch.Run(run); err != nil {
			l.fail(err)
		}
	})
	client, err := l.clientFor(address, gardenletUser)
	if err != nil {
		return err
	}
	informers := l.server.Informers()
	if l.gardenlet, err = gardenlet.New(client, informers, l.log); err != nil {
		return err
	}
	informers.Start(run.Done())
	informers.WaitForCacheSync(ctx.Done())
	l.running.Go(func() { l.gardenlet.Run(run) })
	return nil
}

func (l *Landscape) fail(err error) {
	select {
	case l.failed <- err:
	default:
	}
}

// Failed delivers the error that makes the landscape useless, if one happens.
func (l *Landscape) Failed() <-chan error { return l.failed }

// Audit returns the log of writes.
func (l *Landscape) Audit() *audit.Log { return l.audit }

// Sync waits until the audit log holds every change committed before the call.
func (l *Landscape) Sync(ctx context.Context) error { return l.watch.Sync(ctx) }

// Gardenlet returns the simulated gardenlet.
func (l *Landscape) Gardenlet() *gardenlet.Gardenlet { return l.gardenlet }

// Close stops everything and waits for it. The files stay.
func (l *Landscape) Close() error {
	var problems []error
	l.mu.Lock()
	// What is being made at the moment closes itself.
	l.closed = true
	for _, fleet := range l.fleets {
		problems = append(problems, fleet.close())
	}
	l.fleets = map[string]*Fleet{}
	problems = append(problems, l.closeIssuers())
	l.mu.Unlock()
	l.cancel()
	l.running.Wait()
	problems = append(problems, l.kymas.close())
	if l.server != nil {
		problems = append(problems, l.server.Close())
	}
	if l.etcd != nil {
		problems = append(problems, l.etcd.Close())
	}
	if l.audit != nil {
		problems = append(problems, l.audit.Err(), l.auditFile.Close())
	}
	return errors.Join(problems...)
}

func newToken() string { return rand.Text() + rand.Text() }
