package apiclient

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnythingButAPageIsRefused(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{}`, `{"error":"away"}`, `{"runtimes":[]}`, `null`, `[]`, `{"data":{}}`, `{"data":[1]}`, `{"data":[],"count":"1"}`,
		`{"data":[]`, `{"data":[]}}`,
	} {
		_, err := GetPage[thing](t.Context(), overNetwork(t, answer(body)), []string{"things"}, nil, 1, 0)
		require.ErrorContains(t, err, "decode answer", body)
	}
	for body, want := range map[string]Page[thing]{
		`{"data":[],"count":0,"totalCount":0}`:              {Rows: []thing{}},
		`{"data":null,"count":0,"totalCount":5}`:            {Rows: []thing{}, TotalCount: 5},
		`{"data":[{"id":"a","x":1}],"next":"more"}`:         {Rows: things("a")},
		`{"count":0,"totalCount":0}`:                        {Rows: []thing{}},
		`{"data":[{"id":"a"}],"count":1,"totalCount":1000}`: {Rows: things("a"), Count: 1, TotalCount: 1000},
	} {
		got, err := GetPage[thing](t.Context(), overNetwork(t, answer(body)), []string{"things"}, nil, 1, 0)
		require.NoError(t, err, body)
		require.Equal(t, want, got, body)
	}
}

func TestAnythingButAPlainPageIsRefused(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `{}`, `null`, `{"data":[]}`, `[1]`, `[`, `[]]`, `[{}] []`, `<html>`} {
		_, err := GetPlainPage[thing](t.Context(), overNetwork(t, answer(body)), []string{"things"}, nil, 1, 0)
		require.ErrorContains(t, err, "decode answer", body)
	}
	for total, want := range map[string]int{"": 0, "7": 7, "-1": 0, "x": 0, "1e3": 0, "99999999999999999999": 0} {
		query := ""
		client := overNetwork(t, func(w http.ResponseWriter, r *http.Request) {
			query = r.URL.RawQuery
			w.Header().Set("X-Total-Count", total)
			_, _ = w.Write([]byte(` [{"id":"a","x":1}]`))
		})
		got, err := GetPlainPage[thing](t.Context(), client, []string{"things"}, nil, 2, 3)
		require.NoError(t, err, total)
		require.Equal(t, "page=2&page_size=3", query)
		require.Equal(t, Page[thing]{Rows: things("a"), Count: 1, TotalCount: want}, got, total)
	}
	got, err := GetPlainPage[thing](t.Context(), overNetwork(t, answer(`[]`)), []string{"things"}, nil, 1, 0)
	require.NoError(t, err)
	require.Equal(t, Page[thing]{Rows: []thing{}}, got)
}

func FuzzPage(f *testing.F) {
	for _, seed := range []string{
		`{"data":[{"id":"a","name":"n"}],"count":1,"totalCount":1}`, `{"data":null,"count":0}`, `{}`, `null`, `{"data":[null]}`,
		`{"data":[],"data":[{}]}`, `{"DATA":[],"count":-1}`, `{"data":[{"id":"\ud800"}]}`, `{"totalCount":1e3}`,
		`[{"id":"a"},null]`, ` [ ]`, `[[]]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var page Page[thing]
		if decodeObject(body, &page) == nil {
			require.NotNil(t, page.Rows)
		}
		if plain, err := decodePlain[thing](reply{body: body}); err == nil {
			require.NotNil(t, plain.Rows)
			require.Len(t, plain.Rows, plain.Count)
		}
	})
}
