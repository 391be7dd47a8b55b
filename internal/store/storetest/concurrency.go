package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/runtime"
)

func testUpdateRollsBack(t *testing.T, open Open) {
	s := open(t, nil)
	wrong := errors.New("wrong")
	for name, f := range map[string]func(ctx context.Context, tx fleet.Tx) error{
		"error": func(context.Context, fleet.Tx) error { return wrong },
		"kind":  func(context.Context, fleet.Tx) error { return fleet.Conflictf("taken") },
	} {
		err := s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
			o := newOrchestration("o-" + name)
			require.NoError(t, tx.InsertOrchestration(ctx, &o))
			return f(ctx, tx)
		})
		require.Error(t, err)
		require.NotErrorIs(t, err, fleet.ErrUnavailable)
		_, err = s.Orchestration(t.Context(), "o-"+name)
		require.ErrorIs(t, err, fleet.ErrNotFound)
	}
	require.PanicsWithValue(t, "boom", func() {
		_ = s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
			o := newOrchestration("o-panic")
			require.NoError(t, tx.InsertOrchestration(ctx, &o))
			panic("boom")
		})
	})
	_, err := s.Orchestration(t.Context(), "o-panic")
	require.ErrorIs(t, err, fleet.ErrNotFound)
	begin(t, s, "o-after", 1)
}

func testContexts(t *testing.T, open Open) {
	s := open(t, nil)
	begin(t, s, "o-1", 1)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Update(over, func(context.Context, fleet.Tx) error { return nil })
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Orchestration(over, "o-1")
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = s.ListRuntimes(over, fleet.RuntimeFilter{}, page)
	require.ErrorIs(t, err, context.Canceled)

	// A context that ends inside a transaction leaves nothing behind, and the store goes on.
	inside, cancel := context.WithCancel(t.Context())
	err = s.Update(inside, func(ctx context.Context, tx fleet.Tx) error {
		o := newOrchestration("o-2")
		require.NoError(t, tx.InsertOrchestration(ctx, &o))
		cancel()
		_, err := tx.LockOrchestration(ctx, "o-1")
		return err
	})
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Orchestration(t.Context(), "o-2")
	require.ErrorIs(t, err, fleet.ErrNotFound)
	begin(t, s, "o-3", 2)

	// Waiting for another transaction ends with the context.
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		_, err := tx.LockOrchestration(ctx, "o-1")
		require.NoError(t, err)
		waiting, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		err = s.Update(waiting, func(ctx context.Context, tx fleet.Tx) error {
			_, err := tx.LockOrchestration(ctx, "o-1")
			return err
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		return nil
	})
}

