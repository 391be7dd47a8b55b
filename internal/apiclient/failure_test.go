package apiclient

import (
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestTheReasonIsFoundInWhatTheServerSays(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		``:                              "",
		"no healthy upstream":           "no healthy upstream",
		"  two\r\n  lines\t":            "two lines",
		`{"error":"state is unknown"}`:  "state is unknown",
		`{"message":"busy"}`:            "busy",
		`{"description":"gone"}`:        "gone",
		`{"title":"Bad Request"}`:       "Bad Request",
		`{"title":"T","detail":"D"}`:    "D",
		`{"detail":"","message":"M"}`:   "M",
		`{"detail":7,"error":"E"}`:      "E",
		`{"error":{"message":"inner"}}`: "inner",
		`{"error":{"description":"d"}}`: "d",
		`{"error":{"code":7}}`:          `{"error":{"code":7}}`,
		` {"detail":"after a space"}`:   "after a space",
		`{"detail":"cut`:                `{"detail":"cut`,
		`["a","b"]`:                     `["a","b"]`,
		"red \x1b[31malert\x00\u202eX":  "red [31malert X",
		"bad \xff byte":                 "bad \uFFFD byte",
		`{"detail":"a\u001b[2Jb"}`:      "a [2Jb",
		"<html><h1>502</h1></html>":     "<html><h1>502</h1></html>",
	} {
		require.Equal(t, want, reasonOf([]byte(body)), "%q", body)
	}
}

func TestTheReasonIsCutBetweenRunes(t *testing.T) {
	t.Parallel()
	reason := reasonOf([]byte("x" + strings.Repeat("é", maxReason)))
	require.Len(t, reason, maxReason-1)
	require.True(t, utf8.ValidString(reason))

	long := `{"padding":"` + strings.Repeat("p", 2*maxReason) + `","detail":"` + strings.Repeat("d", 2*maxReason) + `"}`
	require.Equal(t, strings.Repeat("d", maxReason), reasonOf([]byte(long)))
}

func TestAFailureIsOneLine(t *testing.T) {
	t.Parallel()
	failure := Failure{Method: http.MethodGet, URL: "https://keb.example/runtimes", Status: http.StatusBadRequest, Reason: "state is unknown"}
	require.Equal(t, "GET https://keb.example/runtimes: status 400 Bad Request: state is unknown", failure.String())

	failure.Reason, failure.Status = "", 599
	require.Equal(t, "GET https://keb.example/runtimes: status 599", failure.String())

	failure.URL += "?" + strings.Repeat("runtime_id=x&", 1000)
	require.Less(t, len(failure.String()), 600)
}

func FuzzReason(f *testing.F) {
	for _, seed := range []string{
		"", "no healthy upstream", `{"detail":"d"}`, `{"error":{"message":"m"}}`, "\x1b[31m", "\xff\xfe", `{"detail":"\ud800"}`,
		strings.Repeat("é", maxReason), `{"message":null,"title":["a"]}`, `{"detail":"` + strings.Repeat(`\u0000`, 900) + `"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		reason := reasonOf(body)
		require.LessOrEqual(t, len(reason), maxReason)
		require.True(t, utf8.ValidString(reason))
		require.Equal(t, -1, strings.IndexFunc(reason, unicode.IsControl))
		require.Equal(t, strings.TrimSpace(reason), reason)
	})
}
