package fleet_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// hour is a time on the day of the tests.
func hour(h int) time.Time { return time.Date(2024, 5, 15, h, 0, 0, 0, time.UTC) }

// done makes a list of one operation.
func done(state, id string, h int) *runtime.OperationsData {
	return &runtime.OperationsData{Data: []runtime.Operation{{State: state, OperationID: id, CreatedAt: hour(h)}}, TotalCount: 1, Count: 1}
}

// provisioned is a document of a runtime that was provisioned at ten.
func provisioned(then func(s *runtime.RuntimeStatus)) runtime.RuntimeDTO {
	doc := runtime.RuntimeDTO{InstanceID: "i-1", Status: runtime.RuntimeStatus{
		Provisioning: &runtime.Operation{State: "succeeded", OperationID: "prov", CreatedAt: hour(10)},
	}}
	then(&doc.Status)
	return doc
}

func TestDeriveState(t *testing.T) {
	t.Parallel()
	deprovisioned := func(state string, left ...string) func(s *runtime.RuntimeStatus) {
		return func(s *runtime.RuntimeStatus) {
			s.Deprovisioning = &runtime.Operation{State: state, OperationID: "d", CreatedAt: hour(11), ExecutedButNotCompletedSteps: left}
		}
	}
	for name, test := range map[string]struct {
		then func(s *runtime.RuntimeStatus)
		want runtime.State
	}{
		"nothing more":              {func(*runtime.RuntimeStatus) {}, runtime.StateSucceeded},
		"provisioning":              {func(s *runtime.RuntimeStatus) { s.Provisioning.State = "in progress" }, runtime.StateProvisioning},
		"provisioning, in capitals": {func(s *runtime.RuntimeStatus) { s.Provisioning.State = "In Progress" }, runtime.StateProvisioning},
		"provisioning pending":      {func(s *runtime.RuntimeStatus) { s.Provisioning.State = "pending" }, runtime.StateProvisioning},
		"provisioning failed":       {func(s *runtime.RuntimeStatus) { s.Provisioning.State = "failed" }, runtime.StateFailed},

		"an update does not wake a suspended one": {func(s *runtime.RuntimeStatus) {
			s.Suspension, s.Update = done("succeeded", "s", 11), done("succeeded", "u", 12)
		}, runtime.StateSuspended},
		"nor does one that fails": {func(s *runtime.RuntimeStatus) {
			s.Suspension, s.Update = done("succeeded", "s", 11), done("failed", "u", 12)
		}, runtime.StateSuspended},
		"nor one in progress": {func(s *runtime.RuntimeStatus) {
			s.Suspension, s.Update = done("succeeded", "s", 11), done("in progress", "u", 12)
		}, runtime.StateSuspended},
		"nor an upgrade": {func(s *runtime.RuntimeStatus) {
			s.Suspension, s.UpgradingKyma = done("succeeded", "s", 11), done("failed", "u", 12)
		}, runtime.StateSuspended},
		"a suspension that failed": {func(s *runtime.RuntimeStatus) { s.Suspension = done("failed", "s", 11) }, runtime.StateFailed},
		"and an update after it": {func(s *runtime.RuntimeStatus) {
			s.Suspension, s.Update = done("failed", "s", 11), done("succeeded", "u", 12)
		}, runtime.StateSucceeded},
		"a suspension in progress, listed under deprovisioning too": {func(s *runtime.RuntimeStatus) {
			s.Suspension = done("in progress", "s", 11)
			s.Deprovisioning = &s.Suspension.Data[0]
		}, runtime.StateDeprovisioning},
		"suspended, listed under deprovisioning too": {func(s *runtime.RuntimeStatus) {
			s.Suspension = done("succeeded", "s", 11)
			s.Deprovisioning = &s.Suspension.Data[0]
		}, runtime.StateSuspended},
		"listed under deprovisioning only, by its type": {func(s *runtime.RuntimeStatus) {
			s.Suspension = done("succeeded", "s", 11)
			s.Deprovisioning = &runtime.Operation{State: "succeeded", Type: runtime.Suspension, CreatedAt: hour(11)}
		}, runtime.StateSuspended},
		"waking up": {func(s *runtime.RuntimeStatus) {
			s.Suspension, s.Unsuspension = done("succeeded", "s", 11), done("in progress", "w", 12)
		}, runtime.StateProvisioning},
		"woken up": {func(s *runtime.RuntimeStatus) {
			s.Suspension, s.Unsuspension = done("succeeded", "s", 11), done("succeeded", "w", 12)
		}, runtime.StateSucceeded},
		"not woken up": {func(s *runtime.RuntimeStatus) {
			s.Suspension, s.Unsuspension = done("succeeded", "s", 11), done("failed", "w", 12)
		}, runtime.StateFailed},
		"woken up and upgraded": {func(s *runtime.RuntimeStatus) {
			s.Suspension, s.Unsuspension, s.UpgradingCluster = done("succeeded", "s", 11), done("succeeded", "w", 12), done("failed", "u", 13)
		}, runtime.StateError},
		"suspended twice": {func(s *runtime.RuntimeStatus) {
			s.Suspension, s.Unsuspension = done("succeeded", "s", 11), done("succeeded", "w", 12)
			s.Suspension.Data = append(s.Suspension.Data, done("succeeded", "s2", 13).Data...)
		}, runtime.StateSuspended},

		"deprovisioning":            {deprovisioned("in progress"), runtime.StateDeprovisioning},
		"deprovisioning failed":     {deprovisioned("failed"), runtime.StateFailed},
		"deprovisioned":             {deprovisioned("succeeded"), runtime.StateDeprovisioned},
		"deprovisioned with a rest": {deprovisioned("succeeded", "one step"), runtime.StateDeprovisionIncomplete},

		"upgrading":                  {func(s *runtime.RuntimeStatus) { s.UpgradingCluster = done("in progress", "u", 11) }, runtime.StateUpgrading},
		"upgrade failed":             {func(s *runtime.RuntimeStatus) { s.UpgradingCluster = done("failed", "u", 11) }, runtime.StateError},
		"Kyma upgrade":               {func(s *runtime.RuntimeStatus) { s.UpgradingKyma = done("in progress", "u", 11) }, runtime.StateUpgrading},
		"updating":                   {func(s *runtime.RuntimeStatus) { s.Update = done("in progress", "u", 11) }, runtime.StateUpdating},
		"an upgrade that waits":      {func(s *runtime.RuntimeStatus) { s.UpgradingCluster = done("pending", "u", 11) }, runtime.StateSucceeded},
		"one that was canceled":      {func(s *runtime.RuntimeStatus) { s.UpgradingCluster = done("canceled", "u", 11) }, runtime.StateSucceeded},
		"the older word for waiting": {func(s *runtime.RuntimeStatus) { s.UpgradingCluster = done("retrying", "u", 11) }, runtime.StateSucceeded},
		"the newest of several, in no order": {func(s *runtime.RuntimeStatus) {
			s.UpgradingCluster = done("failed", "u", 12)
			s.UpgradingCluster.Data = append(s.UpgradingCluster.Data, done("succeeded", "v", 13).Data[0], done("failed", "w", 11).Data[0])
		}, runtime.StateSucceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := provisioned(test.then)
			for _, named := range []runtime.State{"", runtime.StateUpdating, "nonsense"} {
				if named != "" && name == "provisioning pending" {
					continue // without an operation that has begun the document's word holds
				}
				doc.Status.State = named
				history := fleet.HistoryOf(&doc)
				state := fleet.DeriveState(history, nil)
				require.Equal(t, test.want, state)

				// The history survives being stored.
				text, err := json.Marshal(history)
				require.NoError(t, err)
				var again fleet.History
				require.NoError(t, json.Unmarshal(text, &again))
				require.Equal(t, test.want, fleet.DeriveState(again, nil))

				record := fleet.Runtime{DTO: doc, State: state}
				for _, detail := range []runtime.OperationDetail{runtime.AllOperation, runtime.LastOperation} {
					shown := record.Document(detail)
					require.Equal(t, test.want, shown.Status.State)
					if shown.Status.Suspension != nil {
						require.Nil(t, shown.Status.Deprovisioning, "a suspension is not listed as a deprovisioning")
					}
				}
			}
		})
	}
}

