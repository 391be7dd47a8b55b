package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// Walking through operations with states brings each one once, with the same total on every page, also through the client.
func TestCase_P1(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 5, Version: "1.34.5", Window: "010000+0000/020000+0000"})
	names := f.Names(t)
	// Three fail at once because Gardener is told to ignore them; two wait for their windows.
	for _, name := range []string{names[0], names[2], names[4]} {
		f.SetWindow(t, name, "110000+0000", "130000+0000")
		f.Annotate(t, name, "shoot.gardener.cloud/ignore", "true")
	}
	s := startLocal(t, f, server.NewClock(instant(t, "2024-05-15T12:00:00Z")))
	id := s.Upgrade(t, inWindow(toTarget(5, all)))
	for _, name := range []string{names[0], names[2], names[4]} {
		s.InState(t, id, name, orchestration.Failed)
	}
	walk := func(query string, sizes ...int) (seen []string) {
		t.Helper()
		for i, size := range sizes {
			answer := s.Send(t, http.MethodGet, fmt.Sprintf("/orchestrations/%s/operations?%s&page_size=2&page=%d", id, query, i+1), "")
			require.Equal(t, http.StatusOK, answer.Status, answer.Body)
			var list orchestration.OperationResponseList
			answer.Decode(t, &list)
			require.Len(t, list.Data, size)
			require.Equal(t, size, list.Count)
			for _, op := range list.Data {
				seen = append(seen, op.ShootName)
			}
			if size == 0 {
				require.Contains(t, answer.Body, `"data":[]`)
			}
		}
		return seen
	}
	require.ElementsMatch(t, names, walk("state=failed&state=pending", 2, 2, 1, 0))
	require.ElementsMatch(t, []string{names[0], names[2], names[4]}, walk("state=failed", 2, 1, 0))

	states := []string{orchestration.Failed, orchestration.Pending}
	list, err := s.ListOperations(id, orchestration.ListParameters{States: states, PageSize: 2})
	require.NoError(t, err)
	require.Equal(t, []string{orchestration.Failed, orchestration.Pending}, states)
	require.Equal(t, 5, list.TotalCount)
	var got []string
	for _, op := range list.Data {
		got = append(got, op.ShootName)
	}
	require.ElementsMatch(t, names, got)
}

// Names in filters of runtimes are exact values, and a state that is not known is refused instead of widening the answer.
func TestCase_F1(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{})
	s := server.StartLocal(t, nil, settingsFor(t, f))
	provisioned, suspended := past(runtime.Provision, orchestration.Succeeded, 10), past(runtime.Suspension, orchestration.Succeeded, 11)
	doc := func(id, shoot, plan string, operations ...runtime.Operation) runtime.RuntimeDTO {
		return withPast(runtime.RuntimeDTO{InstanceID: "in-" + id, RuntimeID: id, ShootName: shoot, ServicePlanName: plan}, operations...)
	}
	s.Import(t, page(
		doc("rt-1", "c-123", "aws", provisioned),
		doc("rt-2", "c-1234", "aws", provisioned),
		doc("rt-3", "c-9", "trial", provisioned, suspended),
		doc("rt-4", "c-4", "aws", provisioned, past(runtime.Deprovision, orchestration.Succeeded, 11)),
		doc("rt-5", "c-5", "trial", provisioned, suspended, past(runtime.Unsuspension, orchestration.Succeeded, 12)),
	))
	for query, want := range map[string][]string{
		"shoot=c-123":                     {"rt-1"},
		"shoot=c-123&shoot=c-9&state=all": {"rt-1", "rt-3"},
		"shoot=c.123":                     nil,
		"state=suspended":                 {"rt-3"},
		"state=Suspended":                 {"rt-3"},
		"plan=trial":                      {"rt-5"},
		"":                                {"rt-1", "rt-2", "rt-5"},
	} {
		answer := s.Send(t, http.MethodGet, "/runtimes?"+query, "")
		require.Equal(t, http.StatusOK, answer.Status, answer.Body)
		var list runtime.RuntimesPage
		answer.Decode(t, &list)
		var got []string
		for _, rt := range list.Data {
			got = append(got, rt.RuntimeID)
		}
		slices.Sort(got)
		require.Equal(t, want, got, query)
		require.Equal(t, len(want), list.Count, query)
		require.Equal(t, len(want), list.TotalCount, query)
	}
	answer := s.Send(t, http.MethodGet, "/runtimes?state=succeded", "")
	require.Equal(t, http.StatusBadRequest, answer.Status)
	field, detail := answer.Problem(t)
	require.Equal(t, "state", field)
	require.Contains(t, detail, "succeded")
}

