package landscape

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Page is where a browser ended up.
type Page struct {
	// URL is its address, which may hold a code.
	URL    *url.URL
	Status int
	Header http.Header
	Body   string
}

// LogIn plays a browser in which a user of the issuer logs in: it opens the address that a program shows, chooses the user on the page of the
// issuer, and follows where that leads, which is back to the program. Without a user it denies. The page is the program's.
func (i *Issuer) LogIn(t testing.TB, address, user string) Page {
	t.Helper()
	page, err := i.Browse(t.Context(), address, user)
	require.NoError(t, err)
	return page
}

// Browse is LogIn for goroutines beside that of the test.
func (i *Issuer) Browse(ctx context.Context, address, user string) (Page, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return Page{}, err
	}
	browser := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	page, err := visit(ctx, browser, http.MethodGet, address, nil)
	if err != nil {
		return Page{}, err
	}
	form := url.Values{"request": {page.URL.Query().Get("request")}}
	button := fmt.Sprintf("name=%q value=%q", "user", html.EscapeString(user))
	if user == "" {
		button = `name="deny"`
		form.Set("deny", "yes")
	} else {
		form.Set("user", user)
	}
	at := *page.URL
	at.RawQuery = ""
	if at.String() != i.URL+"/login" || page.Status != http.StatusOK {
		return page, fmt.Errorf("the address led to %s with status %d instead of the page to log in on: %s", at.String(), page.Status, page.Body)
	}
	if !strings.Contains(page.Body, button) {
		return page, fmt.Errorf("the page to log in on has no button for %q", user)
	}
	return visit(ctx, browser, http.MethodPost, at.String(), form)
}

func visit(ctx context.Context, browser *http.Client, method, address string, form url.Values) (Page, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return Page{}, err
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := browser.Do(request)
	if err != nil {
		return Page{}, err
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return Page{}, err
	}
	return Page{URL: response.Request.URL, Status: response.StatusCode, Header: response.Header, Body: string(body)}, nil
}
