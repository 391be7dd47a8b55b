package archtest

// modulePath is the import path of the product's module.
const modulePath = "github.com/swell-fleet/swell"

// layer is one level of the table. Its packages may import those of every layer further down.
type layer struct {
	name     string
	packages []pattern
}

// grant names the packages that may import a module from outside or a package of the standard library. The longest path
// that is a prefix of the import decides.
type grant struct {
	path     string
	packages []pattern
}

// edge is one permitted import between packages of the same layer.
type edge struct{ from, to pattern }

// rules is the whole table.
type rules struct {
	// layers from the top to the bottom.
	layers []layer
	// beside lists the imports that are permitted within one layer.
	beside []edge
	// importers lists who alone may import a package, although its layer would let others do it.
	importers map[pattern][]pattern
	// imports lists all that a package may import of the product, although its layer would let it import more.
	imports map[pattern][]pattern
	// apart lists trees whose packages never import each other, tests included.
	apart []pattern
	// testOnly lists packages that only tests and other packages of this list import.
	testOnly []pattern
	// grants lists who owns what comes from outside the module. The tests of a package have the grants of the package.
	grants []grant
	// testGrants lists what every test may import from outside.
	testGrants []string
}

// table is the architecture of Swell.
var table = rules{
	layers: []layer{
		{"tests of the whole", []pattern{"e2e", "internal/testkit/server"}},
		{"program", []pattern{"cmd/swell"}},
		{"commands", []pattern{"internal/cli/..."}},
		{"wiring", []pattern{"internal/app"}},
		{"process", []pattern{"internal/config", "internal/telemetry"}},
		{"adapters", []pattern{
			"internal/httpapi/...", "internal/auth",
			"internal/engine/riverjobs", "internal/store/...", "internal/inventory/...",
			"internal/executor/gardener", "internal/executor/provisioner", "internal/executor/kyma",
			"internal/executor/noop", "internal/executor/executortest",
		}},
		{"kubernetes", []pattern{"internal/verdict", "internal/feed"}},
		{"engine", []pattern{"internal/engine"}},
		{"domain", []pattern{"internal/fleet"}},
		{"policy", []pattern{"internal/policy"}},
		{"orchestration", []pattern{"orchestration", "orchestration/strategies"}},
		{"runtime", []pattern{"runtime"}},
		{"transport", []pattern{"internal/apiclient"}},
		{"schema", []pattern{"gqlschema"}},
		{"windows", []pattern{"internal/window"}},
		{"words", []pattern{"internal/quantity"}},
		{"tests", []pattern{
			"internal/testkit/await", "internal/testkit/browser", "internal/testkit/dtotest", "internal/testkit/folder", "internal/testkit/issuer", "internal/testkit/landscape", "internal/testkit/postgres", "internal/archtest",
		}},
	},
	beside: []edge{
		{"internal/httpapi/...", "internal/auth"},
		{"orchestration/strategies", "orchestration"},
	},
	importers: map[pattern][]pattern{
		"orchestration/strategies": {"internal/cli/..."},
		"internal/config":          {"internal/app", "internal/cli/...", "internal/testkit/server"},
		"internal/telemetry":       {"internal/app", "internal/cli/..."},
	},
	imports: map[pattern][]pattern{
		"cmd/swell":          {"internal/cli/..."},
		"internal/window":    {},
		"internal/apiclient": {},
		"gqlschema":          {},
	},
	apart: []pattern{"internal/executor/..."},
	testOnly: []pattern{
		"internal/testkit/...", "internal/archtest", "internal/executor/executortest", "internal/store/storetest",
	},
	grants: []grant{
		{"database/sql", []pattern{"internal/store/...", "internal/engine/riverjobs"}},
		{"net/http", []pattern{
			"internal/httpapi/...", "internal/auth",
			"internal/executor/provisioner",
			"internal/apiclient", "runtime", "orchestration", "internal/telemetry", "internal/app", "internal/cli/...",
			"internal/testkit/...",
		}},

		{"github.com/riverqueue/river", []pattern{"internal/engine/riverjobs"}},
		{"github.com/uptrace/bun", []pattern{"internal/store/..."}},
		{"github.com/pressly/goose/v3", []pattern{"internal/store/..."}},
		{"modernc.org/sqlite", []pattern{"internal/store/..."}},
		{"github.com/jackc/pgx/v5", []pattern{"internal/store/...", "internal/engine/riverjobs", "internal/testkit/..."}},

		{"github.com/coreos/go-oidc/v3", []pattern{"internal/auth", "internal/cli/..."}},
		{"github.com/go-jose/go-jose/v4", []pattern{"internal/auth", "internal/testkit/..."}},
		{"golang.org/x/oauth2", []pattern{"orchestration", "internal/apiclient", "internal/cli/..."}},

		{"github.com/spf13/cobra", []pattern{"internal/cli/..."}},
		{"github.com/spf13/pflag", []pattern{"internal/cli/..."}},
		{"github.com/mattn/go-isatty", []pattern{"internal/cli/..."}},
		{"golang.org/x/term", []pattern{"internal/cli/..."}},
		{"github.com/knadh/koanf", []pattern{"internal/config"}},
		{"go.yaml.in/yaml/v3", []pattern{"internal/policy", "internal/cli/..."}},
		{"github.com/gofrs/flock", []pattern{"internal/store/...", "internal/cli/..."}},

		{"github.com/gardener/gardener", gardenerUsers},
		{"k8s.io", kubernetesUsers},

		{"github.com/Khan/genqlient", []pattern{"internal/executor/provisioner"}},
		{"github.com/vektah/gqlparser/v2", []pattern{"internal/executor/provisioner"}},
		{"github.com/99designs/gqlgen", []pattern{"gqlschema"}},
		{"golang.org/x/time", []pattern{"internal/auth", "internal/engine", "internal/httpapi/..."}},
		{"golang.org/x/sync", []pattern{
			"internal/store/...", "internal/executor/...",
		}},
		{"github.com/cenkalti/backoff/v5", []pattern{"internal/apiclient"}},
		{"github.com/google/uuid", []pattern{
			"internal/apiclient", "orchestration/strategies", "internal/engine/...", "internal/httpapi/...",
			"internal/cli/...",
		}},

		{"github.com/sirupsen/logrus", []pattern{"orchestration", "orchestration/strategies", "internal/telemetry", "internal/inventory/...", "internal/app", "internal/cli/..."}},
		{"github.com/prometheus/client_golang", []pattern{
			"internal/telemetry", "internal/app", "internal/engine/...", "internal/httpapi/...",
			"internal/inventory/...",
		}},

		// The mock of RuntimeLister is part of the published package.
		{"github.com/stretchr/testify/mock", []pattern{"orchestration"}},
		{"github.com/chromedp/chromedp", []pattern{"internal/testkit/...", "e2e"}},
		{"github.com/stretchr/testify/require", []pattern{"internal/testkit/...", "internal/executor/executortest", "internal/store/storetest"}},
		{"github.com/google/go-cmp", []pattern{"internal/testkit/...", "internal/store/storetest"}},
		{"pgregory.net/rapid", []pattern{"internal/store/storetest"}},
	},
	testGrants: []string{
		"database/sql",
		"net/http",
		"github.com/stretchr/testify/require",
		"github.com/stretchr/testify/mock",
		"github.com/google/go-cmp",
		"github.com/prometheus/client_golang",
		"github.com/rogpeppe/go-internal",
		"github.com/sirupsen/logrus",
		"go.uber.org/goleak",
		"golang.org/x/oauth2",
		"golang.org/x/sync",
		"pgregory.net/rapid",
	},
}

// gardenerUsers are the packages that know Gardener's types and clients.
var gardenerUsers = []pattern{"orchestration", "internal/executor/gardener", "internal/inventory/...", "internal/app", "internal/testkit/..."}

// kubernetesUsers are those that know Kubernetes' clients.
var kubernetesUsers = append([]pattern{"internal/executor/kyma", "internal/verdict", "internal/feed"}, gardenerUsers...)
