package orchestration

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/swell-fleet/swell/internal/apiclient"
)

// The query parameters of lists of events.
const (
	levelField       = "level"
	instanceIDsField = "instance_ids"
	operationIDQuery = "operation_id"
	beforeField      = "before"
)

// maxEventQuery is how many bytes of an address the instance IDs of one request take at most. Some proxies refuse addresses over 4 KiB; the
// rest is for the server's own address. So many bytes never hold 2,000 IDs, which is the most that servers take at once.
const maxEventQuery = 3 << 10

// ListEvents implements ExtendedClient.
func (c *client) ListEvents(params EventParameters) (EventList, error) {
	list, err := c.events(params, func(ctx context.Context, query url.Values, number, size int) (apiclient.Page[Event], error) {
		return apiclient.GetPlainPage[Event](ctx, c.api, []string{"events"}, query, number, size)
	})
	if err != nil {
		return EventList{}, fmt.Errorf("list events: %w", err)
	}
	return list, nil
}

// ListOrchestrationEvents implements ExtendedClient.
func (c *client) ListOrchestrationEvents(orchestrationID string, params EventParameters) (EventList, error) {
	path := []string{"orchestrations", orchestrationID, "events"}
	list, err := c.events(params, func(ctx context.Context, query url.Values, number, size int) (apiclient.Page[Event], error) {
		return apiclient.GetPage[Event](ctx, c.api, path, query, number, size)
	})
	if err != nil {
		return EventList{}, fmt.Errorf("list events of an orchestration: %w", err)
	}
	return list, nil
}

// eventPage reads one page of events: by its number, or, where that is 0, what the query says.
type eventPage func(ctx context.Context, query url.Values, number, size int) (apiclient.Page[Event], error)

// events reads one page or all pages of events. The events of many runtimes are asked for in several requests and put together.
func (c *client) events(params EventParameters, get eventPage) (EventList, error) {
	if params.Page < 0 || params.PageSize < 0 {
		return EventList{}, fmt.Errorf("page %d and page size %d must not be negative", params.Page, params.PageSize)
	}
	before, err := params.before()
	if err != nil {
		return EventList{}, err
	}
	queries, err := eventQueries(params)
	if err != nil {
		return EventList{}, err
	}
	switch {
	case params.Page > 0 && params.PageSize > 0:
		return c.onePageOfEvents(params, queries, get)
	case before > 0 && params.PageSize > 0:
		return c.eventsBefore(before, params.PageSize, queries, get)
	}
	merged := newestFirst{}
	for _, query := range queries {
		rows, err := c.allEvents(query, before, params.PageSize, get)
		if err != nil {
			return EventList{}, err
		}
		merged.add(rows)
	}
	events := merged.events()
	return EventList{Data: events, Count: len(events), TotalCount: len(events)}, nil
}

// onePageOfEvents reads the page that is asked for. Where there are several queries, what is on it is on the same page of one of them or on
// one before that.
func (c *client) onePageOfEvents(params EventParameters, queries []url.Values, get eventPage) (EventList, error) {
	if len(queries) == 1 {
		page, err := get(c.ctx, queries[0], params.Page, params.PageSize)
		if err != nil {
			return EventList{}, err
		}
		return EventList{Data: page.Rows, Count: len(page.Rows), TotalCount: max(page.TotalCount, len(page.Rows))}, nil
	}
	merged, total := newestFirst{}, 0
	for _, query := range queries {
		sum := 0
		for number := 1; number <= params.Page; number++ {
			page, err := get(c.ctx, query, number, params.PageSize)
			if err != nil {
				return EventList{}, err
			}
			merged.add(page.Rows)
			sum = max(sum, page.TotalCount)
			if len(page.Rows) < params.PageSize {
				break
			}
		}
		total += sum
	}
	events := merged.events()
	total = max(total, len(events))
	begin := min((params.Page-1)*params.PageSize, len(events))
	events = slices.Clip(events[begin:min(begin+params.PageSize, len(events))])
	return EventList{Data: events, Count: len(events), TotalCount: total}, nil
}

// eventQueries turns parameters into the queries of one request or, where the instance IDs are many, of several.
func eventQueries(params EventParameters) ([]url.Values, error) {
	base := url.Values{}
	if params.Level != "" {
		base.Set(levelField, params.Level)
	}
	if params.OperationID != "" {
		base.Set(operationIDQuery, params.OperationID)
	}
	if len(params.InstanceIDs) == 0 {
		return []url.Values{base}, nil
	}
	parts, err := instanceIDParts(params.InstanceIDs)
	if err != nil {
		return nil, err
	}
	queries := make([]url.Values, len(parts))
	for i, part := range parts {
		queries[i] = url.Values{instanceIDsField: {part}}
		for name, values := range base {
			queries[i][name] = values
		}
	}
	return queries, nil
}

// instanceIDParts joins instance IDs to values of a parameter that are short enough for an address, each ID once.
func instanceIDParts(ids []string) ([]string, error) {
	var parts []string
	var part strings.Builder
	seen := make(map[string]bool, len(ids))
	length := 0
	for _, id := range ids {
		switch {
		// Servers cut off the blanks around an ID.
		case id == "" || strings.TrimSpace(id) != id:
			return nil, fmt.Errorf("instance ID %q cannot be asked for: it is empty or has blanks around it", id)
		case strings.Contains(id, ","):
			return nil, fmt.Errorf("instance ID %q cannot be asked for: it has a comma", id)
		case seen[id]:
			continue
		}
		seen[id] = true
		// A comma takes three bytes in an address.
		escaped := len(url.QueryEscape(id)) + 3
		if length > 0 && length+escaped > maxEventQuery {
			parts = append(parts, part.String())
			part.Reset()
			length = 0
		}
		if length > 0 {
			part.WriteByte(',')
		}
		part.WriteString(id)
		length += escaped
	}
	return append(parts, part.String()), nil
}

// newestFirst puts lists of events together, each event once.
type newestFirst struct {
	rows []Event
	seen map[string]bool
	// unnumbered is true when the IDs are not those of this project's servers and tell no order.
	unnumbered bool
}

func (m *newestFirst) add(rows []Event) {
	if m.seen == nil {
		m.seen = make(map[string]bool, len(rows))
	}
	for i := range rows {
		id := rows[i].ID
		if id != "" && m.seen[id] {
			continue
		}
		m.seen[id] = true
		if _, ok := eventNumber(&rows[i]); !ok {
			m.unnumbered = true
		}
		m.rows = append(m.rows, rows[i])
	}
}

// events returns the events, newest first.
func (m *newestFirst) events() []Event {
	if m.rows == nil {
		return []Event{}
	}
	slices.SortStableFunc(m.rows, func(a, b Event) int {
		if m.unnumbered {
			return b.CreatedAt.Compare(a.CreatedAt)
		}
		x, _ := eventNumber(&a)
		y, _ := eventNumber(&b)
		return cmp.Compare(y, x)
	})
	return m.rows
}

// eventNumber returns the ID as the number that it is on this project's servers.
func eventNumber(e *Event) (uint64, bool) {
	n, err := strconv.ParseUint(e.ID, 10, 64)
	return n, err == nil
}
