package httpapi_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// update makes the golden tests write what they would compare: go test ./internal/httpapi -update
var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}
