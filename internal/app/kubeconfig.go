package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/swell-fleet/swell/internal/fleet"
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
	rc.Wrap(func(next http.RoundTripper) http.RoundTripper { return guarded{next} })
	return rc, nil
}

// guarded asks the guard of a write just before it leaves, after all that the client holds requests back for, and lets no client repeat a write by itself: the
// answer to a write that was put off goes to the engine, which looks anew before it sends anything.
type guarded struct{ next http.RoundTripper }

// RoundTrip sends one request.
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return g.next.RoundTrip(r)
	}
	if err := fleet.AskGuard(r.Context()); err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	answer, err := g.next.RoundTrip(r)
	if answer != nil {
		answer.Header.Del("Retry-After")
	}
	return answer, err
}

func readKubeconfig(path, context string) (*rest.Config, error) {
	if path == "" {
		rc, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("none is set and the server does not run in a cluster: %w", err)
		}
		return rc, nil
	}
	if err := checkFile(path); err != nil {
		return nil, err
	}
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: path}
	known, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := checkNamed(known); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	rc, err := clientcmd.NewNonInteractiveClientConfig(*known, context, &clientcmd.ConfigOverrides{}, rules).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rc, nil
}

// checkNamed looks at the files that a kubeconfig names, which the client reads again and again. What is missing may come later, as far as the client can do
// without it.
func checkNamed(known *api.Config) error {
	var files []string
	for _, user := range known.AuthInfos {
		files = append(files, user.TokenFile, user.ClientCertificate, user.ClientKey)
	}
	for _, cluster := range known.Clusters {
		files = append(files, cluster.CertificateAuthority)
	}
	for _, file := range files {
		if file == "" {
			continue
		}
		if err := checkFile(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
