// Package app puts the server together: it opens the store, connects the backends, runs the engine and serves the API, and takes all of it down
// again in the reverse order.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/swell-fleet/swell/internal/config"
	"github.com/swell-fleet/swell/internal/engine"
	"github.com/swell-fleet/swell/internal/engine/riverjobs"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/internal/inventory"
	"github.com/swell-fleet/swell/internal/store"
	"github.com/swell-fleet/swell/internal/telemetry"
	"github.com/swell-fleet/swell/orchestration"
)

// App is a running server.
type App struct {
	config   config.Config
	logger   *slog.Logger
	clock    func() time.Time
	registry *prometheus.Registry
	life     lifecycle
	addr     net.Addr
	failed   chan error
	// checks are what the executors add to readiness.
	checks []httpapi.Check
}

// ErrStopped is returned by Run when the server ended because its context did.
var ErrStopped = errors.New("the server was stopped")

// Run starts a server that logs to logs, and stops it in good order when ctx ends.
func Run(ctx context.Context, c config.Config, logs io.Writer) error {
	logger, err := telemetry.NewLogger(logs, c.Log.Level, c.Log.Format)
	if err != nil {
		return err
	}
	// client-go writes what goes wrong with watches to klog, whatever it is told elsewhere.
	klog.SetSlogLogger(logger.With("component", "client-go"))
	a, err := Start(ctx, c, logger)
	if err != nil {
		return err
	}
	var cause error
	select {
	case <-ctx.Done():
		cause = ErrStopped
		logger.InfoContext(ctx, "stopping")
	case cause = <-a.failed:
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.ShutdownTimeout)
	defer cancel()
	if err := a.Stop(limit); err != nil {
		return errors.Join(cause, err)
	}
	logger.InfoContext(limit, "stopped")
	return cause
}

// Options are what a server has besides its settings. The zero value takes the defaults.
type Options struct {
	// Clock is the time by which everything is judged, and on SQLite also what is stored. Only tests set it; the default is time.Now.
	Clock func() time.Time
}

// Start brings everything up. The server answers requests when it returns; upgrades that were under way go on.
func Start(ctx context.Context, c config.Config, logger *slog.Logger) (*App, error) {
	return StartWith(ctx, c, logger, Options{})
}

// StartWith is Start with options.
func StartWith(ctx context.Context, c config.Config, logger *slog.Logger, o Options) (*App, error) {
	a := &App{config: c, logger: logger, clock: o.Clock, registry: telemetry.NewRegistry(), failed: make(chan error, 1)}
	if a.clock == nil {
		a.clock = time.Now
	}
	a.life = lifecycle{logger: logger, clock: a.clock}
	if err := a.start(ctx); err != nil {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.ShutdownTimeout)
		defer cancel()
		return nil, errors.Join(err, a.life.stop(limit))
	}
	return a, nil
}

// Addr is the address that the server listens on.
func (a *App) Addr() net.Addr { return a.addr }

// URL is where the API is, by the address that the server listens on.
func (a *App) URL() string {
	scheme := "http"
	if a.config.TLS.Enabled() {
		scheme = "https"
	}
	return scheme + "://" + a.addr.String() + a.config.BasePath
}

// Stop takes the server down: no new step begins, running ones finish or are handed back, and the listener closes last.
func (a *App) Stop(ctx context.Context) error { return a.life.stop(ctx) }

