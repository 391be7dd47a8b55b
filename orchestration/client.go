package orchestration

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/internal/apiclient"
	"github.com/swell-fleet/swell/runtime"
)

// Client calls the orchestration API of a server.
//
// An answer whose status is not the expected one is an error that errors.As finds as an *Error, with the server's reason. A call whose
// answer got lost is repeated only where that is safe: reading always, starting and retrying under an idempotency key, and everything
// when no connection could be made. IDs are escaped; an empty one is refused without a request.
type Client interface {
	// ListOrchestrations returns the orchestrations in one of the given states, newest first; without states those in any.
	//
	// With a Page and a PageSize it returns that page. When one of them is missing it reads all pages, with the given PageSize or the
	// server's own, and returns each orchestration once; Count and TotalCount are then the number returned. The result is complete or
	// there is an error, never a part. Data is never nil without an error.
	ListOrchestrations(params ListParameters) (StatusResponseList, error)
	// GetOrchestration returns one orchestration, with OperationStats.
	GetOrchestration(orchestrationID string) (StatusResponse, error)
	// ListOperations returns the operations of an orchestration, newest first, in pages like ListOrchestrations.
	ListOperations(orchestrationID string, params ListParameters) (OperationResponseList, error)
	// GetOperation returns one operation with the configuration that it applies.
	GetOperation(orchestrationID, operationID string) (OperationDetailResponse, error)
	// UpgradeKyma starts an orchestration that upgrades Kyma. The server has stored it when the call returns.
	UpgradeKyma(params Parameters) (UpgradeResponse, error)
	// CancelOrchestration lets no further operation of the orchestration start. Operations in progress run to their end. It does nothing
	// to an orchestration that is being canceled or has ended.
	CancelOrchestration(orchestrationID string) error
}

// ExtendedClient is a Client that also makes the calls that Client lacks. What NewClient returns is one too. It may grow.
type ExtendedClient interface {
	Client
	// UpgradeCluster starts an orchestration that upgrades the Kubernetes clusters. The server has stored it when the call returns.
	UpgradeCluster(params Parameters) (UpgradeResponse, error)
	// PreviewKyma says what UpgradeKyma would do with the same parameters, and PreviewCluster what UpgradeCluster would; what these would refuse
	// is refused with the same error. Nothing is started or stored.
	//
	// With a Page and a PageSize the result has that page of the runtimes and of what would be left out. When one of them is missing all pages are
	// read, with the given PageSize or the largest that the server has; they are read again when the fleet changes in between, so that the
	// result is one picture. The States of the parameters have no meaning here. A server that does not know the call answers 404.
	PreviewKyma(params Parameters, page ListParameters) (Preview, error)
	// PreviewCluster is PreviewKyma for UpgradeCluster.
	PreviewCluster(params Parameters, page ListParameters) (Preview, error)
	// RetryOrchestration makes a new operation for each failed one: for those that operationIDs names, or for all when it is empty. With
	// now set they do not wait for their maintenance windows. The response says which were not retried and why. The slice is not changed.
	RetryOrchestration(orchestrationID string, operationIDs []string, now bool) (RetryResponse, error)
	// ListLeftOut returns the runtimes that the targets of an orchestration select and that it leaves out, by Shoot name, in pages like
	// ListOrchestrations. The States of the parameters have no meaning here.
	ListLeftOut(orchestrationID string, params ListParameters) (LeftOutList, error)
	// ImportRuntimes gives the runtimes of the page to the server, which adds those that it does not know and updates the others; none is
	// removed. Long pages are sent in several requests; after an error some of them may have been taken in, and importing the same page
	// again does no harm.
	ImportRuntimes(page runtime.RuntimesPage) (ImportResponse, error)
	// ForgetRuntime makes the server forget a runtime that no source knows any more; one without an instance ID is named by its runtime ID, which the server
	// shows in its place. Its pending operations are canceled, its history is kept. A runtime of which an operation is in progress, or whose Shoot is
	// still there, is refused with 409. On one that was forgotten before nothing changes. A server that does not know the call answers 404 or 405.
	ForgetRuntime(instanceID string) (ForgetResponse, error)
	// ListEvents returns the history of all that the server does, newest first.
	//
	// With a Page and a PageSize it returns that page, with Before and a PageSize the events before that one. When a PageSize or both others are missing it
	// reads all pages and returns the history as it was when it began, each event once; Count and TotalCount are then the number returned. Events that
	// are added meanwhile are left out. The result is complete or there is an error, never a part. Data is never nil without an error.
	//
	// Reading all takes as many requests as there are pages, however the history grows meanwhile. From servers that do not know how to go on from an
	// event it is read by page numbers; they refuse Before, or what they answer is refused.
	ListEvents(params EventParameters) (EventList, error)
	// ListOrchestrationEvents returns the history of one orchestration and its operations like ListEvents.
	ListOrchestrationEvents(orchestrationID string, params EventParameters) (EventList, error)
	// WhoAmI returns who the server takes the caller for, also one without any role. Roles is never nil without an error. A server that
	// does not know the call answers 404.
	WhoAmI() (Identity, error)
	// ListLogins returns the logins that the server accepts; none when it serves its own machine without a login. It sends no token and
	// needs none. Data is never nil without an error. A server that does not know the call answers 404.
	ListLogins() (LoginList, error)
}

