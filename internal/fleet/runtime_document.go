package fleet

import (
	"slices"
	"strings"
	"time"

	"github.com/swell-fleet/swell/runtime"
)

// Own returns the operation as the list of runtimes shows it. It is false for a dry run and for an operation that has not touched its runtime.
//
// What the list calls created is when the operation was started: an operation may wait for its window for days, and readers take the
// operation that was created last for the one that made the runtime what it is.
func (o *Operation) Own() (OwnOperation, bool) {
	mark, ok := o.Mark()
	if !ok {
		return OwnOperation{}, false
	}
	stages := o.FinishedStages
	if stages == nil {
		stages = []string{}
	}
	description := o.Description
	if o.State == Failed && o.Reason != "" && !strings.Contains(description, o.Reason) {
		if description != "" {
			description += ": "
		}
		description += o.Reason
	}
	return OwnOperation{Type: mark.Type, Operation: runtime.Operation{
		State: string(o.State), Type: mark.Type, Description: description,
		CreatedAt: o.touchedAt(), UpdatedAt: o.UpdatedAt,
		OperationID: o.ID, OrchestrationID: o.OrchestrationID,
		FinishedStages: stages, RuntimeVersion: o.Version,
	}}, true
}

// Document returns the runtime as GET /runtimes shows it: the document of its source with the derived state and Swell's own operations. The
// state is the same whatever the detail. A deprovisioning that is a suspension is left out, because it is listed there. The result shares
// memory with the record where both are the same.
func (r *Runtime) Document(detail runtime.OperationDetail) runtime.RuntimeDTO {
	doc := r.DTO
	status := &doc.Status
	if r.State != "" {
		status.State = r.State
	}
	if status.Deprovisioning != nil && isSuspension(status) {
		status.Deprovisioning = nil
	}
	status.UpgradingKyma = withOwn(status.UpgradingKyma, r.Own, runtime.UpgradeKyma)
	status.UpgradingCluster = withOwn(status.UpgradingCluster, r.Own, runtime.UpgradeCluster)
	for i := range r.Own {
		if at := r.Own[i].Operation.UpdatedAt; at.After(status.ModifiedAt) {
			status.ModifiedAt = at
		}
	}
	if detail == runtime.LastOperation {
		keepLast(status)
	}
	return doc
}

// withOwn adds Swell's own operations of a type to the list of a document, newest first. An own one takes the place of one with the same ID.
func withOwn(list *runtime.OperationsData, own []OwnOperation, t runtime.OperationType) *runtime.OperationsData {
	var add []runtime.Operation
	ids := map[string]bool{}
	for i := range own {
		if own[i].Type == t {
			add = append(add, own[i].Operation)
			ids[own[i].Operation.OperationID] = true
		}
	}
	if len(add) == 0 {
		return list
	}
	merged := runtime.OperationsData{Data: add}
	replaced := 0
	if list != nil {
		merged.TotalCount = list.TotalCount
		for _, op := range list.Data {
			if ids[op.OperationID] {
				replaced++
				continue
			}
			merged.Data = append(merged.Data, op)
		}
	}
	slices.SortStableFunc(merged.Data, func(a, b runtime.Operation) int { return b.CreatedAt.Compare(a.CreatedAt) })
	merged.Count = len(merged.Data)
	merged.TotalCount = max(merged.TotalCount+len(add)-replaced, merged.Count)
	return &merged
}

// keepLast removes all operations but the newest one that has touched the runtime; when none has, the newest of all stays.
func keepLast(status *runtime.RuntimeStatus) {
	type place struct {
		rank int
		op   runtime.Operation
		put  func(runtime.Operation)
	}
	var last *place
	touched := func(op *runtime.Operation) bool {
		_, ok := markState(op.State)
		return ok
	}
	newer := func(a, b *place) bool {
		switch ta, tb := touched(&a.op), touched(&b.op); {
		case ta != tb:
			return ta
		case !a.op.CreatedAt.Equal(b.op.CreatedAt):
			return a.op.CreatedAt.After(b.op.CreatedAt)
		default:
			return a.rank > b.rank
		}
	}
	consider := func(t runtime.OperationType, put func(runtime.Operation), ops ...runtime.Operation) {
		for _, op := range ops {
			if p := (&place{rank: markRank[t], op: op, put: put}); last == nil || newer(p, last) {
				last = p
			}
		}
	}
	single := func(t runtime.OperationType, field **runtime.Operation) {
		if *field != nil {
			consider(t, func(op runtime.Operation) { *field = &op }, **field)
		}
		*field = nil
	}
	list := func(t runtime.OperationType, field **runtime.OperationsData) {
		if *field != nil {
			consider(t, func(op runtime.Operation) {
				*field = &runtime.OperationsData{Data: []runtime.Operation{op}, TotalCount: 1, Count: 1}
			}, (*field).Data...)
		}
		*field = nil
	}
	single(runtime.Provision, &status.Provisioning)
	list(runtime.UpgradeKyma, &status.UpgradingKyma)
	list(runtime.UpgradeCluster, &status.UpgradingCluster)
	list(runtime.Update, &status.Update)
	list(runtime.Unsuspension, &status.Unsuspension)
	list(runtime.Suspension, &status.Suspension)
	single(runtime.Deprovision, &status.Deprovisioning)
	if last != nil {
		last.put(last.op)
	}
}

// Brief returns a document with what the resolver asks for: the newest operation of each type, and the state.
func (h *History) Brief(doc *runtime.RuntimeDTO, state runtime.State, own []Mark) {
	status := &doc.Status
	status.State = state
	if h.DeletedAt != 0 {
		at := time.UnixMicro(h.DeletedAt).UTC()
		status.DeletedAt = &at
	}
	newest := make(map[runtime.OperationType]Mark, 4)
	for _, marks := range [][]Mark{h.Marks, own} {
		for _, m := range marks {
			if old, ok := newest[m.Type]; !ok || m.ID == old.ID || compareMarks(old, m) < 0 {
				newest[m.Type] = m
			}
		}
	}
	for t, m := range newest {
		op := runtime.Operation{State: string(m.State), Type: t, CreatedAt: time.UnixMicro(m.At).UTC(), OperationID: m.ID}
		if m.Leftover {
			op.ExecutedButNotCompletedSteps = []string{""}
		}
		list := func() *runtime.OperationsData {
			return &runtime.OperationsData{Data: []runtime.Operation{op}, TotalCount: 1, Count: 1}
		}
		switch t {
		case runtime.Provision:
			status.Provisioning = &op
		case runtime.Deprovision:
			status.Deprovisioning = &op
		case runtime.UpgradeKyma:
			status.UpgradingKyma = list()
		case runtime.UpgradeCluster:
			status.UpgradingCluster = list()
		case runtime.Update:
			status.Update = list()
		case runtime.Suspension:
			status.Suspension = list()
		case runtime.Unsuspension:
			status.Unsuspension = list()
		}
	}
	if h.Waiting && len(newest) == 0 {
		status.Provisioning = &runtime.Operation{State: string(Pending), Type: runtime.Provision}
	}
}
