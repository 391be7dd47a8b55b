package store

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/uptrace/bun"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/runtime"
)

var runtimeRowType = reflect.TypeFor[runtimeRow]()

// maxSplit is how many values of a filter are looked up one by one; more are looked up at once and sorted.
const maxSplit = 16

// allChunk is how many runtimes AllRuntimes reads at a time.
const allChunk = 5000

// record reads the row. A document that cannot be read shows as what is known of it otherwise.
func (r *runtimeRow) record() fleet.Runtime {
	rt := fleet.Runtime{State: runtime.State(r.State), Source: r.Source, UpdatedAt: timeOf(r.UpdatedAt)}
	if json.Unmarshal([]byte(r.Document), &rt.DTO) != nil {
		brief := briefRow{
			InstanceID: r.InstanceID, RuntimeID: r.RuntimeID, GlobalAccountID: r.GlobalAccountID, SubAccountID: r.SubAccountID,
			Region: r.Region, PlatformRegion: r.PlatformRegion, ShootName: r.ShootName, PlanID: r.PlanID, PlanName: r.PlanName,
		}
		rt.DTO = brief.brief()
	}
	rt.DTO.Status.State = rt.State
	return rt
}

// briefRow is the part of a runtime that the resolver asks for.
type briefRow struct {
	InstanceID      string `bun:"instance_id"`
	RuntimeID       string `bun:"runtime_id"`
	GlobalAccountID string `bun:"global_account_id"`
	SubAccountID    string `bun:"sub_account_id"`
	Region          string `bun:"region"`
	PlatformRegion  string `bun:"platform_region"`
	ShootName       string `bun:"shoot_name"`
	PlanID          string `bun:"plan_id"`
	PlanName        string `bun:"plan_name"`
	State           string `bun:"state"`
	History         string `bun:"history"`
}

// brief makes a document of the columns.
func (r *briefRow) brief() runtime.RuntimeDTO {
	return runtime.RuntimeDTO{
		InstanceID: r.InstanceID, RuntimeID: r.RuntimeID, GlobalAccountID: r.GlobalAccountID, SubAccountID: r.SubAccountID,
		ProviderRegion: r.Region, SubAccountRegion: r.PlatformRegion, ShootName: r.ShootName, ServicePlanID: r.PlanID, ServicePlanName: r.PlanName,
	}
}