func TestStateOfDocumentsThatDoNotBeginAtTheBegin(t *testing.T) {
	t.Parallel()
	// Read with the last operation alone: the suspension before the update is not in it.
	doc := runtime.RuntimeDTO{Status: runtime.RuntimeStatus{State: "Suspended", Update: done("succeeded", "u", 12)}}
	history := fleet.HistoryOf(&doc)
	require.Equal(t, runtime.StateSuspended, fleet.DeriveState(history, nil))
	require.Equal(t, runtime.StateSuspended, fleet.DeriveState(history, []fleet.Mark{mark(fleet.Failed, "o", 13)}))

	doc = runtime.RuntimeDTO{Status: runtime.RuntimeStatus{State: runtime.StateUpgrading, UpgradingCluster: done("in progress", "o", 12)}}
	history = fleet.HistoryOf(&doc)
	require.Equal(t, runtime.StateUpgrading, fleet.DeriveState(history, nil))
	require.Equal(t, runtime.StateUpgrading, fleet.DeriveState(history, []fleet.Mark{mark(fleet.Failed, "older", 11)}))
	require.Equal(t, runtime.StateError, fleet.DeriveState(history, []fleet.Mark{mark(fleet.Failed, "o", 12)}), "the own record of the same operation is fresher")
	require.Equal(t, runtime.StateSucceeded, fleet.DeriveState(history, []fleet.Mark{mark(fleet.Succeeded, "newer", 13)}))

	// No operation at all, as a source of Shoots may give it.
	none := fleet.HistoryOf(&runtime.RuntimeDTO{})
	require.Equal(t, runtime.StateSucceeded, fleet.DeriveState(none, nil))
	require.Equal(t, runtime.StateError, fleet.DeriveState(none, []fleet.Mark{mark(fleet.Failed, "o", 12)}))
}

