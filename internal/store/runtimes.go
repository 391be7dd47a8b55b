package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/runtime"
)

// PutRuntimes merges documents by instance ID and keeps Swell's own operations. Of two documents of one instance the later one counts.
//
// A partial source may not know instance IDs. Its documents are then merged by runtime ID, and where no such runtime is known the record gets the
// runtime ID in place of the instance ID, until a document that knows it takes its place.
func (t *Tx) PutRuntimes(ctx context.Context, source string, docs []runtime.RuntimeDTO) (fleet.ImportResult, error) {
	var result fleet.ImportResult
	docs, err := t.identify(ctx, source, docs)
	if err != nil {
		return result, err
	}
	for chunk := range slices.Chunk(docs, insertChunk) {
		if err := t.putRuntimes(ctx, source, chunk, &result); err != nil {
			return fleet.ImportResult{}, err
		}
	}
	return result, nil
}

// identify gives every document an instance ID, and orders them by it, so that all transactions lock runtimes in the same order.
func (t *Tx) identify(ctx context.Context, source string, docs []runtime.RuntimeDTO) ([]runtime.RuntimeDTO, error) {
	byInstance := make(map[string]runtime.RuntimeDTO, len(docs))
	var unnamed []runtime.RuntimeDTO
	for i := range docs {
		field := fmt.Sprintf("data[%d].", i)
		if err := cmp.Or(checkLength(field+"instanceID", docs[i].InstanceID), checkLength(field+"runtimeID", docs[i].RuntimeID)); err != nil {
			return nil, err
		}
		switch {
		case docs[i].InstanceID != "":
			byInstance[cleanText(docs[i].InstanceID)] = docs[i]
		case fleet.PartialSource(source) && docs[i].RuntimeID != "":
			unnamed = append(unnamed, docs[i])
		default:
			return nil, fleet.Invalidf(field+"instanceID", "is missing")
		}
	}
	for chunk := range slices.Chunk(unnamed, lookupChunk) {
		ids := make([]string, len(chunk))
		for i := range chunk {
			ids[i] = chunk[i].RuntimeID
		}
		var rows []runtimeRow
		if err := t.scan(ctx, "find runtimes", &rows, "SELECT instance_id, runtime_id FROM runtimes WHERE runtime_id IN (?)", bun.List(ids)); err != nil {
			return nil, err
		}
		known := make(map[string]string, len(rows))
		for _, r := range rows {
			known[r.RuntimeID] = r.InstanceID
		}
		for _, doc := range chunk {
			doc.InstanceID = doc.RuntimeID
			if id := known[cleanText(doc.RuntimeID)]; id != "" {
				doc.InstanceID = id
			}
			if _, ok := byInstance[cleanText(doc.InstanceID)]; !ok {
				byInstance[cleanText(doc.InstanceID)] = doc
			}
		}
	}
	out := make([]runtime.RuntimeDTO, 0, len(byInstance))
	for _, id := range slices.Sorted(maps.Keys(byInstance)) {
		out = append(out, byInstance[id])
	}
	return out, nil
}

// putRuntimes merges documents of different instances.
func (t *Tx) putRuntimes(ctx context.Context, source string, docs []runtime.RuntimeDTO, result *fleet.ImportResult) error {
	ids := make([]string, len(docs))
	for i := range docs {
		ids[i] = cleanText(docs[i].InstanceID)
	}
	var known []runtimeRow
	err := t.scan(ctx, "read runtimes", &known, "SELECT "+columns[runtimeRow](t.tx, "")+
		" FROM runtimes WHERE instance_id IN (?) ORDER BY instance_id"+rowLock(t.Dialect(), lockRow), bun.List(ids))
	if err != nil {
		return err
	}
	byID := make(map[string]*runtimeRow, len(known))
	for i := range known {
		byID[known[i].InstanceID] = &known[i]
	}
	var fresh, changed []runtimeRow
	for i := range docs {
		old := byID[ids[i]]
		row, err := mergedRow(old, source, docs[i])
		if err != nil {
			return err
		}
		switch {
		case old == nil:
			fresh = append(fresh, row)
			result.Imported++
		case row.Document != old.Document || row.Source != old.Source:
			changed = append(changed, row)
			result.Updated++
		default:
			result.Unchanged++
		}
	}
	if err := t.adopt(ctx, source, fresh); err != nil {
		return err
	}
	return t.writeRuntimes(ctx, byID, fresh, changed)
}

// mergedRow makes the row of a document. Its state is set later.
func mergedRow(old *runtimeRow, source string, doc runtime.RuntimeDTO) (runtimeRow, error) {
	if old != nil {
		known := old.record()
		doc, source = fleet.MergeDocument(&known, source, doc)
	}
	return documentRow(source, doc)
}

// documentRow makes the row of a document. Its state is set later.
func documentRow(source string, doc runtime.RuntimeDTO) (runtimeRow, error) {
	document, err := json.Marshal(doc)
	if err != nil {
		return runtimeRow{}, &fleet.Error{
			Kind: fleet.KindInvalid, Field: "data", Err: err,
			Message: fmt.Sprintf("the runtime of instance %.100q cannot be written as JSON", doc.InstanceID),
		}
	}
	return runtimeRow{
		InstanceID: cleanText(doc.InstanceID), RuntimeID: doc.RuntimeID,
		GlobalAccountID: indexText(doc.GlobalAccountID), SubAccountID: indexText(doc.SubAccountID), Region: indexText(doc.ProviderRegion),
		ShootName: indexText(doc.ShootName), PlanID: indexText(doc.ServicePlanID), PlanName: indexText(doc.ServicePlanName),
		Expired: doc.Status.ExpiredAt != nil, CreatedAt: doc.Status.CreatedAt.UnixMicro(),
		Source: source, History: jsonText(fleet.HistoryOf(&doc)), Document: cleanText(string(document)),
	}, nil
}

