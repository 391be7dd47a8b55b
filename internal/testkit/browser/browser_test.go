package browser_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/browser"
)

func TestAPageIsShown(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `<title>Here</title><button onclick="document.title='There'">go</button>`)
	}))
	t.Cleanup(page.Close)
	tab := browser.New(t)
	require.NoError(t, chromedp.Do(tab, chromedp.Navigate(page.URL)))
	title, err := chromedp.Run(tab, chromedp.Title())
	require.NoError(t, err)
	require.Equal(t, "Here", title)
	require.NoError(t, chromedp.Do(tab, chromedp.Click(chromedp.CSS("button"))))
	title, err = chromedp.Run(tab, chromedp.Title())
	require.NoError(t, err)
	require.Equal(t, "There", title)
}
