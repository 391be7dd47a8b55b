package login

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	goruntime "runtime"
	"strings"

	"github.com/swell-fleet/swell/internal/cli/console"
)

// errNoBrowser says that there is nothing to show an address with.
var errNoBrowser = errors.New("no browser was found")

// open shows an address in the browser that BROWSER names, else in that of the desktop. The browser belongs to the user from then on: it may end at
// once or go on for days, and neither says whether anybody sees the page.
func open(ctx context.Context, c *console.Console, address string) error {
	words, err := browser(c)
	if err != nil {
		return err
	}
	words = place(words, address)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), words[0], words[1:]...)
	cmd.Env, cmd.SysProcAttr = c.Environ, apart()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", words[0], err)
	}
	if err := cmd.Process.Release(); err != nil {
		return fmt.Errorf("let %s go: %w", words[0], err)
	}
	return nil
}

// place puts an address where %s stands in a command, or behind it.
func place(words []string, address string) []string {
	placed, found := make([]string, 0, len(words)+1), false
	for _, word := range words {
		found = found || strings.Contains(word, "%s")
		placed = append(placed, strings.ReplaceAll(word, "%s", address))
	}
	if !found {
		placed = append(placed, address)
	}
	return placed
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
