package console_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/orchestration"
)

func TestCleanLeavesNothingThatSteersATerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain é 日本":        "plain é 日本",
		"two\nlines\tand\r": "two lines and ",
		"\x1b[31mred\x07":   "\uFFFD[31mred\uFFFD",
		"a\u202Eb\u2066c":   "a\uFFFDb\uFFFDc",
		"\u009b2J":          "\uFFFD2J",
		"bad\xffbytes":      "bad\uFFFDbytes",
		"\u2028\u2029":      "\uFFFD\uFFFD",
	} {
		require.Equal(t, want, console.Clean(text))
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for code, errs := range map[int][]error{
		console.ExitFailed: {errors.New("x"), &orchestration.Error{Status: 500}},
		console.ExitUsage:  {console.Usagef("x"), fmt.Errorf("wrapped: %w", console.Usagef("x"))},
		console.ExitUnavailable: {&url.Error{Op: "Get", Err: io.EOF}, &orchestration.Error{Status: 503}, &orchestration.Error{Status: 429}, &orchestration.Error{Status: 408}, fmt.Errorf("x: %w", context.DeadlineExceeded),
			&orchestration.Error{}, fmt.Errorf("after 6 tries: %w", &net.OpError{Op: "dial", Err: errors.New("connection refused")}), io.ErrUnexpectedEOF},
		console.ExitRefused:     {&orchestration.Error{Status: 400}, &orchestration.Error{Status: 403}, fmt.Errorf("x: %w", &orchestration.Error{Status: 404})},
		console.ExitInterrupted: {context.Canceled, &url.Error{Op: "Get", Err: context.Canceled}, &console.ExitError{Code: console.ExitInterrupted}},
	} {
		for _, err := range errs {
			require.Equal(t, code, console.ExitCode(err), err)
		}
	}
}

func TestOnlyAClearYesIsAYes(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]int{
		"y\n": 0, "Yes\n": 0, " yes \r\n": 0, "y": 0,
		"\n": console.ExitCanceled, "n\n": console.ExitCanceled, "yep\n": console.ExitCanceled, "": console.ExitCanceled,
		"yes" + strings.Repeat(" ", 1000) + "no\n": 0,
	} {
		var out bytes.Buffer
		c := &console.Console{In: strings.NewReader(text), Out: &out}
		err := c.Confirm(t.Context(), "Sure?")
		require.True(t, strings.HasPrefix(out.String(), "Sure? [y/N] "))
		if code == 0 {
			require.NoError(t, err, text)
		} else {
			require.Equal(t, code, console.ExitCode(err), text)
		}
	}
}

func TestAnInterruptAnswersTheQuestion(t *testing.T) {
	t.Parallel()
	in, person := io.Pipe()
	t.Cleanup(func() { require.NoError(t, person.Close()) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &console.Console{In: in, Out: io.Discard}
	require.Equal(t, console.ExitInterrupted, console.ExitCode(c.Confirm(ctx, "Sure?")))
}

func TestCommandsCanBeCopied(t *testing.T) {
	t.Parallel()
	c := &console.Console{URL: console.DefaultURL}
	require.Equal(t, "swell orchestrations o-1 --state 'in progress'", c.Command("orchestrations", "o-1", "--state", "in progress"))
	require.Equal(t, `swell '' 'it'\''s' '$(rm)'`, c.Command("", "it's", "$(rm)"))
	c.Globals = []string{"--url", "https://swell.example/api", "--token-file", "my token"}
	require.Equal(t, "swell --url https://swell.example/api --token-file 'my token' o", c.Command("o"))
}

func TestListFlags(t *testing.T) {
	t.Parallel()
	var values []string
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	console.ListFlag(flags, &values, "state", "s", "usage")
	require.NoError(t, flags.Parse([]string{"--state", "a, b", "-s", "in progress"}))
	require.Equal(t, []string{"a", "b", "in progress"}, values)
	for _, text := range []string{"", " ", "a,", ",a", "a,,b"} {
		require.Error(t, flags.Parse([]string{"--state", text}), text)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	for given, want := range map[[2]int][2]int{{0, 0}: {0, 0}, {2, 0}: {2, 100}, {0, 10}: {1, 10}, {3, 10}: {3, 10}} {
		page, size := given[0], given[1]
		require.NoError(t, console.CheckPage(&page, &size))
		require.Equal(t, want, [2]int{page, size}, "%v", given)
	}
	for _, given := range [][2]int{{-1, 0}, {-1, 10}, {1, -1}, {0, -1}} {
		page, size := given[0], given[1]
		require.Equal(t, console.ExitUsage, console.ExitCode(console.CheckPage(&page, &size)), "%v", given)
	}
	require.Equal(t, "1 runtime", console.Shown(1, 1, "runtime"))
	require.Equal(t, "5 of 200 runtimes", console.Shown(5, 200, "runtime"))
}

func TestALongCallIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var errs bytes.Buffer
		c := &console.Console{Err: &errs, URL: "http://swell\x1b"}
		got, err := console.Call(c, func() (int, error) { return 7, nil })
		require.NoError(t, err)
		require.Equal(t, 7, got)
		require.Empty(t, errs.String())

		_, err = console.Call(c, func() (int, error) {
			time.Sleep(time.Minute)
			return 0, io.EOF
		})
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, "no answer from http://swell\uFFFD yet, still trying ...\n", errs.String())
	})
}

func TestAForeignErrorIsOneCleanLine(t *testing.T) {
	t.Parallel()
	require.NoError(t, console.Foreign(nil))
	cause := &console.ExitError{Code: console.ExitRefused, Err: errors.New("valid for evil\nswell: all is well\x1b[2J")}
	err := console.Foreign(cause)
	require.EqualError(t, err, "valid for evil swell: all is well\uFFFD[2J")
	require.ErrorIs(t, err, cause)
	require.Equal(t, console.ExitRefused, console.ExitCode(err))
}
