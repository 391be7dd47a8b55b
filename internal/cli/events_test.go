package cli_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli"
	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// fleetOf is a server with runtimes of which each has some events, and an orchestration with all of these. It notes which requests it gets.
type fleetOf struct {
	runtimes int
	events   func(instance int) []orchestration.Event

	requests []string
}

func (f *fleetOf) instance(n int) string { return fmt.Sprintf("%036d", n) }

// ServeHTTP answers lists, page by page.
func (f *fleetOf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.requests = append(f.requests, r.URL.String())
	query := r.URL.Query()
	page, _ := strconv.Atoi(cmp.Or(query.Get("page"), "1"))
	before, err := strconv.Atoi(cmp.Or(query.Get("before"), strconv.Itoa(math.MaxInt)))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	wanted := query.Get("instance_ids")
	var runtimes []runtime.RuntimeDTO
	var events []orchestration.Event
	for n := range f.runtimes {
		runtimes = append(runtimes, runtime.RuntimeDTO{InstanceID: f.instance(n), ShootName: fmt.Sprintf("c-%d", n), Status: runtime.RuntimeStatus{State: "error"}})
		if wanted == "" || strings.Contains(wanted, f.instance(n)) {
			for _, e := range f.events(n) {
				if id, _ := strconv.Atoi(e.ID); id >= before {
					continue
				}
				e.InstanceID = f.instance(n)
				events = append(events, e)
			}
		}
	}
	const size = 1000
	switch {
	case r.URL.Path == "/runtimes":
		data := runtimes[min((page-1)*size, len(runtimes)):min(page*size, len(runtimes))]
		_ = json.NewEncoder(w).Encode(runtime.RuntimesPage{Data: append([]runtime.RuntimeDTO{}, data...), Count: len(data), TotalCount: len(runtimes)})
	case strings.HasSuffix(r.URL.Path, "/events"):
		data := append([]orchestration.Event{}, events[min((page-1)*size, len(events)):min(page*size, len(events))]...)
		if r.URL.Path == "/events" {
			w.Header().Set("X-Total-Count", strconv.Itoa(len(events)))
			_ = json.NewEncoder(w).Encode(data)
			return
		}
		_ = json.NewEncoder(w).Encode(orchestration.EventList{Data: data, Count: len(data), TotalCount: len(events)})
	default:
		_ = json.NewEncoder(w).Encode(orchestration.StatusResponse{OrchestrationID: "o-1", State: orchestration.Failed})
	}
}

// runOn carries out a command line in this process on a terminal, or without one when it is nil.
func runOn(t *testing.T, screen console.Screen, server http.Handler, args ...string) result {
	t.Helper()
	s := httptest.NewServer(server)
	defer s.Close()
	var out, errs bytes.Buffer
	c := &console.Console{
		In: strings.NewReader(""), Out: &out, Err: &errs, Screen: screen, Environ: []string{"SWELL_URL=" + s.URL},
		Clock: func() time.Time { return time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC) },
	}
	code := cli.Run(t.Context(), c, args)
	return result{code, out.String(), errs.String()}
}

// wide is a terminal of a hundred columns.
type wide struct{}

// Size implements console.Screen.
func (wide) Size() (columns, rows int, ok bool) { return 100, 24, true }

// numberedEvents are as many events, the newest first.
func numberedEvents(n int) []orchestration.Event {
	var events []orchestration.Event
	for id := n; id > 0; id-- {
		events = append(events, orchestration.Event{
			ID: strconv.Itoa(id), Level: "info", Kind: "admitted", Message: fmt.Sprintf("event %d", id),
			CreatedAt: time.Date(2030, 1, 1, 0, 0, id, 0, time.Local),
		})
	}
	return events
}

func TestATerminalShowsTheNewestEventsBelowTheirRuntime(t *testing.T) {
	t.Parallel()
	server := &fleetOf{runtimes: 2, events: func(n int) []orchestration.Event { return numberedEvents(12 - 12*n) }}
	got := runOn(t, wide{}, server, "runtimes", "--events")
	require.Zero(t, got.code, got.err)
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	zone := time.Date(2030, 1, 1, 0, 0, 0, 0, time.Local).Format("MST")
	require.Len(t, lines, 15, got.out)
	require.Contains(t, lines[0], "SHOOT  STATE")
	require.Contains(t, lines[1], "c-0    error")
	require.Equal(t, "  2030-01-01 00:00:12 "+zone+"  info   admitted  -      -   -                 -             event 12", lines[2])
	require.Equal(t, "  2030-01-01 00:00:03 "+zone+"  info   admitted  -      -   -                 -             event 3", lines[11])
	require.Contains(t, lines[12], "  and 2 more: swell runtimes --instance-id "+server.instance(0)+" --state all --events=all -o json")
	require.Contains(t, lines[13], "c-1    error")
	require.Equal(t, "2 runtimes", lines[14])
}

