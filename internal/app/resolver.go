package app

import (
	"fmt"

	"github.com/gardener/gardener/pkg/client/core/clientset/versioned"
	"github.com/sirupsen/logrus"

	"github.com/swell-fleet/swell/internal/config"
	"github.com/swell-fleet/swell/orchestration"
)

// NewResolver connects to Gardener and returns what resolves targets among its Shoots and the runtimes of the lister, outside of a server.
func NewResolver(c config.Gardener, lister orchestration.RuntimeLister, logger logrus.FieldLogger) (orchestration.RuntimeResolver, error) {
	rc, err := gardenerConfig(c)
	if err != nil {
		return nil, err
	}
	client, err := versioned.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("make a client for Gardener: %w", err)
	}
	return orchestration.NewGardenerRuntimeResolver(client.CoreV1beta1(), c.Namespace, lister, logger), nil
}
