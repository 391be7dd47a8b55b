package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	goruntime "runtime"
	"strings"

	"github.com/swell-fleet/swell/internal/cli/console"
)

// opener starts the browser of the user on an address. Stopping it does not close a browser that was running before.
type opener struct {
	words  []string
	done   chan struct{}
	cancel context.CancelFunc
}

// errNoBrowser says that there is nothing to show an address with.
var errNoBrowser = errors.New("no browser was found")

// open shows an address. The browser is the one that BROWSER names, else the one of the desktop.
func open(ctx context.Context, c *console.Console, address string) (*opener, error) {
	words, err := browser(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	o := &opener{words: append(words, address), done: make(chan struct{}), cancel: cancel}
	cmd := exec.CommandContext(ctx, o.words[0], o.words[1:]...)
	cmd.Env = c.Environ
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("start %s: %w", words[0], err)
	}
	go func() {
		defer close(o.done)
		// Some browsers end at once and some when they are closed; neither says whether anybody sees the page.
		_ = cmd.Wait()
	}()
	return o, nil
}

// close ends what open started.
func (o *opener) close() {
	o.cancel()
	<-o.done
}

// browser returns the command that shows addresses.
func browser(c *console.Console) ([]string, error) {
	if words := strings.Fields(c.Getenv("BROWSER")); len(words) > 0 {
		return words, nil
	}
	switch goruntime.GOOS {
	case "darwin":
		return []string{"open"}, nil
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}, nil
	}
	// Without a desktop, programs such as xdg-open would start a browser in the terminal.
	if c.Getenv("DISPLAY") == "" && c.Getenv("WAYLAND_DISPLAY") == "" && c.Getenv("WSL_DISTRO_NAME") == "" {
		return nil, errNoBrowser
	}
	for _, name := range []string{"xdg-open", "wslview", "x-www-browser"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, errNoBrowser
}
