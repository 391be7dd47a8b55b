package store

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// micros turns a time into its stored form.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// timeOf turns the stored form into a time in UTC.
func timeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// orchestrationRow is a row of the table orchestrations.
type orchestrationRow struct {
	bun.BaseModel `bun:"table:orchestrations,alias:o"`

	ID              string `bun:"id,pk"`
	Type            string `bun:"type"`
	State           string `bun:"state"`
	Description     string `bun:"description"`
	Parameters      string `bun:"parameters"`
	NotBefore       int64  `bun:"not_before"`
	CreatedAt       int64  `bun:"created_at"`
	UpdatedAt       int64  `bun:"updated_at"`
	ResolvedAt      int64  `bun:"resolved_at"`
	FinishedAt      int64  `bun:"finished_at"`
	CreatedBy       string `bun:"created_by"`
	IdempotencyKey  string `bun:"idempotency_key"`
	BodyHash        string `bun:"body_hash"`
	Fence           int64  `bun:"fence"`
	LeaseUntil      int64  `bun:"lease_until"`
	CountPending    int    `bun:"count_pending"`
	CountInProgress int    `bun:"count_in_progress"`
	CountSucceeded  int    `bun:"count_succeeded"`
	CountFailed     int    `bun:"count_failed"`
	CountCanceled   int    `bun:"count_canceled"`
	LeftOut         int    `bun:"left_out"`
	LeftOutWhy      string `bun:"left_out_why"`
}

// record reads the row. Parameters that cannot be read do not hide it.
func (r *orchestrationRow) record() fleet.Orchestration {
	o := fleet.Orchestration{
		ID: r.ID, Type: orchestration.Type(r.Type), State: stateOf(r.State), Description: r.Description,
		NotBefore: timeOf(r.NotBefore), CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
		ResolvedAt: timeOf(r.ResolvedAt), FinishedAt: timeOf(r.FinishedAt),
		CreatedBy: r.CreatedBy, IdempotencyKey: r.IdempotencyKey, BodyHash: r.BodyHash,
		Fence: r.Fence, LeaseUntil: timeOf(r.LeaseUntil), LeftOut: r.LeftOut, LeftOutWhy: r.LeftOutWhy,
		Counts: fleet.Counts{
			Pending: r.CountPending, InProgress: r.CountInProgress, Succeeded: r.CountSucceeded,
			Failed: r.CountFailed, Canceled: r.CountCanceled,
		},
	}
	parameters, err := fleet.DecodeStoredParameters([]byte(r.Parameters))
	if err != nil {
		o.Unreadable = "the stored parameters cannot be read: " + err.Error()
		return o
	}
	o.Parameters = parameters
	if at := parameters.Strategy.ScheduleTime; at != nil && o.NotBefore.IsZero() {
		o.NotBefore = *at
	}
	return o
}

// operationRow is a row of the table operations.
type operationRow struct {
	bun.BaseModel `bun:"table:operations,alias:op"`

	ID              string  `bun:"id,pk"`
	OrchestrationID string  `bun:"orchestration_id"`
	Type            string  `bun:"type"`
	Position        int     `bun:"position"`
	RuntimeID       string  `bun:"runtime_id"`
	InstanceID      string  `bun:"instance_id"`
	GlobalAccountID string  `bun:"global_account_id"`
	SubAccountID    string  `bun:"sub_account_id"`
	ShootName       string  `bun:"shoot_name"`
	Region          string  `bun:"region"`
	ServicePlanID   string  `bun:"service_plan_id"`
	ServicePlanName string  `bun:"service_plan_name"`
	DryRun          bool    `bun:"dry_run"`
	State           string  `bun:"state"`
	Description     string  `bun:"description"`
	Reason          string  `bun:"reason"`
	UsesWindow      bool    `bun:"uses_window"`
	WindowRule      string  `bun:"window_rule"`
	WindowBegin     int64   `bun:"window_begin"`
	WindowEnd       int64   `bun:"window_end"`
	NotBefore       int64   `bun:"not_before"`
	Attempt         int     `bun:"attempt"`
	Fence           int64   `bun:"fence"`
	LeaseUntil      int64   `bun:"lease_until"`
	CheckAt         int64   `bun:"check_at"`
	Sent            bool    `bun:"sent"`
	Uncertain       bool    `bun:"uncertain"`
	Following       bool    `bun:"following"`
	Failures        int     `bun:"failures"`
	Memo            *string `bun:"memo"`
	TimeLimitFrom   int64   `bun:"time_limit_from"`
	Version         string  `bun:"version"`
	KymaConfig      *string `bun:"kyma_config"`
	ClusterConfig   *string `bun:"cluster_config"`
	FinishedStages  string  `bun:"finished_stages"`
	RetryOf         string  `bun:"retry_of"`
	Superseded      bool    `bun:"superseded"`
	CreatedAt       int64   `bun:"created_at"`
	UpdatedAt       int64   `bun:"updated_at"`
	StartedAt       int64   `bun:"started_at"`
	FinishedAt      int64   `bun:"finished_at"`
	JobID           int64   `bun:"job_id"`
}

