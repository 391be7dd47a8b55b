package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// hour is a time on the day on which everything in a runtime's past happened.
func hour(h int) time.Time { return time.Date(2024, 5, 15, h, 0, 0, 0, time.UTC) }

// past is an operation in a runtime's past.
func past(t runtime.OperationType, state string, h int) runtime.Operation {
	return runtime.Operation{
		OperationID: string(t) + " at " + hour(h).Format(time.Kitchen), Type: t, State: state,
		CreatedAt: hour(h), UpdatedAt: hour(h), FinishedStages: []string{},
	}
}

// withPast gives a runtime another past.
func withPast(doc runtime.RuntimeDTO, operations ...runtime.Operation) runtime.RuntimeDTO {
	doc.Status = runtime.RuntimeStatus{CreatedAt: hour(10), ModifiedAt: hour(10)}
	add := func(list **runtime.OperationsData, op runtime.Operation) {
		if *list == nil {
			*list = &runtime.OperationsData{}
		}
		(*list).Data = append((*list).Data, op)
		(*list).Count++
		(*list).TotalCount++
	}
	for _, op := range operations {
		switch op.Type {
		case runtime.Provision:
			doc.Status.Provisioning = &op
		case runtime.Deprovision:
			doc.Status.Deprovisioning = &op
		case runtime.UpgradeKyma:
			add(&doc.Status.UpgradingKyma, op)
		case runtime.UpgradeCluster:
			add(&doc.Status.UpgradingCluster, op)
		case runtime.Update:
			add(&doc.Status.Update, op)
		case runtime.Suspension:
			add(&doc.Status.Suspension, op)
		case runtime.Unsuspension:
			add(&doc.Status.Unsuspension, op)
		}
	}
	return doc
}

// page is a document with these runtimes.
func page(docs ...runtime.RuntimeDTO) runtime.RuntimesPage {
	return runtime.RuntimesPage{Data: docs, Count: len(docs), TotalCount: len(docs)}
}

// The newest operation decides whether a runtime is a target; what is not known is none, and the others are listed with a reason.
func TestCase_R1(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 8, Version: "1.34.5"})
	s := server.StartLocal(t, nil, with(settingsFor(t, f), "source-gardener", "false"))
	s.Ready(t)
	provisioned, suspended := past(runtime.Provision, orchestration.Succeeded, 10), past(runtime.Suspension, orchestration.Succeeded, 11)
	twin := suspended
	twin.Type = runtime.Deprovision
	docs := f.Runtimes(t).Data
	upgraded := withPast(docs[6], provisioned, past(runtime.UpgradeCluster, orchestration.Failed, 11))
	s.Import(t, page(
		withPast(docs[0], provisioned, suspended, twin, past(runtime.Unsuspension, orchestration.Succeeded, 12)),
		withPast(docs[1], provisioned, suspended, past(runtime.Unsuspension, orchestration.Failed, 12)),
		withPast(docs[2], provisioned, suspended, past(runtime.Unsuspension, orchestration.InProgress, 12)),
		withPast(docs[3], provisioned, past(runtime.Suspension, orchestration.InProgress, 11)),
		withPast(docs[4], provisioned, past(runtime.UpgradeCluster, orchestration.Failed, 11)),
		withPast(docs[5], past(runtime.Provision, orchestration.InProgress, 10)),
		upgraded,
	))
	requireTargets := func(p orchestration.Parameters, want map[string]bool, leftOut map[string]orchestration.LeftOutReason) {
		t.Helper()
		id := s.Upgrade(t, p)
		o := s.Ended(t, id, orchestration.Succeeded)
		got := map[string]bool{}
		for name := range s.Operations(t, id) {
			got[name] = true
		}
		require.Equal(t, want, got)
		list, err := s.ListLeftOut(id, orchestration.ListParameters{})
		require.NoError(t, err)
		reasons := map[string]orchestration.LeftOutReason{}
		for _, l := range list.Data {
			reasons[l.ShootName] = l.Reason
			require.NotEmpty(t, l.Description)
		}
		require.Equal(t, leftOut, reasons)
		require.Contains(t, o.Description, "left out")
	}
	reasons := map[string]orchestration.LeftOutReason{
		docs[1].ShootName: orchestration.LeftOutNotProvisioned,
		docs[2].ShootName: orchestration.LeftOutNotProvisioned,
		docs[3].ShootName: orchestration.LeftOutSuspended,
		docs[5].ShootName: orchestration.LeftOutNotProvisioned,
		docs[7].ShootName: orchestration.LeftOutUnknownToLister,
	}
	dry := toTarget(10, all)
	dry.DryRun = true
	requireTargets(dry, map[string]bool{docs[0].ShootName: true, docs[4].ShootName: true, docs[6].ShootName: true}, reasons)
	require.Empty(t, f.Upgrades(t))

	// Meanwhile one of them went away, although its Shoot is still there.
	s.Import(t, page(withPast(docs[6], provisioned, past(runtime.Deprovision, orchestration.Succeeded, 13))))
	reasons[docs[6].ShootName] = orchestration.LeftOutDeprovisioned
	requireTargets(toTarget(10, all), map[string]bool{docs[0].ShootName: true, docs[4].ShootName: true}, reasons)
	require.Equal(t, map[string]int{docs[0].ShootName: 1, docs[4].ShootName: 1}, f.Upgrades(t))
}

