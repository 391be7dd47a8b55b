package window

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The properties are cheap, and rare combinations are what they are for. The command line may still set another number.
	if err := flag.Set("rapid.checks", "10000"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
