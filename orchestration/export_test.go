package orchestration

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/internal/apiclient"
	"github.com/swell-fleet/swell/runtime"
)

// NewHastyClient is NewExtendedClient with pauses of a millisecond, tries of the given length and an HTTP client that can be closed.
func NewHastyClient(ctx context.Context, url string, auth oauth2.TokenSource, attempt time.Duration, httpClient *http.Client) ExtendedClient {
	return newClient(ctx, apiclient.Options{
		BaseURL: url, Auth: auth, HTTPClient: httpClient, AttemptTimeout: attempt,
		FirstPause: time.Millisecond, LongestPause: time.Millisecond, RetryAfterCap: time.Millisecond, Tries: 4,
	})
}

// ImportParts exposes how an import is split.
func ImportParts(runtimes []runtime.RuntimeDTO, limit int) ([][]runtime.RuntimeDTO, error) {
	return importParts(runtimes, limit)
}

// InstanceIDParts exposes how the instance IDs of a list of events are split.
func InstanceIDParts(ids []string) ([]string, error) {
	return instanceIDParts(ids)
}
