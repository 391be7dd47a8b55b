// Package e2e_test tests Swell as a whole: over HTTP, through the durable engine, against Gardener's API server with simulated clusters behind it.
package e2e_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/postgres"
	"github.com/swell-fleet/swell/internal/testkit/server"
)

// atOnce is how many tests run side by side. Most of the time they wait.
const atOnce = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := errors.Join(landscape.Stop(), server.RemoveProgram()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		postgres.Exit(code)
	}))
}
