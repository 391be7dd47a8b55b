package orchestration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/orchestration"
)

// What servers do about the parameter before.
const (
	knowsBefore   = "knows before"
	refusesBefore = "refuses before"
	ignoresBefore = "ignores before"
)

// history is a server's list of events, newest first, which grows and is cleaned up while it is read.
type history struct {
	mu     sync.Mutex
	events []orchestration.Event
	size   int
	// cursor is what the server does about before; empty is knowsBefore.
	cursor string
	// before runs ahead of every request.
	before func(request int, h *history)

	requests int
	longest  int
}

// add puts an event in front.
func (h *history) add(id int, instanceID string) {
	h.events = slices.Insert(h.events, 0, orchestration.Event{ID: strconv.Itoa(id), InstanceID: instanceID, Level: "info", Kind: "admitted"})
}

// ServeHTTP answers both lists of events.
func (h *history) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests++
	h.longest = max(h.longest, len(r.URL.String()))
	if h.before != nil {
		h.before(h.requests, h)
	}
	query := r.URL.Query()
	rows := append([]orchestration.Event{}, h.events...)
	if query.Has("instance_ids") {
		ids := strings.Split(query.Get("instance_ids"), ",")
		rows = slices.DeleteFunc(rows, func(e orchestration.Event) bool { return !slices.Contains(ids, e.InstanceID) })
	}
	size := h.size
	if asked, err := strconv.Atoi(query.Get("page_size")); err == nil {
		size = asked
	}
	page := 1
	if query.Has("page") {
		page, _ = strconv.Atoi(query.Get("page"))
	}
	total := len(rows)
	if before, err := strconv.Atoi(query.Get("before")); err == nil {
		switch h.cursor {
		case refusesBefore:
			answer(http.StatusBadRequest, `{"message":"before: is no parameter here"}`)(w, r)
			return
		case ignoresBefore:
		default:
			total = 0
			rows = slices.DeleteFunc(rows, func(e orchestration.Event) bool {
				n, _ := strconv.Atoi(e.ID)
				return n >= before
			})
		}
	}
	begin := min((page-1)*size, len(rows))
	data := rows[begin:min(begin+size, len(rows))]
	if strings.HasPrefix(r.URL.Path, "/orchestrations/") {
		_ = json.NewEncoder(w).Encode(orchestration.EventList{Data: data, Count: len(data), TotalCount: total})
		return
	}
	if total > 0 {
		w.Header().Set("X-Total-Count", strconv.Itoa(total))
	}
	_ = json.NewEncoder(w).Encode(data)
}

// serveHistory starts a server with the events n to 1 of the instances i-0 to i-9.
func serveHistory(t *testing.T, n, size int) (*history, orchestration.ExtendedClient) {
	t.Helper()
	h := &history{size: size}
	for id := 1; id <= n; id++ {
		h.add(id, "i-"+strconv.Itoa(id%10))
	}
	return h, newServer(t, h.ServeHTTP).client(t, "")
}

func eventIDs(list orchestration.EventList) []string {
	ids := []string{}
	for _, e := range list.Data {
		ids = append(ids, e.ID)
	}
	return ids
}

// downFrom are the numbers from one to another, as IDs.
func downFrom(from, to int) []string {
	ids := []string{}
	for n := from; n >= to; n-- {
		ids = append(ids, strconv.Itoa(n))
	}
	return ids
}

// lists are the two calls that read events.
func lists(client orchestration.ExtendedClient) map[string]func(orchestration.EventParameters) (orchestration.EventList, error) {
	return map[string]func(orchestration.EventParameters) (orchestration.EventList, error){
		"of all": client.ListEvents,
		"of an orchestration": func(p orchestration.EventParameters) (orchestration.EventList, error) {
			return client.ListOrchestrationEvents("o-1", p)
		},
	}
}

func TestEventsComeInPagesOrAllAtOnce(t *testing.T) {
	t.Parallel()
	for _, cursor := range []string{knowsBefore, refusesBefore, ignoresBefore} {
		h, client := serveHistory(t, 23, 5)
		h.cursor = cursor
		testPages(t, client)
	}
}

