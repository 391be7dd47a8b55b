package cli_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/swell-fleet/swell/internal/cli"
	"github.com/swell-fleet/swell/internal/cli/console"
)

// TestMain lets scripts run the program, which is this test binary under another name.
func TestMain(m *testing.M) {
	testscript.Main(checked{m}, map[string]func(){
		"swell": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			code := cli.Run(ctx, console.New(time.Now), os.Args[1:])
			stop()
			os.Exit(code) //nolint:forbidigo // this is the main of the program that scripts run
		},
	})
}

// checked looks for goroutines that the tests left behind.
type checked struct{ m *testing.M }

// Run runs the tests.
func (c checked) Run() int {
	code := c.m.Run()
	if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		transport.CloseIdleConnections()
	}
	if err := goleak.Find(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