// testOneOperationPerRuntime: two orchestrations over one runtime never have it in progress both, and the second is run again from the start.
func testOneOperationPerRuntime(t *testing.T, open Open) {
	s := open(t, nil)
	begin(t, s, "o-1", 1)
	begin(t, s, "o-2", 1)
	start := func(ctx context.Context, tx fleet.Tx, id string) error {
		op := newOperation(id, 0, 1)
		putInProgress(tx.Now(), &op)
		_, err := tx.SaveOperations(ctx, []fleet.OperationChange{{Operation: op}})
		return err
	}
	update(t, s, func(ctx context.Context, tx fleet.Tx) error { return start(ctx, tx, "o-1") })
	tries := 0
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		tries++
		if tries == 1 {
			// As if the candidates had been read before the other one was admitted.
			return start(ctx, tx, "o-2")
		}
		got, err := tx.Candidates(ctx, "o-2", 10)
		require.Empty(t, got)
		return err
	})
	require.Equal(t, 2, tries)
	err := s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error { return start(ctx, tx, "o-2") })
	require.ErrorIs(t, err, fleet.ErrUnavailable, "one that collides for ever gives up")

	// Many admissions of many orchestrations over few runtimes at once.
	const orchestrations, runtimes = 6, 8
	for i := range orchestrations {
		begin(t, s, fmt.Sprintf("p-%d", i), runtimes)
	}
	var group errgroup.Group
	var mu sync.Mutex
	admitted := map[string]string{"rt-1": "o-1"}
	for i := range orchestrations {
		group.Go(func() error {
			var mine []fleet.Operation
			err := s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
				mine = nil
				id := fmt.Sprintf("p-%d", i)
				if _, err := tx.LockOrchestration(ctx, id); err != nil {
					return err
				}
				found, err := tx.Candidates(ctx, id, 3)
				if err != nil {
					return err
				}
				var changes []fleet.OperationChange
				for _, c := range found {
					op := c.Operation
					putInProgress(tx.Now(), &op)
					changes = append(changes, fleet.OperationChange{Operation: op, IfFence: c.Operation.Fence})
					mine = append(mine, op)
				}
				fenced, err := tx.SaveOperations(ctx, changes)
				if len(fenced) > 0 {
					return errors.New("fenced under the lock")
				}
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			for _, op := range mine {
				if err == nil && admitted[op.RuntimeID] != "" {
					return fmt.Errorf("%s is changed by %s and %s", op.RuntimeID, admitted[op.RuntimeID], op.OrchestrationID)
				}
				admitted[op.RuntimeID] = op.OrchestrationID
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	flying, err := s.InFlight(t.Context())
	require.NoError(t, err)
	require.Len(t, flying, len(admitted))
	require.Len(t, admitted, runtimes)
}

func testParallelClaims(t *testing.T, open Open) {
	s := open(t, nil)
	const n, holders = 40, 4
	ops := begin(t, s, "o-1", n)
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		var changes []fleet.OperationChange
		for _, op := range ops {
			putInProgress(tx.Now(), &op)
			changes = append(changes, fleet.OperationChange{Operation: op})
		}
		_, err := tx.SaveOperations(ctx, changes)
		return err
	})
	// All holders claim all operations, each in another order; every claim gets a fence of its own.
	var group errgroup.Group
	var mu sync.Mutex
	fences := map[string]map[int64]bool{}
	for h := range holders {
		step := []int{1, 3, 7, 9}[h] // has no factor in common with n, so that it reaches all
		group.Go(func() error {
			for round := range 2 {
				var claims []fleet.Claim
				for i := range n {
					claims = append(claims, fleet.Claim{OperationID: ops[(i*step+round)%n].ID, Attempt: 1, Lease: time.Minute})
				}
				var got []fleet.Operation
				err := s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) (err error) {
					got, err = tx.Claim(ctx, claims)
					return err
				})
				if err != nil {
					return err
				}
				mu.Lock()
				for _, op := range got {
					if fences[op.ID] == nil {
						fences[op.ID] = map[int64]bool{}
					}
					if fences[op.ID][op.Fence] {
						return fmt.Errorf("fence %d of %s was given twice", op.Fence, op.ID)
					}
					fences[op.ID][op.Fence] = true
				}
				mu.Unlock()
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Len(t, fences, n)
	for id, taken := range fences {
		require.Len(t, taken, 2*holders, id)
	}
}

// testParallelLocks: what is counted under the lock of an orchestration is not counted twice, and the counters agree with the rows.
func testParallelLocks(t *testing.T, open Open) {
	s := open(t, nil)
	const n = 24
	begin(t, s, "o-1", n)
	var group errgroup.Group
	for range 4 {
		group.Go(func() error {
			for range n / 4 {
				err := s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
					o, err := tx.LockOrchestration(ctx, "o-1")
					if err != nil {
						return err
					}
					found, err := tx.Candidates(ctx, "o-1", 1)
					if err != nil || len(found) == 0 {
						return errors.Join(err, errors.New("no candidate"))
					}
					op := found[0].Operation
					putInProgress(tx.Now(), &op)
					if _, err := tx.SaveOperations(ctx, []fleet.OperationChange{{Operation: op, IfFence: found[0].Operation.Fence}}); err != nil {
						return err
					}
					o.Counts.Move(fleet.Pending, fleet.InProgress)
					return tx.SaveOrchestration(ctx, &o)
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	o, err := s.Orchestration(t.Context(), "o-1")
	require.NoError(t, err)
	require.Equal(t, fleet.Counts{InProgress: n}, o.Counts)
	requireCounts(t, s, "o-1")
}

// requireCounts compares the counters of an orchestration with its rows.
func requireCounts(t testing.TB, s fleet.Store, id string) {
	t.Helper()
	o, err := s.Orchestration(t.Context(), id)
	require.NoError(t, err)
	var counted fleet.Counts
	for _, state := range fleet.States {
		_, total, err := s.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: id, States: []fleet.State{state}}, fleet.Page{Number: 1, Size: 1})
		require.NoError(t, err)
		counted.Add(state, total)
	}
	require.Equal(t, counted, o.Counts)
}

// testParallelImports: imports and operations over the same runtimes at once leave the states that follow from both.
func testParallelImports(t *testing.T, open Open) {
	s := open(t, nil)
	const n = 12
	ops := begin(t, s, "o-1", n)
	var group errgroup.Group
	for round := range 3 {
		group.Go(func() error {
			var docs []runtime.RuntimeDTO
			for i := n; i > 0; i-- {
				doc := newRuntime(i)
				doc.UserID = fmt.Sprint(round)
				docs = append(docs, doc)
			}
			return s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
				_, err := tx.PutRuntimes(ctx, "import", docs)
				return err
			})
		})
	}
	for _, op := range ops {
		group.Go(func() error {
			for _, state := range []fleet.State{fleet.InProgress, fleet.Failed} {
				err := s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
					found, err := tx.Operations(ctx, []string{op.ID})
					if err != nil {
						return err
					}
					next := found[0]
					if state == fleet.InProgress {
						putInProgress(tx.Now(), &next)
					} else {
						next.State, next.Fence = state, next.Fence+1
					}
					_, err = tx.SaveOperations(ctx, []fleet.OperationChange{{Operation: next, IfFence: found[0].Fence}})
					return err
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Len(t, listed(t, s, fleet.RuntimeFilter{States: []runtime.State{runtime.StateError}}, 100), n)
	require.Len(t, listed(t, s, fleet.RuntimeFilter{}, 100), n)
}

// testSnapshots: a list and its total are of one instant, however much is written at the same time.
func testSnapshots(t *testing.T, open Open) {
	s := open(t, nil)
	put(t, s, "import", newRuntime(1))
	ctx, stop := context.WithCancel(t.Context())
	var group errgroup.Group
	group.Go(func() error {
		defer stop()
		for i := 2; i <= 40; i++ {
			err := s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
				_, err := tx.PutRuntimes(ctx, "import", []runtime.RuntimeDTO{newRuntime(2*i - 2), newRuntime(2*i - 1)})
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	for ctx.Err() == nil {
		rows, total, err := s.ListRuntimes(t.Context(), fleet.RuntimeFilter{}, page)
		require.NoError(t, err)
		require.Len(t, rows, total)
		require.Equal(t, 1, total%2, "the two of one transaction are seen together")
		all, err := s.AllRuntimes(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, len(all)%2)
	}
	require.NoError(t, group.Wait())
}

func testClock(t *testing.T, open Open) {
	s := open(t, nil)
	var before time.Time
	for range 3 {
		update(t, s, func(ctx context.Context, tx fleet.Tx) error {
			now := tx.Now()
			require.Equal(t, time.UTC, now.Location())
			require.Equal(t, now, now.Truncate(time.Microsecond))
			require.Equal(t, now, tx.Now(), "the clock stands still inside a transaction")
			require.False(t, now.Before(before))
			require.Greater(t, now.Year(), 2025, "it is the time of day, not a count from somewhere")
			before = now
			return nil
		})
	}
	// It is the time that leases are compared with.
	begin(t, s, "o-1", 1)
	change(t, s, "o-1-op-000", func(now time.Time, op *fleet.Operation) {
		putInProgress(now, op)
		op.LeaseUntil = now.Add(-time.Microsecond)
	})
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		got, err := tx.ExpiredOperations(ctx, 1)
		require.Len(t, got, 1)
		return err
	})
	views, err := s.Guards(t.Context(), []string{"o-1-op-000"})
	require.NoError(t, err)
	require.False(t, views["o-1-op-000"].Now.Before(before))
}
