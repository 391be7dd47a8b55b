package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/testkit/await"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
)

// instant reads a time.
func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return at.UTC()
}

// inWindow makes parameters wait for maintenance windows.
func inWindow(p orchestration.Parameters) orchestration.Parameters {
	p.Strategy.Schedule = orchestration.MaintenanceWindow
	return p
}

// windowCase asks for the next window of a Shoot at one time.
type windowCase struct {
	// begin and end are the Shoot's window, now is when the upgrade is asked for.
	begin, end, now string
	// from and until are the window that the operation has to get. If it is open, work starts at once.
	from, until string
	open        bool
}

// check upgrades a Shoot in its window: at once when it is open, and else not before the clock is set to its begin.
func (c windowCase) check(t *testing.T, f *landscape.Fleet, s *server.Local, clock *server.Clock, name string) {
	t.Helper()
	now, from, until := instant(t, c.now), instant(t, c.from), instant(t, c.until)
	id := s.Upgrade(t, inWindow(toTarget(1, shoot(name))))
	if !c.open {
		op := s.InState(t, id, name, orchestration.Pending)
		require.Equal(t, from, op.MaintenanceWindowBegin.UTC())
		require.Equal(t, until, op.MaintenanceWindowEnd.UTC())
		require.Equal(t, orchestration.WaitWindow, op.WaitReason)
		require.NotNil(t, op.WaitUntil)
		require.Equal(t, from, op.WaitUntil.UTC())
		clock.Set(from.Add(-10 * time.Second))
		s.Swept(t)
		require.Empty(t, f.Audit(t).Of(name))
		clock.Set(from)
	}
	s.Ended(t, id, orchestration.Succeeded)
	op := s.Operations(t, id)[name]
	require.Equal(t, from, op.MaintenanceWindowBegin.UTC())
	require.Equal(t, until, op.MaintenanceWindowEnd.UTC())
	earliest := now
	if !c.open {
		earliest = from
	}
	require.WithinRange(t, op.StartedAt.UTC(), earliest, earliest.Add(time.Minute))
	require.Equal(t, landscape.Target, f.Get(t, name).Spec.Kubernetes.Version)
}

// checkAll checks each case on a Shoot of its own.
func checkAll(t *testing.T, cases map[string]windowCase) {
	t.Helper()
	for title, c := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			f := landscape.New(t, landscape.Options{Shoots: 1, Version: "1.34.5", Window: c.begin + "/" + c.end})
			clock := server.NewClock(instant(t, c.now))
			s := startLocal(t, f, clock)
			c.check(t, f, s, clock, f.Names(t)[0])
		})
	}
}

// A window from 22:00 to 02:00 that is asked for after midnight is the one that began yesterday.
func TestCase_W1(t *testing.T) {
	t.Parallel()
	overMidnight := func(now, from, until string, open bool) windowCase {
		return windowCase{"220000+0000", "020000+0000", now, from, until, open}
	}
	checkAll(t, map[string]windowCase{
		"a, after midnight":  overMidnight("2024-05-15T00:30:00Z", "2024-05-14T22:00:00Z", "2024-05-15T02:00:00Z", true),
		"b, before midnight": overMidnight("2024-05-14T23:30:00Z", "2024-05-14T22:00:00Z", "2024-05-15T02:00:00Z", true),
		"c, at noon":         overMidnight("2024-05-15T12:00:00Z", "2024-05-15T22:00:00Z", "2024-05-16T02:00:00Z", false),
		"d, at the end":      overMidnight("2024-05-15T02:00:00Z", "2024-05-15T22:00:00Z", "2024-05-16T02:00:00Z", false),
		"at the begin":       overMidnight("2024-05-14T22:00:00Z", "2024-05-14T22:00:00Z", "2024-05-15T02:00:00Z", true),
	})
}

// Windows with negative offsets and offsets of half hours are judged by the day in their own offset.
func TestCase_W3(t *testing.T) {
	t.Parallel()
	checkAll(t, map[string]windowCase{
		"a, five hours behind":  {"220000-0500", "010000-0500", "2024-05-15T04:15:00Z", "2024-05-15T03:00:00Z", "2024-05-15T06:00:00Z", true},
		"b, eight hours behind": {"200000-0800", "230000-0800", "2024-05-15T05:00:00Z", "2024-05-15T04:00:00Z", "2024-05-15T07:00:00Z", true},
		"c, half an hour":       {"013000+0530", "033000+0530", "2024-05-14T19:00:00Z", "2024-05-14T20:00:00Z", "2024-05-14T22:00:00Z", false},
		"d, over the year":      {"230000-0300", "030000-0300", "2025-01-01T04:00:00Z", "2025-01-01T02:00:00Z", "2025-01-01T06:00:00Z", true},
		"three quarters":        {"234500+1245", "011500+1245", "2024-05-15T11:30:00Z", "2024-05-15T11:00:00Z", "2024-05-15T12:30:00Z", true},
	})
}

// A stored operation whose window passed while the service was down gets the next window whose end is still ahead, however long that was.
func TestCase_W5(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		now, from, until string
		open             bool
	}{
		"a, started at noon":   {"2024-05-13T12:00:00Z", "2024-05-14T01:00:00Z", "2024-05-14T03:00:00Z", false},
		"b, started in window": {"2024-05-13T02:00:00Z", "2024-05-13T01:00:00Z", "2024-05-13T03:00:00Z", true},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			f := landscape.New(t, landscape.Options{Shoots: 1, Version: "1.34.5"})
			name := f.Names(t)[0]
			settings := settingsFor(t, f)
			before := instant(t, "2024-05-09T12:00:00Z")
			o := storedOrchestration("o-1", fleet.InProgress, inWindow(toTarget(1, all)))
			op := storedOperation(t, f, name, "op-1", fleet.Pending)
			op.UsesWindow = true
			op.WindowRule = fleet.WindowRule{Begin: "010000+0000", End: "030000+0000"}
			op.WindowBegin, op.WindowEnd = instant(t, "2024-05-10T01:00:00Z"), instant(t, "2024-05-10T03:00:00Z")
			keep(t, settings, before, f, stored{o, []fleet.Operation{op}})

			clock := server.NewClock(instant(t, c.now))
			s := server.StartLocal(t, clock, settings)
			from, until := instant(t, c.from), instant(t, c.until)
			if !c.open {
				await.That(t, "the window moves on", func() error {
					if got := s.Operations(t, "o-1")[name]; !got.MaintenanceWindowBegin.Equal(from) {
						return fmt.Errorf("it is %s", got.MaintenanceWindowBegin)
					}
					return nil
				})
				moved := s.InState(t, "o-1", name, orchestration.Pending)
				require.Equal(t, orchestration.WaitWindow, moved.WaitReason)
				clock.Set(from.Add(-10 * time.Second))
				s.Swept(t)
				require.Equal(t, orchestration.Pending, s.Operations(t, "o-1")[name].State)
				require.Empty(t, f.Audit(t).Requests)
				clock.Set(from)
			}
			s.Ended(t, "o-1", orchestration.Succeeded)
			done := s.Operations(t, "o-1")[name]
			require.Equal(t, "op-1", done.OperationID)
			require.Equal(t, from, done.MaintenanceWindowBegin.UTC())
			require.Equal(t, until, done.MaintenanceWindowEnd.UTC())
			require.WithinRange(t, *done.StartedAt, from, until)
			require.Equal(t, map[string]int{name: 1}, f.Upgrades(t))
		})
	}
}