// adopt removes records that had a runtime ID in place of their instance ID, because whole documents of these runtimes have come.
func (t *Tx) adopt(ctx context.Context, source string, fresh []runtimeRow) error {
	if fleet.PartialSource(source) || len(fresh) == 0 {
		return nil
	}
	instanceOf := make(map[string]string, len(fresh))
	for _, r := range fresh {
		if r.RuntimeID != "" && r.RuntimeID != r.InstanceID {
			instanceOf[r.RuntimeID] = r.InstanceID
		}
	}
	if len(instanceOf) == 0 {
		return nil
	}
	var removed []runtimeRow
	err := t.scan(ctx, "replace runtimes", &removed, "DELETE FROM runtimes WHERE instance_id IN (?) AND runtime_id = instance_id RETURNING instance_id, state",
		bun.List(slices.Sorted(maps.Keys(instanceOf))))
	if err != nil {
		return err
	}
	counts := stateCounts{}
	for _, r := range removed {
		counts.move(r.State, "")
		if _, err := t.exec(ctx, "move operations", "UPDATE operations SET instance_id = ? WHERE instance_id = ?", instanceOf[r.InstanceID], r.InstanceID); err != nil {
			return err
		}
	}
	return t.addCounts(ctx, counts)
}

// writeRuntimes derives the states of rows and writes them.
func (t *Tx) writeRuntimes(ctx context.Context, known map[string]*runtimeRow, fresh, changed []runtimeRow) error {
	ids := make([]string, 0, len(fresh)+len(changed))
	for _, rows := range [][]runtimeRow{fresh, changed} {
		for i := range rows {
			ids = append(ids, rows[i].InstanceID)
		}
	}
	own, err := ownMarks(ctx, t.tx, ids)
	if err != nil {
		return storeError(ctx, "read operations of runtimes", err)
	}
	counts := stateCounts{}
	for _, rows := range [][]runtimeRow{fresh, changed} {
		for i := range rows {
			r := &rows[i]
			state := fleet.DeriveState(historyOf(r.History), own[r.InstanceID])
			r.State, r.Hidden, r.UpdatedAt = string(state), fleet.HiddenRuntimeState(state), micros(t.now)
			before := ""
			if old := known[r.InstanceID]; old != nil {
				before = old.State
			}
			counts.move(before, r.State)
		}
	}
	if len(fresh) > 0 {
		if _, err := t.tx.NewInsert().Model(&fresh).Exec(ctx); err != nil {
			// Another import may have brought the same runtime at the same time; the transaction is then repeated.
			return storeError(ctx, "insert runtimes", err)
		}
	}
	if len(changed) > 0 {
		query := t.tx.NewInsert().Model(&changed).On("CONFLICT (instance_id) DO UPDATE")
		for _, f := range t.tx.Dialect().Tables().Get(runtimeRowType).Fields {
			if f.Name != "instance_id" {
				query = query.Set("? = EXCLUDED.?", bun.Ident(f.Name), bun.Ident(f.Name))
			}
		}
		if _, err := query.Exec(ctx); err != nil {
			return storeError(ctx, "update runtimes", err)
		}
	}
	return t.addCounts(ctx, counts)
}

// SetRuntimeVersions records what succeeded upgrades left. Unknown instances are skipped.
func (t *Tx) SetRuntimeVersions(ctx context.Context, changes []fleet.RuntimeVersion) error {
	byID := make(map[string][]fleet.RuntimeVersion, len(changes))
	for _, c := range changes {
		byID[cleanText(c.InstanceID)] = append(byID[cleanText(c.InstanceID)], c)
	}
	ids := slices.Sorted(maps.Keys(byID))
	for chunk := range slices.Chunk(ids, insertChunk) {
		var rows []runtimeRow
		err := t.scan(ctx, "read runtimes", &rows, "SELECT instance_id, state, document FROM runtimes WHERE instance_id IN (?) ORDER BY instance_id"+
			rowLock(t.Dialect(), lockRow), bun.List(chunk))
		if err != nil {
			return err
		}
		var values tupleValues
		for i := range rows {
			r := &rows[i]
			var doc runtime.RuntimeDTO
			if json.Unmarshal([]byte(r.Document), &doc) != nil {
				continue
			}
			for _, c := range byID[r.InstanceID] {
				c.Apply(&doc)
			}
			document, err := json.Marshal(doc)
			if err != nil {
				return storeError(ctx, "encode a runtime", err)
			}
			if text := string(document); text != r.Document {
				values = append(values, []any{r.InstanceID, text, micros(t.now)})
			}
		}
		if len(values) == 0 {
			continue
		}
		_, err = t.exec(ctx, "save versions of runtimes", `WITH v (v_id, v_document, v_at) AS (VALUES ?)
			UPDATE runtimes SET document = v.v_document, updated_at = v.v_at FROM v WHERE runtimes.instance_id = v.v_id`, values)
		if err != nil {
			return err
		}
	}
	return nil
}
