package orchestrations

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/orchestration"
)

// listed is a finder over a list of rows that grow by some before each page is read. It counts the pages.
func listed(rows []string, limit, grow int, pages *int) *finder {
	return &finder{
		noun: "operation", limit: limit, size: 1000,
		exists: func(string) error { return &orchestration.Error{Status: http.StatusNotFound} },
		page: func(number, size int) ([]candidate, int, error) {
			*pages++
			for range grow {
				rows = append([]string{fmt.Sprintf("new-%d", len(rows))}, rows...)
			}
			var page []candidate
			for _, id := range rows[min(len(rows), (number-1)*size):min(len(rows), number*size)] {
				page = append(page, candidate{id, "c-1, failed"})
			}
			return page, len(rows), nil
		},
	}
}

// many are rows whose IDs begin with their number.
func many(n int) []string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("%06d-0000", i)
	}
	return rows
}

func TestShortenedIDsAreLookedForInALongList(t *testing.T) {
	t.Parallel()
	pages := 0
	found, err := listed(many(2500), 3000, 0, &pages).complete([]string{"002400", "000001", "002400"})
	require.NoError(t, err)
	require.Equal(t, []string{"002400-0000", "000001-0000", "002400-0000"}, found)
	require.Equal(t, 3, pages, "all are looked for at once")

	// Rows that come meanwhile move others onto the next page, where they are met once more.
	found, err = listed(many(2500), 3000, 7, &pages).complete([]string{"000999"})
	require.NoError(t, err)
	require.Equal(t, []string{"000999-0000"}, found)

	pages = 0
	_, err = listed(many(2500), 2000, 0, &pages).complete([]string{"002400"})
	require.EqualError(t, err, `no operation has the ID "002400", and that of none of the newest 2,000 begins with it; of older ones the whole ID is needed`)
	require.Equal(t, console.ExitRefused, console.ExitCode(err))
	require.Equal(t, 2, pages)

	_, err = listed(many(2500), 2000, 0, &pages).complete([]string{"00001"})
	require.ErrorContains(t, err, `"00001" is the beginning of the IDs of 10 operations; give more of it:`)
	_, err = listed(many(2500), 2000, 0, &pages).complete([]string{"0001"})
	require.ErrorContains(t, err, "\n  000109-0000  c-1, failed\n  and 90 more")
	require.Equal(t, console.ExitUsage, console.ExitCode(err))
}

func TestWholeIDsAreNotAskedFor(t *testing.T) {
	t.Parallel()
	whole := []string{"6f1c9a2e-0000-4000-8000-000000000001"}
	found, err := (&finder{}).complete(whole)
	require.NoError(t, err)
	require.Equal(t, whole, found)
	found, err = (&finder{}).complete(nil)
	require.NoError(t, err)
	require.Empty(t, found)
}

// An ID that cannot be asked for is not looked for either.
func TestATroubleIsNoMissingID(t *testing.T) {
	t.Parallel()
	pages := 0
	f := listed(many(10), 1000, 0, &pages)
	f.exists = func(string) error { return &orchestration.Error{Status: http.StatusForbidden} }
	_, err := f.complete([]string{"000001"})
	require.Equal(t, console.ExitRefused, console.ExitCode(err))
	require.Zero(t, pages)
}
