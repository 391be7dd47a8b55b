// Package caller tells where a command changes something and as whom, before a person is asked whether it should.
package caller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/orchestration"
)

// admin is the role of those who may change something.
const admin = "admin"

// Where names the server: by its address, and by the name of its context where it has one.
func Where(c *console.Console) string {
	if c.Context.Name == "" {
		return display.Text(c.URL)
	}
	return display.Text(c.Context.Name) + " (" + display.Text(c.URL) + ")"
}

// Admin makes sure that the server would let the user change something, and returns where that is and as whom, such as "prod
// (https://swell.example.com), as ann@example.com". Somebody without the role gets an error with ExitRefused, so that nobody is asked a question
// whose answer does not count. A server that cannot say who one is decides later.
func Admin(ctx context.Context, c *console.Console) (string, error) {
	where := Where(c)
	who, err := console.Call(c, func() (orchestration.Identity, error) { return c.Orchestrations(ctx).WhoAmI() })
	if answer, ok := errors.AsType[*orchestration.Error](err); ok && cannotSay(answer.Status) {
		return where, nil
	}
	if err != nil {
		return "", err
	}
	if !slices.Contains(who.Roles, admin) {
		has := "no role"
		if len(who.Roles) > 0 {
			has = "only " + strings.Join(who.Roles, ", ")
		}
		return "", &console.ExitError{
			Code: console.ExitRefused,
			Err:  fmt.Errorf("the role %s is needed for this, and %s has %s at %s; nothing was done", admin, display.Text(who.User), display.Text(has), where),
		}
	}
	return where + ", as " + display.Text(who.User), nil
}

// cannotSay reports whether a status is that of a server that does not know the question, or has a fault in answering it.
func cannotSay(status int) bool {
	return status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusInternalServerError
}
