package store_test

import (
	"database/sql"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/store"
	"github.com/swell-fleet/swell/internal/testkit/postgres"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// TestListsUseIndexes: no filter of the API reads a whole table, and none takes more than three queries.
func TestListsUseIndexes(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) (*store.Store, func(db *sql.Tx, query string) (string, error)){
		"sqlite": func(t *testing.T) (*store.Store, func(*sql.Tx, string) (string, error)) {
			t.Helper()
			s, err := store.OpenSQLite(t.Context(), store.SQLiteOptions{Dir: t.TempDir(), Clock: time.Now})
			require.NoError(t, err)
			return s, func(tx *sql.Tx, query string) (string, error) { return plan(tx, "EXPLAIN QUERY PLAN "+query) }
		},
		"postgres": func(t *testing.T) (*store.Store, func(*sql.Tx, string) (string, error)) {
			t.Helper()
			s, err := store.OpenPostgres(t.Context(), store.PostgresOptions{URL: postgres.URL(t), MaxConns: 4})
			require.NoError(t, err)
			return s, func(tx *sql.Tx, query string) (string, error) {
				// Small tables are read whole because that is cheaper; what matters is whether it can be done otherwise.
				if _, err := tx.Exec("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off"); err != nil {
					return "", err
				}
				return plan(tx, "EXPLAIN "+query)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, explain := open(t)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			importSome(t, s)
			log := s.LogQueries()
			for filter, read := range listCalls(t, s) {
				log.Queries = nil
				read()
				require.NotEmpty(t, log.Queries, filter)
				require.LessOrEqual(t, len(log.Queries), 3, filter)
				for _, query := range log.Queries {
					tx, err := s.SQL().Begin()
					require.NoError(t, err)
					text, err := explain(tx, query)
					require.NoError(t, tx.Rollback())
					require.NoError(t, err)
					if filter == ofSource {
						require.Contains(t, text, "runtimes_source", "%s\n%s", query, text)
					}
					if index := eventIndexes[filter]; index != "" {
						require.Contains(t, text, index, "%s\n%s\n%s", filter, query, text)
					}
					for _, line := range strings.Split(text, "\n") {
						for _, table := range []string{"runtimes", "operations", "orchestrations", "events", "left_out"} {
							require.NotContains(t, line, "Seq Scan on "+table, "%s\n%s\n%s", filter, query, text)
							// Without a filter events are read in the order of their primary key, which SQLite calls a scan.
							if strings.HasPrefix(line, "SCAN "+table) && filter != "events by none" {
								require.Contains(t, line, "INDEX", "%s\n%s\n%s", filter, query, text)
							}
							// Before an event nothing is passed over, and one request of a walk costs no more than another.
							if strings.HasPrefix(filter, eventsBefore) {
								require.NotContains(t, line, "SCAN "+table, "%s\n%s\n%s", filter, query, text)
								require.NotContains(t, strings.ToLower(query), "count(", filter)
							}
						}
					}
				}
			}
		})
	}
}

// ofSource is the call whose answer has to come from an index that holds all of it.
const ofSource = "runtimes of a source"

// eventsBefore begins the names of the calls that go on from an event.
const eventsBefore = "events before one by "

// eventIndexes are the indexes that have to carry lists of events: each holds the events of one filter in their order.
var eventIndexes = map[string]string{
	"events by level info": "events_info", "events by level error": "events_error", "events by orchestration": "events_orchestration",
	"events by orchestration and level": "events_orchestration", "events by operation": "events_operation", "events by instance": "events_instance",
	eventsBefore + "level info": "events_info", eventsBefore + "level error": "events_error", eventsBefore + "orchestration": "events_orchestration",
	eventsBefore + "orchestration and level": "events_orchestration", eventsBefore + "operation": "events_operation", eventsBefore + "instance": "events_instance",
}

// importSome puts in enough that lists have a page.
func importSome(t *testing.T, s fleet.Store) {
	t.Helper()
	docs := make([]runtime.RuntimeDTO, 20)
	for i := range docs {
		docs[i] = benchRuntime(i)
	}
	storeDo(t, s, func(tx fleet.Tx) error {
		_, err := tx.PutRuntimes(t.Context(), "import", docs)
		return err
	})
	fill(t, s, "o-1", 20, func(i int, now time.Time, op *fleet.Operation) {
		if i%2 == 0 {
			op.State, op.StartedAt = fleet.Failed, now
		}
	})
	storeDo(t, s, func(tx fleet.Tx) error {
		if err := tx.InsertLeftOut(t.Context(), []fleet.LeftOut{{OrchestrationID: "o-1"}}); err != nil {
			return err
		}
		return tx.AppendEvents(t.Context(), []fleet.Event{
			{OrchestrationID: "o-1", OperationID: "op-1", InstanceID: "i-1", Level: fleet.LevelError},
			{OrchestrationID: "o-1", OperationID: "op-1", InstanceID: "i-1"},
		})
	})
}

