package runtime

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/swell-fleet/swell/internal/apiclient"
)

// Client lists the runtimes of a broker.
type Client interface {
	// ListRuntimes returns the runtimes that match the parameters.
	//
	// With a Page and a PageSize it returns that page. When one of them is missing it reads all pages, with the given PageSize or the
	// server's own, and returns every runtime once; Count and TotalCount are then the number of runtimes returned. A runtime that appears
	// or goes away while the pages are read may or may not be among them. The result is complete or there is an error, never a part.
	//
	// Data is never nil without an error. An answer with another status than 200 is an error that holds an [*Error].
	ListRuntimes(params ListParameters) (RuntimesPage, error)
}

// NewClient returns a client of the broker at the base URL, with or without a path prefix and a trailing slash. A URL that cannot be
// used is reported by each call.
//
// The HTTP client carries the user's token; nil means one that sends none. A single try of a request ends after the Timeout of the HTTP
// client or after two minutes. Redirects are followed as the HTTP client's own policy says; with nil none is, and the answer is an
// [*Error] that says where it sends.
func NewClient(url string, httpClient *http.Client) Client {
	return NewClientWithContext(context.Background(), url, httpClient)
}

// NewClientWithContext returns a client like NewClient whose requests, pauses and reading of answers end with the context.
func NewClientWithContext(ctx context.Context, url string, httpClient *http.Client) Client {
	return newClient(ctx, apiclient.Options{BaseURL: url, HTTPClient: httpClient})
}

func newClient(ctx context.Context, opts apiclient.Options) *client {
	opts.NewError = func(f apiclient.Failure) error {
		e := Error(f)
		return &e
	}
	return &client{ctx: ctx, api: apiclient.New(opts)}
}

type client struct {
	// ctx is here because the methods of Client have none.
	ctx context.Context
	api *apiclient.Client
}

// ListRuntimes implements Client.
func (c *client) ListRuntimes(params ListParameters) (RuntimesPage, error) {
	if params.Page < 0 || params.PageSize < 0 {
		return RuntimesPage{}, fmt.Errorf("list runtimes: page %d and page size %d must not be negative", params.Page, params.PageSize)
	}
	query := queryOf(params)
	if params.Page > 0 && params.PageSize > 0 {
		page, err := c.page(c.ctx, query, params.Page, params.PageSize)
		if err != nil {
			return RuntimesPage{}, fmt.Errorf("list runtimes: %w", err)
		}
		return RuntimesPage{Data: page.Rows, Count: page.Count, TotalCount: page.TotalCount}, nil
	}
	rows, err := apiclient.Walk(c.ctx, idOf, func(ctx context.Context, number int) (apiclient.Page[RuntimeDTO], error) {
		return c.page(ctx, query, number, params.PageSize)
	})
	if err != nil {
		return RuntimesPage{}, fmt.Errorf("list runtimes: %w", err)
	}
	return RuntimesPage{Data: rows, Count: len(rows), TotalCount: len(rows)}, nil
}

func (c *client) page(ctx context.Context, query url.Values, number, size int) (apiclient.Page[RuntimeDTO], error) {
	return apiclient.GetPage[RuntimeDTO](ctx, c.api, []string{"runtimes"}, query, number, size)
}

// idOf tells runtimes apart. Records that a broker rebuilt from what is left of a removed runtime may lack the instance ID.
func idOf(rt *RuntimeDTO) string {
	if rt.InstanceID != "" {
		return rt.InstanceID
	}
	if rt.RuntimeID != "" {
		return "runtime " + rt.RuntimeID
	}
	return ""
}

// queryOf holds the filters. Events is not one of them.
func queryOf(params ListParameters) url.Values {
	query := url.Values{}
	for name, values := range map[string][]string{
		GlobalAccountIDParam: params.GlobalAccountIDs,
		SubAccountIDParam:    params.SubAccountIDs,
		InstanceIDParam:      params.InstanceIDs,
		RuntimeIDParam:       params.RuntimeIDs,
		RegionParam:          params.Regions,
		ShootParam:           params.Shoots,
		PlanParam:            params.Plans,
	} {
		for _, value := range values {
			query.Add(name, value)
		}
	}
	for _, state := range params.States {
		query.Add(StateParam, string(state))
	}
	if params.OperationDetail != "" {
		query.Set(OperationDetailParam, string(params.OperationDetail))
	}
	for name, wanted := range map[string]bool{
		KymaConfigParam:    params.KymaConfig,
		ClusterConfigParam: params.ClusterConfig,
		ExpiredParam:       params.Expired,
		WithoutShootParam:  params.WithoutShoot,
	} {
		if wanted {
			query.Set(name, "true")
		}
	}
	return query
}
