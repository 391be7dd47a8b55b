package httpapi

import (
	"fmt"
	"net/http"
	"regexp"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi/strictjson"
	"github.com/swell-fleet/swell/orchestration"
)

// wellFormedKey is what an idempotency key may look like.
var wellFormedKey = regexp.MustCompile(`^[!-~]{1,255}$`)

// idempotencyKey returns the key of a request, empty when there is none.
func idempotencyKey(r *http.Request) (string, error) {
	values := r.Header.Values(idempotent)
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 || !wellFormedKey.MatchString(values[0]) {
		return "", badRequest(idempotent, "is not one word of 1 to 255 printable ASCII characters")
	}
	return values[0], nil
}

// readUpgrade reads a request to upgrade: as it was asked for, and in its one stored form.
func (a *api) readUpgrade(c *call, t orchestration.Type) (asked, normal orchestration.Parameters, err error) {
	_, text, err := readBody(c.w, c.r, a.MaxBody, jsonType)
	if err != nil {
		return asked, normal, err
	}
	var body UpgradeBody
	if err := strictjson.Unmarshal(text, &body); err != nil {
		return asked, normal, err
	}
	if asked, err = body.parameters(); err != nil {
		return asked, normal, err
	}
	normal, _, err = fleet.NormalizeParameters(t, asked, a.Parameters)
	return asked, normal, err
}

// upgrade creates orchestrations of a type.
func upgrade(t orchestration.Type) func(*api, *call) (answer, error) {
	return func(a *api, c *call) (answer, error) {
		key, err := idempotencyKey(c.r)
		if err != nil {
			return answer{}, err
		}
		asked, normal, err := a.readUpgrade(c, t)
		if err != nil {
			return answer{}, err
		}
		hash, err := hashRequest(t, asked)
		if err != nil {
			return answer{}, err
		}
		created, err := a.Commands.CreateOrchestration(c.ctx(), c.actor(), fleet.CreateRequest{
			Type: t, Parameters: normal, IdempotencyKey: key, BodyHash: hash,
		})
		if err != nil {
			return answer{}, fmt.Errorf("create orchestration: %w", err)
		}
		return answer{status: http.StatusAccepted, body: orchestration.UpgradeResponse{OrchestrationID: created.ID}}, nil
	}
}

// cancelOrchestration lets no further operation start.
func (a *api) cancelOrchestration(c *call) (answer, error) {
	id, err := c.id("orchestration_id")
	if err != nil {
		return answer{}, err
	}
	canceled, err := a.Commands.CancelOrchestration(c.ctx(), c.actor(), id)
	if err != nil {
		return answer{}, fmt.Errorf("cancel orchestration: %w", err)
	}
	return answer{body: orchestration.UpgradeResponse{OrchestrationID: canceled.ID}}, nil
}
