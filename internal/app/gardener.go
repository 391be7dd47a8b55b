package app

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/gardener/gardener/pkg/client/core/clientset/versioned"
	"k8s.io/client-go/rest"

	"github.com/swell-fleet/swell/internal/config"
	"github.com/swell-fleet/swell/internal/executor/gardener"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/internal/inventory"
)

// gardenerParts is what the program has of Gardener; its fields are nil where nothing needs it.
type gardenerParts struct {
	client versioned.Interface
	shoots *inventory.Shoots
	source *inventory.GardenerSource
}

// checks are what readiness reports of Gardener. The server can serve without it.
func (g gardenerParts) checks() []httpapi.Check {
	var checks []httpapi.Check
	if g.shoots != nil {
		checks = append(checks, httpapi.Check{Name: "gardener", Optional: true, Run: g.shoots.Healthy})
	}
	if g.source != nil {
		checks = append(checks, httpapi.Check{Name: "runtimes from gardener", Optional: true, Run: g.source.Healthy})
	}
	return checks
}

func connectGardener(c config.Gardener, logger *slog.Logger, clock func() time.Time) (gardenerParts, error) {
	rc, err := gardenerConfig(c)
	if err != nil {
		return gardenerParts{}, err
	}
	client, err := versioned.NewForConfig(rc)
	if err != nil {
		return gardenerParts{}, fmt.Errorf("make a client for Gardener: %w", err)
	}
	// The cache lists and watches for longer than a request may take, so it has a client of its own.
	wc := rest.CopyConfig(rc)
	wc.Timeout = 0
	watching, err := versioned.NewForConfig(wc)
	if err != nil {
		return gardenerParts{}, fmt.Errorf("make a client for Gardener: %w", err)
	}
	shoots, err := inventory.NewShoots(watching, c.Namespace, logger, clock)
	if err != nil {
		return gardenerParts{}, err
	}
	return gardenerParts{client: client, shoots: shoots}, nil
}

// gardenerConfig reads how to reach Gardener, and asks for protobuf: lists of Shoots are three times cheaper with it.
func gardenerConfig(c config.Gardener) (*rest.Config, error) {
	rc, err := loadKubeconfig("gardener.kubeconfig", c.Kubeconfig, c.Context)
	if err != nil {
		return nil, err
	}
	rc.ContentType = "application/vnd.kubernetes.protobuf"
	rc.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	rc.QPS, rc.Burst = float32(c.QPS), c.Burst
	return rc, nil
}

func (g gardenerParts) executor(c config.Gardener) (*gardener.Executor, error) {
	return gardener.New(gardener.Options{Client: g.client.CoreV1beta1(), Namespace: c.Namespace, Informer: g.shoots.Informer(), Following: g.shoots.Following, Guarded: true})
}