// A target that selects nothing by name is refused and stores nothing; the fields of one entry are joined by AND.
func TestCase_R3(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 2, Version: "1.34.5"})
	s := server.StartLocal(t, nil, settingsFor(t, f))
	s.Ready(t)
	docs := f.Runtimes(t).Data
	docs[0].ServicePlanName, docs[1].ServicePlanName = "aws", "trial"
	s.Import(t, page(docs...))
	for body, field := range map[string]string{
		`{"targets":{"include":[{}]}}`:                                      "targets.include[0]",
		`{"targets":{"include":[{"runtime":"` + docs[0].RuntimeID + `"}]}}`: "targets.include[0].runtime",
		`{"targets":{"include":[{"target":"all"},{}]}}`:                     "targets.include[1]",
		`{"targets":{"include":[]}}`:                                        "targets.include",
		`{}`:                                                                "targets.include",
	} {
		answer := s.Send(t, http.MethodPost, "/upgrade/cluster", body)
		require.Equal(t, http.StatusBadRequest, answer.Status, answer.Body)
		got, _ := answer.Problem(t)
		require.Equal(t, field, got)
	}
	list, err := s.ListOrchestrations(orchestration.ListParameters{})
	require.NoError(t, err)
	require.Empty(t, list.Data)

	none := s.Ended(t, s.Upgrade(t, toTarget(1, orchestration.RuntimeTarget{RuntimeID: docs[0].RuntimeID, PlanName: "trial"})), orchestration.Succeeded)
	require.Contains(t, none.Description, "no runtime")
	require.Empty(t, none.OperationStats)
	require.Empty(t, f.Audit(t).Requests)

	s.Ended(t, s.Upgrade(t, toTarget(1, orchestration.RuntimeTarget{RuntimeID: docs[0].RuntimeID, PlanName: "aws"})), orchestration.Succeeded)
	require.Equal(t, map[string]int{docs[0].ShootName: 1}, f.Upgrades(t))
}

// A request without a strategy, or with no workers, is parallel, immediate, with one worker, and ends; what makes no sense is refused.
func TestCase_S1(t *testing.T) {
	t.Parallel()
	f := landscape.New(t, landscape.Options{Shoots: 3, Version: "1.34.3"})
	s := startLocal(t, f, nil)
	const everything = `"targets":{"include":[{"target":"all"}]}`
	upgrade := func(body string) string {
		t.Helper()
		answer := s.Send(t, http.MethodPost, "/upgrade/cluster", body)
		require.Equal(t, http.StatusAccepted, answer.Status, answer.Body)
		var created orchestration.UpgradeResponse
		answer.Decode(t, &created)
		return created.OrchestrationID
	}
	for _, request := range []struct{ version, strategy string }{
		{"1.34.5", ``},
		{landscape.Target, `,"strategy":{"type":"parallel","schedule":"immediate","parallel":{"workers":0}}`},
	} {
		id := upgrade(`{"version":"` + request.version + `",` + everything + request.strategy + `}`)
		o := s.Ended(t, id, orchestration.Succeeded)
		require.Equal(t, orchestration.ParallelStrategy, o.Parameters.Strategy.Type)
		require.Equal(t, orchestration.Immediate, o.Parameters.Strategy.Schedule)
		require.Equal(t, 1, o.Parameters.Strategy.Parallel.Workers)
		require.Equal(t, 1, mostAtOnce(s.Operations(t, id)))
		for _, shoot := range f.Shoots(t) {
			require.Equal(t, request.version, shoot.Version)
		}
	}
	for strategy, field := range map[string]string{
		`{"parallel":{"workers":-1}}`: "strategy.parallel.workers",
		`{"type":"serial"}`:           "strategy.type",
	} {
		answer := s.Send(t, http.MethodPost, "/upgrade/cluster", `{`+everything+`,"strategy":`+strategy+`}`)
		require.Equal(t, http.StatusBadRequest, answer.Status, answer.Body)
		got, _ := answer.Problem(t)
		require.Equal(t, field, got)
	}
	id := upgrade(`{"version":"1.35.4",` + everything + `,"strategy":{"parallel":{"workers":5}}}`)
	s.Ended(t, id, orchestration.Succeeded)
	require.Equal(t, 3, mostAtOnce(s.Operations(t, id)))
}
