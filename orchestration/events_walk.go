package orchestration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/swell-fleet/swell/internal/apiclient"
)

// before returns the number of the event whose predecessors are asked for; 0 when all events are.
func (p *EventParameters) before() (uint64, error) {
	if p.Before == "" {
		return 0, nil
	}
	n, ok := eventNumber(&Event{ID: p.Before})
	switch {
	case !ok || n == 0:
		return 0, fmt.Errorf("%q is not the ID of an event of this server", p.Before)
	case p.Page > 0:
		return 0, fmt.Errorf("page %d and the events before %s cannot be asked for at once", p.Page, p.Before)
	}
	return n, nil
}

// getBefore reads the newest events of a query that are older than one.
func getBefore(ctx context.Context, query url.Values, before uint64, size int, get eventPage) (apiclient.Page[Event], error) {
	query = maps.Clone(query)
	query.Set(beforeField, strconv.FormatUint(before, 10))
	return get(ctx, query, 0, size)
}

// eventsBefore reads so many events that are older than one. Where there are several queries, what is wanted is among the first of each.
func (c *client) eventsBefore(before uint64, size int, queries []url.Values, get eventPage) (EventList, error) {
	merged := newestFirst{}
	for _, query := range queries {
		page, err := getBefore(c.ctx, query, before, size, get)
		if err != nil {
			return EventList{}, err
		}
		for i := range page.Rows {
			if n, ok := eventNumber(&page.Rows[i]); !ok || n >= before {
				return EventList{}, fmt.Errorf("the answer to what was before event %d has the event %q: the server does not seem to know how to go on", before, page.Rows[i].ID)
			}
		}
		merged.add(page.Rows)
	}
	events := merged.events()
	events = slices.Clip(events[:min(size, len(events))])
	return EventList{Data: events, Count: len(events)}, nil
}

// allEvents reads all events that a query asks for, or those of them before one, as they were when the first page was read. Servers that do not know
// how to go on from an event are asked for one page after the other.
func (c *client) allEvents(query url.Values, before uint64, size int, get eventPage) ([]Event, error) {
	var first *apiclient.Page[Event]
	rows, err := apiclient.WalkDown(c.ctx, before, eventNumber, func(ctx context.Context, below uint64) (apiclient.Page[Event], error) {
		if below > 0 {
			return getBefore(ctx, query, below, size, get)
		}
		page, err := get(ctx, query, 1, size)
		if err == nil {
			first = &page
		}
		return page, err
	})
	if first != nil && cannotGoOn(err) {
		return c.allPages(query, size, first, get)
	}
	return rows, err
}

// cannotGoOn says whether a server showed that it does not know how to go on from an event: it refused to, or it answered as if it had not been asked to.
func cannotGoOn(err error) bool {
	var refused *Error
	return errors.Is(err, apiclient.ErrNotDown) || errors.As(err, &refused) && refused.Status == http.StatusBadRequest
}

// allPages reads all events by page numbers, from the first page on, which is read already. What is added meanwhile is left out: it would be in the
// result only in parts.
func (c *client) allPages(query url.Values, size int, first *apiclient.Page[Event], get eventPage) ([]Event, error) {
	var limit uint64
	numbered := false
	if len(first.Rows) > 0 {
		limit, numbered = eventNumber(&first.Rows[0])
	}
	rows, err := apiclient.WalkNewestFirst(c.ctx, func(e *Event) string { return e.ID }, func(ctx context.Context, number int) (page apiclient.Page[Event], err error) {
		if number == 1 && first != nil {
			page, first = *first, nil
			return page, nil
		}
		return get(ctx, query, number, size)
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(rows, func(e Event) bool {
		n, ok := eventNumber(&e)
		return ok && numbered && n > limit
	}), nil
}