func mark(state fleet.State, id string, h int) fleet.Mark {
	return fleet.Mark{Type: runtime.UpgradeCluster, State: state, At: hour(h).UnixMicro(), ID: id}
}

func TestMarksOfOperations(t *testing.T) {
	t.Parallel()
	for _, state := range fleet.States {
		for _, dryRun := range []bool{false, true} {
			op := fleet.Operation{ID: "o", Type: orchestration.UpgradeKymaOrchestration, State: state, DryRun: dryRun, CreatedAt: hour(1), StartedAt: hour(5)}
			got, ok := op.Mark()
			_, shown := op.Own()
			require.Equal(t, ok, shown)
			require.Equal(t, !dryRun && (state == fleet.InProgress || state == fleet.Succeeded || state == fleet.Failed), ok, "%s %v", state, dryRun)
			if ok {
				require.Equal(t, fleet.Mark{Type: runtime.UpgradeKyma, State: state, At: hour(5).UnixMicro(), ID: "o"}, got, "what counts is when it was started")
			}
		}
	}
}

func TestDocumentShowsOwnOperations(t *testing.T) {
	t.Parallel()
	op := fleet.Operation{
		ID: "own", OrchestrationID: "o-1", Type: orchestration.UpgradeClusterOrchestration, State: fleet.Failed, Description: "half way", Reason: "no quota",
		Version: "1.33.4", FinishedStages: []string{"started"}, CreatedAt: hour(1), StartedAt: hour(12), UpdatedAt: hour(13),
	}
	own, ok := op.Own()
	require.True(t, ok)
	doc := provisioned(func(s *runtime.RuntimeStatus) {
		s.UpgradingCluster = done("succeeded", "foreign", 14)
		s.UpgradingCluster.TotalCount = 7 // the document had a part of them only
		s.ModifiedAt = hour(11)
	})
	record := fleet.Runtime{DTO: doc, State: runtime.StateSucceeded, Own: []fleet.OwnOperation{own}}
	before := cloneJSON(t, record.DTO)

	all := record.Document(runtime.AllOperation)
	want := runtime.Operation{
		State: "failed", Type: runtime.UpgradeCluster, Description: "half way: no quota", CreatedAt: hour(12), UpdatedAt: hour(13),
		OperationID: "own", OrchestrationID: "o-1", FinishedStages: []string{"started"}, RuntimeVersion: "1.33.4",
	}
	require.Equal(t, hour(13), all.Status.ModifiedAt)
	require.Empty(t, cmp.Diff(&runtime.OperationsData{Data: []runtime.Operation{doc.Status.UpgradingCluster.Data[0], want}, Count: 2, TotalCount: 8}, all.Status.UpgradingCluster))
	require.NotNil(t, all.Status.Provisioning)

	last := record.Document(runtime.LastOperation)
	require.Equal(t, all.Status.State, last.Status.State)
	require.Nil(t, last.Status.Provisioning)
	require.Empty(t, cmp.Diff(&runtime.OperationsData{Data: doc.Status.UpgradingCluster.Data, Count: 1, TotalCount: 1}, last.Status.UpgradingCluster))
	require.Equal(t, "foreign", last.LastOperation().OperationID)
	require.Empty(t, cmp.Diff(before, cloneJSON(t, record.DTO)), "showing a record does not change it")

	// An operation that has not touched the runtime is the last one only when there is no other.
	record = fleet.Runtime{DTO: provisioned(func(s *runtime.RuntimeStatus) { s.Update = done("pending", "u", 12) })}
	require.NotNil(t, record.Document(runtime.LastOperation).Status.Provisioning)
	record.DTO.Status.Provisioning = nil
	require.NotNil(t, record.Document(runtime.LastOperation).Status.Update)
	empty := fleet.Runtime{}
	require.Empty(t, cmp.Diff(runtime.RuntimeDTO{}, empty.Document(runtime.LastOperation)))
}