func testPages(t *testing.T, client orchestration.ExtendedClient) {
	t.Helper()
	for name, list := range lists(client) {
		for _, params := range []orchestration.EventParameters{{}, {PageSize: 4}, {Page: 3}} {
			all, err := list(params)
			require.NoError(t, err, name)
			require.Equal(t, downFrom(23, 1), eventIDs(all), name)
			require.Equal(t, []int{23, 23}, []int{all.Count, all.TotalCount}, name)
		}
		page, err := list(orchestration.EventParameters{Page: 3, PageSize: 10})
		require.NoError(t, err, name)
		require.Equal(t, downFrom(3, 1), eventIDs(page), name)
		require.Equal(t, []int{3, 23}, []int{page.Count, page.TotalCount}, name)
		page, err = list(orchestration.EventParameters{Page: 9, PageSize: 10})
		require.NoError(t, err, name)
		require.Equal(t, orchestration.EventList{Data: []orchestration.Event{}, TotalCount: 23}, page, name)
	}
}

// The whole history takes one request a page and one for its end, also while it grows by more than is read.
func TestAGrowingHistoryIsReadOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"of all", "of an orchestration"} {
		h, client := serveHistory(t, 23, 5)
		h.before = func(request int, h *history) {
			for i := range 7 {
				h.add(100*request+i, "i-1")
			}
		}
		all, err := lists(client)[name](orchestration.EventParameters{})
		require.NoError(t, err, name)
		require.Equal(t, append(downFrom(106, 100), downFrom(23, 1)...), eventIDs(all), name)
		require.Equal(t, 7, h.requests, name)
	}
}

// A program that goes on from the last event of each part has all of them, and never holds more than a part.
func TestEventsBeforeOne(t *testing.T) {
	t.Parallel()
	h, client := serveHistory(t, 23, 5)
	for name, list := range lists(client) {
		part, err := list(orchestration.EventParameters{Page: 1, PageSize: 7})
		require.NoError(t, err, name)
		got := eventIDs(part)
		for len(part.Data) > 0 {
			part, err = list(orchestration.EventParameters{Before: got[len(got)-1], PageSize: 7})
			require.NoError(t, err, name)
			require.NotNil(t, part.Data)
			require.Equal(t, []int{len(part.Data), 0}, []int{part.Count, part.TotalCount}, name)
			got = append(got, eventIDs(part)...)
		}
		require.Equal(t, downFrom(23, 1), got, name)
		rest, err := list(orchestration.EventParameters{Before: "12"})
		require.NoError(t, err, name)
		require.Equal(t, downFrom(11, 1), eventIDs(rest), name)
		require.Equal(t, 11, rest.TotalCount, name)
		own, err := list(orchestration.EventParameters{Before: "21", InstanceIDs: []string{"i-1", "i-2"}, PageSize: 3})
		require.NoError(t, err, name)
		require.Equal(t, []string{"12", "11", "2"}, eventIDs(own), name)

		requests := h.requests
		for _, params := range []orchestration.EventParameters{{Before: "12", Page: 1}, {Before: "12", Page: 2, PageSize: 3}} {
			_, err = list(params)
			require.ErrorContains(t, err, "the events before 12 cannot be asked for at once", name)
		}
		for _, id := range []string{"0", "-1", "x", " 12", "1e3", "99999999999999999999"} {
			_, err = list(orchestration.EventParameters{Before: id, PageSize: 3})
			require.ErrorContains(t, err, strconv.Quote(id), name)
		}
		require.Equal(t, requests, h.requests, "nothing was asked")
	}
}

// What a server answers that does not know before is not taken for what was before.
func TestEventsBeforeOneOfServersThatDoNotKnowIt(t *testing.T) {
	t.Parallel()
	for cursor, fails := range map[string]string{refusesBefore: "is no parameter here", ignoresBefore: "order of their numbers"} {
		h, client := serveHistory(t, 23, 5)
		h.cursor = cursor
		for name, list := range lists(client) {
			_, err := list(orchestration.EventParameters{Before: "12"})
			require.ErrorContains(t, err, fails, name)
			_, err = list(orchestration.EventParameters{Before: "12", PageSize: 3})
			require.Error(t, err, name)
		}
	}
}

func TestFiltersOfEventsGoWithEveryPage(t *testing.T) {
	t.Parallel()
	server := newServer(t, answer(http.StatusOK, `[]`))
	client := server.client(t, "/api")
	ids := []string{"i-1", "i 2", "i-1"}
	_, err := client.ListEvents(orchestration.EventParameters{Level: orchestration.EventLevelError, InstanceIDs: ids, OperationID: "op&1", PageSize: 7})
	require.NoError(t, err)
	require.Equal(t, "/api/events?instance_ids=i-1%2Ci+2&level=error&operation_id=op%261&page=1&page_size=7", server.seen()[0].URI)
	require.Equal(t, []string{"i-1", "i 2", "i-1"}, ids)
	_, err = client.ListEvents(orchestration.EventParameters{Level: orchestration.EventLevelError, InstanceIDs: ids, OperationID: "op&1", PageSize: 7, Before: "5"})
	require.NoError(t, err)
	require.Equal(t, "/api/events?before=5&instance_ids=i-1%2Ci+2&level=error&operation_id=op%261&page_size=7", server.seen()[1].URI)

	objects := newServer(t, answer(http.StatusOK, `{"data":[],"count":0,"totalCount":0}`))
	list, err := objects.client(t, "").ListOrchestrationEvents("o/1", orchestration.EventParameters{InstanceIDs: []string{"i-1"}})
	require.NoError(t, err)
	require.Equal(t, orchestration.EventList{Data: []orchestration.Event{}}, list)
	require.Equal(t, "/orchestrations/o%2F1/events?instance_ids=i-1&page=1", objects.seen()[0].URI)
}

