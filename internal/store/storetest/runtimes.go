package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/testkit/dtotest"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

func testImportKeepsEveryField(t *testing.T, open Open) {
	s := open(t, nil)
	doc := dtotest.Filled[runtime.RuntimeDTO](t)
	doc.Status.State = runtime.StateError
	doc.Status.Deprovisioning.OperationID = "deprovisioning"
	require.Equal(t, fleet.ImportResult{Imported: 1}, put(t, s, "import", doc))
	require.Equal(t, fleet.ImportResult{Unchanged: 1}, put(t, s, "import", doc))
	got := runtimeOf(t, s, doc.InstanceID)
	require.Empty(t, cmp.Diff(doc, got.Document(runtime.AllOperation)))
	require.Equal(t, "import", got.Source)
	// An empty document is one too.
	put(t, s, "import", runtime.RuntimeDTO{InstanceID: "bare"})
	require.Empty(t, cmp.Diff(runtime.RuntimeDTO{InstanceID: "bare", Status: runtime.RuntimeStatus{State: runtime.StateSucceeded}}, runtimeOf(t, s, "bare").DTO))
}

func testImportMerges(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	one, two, three := newRuntime(1), newRuntime(2), newRuntime(3)
	require.Equal(t, fleet.ImportResult{Imported: 3}, put(t, s, "import", one, two, three))
	clock.Advance(time.Minute)
	two.UserID = "someone"
	later := two
	later.UserID = "someone else"
	require.Equal(t, fleet.ImportResult{Imported: 1, Updated: 1, Unchanged: 1}, put(t, s, "import", two, one, newRuntime(4), later))
	got := runtimeOf(t, s, "i-2")
	require.Equal(t, "someone else", got.DTO.UserID, "of two documents of one instance the later one counts")
	require.Equal(t, clock.Now(), got.UpdatedAt)
	require.Equal(t, start, runtimeOf(t, s, "i-1").UpdatedAt)
	require.Equal(t, "rt-3", runtimeOf(t, s, "i-3").DTO.RuntimeID, "what is not in the list stays")
	err := s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
		_, err := tx.PutRuntimes(ctx, "import", []runtime.RuntimeDTO{newRuntime(5), {RuntimeID: "rt-6"}})
		return err
	})
	require.ErrorIs(t, err, fleet.ErrInvalid)
	require.ErrorContains(t, err, "data[1].instanceID")
	unwritable := newRuntime(5)
	unwritable.Status.CreatedAt = time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC)
	err = s.Update(t.Context(), func(ctx context.Context, tx fleet.Tx) error {
		_, err := tx.PutRuntimes(ctx, "import", []runtime.RuntimeDTO{unwritable})
		return err
	})
	require.ErrorIs(t, err, fleet.ErrInvalid)
}

// What is told of each runtime is what it was and is.
func testImportTellsWhatChanged(t *testing.T, open Open) {
	s := open(t, nil)
	put(t, s, "import", newRuntime(1), newRuntime(3), newRuntime(4))
	moved, named, known := newRuntime(1), newRuntime(3), runtimeOf(t, s, "i-1").DTO
	moved.GlobalAccountID, moved.SubAccountID, moved.ProviderRegion, moved.SubAccountRegion = "ga-new", "sa-new", "moon", "cf-new"
	moved.ServicePlanID, moved.ServicePlanName = "plan-new", "new"
	named.UserID = "renamed"
	var result fleet.ImportResult
	update(t, s, func(ctx context.Context, tx fleet.Tx) (err error) {
		result, err = tx.PutRuntimes(ctx, "import", []runtime.RuntimeDTO{moved, named, newRuntime(4), newRuntime(9)})
		return err
	})
	require.Equal(t, fleet.ImportResult{Imported: 1, Updated: 2, Unchanged: 1, Changes: []fleet.RuntimeChange{
		{InstanceID: "i-1", RuntimeID: "rt-1", ShootName: "c-1", Fields: []fleet.FieldChange{
			{Name: "globalAccountID", From: known.GlobalAccountID, To: "ga-new"}, {Name: "subAccountID", From: known.SubAccountID, To: "sa-new"},
			{Name: "region", From: known.ProviderRegion, To: "moon"}, {Name: "subAccountRegion", From: known.SubAccountRegion, To: "cf-new"},
			{Name: "servicePlanName", From: known.ServicePlanName, To: "new"}, {Name: "servicePlanID", From: known.ServicePlanID, To: "plan-new"},
		}},
		{InstanceID: "i-3", RuntimeID: "rt-3", ShootName: "c-3"},
		{InstanceID: "i-9", RuntimeID: "rt-9", ShootName: "c-9", Added: true},
	}}, result)
}

