package history_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/internal/cli/history"
	"github.com/swell-fleet/swell/orchestration"
)

var machine = display.Clock{Machine: true}

func TestAnEventIsToldInOneLine(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 1, 2, 11, 5, 0, time.UTC)
	for want, e := range map[string]orchestration.Event{
		"2030-01-01T02:11:05Z  error  c-1  finished (in progress -> failed): quota exceeded": {
			CreatedAt: at, Level: "error", ShootName: "c-1", RuntimeID: "rt-1", Kind: "finished", From: "in progress", To: "failed", Message: "quota exceeded",
		},
		"2030-01-01T02:11:05Z  info   cancel_requested (in progress -> canceling) by ann: cancel requested": {
			CreatedAt: at, Level: "info", Kind: "cancel_requested", From: "in progress", To: "canceling", User: "ann", Message: "cancel requested",
		},
		"2030-01-01T02:11:05Z  info   rt-1  admitted (pending)": {CreatedAt: at, Level: "info", RuntimeID: "rt-1", InstanceID: "i-1", Kind: "admitted", From: "pending"},
		"-  -      i-1  - (failed)":                             {InstanceID: "i-1", To: "failed"},
	} {
		require.Equal(t, want, history.Line(&e, machine, 200))
	}
}

// On a narrow terminal a line is broken at blanks, so that it can be read and copied.
func TestALineIsBrokenAtBlanks(t *testing.T) {
	t.Parallel()
	e := orchestration.Event{
		CreatedAt: time.Date(2030, 1, 1, 2, 11, 5, 0, time.UTC), Level: "error", ShootName: "c-1", Kind: "finished", From: "in progress", To: "failed",
		Message: "failed: the quota of the account is used up in the region eu-central-1, and nobody raised it",
	}
	require.Equal(t, ""+
		"2030-01-01T02:11:05Z  error  c-1  finished (in progress -> failed): failed: the\n"+
		"    quota of the account is used up in the region eu-central-1, and nobody\n"+
		"    raised it", history.Line(&e, machine, 80))
}

// A person is told the beginning of the orchestration's ID, a program all of it.
func TestTheOrchestrationOfAnEvent(t *testing.T) {
	t.Parallel()
	e := orchestration.Event{OrchestrationID: "7530aaaa-0000-4000-8000-000000000001"}
	require.Contains(t, history.RuntimeCells(&e, machine), e.OrchestrationID)
	require.Contains(t, history.RuntimeCells(&e, display.Clock{}), "7530aaaa")
	e.OrchestrationID = "of-another-kind"
	require.Contains(t, history.RuntimeCells(&e, display.Clock{}), "of-another-kind")
}

func TestLevels(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"all", "info", "error"} {
		var level history.Level
		require.NoError(t, level.Set(word))
		require.Equal(t, word, level.String())
	}
	for _, word := range []string{"", "ALL", "warning"} {
		var level history.Level
		require.ErrorContains(t, level.Set(word), "known are all, info, error")
		require.Empty(t, level)
	}
}

func TestColumnsAndCellsAgree(t *testing.T) {
	t.Parallel()
	require.Len(t, history.OrchestrationCells(&orchestration.Event{}, machine), len(history.OrchestrationColumns()))
	require.Len(t, history.RuntimeCells(&orchestration.Event{}, machine), len(history.RuntimeColumns()))
}

// Whatever an event holds, its line moves no cursor but to the next line, and is no wider than the terminal after its head.
func TestPropertyALineIsHarmless(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x1b]0;owned\a", "a\r\nb", "\u202egnp.exe", "\u2028", "\x9b2J", "\xff"}))
	rapid.Check(t, func(t *rapid.T) {
		e := orchestration.Event{
			Level: text.Draw(t, "level"), ShootName: text.Draw(t, "shoot"), Kind: text.Draw(t, "kind"), From: text.Draw(t, "from"),
			To: text.Draw(t, "to"), User: text.Draw(t, "user"), Message: text.Draw(t, "message"),
		}
		columns := rapid.IntRange(6, 300).Draw(t, "columns")
		lines := strings.Split(history.Line(&e, machine, columns), "\n")
		for _, line := range lines[1:] {
			require.LessOrEqual(t, display.Width(line), columns, "%q", line)
		}
		require.False(t, strings.ContainsFunc(strings.Join(lines, ""), func(r rune) bool {
			return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
		}), "%q", lines)
	})
}
