package httpapi

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count and time the requests. A nil *metrics does nothing.
type metrics struct {
	inFlight prometheus.Gauge
	duration *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	if registerer == nil {
		return nil, nil
	}
	m := &metrics{
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "swell_http_requests_in_flight", Help: "Requests that are being served or wait for their turn.",
		}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "swell_http_request_duration_seconds", Help: "How long requests took, by route, method and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 30},
		}, []string{"route", "method", "status"}),
	}
	for _, c := range []prometheus.Collector{m.inFlight, m.duration} {
		if err := registerer.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) begin() {
	if m != nil {
		m.inFlight.Inc()
	}
}

// end records an answer. Methods and paths that the API does not have are counted as one, so that strangers cannot make series.
func (m *metrics) end(method, route string, status int, duration time.Duration) {
	if m == nil {
		return
	}
	m.inFlight.Dec()
	if route == "" {
		method, route = "other", "other"
	}
	m.duration.WithLabelValues(route, method, strconv.Itoa(status)).Observe(duration.Seconds())
}
