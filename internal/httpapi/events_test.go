package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
	"github.com/swell-fleet/swell/orchestration"
)

// A filter that is not understood never widens the answer, and an operation that does not exist is not one without a history.
func TestFiltersOfEventsAreStrict(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.InProgress}, fleet.Operation{ID: "op-1", RuntimeID: "rt-1", InstanceID: "in-rt-1"})
	f.addOrchestration(fleet.Orchestration{ID: "o-2", State: fleet.InProgress}, fleet.Operation{ID: "op-2", RuntimeID: "rt-2", InstanceID: "in-rt-2"})
	for _, list := range []string{"/events", "/orchestrations/o-1/events"} {
		for query, field := range map[string]string{
			"level=": "level", "level=warning": "level", "level=info&level=error": "level", "operation_id=": "operation_id",
			"operation_id=op-1&operation_id=op-2": "operation_id", "instance_ids=": "instance_ids", "instance_ids=a,,b": "instance_ids",
			"instance_ids=" + strings.Repeat("a,", 2000) + "a": "instance_ids", "instance_id=a": "instance_id",
		} {
			problem(t, f.get(list+"?"+query), http.StatusBadRequest, field)
		}
		for _, query := range []string{"level=ALL", "level=Error", "operation_id=op-1", "instance_ids=%20a%20,b&instance_ids=c"} {
			require.Equal(t, http.StatusOK, f.get(list+"?"+query).status, query)
		}
	}
	problem(t, f.get("/orchestrations/o-1/events?operation_id=op-2"), http.StatusNotFound, "")
	require.Equal(t, "[]\n", f.get("/events?operation_id=op-9").text)
}

// Where a walk goes on is named by an event, in one way only. What is not the ID of one never begins the walk anew.
func TestTheEventThatIsGoneOnFromIsChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.InProgress})
	for _, list := range []string{"/events", "/orchestrations/o-1/events"} {
		for _, value := range []string{"", "0", "-1", "+1", "01", "1.0", "1e1", "x", " 1", "0x1", "1_0", "9223372036854775808", "99999999999999999999", "٣"} {
			p := problem(t, f.get(list+"?before="+url.QueryEscape(value)), http.StatusBadRequest, "before")
			require.Contains(t, p.Detail, strconv.Quote(value))
		}
		for _, query := range []string{"before=5&before=5", "before=5&page=1", "before=5&page=2&page_size=10"} {
			problem(t, f.get(list+"?"+query), http.StatusBadRequest, "before")
		}
		problem(t, f.get(list+"?before=5&page_size=1001"), http.StatusBadRequest, "page_size")
		problem(t, f.get(list+"?before=5&level=warning"), http.StatusBadRequest, "level")
		require.Equal(t, http.StatusOK, f.get(list+"?before=9223372036854775807&page_size=1").status)
	}
	problem(t, f.get("/orchestrations/o-9/events?before=5"), http.StatusNotFound, "")
	problem(t, f.get("/orchestrations?before=5"), http.StatusBadRequest, "before")
}

// Who goes on from the last event of each answer reads all events once, and the filters hold on the way. Nothing is counted.
func TestEventsBeforeAnEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *httpapi.Options) { o.PageSize = 2 })
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.InProgress})
	add := func(n int) {
		f.write(func(ctx context.Context, tx fleet.Tx) error {
			return tx.AppendEvents(ctx, slices.Repeat([]fleet.Event{
				{OrchestrationID: "o-1", InstanceID: "in-1"}, {OrchestrationID: "o-2", InstanceID: "in-1"}, {OrchestrationID: "o-1", Level: fleet.LevelError},
			}, n))
		})
	}
	add(3)
	for _, filter := range []string{"", "&instance_ids=in-1", "&level=error", "&instance_ids=in-1&level=info"} {
		all := read[[]orchestration.Event](t, f.get("/events?page_size=1000"+filter))
		got := read[[]orchestration.Event](t, f.get("/events?page=1"+filter))
		for page := got; len(page) > 0; {
			add(1)
			r := f.get("/events?before=" + page[len(page)-1].ID + filter)
			require.NotContains(t, r.header, "X-Total-Count")
			page = read[[]orchestration.Event](t, r)
			got = append(got, page...)
		}
		require.NotEmpty(t, all, filter)
		require.Equal(t, all, got, filter)
	}
	whole := read[orchestration.EventList](t, f.get("/orchestrations/o-1/events?page_size=1000"))
	require.Equal(t, len(whole.Data), whole.TotalCount)
	r := f.get("/orchestrations/o-1/events?before=" + whole.Data[0].ID + "&page_size=3")
	require.NotContains(t, r.text, "totalCount")
	part := read[orchestration.EventList](t, r)
	require.Equal(t, whole.Data[1:4], part.Data)
	require.Equal(t, 3, part.Count)
	require.Equal(t, "[]\n", f.get("/events?before=1").text)
	require.JSONEq(t, `{"data":[],"count":0}`, f.get("/orchestrations/o-1/events?before=1").text)
}

