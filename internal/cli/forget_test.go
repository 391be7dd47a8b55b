package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const forgetAnswer = `{"instanceID":"i-1","canceledOperations":1}`

// A person sees which runtimes are meant before anything is forgotten.
func TestForgettingAsks(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"GET/runtimes": `{"data":[{"instanceID":"i-1","shootName":"c-1\u001b[2J","status":{"state":"succeeded"}}],"count":1,"totalCount":1}`,
		// The list is read until a page is empty.
		"GET/runtimes.2":      `{"data":[],"count":0,"totalCount":1}`,
		"DELETE/runtimes/i-1": forgetAnswer,
	}
	address, requests := answering(t, files)
	got := upgrading(t, address, "n\n", "runtimes", "forget", "i-1", "i-9")
	require.Equal(t, 3, got.code, got.err)
	require.Regexp(t, `i-1 +c-1\S* +succeeded`, got.out)
	require.Regexp(t, `i-9 +- +not known`, got.out)
	require.Contains(t, got.out, "Forget 2 runtimes? [y/N]")
	require.NotContains(t, got.out, "\x1b")
	require.NotContains(t, strings.Join(requests(), "\n"), "DELETE", "nothing was done")

	address, requests = answering(t, files)
	got = upgrading(t, address, "y\n", "runtimes", "forget", "i-1")
	require.Equal(t, 0, got.code, got.err)
	require.Contains(t, got.out, "Forget 1 runtime? [y/N]")
	require.Regexp(t, `i-1 +forgotten +1`, got.out)
	require.Contains(t, requests(), "DELETE /runtimes/i-1")
}

// Only the first runtimes are named, however many there are.
func TestForgettingManyNamesTheFirst(t *testing.T) {
	t.Parallel()
	address, requests := answering(t, map[string]string{"GET/runtimes": `{"data":[],"count":0,"totalCount":0}`})
	args := []string{"runtimes", "forget"}
	for i := range 12 {
		args = append(args, fmt.Sprintf("i-%d", i))
	}
	got := upgrading(t, address, "\n", args...)
	require.Equal(t, 3, got.code, got.err)
	require.Contains(t, got.out, "and 2 more")
	require.Contains(t, requests()[1], "i-9")
	require.NotContains(t, requests()[1], "i-10")
}
