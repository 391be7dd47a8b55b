// Package browser drives a real browser for tests.
package browser

import (
	"context"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// limit is how long all that a test does with a browser may take.
const limit = 2 * time.Minute

// names are those of the programs that are looked for.
var names = []string{"chromium", "chromium-browser", "google-chrome"}

// alone lets one browser run at a time: each takes much memory, and all of them together are slower.
var alone sync.Mutex

// New starts a browser with a profile of its own, without a window, and returns a context for chromedp's actions. It ends with the test. Without
// such a program the test fails with one line that says what to install.
func New(t testing.TB) context.Context {
	t.Helper()
	program := find(t)
	alone.Lock()
	t.Cleanup(alone.Unlock)
	ctx, cancelLimit := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	t.Cleanup(cancelLimit)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()),
		// Tests run as root in containers, where the browser cannot shut itself in; it shows pages of this machine only.
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1000, 800),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("no-proxy-server", true),
	)
	allocator, cancelAllocator := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancelAllocator)
	tab, cancelTab := chromedp.NewContext(allocator)
	t.Cleanup(cancelTab)
	require.NoError(t, chromedp.Do(tab), "start %s", program)
	return tab
}

func find(t testing.TB) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("missing: please install a browser (Debian: sudo apt-get install chromium)")
	return ""
}
