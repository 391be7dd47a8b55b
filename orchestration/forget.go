package orchestration

import (
	"fmt"
	"net/http"

	"github.com/swell-fleet/swell/internal/apiclient"
)

// ForgetResponse says what became of a runtime that was to be forgotten.
type ForgetResponse struct {
	InstanceID string `json:"instanceID"`
	// CanceledOperations is the number of its pending operations that were canceled with it.
	CanceledOperations int `json:"canceledOperations"`
}

// ForgetRuntime implements ExtendedClient.
func (c *client) ForgetRuntime(instanceID string) (ForgetResponse, error) {
	response, err := apiclient.Send[ForgetResponse](c.ctx, c.api, apiclient.Request{
		Method: http.MethodDelete,
		Path:   []string{"runtimes", instanceID},
		// A runtime that is forgotten already is answered like one that is forgotten now.
		Safe: true,
	})
	if err != nil {
		return ForgetResponse{}, fmt.Errorf("forget runtime: %w", err)
	}
	return response, nil
}
