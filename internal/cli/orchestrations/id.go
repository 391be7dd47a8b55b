package orchestrations

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/orchestration"
)

const (
	// briefID is how many characters narrow lists show of an ID, where that is enough to tell them apart.
	briefID = 8
	// leastID is how many characters of an ID have to be given: fewer are met by chance.
	leastID = 4
	// wholeID is how long a whole one is; it is never looked for.
	wholeID = 36
	// searched is how many of the newest orchestrations are looked through for a shortened ID.
	searched = 1000
	// searchedOperations is how many of the newest operations of an orchestration are.
	searchedOperations = 10000
	// searchPage is how many of the former are asked for at once, each with all its targets; searchPageOperations is how many of the latter.
	searchPage, searchPageOperations = 100, 1000
	// maxCandidates is how many are named of those that an ID can mean.
	maxCandidates = 10
)

// candidate is the whole ID of a row, and what a person knows the row by.
type candidate struct{ id, about string }

// finder completes shortened IDs. It looks through a list, the newest rows first.
type finder struct {
	// noun names a row.
	noun string
	// limit is how many rows are looked through, size how many are asked for at once.
	limit, size int
	// exists asks for the one row with exactly this ID.
	exists func(id string) error
	// page reads some rows, and tells how many there are.
	page func(number, size int) (rows []candidate, total int, err error)
}

// completeIDs replaces the shortened IDs of a call by the whole ones. What changes an orchestration says first what it understood.
func (c *call) completeIDs() error {
	if c.id == "" {
		return nil
	}
	whole, err := c.whole(c.orchestrationFinder(), []string{c.id})
	if err != nil {
		return err
	}
	c.id = whole[0]
	if c.operation != "" {
		whole, err := c.whole(c.operationFinder(), []string{c.operation})
		if err != nil {
			return err
		}
		c.operation = whole[0]
	}
	whole, err = c.whole(c.operationFinder(), c.operations)
	c.operations = nil
	for _, id := range whole {
		// What was given twice, shortened and whole, is meant once.
		if !slices.Contains(c.operations, id) {
			c.operations = append(c.operations, id)
		}
	}
	return err
}

// whole returns the whole IDs of shortened ones, and of a changing action says which they are.
func (c *call) whole(f *finder, ids []string) ([]string, error) {
	found, err := console.Call(c.console, func() ([]string, error) { return f.complete(ids) })
	if err != nil {
		return nil, err
	}
	for i, id := range found {
		if c.changes && id != ids[i] {
			c.console.Notef("%s %s is %s", f.noun, console.Clean(ids[i]), console.Clean(id))
		}
	}
	return found, nil
}

// complete returns the whole IDs of shortened ones. An ID that exists as it is stays as it is; one that is whole is not asked for.
func (f *finder) complete(ids []string) ([]string, error) {
	found := slices.Clone(ids)
	meant := map[string][]candidate{}
	for _, id := range ids {
		if len(id) >= wholeID || meant[id] != nil {
			continue
		}
		err := f.exists(id)
		answer, refused := errors.AsType[*orchestration.Error](err)
		switch {
		case err == nil:
		case !refused || answer.Status != http.StatusNotFound:
			return nil, err
		case len(id) < leastID:
			return nil, &console.ExitError{
				Code: console.ExitRefused,
				Err:  fmt.Errorf("no %s has the ID %q; a shortened ID has at least %d characters", f.noun, id, leastID),
			}
		default:
			meant[id] = []candidate{}
		}
	}
	if len(meant) == 0 {
		return found, nil
	}
	whole, err := f.search(meant)
	if err != nil {
		return nil, fmt.Errorf("look for shortened IDs: %w", err)
	}
	for i, id := range ids {
		rows, short := meant[id]
		switch {
		case !short:
		case len(rows) == 0:
			return nil, f.absent(id, whole)
		case len(rows) > 1:
			return nil, f.ambiguous(id, rows)
		default:
			found[i] = rows[0].id
		}
	}
	return found, nil
}

// search adds to each shortened ID the rows that it can mean, and reports whether the whole list was looked through.
func (f *finder) search(meant map[string][]candidate) (whole bool, err error) {
	met := map[string]bool{}
	for number := 1; (number-1)*f.size < f.limit; number++ {
		rows, total, err := f.page(number, f.size)
		if err != nil {
			return false, err
		}
		for _, row := range rows {
			// New rows move those that were read onto the next page.
			if met[row.id] {
				continue
			}
			met[row.id] = true
			for id := range meant {
				if strings.HasPrefix(row.id, id) {
					meant[id] = append(meant[id], row)
				}
			}
		}
		if len(rows) == 0 || number*f.size >= total {
			return true, nil
		}
	}
	return false, nil
}

func (f *finder) absent(id string, whole bool) error {
	where := "that of none begins with it"
	if !whole {
		where = "that of none of the newest " + display.Number(f.limit) + " begins with it; of older ones the whole ID is needed"
	}
	return &console.ExitError{Code: console.ExitRefused, Err: fmt.Errorf("no %s has the ID %q, and %s", f.noun, id, where)}
}

func (f *finder) ambiguous(id string, rows []candidate) error {
	lines := make([]string, 0, maxCandidates+1)
	for _, row := range rows[:min(len(rows), maxCandidates)] {
		lines = append(lines, "  "+display.Text(row.id)+"  "+display.Text(row.about))
	}
	if more := len(rows) - len(lines); more > 0 {
		lines = append(lines, "  and "+display.Number(more)+" more")
	}
	return console.Usagef("%q is the beginning of the IDs of %s; give more of it:\n%s", id, display.Count(len(rows), f.noun), strings.Join(lines, "\n"))
}

func (c *call) orchestrationFinder() *finder {
	api := c.console.Orchestrations(c.ctx)
	return &finder{
		noun:  "orchestration",
		limit: searched,
		size:  searchPage,
		exists: func(id string) error {
			_, err := api.GetOrchestration(id)
			return err
		},
		page: func(number, size int) ([]candidate, int, error) {
			list, err := api.ListOrchestrations(orchestration.ListParameters{Page: number, PageSize: size})
			rows := make([]candidate, len(list.Data))
			for i, o := range list.Data {
				rows[i] = candidate{o.OrchestrationID, fmt.Sprintf("%s, %s, created %s", o.Type, o.State, c.clock().Relative(o.CreatedAt))}
			}
			return rows, list.TotalCount, err
		},
	}
}

func (c *call) operationFinder() *finder {
	api := c.console.Orchestrations(c.ctx)
	return &finder{
		noun:  "operation",
		limit: searchedOperations,
		size:  searchPageOperations,
		exists: func(id string) error {
			_, err := api.GetOperation(c.id, id)
			return err
		},
		page: func(number, size int) ([]candidate, int, error) {
			list, err := api.ListOperations(c.id, orchestration.ListParameters{Page: number, PageSize: size})
			rows := make([]candidate, len(list.Data))
			for i := range list.Data {
				rows[i] = candidate{list.Data[i].OperationID, list.Data[i].ShootName + ", " + list.Data[i].State}
			}
			return rows, list.TotalCount, err
		},
	}
}