// listCalls are all lists with all filters of the API.
func listCalls(t *testing.T, s *store.Store) map[string]func() {
	t.Helper()
	page := fleet.Page{Number: 1, Size: 10}
	one, doc := []string{"x"}, benchRuntime(3)
	calls := map[string]func(){}
	for name, f := range map[string]fleet.RuntimeFilter{
		"none": {}, "all": {States: []runtime.State{runtime.AllState}}, "states": {States: []runtime.State{runtime.StateError, runtime.StateSuspended}},
		"account": {GlobalAccountIDs: []string{doc.GlobalAccountID}}, "subaccount": {SubAccountIDs: []string{doc.SubAccountID}},
		"instance": {InstanceIDs: []string{doc.InstanceID}}, "runtime": {RuntimeIDs: []string{doc.RuntimeID}},
		"region": {Regions: []string{doc.ProviderRegion}}, "regions": {Regions: []string{doc.ProviderRegion, "x"}},
		"shoot": {Shoots: []string{doc.ShootName}}, "plan": {Plans: []string{doc.ServicePlanName}}, "expired": {Expired: true},
		"several": {Plans: []string{doc.ServicePlanName}, Regions: []string{doc.ProviderRegion}, States: []runtime.State{runtime.StateError, runtime.StateSucceeded}},
	} {
		calls["runtimes by "+name] = func() {
			_, _, err := s.ListRuntimes(t.Context(), f, page)
			require.NoError(t, err)
		}
	}
	for name, states := range map[string][]fleet.State{"none": nil, "one": {fleet.Failed}, "two": {fleet.Failed, fleet.Pending}} {
		calls["operations by state: "+name] = func() {
			rows, _, err := s.ListOperations(t.Context(), fleet.OperationFilter{OrchestrationID: "o-1", States: states}, page)
			require.NoError(t, err)
			require.NotEmpty(t, rows)
		}
		calls["orchestrations by state: "+name] = func() {
			_, _, err := s.ListOrchestrations(t.Context(), fleet.OrchestrationFilter{States: states}, page)
			require.NoError(t, err)
		}
	}
	calls["orchestrations by type"] = func() {
		_, _, err := s.ListOrchestrations(t.Context(), fleet.OrchestrationFilter{Types: []orchestration.Type{orchestration.UpgradeClusterOrchestration}}, page)
		require.NoError(t, err)
	}
	for name, f := range map[string]fleet.EventFilter{
		"none": {}, "orchestration": {OrchestrationID: "o-1"}, "operation": {OperationID: "op-1"}, "instance": {InstanceIDs: one},
		"instances": {InstanceIDs: []string{"i-1", "i-2"}}, "level error": {Levels: []fleet.Level{fleet.LevelError}},
		"level info": {Levels: []fleet.Level{fleet.LevelInfo}}, "orchestration and level": {OrchestrationID: "o-1", Levels: []fleet.Level{fleet.LevelError}},
	} {
		calls["events by "+name] = func() {
			_, _, err := s.ListEvents(t.Context(), f, page)
			require.NoError(t, err)
		}
		calls[eventsBefore+name] = func() {
			_, err := s.EventsBefore(t.Context(), f, math.MaxInt64, 10)
			require.NoError(t, err)
		}
	}
	calls["who canceled"] = func() {
		_, err := s.CanceledBy(t.Context(), "o-1")
		require.NoError(t, err)
	}
	calls["left out"] = func() {
		rows, _, err := s.ListLeftOut(t.Context(), "o-1", page)
		require.NoError(t, err)
		require.Len(t, rows, 1)
	}
	calls["in flight"] = func() {
		_, err := s.InFlight(t.Context())
		require.NoError(t, err)
	}
	calls[ofSource] = func() {
		rows, err := s.RuntimesFrom(t.Context(), "import")
		require.NoError(t, err)
		require.NotEmpty(t, rows)
	}
	calls["guard"] = func() {
		_, err := s.Guards(t.Context(), []string{benchOperation("o-1", 3).ID, benchOperation("o-1", 4).ID})
		require.NoError(t, err)
	}
	return calls
}

// plan returns the lines of a plan.
func plan(tx *sql.Tx, query string) (string, error) {
	rows, err := tx.Query(query)
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	var lines []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			return "", err
		}
		lines = append(lines, fmt.Sprint(*values[len(values)-1].(*any)))
	}
	return strings.Join(lines, "\n"), rows.Err()
}