func cloneJSON[T any](t *testing.T, v T) T {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	var out T
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// TestStateDoesNotHangOnTheDetail: whatever operations a runtime has, the state is one of the known ones, does not depend on the order in which they
// are listed, and the short form for the resolver gives the same newest operation.
func TestStateDoesNotHangOnTheDetail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		state := rapid.SampledFrom([]string{"in progress", "succeeded", "failed", "pending", "canceled", "Succeeded", "strange"})
		used := map[int]bool{}
		next := func() (string, string, int) {
			h := rapid.IntRange(0, 1000).Filter(func(h int) bool { return !used[h] }).Draw(t, "hour")
			used[h] = true
			return state.Draw(t, "state"), rapid.StringMatching("op-[0-9]{6}").Draw(t, "id"), h
		}
		list := func(name string) *runtime.OperationsData {
			n := rapid.IntRange(0, 3).Draw(t, name)
			if n == 0 {
				return nil
			}
			out := &runtime.OperationsData{}
			for range n {
				s, id, h := next()
				out.Data = append(out.Data, done(s, id, h).Data...)
			}
			return out
		}
		doc := provisioned(func(s *runtime.RuntimeStatus) {
			s.Suspension, s.Unsuspension, s.Update = list("suspension"), list("unsuspension"), list("update")
			s.UpgradingCluster, s.UpgradingKyma = list("cluster"), list("kyma")
		})
		var own []fleet.Mark
		for range rapid.IntRange(0, 3).Draw(t, "own") {
			_, id, h := next()
			own = append(own, mark(rapid.SampledFrom([]fleet.State{fleet.InProgress, fleet.Succeeded, fleet.Failed}).Draw(t, "own state"), "own-"+id, h))
		}
		history := fleet.HistoryOf(&doc)
		got := fleet.DeriveState(history, own)
		_, known := fleet.ParseRuntimeState(string(got))
		require.True(t, known, got)

		turned := doc
		for _, l := range []**runtime.OperationsData{&turned.Status.Suspension, &turned.Status.Unsuspension, &turned.Status.Update, &turned.Status.UpgradingCluster, &turned.Status.UpgradingKyma} {
			if *l != nil {
				copied := **l
				copied.Data = make([]runtime.Operation, len((*l).Data))
				for i, op := range (*l).Data {
					copied.Data[len(copied.Data)-1-i] = op
				}
				*l = &copied
			}
		}
		require.Equal(t, got, fleet.DeriveState(fleet.HistoryOf(&turned), own))

		var brief runtime.RuntimeDTO
		history.Brief(&brief, got, own)
		require.Equal(t, got, brief.Status.State)
		newest := runtime.Operation{}
		for _, m := range append(append([]fleet.Mark{}, history.Marks...), own...) {
			if at := time.UnixMicro(m.At).UTC(); newest.OperationID == "" || !at.Before(newest.CreatedAt) {
				newest = runtime.Operation{OperationID: m.ID, CreatedAt: at, Type: m.Type, State: string(m.State)}
			}
		}
		last := brief.LastOperation()
		require.Equal(t, newest.OperationID, last.OperationID)
		require.Equal(t, newest.Type, last.Type)
	})
}

func TestRuntimeStateWords(t *testing.T) {
	t.Parallel()
	for _, s := range fleet.RuntimeStates {
		got, ok := fleet.ParseRuntimeState(string(s))
		require.True(t, ok)
		require.Equal(t, s, got)
	}
	got, ok := fleet.ParseRuntimeState("DeprovisionIncomplete")
	require.True(t, ok)
	require.Equal(t, runtime.StateDeprovisionIncomplete, got)
	for _, word := range []string{"", "all", "succeded", "succeeded "} {
		_, ok := fleet.ParseRuntimeState(word)
		require.False(t, ok, word)
	}
}
