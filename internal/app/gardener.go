package app

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/gardener/gardener/pkg/client/core/clientset/versioned"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/swell-fleet/swell/internal/config"
	"github.com/swell-fleet/swell/internal/executor/gardener"
	"github.com/swell-fleet/swell/internal/inventory"
)

// gardenerParts is what the program has of Gardener; its fields are nil where nothing needs it.
type gardenerParts struct {
	client versioned.Interface
	shoots *inventory.Shoots
}

// requestTimeout bounds every single request to Gardener. Watches are renewed by the server before it.
const requestTimeout = 25 * time.Second

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
	rc, err := loadKubeconfig(c)
	if err != nil {
		return nil, err
	}
	rc.ContentType = "application/vnd.kubernetes.protobuf"
	rc.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	rc.UserAgent = "swell/" + Version()
	rc.QPS, rc.Burst = float32(c.QPS), c.Burst
	// Warnings are advice to whoever edits Shoots by hand, such as to rotate credentials.
	rc.WarningHandlerWithContext = rest.NoWarnings{}
	rc.Timeout = requestTimeout
	return rc, nil
}

func loadKubeconfig(c config.Gardener) (*rest.Config, error) {
	if c.Kubeconfig == "" {
		rc, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("gardener.kubeconfig: none is set and the server does not run in a cluster: %w", err)
		}
		return rc, nil
	}
	if _, err := os.Stat(c.Kubeconfig); err != nil {
		return nil, fmt.Errorf("gardener.kubeconfig: %w", err)
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: c.Kubeconfig}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.Context}
	rc, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("gardener.kubeconfig: %s: %w", strings.TrimSpace(c.Kubeconfig), err)
	}
	return rc, nil
}

func (g gardenerParts) executor(c config.Gardener) (*gardener.Executor, error) {
	return gardener.New(gardener.Options{Client: g.client.CoreV1beta1(), Namespace: c.Namespace, Informer: g.shoots.Informer(), Following: g.shoots.Following})
}
