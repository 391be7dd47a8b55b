package httpapi

import (
	"fmt"
	"net/http"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi/strictjson"
	"github.com/swell-fleet/swell/orchestration"
)

// The fields of a retry, as form fields and as keys of JSON.
const (
	operationIDField = "operation-id"
	immediateField   = "immediate"
)

// RetryBody is the body of a retry as JSON. As a form it has the same names.
type RetryBody struct {
	Operations TextList    `json:"operation-id,omitempty" doc:"The operations to repeat, one or a list; without any all that failed or were canceled."`
	SameList   TextList    `json:"operationIDs,omitempty" doc:"The same as operation-id."`
	Immediate  LenientBool `json:"immediate,omitempty" doc:"Do not wait for maintenance windows."`
}

// TextList is a list of strings, or one string.
type TextList []string

// UnmarshalStrict implements strictjson.Unmarshaler.
func (l *TextList) UnmarshalStrict(v strictjson.Value) error {
	switch v.Kind {
	case strictjson.String:
		*l = TextList{v.Text}
		return nil
	case strictjson.List:
		*l = TextList{}
		for _, item := range v.Items() {
			if item.Kind != strictjson.String {
				return item.Errorf("is %s and not a string", item.Kind)
			}
			*l = append(*l, item.Text)
		}
		return nil
	default:
		return v.Errorf("is %s and not a list of strings", v.Kind)
	}
}

// retryOrchestration repeats operations.
func (a *api) retryOrchestration(c *call) (answer, error) {
	id, err := c.id("orchestration_id")
	if err != nil {
		return answer{}, err
	}
	key, err := idempotencyKey(c.r)
	if err != nil {
		return answer{}, err
	}
	body, err := a.readRetry(c)
	if err != nil {
		return answer{}, err
	}
	result, err := a.Commands.RetryOrchestration(c.ctx(), c.actor(), fleet.RetryRequest{
		OrchestrationID: id, OperationIDs: body.Operations, Immediate: bool(body.Immediate), IdempotencyKey: key,
	})
	if err != nil {
		return answer{}, fmt.Errorf("retry orchestration: %w", err)
	}
	return answer{status: http.StatusAccepted, body: orchestration.RetryResponse{
		OrchestrationID: result.OrchestrationID,
		RetryShoots:     notNil(result.RetryShoots), OldOperations: notNil(result.OldOperations), InvalidOperations: notNil(result.InvalidOperations),
		Msg: result.Message,
	}}, nil
}

// readRetry reads a form or JSON. No body at all asks for everything that failed.
func (a *api) readRetry(c *call) (RetryBody, error) {
	media, text, err := readBody(c.w, c.r, a.MaxBody, formType, jsonType)
	if err != nil {
		return RetryBody{}, err
	}
	var body RetryBody
	switch {
	case len(text) == 0:
	case media == formType:
		body, err = readRetryForm(text)
	default:
		err = strictjson.Unmarshal(text, &body)
	}
	if err != nil {
		return RetryBody{}, err
	}
	if len(body.SameList) > 0 {
		if len(body.Operations) > 0 {
			return RetryBody{}, badRequest("operationIDs", "is the same as operation-id, and both are given")
		}
		body.Operations = body.SameList
	}
	for _, operation := range body.Operations {
		// An ID that is lost on the way must not make a retry of everything.
		if operation == "" || len(operation) > maxID {
			return RetryBody{}, badRequest(operationIDField, quote(operation)+" is not an ID")
		}
	}
	return body, nil
}

func readRetryForm(text []byte) (RetryBody, error) {
	form, err := readForm(text, operationIDField, immediateField)
	if err != nil {
		return RetryBody{}, err
	}
	body := RetryBody{Operations: form[operationIDField]}
	if values := form[immediateField]; len(values) > 1 {
		return RetryBody{}, badRequest(immediateField, "is given more than once")
	} else if len(values) == 1 {
		immediate, err := parseFlag(values[0])
		if err != nil {
			return RetryBody{}, badRequest(immediateField, err.Error())
		}
		body.Immediate = LenientBool(immediate)
	}
	return body, nil
}

// notNil makes a list that is written as [] when it is empty.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