// Error is the answer of a server whose status is not the expected one, with method, URL, status and the server's reason. It is the same
// type as that of the runtime package, so one errors.As serves both clients.
type Error = runtime.Error

// RetryResponse says what came of a retry.
type RetryResponse struct {
	OrchestrationID string `json:"orchestrationID"`
	// RetryShoots names the Shoots whose operations are retried.
	RetryShoots []string `json:"retryShoots"`
	// OldOperations holds the IDs of operations that are not retried because a newer orchestration has upgraded the runtime.
	OldOperations []string `json:"oldOperations"`
	// InvalidOperations holds the IDs that are not those of failed operations of this orchestration.
	InvalidOperations []string `json:"invalidOperations"`
	// Msg says the result in a sentence.
	Msg string `json:"msg"`
}

// LeftOutList is one page of what an orchestration leaves out.
type LeftOutList struct {
	Data       []LeftOut `json:"data"`
	Count      int       `json:"count"`
	TotalCount int       `json:"totalCount"`
}

// ImportResponse counts what an import did.
type ImportResponse struct {
	// Imported is the number of runtimes that were not known before.
	Imported int `json:"imported"`
	// Updated is the number of known runtimes that changed.
	Updated int `json:"updated"`
	// Unchanged is the number of known runtimes that were the same already.
	Unchanged int `json:"unchanged"`
}

// NewClient returns a client of the server at the base URL, with or without a path prefix and a trailing slash. A URL that cannot be used
// is reported by each call. It can be asserted to ExtendedClient.
//
// The context governs every request, its repetitions and the reading of answers. The AccessToken of the tokens that auth brings is sent
// as bearer; let it be the OIDC ID token (JWT). With a nil auth no token is sent. A single try of a request ends after two minutes. An answer that
// sends somewhere else is an [*Error] that says where: no redirect is followed.
func NewClient(ctx context.Context, url string, auth oauth2.TokenSource) Client {
	return NewExtendedClient(ctx, url, auth)
}

// NewExtendedClient returns the client of NewClient with all its calls.
func NewExtendedClient(ctx context.Context, url string, auth oauth2.TokenSource) ExtendedClient {
	return newClient(ctx, apiclient.Options{BaseURL: url, Auth: auth})
}

// NewExtendedClientWithHTTP returns the client of NewExtendedClient on an HTTP client that sends the bearer token itself; nil means one that
// sends none. A single try of a request ends after the Timeout of the HTTP client or after two minutes. Reads follow redirects as the HTTP client's
// own policy says, with nil none; everything else follows none, so that what was meant for this server changes nothing at another one.
func NewExtendedClientWithHTTP(ctx context.Context, url string, httpClient *http.Client) ExtendedClient {
	return newClient(ctx, apiclient.Options{BaseURL: url, HTTPClient: httpClient})
}

func newClient(ctx context.Context, options apiclient.Options) *client {
	options.NewError = func(failure apiclient.Failure) error {
		e := Error(failure)
		return &e
	}
	return &client{ctx: ctx, api: apiclient.New(options)}
}

type client struct {
	// ctx is here because the methods of Client have none.
	ctx context.Context
	api *apiclient.Client
}

// ListOrchestrations implements Client.
func (c *client) ListOrchestrations(params ListParameters) (StatusResponseList, error) {
	rows, total, err := list(c, []string{"orchestrations"}, params, func(o *StatusResponse) string { return o.OrchestrationID })
	if err != nil {
		return StatusResponseList{}, fmt.Errorf("list orchestrations: %w", err)
	}
	return StatusResponseList{Data: rows, Count: len(rows), TotalCount: total}, nil
}

// GetOrchestration implements Client.
func (c *client) GetOrchestration(orchestrationID string) (StatusResponse, error) {
	response, err := apiclient.Get[StatusResponse](c.ctx, c.api, []string{"orchestrations", orchestrationID}, nil)
	if err != nil {
		return StatusResponse{}, fmt.Errorf("get orchestration: %w", err)
	}
	return response, nil
}

