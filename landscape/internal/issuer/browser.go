package issuer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/op"
)

// browserTime bounds how long a played browser waits.
const browserTime = 30 * time.Second

// Page is where a browser ended up.
type Page struct {
	// Address has no query, which may hold a code.
	Address string `json:"address"`
	Status  int    `json:"status"`
	// Body is what the page begins with.
	Body string `json:"body"`
}

// LogIn plays a browser in which a user logs in: it opens the address that a
// program shows, chooses the user, or denies if there is none, and follows where
// that leads, which is back to the program on a loopback address.
func (i *Issuer) LogIn(ctx context.Context, address, user string) (Page, error) {
	if !strings.HasPrefix(address, i.url+"/authorize?") {
		return Page{}, fmt.Errorf("%w: the address is not one to log in at %s", ErrInvalid, i.url)
	}
	ctx, cancel := context.WithTimeout(ctx, browserTime)
	defer cancel()
	jar, err := cookiejar.New(nil)
	if err != nil {
		return Page{}, fmt.Errorf("make cookie jar: %w", err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	browser := &http.Client{Jar: jar, Transport: transport, CheckRedirect: onLoopback}
	shown, query, err := visit(ctx, browser, http.MethodGet, address, nil)
	if err != nil || shown.Address != i.url+loginPath || shown.Status != http.StatusOK {
		return shown, err
	}
	form := url.Values{"request": {query.Get("request")}}
	if user == "" {
		form.Set("deny", "yes")
	} else {
		form.Set("user", user)
	}
	page, _, err := visit(ctx, browser, http.MethodPost, shown.Address, form)
	return page, err
}

// visit returns the page that a request leads to, and its query.
func visit(ctx context.Context, browser *http.Client, method, address string, form url.Values) (Page, url.Values, error) {
	const most = 64 << 10
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return Page{}, nil, fmt.Errorf("%w: make request: %w", ErrInvalid, err)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := browser.Do(request)
	if err != nil {
		return Page{}, nil, withoutQuery(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil {
		return Page{}, nil, fmt.Errorf("read page: %w", err)
	}
	at := *response.Request.URL
	query := at.Query()
	at.RawQuery, at.Fragment = "", ""
	return Page{Address: at.String(), Status: response.StatusCode, Body: string(body)}, query, nil
}

// withoutQuery takes what may be a code out of an error.
func withoutQuery(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		if at, parsed := url.Parse(failed.URL); parsed == nil {
			return fmt.Errorf("%s %s://%s%s: %w", failed.Op, at.Scheme, at.Host, at.Path, failed.Err)
		}
		return failed.Err
	}
	return err
}

func onLoopback(r *http.Request, before []*http.Request) error {
	const most = 10
	if _, ok := op.HTTPLoopbackOrLocalhost(r.URL.String()); !ok || len(before) > most {
		return http.ErrUseLastResponse
	}
	return nil
}