// The events of thousands of runtimes are asked for in parts, each of which fits into an address.
func TestTheEventsOfThousandsOfRuntimes(t *testing.T) {
	t.Parallel()
	server := &fleetOf{runtimes: 3000, events: func(n int) []orchestration.Event {
		return []orchestration.Event{{ID: strconv.Itoa(1_000_000 - n), Level: "error", Kind: "finished", Message: "quota"}}
	}}
	got := runOn(t, nil, server, "runtimes", "--events=error")
	require.Zero(t, got.code, got.err)
	require.Equal(t, 3000, strings.Count(got.out, "\tquota\n"))
	require.Less(t, len(server.requests), 3000/20)
	for _, request := range server.requests {
		require.Less(t, len(request), 4<<10)
		require.False(t, strings.HasPrefix(request, "/events") && !strings.Contains(request, "instance_ids="), request)
	}

	got = runOn(t, nil, server, "runtimes", "--events", "-o", "json")
	require.Zero(t, got.code, got.err)
	var page struct {
		Data []struct {
			runtime.RuntimeDTO

			Events []orchestration.Event `json:"events"`
		} `json:"data"`
		Count      int `json:"count"`
		TotalCount int `json:"totalCount"`
	}
	require.NoError(t, json.Unmarshal([]byte(got.out), &page))
	require.Equal(t, []int{3000, 3000, 3000}, []int{len(page.Data), page.Count, page.TotalCount})
	for _, rt := range page.Data {
		require.Len(t, rt.Events, 1)
		require.Equal(t, rt.InstanceID, rt.Events[0].InstanceID)
	}
}

// Whoever names a Shoot, a user or a failure cannot steer the terminal or the program that reads the lines.
func TestEventsCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b]0;owned\a\x1b[2J\r\nc-9\tfailed\u202e\u2028\u009b31m"
	server := &fleetOf{runtimes: 1, events: func(int) []orchestration.Event {
		return []orchestration.Event{{
			ID: "1", Level: hostile, OperationID: hostile, Message: hostile, OrchestrationID: hostile, RuntimeID: hostile, ShootName: hostile, Kind: hostile,
			From: hostile, To: hostile, User: hostile, Roles: []string{hostile}, RemoteAddr: hostile,
		}}
	}}
	for _, screen := range []console.Screen{nil, wide{}, narrow{}} {
		for _, args := range [][]string{{"runtimes", "--events"}, {"orchestrations", "o-1", "events"}, {"orchestrations", "o-1", "events", "--follow"}} {
			got := runOn(t, screen, server, args...)
			require.Zero(t, got.code, got.err)
			require.Contains(t, got.out, "owned")
			require.False(t, strings.ContainsFunc(got.out+got.err, func(r rune) bool {
				return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028'
			}), "%q", got.out)
			if screen == nil {
				require.Equal(t, 1, strings.Count(got.out, "\n"), "%q", got.out)
			} else {
				require.NotContains(t, got.out, "\t")
			}
		}
	}
}

// The reason of a failure is told to its end, however narrow the terminal is.
func TestAReasonIsNotCut(t *testing.T) {
	t.Parallel()
	reason := "machine type m5.24xlarge is not available in the zone eu-central-1c; " + strings.Repeat("retry later ", 20) + "END"
	server := &fleetOf{runtimes: 1, events: func(int) []orchestration.Event {
		return []orchestration.Event{{ID: "1", Level: "error", ShootName: "c-0", Kind: "finished", From: "in progress", To: "failed", Message: reason, OperationID: strings.Repeat("o", 36)}}
	}}
	for _, screen := range []console.Screen{wide{}, narrow{}} {
		for _, args := range [][]string{{"runtimes", "--events"}, {"orchestrations", "o-1", "events"}} {
			got := runOn(t, screen, server, args...)
			require.Contains(t, strings.Join(strings.Fields(got.out), " "), reason, got.out)
		}
	}
}