// ListOperations implements Client.
func (c *client) ListOperations(orchestrationID string, params ListParameters) (OperationResponseList, error) {
	path := []string{"orchestrations", orchestrationID, "operations"}
	rows, total, err := list(c, path, params, func(o *OperationResponse) string { return o.OperationID })
	if err != nil {
		return OperationResponseList{}, fmt.Errorf("list operations: %w", err)
	}
	return OperationResponseList{Data: rows, Count: len(rows), TotalCount: total}, nil
}

// GetOperation implements Client.
func (c *client) GetOperation(orchestrationID, operationID string) (OperationDetailResponse, error) {
	path := []string{"orchestrations", orchestrationID, "operations", operationID}
	response, err := apiclient.Get[OperationDetailResponse](c.ctx, c.api, path, nil)
	if err != nil {
		return OperationDetailResponse{}, fmt.Errorf("get operation: %w", err)
	}
	return response, nil
}

// ListLeftOut implements ExtendedClient.
func (c *client) ListLeftOut(orchestrationID string, params ListParameters) (LeftOutList, error) {
	params.States = nil
	path := []string{"orchestrations", orchestrationID, "leftout"}
	rows, total, err := list(c, path, params, func(row *LeftOut) string { return row.ShootName + "\x00" + row.RuntimeID + "\x00" + row.InstanceID })
	if err != nil {
		return LeftOutList{}, fmt.Errorf("list left out runtimes: %w", err)
	}
	return LeftOutList{Data: rows, Count: len(rows), TotalCount: total}, nil
}

// UpgradeKyma implements Client.
func (c *client) UpgradeKyma(params Parameters) (UpgradeResponse, error) {
	return c.upgrade("kyma", params)
}

// UpgradeCluster implements ExtendedClient.
func (c *client) UpgradeCluster(params Parameters) (UpgradeResponse, error) {
	return c.upgrade("cluster", params)
}

func (c *client) upgrade(what string, params Parameters) (UpgradeResponse, error) {
	response, err := apiclient.Send[UpgradeResponse](c.ctx, c.api, apiclient.Request{
		Method:         http.MethodPost,
		Path:           []string{"upgrade", what},
		JSON:           params,
		Expect:         []int{http.StatusAccepted},
		IdempotencyKey: apiclient.NewIdempotencyKey(),
	})
	if err != nil {
		return UpgradeResponse{}, fmt.Errorf("upgrade %s: %w", what, err)
	}
	return response, nil
}

// CancelOrchestration implements Client.
func (c *client) CancelOrchestration(orchestrationID string) error {
	err := apiclient.SendNoBody(c.ctx, c.api, apiclient.Request{
		Method: http.MethodPut,
		Path:   []string{"orchestrations", orchestrationID, "cancel"},
	})
	if err != nil {
		return fmt.Errorf("cancel orchestration: %w", err)
	}
	return nil
}

// RetryOrchestration implements ExtendedClient.
func (c *client) RetryOrchestration(orchestrationID string, operationIDs []string, now bool) (RetryResponse, error) {
	form := url.Values{}
	for _, id := range operationIDs {
		form.Add(operationIDField, id)
	}
	if now {
		form.Set(immediateField, "true")
	}
	response, err := apiclient.Send[RetryResponse](c.ctx, c.api, apiclient.Request{
		Method:         http.MethodPost,
		Path:           []string{"orchestrations", orchestrationID, "retry"},
		Form:           form,
		Expect:         []int{http.StatusAccepted},
		IdempotencyKey: apiclient.NewIdempotencyKey(),
	})
	if err != nil {
		return RetryResponse{}, fmt.Errorf("retry orchestration: %w", err)
	}
	return response, nil
}

// The fields of the form in which a retry is asked for.
const (
	operationIDField = "operation-id"
	immediateField   = "immediate"
)

// list reads one page or all pages of a list, and says how many rows all pages have.
func list[T any](c *client, path []string, params ListParameters, id func(*T) string) ([]T, int, error) {
	if params.Page < 0 || params.PageSize < 0 {
		return nil, 0, fmt.Errorf("page %d and page size %d must not be negative", params.Page, params.PageSize)
	}
	query := url.Values{}
	for _, state := range params.States {
		query.Add(StateParam, state)
	}
	if params.Page > 0 && params.PageSize > 0 {
		page, err := apiclient.GetPage[T](c.ctx, c.api, path, query, params.Page, params.PageSize)
		if err != nil {
			return nil, 0, err
		}
		return page.Rows, page.TotalCount, nil
	}
	rows, err := apiclient.Walk(c.ctx, id, func(ctx context.Context, number int) (apiclient.Page[T], error) {
		return apiclient.GetPage[T](ctx, c.api, path, query, number, params.PageSize)
	})
	return rows, len(rows), err
}
