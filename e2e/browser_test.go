package e2e_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/browser"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
)

// A person logs in with a browser that keeps to what pages forbid it, such as where a form may lead.
func TestAPersonLogsIn(t *testing.T) {
	t.Parallel()
	issuer := landscape.NewIssuer(t, landscape.IssuerOptions{})
	s := server.StartLocal(t, nil, settingsOf(t, issuer))
	u := newUser(t, s.URL)
	tab := browser.New(t)

	login := u.start(t, "login", "--no-browser")
	require.NoError(t, chromedp.Do(tab, chromedp.Navigate(login.says(t, address))))
	require.NoError(t, chromedp.Do(tab,
		chromedp.Click(chromedp.CSS(`button[value="ann"]`)), chromedp.WaitVisible(chromedp.Search(`//h1[contains(text(), "logged in")]`)),
	))
	text, err := chromedp.Run(tab, chromedp.Text(chromedp.CSS("body")))
	require.NoError(t, err)
	require.Contains(t, text, "Go on in the terminal. This window can be closed.")
	end := login.wait()
	require.Zero(t, end.code, end.err)
	require.Contains(t, u.does(t, "whoami"), "ann@example.com")

	device := u.start(t, "login", "--device")
	require.NoError(t, chromedp.Do(tab, chromedp.Navigate(device.says(t, `compare the code:\n  (\S+)`))))
	text, err = chromedp.Run(tab, chromedp.OuterHTML(chromedp.CSS("body")))
	require.NoError(t, err)
	require.Contains(t, text, device.says(t, `and enter the code:\n  (\S+)`))
	require.NoError(t, chromedp.Do(tab, chromedp.Click(chromedp.CSS(`button[value="bob"]`))))
	end = device.wait()
	require.Zero(t, end.code, end.err)
	require.Contains(t, u.does(t, "whoami"), "bob@example.com")
}
