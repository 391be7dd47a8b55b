package quantity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/quantity"
)

func TestOneThingIsCountedAsOne(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 runtimes are", 1: "1 runtime is", 2: "2 runtimes are", 11: "11 runtimes are", 21: "21 runtimes are", -1: "-1 runtimes are"} {
		require.Equal(t, want, quantity.Of(n, "runtime")+quantity.Pick(n, " is", " are"))
	}
	require.Equal(t, "runtime", quantity.Noun(1, "runtime"))
}
