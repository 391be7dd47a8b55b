package provisioner

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/Khan/genqlient/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/swell-fleet/swell/internal/fleet"
)

// maxAnswer is how much of an answer is read, in bytes: the configuration of a runtime with all its components takes some 100 kB.
const maxAnswer = 8 << 20

// accountDoer sends requests in the name of an account and bounds their answers.
type accountDoer struct {
	client     *http.Client
	tenant     string
	subAccount string
}

// Do sends one request.
func (d *accountDoer) Do(req *http.Request) (*http.Response, error) {
	req.Header.Set("tenant", d.tenant)
	if d.subAccount != "" {
		req.Header.Set("sub-account", d.subAccount)
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &bounded{Reader: io.LimitReader(resp.Body, maxAnswer), Closer: resp.Body}
	return resp, nil
}

type bounded struct {
	io.Reader
	io.Closer
}

// classify tells what will not pass from what may. The Provisioner answers faults of the request as GraphQL errors with a code of HTTP's kind in
// their extensions; without one the words decide, and in doubt it may pass.
func (e *Executor) classify(err error, doing string) (fleet.Result, error) {
	if errors.Is(err, errNoRuntime) {
		return gone(err.Error()), nil
	}
	var list gqlerror.List
	if errors.As(err, &list) && len(list) > 0 {
		text := fleet.Line(list.Error())
		switch code := codeOf(list); {
		case code == http.StatusNotFound:
			return gone("the Provisioner does not know the runtime: " + text), nil
		case code == http.StatusBadRequest || code == http.StatusForbidden || code == http.StatusUnprocessableEntity:
			return refused("the Provisioner refuses the upgrade: " + text), nil
		case busy(list):
			return fleet.Result{Outcome: fleet.Again, NextObserve: true, After: e.checkEvery, Description: "the Provisioner is busy with another operation on the runtime"}, nil
		}
	}
	var status *graphql.HTTPError
	if errors.As(err, &status) {
		return fleet.Result{}, fmt.Errorf("%s: the Provisioner answers %d: %s", doing, status.StatusCode, fleet.Line(httpReason(status)))
	}
	return fleet.Result{}, fmt.Errorf("%s: %w", doing, err)
}

func httpReason(e *graphql.HTTPError) string {
	if len(e.Response.Errors) > 0 {
		return e.Response.Errors.Error()
	}
	return http.StatusText(e.StatusCode)
}

// codeOf returns the code in the extensions of the first error that has one.
func codeOf(list gqlerror.List) int {
	for _, e := range list {
		if code, ok := e.Extensions["error_code"].(float64); ok {
			return int(code)
		}
	}
	return 0
}

// busy reports whether the Provisioner refused because it already runs an operation on the runtime.
func busy(list gqlerror.List) bool {
	for _, e := range list {
		if strings.Contains(strings.ToLower(e.Message), "in progress") {
			return true
		}
	}
	return false
}

func refused(reason string) fleet.Result {
	return fleet.Result{Outcome: fleet.Refused, Reason: reason, Description: reason}
}

func gone(reason string) fleet.Result {
	return fleet.Result{Outcome: fleet.Gone, Reason: reason, Description: reason}
}
