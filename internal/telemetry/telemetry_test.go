package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/swell-fleet/swell/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTextFromOutsideCannotForgeALine(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		var out strings.Builder
		logger, err := telemetry.NewLogger(&out, "info", format)
		require.NoError(t, err)
		logger.Info("shoot seen", "shoot", "c-1\nlevel=ERROR msg=forged\x1b[31m")
		require.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
		require.NotContains(t, out.String(), "\x1b")
	}
}

func TestLogrusEntriesArriveWithLevelAndFields(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	logger, err := telemetry.NewLogger(&out, "warn", "text")
	require.NoError(t, err)
	l := telemetry.Logrus(logger)
	l.WithField("shoot", "c-1").Warn("two shoots with one runtime")
	l.Info("not wanted")
	require.Contains(t, out.String(), `level=WARN msg="two shoots with one runtime" shoot=c-1`)
	require.NotContains(t, out.String(), "not wanted")
}

func TestBadLevelAndFormatAreErrors(t *testing.T) {
	t.Parallel()
	_, err := telemetry.NewLogger(&strings.Builder{}, "loud", "text")
	require.Error(t, err)
	_, err = telemetry.NewLogger(&strings.Builder{}, "info", "xml")
	require.Error(t, err)
}

func TestMetricsAreServed(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	telemetry.Handler(telemetry.NewRegistry()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, 200, w.Code)
	require.Contains(t, w.Body.String(), "go_goroutines")
}
