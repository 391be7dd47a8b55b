package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/orchestration"
)

// The bar fills with what was done: what was canceled leaves it empty, and one failure is seen among thousands.
func TestTheBarShowsWhatSucceeded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		state string
		stats map[string]int
		want  []string
	}{
		"canceled early": {
			orchestration.Canceled, map[string]int{"succeeded": 8, "canceled": 73},
			[]string{"████" + strings.Repeat("░", 38) + "  8/81  9%  canceled  after 1m", "8 succeeded, 73 canceled"},
		},
		"canceled with failures": {
			orchestration.Canceled, map[string]int{"succeeded": 20, "failed": 20, "canceled": 40},
			[]string{strings.Repeat("█", 20) + strings.Repeat("░", 20) + "  20/80  25%  canceled  after 1m", "20 succeeded, 20 failed, 40 canceled"},
		},
		"one of thousands failed": {
			orchestration.Failed, map[string]int{"succeeded": 4999, "failed": 1},
			[]string{strings.Repeat("█", 36) + "  4,999/5,000  99%  failed  after 1m", "4,999 succeeded, 1 failed"},
		},
		"being canceled": {
			orchestration.Canceling, map[string]int{"succeeded": 40, "in progress": 20, "canceled": 20},
			[]string{strings.Repeat("█", 22) + strings.Repeat("▒", 11) + strings.Repeat("░", 12) + "  40/80  50%  canceling  2m", "40 succeeded, 20 in progress, 0 pending, 20 canceled"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
			p := &picture{now: begun.Add(2 * time.Minute), snapshot: snapshot{status: orchestration.StatusResponse{
				OrchestrationID: "o-1", State: test.state, CreatedAt: begun, UpdatedAt: begun.Add(time.Minute), OperationStats: test.stats,
			}}}
			require.Equal(t, test.want, p.frame(72, 10)[1:])
		})
	}
}

// Green, red and yellow tell apart what the cells of one kind stand for.
func TestTheBarIsColored(t *testing.T) {
	t.Parallel()
	p := &picture{style: style{on: true}, snapshot: snapshot{status: orchestration.StatusResponse{
		State: orchestration.Canceled, OperationStats: map[string]int{"succeeded": 5, "failed": 1, "canceled": 4},
	}}}
	bar := p.bar(72).render(72)
	require.Contains(t, bar, "\x1b[32m█")
	require.Contains(t, bar, "\x1b[31m█")
	require.Contains(t, bar, "\x1b[33m░")
}
