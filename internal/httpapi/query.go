package httpapi

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// The parameters of every list.
const (
	pageParam     = "page"
	pageSizeParam = "page_size"
)

// maxValues is how often one parameter may be given.
const maxValues = 2000

// query holds the parameters of a request. The first error is kept; a parameter that is not understood never widens an answer.
type query struct {
	values url.Values
	err    error
}

// readQuery reads the parameters and refuses those that the route does not know.
func readQuery(r *http.Request, known []parameter) *query {
	q := &query{}
	q.values, q.err = url.ParseQuery(r.URL.RawQuery)
	if q.err != nil {
		q.err = badRequest("", "the query cannot be read: "+q.err.Error())
		return q
	}
	names := make([]string, 0, len(known))
	for _, p := range known {
		names = append(names, p.name)
	}
	for _, name := range slices.Sorted(maps.Keys(q.values)) {
		values := q.values[name]
		switch {
		case !slices.Contains(names, name):
			message := "no parameters are known here"
			if len(names) > 0 {
				message = "is no parameter here; known are " + strings.Join(names, ", ")
			}
			q.fail(printable(name), message)
		case len(values) > maxValues:
			q.fail(name, fmt.Sprintf("is given more than %d times", maxValues))
		}
		for _, value := range values {
			if !isText(value) {
				q.fail(printable(name), "is not valid text")
			}
		}
	}
	return q
}

func (q *query) fail(name, message string) {
	if q.err == nil {
		q.err = badRequest(name, message)
	}
}

// all returns every value of a parameter.
func (q *query) all(name string) []string { return q.values[name] }

// one returns the only value of a parameter, and false when it is absent.
func (q *query) one(name string) (string, bool) {
	switch values := q.values[name]; len(values) {
	case 0:
		return "", false
	case 1:
		return values[0], true
	default:
		q.fail(name, "is given more than once")
		return "", false
	}
}

// flag returns a parameter that is true or false, and false when it is absent.
func (q *query) flag(name string) bool {
	value, ok := q.one(name)
	if !ok {
		return false
	}
	switch strings.ToLower(value) {
	case "true":
		return true
	case "false":
	default:
		q.fail(name, fmt.Sprintf("%s is neither true nor false", quote(value)))
	}
	return false
}

// number returns a positive number, and fallback when the parameter is absent.
func (q *query) number(name string, fallback, most int) int {
	text, ok := q.one(name)
	if !ok {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		q.fail(name, fmt.Sprintf("%s is not a number from 1 to %d", quote(text), most))
		return fallback
	}
	if int(n) > most {
		q.fail(name, fmt.Sprintf("%d is more than the maximum of %d", n, most))
	}
	return int(n)
}

// page returns the page that is asked for.
func (q *query) page(size, maxSize int) fleet.Page {
	return fleet.Page{Number: q.number(pageParam, 1, math.MaxInt32), Size: q.number(pageSizeParam, size, maxSize)}
}

// states returns the states of orchestrations or operations.
func (q *query) states() []fleet.State {
	var states []fleet.State
	for _, word := range q.all(orchestration.StateParam) {
		state, ok := fleet.ParseState(word)
		if !ok {
			q.fail(orchestration.StateParam, fmt.Sprintf("%s is no state; known are %s", quote(word), joinWords(fleet.States)))
		}
		if !slices.Contains(states, state) {
			states = append(states, state)
		}
	}
	return states
}

// runtimeStates are the words that the state parameter of runtimes understands.
var runtimeStates = append(slices.Clone(fleet.RuntimeStates), runtime.AllState)

// runtimeStates returns the states of runtimes.
func (q *query) runtimeStates() []runtime.State {
	var states []runtime.State
	for _, word := range q.all(runtime.StateParam) {
		state := runtime.State(strings.ToLower(word))
		if !slices.Contains(runtimeStates, state) {
			q.fail(runtime.StateParam, fmt.Sprintf("%s is no state; known are %s", quote(word), joinWords(runtimeStates)))
		}
		if !slices.Contains(states, state) {
			states = append(states, state)
		}
	}
	return states
}

func joinWords[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}

// isText reports whether a value of a request can be a value of a record: valid UTF-8 without U+0000.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// maxQuoted is how many bytes of a refused value an answer repeats.
const maxQuoted = 100

// printable makes a name of a stranger fit for an answer.
func printable(s string) string {
	s = strings.ToValidUTF8(s, "�")
	if len(s) > maxQuoted {
		s = strings.ToValidUTF8(s[:maxQuoted], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '�'
		}
		return r
	}, s)
}

// quote makes a value of a stranger fit for an answer.
func quote(s string) string { return strconv.Quote(printable(s)) }