func testImportOfPartialSources(t *testing.T, open Open) {
	s := open(t, nil)
	shoot := runtime.RuntimeDTO{RuntimeID: "rt-1", ShootName: "c-1", ProviderRegion: "eu-moved"}
	require.Equal(t, fleet.ImportResult{Imported: 1}, put(t, s, fleet.SourceGardener, shoot))
	require.Equal(t, "eu-moved", runtimeOf(t, s, "rt-1").DTO.ProviderRegion, "the runtime ID stands for the instance ID")
	insert(t, s, newOrchestration("o-1"), fleet.Operation{
		ID: "op-1", OrchestrationID: "o-1", Type: orchestration.UpgradeClusterOrchestration, RuntimeID: "rt-1", InstanceID: "rt-1", State: fleet.Pending,
	})
	admit(t, s, "op-1")
	require.Equal(t, runtime.StateUpgrading, runtimeOf(t, s, "rt-1").State)

	// A whole document takes the place of the record, with the operations.
	whole := newRuntime(1)
	whole.UserID = "someone"
	require.Equal(t, fleet.ImportResult{Imported: 1}, put(t, s, "import", whole))
	rows, total, err := s.ListRuntimes(t.Context(), fleet.RuntimeFilter{}, page)
	require.NoError(t, err)
	require.Equal(t, 1, total)
	require.Len(t, rows, 1)
	require.Equal(t, runtime.StateUpgrading, rows[0].State)
	require.Len(t, rows[0].Own, 1)
	require.Equal(t, "eu-demo-1", rows[0].DTO.ProviderRegion)

	// The partial source then fills what is empty, and nothing else.
	shoot.Provider = "aws"
	require.Equal(t, fleet.ImportResult{Updated: 1}, put(t, s, fleet.SourceGardener, shoot))
	require.Equal(t, fleet.ImportResult{Unchanged: 1}, put(t, s, fleet.SourceGardener, shoot))
	got := runtimeOf(t, s, "i-1")
	require.Equal(t, "eu-demo-1", got.DTO.ProviderRegion)
	require.Equal(t, "aws", got.DTO.Provider)
	require.Equal(t, "someone", got.DTO.UserID)
	require.NotNil(t, got.DTO.Status.Provisioning)
	require.Equal(t, "import", got.Source)
}

