package apiclient

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func answer(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func TestAnswersAreExactlyOneObject(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		``, ` `, `null`, `[]`, `"text"`, `1`, `true`, `<html></html>`, `{"id":"1"`, `{"id":1}`, `{"id":"1"} {"id":"2"}`, `{"id":"1"}garbage`,
		`{"id":"1",}`, `{'id':'1'}`, "\xef\xbb\xbf{}",
	} {
		_, err := Get[thing](t.Context(), overNetwork(t, answer(body)), []string{"things", "1"}, nil)
		require.ErrorContains(t, err, "decode answer", "%q", body)
		require.ErrorContains(t, err, "GET http://127.0.0.1")
	}

	got, err := Get[thing](t.Context(), overNetwork(t, answer(" {\"id\":\"1\",\"color\":{\"new\":[1]}} \n")), []string{"things", "1"}, nil)
	require.NoError(t, err)
	require.Equal(t, thing{ID: "1"}, got)
}

func TestADecodingErrorIsNotTriedAgainAndLeavesNothing(t *testing.T) {
	t.Parallel()
	calls := 0
	client := overNetwork(t, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		_, _ = io.WriteString(w, `{"name":"half","id":[]}`)
	})
	got, err := Get[thing](t.Context(), client, []string{"things", "1"}, nil)
	require.Error(t, err)
	require.Zero(t, got)
	require.Equal(t, 1, calls)
}

func TestAnAnswerOverTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	body := `{"name":"` + strings.Repeat("x", 1000) + `"}`
	limited := func(o *Options) { o.BodyLimit = int64(len(body)) - 1 }
	for name, handler := range map[string]http.HandlerFunc{
		"announced": answer(body),
		"chunked": func(w http.ResponseWriter, _ *http.Request) {
			for _, r := range body {
				_, _ = io.WriteString(w, string(r))
			}
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, strings.Repeat(" ", 5000))
		},
	} {
		_, err := Get[thing](t.Context(), overNetwork(t, handler, limited), []string{"things"}, nil)
		require.ErrorContains(t, err, "limit", name)
	}
	_, err := Get[thing](t.Context(), overNetwork(t, answer(body), func(o *Options) { o.BodyLimit = int64(len(body)) }), []string{"things"}, nil)
	require.NoError(t, err)
}

func TestOnlyExpectedStatusesAreGood(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusCreated, http.StatusAccepted, http.StatusNoContent, http.StatusNotFound, http.StatusInternalServerError} {
		client := overNetwork(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"id":"1","detail":"why"}`)
		})
		_, err := Get[thing](t.Context(), client, []string{"things"}, nil)
		require.ErrorContains(t, err, "GET http://127.0.0.1")
		require.ErrorContains(t, err, http.StatusText(status))
	}
	client := overNetwork(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"id":"1"}`)
	})
	got, err := Send[thing](t.Context(), client, Request{
		Method: http.MethodPost, Path: []string{"things"}, Expect: []int{http.StatusOK, http.StatusAccepted},
	})
	require.NoError(t, err)
	require.Equal(t, "1", got.ID)
}

func TestARequestThatCannotBeEncodedIsNotSent(t *testing.T) {
	t.Parallel()
	client := overNetwork(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	err := SendNoBody(t.Context(), client, Request{Method: http.MethodPost, Path: []string{"things"}, JSON: func() {}})
	var unsupported *json.UnsupportedTypeError
	require.ErrorAs(t, err, &unsupported)
	require.ErrorContains(t, err, "POST http://127.0.0.1")
}

func TestTheContextEndsASlowBody(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	client := overNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"id":`)
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	})
	_, err := Get[thing](ctx, client, []string{"things"}, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "GET http://127.0.0.1")
}

func TestASlowTryIsGivenUpAndRepeated(t *testing.T) {
	t.Parallel()
	calls := 0
	client := overNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls == 1 {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, `{"id":"1"}`)
	}, func(o *Options) { o.AttemptTimeout = 50 * time.Millisecond })
	got, err := Get[thing](t.Context(), client, []string{"things"}, nil)
	require.NoError(t, err)
	require.Equal(t, "1", got.ID)
}

func TestANilContextIsOneWithoutEnd(t *testing.T) {
	t.Parallel()
	_, err := Get[thing](nil, overNetwork(t, answer(`{}`)), []string{"things"}, nil) //nolint:staticcheck // callers of the public packages may pass nil
	require.NoError(t, err)
}

func TestIdempotencyKeysDiffer(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, NewIdempotencyKey(), NewIdempotencyKey())
}
