package config

import (
	"errors"
	"regexp"
	"strings"
	"unicode"
)

// userInfo is what stands before the host in whatever looks like an address. Passwords hold any characters, so it goes on to the last sign that could
// end it.
var userInfo = regexp.MustCompile(`(?s)://.*@`)

// maxShown is how many characters of a text that was given an error repeats.
const maxShown = 200

// shown returns a text that was given as an error may repeat it: without users and passwords of addresses, which end up in wrong places too, without
// characters that steer a terminal, and not endlessly long.
func shown(text string) string {
	text = userInfo.ReplaceAllString(text, "://(not shown)@")
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		default:
			return r
		}
	}, text)
	if letters := []rune(text); len(letters) > maxShown {
		text = string(letters[:maxShown]) + "…"
	}
	return text
}

// shownIn makes the parts of a message fit to be shown.
func shownIn(args []any) []any {
	fit := make([]any, len(args))
	for i, arg := range args {
		switch part := arg.(type) {
		case string:
			fit[i] = shown(part)
		case error:
			fit[i] = errors.New(shown(part.Error()))
		default:
			fit[i] = arg
		}
	}
	return fit
}
