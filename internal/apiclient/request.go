package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"
)

// Request is one call of the server's API.
type Request struct {
	// Method is the HTTP method.
	Method string
	// Path holds the segments that follow the base URL. They are escaped; empty ones and dots are refused.
	Path []string
	// Query holds the query parameters.
	Query url.Values
	// JSON is sent as the body when it is not nil. It excludes Form.
	JSON any
	// Form is sent as the body when it is not nil.
	Form url.Values
	// Expect lists the statuses of a good answer. Empty means 200.
	Expect []int
	// IdempotencyKey is sent with the request and makes a write safe to repeat; see NewIdempotencyKey.
	IdempotencyKey string
	// Safe says that the request changes nothing, or nothing more when it is made again, so that it is repeated like a GET. It is implied by the
	// method GET.
	Safe bool
	// Anonymous requests carry no token, and none is asked for.
	Anonymous bool
}

// NewIdempotencyKey returns a key that no other call has.
func NewIdempotencyKey() string {
	return uuid.NewString()
}

// Get reads one JSON object.
func Get[T any](ctx context.Context, c *Client, path []string, query url.Values) (T, error) {
	return Send[T](ctx, c, Request{Method: http.MethodGet, Path: path, Query: query})
}

// Send sends a request, again where that is safe, and decodes the JSON object of the answer. Keys that T does not know are ignored;
// anything but exactly one object is an error.
func Send[T any](ctx context.Context, c *Client, req Request) (T, error) {
	var value T
	err := c.send(ctx, req, func(got reply) error {
		return decodeObject(got.body, &value)
	})
	if err != nil {
		var none T
		return none, err
	}
	return value, nil
}

// SendNoBody sends a request like Send and ignores the body of the answer.
func SendNoBody(ctx context.Context, c *Client, req Request) error {
	return c.send(ctx, req, func(reply) error { return nil })
}

func decodeObject(body []byte, value any) error {
	if !beginsWith(body, '{') {
		return errors.New("it is not a JSON object")
	}
	return json.Unmarshal(body, value)
}

// beginsWith says whether the first character of a JSON text is the given one.
func beginsWith(body []byte, first byte) bool {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == first
}

// reply is a good answer that has been read to its end.
type reply struct {
	header http.Header
	body   []byte
}

// call is a request with everything that does not change from one try to the next.
type call struct {
	Request

	address     *url.URL
	body        []byte
	contentType string
}

// describe wraps an error with the method and the address of the call.
func (c *call) describe(err error) error {
	return fmt.Errorf("%s %s: %w", c.Method, shorten(printable(c.address)), err)
}

func (c *Client) send(ctx context.Context, req Request, decode func(reply) error) error {
	if ctx == nil {
		ctx = context.Background()
	}
	prepared, err := c.prepare(req)
	if err != nil {
		return err
	}
	got, err := c.retry(ctx, prepared)
	if err != nil {
		return err
	}
	if err := decode(got); err != nil {
		return prepared.describe(fmt.Errorf("decode answer: %w", err))
	}
	return nil
}

func (c *Client) prepare(req Request) (*call, error) {
	address, err := c.address(req.Path, req.Query)
	if err != nil {
		return nil, err
	}
	prepared := &call{Request: req, address: address}
	if len(prepared.Expect) == 0 {
		prepared.Expect = []int{http.StatusOK}
	}
	switch {
	case req.JSON != nil:
		prepared.contentType = "application/json"
		if prepared.body, err = json.Marshal(req.JSON); err != nil {
			return nil, prepared.describe(fmt.Errorf("encode request: %w", err))
		}
	case req.Form != nil:
		prepared.contentType = "application/x-www-form-urlencoded"
		prepared.body = []byte(req.Form.Encode())
	}
	return prepared, nil
}

// attempt sends the request once and returns a good answer.
func (c *Client) attempt(ctx context.Context, call *call) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.AttemptTimeout)
	defer cancel()
	request, err := c.newRequest(ctx, call)
	if err != nil {
		return reply{}, err
	}
	response, err := c.sender(call).Do(request)
	if err != nil {
		return reply{}, &transportError{err: withoutAddress(err)}
	}
	defer func() { _ = response.Body.Close() }()
	if !slices.Contains(call.Expect, response.StatusCode) {
		return reply{}, c.failure(call, response)
	}
	body, err := c.readBody(response)
	if err != nil {
		return reply{}, err
	}
	return reply{header: response.Header, body: body}, nil
}

func (c *Client) newRequest(ctx context.Context, call *call) (*http.Request, error) {
	var body io.Reader
	if call.contentType != "" {
		body = bytes.NewReader(call.body)
	}
	request, err := http.NewRequestWithContext(ctx, call.Method, call.address.String(), body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", withoutAddress(err))
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "swell")
	if call.contentType != "" {
		request.Header.Set("Content-Type", call.contentType)
	}
	if call.IdempotencyKey != "" {
		request.Header.Set("Idempotency-Key", call.IdempotencyKey)
	}
	if c.opts.Auth == nil || call.Anonymous {
		return request, nil
	}
	token, err := c.opts.Auth.Token()
	if err != nil {
		return nil, fmt.Errorf("get token: %w", err)
	}
	if token == nil || token.AccessToken == "" {
		return nil, errors.New("get token: the token source returned an empty one")
	}
	request.Header.Set("Authorization", "Bearer "+token.AccessToken)
	return request, nil
}

// readBody reads the whole answer; a body that is cut short is an error of the transport.
func (c *Client) readBody(response *http.Response) ([]byte, error) {
	limit := c.opts.BodyLimit
	if response.ContentLength > limit {
		return nil, fmt.Errorf("read answer: its %d bytes are more than the limit of %d", response.ContentLength, limit)
	}
	var body bytes.Buffer
	if response.ContentLength > 0 {
		// The announced size is taken for granted up to a mebibyte only; bytes.MinRead saves the last growth.
		body.Grow(int(min(response.ContentLength, 1<<20)) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(io.LimitReader(response.Body, limit+1)); err != nil {
		return nil, &transportError{err: fmt.Errorf("read answer: %w", err)}
	}
	if int64(body.Len()) > limit {
		return nil, fmt.Errorf("read answer: it is longer than the limit of %d bytes", limit)
	}
	return body.Bytes(), nil
}

// failure reads what an answer with an unexpected status says.
func (c *Client) failure(call *call, response *http.Response) error {
	reason := pointer(call, response)
	if reason == "" {
		// The status says enough when the body cannot be read.
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxReasonBody))
		reason = reasonOf(body)
	}
	return &statusError{
		status:     response.StatusCode,
		retryAfter: parseRetryAfter(response.Header),
		err: c.opts.NewError(Failure{
			Method: call.Method,
			URL:    printable(call.address),
			Status: response.StatusCode,
			Reason: reason,
		}),
	}
}

// withoutAddress drops the layer that net/http puts around errors: it repeats the address, with the user name in it.
func withoutAddress(err error) error {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		return urlErr.Err
	}
	return err
}
