// Package apiclient is the HTTP transport that the public clients share.
//
// A client is made once and is safe for concurrent use:
//
//	api := apiclient.New(apiclient.Options{
//		BaseURL:  "https://keb.example/api",
//		Auth:     tokens, // nil: no bearer token
//		NewError: func(f apiclient.Failure) error { e := Error(f); return &e },
//	})
//
// One answer:
//
//	status, err := apiclient.Get[StatusResponse](ctx, api, []string{"orchestrations", id}, nil)
//
// One page, or all pages one after another:
//
//	path := []string{"orchestrations"}
//	page, err := apiclient.GetPage[StatusResponse](ctx, api, path, query, 2, 50)
//	all, err := apiclient.Walk(ctx, func(o *StatusResponse) string { return o.OrchestrationID },
//		func(ctx context.Context, number int) (apiclient.Page[StatusResponse], error) {
//			return apiclient.GetPage[StatusResponse](ctx, api, path, query, number, pageSize)
//		})
//
// Lists without an object around them are read with GetPlainPage. A history is read with WalkDown, which goes on from the last row of each page, and with
// WalkNewestFirst where the server knows page numbers only.
//
// A write. With an idempotency key it is repeated under that key when the answer got lost; without one it is repeated only when no
// connection could be made at all:
//
//	res, err := apiclient.Send[UpgradeResponse](ctx, api, apiclient.Request{
//		Method:         http.MethodPost,
//		Path:           []string{"upgrade", "cluster"},
//		JSON:           params, // or Form: url.Values{...}
//		Expect:         []int{http.StatusAccepted},
//		IdempotencyKey: apiclient.NewIdempotencyKey(),
//	})
//
// Every error names the method and the address. An answer with an unexpected status becomes what Options.NewError makes of its Failure.
package apiclient
