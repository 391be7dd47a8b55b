package inventory

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// sourceMetrics tell how a source gets on.
type sourceMetrics struct {
	known    prometheus.Gauge
	last     prometheus.Gauge
	failures prometheus.Counter
}

func newSourceMetrics(source string) *sourceMetrics {
	labels := prometheus.Labels{"source": source}
	return &sourceMetrics{
		known: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "swell_source_runtimes", Help: "Runtimes that a source knows.", ConstLabels: labels,
		}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "swell_source_last_success_timestamp_seconds", Help: "When a source was last taken over completely.", ConstLabels: labels,
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "swell_source_failures_total", Help: "Attempts to take a source over that failed.", ConstLabels: labels,
		}),
	}
}

func (m *sourceMetrics) register(r prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{m.known, m.last, m.failures} {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("register the metrics of a source: %w", err)
		}
	}
	return nil
}

func (m *sourceMetrics) synced(at time.Time, err error) {
	if err != nil {
		m.failures.Inc()
		return
	}
	m.last.Set(float64(at.Unix()))
}