func testOwnOperations(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	put(t, s, "import", newRuntime(1))
	ops := make([]fleet.Operation, 4)
	for i := range ops {
		ops[i] = newOperation("o-1", i, 1)
		ops[i].Version = fmt.Sprintf("1.3%d.0", i)
	}
	ops[3].DryRun = true
	insert(t, s, newOrchestration("o-1"), ops...)
	for i, op := range ops {
		clock.Advance(time.Hour)
		admit(t, s, op.ID)
		wantState := runtime.StateUpgrading
		if op.DryRun {
			wantState = runtime.StateError // as before
		}
		require.Equal(t, wantState, runtimeOf(t, s, "i-1").State)
		clock.Advance(time.Minute)
		change(t, s, op.ID, func(now time.Time, op *fleet.Operation) {
			op.State, op.Fence, op.FinishedAt = []fleet.State{fleet.Succeeded, fleet.Failed, fleet.Canceled, fleet.Succeeded}[i], op.Fence+1, now
			op.Description, op.FinishedStages = "described", []string{"stage"}
			if op.State == fleet.Failed {
				op.Reason = "no quota"
			}
		})
		wantState = []runtime.State{runtime.StateSucceeded, runtime.StateError, runtime.StateError, runtime.StateError}[i]
		require.Equal(t, wantState, runtimeOf(t, s, "i-1").State, "after operation %d", i)
		if i == 1 {
			// Back to pending: it never happened. Then it fails again.
			change(t, s, ops[2].ID, func(now time.Time, op *fleet.Operation) { putInProgress(now, op) })
			require.Equal(t, runtime.StateUpgrading, runtimeOf(t, s, "i-1").State)
			change(t, s, ops[2].ID, func(_ time.Time, op *fleet.Operation) {
				op.State, op.Fence, op.StartedAt = fleet.Pending, op.Fence+1, time.Time{}
			})
			require.Equal(t, runtime.StateError, runtimeOf(t, s, "i-1").State)
		}
	}
	// Importing again keeps Swell's own operations, and one that the document has too is listed once.
	doc := newRuntime(1)
	doc.Status.UpgradingCluster = &runtime.OperationsData{
		Data: []runtime.Operation{
			{State: "in progress", OperationID: ops[1].ID, CreatedAt: start.Add(-time.Minute)},
			{State: "succeeded", OperationID: "foreign", CreatedAt: start.Add(-time.Hour)},
		}, Count: 2, TotalCount: 2,
	}
	require.Equal(t, fleet.ImportResult{Updated: 1}, put(t, s, "import", doc))
	got := runtimeOf(t, s, "i-1")
	require.Equal(t, runtime.StateError, got.State)
	shown := got.Document(runtime.AllOperation)
	require.Nil(t, shown.Status.UpgradingKyma)
	list := shown.Status.UpgradingCluster
	require.Equal(t, 3, list.Count)
	require.Equal(t, 3, list.TotalCount)
	require.Equal(t, []string{ops[1].ID, ops[0].ID, "foreign"}, []string{list.Data[0].OperationID, list.Data[1].OperationID, list.Data[2].OperationID})
	require.Empty(t, cmp.Diff(runtime.Operation{
		State: "failed", Type: runtime.UpgradeCluster, Description: "described: no quota", OperationID: ops[1].ID, OrchestrationID: "o-1",
		CreatedAt: start.Add(2*time.Hour + time.Minute), UpdatedAt: start.Add(2*time.Hour + 2*time.Minute),
		FinishedStages: []string{"stage"}, RuntimeVersion: "1.31.0",
	}, list.Data[0]))

	rows, _, err := s.ListRuntimes(t.Context(), fleet.RuntimeFilter{WithoutOwn: true}, page)
	require.NoError(t, err)
	require.Empty(t, rows[0].Own)
	require.Equal(t, runtime.StateError, rows[0].State)
}

func testRuntimeStates(t *testing.T, open Open) {
	s := open(t, nil)
	at := func(hour int) time.Time { return time.Date(2024, 5, 15, hour, 0, 0, 0, time.UTC) }
	list := func(state string, hour int) *runtime.OperationsData {
		return &runtime.OperationsData{Data: []runtime.Operation{{State: state, OperationID: "x", CreatedAt: at(hour)}}, Count: 1, TotalCount: 1}
	}
	for i, test := range []struct {
		then func(s *runtime.RuntimeStatus)
		want runtime.State
	}{
		{func(s *runtime.RuntimeStatus) { s.Suspension, s.Update = list("succeeded", 11), list("succeeded", 12) }, runtime.StateSuspended},
		{func(s *runtime.RuntimeStatus) { s.Suspension, s.Update = list("succeeded", 11), list("failed", 12) }, runtime.StateSuspended},
		{func(s *runtime.RuntimeStatus) { s.Suspension = list("failed", 11) }, runtime.StateFailed},
		{func(s *runtime.RuntimeStatus) {
			s.Suspension, s.Unsuspension = list("succeeded", 11), list("in progress", 12)
		}, runtime.StateProvisioning},
		{func(s *runtime.RuntimeStatus) {
			s.Suspension, s.Unsuspension = list("succeeded", 11), list("succeeded", 12)
		}, runtime.StateSucceeded},
		{func(s *runtime.RuntimeStatus) { s.UpgradingCluster = list("in progress", 11) }, runtime.StateUpgrading},
		{func(s *runtime.RuntimeStatus) { s.UpgradingCluster = list("failed", 11) }, runtime.StateError},
	} {
		doc := newRuntime(i)
		doc.Status.Provisioning.CreatedAt = at(10)
		test.then(&doc.Status)
		put(t, s, "import", doc)
		got := runtimeOf(t, s, doc.InstanceID)
		require.Equal(t, test.want, got.State, "case %d", i)
		for _, detail := range []runtime.OperationDetail{runtime.AllOperation, runtime.LastOperation} {
			require.Equal(t, test.want, got.Document(detail).Status.State)
		}
		rows, total, err := s.ListRuntimes(t.Context(), fleet.RuntimeFilter{States: []runtime.State{test.want}, InstanceIDs: []string{doc.InstanceID}}, page)
		require.NoError(t, err)
		require.Equal(t, 1, total)
		require.Len(t, rows, 1)
	}
}

