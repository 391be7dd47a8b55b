package strategies

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/orchestration"
)

// call is one call of the executor.
type call struct {
	id         string
	begin, end time.Time
}

// recorder is an executor that follows a script for each operation, and keeps what was called when.
type recorder struct {
	script func(id string, n int) (time.Duration, error) // n counts the calls of that operation from 0 on

	mu       sync.Mutex
	calls    []call
	count    map[string]int
	running  map[string]bool
	inFlight int
	most     int // the highest number of operations in flight
	wrong    []string
}

func newRecorder(script func(id string, n int) (time.Duration, error)) *recorder {
	return &recorder{script: script, count: map[string]int{}, running: map[string]bool{}}
}

func (r *recorder) Execute(id string) (again time.Duration, err error) {
	r.mu.Lock()
	n := r.count[id]
	r.count[id]++
	if r.running[id] {
		r.wrong = append(r.wrong, "two calls for "+id+" at the same time")
	}
	r.running[id] = true
	if n == 0 {
		r.inFlight++
		r.most = max(r.most, r.inFlight)
	}
	index := len(r.calls)
	r.calls = append(r.calls, call{id: id, begin: time.Now()})
	r.mu.Unlock()

	defer func() { // also when the script panics
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running[id] = false
		r.calls[index].end = time.Now()
		if again <= 0 || err != nil {
			r.inFlight--
		}
	}()
	return r.script(id, n)
}

// order returns the IDs of the calls in the order of their begin.
func (r *recorder) order() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := make([]string, len(r.calls))
	for i, c := range r.calls {
		ids[i] = c.id
	}
	return ids
}

func (r *recorder) snapshot() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]call(nil), r.calls...)
}

func operationsNamed(ids ...string) []orchestration.RuntimeOperation {
	operations := make([]orchestration.RuntimeOperation, len(ids))
	for i, id := range ids {
		operations[i].ID = id
	}
	return operations
}

func numbered(n int) []orchestration.RuntimeOperation {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("op-%d", i+1)
	}
	return operationsNamed(ids...)
}

func workers(n int) orchestration.StrategySpec {
	return orchestration.StrategySpec{Parallel: orchestration.ParallelStrategySpec{Workers: n}}
}

func inWindows(n int) orchestration.StrategySpec {
	spec := workers(n)
	spec.Schedule = orchestration.MaintenanceWindow
	return spec
}

func clockTime(t *testing.T, value string) time.Time {
	t.Helper()
	parsed, err := time.Parse("150405-0700", value)
	require.NoError(t, err)
	return parsed
}

func silentLog() (logrus.FieldLogger, *logtest.Hook) {
	return logtest.NewNullLogger()
}

// forgotten says that the strategy holds nothing of its executions any more.
func forgotten(t *testing.T, s orchestration.Strategy) {
	t.Helper()
	p, ok := s.(*parallel)
	require.True(t, ok)
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(t, p.executions)
}

// loggedError returns the error that a log entry carries.
func loggedError(t *testing.T, entry *logrus.Entry) error {
	t.Helper()
	err, ok := entry.Data[logrus.ErrorKey].(error)
	require.True(t, ok)
	return err
}
