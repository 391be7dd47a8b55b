package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

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

// The checks of readiness ask a database and others. They run when somebody asks, but no more often than this, however many ask.
const (
	checksPerSecond = 5
	checksBurst     = 10
)

// readiness is what the checks found last.
type readiness struct {
	limiter *rate.Limiter

	mu sync.Mutex
	// running is closed when the checks that run have ended; nil while none do.
	running chan struct{}
	// last has no body before the checks have ended for the first time.
	last answer
}

// ready answers with what the checks find, or with what they found last where they have just been run or are running for somebody else.
func (a *api) ready(c *call) (answer, error) {
	p := &a.readiness
	p.mu.Lock()
	running := p.running
	switch {
	case running == nil && (p.last.body == nil || p.limiter.AllowN(a.Clock(), 1)):
		running = make(chan struct{})
		p.running = running
		p.mu.Unlock()
		// Others get the result too, so it does not depend on whether this caller waits for it.
		found := a.check(context.WithoutCancel(c.ctx()))
		p.mu.Lock()
		p.last, p.running = found, nil
		close(running)
	case running != nil:
		p.mu.Unlock()
		select {
		case <-running:
		case <-c.ctx().Done():
			return answer{}, c.ctx().Err()
		}
		p.mu.Lock()
	}
	defer p.mu.Unlock()
	return p.last, nil
}

// check runs all checks.
func (a *api) check(ctx context.Context) answer {
	response := ReadyResponse{Status: "ready", Checks: make([]CheckResult, len(a.Checks))}
	status := http.StatusOK
	for i, check := range a.Checks {
		result := CheckResult{Name: check.Name, Status: "ok", Optional: check.Optional}
		if err := a.run(ctx, check); err != nil {
			result.Status = "failed"
			if known, ok := errors.AsType[*fleet.Error](err); ok {
				result.Message = known.Message
			}
			a.Logger.LogAttrs(ctx, slog.LevelWarn, "readiness check failed", slog.String("check", check.Name), slog.String("error", err.Error()))
			switch {
			case !check.Optional:
				response.Status, status = "not ready", http.StatusServiceUnavailable
			case status == http.StatusOK:
				response.Status = "degraded"
			}
		}
		response.Checks[i] = result
	}
	return answer{status: status, body: response}
}

// checkTimeout bounds each check: whoever asks whether a server is ready does not wait long for the answer.
const checkTimeout = 2 * time.Second

// run runs one check. A check that panics has failed, so that those who wait for its result get one.
func (a *api) run(ctx context.Context, check Check) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
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