// listed returns the instance IDs of all runtimes that a filter selects, page by page.
func listed(t testing.TB, s fleet.Store, f fleet.RuntimeFilter, size int) []string {
	t.Helper()
	got := []string{}
	for number := 1; ; number++ {
		rows, total, err := s.ListRuntimes(t.Context(), f, fleet.Page{Number: number, Size: size})
		require.NoError(t, err)
		if len(rows) == 0 {
			require.Len(t, got, total, "%+v", f)
			return got
		}
		for _, r := range rows {
			got = append(got, r.DTO.InstanceID)
		}
	}
}

func testRuntimeFilters(t *testing.T, open Open) {
	s := open(t, nil)
	one, two, three, four, five := newRuntime(1), newRuntime(2), newRuntime(3), newRuntime(4), newRuntime(5)
	one.ShootName, two.ShootName, three.ShootName = "c-123", "c-1234", "c-9"
	three.ServicePlanName = "trial"
	expired := start
	two.Status.ExpiredAt, three.Status.ExpiredAt = &expired, &expired
	away := func(state string, minutes int) *runtime.OperationsData {
		return &runtime.OperationsData{Data: []runtime.Operation{{State: state, OperationID: "s", CreatedAt: start.Add(time.Duration(minutes) * time.Minute)}}}
	}
	three.Status.Suspension = away("succeeded", 1)
	four.Status.Deprovisioning = &runtime.Operation{State: "succeeded", OperationID: "d", CreatedAt: start}
	five.Status.Suspension, five.Status.Unsuspension = away("succeeded", 1), away("succeeded", 2)
	put(t, s, "import", one, two, three, four, five)

	all := []runtime.State{runtime.AllState}
	for name, test := range map[string]struct {
		filter fleet.RuntimeFilter
		want   []string
	}{
		"none":                        {fleet.RuntimeFilter{}, []string{"i-1", "i-2", "i-5"}},
		"all":                         {fleet.RuntimeFilter{States: all}, []string{"i-1", "i-2", "i-3", "i-4", "i-5"}},
		"shoot":                       {fleet.RuntimeFilter{Shoots: []string{"c-123"}}, []string{"i-1"}},
		"two shoots":                  {fleet.RuntimeFilter{Shoots: []string{"c-9", "c-123"}, States: all}, []string{"i-1", "i-3"}},
		"two shoots, hidden left out": {fleet.RuntimeFilter{Shoots: []string{"c-9", "c-123"}}, []string{"i-1"}},
		"a shoot is no pattern":       {fleet.RuntimeFilter{Shoots: []string{"c.123"}, States: all}, []string{}},
		"nor for LIKE":                {fleet.RuntimeFilter{Shoots: []string{"c_123", "c%"}, States: all}, []string{}},
		"letter case counts":          {fleet.RuntimeFilter{Shoots: []string{"C-123"}, States: all}, []string{}},
		"suspended":                   {fleet.RuntimeFilter{States: []runtime.State{runtime.StateSuspended}}, []string{"i-3"}},
		"state words in any case":     {fleet.RuntimeFilter{States: []runtime.State{"Suspended"}}, []string{"i-3"}},
		"two states":                  {fleet.RuntimeFilter{States: []runtime.State{runtime.StateSuspended, runtime.StateSucceeded, "SUSPENDED"}}, []string{"i-1", "i-2", "i-3", "i-5"}},
		"a state and all":             {fleet.RuntimeFilter{States: []runtime.State{runtime.StateSuspended, runtime.AllState}}, []string{"i-1", "i-2", "i-3", "i-4", "i-5"}},
		"unknown state":               {fleet.RuntimeFilter{States: []runtime.State{"succeded"}}, []string{}},
		"account":                     {fleet.RuntimeFilter{GlobalAccountIDs: []string{"ga-2"}}, []string{"i-2", "i-5"}},
		"account twice":               {fleet.RuntimeFilter{GlobalAccountIDs: []string{"ga-2", "ga-2"}}, []string{"i-2", "i-5"}},
		"subaccount":                  {fleet.RuntimeFilter{SubAccountIDs: []string{"sa-1", "sa-2"}}, []string{"i-1", "i-2"}},
		"instance":                    {fleet.RuntimeFilter{InstanceIDs: []string{"i-5", "i-2"}}, []string{"i-2", "i-5"}},
		"runtime":                     {fleet.RuntimeFilter{RuntimeIDs: []string{"rt-5"}}, []string{"i-5"}},
		"region":                      {fleet.RuntimeFilter{Regions: []string{"eu-demo-0"}, States: all}, []string{"i-2", "i-4"}},
		"plan":                        {fleet.RuntimeFilter{Plans: []string{"trial", "free"}, States: all}, []string{"i-3"}},
		"expired":                     {fleet.RuntimeFilter{Expired: true}, []string{"i-2"}},
		"expired, all":                {fleet.RuntimeFilter{Expired: true, States: all}, []string{"i-2", "i-3"}},
		"several":                     {fleet.RuntimeFilter{GlobalAccountIDs: []string{"ga-1", "ga-2"}, Regions: []string{"eu-demo-0", "eu-demo-1"}, SubAccountIDs: []string{"sa-1"}}, []string{"i-1"}},
		"nothing is both":             {fleet.RuntimeFilter{Shoots: []string{"c-123"}, Plans: []string{"trial"}, States: all}, []string{}},
		"many values":                 {fleet.RuntimeFilter{Regions: manyValues("eu-demo-1"), States: all}, []string{"i-1", "i-3", "i-5"}},
	} {
		for _, size := range []int{1, 2, 100} {
			require.Equal(t, test.want, listed(t, s, test.filter, size), name)
		}
	}
}

