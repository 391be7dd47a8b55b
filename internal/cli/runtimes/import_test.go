package runtimes

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodePage(t *testing.T) {
	t.Parallel()
	page, unknown, err := decodePage([]byte(`{"data":[{"instanceID":"i-1","betaEnabled":"x","status":{"state":"succeeded"}}],"count":1,"totalCount":1}`))
	require.NoError(t, err)
	require.Equal(t, "i-1", page.Data[0].InstanceID)
	require.Equal(t, `unknown field "betaEnabled"`, unknown)

	page, unknown, err = decodePage([]byte(`{"data":[]}`))
	require.NoError(t, err)
	require.Empty(t, page.Data)
	require.Empty(t, unknown)

	for text, says := range map[string]string{
		" \n":                          "it is empty",
		"<html>":                       "no document of runtimes",
		`{"data":[`:                    "no document of runtimes",
		`{"data":[]} {"data":[]}`:      "no document of runtimes",
		`[]`:                           "no document of runtimes",
		`null`:                         `"data" is missing`,
		`{"data":null,"count":0}`:      `"data" is missing`,
		`{"data":[{}],"count":2}`:      "it is not whole",
		`{"data":[{}],"totalCount":2}`: "it is one page of several",
		`{"data":[{"status":"x"}]}`:    "no document of runtimes",
	} {
		_, _, err := decodePage([]byte(text))
		require.ErrorContains(t, err, says, text)
	}
}

// What is read as a document is the same document when it is written and read again.
func FuzzDecodePage(f *testing.F) {
	for _, text := range []string{
		`{"data":[{"instanceID":"i-1","status":{"createdAt":"2030-01-01T00:00:00Z"}}],"count":1,"totalCount":1}`, `{"data":[]}`, `{"data":[null]}`, `{"Data":[{}],"x":1}`, `[]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		page, _, err := decodePage(text)
		if err != nil {
			return
		}
		require.NotNil(t, page.Data)
		again, err := json.Marshal(page)
		if err != nil {
			// Years after 9999 can be read and not be written.
			return
		}
		same, unknown, err := decodePage(again)
		require.NoError(t, err)
		require.Empty(t, unknown)
		require.Equal(t, page, same)
	})
}