// ListRuntimes returns a page of the runtimes by creation and instance ID. It takes three queries: the number of all that match, the page, and
// Swell's own operations on the runtimes of the page.
func (s *Store) ListRuntimes(ctx context.Context, f fleet.RuntimeFilter, p fleet.Page) ([]fleet.Runtime, int, error) {
	if err := checkPage(p); err != nil {
		return nil, 0, err
	}
	q, states := runtimeQuery(f)
	var rows []runtimeRow
	var total int
	own := map[string][]fleet.OwnOperation{}
	err := s.snapshot(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		if states != nil {
			total, err = countStates(ctx, tx, states)
		} else {
			query, args := q.count()
			err = tx.NewRaw(query, args...).Scan(ctx, &total)
		}
		if err != nil || p.Offset() >= total {
			return err
		}
		query, args := q.rows(columns[runtimeRow](tx, ""), p)
		if err := tx.NewRaw(query, args...).Scan(ctx, &rows); err != nil || f.WithoutOwn || len(rows) == 0 {
			return err
		}
		ids := make([]string, len(rows))
		for i := range rows {
			ids[i] = rows[i].InstanceID
		}
		own, err = ownOperations(ctx, tx, ids)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	out := make([]fleet.Runtime, len(rows))
	for i := range rows {
		out[i] = rows[i].record()
		out[i].Own = own[rows[i].InstanceID]
	}
	return out, total, nil
}

// runtimeQuery turns a filter into a query. When the filter is by state alone it also returns a function that tells the states it takes, so
// that the number of all that match can be read from the counts.
func runtimeQuery(f fleet.RuntimeFilter) (q listQuery, states func(runtime.State) bool) {
	q = listQuery{table: "runtimes", key: "instance_id", order: []string{"created_at", "instance_id"}}
	filtered := false
	split := ""
	switch {
	case len(f.States) == 0:
		q.and("hidden = FALSE")
		states = func(s runtime.State) bool { return !fleet.HiddenRuntimeState(s) }
	case slices.Contains(f.States, runtime.AllState):
		states = func(runtime.State) bool { return true }
	default:
		wanted := make([]runtime.State, 0, len(f.States))
		for _, s := range f.States {
			if parsed, ok := fleet.ParseRuntimeState(string(s)); ok {
				s = parsed
			}
			wanted = append(wanted, s)
		}
		q.split("state", distinct(textValues(wanted)))
		split = "state"
		states = func(s runtime.State) bool { return slices.Contains(wanted, s) }
	}
	for _, filter := range []struct {
		column string
		values []string
	}{
		{"instance_id", f.InstanceIDs}, {"runtime_id", f.RuntimeIDs}, {"shoot_name", f.Shoots}, {"sub_account_id", f.SubAccountIDs},
		{"global_account_id", f.GlobalAccountIDs}, {"plan_name", f.Plans}, {"region", f.Regions},
	} {
		values := distinct(filter.values)
		if len(values) == 0 {
			continue
		}
		filtered = true
		if split == "" && len(values) > 1 && len(values) <= maxSplit {
			q.split(filter.column, values)
			split = filter.column
			continue
		}
		q.in(filter.column, values)
	}
	if f.Expired {
		q.and("expired = TRUE")
		filtered = true
	}
	if filtered {
		states = nil
	}
	return q, states
}

// distinct drops what appears twice, compared as it is stored.
func distinct(values []string) []string {
	seen := make(map[string]bool, len(values))
	out := make([]string, 0, len(values))
	for _, v := range values {
		if v = indexText(v); !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// countStates returns how many runtimes are in the states that wanted takes.
func countStates(ctx context.Context, tx bun.Tx, wanted func(runtime.State) bool) (int, error) {
	var rows []struct {
		State string `bun:"state"`
		N     int    `bun:"n"`
	}
	if err := tx.NewRaw("SELECT state, sum(n) AS n FROM runtime_counts GROUP BY state").Scan(ctx, &rows); err != nil {
		return 0, err
	}
	total := 0
	for _, r := range rows {
		if wanted(runtime.State(r.State)) {
			total += r.N
		}
	}
	return total, nil
}

// ownOperations reads Swell's own operations on runtimes as lists show them, newest first.
func ownOperations(ctx context.Context, tx bun.Tx, instanceIDs []string) (map[string][]fleet.OwnOperation, error) {
	var rows []operationRow
	err := tx.NewRaw(`SELECT id, orchestration_id, instance_id, type, state, description, reason, version, finished_stages, started_at, created_at, updated_at
		FROM operations WHERE instance_id IN (?) AND `+ownOnly+`
		ORDER BY instance_id, started_at DESC, id`, bun.List(instanceIDs)).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]fleet.OwnOperation, len(instanceIDs))
	for i := range rows {
		op := rows[i].record()
		if own, ok := op.Own(); ok {
			out[op.InstanceID] = append(out[op.InstanceID], own)
		}
	}
	return out, nil
}

// AllRuntimes returns every runtime with its newest operations, by instance ID. It reads no documents.
func (s *Store) AllRuntimes(ctx context.Context) ([]runtime.RuntimeDTO, error) {
	var out []runtime.RuntimeDTO
	err := s.snapshot(ctx, func(ctx context.Context, tx bun.Tx) error {
		total, err := countStates(ctx, tx, func(runtime.State) bool { return true })
		if err != nil {
			return err
		}
		out = make([]runtime.RuntimeDTO, 0, total)
		after := ""
		rows, ops := make([]briefRow, 0, allChunk), make([]markRow, 0, allChunk)
		for {
			err := tx.NewRaw(`SELECT instance_id, runtime_id, global_account_id, sub_account_id, region, platform_region, shoot_name, plan_id, plan_name, state, history
				FROM runtimes WHERE instance_id > ? ORDER BY instance_id LIMIT ?`, after, allChunk).Scan(ctx, &rows)
			if err != nil || len(rows) == 0 {
				return err
			}
			last := rows[len(rows)-1].InstanceID
			if err := tx.NewRaw(markQuery+" AND instance_id > ? AND instance_id <= ?", after, last).Scan(ctx, &ops); err != nil {
				return err
			}
			own := make(map[string][]fleet.Mark, len(rows))
			for i := range ops {
				addMark(own, &ops[i])
			}
			for i := range rows {
				doc := rows[i].brief()
				history := historyOf(rows[i].History)
				history.Brief(&doc, runtime.State(rows[i].State), own[doc.InstanceID])
				out = append(out, doc)
			}
			after = last
		}
	})
	return out, err
}