// More instance IDs than one address can hold are asked for in several requests; the events come as if it had been one.
func TestEventsOfManyRuntimes(t *testing.T) {
	t.Parallel()
	h := &history{size: 100}
	var ids []string
	for id := 1; id <= 400; id++ {
		ids = append(ids, fmt.Sprintf("ü%034d", id))
		h.add(id, ids[id-1])
		h.add(1000+id, ids[id-1])
	}
	client := newServer(t, h.ServeHTTP).client(t, "")
	want := append(downFrom(1400, 1001), downFrom(400, 1)...)
	slices.SortFunc(h.events, func(a, b orchestration.Event) int {
		x, _ := strconv.Atoi(a.ID)
		y, _ := strconv.Atoi(b.ID)
		return y - x
	})
	for name, list := range lists(client) {
		all, err := list(orchestration.EventParameters{InstanceIDs: append(slices.Clone(ids), ids[:50]...)})
		require.NoError(t, err, name)
		require.Equal(t, want, eventIDs(all), name)
		require.Less(t, h.longest, 4<<10)
		// Also pages are pages of the whole.
		for number, begin := range map[int]int{1: 0, 3: 60, 14: 390, 27: 780} {
			page, err := list(orchestration.EventParameters{InstanceIDs: ids, Page: number, PageSize: 30})
			require.NoError(t, err, name)
			require.Equal(t, want[begin:min(begin+30, len(want))], eventIDs(page), name)
			require.Equal(t, 800, page.TotalCount, name)
		}
		past, err := list(orchestration.EventParameters{InstanceIDs: ids, Page: 28, PageSize: 30})
		require.NoError(t, err, name)
		require.Equal(t, orchestration.EventList{Data: []orchestration.Event{}, TotalCount: 800}, past, name)
	}
}

// An ID that is lost on the way would bring the events of all.
func TestInstanceIDsThatCannotBeAskedForAreRefused(t *testing.T) {
	t.Parallel()
	server := newServer(t, answer(http.StatusOK, `[]`))
	for name, list := range lists(server.client(t, "")) {
		for _, id := range []string{"", " ", "i-1,i-2", " i-1", "i-1\t"} {
			_, err := list(orchestration.EventParameters{InstanceIDs: []string{"i-0", id}})
			require.ErrorContains(t, err, strconv.Quote(id), name)
		}
		for _, params := range []orchestration.EventParameters{{Page: -1}, {PageSize: -1}} {
			_, err := list(params)
			require.ErrorContains(t, err, "must not be negative", name)
		}
	}
	require.Empty(t, server.seen())
}

