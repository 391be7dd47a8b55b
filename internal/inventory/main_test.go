package inventory_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/postgres"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := landscape.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		postgres.Exit(code)
	}))
}
