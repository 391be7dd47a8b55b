package store

import (
	"context"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/swell-fleet/swell/internal/fleet"
)

// listQuery selects one page out of a table in a total order. The keys of the page come out of an index, and only then are their rows fetched:
// a far page does not read the rows before it.
type listQuery struct {
	table string
	// key is the column of the primary key; it is the last of the order.
	key string
	// order holds the columns of the order, each with DESC where it is descending.
	order []string

	where []string
	args  []any
	// splitColumn and splitValues are a filter of which each value has a part of the index of its own: the page is merged out of one ordered
	// part for each value, so that no value makes the database sort what all of them match.
	splitColumn string
	splitValues []string
	// within is a condition on the rows of the page, for tables whose key is unique under it only.
	within     string
	withinArgs []any
}

// and adds a condition.
func (q *listQuery) and(condition string, args ...any) {
	q.where = append(q.where, condition)
	q.args = append(q.args, args...)
}

// in adds a filter by exact values; none does not filter.
func (q *listQuery) in(column string, values []string) {
	switch len(values) {
	case 0:
	case 1:
		q.and(column+" = ?", values[0])
	default:
		q.and(column+" IN (?)", bun.List(values))
	}
}

// split adds the one filter whose values are looked up one by one.
func (q *listQuery) split(column string, values []string) {
	q.splitColumn, q.splitValues = column, values
}

// parts returns the conditions of each part, at least one.
func (q *listQuery) parts() (conditions []string, args [][]any) {
	base := "TRUE"
	if len(q.where) > 0 {
		base = strings.Join(q.where, " AND ")
	}
	if len(q.splitValues) == 0 {
		return []string{base}, [][]any{q.args}
	}
	for _, v := range q.splitValues {
		conditions = append(conditions, base+" AND "+q.splitColumn+" = ?")
		args = append(args, append(slices.Clone(q.args), v))
	}
	return conditions, args
}

// count returns the query for the number of rows that match.
func (q *listQuery) count() (string, []any) {
	conditions, args := q.parts()
	sums := make([]string, len(conditions))
	var all []any
	for i, c := range conditions {
		sums[i] = "(SELECT count(*) FROM " + q.table + " WHERE " + c + ")"
		all = append(all, args[i]...)
	}
	return "SELECT " + strings.Join(sums, " + "), all
}

// page returns the query for the keys of a page.
func (q *listQuery) page(p fleet.Page) (string, []any) {
	conditions, args := q.parts()
	order := " ORDER BY " + strings.Join(q.order, ", ")
	if len(conditions) == 1 {
		return "SELECT " + q.key + " FROM " + q.table + " WHERE " + conditions[0] + order + " LIMIT ? OFFSET ?",
			append(slices.Clone(args[0]), p.Size, p.Offset())
	}
	names := make([]string, len(q.order))
	for i, o := range q.order {
		names[i] = strings.TrimSuffix(o, " DESC")
	}
	picked := strings.Join(names, ", ")
	parts := make([]string, len(conditions))
	var all []any
	for i, c := range conditions {
		parts[i] = "SELECT * FROM (SELECT " + picked + " FROM " + q.table + " WHERE " + c + order + " LIMIT ?) AS part"
		all = append(append(all, args[i]...), p.Offset()+p.Size)
	}
	return "SELECT " + q.key + " FROM (" + strings.Join(parts, " UNION ALL ") + ") AS merged" + order + " LIMIT ? OFFSET ?",
		append(all, p.Size, p.Offset())
}

// rows returns the query for the rows of a page.
func (q *listQuery) rows(columns string, p fleet.Page) (string, []any) {
	page, args := q.page(p)
	within := ""
	if q.within != "" {
		within = q.within + " AND "
		args = append(slices.Clone(q.withinArgs), args...)
	}
	return "SELECT " + columns + " FROM " + q.table + " WHERE " + within + q.key + " IN (" + page + ") ORDER BY " + strings.Join(q.order, ", "), args
}

// first returns the query for the first rows, where an index has them in their order.
func (q *listQuery) first(columns string, limit int) (string, []any) {
	conditions, args := q.parts()
	return "SELECT " + columns + " FROM " + q.table + " WHERE " + conditions[0] + " ORDER BY " + strings.Join(q.order, ", ") + " LIMIT ?",
		append(slices.Clone(args[0]), limit)
}

// list reads a page and the number of all that match, from one snapshot.
func list[T any](ctx context.Context, s *Store, q listQuery, p fleet.Page) (rows []T, total int, err error) {
	if err := checkPage(p); err != nil {
		return nil, 0, err
	}
	err = s.snapshot(ctx, func(ctx context.Context, tx bun.Tx) error {
		total, err = readList(ctx, tx, &q, p, columns[T](tx, ""), &rows)
		return err
	})
	return rows, total, err
}

// readList reads the number of rows that match, and a page of them when it is not past the end.
func readList(ctx context.Context, tx bun.Tx, q *listQuery, p fleet.Page, columns string, dest any) (total int, err error) {
	count, args := q.count()
	if err := tx.NewRaw(count, args...).Scan(ctx, &total); err != nil {
		return 0, err
	}
	if p.Offset() >= total {
		return total, nil
	}
	query, args := q.rows(columns, p)
	return total, tx.NewRaw(query, args...).Scan(ctx, dest)
}

// checkPage refuses what is not a page.
func checkPage(p fleet.Page) error {
	if p.Number < 1 || p.Size < 1 {
		return fleet.Invalidf("page", "the page and its size must be at least 1")
	}
	return nil
}
