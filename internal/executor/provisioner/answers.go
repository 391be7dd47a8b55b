package provisioner

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Khan/genqlient/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/swell-fleet/swell/internal/fleet"
)

// classify tells what will not pass from what may. The Provisioner answers faults of a request as GraphQL errors whose extensions hold a code of
// HTTP's kind and a reason. In doubt an error may pass: it then is repeated until the operation's time limit.
func (e *Executor) classify(err error, doing string) (fleet.Result, error) {
	var list gqlerror.List
	if errors.As(err, &list) && len(list) > 0 {
		text := words(list)
		switch code := codeOf(list); {
		case busy(list):
			// It is a bad request to the Provisioner, so this comes first.
			return fleet.Result{
				Outcome: fleet.Again, NextObserve: true, After: e.checkEvery,
				Description: "the Provisioner is busy with another operation on the runtime",
			}, nil
		case notFound(err):
			return gone("the Provisioner does not know the runtime: " + text), nil
		case code == http.StatusBadRequest || code == http.StatusForbidden || code == http.StatusUnprocessableEntity:
			return refused("the Provisioner refuses the upgrade: " + text), nil
		}
	}
	return fleet.Result{}, passing(err, doing)
}

// passing makes one error of bounded length of whatever went wrong with a request.
func passing(err error, doing string) error {
	var list gqlerror.List
	if errors.As(err, &list) && len(list) > 0 {
		return fmt.Errorf("%s: the Provisioner answers with an error: %s", doing, words(list))
	}
	var status *graphql.HTTPError
	if errors.As(err, &status) {
		text := words(status.Response.Errors)
		if text == "" {
			text = http.StatusText(status.StatusCode)
		}
		answer := fmt.Errorf("the Provisioner answers %d: %s", status.StatusCode, text)
		if status.StatusCode == http.StatusUnauthorized || status.StatusCode == http.StatusForbidden {
			answer = fmt.Errorf("%w: %w", fleet.ErrNoAccess, answer)
		}
		return fmt.Errorf("%s: %w", doing, answer)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// words is what the errors say, in one line.
func words(list gqlerror.List) string {
	var messages []string
	for _, e := range list {
		if e != nil && e.Message != "" {
			messages = append(messages, e.Message)
		}
	}
	return fleet.Line(strings.Join(messages, "; "))
}

// notFound reports whether the Provisioner answered that there is no such runtime or operation.
func notFound(err error) bool {
	var list gqlerror.List
	if !errors.As(err, &list) {
		return false
	}
	for _, e := range list {
		if e != nil && e.Extensions["error_reason"] == "err_db_not_found" {
			return true
		}
	}
	return codeOf(list) == http.StatusNotFound
}

// codeOf returns the code in the extensions of the first error that has one, and 0 without.
func codeOf(list gqlerror.List) int {
	for _, e := range list {
		if e == nil {
			continue
		}
		if code, ok := e.Extensions["error_code"].(float64); ok {
			return int(code)
		}
	}
	return 0
}

// busy reports whether the Provisioner refused because it already runs an operation on the runtime. It says so in words only.
func busy(list gqlerror.List) bool {
	for _, e := range list {
		if e != nil && strings.Contains(strings.ToLower(e.Message), "in progress") {
			return true
		}
	}
	return false
}
