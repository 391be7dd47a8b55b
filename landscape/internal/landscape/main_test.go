package landscape

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/swell-fleet/swell/landscape/internal/apiserver"
	"github.com/swell-fleet/swell/landscape/internal/issuer"
)

func TestMain(m *testing.M) {
	apiserver.Quiet()
	issuer.Quiet()
	// Some libraries start goroutines when they are loaded, and Kubernetes' server
	// one that writes its log as long as the process lives.
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent(), goleak.IgnoreAnyFunction("k8s.io/apimachinery/pkg/util/wait.Forever"))
}
