package httpapi

import (
	"fmt"
	"iter"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi/strictjson"
	"github.com/swell-fleet/swell/internal/quantity"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// runtimeDetail returns which operations of each runtime are asked for.
func (q *query) runtimeDetail() runtime.OperationDetail {
	word, ok := q.one(runtime.OperationDetailParam)
	detail := runtime.OperationDetail(word)
	switch {
	case !ok:
		return runtime.AllOperation
	case detail != runtime.AllOperation && detail != runtime.LastOperation:
		q.fail(runtime.OperationDetailParam, fmt.Sprintf("%s is neither %s nor %s", quote(word), runtime.AllOperation, runtime.LastOperation))
	}
	return detail
}

func (a *api) listRuntimes(c *call) (answer, error) {
	q := c.query
	page := q.page(a.PageSize, a.MaxPageSize)
	detail := q.runtimeDetail()
	kymaConfig, clusterConfig := q.flag(runtime.KymaConfigParam), q.flag(runtime.ClusterConfigParam)
	filter := fleet.RuntimeFilter{
		GlobalAccountIDs: q.all(runtime.GlobalAccountIDParam),
		SubAccountIDs:    q.all(runtime.SubAccountIDParam),
		InstanceIDs:      q.all(runtime.InstanceIDParam),
		RuntimeIDs:       q.all(runtime.RuntimeIDParam),
		Regions:          q.all(runtime.RegionParam),
		Shoots:           q.all(runtime.ShootParam),
		Plans:            q.all(runtime.PlanParam),
		States:           q.runtimeStates(),
		Expired:          q.flag(runtime.ExpiredParam),
	}
	withoutShoot := q.flag(runtime.WithoutShootParam)
	if q.err != nil {
		return answer{}, q.err
	}
	if withoutShoot {
		some, err := a.keepWithoutShoot(c.ctx(), &filter)
		if err != nil {
			return answer{}, err
		}
		if !some {
			return answer{body: runtime.RuntimesPage{Data: []runtime.RuntimeDTO{}}}, nil
		}
	}
	rows, total, err := a.Reader.ListRuntimes(c.ctx(), filter, page)
	if err != nil {
		return answer{}, fmt.Errorf("list runtimes: %w", err)
	}
	list := runtime.RuntimesPage{Data: make([]runtime.RuntimeDTO, len(rows)), Count: len(rows), TotalCount: total}
	for i := range rows {
		doc := rows[i].Document(detail)
		if !kymaConfig {
			doc.KymaConfig = nil
		}
		if !clusterConfig {
			doc.ClusterConfig = nil
		}
		fillLists(&doc.Status)
		fillConfigs(doc.KymaConfig, doc.ClusterConfig)
		list.Data[i] = doc
	}
	return answer{body: list}, nil
}

// fillLists makes the lists that are always written [] instead of null where they are empty.
func fillLists(status *runtime.RuntimeStatus) {
	for _, op := range []*runtime.Operation{status.Provisioning, status.Deprovisioning} {
		if op != nil {
			op.FinishedStages = notNil(op.FinishedStages)
		}
	}
	for _, list := range []*runtime.OperationsData{
		status.UpgradingKyma, status.UpgradingCluster, status.Update, status.Suspension, status.Unsuspension,
	} {
		if list == nil {
			continue
		}
		list.Data = notNil(list.Data)
		for i := range list.Data {
			list.Data[i].FinishedStages = notNil(list.Data[i].FinishedStages)
		}
	}
}

// importSource is the name of the source of runtimes that were imported.
const importSource = "import"

func (a *api) importRuntimes(c *call) (answer, error) {
	_, text, err := readBody(c.w, c.r, a.MaxImport, jsonType)
	if err != nil {
		return answer{}, err
	}
	var page runtime.RuntimesPage
	if err := strictjson.Unmarshal(text, &page); err != nil {
		return answer{}, err
	}
	if err := checkImport(&page); err != nil {
		return answer{}, err
	}
	result, err := a.Commands.ImportRuntimes(c.ctx(), c.actor(), importSource, page.Data)
	if err != nil {
		return answer{}, fmt.Errorf("import runtimes: %w", err)
	}
	return answer{body: orchestration.ImportResponse{Imported: result.Imported, Updated: result.Updated, Unchanged: result.Unchanged}}, nil
}

func (a *api) forgetRuntime(c *call) (answer, error) {
	id, err := c.id("instance_id")
	if err != nil {
		return answer{}, err
	}
	forgotten, err := a.Commands.ForgetRuntime(c.ctx(), c.actor(), id)
	if err != nil {
		return answer{}, fmt.Errorf("forget runtime: %w", err)
	}
	return answer{body: orchestration.ForgetResponse{InstanceID: forgotten.InstanceID, CanceledOperations: forgotten.Canceled}}, nil
}

// settleTimes puts the times of a document in UTC, as the API tells all of them, and drops those in the year 1, which clients send for times that are not set: a
// runtime that was never to expire has not expired.
func settleTimes(status *runtime.RuntimeStatus) {
	for _, at := range []**time.Time{&status.ExpiredAt, &status.DeletedAt} {
		if *at != nil && (*at).Year() <= 1 {
			*at = nil
		}
		if *at != nil {
			**at = (*at).UTC()
		}
	}
	status.CreatedAt, status.ModifiedAt = status.CreatedAt.UTC(), status.ModifiedAt.UTC()
	for _, op := range operationsOf(status) {
		op.CreatedAt, op.UpdatedAt = op.CreatedAt.UTC(), op.UpdatedAt.UTC()
	}
}

// operationsOf goes through all operations of a runtime by the paths of their keys.
func operationsOf(status *runtime.RuntimeStatus) iter.Seq2[string, *runtime.Operation] {
	return func(yield func(string, *runtime.Operation) bool) {
		for _, single := range []struct {
			key string
			op  *runtime.Operation
		}{{"provisioning", status.Provisioning}, {"deprovisioning", status.Deprovisioning}} {
			if single.op != nil && !yield(single.key, single.op) {
				return
			}
		}
		for _, list := range []struct {
			key string
			ops *runtime.OperationsData
		}{
			{"upgradingKyma", status.UpgradingKyma}, {"upgradingCluster", status.UpgradingCluster}, {"update", status.Update},
			{"suspension", status.Suspension}, {"unsuspension", status.Unsuspension},
		} {
			if list.ops == nil {
				continue
			}
			for i := range list.ops.Data {
				if !yield(fmt.Sprintf("%s.data[%d]", list.key, i), &list.ops.Data[i]) {
					return
				}
			}
		}
	}
}

// checkImport refuses a document that does not say which runtimes it is about, and one that was cut short.
func checkImport(page *runtime.RuntimesPage) error {
	if page.Data == nil {
		return badRequest("data", "is missing")
	}
	if page.Count != 0 && page.Count != len(page.Data) {
		return badRequest("count", fmt.Sprintf("is %d, but data has %s", page.Count, quantity.Of(len(page.Data), "runtime")))
	}
	places := make(map[string]int, len(page.Data))
	for i := range page.Data {
		id, field := page.Data[i].InstanceID, fmt.Sprintf("data[%d].instanceID", i)
		if id == "" || len(id) > maxID {
			return badRequest(field, quote(id)+" is not an ID")
		}
		if before, ok := places[id]; ok {
			return badRequest(field, fmt.Sprintf("%s is the instance ID of data[%d] too", quote(id), before))
		}
		places[id] = i
		settleTimes(&page.Data[i].Status)
		if word := page.Data[i].Status.State; word != "" {
			if _, ok := fleet.ParseRuntimeState(string(word)); !ok {
				return badRequest(fmt.Sprintf("data[%d].status.state", i), fmt.Sprintf("%s, of the runtime %s, is no state of a runtime", quote(string(word)), quote(id)))
			}
		}
		for key, op := range operationsOf(&page.Data[i].Status) {
			// One without a state has not touched its runtime.
			if _, ok := fleet.ParseState(op.State); !ok && op.State != "" {
				return badRequest(fmt.Sprintf("data[%d].status.%s.state", i, key), fmt.Sprintf("%s, of the runtime %s, is no state of an operation", quote(op.State), quote(id)))
			}
		}
	}
	return nil
}
