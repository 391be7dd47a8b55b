package orchestrations

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/display"
	"github.com/swell-fleet/swell/orchestration"
)

const (
	// briefID is how many characters narrow lists show of an ID, where that is enough to tell them apart.
	briefID = 8
	// searched is how many of the newest orchestrations are looked through for a shortened ID.
	searched = 1000
	// wholeID is how long a whole one is; it is never looked for.
	wholeID = 36
)

// fullID completes a shortened ID. An ID that exists as it is, and one that cannot be completed, stay as they are.
func (c *call) fullID(id string) (string, error) {
	if len(id) >= wholeID {
		return id, nil
	}
	api := c.console.Orchestrations(c.ctx)
	_, err := console.Call(c.console, func() (orchestration.StatusResponse, error) { return api.GetOrchestration(id) })
	answer, refused := errors.AsType[*orchestration.Error](err)
	if err == nil || !refused || answer.Status != http.StatusNotFound {
		return id, err
	}
	list, listErr := api.ListOrchestrations(orchestration.ListParameters{Page: 1, PageSize: searched})
	if listErr != nil {
		return "", err
	}
	var found []string
	for _, o := range list.Data {
		if strings.HasPrefix(o.OrchestrationID, id) {
			found = append(found, o.OrchestrationID)
		}
	}
	switch len(found) {
	case 0:
		return "", &console.ExitError{
			Code: console.ExitRefused,
			Err:  fmt.Errorf("no orchestration has the ID %q, and that of none of the newest %s begins with it", id, display.Number(searched)),
		}
	case 1:
		return found[0], nil
	default:
		return "", console.Usagef("%q is the beginning of %d IDs, such as %s and %s; give more of it", id, len(found), found[0], found[1])
	}
}
