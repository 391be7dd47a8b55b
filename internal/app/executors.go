package app

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/swell-fleet/swell/internal/config"
	"github.com/swell-fleet/swell/internal/engine"
	"github.com/swell-fleet/swell/internal/executor/kyma"
	"github.com/swell-fleet/swell/internal/executor/provisioner"
	"github.com/swell-fleet/swell/internal/feed"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/internal/policy"
	"github.com/swell-fleet/swell/orchestration"
)

// bindings makes the executors that the configuration names.
func (a *App) bindings(ctx context.Context, garden gardenerParts) (map[orchestration.Type]engine.ExecutorBinding, error) {
	found := map[orchestration.Type]engine.ExecutorBinding{}
	for t, name := range map[orchestration.Type]string{
		orchestration.UpgradeClusterOrchestration: a.config.Executor.UpgradeCluster,
		orchestration.UpgradeKymaOrchestration:    a.config.Executor.UpgradeKyma,
	} {
		b, ok, err := a.binding(ctx, t, name, garden)
		if err != nil {
			return nil, fmt.Errorf("set up the executor of %s: %w", t, err)
		}
		if ok {
			found[t] = b
		}
	}
	return found, nil
}

// binding makes one executor; false when there is to be none.
func (a *App) binding(ctx context.Context, t orchestration.Type, name string, garden gardenerParts) (engine.ExecutorBinding, bool, error) {
	switch name {
	case config.ExecutorGardener:
		e, err := garden.executor(a.config.Gardener)
		return engine.ExecutorBinding{Backend: fleet.BackendGardener, Executor: e}, true, err
	case config.ExecutorProvisioner:
		e, err := provisioner.New(provisioner.Options{URL: a.config.Provisioner.URL, Type: t, CheckEvery: a.config.Engine.PollInterval})
		return engine.ExecutorBinding{Backend: fleet.BackendProvisioner, Executor: e}, true, err
	case config.ExecutorKyma:
		e, err := a.kymaExecutor(ctx)
		return engine.ExecutorBinding{Backend: fleet.BackendKyma, Executor: e}, true, err
	default:
		return engine.ExecutorBinding{}, false, nil
	}
}

// kymaExecutor connects the cluster that holds the Kyma resources and keeps a cache of them.
func (a *App) kymaExecutor(ctx context.Context) (*kyma.Executor, error) {
	rc, err := loadKubeconfig("kyma.kubeconfig", a.config.Kyma.Kubeconfig, "")
	if err != nil {
		return nil, err
	}
	rc.QPS, rc.Burst = float32(a.config.Kyma.QPS), a.config.Kyma.Burst
	client, err := dynamic.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make a client for Kyma resources: %w", err)
	}
	// The cache lists and watches for longer than a request may take, so it has a client of its own.
	wc := rest.CopyConfig(rc)
	wc.Timeout = 0
	watching, err := dynamic.NewForConfig(wc)
	if err != nil {
		return nil, fmt.Errorf("make a client for Kyma resources: %w", err)
	}
	kymas := feed.New("the Kymas of "+a.config.Kyma.Namespace, a.logger, a.clock)
	informer, err := kyma.NewInformer(watching, a.config.Kyma.Namespace, kymas)
	if err != nil {
		return nil, err
	}
	e, err := kyma.New(kyma.Options{
		Client: client, Namespace: a.config.Kyma.Namespace, AllowedChannels: a.config.Kyma.Channels, Informer: informer, Following: kymas.Following,
		Guarded: true, Patience: a.config.Kyma.Patience,
	})
	if err != nil {
		return nil, err
	}
	if err := a.showFollowing("kymas", kymas.Following); err != nil {
		return nil, err
	}
	a.life.push("cache of kymas", background(ctx, informer.RunWithContext))
	a.checks = append(a.checks, httpapi.Check{Name: "kymas", Optional: true, Run: kymas.Healthy})
	return e, nil
}

// showFollowing adds the metric that tells whether a cache follows its source.
func (a *App) showFollowing(name string, following func() bool) error {
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "swell_cache_following", Help: "1 while a cache is filled and follows its source.", ConstLabels: prometheus.Labels{"cache": name},
	}, func() float64 {
		if following() {
			return 1
		}
		return 0
	})
	if err := a.registry.Register(gauge); err != nil {
		return fmt.Errorf("register the metric of the cache of %s: %w", name, err)
	}
	return nil
}

// loadPolicy reads the maintenance policy, and logs what in it is hardly meant.
func (a *App) loadPolicy() (*policy.Policy, error) {
	path := a.config.MaintenancePolicy
	if path == "" {
		return nil, nil //nolint:nilnil // the nil policy leaves every Shoot its own window
	}
	raw, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("maintenance-policy: %w", err)
	}
	p, err := policy.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("maintenance-policy: %s: %w", path, err)
	}
	for _, w := range p.Lint(nil, a.clock()) {
		a.logger.Warn("the maintenance policy holds something that is hardly meant", "where", w.Where, "warning", w.Message)
	}
	return p, nil
}