// newOperationRow makes the row of a record.
func newOperationRow(o *fleet.Operation) operationRow {
	return operationRow{
		ID: o.ID, OrchestrationID: o.OrchestrationID, Type: string(o.Type), Position: o.Position,
		RuntimeID: o.RuntimeID, InstanceID: o.InstanceID, GlobalAccountID: o.GlobalAccountID, SubAccountID: o.SubAccountID,
		ShootName: o.ShootName, Region: o.Region, ServicePlanID: o.ServicePlanID, ServicePlanName: o.ServicePlanName,
		DryRun: o.DryRun, State: string(o.State), Description: o.Description, Reason: o.Reason,
		UsesWindow: o.UsesWindow, WindowRule: ruleText(o.WindowRule), WindowBegin: micros(o.WindowBegin), WindowEnd: micros(o.WindowEnd),
		NotBefore: micros(o.NotBefore), Attempt: o.Attempt, Fence: o.Fence, LeaseUntil: micros(o.LeaseUntil), CheckAt: micros(o.CheckAt),
		Sent: o.Sent, Uncertain: o.Uncertain, Following: o.Following, Failures: o.Failures, Memo: textOf(o.Memo), TimeLimitFrom: micros(o.TimeLimitFrom),
		Version: o.Version, KymaConfig: textOf(o.KymaConfig), ClusterConfig: textOf(o.ClusterConfig),
		FinishedStages: listText(o.FinishedStages), RetryOf: o.RetryOf, Superseded: o.Superseded,
		CreatedAt: micros(o.CreatedAt), UpdatedAt: micros(o.UpdatedAt), StartedAt: micros(o.StartedAt), FinishedAt: micros(o.FinishedAt),
		JobID: o.JobID,
	}
}

// record reads the row.
func (r *operationRow) record() fleet.Operation {
	return fleet.Operation{
		ID: r.ID, OrchestrationID: r.OrchestrationID, Type: orchestration.Type(r.Type), Position: r.Position,
		RuntimeID: r.RuntimeID, InstanceID: r.InstanceID, GlobalAccountID: r.GlobalAccountID, SubAccountID: r.SubAccountID,
		ShootName: r.ShootName, Region: r.Region, ServicePlanID: r.ServicePlanID, ServicePlanName: r.ServicePlanName,
		DryRun: r.DryRun, State: stateOf(r.State), Description: r.Description, Reason: r.Reason,
		UsesWindow: r.UsesWindow, WindowRule: ruleOf(r.WindowRule), WindowBegin: timeOf(r.WindowBegin), WindowEnd: timeOf(r.WindowEnd),
		NotBefore: timeOf(r.NotBefore), Attempt: r.Attempt, Fence: r.Fence, LeaseUntil: timeOf(r.LeaseUntil), CheckAt: timeOf(r.CheckAt),
		Sent: r.Sent, Uncertain: r.Uncertain, Following: r.Following, Failures: r.Failures, Memo: rawOf(r.Memo), TimeLimitFrom: timeOf(r.TimeLimitFrom),
		Version: r.Version, KymaConfig: rawOf(r.KymaConfig), ClusterConfig: rawOf(r.ClusterConfig),
		FinishedStages: listOf(r.FinishedStages), RetryOf: r.RetryOf, Superseded: r.Superseded,
		CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt), StartedAt: timeOf(r.StartedAt), FinishedAt: timeOf(r.FinishedAt),
		JobID: r.JobID,
	}
}