// The published client reads what the server writes: a page, all pages, and the events of more runtimes than one address can name.
func TestThePublishedClientReadsEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *httpapi.Options) { o.PageSize = 7 })
	server := httptest.NewServer(f.handler)
	t.Cleanup(server.Close)
	client := orchestration.NewExtendedClient(t.Context(), server.URL, nil)
	f.addOrchestration(fleet.Orchestration{ID: "o-1", State: fleet.InProgress}, fleet.Operation{ID: "op-1", RuntimeID: "rt-1", InstanceID: "in-1", ShootName: "c-1"})
	instances := make([]string, 300)
	f.write(func(ctx context.Context, tx fleet.Tx) error {
		var events []fleet.Event
		for i := range instances {
			instances[i] = fmt.Sprintf("in-%032d", i)
			events = append(events, fleet.Event{Kind: fleet.EventImported, InstanceID: instances[i], Message: fmt.Sprint(i)})
		}
		return tx.AppendEvents(ctx, append(events,
			fleet.Event{Kind: fleet.EventFinished, Level: fleet.LevelError, OrchestrationID: "o-1", OperationID: "op-1", InstanceID: "in-1", Message: "quota", To: fleet.Failed},
			fleet.Event{Kind: fleet.EventCancel, OrchestrationID: "o-1", Message: "cancel requested", Actor: fleet.Actor{User: "ann", Roles: []string{"admin"}}},
		))
	})

	all, err := client.ListEvents(orchestration.EventParameters{})
	require.NoError(t, err)
	require.Equal(t, 302, all.TotalCount)
	require.Equal(t, "cancel requested", all.Data[0].Message)
	some, err := client.ListEvents(orchestration.EventParameters{InstanceIDs: instances})
	require.NoError(t, err)
	require.Equal(t, all.Data[2:], some.Data)
	page, err := client.ListEvents(orchestration.EventParameters{InstanceIDs: instances, Page: 2, PageSize: 10})
	require.NoError(t, err)
	require.Equal(t, orchestration.EventList{Data: all.Data[12:22], Count: 10, TotalCount: 300}, page)
	part, err := client.ListEvents(orchestration.EventParameters{InstanceIDs: instances, Before: all.Data[11].ID, PageSize: 10})
	require.NoError(t, err)
	require.Equal(t, orchestration.EventList{Data: all.Data[12:22], Count: 10}, part)

	own, err := client.ListOrchestrationEvents("o-1", orchestration.EventParameters{})
	require.NoError(t, err)
	require.Equal(t, all.Data[:2], own.Data)
	require.Equal(t, "c-1", own.Data[1].ShootName)
	require.Equal(t, []string{"admin"}, own.Data[0].Roles)
	failed, err := client.ListOrchestrationEvents("o-1", orchestration.EventParameters{Level: orchestration.EventLevelError, OperationID: "op-1", InstanceIDs: []string{"in-1"}})
	require.NoError(t, err)
	require.Equal(t, all.Data[1:2], failed.Data)
	older, err := client.ListOrchestrationEvents("o-1", orchestration.EventParameters{Before: own.Data[0].ID})
	require.NoError(t, err)
	require.Equal(t, orchestration.EventList{Data: all.Data[1:2], Count: 1, TotalCount: 1}, older)
	_, err = client.ListOrchestrationEvents("o-1", orchestration.EventParameters{OperationID: "op-9"})
	var refused *orchestration.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusNotFound, refused.Status)
}
