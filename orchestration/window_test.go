package orchestration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/orchestration"
)

// The window of a Shoot, as the resolver returns it, asked for shortly after midnight.
func ExampleRuntime_NextWindow() {
	var r orchestration.Runtime
	r.MaintenanceWindowBegin, _ = time.Parse("150405-0700", "220000-0500")
	r.MaintenanceWindowEnd, _ = time.Parse("150405-0700", "010000-0500")
	r.MaintenanceDays = []string{"Tue"}

	now := time.Date(2024, 5, 15, 4, 15, 0, 0, time.UTC) // 23:15 on Tuesday there
	begin, end, ok := r.NextWindow(now)
	fmt.Println(begin, end, ok)
	begin, end, ok = r.NextWindow(end)
	fmt.Println(begin, end, ok)

	// Output:
	// 2024-05-15 03:00:00 +0000 UTC 2024-05-15 06:00:00 +0000 UTC true
	// 2024-05-22 03:00:00 +0000 UTC 2024-05-22 06:00:00 +0000 UTC true
}

func TestRuntimeNextWindow(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 5, 13, 12, 0, 0, 0, time.UTC)
	clock := time.Date(0, 1, 1, 22, 0, 0, 0, time.FixedZone("", 19800))
	date := time.Date(2024, 5, 10, 1, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		begin, end         time.Time
		days               []string
		wantBegin, wantEnd time.Time
		unusable           bool
	}{
		"time of day": {
			begin: clock, end: clock.Add(2 * time.Hour),
			wantBegin: time.Date(2024, 5, 13, 16, 30, 0, 0, time.UTC), wantEnd: time.Date(2024, 5, 13, 18, 30, 0, 0, time.UTC),
		},
		"date that has passed": {
			begin: date, end: date.Add(2 * time.Hour),
			wantBegin: time.Date(2024, 5, 14, 1, 0, 0, 0, time.UTC), wantEnd: time.Date(2024, 5, 14, 3, 0, 0, 0, time.UTC),
		},
		"date that has passed, on certain days": {
			begin: date, end: date.Add(2 * time.Hour), days: []string{"FRIDAY", "Sat"},
			wantBegin: time.Date(2024, 5, 17, 1, 0, 0, 0, time.UTC), wantEnd: time.Date(2024, 5, 17, 3, 0, 0, 0, time.UTC),
		},
		"no end":       {begin: date, wantBegin: date},
		"none":         {unusable: true},
		"no begin":     {end: clock, unusable: true},
		"unknown day":  {begin: clock, end: clock.Add(time.Hour), days: []string{"Samstag"}, unusable: true},
		"day and date": {begin: clock, end: date, unusable: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := orchestration.Runtime{MaintenanceWindowBegin: c.begin, MaintenanceWindowEnd: c.end, MaintenanceDays: c.days}
			begin, end, ok := r.NextWindow(now)
			require.Equal(t, !c.unusable, ok)
			require.Equal(t, c.wantBegin, begin)
			require.Equal(t, c.wantEnd, end)
		})
	}
}
