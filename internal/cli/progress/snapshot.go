package progress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/swell-fleet/swell/orchestration"
)

// client is what the view reads.
type client interface {
	GetOrchestration(orchestrationID string) (orchestration.StatusResponse, error)
	ListOperations(orchestrationID string, params orchestration.ListParameters) (orchestration.OperationResponseList, error)
}

// snapshot is what the server said at one moment.
type snapshot struct {
	status orchestration.StatusResponse
	// running holds the operations in progress, the longest running first; as many as one page has.
	running []orchestration.OperationResponse
	// waiting sums up why the pending operations wait; judged is how many of them were looked at.
	waiting []wait
	judged  int
}

// wait is a reason with the number of operations that it holds back.
type wait struct {
	reason orchestration.WaitReason
	count  int
	// next is the earliest end of it that is known, zero when none is; shoot is the Shoot that goes on then.
	next  time.Time
	shoot string
}

// The states that a count may be in, in the order in which they are shown.
var states = []string{orchestration.Succeeded, orchestration.Failed, orchestration.InProgress, orchestration.Pending, orchestration.Canceled}

func (s *snapshot) count(state string) int { return s.status.OperationStats[state] }

// total is the number of operations.
func (s *snapshot) total() int {
	sum := 0
	for _, n := range s.status.OperationStats {
		sum += n
	}
	return sum
}

// done is the number of operations that have ended, in whatever way.
func (s *snapshot) done() int {
	return s.count(orchestration.Succeeded) + s.count(orchestration.Failed) + s.count(orchestration.Canceled)
}

// ended reports whether the orchestration has ended.
func (s *snapshot) ended() bool { return Ended(s.status.State) }

// Ended reports whether a state is final.
func Ended(state string) bool {
	return state == orchestration.Succeeded || state == orchestration.Failed || state == orchestration.Canceled
}

// pageSizes are the numbers of operations that are asked for at once: a server may be configured to refuse the larger ones.
var pageSizes = []int{500, 100, 10}

// source reads snapshots.
type source struct {
	id string
	// connect returns a client whose requests end with the context.
	connect func(ctx context.Context) client
	// size is the place in pageSizes that the server agreed to.
	size int
}

// read asks the server once.
func (s *source) read(ctx context.Context) (snapshot, error) {
	api := s.connect(ctx)
	status, err := api.GetOrchestration(s.id)
	if err != nil {
		return snapshot{}, err
	}
	snap := snapshot{status: status}
	if snap.ended() {
		return snap, nil
	}
	if snap.count(orchestration.InProgress) > 0 {
		list, err := s.list(api, orchestration.InProgress)
		if err != nil {
			return snapshot{}, err
		}
		snap.running = list.Data
		slices.SortStableFunc(snap.running, func(a, b orchestration.OperationResponse) int {
			return cmp.Or(startOf(a).Compare(startOf(b)), cmp.Compare(a.ShootName, b.ShootName))
		})
	}
	if snap.count(orchestration.Pending) > 0 {
		list, err := s.list(api, orchestration.Pending)
		if err != nil {
			return snapshot{}, err
		}
		snap.waiting, snap.judged = sumUp(list.Data), len(list.Data)
	}
	return snap, nil
}

// list reads the first page of the operations in a state, of the largest size that the server agrees to.
func (s *source) list(api client, state string) (orchestration.OperationResponseList, error) {
	for {
		list, err := api.ListOperations(s.id, orchestration.ListParameters{Page: 1, PageSize: pageSizes[s.size], States: []string{state}})
		answer, refused := errors.AsType[*orchestration.Error](err)
		if !refused || answer.Status != http.StatusBadRequest || s.size == len(pageSizes)-1 {
			return list, err
		}
		s.size++
	}
}

func startOf(op orchestration.OperationResponse) time.Time {
	if op.StartedAt == nil {
		return time.Time{}
	}
	return *op.StartedAt
}

// sumUp counts the reasons to wait, the most frequent first.
func sumUp(operations []orchestration.OperationResponse) []wait {
	var waits []wait
	for _, op := range operations {
		i := slices.IndexFunc(waits, func(w wait) bool { return w.reason == op.WaitReason })
		if i < 0 {
			i = len(waits)
			waits = append(waits, wait{reason: op.WaitReason})
		}
		w := &waits[i]
		w.count++
		if op.WaitUntil != nil && (w.next.IsZero() || op.WaitUntil.Before(w.next)) {
			w.next, w.shoot = *op.WaitUntil, op.ShootName
		}
	}
	slices.SortStableFunc(waits, func(a, b wait) int { return cmp.Compare(b.count, a.count) })
	return waits
}

// Reason says in words why an operation waits.
func Reason(r orchestration.WaitReason) string {
	switch r {
	case "":
		return "about to start"
	case orchestration.WaitWorkerLimit:
		return "for a free worker"
	case orchestration.WaitWindow:
		return "for the maintenance window"
	case orchestration.WaitRuntimeBusy:
		return "for another operation on the same runtime"
	case orchestration.WaitNotBefore:
		return "for the time it was deferred to"
	case orchestration.WaitBackendUnavailable:
		return "for the backend, which does not answer"
	default:
		return fmt.Sprintf("for %s", string(r))
	}
}

// States lists the states of counts in the order in which they are shown: those that are known, then any others.
func States(stats map[string]int) []string {
	order := slices.Clone(states)
	for _, state := range slices.Sorted(maps.Keys(stats)) {
		if !slices.Contains(order, state) {
			order = append(order, state)
		}
	}
	return order
}
