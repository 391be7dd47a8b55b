package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
)

// HealthResponse tells that the process runs.
type HealthResponse struct {
	// Status is "ok".
	Status string `json:"status"`
}

// ReadyResponse tells whether the server can serve.
type ReadyResponse struct {
	// Status is "ready", "degraded" when only an optional check fails, or "not ready".
	Status string        `json:"status"`
	Checks []CheckResult `json:"checks"`
}

// CheckResult is what one check found.
type CheckResult struct {
	Name string `json:"name"`
	// Status is "ok" or "failed".
	Status   string `json:"status"`
	Optional bool   `json:"optional,omitempty"`
	// Message says what is wrong, where that may be told to everyone.
	Message string `json:"message,omitempty"`
}

func (a *api) health(*call) (answer, error) {
	return answer{body: HealthResponse{Status: "ok"}}, nil
}

func (a *api) ready(c *call) (answer, error) {
	response := ReadyResponse{Status: "ready", Checks: make([]CheckResult, len(a.Checks))}
	status := http.StatusOK
	for i, check := range a.Checks {
		result := CheckResult{Name: check.Name, Status: "ok", Optional: check.Optional}
		if err := a.run(c.ctx(), check); err != nil {
			result.Status = "failed"
			if known, ok := errors.AsType[*fleet.Error](err); ok {
				result.Message = known.Message
			}
			a.Logger.LogAttrs(c.ctx(), slog.LevelWarn, "readiness check failed", slog.String("check", check.Name), slog.String("error", err.Error()))
			switch {
			case !check.Optional:
				response.Status, status = "not ready", http.StatusServiceUnavailable
			case status == http.StatusOK:
				response.Status = "degraded"
			}
		}
		response.Checks[i] = result
	}
	return answer{status: status, body: response}, nil
}

// checkTimeout bounds each check: whoever asks whether a server is ready does not wait long for the answer.
const checkTimeout = 2 * time.Second

func (a *api) run(ctx context.Context, check Check) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return check.Run(ctx)
}

func (a *api) serveMetrics(c *call) error {
	if a.Metrics == nil {
		return fleet.NotFoundf("this server has no metrics")
	}
	a.Metrics.ServeHTTP(c.w, c.r)
	return nil
}

func (a *api) serveOpenAPI(c *call) error {
	writeText(c.w, http.StatusOK, jsonType, a.openAPI)
	return nil
}
