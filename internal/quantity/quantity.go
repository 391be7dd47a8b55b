// Package quantity fits words to a number of things, so that no text speaks of "1 runtimes".
package quantity

import "strconv"

// Of returns a number with its noun, as in "1 runtime" and "2 runtimes". The noun is one whose plural ends in s.
func Of(n int, noun string) string { return strconv.Itoa(n) + " " + Noun(n, noun) }

// Noun returns a noun as it stands after a number: "runtime" after 1, else "runtimes".
func Noun(n int, noun string) string { return Pick(n, noun, noun+"s") }

// Pick returns one where a text speaks of a single thing, else more: Pick(n, "is", "are").
func Pick(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}
