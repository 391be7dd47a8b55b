package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/swell-fleet/swell/internal/fleet"
)

// metrics are the engine's figures. The zero value of the registry leaves them unregistered and usable.
type metrics struct {
	steps     *prometheus.CounterVec
	duration  *prometheus.HistogramVec
	finished  *prometheus.CounterVec
	admitted  prometheus.Counter
	takeOvers prometheus.Counter
	down      *prometheus.GaugeVec
	groups    prometheus.Histogram
	sweeps    *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "swell_engine_steps_total", Help: "Steps of operations by backend and outcome.",
		}, []string{"backend", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "swell_engine_step_duration_seconds", Help: "Time that steps spent in their executor.",
			Buckets: []float64{.005, .02, .1, .5, 2, 10, 30},
		}, []string{"backend"}),
		finished: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "swell_engine_operations_finished_total", Help: "Operations that ended, by type and state.",
		}, []string{"type", "state"}),
		admitted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "swell_engine_operations_started_total", Help: "Operations that were put in progress.",
		}),
		takeOvers: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "swell_engine_take_overs_total", Help: "Operations that were taken over from a process that did not answer any more.",
		}),
		down: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "swell_engine_backend_down", Help: "1 while no operation starts because the backend does not answer or refuses access.",
		}, []string{"backend"}),
		groups: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "swell_engine_group_size", Help: "Steps that were written in one transaction.", Buckets: []float64{1, 2, 5, 10, 20, 50, 100, 200},
		}),
		sweeps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "swell_engine_sweeps_total", Help: "Searches for what was missed, by result.",
		}, []string{"result"}),
	}
	if registry == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.steps, m.duration, m.finished, m.admitted, m.takeOvers, m.down, m.groups, m.sweeps} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of the engine: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) step(b fleet.Backend, s fleet.Step, took time.Duration) {
	m.duration.WithLabelValues(string(b)).Observe(took.Seconds())
	m.steps.WithLabelValues(string(b), outcomeWord(s)).Inc()
}

func outcomeWord(s fleet.Step) string {
	switch {
	case s.HandBack:
		return "handed_back"
	case errors.Is(s.Err, fleet.ErrNoAccess):
		return "no_access"
	case s.Err != nil:
		return "error"
	}
	switch s.Result.Outcome {
	case fleet.Again:
		return "again"
	case fleet.Done:
		return "done"
	case fleet.Refused:
		return "refused"
	case fleet.Gone:
		return "gone"
	case fleet.NeedsStart:
		return "needs_start"
	default:
		return "unknown"
	}
}
