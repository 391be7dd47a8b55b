// Command swell-landscape is a simulator: a local fleet of Gardener Shoots behind
// Gardener's own API server, and an OpenID Connect provider, for demonstrations and
// tests. Nothing behind it is a cluster or a person.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/swell-fleet/swell/landscape/internal/apiserver"
	"github.com/swell-fleet/swell/landscape/internal/issuer"
)

func main() {
	os.Exit(run())
}

func run() int {
	apiserver.Quiet()
	issuer.Quiet()
	options, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, errHelp):
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, "swell-landscape:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := bound(ctx, options)
	defer cancel()
	err = serve(ctx, options, os.Stdout)
	if err == nil && options.removeDir {
		err = os.RemoveAll(options.dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "swell-landscape:", err)
		return 1
	}
	return 0
}
