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
	if t.Dialect() == Postgres {
		// Two sources that meet a new runtime at the same time would each make a record of it.
		if _, err := t.exec(ctx, "wait for other imports", "SELECT pg_advisory_xact_lock("+importLock+")"); err != nil {
			return result, err
		}
	}
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

// importLock is the number of PostgreSQL's lock that imports into one schema take one after the other.
const importLock = "hashtextextended('swell imports ' || coalesce(current_schema(), ''), 0)"

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
			ids[i] = cleanText(chunk[i].RuntimeID)
		}
		known, err := t.instancesOf(ctx, ids)
		if err != nil {
			return nil, err
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

// instancesOf returns the instance IDs of runtimes by their runtime IDs. Of several instances with one runtime ID the last one counts: one whose instance
// ID is known, that is there, and is the newest.
func (t *Tx) instancesOf(ctx context.Context, runtimeIDs []string) (map[string]string, error) {
	var rows []runtimeRow
	err := t.scan(ctx, "find runtimes", &rows, "SELECT instance_id, runtime_id FROM runtimes WHERE runtime_id IN (?)"+
		" ORDER BY CASE WHEN instance_id = runtime_id THEN 0 ELSE 1 END, CASE WHEN hidden THEN 0 ELSE 1 END, created_at, instance_id", bun.List(runtimeIDs))
	if err != nil {
		return nil, err
	}
	known := make(map[string]string, len(rows))
	for _, r := range rows {
		known[r.RuntimeID] = r.InstanceID
	}
	return known, nil
}

// putRuntimes merges documents of different instances.
func (t *Tx) putRuntimes(ctx context.Context, source string, docs []runtime.RuntimeDTO, result *fleet.ImportResult) error {
	ids := make([]string, len(docs))
	for i := range docs {
		ids[i] = cleanText(docs[i].InstanceID)
	}
	if err := t.awaitOperations(ctx, ids, docs); err != nil {
		return err
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
	nameless, err := t.nameless(ctx, docs)
	if err != nil {
		return err
	}
	var fresh, changed []runtimeRow
	adopted := map[string]string{}
	for i := range docs {
		old := byID[ids[i]]
		row, err := mergedRow(old, nameless[cleanText(docs[i].RuntimeID)], source, docs[i])
		if err != nil {
			return err
		}
		if nameless[row.RuntimeID] != nil && row.RuntimeID != row.InstanceID {
			adopted[row.RuntimeID] = row.InstanceID
		}
		switch {
		case old == nil:
			fresh = append(fresh, row)
			result.Imported++
			result.Changes = append(result.Changes, changeOf(&runtimeRow{}, &row))
		case row.Document != old.Document || row.Source != old.Source:
			changed = append(changed, row)
			result.Updated++
			result.Changes = append(result.Changes, changeOf(old, &row))
		default:
			result.Unchanged++
		}
	}
	if err := t.adopt(ctx, nameless, adopted); err != nil {
		return err
	}
	return t.writeRuntimes(ctx, byID, fresh, changed)
}

// changeOf says how the row of a runtime differs from the one before, which is empty when there was none.
func changeOf(before, after *runtimeRow) fleet.RuntimeChange {
	c := fleet.RuntimeChange{InstanceID: after.InstanceID, RuntimeID: after.RuntimeID, ShootName: after.ShootName, Added: before.InstanceID == ""}
	if c.Added {
		return c
	}
	for _, f := range []fleet.FieldChange{
		{Name: "runtimeID", From: before.RuntimeID, To: after.RuntimeID},
		{Name: "globalAccountID", From: before.GlobalAccountID, To: after.GlobalAccountID},
		{Name: "subAccountID", From: before.SubAccountID, To: after.SubAccountID},
		{Name: "region", From: before.Region, To: after.Region},
		{Name: "subAccountRegion", From: before.PlatformRegion, To: after.PlatformRegion},
		{Name: "shootName", From: before.ShootName, To: after.ShootName},
		{Name: "servicePlanName", From: before.PlanName, To: after.PlanName},
		{Name: "servicePlanID", From: before.PlanID, To: after.PlanID},
	} {
		if f.From != f.To {
			c.Fields = append(c.Fields, f)
		}
	}
	return c
}

// awaitOperations waits for transactions that write operations of runtimes of which there is no record yet: without a record there is nothing else on
// which they and the import would wait for each other, and the state of the new record would miss what they commit.
func (t *Tx) awaitOperations(ctx context.Context, ids []string, docs []runtime.RuntimeDTO) error {
	if t.Dialect() != Postgres {
		return nil
	}
	var known []string
	if err := t.scan(ctx, "find runtimes", &known, "SELECT instance_id FROM runtimes WHERE instance_id IN (?)", bun.List(ids)); err != nil {
		return err
	}
	there := make(map[string]bool, len(known))
	for _, id := range known {
		there[id] = true
	}
	var runtimeIDs []string
	for i := range docs {
		if !there[ids[i]] && docs[i].RuntimeID != "" {
			runtimeIDs = append(runtimeIDs, docs[i].RuntimeID)
		}
	}
	if len(runtimeIDs) == 0 {
		return nil
	}
	_, err := t.exec(ctx, "wait for operations",
		"SELECT id FROM operations WHERE runtime_id IN (?) AND state IN ('pending', 'in progress') ORDER BY id FOR SHARE", bun.List(runtimeIDs))
	return err
}

// nameless returns the records that have a runtime ID in place of their instance ID, of those runtimes whose instance ID the documents tell.
func (t *Tx) nameless(ctx context.Context, docs []runtime.RuntimeDTO) (map[string]*runtimeRow, error) {
	var ids []string
	for i := range docs {
		if id := cleanText(docs[i].RuntimeID); id != "" && id != cleanText(docs[i].InstanceID) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	var rows []runtimeRow
	err := t.scan(ctx, "find runtimes without an instance", &rows, "SELECT "+columns[runtimeRow](t.tx, "")+
		" FROM runtimes WHERE instance_id IN (?) AND runtime_id = instance_id ORDER BY instance_id"+rowLock(t.Dialect(), lockRow), bun.List(ids))
	if err != nil {
		return nil, err
	}
	out := make(map[string]*runtimeRow, len(rows))
	for i := range rows {
		out[rows[i].RuntimeID] = &rows[i]
	}
	return out, nil
}

// mergedRow makes the row of a document out of the record that is known of its instance, or else of its runtime. Its state is set later.
func mergedRow(old, nameless *runtimeRow, source string, doc runtime.RuntimeDTO) (runtimeRow, error) {
	if nameless != nil && nameless.RuntimeID != cleanText(doc.InstanceID) {
		id := doc.InstanceID
		known := nameless.kept()
		doc, source = fleet.MergeDocument(&known, source, doc)
		doc.InstanceID = id
	}
	if old != nil {
		known := old.kept()
		doc, source = fleet.MergeDocument(&known, source, doc)
	}
	return documentRow(source, doc)
}

// kept reads the row as its source told it, without the state that was derived since.
func (r *runtimeRow) kept() fleet.Runtime {
	kept := r.record()
	kept.DTO.Status.State = ""
	var doc struct {
		Status struct {
			State runtime.State `json:"state"`
		} `json:"status"`
	}
	if json.Unmarshal([]byte(r.Document), &doc) == nil {
		kept.DTO.Status.State = doc.Status.State
	}
	return kept
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
		PlatformRegion: indexText(doc.SubAccountRegion),
		ShootName:      indexText(doc.ShootName), PlanID: indexText(doc.ServicePlanID), PlanName: indexText(doc.ServicePlanName),
		Expired: doc.Status.ExpiredAt != nil, CreatedAt: doc.Status.CreatedAt.UnixMicro(),
		Source: source, History: jsonText(fleet.HistoryOf(&doc)), Document: cleanText(string(document)),
	}, nil
}

// adopt removes records that had a runtime ID in place of their instance ID, because the instance IDs have become known, and takes over what
// belongs to them. The operations are written before the runtimes, as everywhere.
func (t *Tx) adopt(ctx context.Context, nameless map[string]*runtimeRow, instanceOf map[string]string) error {
	if len(instanceOf) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(instanceOf))
	counts := stateCounts{}
	moves := make(tupleValues, len(ids))
	for i, id := range ids {
		moves[i] = []any{id, instanceOf[id]}
		counts.move(nameless[id].State, "")
	}
	for table, condition := range map[string]string{
		// Each condition is one that an index answers.
		"operations": "operations.runtime_id = v.v_old AND operations.instance_id = v.v_old",
		"events":     "events.instance_id = v.v_old AND events.instance_id <> ''",
	} {
		_, err := t.exec(ctx, "move "+table, "WITH v (v_old, v_new) AS (VALUES ?) UPDATE "+table+" SET instance_id = v.v_new FROM v WHERE "+condition, moves)
		if err != nil {
			return err
		}
	}
	if _, err := t.exec(ctx, "replace runtimes", "DELETE FROM runtimes WHERE instance_id IN (?)", bun.List(ids)); err != nil {
		return err
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
		if _, err := t.tx.NewInsert().Model(&fresh).Returning("NULL").Exec(ctx); err != nil {
			// Another import may have brought the same runtime at the same time; the transaction is then repeated.
			return storeError(ctx, "insert runtimes", err)
		}
	}
	if len(changed) > 0 {
		query := t.tx.NewInsert().Model(&changed).Returning("NULL").On("CONFLICT (instance_id) DO UPDATE")
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

// SetRuntimeVersions records what succeeded upgrades left. An operation may have been read when its runtime ID still stood in place of the instance ID; such a
// runtime is found by it. Unknown instances are skipped.
func (t *Tx) SetRuntimeVersions(ctx context.Context, changes []fleet.RuntimeVersion) error {
	byID := make(map[string][]fleet.RuntimeVersion, len(changes))
	for _, c := range changes {
		byID[cleanText(c.InstanceID)] = append(byID[cleanText(c.InstanceID)], c)
	}
	if err := t.renamed(ctx, byID); err != nil {
		return err
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

// renamed puts what is meant for runtimes that have got their instance IDs meanwhile under these.
func (t *Tx) renamed(ctx context.Context, byID map[string][]fleet.RuntimeVersion) error {
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(byID)), lookupChunk) {
		var known []string
		if err := t.scan(ctx, "find runtimes", &known, "SELECT instance_id FROM runtimes WHERE instance_id IN (?)", bun.List(chunk)); err != nil {
			return err
		}
		unknown := slices.DeleteFunc(slices.Clone(chunk), func(id string) bool { return id == "" || slices.Contains(known, id) })
		if len(unknown) == 0 {
			continue
		}
		instances, err := t.instancesOf(ctx, unknown)
		if err != nil {
			return err
		}
		for runtimeID, instanceID := range instances {
			byID[instanceID] = append(byID[instanceID], byID[runtimeID]...)
			delete(byID, runtimeID)
		}
	}
	return nil
}
