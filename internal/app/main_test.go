package app

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/swell-fleet/swell/internal/testkit/postgres"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(postgres.Exit))
}