func (a *App) start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.config.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	a.addr = listener.Addr()
	a.life.push("listener", func(context.Context) error {
		if err := listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	st, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	a.life.push("store", func(context.Context) error { return st.Close() })

	var garden gardenerParts
	if a.config.NeedsGardener() {
		if garden, err = connectGardener(a.config.Gardener, a.logger, a.clock); err != nil {
			return err
		}
		if err := a.showFollowing("shoots", garden.shoots.Following); err != nil {
			return err
		}
		a.life.push("cache of shoots", background(ctx, garden.shoots.Run))
	}
	if a.config.Source.Gardener {
		garden.source = inventory.NewGardenerSource(garden.shoots, st, a.logger)
		if err := garden.source.Register(a.registry); err != nil {
			return err
		}
	}
	jobs, err := a.newJobs(ctx, st)
	if err != nil {
		return err
	}
	eng, err := a.newEngine(ctx, st, jobs, garden)
	if err != nil {
		return err
	}
	access, err := a.newAccess(ctx)
	if err != nil {
		return err
	}
	if err := a.serve(ctx, listener, st, eng, garden, access); err != nil {
		return err
	}
	if garden.source != nil {
		a.life.push("gardener source", background(ctx, func(ctx context.Context) {
			if err := garden.source.Run(ctx); err != nil {
				a.fail(fmt.Errorf("read runtimes from Gardener: %w", err))
			}
		}))
	}
	if err := eng.Start(ctx); err != nil {
		return err
	}
	a.life.push("engine", eng.Stop)
	if err := jobs.Start(ctx, eng); err != nil {
		return err
	}
	a.life.push("jobs", jobs.Stop)
	a.logger.InfoContext(ctx, "serving", "url", a.URL(), "store", st.Dialect(), "access", access.about)
	return nil
}

func (a *App) openStore(ctx context.Context) (*store.Store, error) {
	if a.config.DatabaseURL != "" {
		st, err := store.OpenPostgres(ctx, store.PostgresOptions{URL: a.config.DatabaseURL, AfterMigrate: riverjobs.MigratePostgres, Logger: a.logger})
		if err != nil {
			return nil, fmt.Errorf("open the PostgreSQL store: %w", err)
		}
		return st, nil
	}
	st, err := store.OpenSQLite(ctx, store.SQLiteOptions{Dir: a.config.DataDir, Clock: a.clock, AfterMigrate: riverjobs.MigrateSQLite, Logger: a.logger})
	if err != nil {
		return nil, fmt.Errorf("open the SQLite store in %s: %w", a.config.DataDir, err)
	}
	return st, nil
}

func (a *App) newJobs(ctx context.Context, st *store.Store) (*riverjobs.Jobs, error) {
	o := riverjobs.Options{Logger: a.logger, StepWorkers: a.config.Engine.StepConcurrency}
	if st.Dialect() == store.Postgres {
		return riverjobs.NewPostgres(ctx, st.SQL(), a.config.DatabaseURL, o)
	}
	return riverjobs.NewSQLite(st.SQL(), o)
}

func (a *App) newEngine(ctx context.Context, st *store.Store, jobs *riverjobs.Jobs, garden gardenerParts) (*engine.Engine, error) {
	bindings, err := a.bindings(ctx, garden)
	if err != nil {
		return nil, err
	}
	rules, err := a.loadPolicy()
	if err != nil {
		return nil, err
	}
	var resolver fleet.Resolver = noTargets{}
	if garden.shoots != nil {
		resolver = inventory.NewTargets(garden.shoots, st, garden.source, rules, telemetry.Logrus(a.logger))
	}
	var sightings fleet.Sightings
	if garden.source != nil {
		sightings = garden.source
	}
	lanes := 1
	if st.Dialect() == store.Postgres {
		lanes = 4
	}
	eng, err := engine.New(engine.Options{
		Store: st, Queue: jobs, Resolver: resolver, Sightings: sightings, Executors: bindings, Logger: a.logger, Clock: a.clock, Metrics: a.registry,
		Exclusive: st.Dialect() == store.SQLite,
		Limits: engine.Limits{
			OperationTimeLimit: a.config.Engine.OperationTimeLimit,
			MaxWorkers:         a.config.Engine.MaxWorkers,
			DefaultKymaVersion: a.config.Kyma.DefaultVersion,
			SweepEvery:         a.config.Engine.SweepInterval,
			CheckEvery:         a.config.Engine.PollInterval,
			Lanes:              lanes,
		},
	})
	if err != nil {
		return nil, err
	}
	for _, t := range []orchestration.Type{orchestration.UpgradeClusterOrchestration, orchestration.UpgradeKymaOrchestration} {
		if b, ok := bindings[t]; ok {
			a.checks = append(a.checks, httpapi.Check{
				Name: fmt.Sprintf("%s through %s", t, b.Backend), Optional: true, Run: func(context.Context) error { return eng.BackendHealth(t) },
			})
		}
	}
	return eng, nil
}

func (a *App) serve(ctx context.Context, listener net.Listener, st *store.Store, eng *engine.Engine, garden gardenerParts, access access) error {
	checks := append([]httpapi.Check{{Name: "store", Run: st.Ping}}, garden.checks()...)
	checks = append(append(checks, a.checks...), access.checks...)
	proxies, err := a.config.API.Proxies()
	if err != nil {
		return fmt.Errorf("api.trusted-proxies: %w", err)
	}
	limit, connections := a.config.API.RateLimit, a.config.API.MaxConnectionsOfOne
	if access.loopback {
		// There is one client, and it may do everything anyway.
		limit, connections = 0, 0
	}
	var shoots fleet.Shoots
	if garden.shoots != nil {
		shoots = garden.shoots
	}
	certificates, err := a.newCertificates(ctx)
	if err != nil {
		return err
	}
	handler, err := httpapi.New(httpapi.Options{
		Reader: st, Shoots: shoots, Commands: eng, Previewer: eng, Authenticator: access.authenticator, Loopback: access.loopback, Logins: access.logins, BasePath: a.config.BasePath,
		CheckConnection: certificates.checkClient,
		RateLimit:       limit, RateBurst: a.config.API.RateBurst, TrustedProxies: proxies,
		Parameters: fleet.ParameterOptions{MaxWorkers: a.config.Engine.MaxWorkers, DefaultKymaVersion: a.config.Kyma.DefaultVersion},
		PageSize:   a.config.API.PageSize, MaxPageSize: a.config.API.MaxPageSize,
		Timeout: a.config.API.RequestTimeout, MaxInFlight: a.config.API.MaxInFlight,
		BackendDown: eng.BackendDown,
		Checks:      checks, Metrics: telemetry.Handler(a.registry), Registerer: a.registry,
		Version: Version(), Logger: a.logger, Clock: a.clock,
	})
	if err != nil {
		return fmt.Errorf("set up the API: %w", err)
	}
	listener = httpapi.LimitConnections(listener, httpapi.ConnectionLimits{
		All: a.config.API.MaxConnections, Each: connections, Trusted: proxies, Logger: a.logger,
	})
	server := httpapi.NewServer(handler, a.logger, a.config.API.RequestTimeout)
	serve := server.Serve
	if certificates != nil {
		server.TLSConfig = certificates.config()
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			a.fail(fmt.Errorf("serve: %w", err))
		}
	}()
	a.life.push("http server", func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		if err != nil {
			err = errors.Join(err, server.Close())
		}
		<-done
		return err
	})
	return nil
}

// fail ends Run with the first error.
func (a *App) fail(err error) {
	select {
	case a.failed <- err:
	default:
	}
}

// noTargets is the resolver of a server without Gardener.
type noTargets struct{}

// ResolveTargets says that nothing can be resolved.
func (noTargets) ResolveTargets(context.Context, orchestration.TargetSpec) (fleet.Resolution, error) {
	return fleet.Resolution{}, fleet.Unavailable("no Gardener is configured, so targets cannot be resolved", nil)
}