// manyValues returns more values than are looked up one by one, with one that exists.
func manyValues(one string) []string {
	values := []string{one}
	for i := range 40 {
		values = append(values, fmt.Sprintf("region-%d", i))
	}
	return values
}

func testRuntimeLists(t *testing.T, open Open) {
	s := open(t, nil)
	// The order is by creation, then by ID: in bytes, whatever language the database speaks.
	var docs []runtime.RuntimeDTO
	for _, id := range []string{"b", "B", "a-1", "a_1", "a1", "ä", "Z"} {
		doc := newRuntime(1)
		doc.InstanceID, doc.RuntimeID = id, "rt-"+id
		docs = append(docs, doc)
	}
	early, zero := newRuntime(-7), newRuntime(1)
	early.InstanceID, zero.InstanceID = "zz-early", "zz-zero"
	zero.Status.CreatedAt = time.Time{}
	put(t, s, "import", append(docs, early, zero)...)
	require.Equal(t, []string{"zz-zero", "zz-early", "B", "Z", "a-1", "a1", "a_1", "b", "ä"}, listed(t, s, fleet.RuntimeFilter{}, 2))
	require.Equal(t, []string{"B", "a1", "ä"}, listed(t, s, fleet.RuntimeFilter{RuntimeIDs: []string{"rt-ä", "rt-a1", "rt-B"}}, 2))
}

