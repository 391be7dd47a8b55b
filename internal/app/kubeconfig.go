package app

import (
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// requestTimeout bounds every single request to a cluster. Watches are renewed by the server before it.
const requestTimeout = 25 * time.Second

// loadKubeconfig reads how to reach a cluster from a file, or takes the cluster that the server runs in when none is named. key names the setting in errors.
func loadKubeconfig(key, path, context string) (*rest.Config, error) {
	rc, err := readKubeconfig(path, context)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	rc.UserAgent = "swell/" + Version()
	// Warnings are advice to whoever edits resources by hand, such as to rotate credentials.
	rc.WarningHandlerWithContext = rest.NoWarnings{}
	rc.Timeout = requestTimeout
	return rc, nil
}

func readKubeconfig(path, context string) (*rest.Config, error) {
	if path == "" {
		rc, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("none is set and the server does not run in a cluster: %w", err)
		}
		return rc, nil
	}
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: path}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: context}
	rc, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rc, nil
}