func TestEventsOfDifficultServers(t *testing.T) {
	t.Parallel()
	t.Run("is at work all the time", func(t *testing.T) {
		t.Parallel()
		h, client := serveHistory(t, 30, 5)
		h.before = func(request int, h *history) {
			for i := range 4 {
				h.add(100*request+i, "i-1")
			}
		}
		list, err := client.ListEvents(orchestration.EventParameters{})
		require.NoError(t, err)
		require.Equal(t, append(downFrom(103, 100), downFrom(30, 1)...), eventIDs(list), "the history as it was at the first request")
	})
	t.Run("sends no total", func(t *testing.T) {
		t.Parallel()
		server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			ids := map[string]string{"1": `{"id":"2"},{"id":"1"}`}
			_, _ = w.Write([]byte("[" + ids[r.URL.Query().Get("page")] + "]"))
		})
		list, err := server.client(t, "").ListEvents(orchestration.EventParameters{})
		require.NoError(t, err)
		require.Equal(t, []string{"2", "1"}, eventIDs(list))
		list, err = server.client(t, "").ListEvents(orchestration.EventParameters{Page: 1, PageSize: 2})
		require.NoError(t, err)
		require.Equal(t, 2, list.TotalCount)
	})
	t.Run("has IDs that are no numbers", func(t *testing.T) {
		t.Parallel()
		at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			rows := map[string][]orchestration.Event{
				"1": {{ID: "b", CreatedAt: at.Add(time.Hour)}, {ID: "7", CreatedAt: at}}, "2": {{ID: "9", CreatedAt: at.Add(time.Minute)}, {ID: "b", CreatedAt: at.Add(time.Hour)}},
			}
			_ = json.NewEncoder(w).Encode(append([]orchestration.Event{}, rows[r.URL.Query().Get("page")]...))
		})
		list, err := server.client(t, "").ListEvents(orchestration.EventParameters{})
		require.NoError(t, err)
		require.Equal(t, []string{"b", "9", "7"}, eventIDs(list))
	})
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		fails   string
	}{
		"does not know pages":          {answer(http.StatusOK, `[{"id":"1"}]`), "does not seem to know pages"},
		"answers with an object":       {answer(http.StatusOK, `{"data":[]}`), "not a JSON list"},
		"answers with a page of HTML":  {answer(http.StatusOK, `<html>`), "not a JSON list"},
		"is away":                      {answer(http.StatusServiceUnavailable, `no healthy upstream`), "no healthy upstream"},
		"breaks down after some pages": {breaksDown(3), "500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := newServer(t, test.handler).client(t, "").ListEvents(orchestration.EventParameters{})
			require.ErrorContains(t, err, test.fails)
			require.Zero(t, list, "an error came with a part of the list")
		})
	}
}

// breaksDown answers some pages with an event each and then fails.
func breaksDown(pages int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		if page > pages {
			answer(http.StatusInternalServerError, "oh")(w, r)
			return
		}
		answer(http.StatusOK, fmt.Sprintf(`[{"id":"%d"}]`, 100-page))(w, r)
	}
}

// change is what happens to a history between two requests: so many events come, and those at some places go.
type change struct {
	come int
	gone []int
}

// Whatever is added and cleaned up while the history is read: what was there at the begin and stays is in the result, once and in order,
// and nothing is that came later.
func TestPropertyNoEventIsLost(t *testing.T) {
	t.Parallel()
	h := &history{}
	client := newServer(t, h.ServeHTTP).client(t, "")
	rapid.Check(t, func(t *rapid.T) {
		size, begun := rapid.IntRange(1, 6).Draw(t, "size"), rapid.IntRange(0, 25).Draw(t, "events")
		changes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) change {
			return change{rapid.IntRange(0, 9).Draw(t, "come"), rapid.SliceOfN(rapid.IntRange(0, 30), 0, 4).Draw(t, "gone")}
		}), 0, 6).Draw(t, "changes")
		cursor := rapid.SampledFrom([]string{knowsBefore, refusesBefore, ignoresBefore}).Draw(t, "cursor")
		stays := map[string]bool{}

		h.mu.Lock()
		h.events, h.requests, h.size = nil, 0, size
		h.cursor = cursor
		for id := 1; id <= begun; id++ {
			h.add(id, "i-1")
			stays[strconv.Itoa(id)] = true
		}
		next := begun + 1
		h.before = func(request int, h *history) {
			if request < 2 || request-2 >= len(changes) {
				return
			}
			for range changes[request-2].come {
				h.add(next, "i-1")
				next++
			}
			for _, at := range changes[request-2].gone {
				if at < len(h.events) {
					delete(stays, h.events[at].ID)
					h.events = slices.Delete(h.events, at, at+1)
				}
			}
		}
		h.mu.Unlock()

		list, err := client.ListEvents(orchestration.EventParameters{})
		require.NoError(t, err)
		last := begun + 1
		for _, id := range eventIDs(list) {
			n, err := strconv.Atoi(id)
			require.NoError(t, err)
			require.Less(t, n, last, "events are in order, each once, and none is newer than the begin")
			last = n
			delete(stays, id)
		}
		require.Empty(t, stays, "events that are missing")
	})
}

// However instance IDs are cut into parts: no address is too long, and every ID is asked for once.
func TestPropertyInstanceIDsAreSplit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.StringMatching(`[a-z0-9-]{36}`), rapid.StringMatching(`[!-+\-.-~ü日]{1,60}`))
		ids := rapid.SliceOfN(id, 1, 200).Draw(t, "ids")
		parts, err := orchestration.InstanceIDParts(ids)
		require.NoError(t, err)
		var got []string
		for _, part := range parts {
			require.LessOrEqual(t, len(url.QueryEscape(part)), 3<<10)
			got = append(got, strings.Split(part, ",")...)
		}
		slices.Sort(ids)
		slices.Sort(got)
		require.Equal(t, slices.Compact(ids), got)
	})
}