// The state of a runtime says what it is now, however many operations the answer shows, and decides whether it is upgraded.
func TestCase_ST1(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 10, Version: "1.34.5"})
	s := server.StartLocal(t, nil, settingsFor(t, f))
	s.Ready(t)
	provisioned, suspended := past(runtime.Provision, orchestration.Succeeded, 10), past(runtime.Suspension, orchestration.Succeeded, 11)
	removed := past(runtime.Deprovision, orchestration.Succeeded, 11)
	leftOver := removed
	leftOver.ExecutedButNotCompletedSteps = []string{"Remove_Shoot"}
	suspending := past(runtime.Suspension, orchestration.InProgress, 11)
	tests := []struct {
		then   []runtime.Operation
		want   runtime.State
		target bool
	}{
		{[]runtime.Operation{suspended, past(runtime.Update, orchestration.Succeeded, 12)}, runtime.StateSuspended, false},
		{[]runtime.Operation{suspended, past(runtime.Update, orchestration.Failed, 12)}, runtime.StateSuspended, false},
		{[]runtime.Operation{past(runtime.Suspension, orchestration.Failed, 11)}, runtime.StateFailed, false},
		{[]runtime.Operation{suspending}, runtime.StateDeprovisioning, false},
		{[]runtime.Operation{suspended, past(runtime.Unsuspension, orchestration.InProgress, 12)}, runtime.StateProvisioning, false},
		{[]runtime.Operation{suspended, past(runtime.Unsuspension, orchestration.Succeeded, 12)}, runtime.StateSucceeded, true},
		{[]runtime.Operation{removed}, runtime.StateDeprovisioned, false},
		{[]runtime.Operation{leftOver}, runtime.StateDeprovisionIncomplete, false},
		{[]runtime.Operation{past(runtime.UpgradeCluster, orchestration.InProgress, 11)}, runtime.StateUpgrading, true},
		{[]runtime.Operation{past(runtime.UpgradeCluster, orchestration.Failed, 11)}, runtime.StateError, true},
	}
	docs := f.Runtimes(t).Data
	want := map[string]int{}
	for i, test := range tests {
		docs[i] = withPast(docs[i], append([]runtime.Operation{provisioned}, test.then...)...)
		if test.target {
			want[docs[i].ShootName] = 1
		}
	}
	twin := suspending
	docs[3].Status.Deprovisioning = &twin
	s.Import(t, page(docs...))
	for i, test := range tests {
		for _, detail := range []runtime.OperationDetail{"", runtime.AllOperation, runtime.LastOperation} {
			got := s.ListRuntimes(t, runtime.ListParameters{RuntimeIDs: []string{docs[i].RuntimeID}, States: []runtime.State{test.want}, OperationDetail: detail})
			require.Len(t, got, 1, "%d %s", i, detail)
			require.Equal(t, test.want, got[0].Status.State)
			if i == 3 {
				require.Nil(t, got[0].Status.Deprovisioning)
			}
		}
	}
	s.Ended(t, s.Upgrade(t, toTarget(5, all)), orchestration.Succeeded)
	require.Equal(t, want, f.Upgrades(t))
}
