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
		require.Equal(t, want, history.Line(&e, machine))
	}
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

// Whatever an event holds, its line is one line that moves no cursor.
func TestPropertyALineIsOneLine(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x1b]0;owned\a", "a\r\nb", "\u202egnp.exe", "\u2028", "\x9b2J", "\xff"}))
	rapid.Check(t, func(t *rapid.T) {
		e := orchestration.Event{
			Level: text.Draw(t, "level"), ShootName: text.Draw(t, "shoot"), Kind: text.Draw(t, "kind"), From: text.Draw(t, "from"),
			To: text.Draw(t, "to"), User: text.Draw(t, "user"), Message: text.Draw(t, "message"),
		}
		line := history.Line(&e, machine)
		require.False(t, strings.ContainsFunc(line, func(r rune) bool {
			return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
		}), "%q", line)
	})
}