// operationRecords reads rows.
func operationRecords(rows []operationRow) []fleet.Operation {
	out := make([]fleet.Operation, len(rows))
	for i := range rows {
		out[i] = rows[i].record()
	}
	return out
}

// leftOutRow is a row of the table left_out.
type leftOutRow struct {
	bun.BaseModel `bun:"table:left_out,alias:l"`

	OrchestrationID string `bun:"orchestration_id,pk"`
	Position        int    `bun:"position,pk"`
	ShootName       string `bun:"shoot_name"`
	RuntimeID       string `bun:"runtime_id"`
	InstanceID      string `bun:"instance_id"`
	Reason          string `bun:"reason"`
	Description     string `bun:"description"`
}

// eventRow is a row of the table events.
type eventRow struct {
	bun.BaseModel `bun:"table:events,alias:e"`

	ID              int64  `bun:"id,pk,autoincrement"`
	At              int64  `bun:"at"`
	Kind            string `bun:"kind"`
	Level           string `bun:"level"`
	OrchestrationID string `bun:"orchestration_id"`
	OperationID     string `bun:"operation_id"`
	RuntimeID       string `bun:"runtime_id"`
	InstanceID      string `bun:"instance_id"`
	FromState       string `bun:"from_state"`
	ToState         string `bun:"to_state"`
	Message         string `bun:"message"`
	Actor           string `bun:"actor"`
	ShootName       string `bun:"shoot_name"`
}

// runtimeRow is a row of the table runtimes without its document.
type runtimeRow struct {
	bun.BaseModel `bun:"table:runtimes,alias:r"`

	InstanceID      string `bun:"instance_id,pk"`
	RuntimeID       string `bun:"runtime_id"`
	GlobalAccountID string `bun:"global_account_id"`
	SubAccountID    string `bun:"sub_account_id"`
	Region          string `bun:"region"`
	PlatformRegion  string `bun:"platform_region"`
	ShootName       string `bun:"shoot_name"`
	PlanID          string `bun:"plan_id"`
	PlanName        string `bun:"plan_name"`
	State           string `bun:"state"`
	Hidden          bool   `bun:"hidden"`
	Expired         bool   `bun:"expired"`
	CreatedAt       int64  `bun:"created_at"`
	UpdatedAt       int64  `bun:"updated_at"`
	Source          string `bun:"source"`
	History         string `bun:"history"`
	Document        string `bun:"document"`
}

// stateOf reads a stored state word; words of no known state are kept as they are, so that they show.
func stateOf(word string) fleet.State {
	if s, ok := fleet.ParseState(word); ok {
		return s
	}
	return fleet.State(word)
}

func textOf(raw json.RawMessage) *string {
	if raw == nil {
		return nil
	}
	s := string(raw)
	return &s
}

func rawOf(s *string) json.RawMessage {
	if s == nil {
		return nil
	}
	return json.RawMessage(*s)
}

// jsonText encodes values of types that always can be encoded.
func jsonText(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("store: encode " + reflect.TypeOf(v).String() + ": " + err.Error())
	}
	return string(raw)
}

func ruleText(w fleet.WindowRule) string {
	if w.IsZero() && w.Rule == "" && len(w.Days) == 0 && len(w.NotOn) == 0 {
		return ""
	}
	return jsonText(w)
}

// ruleOf reads a window rule. One that cannot be read is no window, so that the operation does not start.
func ruleOf(s string) fleet.WindowRule {
	var w fleet.WindowRule
	if s == "" || json.Unmarshal([]byte(s), &w) != nil {
		return fleet.WindowRule{}
	}
	return w
}

func listText(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return jsonText(list)
}

func listOf(s string) []string {
	var list []string
	if s == "" || json.Unmarshal([]byte(s), &list) != nil {
		return nil
	}
	return list
}

// columns returns the columns of a row type with a prefix such as "op.", in the order of the type. Statements name them one by one, because a
// newer program may have added others.
func columns[T any](db bun.IDB, prefix string) string {
	table := db.Dialect().Tables().Get(reflect.TypeFor[T]())
	names := make([]string, len(table.Fields))
	for i, f := range table.Fields {
		names[i] = prefix + f.Name
	}
	return strings.Join(names, ", ")
}