func testAllRuntimes(t *testing.T, open Open) {
	clock := newClock()
	s := open(t, clock.Now)
	got, err := s.AllRuntimes(t.Context())
	require.NoError(t, err)
	require.Empty(t, got)
	suspended := newRuntime(1)
	suspended.SubAccountRegion = "cf-eu10"
	op := runtime.Operation{State: "succeeded", OperationID: "s", CreatedAt: start}
	suspended.Status.Suspension = &runtime.OperationsData{Data: []runtime.Operation{op}}
	suspended.Status.Deprovisioning = &op
	upgraded := newRuntime(2)
	for i := range 3 {
		operation := runtime.Operation{State: "failed", OperationID: fmt.Sprint(i), CreatedAt: start.Add(time.Duration(i-5) * time.Hour)}
		if upgraded.Status.UpgradingCluster == nil {
			upgraded.Status.UpgradingCluster = &runtime.OperationsData{}
		}
		upgraded.Status.UpgradingCluster.Data = append(upgraded.Status.UpgradingCluster.Data, operation)
	}
	pending := newRuntime(3)
	pending.Status.Provisioning.State = "pending"
	pending.Status.State = ""
	put(t, s, "import", suspended, upgraded, pending)
	begin(t, s, "o-1", 2)
	admit(t, s, "o-1-op-001")

	got, err = s.AllRuntimes(t.Context())
	require.NoError(t, err)
	require.Len(t, got, 3)
	require.Equal(t, "i-1", got[0].InstanceID)
	// The maintenance policy decides by these.
	require.Equal(t, []string{suspended.ServicePlanName, suspended.ProviderRegion, suspended.SubAccountRegion, suspended.GlobalAccountID},
		[]string{got[0].ServicePlanName, got[0].ProviderRegion, got[0].SubAccountRegion, got[0].GlobalAccountID})
	require.NotEmpty(t, got[0].SubAccountRegion)
	require.Equal(t, runtime.StateSuspended, got[0].Status.State)
	require.Nil(t, got[0].Status.Deprovisioning)
	require.Equal(t, runtime.Suspension, got[0].LastOperation().Type)
	require.Equal(t, "plan-aws", got[1].ServicePlanID)
	require.Equal(t, runtime.StateUpgrading, got[1].Status.State)
	require.Equal(t, "o-1-op-001", got[1].LastOperation().OperationID)
	require.Len(t, got[1].Status.UpgradingCluster.Data, 1, "only the newest of each type")
	require.Equal(t, newRuntime(2).Status.Provisioning.CreatedAt, got[1].Status.Provisioning.CreatedAt)
	require.Equal(t, "pending", got[2].LastOperation().State)
	require.Equal(t, runtime.StateProvisioning, got[2].Status.State)
}

func testRuntimeVersions(t *testing.T, open Open) {
	s := open(t, nil)
	doc := newRuntime(1)
	doc.KymaVersion = "2.3"
	put(t, s, "import", doc, newRuntime(2))
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		return tx.SetRuntimeVersions(ctx, []fleet.RuntimeVersion{
			{InstanceID: "i-1", KymaVersion: "2.4", KymaConfig: []byte(`{"version":"2.4"}`)},
			{InstanceID: "i-2", ClusterConfig: []byte(`{"kubernetesVersion":"1.33.4","region":"eu"}`)},
			{InstanceID: "i-2", ClusterConfig: []byte(`{"kubernetesVersion":"1.33.5","region":null}`)},
			{InstanceID: "i-2", ClusterConfig: []byte(`not JSON`)},
			{InstanceID: "unknown", KymaVersion: "2.4"},
		})
	})
	got := runtimeOf(t, s, "i-1").DTO
	require.Equal(t, "2.4", got.KymaVersion)
	require.NotNil(t, got.KymaConfig)
	config, err := json.Marshal(runtimeOf(t, s, "i-2").DTO.ClusterConfig)
	require.NoError(t, err)
	require.Contains(t, string(config), `"kubernetesVersion":"1.33.5"`)
	require.Contains(t, string(config), `"region":"eu"`)
	require.Equal(t, fleet.ImportResult{Updated: 1}, put(t, s, "import", doc), "the source has the last word")

	// An operation that was read before the instance ID became known tells its version all the same.
	update(t, s, func(ctx context.Context, tx fleet.Tx) error {
		return tx.SetRuntimeVersions(ctx, []fleet.RuntimeVersion{{InstanceID: "rt-1", KymaVersion: "2.5"}, {InstanceID: "i-1", KymaConfig: []byte(`{"version":"2.5"}`)}})
	})
	got = runtimeOf(t, s, "i-1").DTO
	require.Equal(t, "2.5", got.KymaVersion)
	require.Equal(t, "2.5", got.KymaConfig.Version)
}

func testUnreadableRuntime(t *testing.T, open Open) {
	s := open(t, nil)
	put(t, s, "import", newRuntime(1), newRuntime(2), newRuntime(3))
	_, err := s.SQL().ExecContext(t.Context(), "UPDATE runtimes SET document = '{\"status\":', history = '[' WHERE instance_id = 'i-2'")
	require.NoError(t, err)
	require.Equal(t, []string{"i-1", "i-2", "i-3"}, listed(t, s, fleet.RuntimeFilter{}, 10))
	got := runtimeOf(t, s, "i-2")
	require.Equal(t, "rt-2", got.DTO.RuntimeID)
	require.Equal(t, runtime.StateSucceeded, got.DTO.Status.State)
	all, err := s.AllRuntimes(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, fleet.ImportResult{Updated: 1, Unchanged: 2}, put(t, s, "import", newRuntime(1), newRuntime(2), newRuntime(3)))
}
