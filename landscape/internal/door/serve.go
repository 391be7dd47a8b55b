package door

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/swell-fleet/swell/landscape/internal/faults"
)

// state is a plan in force.
type state struct {
	plan  faults.Plan
	since time.Time
	rules []counters
}

type counters struct {
	matched atomic.Int64
	hit     atomic.Int64
}

func newState(plan faults.Plan) *state {
	return &state{plan: plan, since: time.Now(), rules: make([]counters, len(plan.API))}
}

func (s *state) hits() []int64 {
	hits := make([]int64, len(s.rules))
	for index := range s.rules {
		hits[index] = s.rules[index].hit.Load()
	}
	return hits
}

// hit decides whether the rule of the given index strikes the request.
func (s *state) hit(index int, request faults.Request) bool {
	rule := s.plan.API[index]
	if !rule.InForce(time.Since(s.since)) || !rule.Matches(request) {
		return false
	}
	count := &s.rules[index]
	turn := count.matched.Add(1)
	if rule.Share != 0 && faults.Draw(s.plan.Seed, "request", strconv.Itoa(index), strconv.FormatInt(turn, 10)) >= rule.Share {
		return false
	}
	if rule.Times == 0 {
		count.hit.Add(1)
		return true
	}
	for {
		before := count.hit.Load()
		if before >= rule.Times {
			return false
		}
		if count.hit.CompareAndSwap(before, before+1) {
			return true
		}
	}
}

// serve handles one request, or does to it what the plan says. Delays come
// first and add up; of the other rules the first that strikes decides.
func (d *Door) serve(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	current := d.state
	d.mu.Unlock()

	request := faults.Describe(r)
	for index, rule := range current.plan.API {
		if rule.Action == faults.Delay && current.hit(index, request) && !sleep(r.Context(), time.Duration(rule.Delay)) {
			return
		}
	}
	for index, rule := range current.plan.API {
		if rule.Action.Strikes() && current.hit(index, request) {
			d.strike(w, r, rule)
			return
		}
	}
	if request.Watch {
		ctx, done := d.watches.begin(r.Context())
		defer done()
		r = r.WithContext(ctx)
	}
	d.handler.ServeHTTP(w, r)
}

func (d *Door) strike(w http.ResponseWriter, r *http.Request, rule faults.Rule) {
	switch rule.Action {
	case faults.Status:
		refuse(w, rule)
	case faults.Garbage:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{\"kind\":\"Shoot\",\"apiVersion\":\"core.gardener.cloud/v1beta1\",\"spec\":{\x00\xff\xfe<html>")
	case faults.Lose:
		d.handler.ServeHTTP(&lost{header: http.Header{}}, r)
		panic(http.ErrAbortHandler)
	default: // Drop
		panic(http.ErrAbortHandler)
	}
}

// refuse answers with an error in the form that a Kubernetes API server gives it.
func refuse(w http.ResponseWriter, rule faults.Rule) {
	reasons := map[int]metav1.StatusReason{
		http.StatusUnauthorized:        metav1.StatusReasonUnauthorized,
		http.StatusForbidden:           metav1.StatusReasonForbidden,
		http.StatusNotFound:            metav1.StatusReasonNotFound,
		http.StatusConflict:            metav1.StatusReasonConflict,
		http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
		http.StatusInternalServerError: metav1.StatusReasonInternalError,
		http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
		http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
	}
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Message:  fmt.Sprintf("fault plan: answered with %d", rule.Code),
		Reason:   reasons[rule.Code],
		Code:     int32(rule.Code),
	}
	if seconds := int32(time.Duration(rule.RetryAfter) / time.Second); seconds > 0 {
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: seconds}
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(rule.Code)
	_ = json.NewEncoder(w).Encode(status) // The client may be gone.
}

// lost is a writer for an answer that nobody gets.
type lost struct{ header http.Header }

func (l *lost) Header() http.Header         { return l.header }
func (l *lost) Write(p []byte) (int, error) { return len(p), nil }
func (l *lost) WriteHeader(int)             {}
func (l *lost) Flush()                      {}

// watches knows the open watches of a door.
type watches struct {
	mu   sync.Mutex
	next int
	open map[int]context.CancelFunc
}

// begin returns the context of a new watch and the function that forgets it.
func (w *watches) begin(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = map[int]context.CancelFunc{}
	}
	id := w.next
	w.next++
	w.open[id] = cancel
	return ctx, func() {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.open, id)
	}
}

func (w *watches) endAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, cancel := range w.open {
		cancel()
	}
}
