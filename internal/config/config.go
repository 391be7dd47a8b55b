// Package config holds the settings of the server in one struct, and reads them from a file, the environment and flags.
//
// A later source wins over an earlier one: built-in defaults, the file, variables that begin with SWELL_, flags. All problems are
// reported together, each with the name of its key.
package config

import (
	"time"
)

// Config is every setting of the server. The tags are the source of the file's keys, the environment variables, the flags and their
// help: "data-dir" is SWELL_DATA_DIR and --data-dir, "gardener.kubeconfig" is SWELL_GARDENER_KUBECONFIG and --gardener-kubeconfig.
type Config struct {
	Listen      string `key:"listen" default:"127.0.0.1:8080" usage:"address to listen on; without authentication it must be a loopback address"`
	BasePath    string `key:"base-path" usage:"path in front of every route of the API, such as /api"`
	DataDir     string `key:"data-dir" default:"swell-data" usage:"folder of the SQLite database; not used with database-url"`
	DatabaseURL string `key:"database-url" secret:"true" usage:"PostgreSQL database to use instead of SQLite, as postgres://user:password@host/name"`

	Log      Log      `key:"log"`
	API      API      `key:"api"`
	Auth     Auth     `key:"auth"`
	TLS      TLS      `key:"tls"`
	Engine   Engine   `key:"engine"`
	Executor Executor `key:"executor"`
	Gardener Gardener `key:"gardener"`
	Source   Source   `key:"source"`
	Kyma     Kyma     `key:"kyma"`

	Provisioner Provisioner `key:"provisioner"`

	MaintenancePolicy string `key:"maintenance-policy" usage:"file with the maintenance policy, which decides the windows of runtimes; empty leaves every Shoot its own"`

	ShutdownTimeout time.Duration `key:"shutdown-timeout" default:"30s" usage:"how long running steps and requests may take to finish when the server stops"`
}

// Log says what is logged and how.
type Log struct {
	Level  string `key:"level" default:"info" usage:"least severe level that is logged: debug, info, warn or error"`
	Format string `key:"format" default:"text" usage:"form of the log lines: text or json"`
}

// API limits requests.
type API struct {
	PageSize            int           `key:"page-size" default:"100" usage:"rows of a page when a request names no page size"`
	MaxPageSize         int           `key:"max-page-size" default:"1000" usage:"most rows that a request may ask for in one page"`
	RequestTimeout      time.Duration `key:"request-timeout" default:"30s" usage:"how long a request may take"`
	MaxInFlight         int           `key:"max-in-flight" default:"500" usage:"most requests that are served at the same time; more are answered 429"`
	RateLimit           float64       `key:"rate-limit" default:"100" usage:"requests per second that each user, and each address that names no user, may make on average; 0 means no limit; not used without auth.issuers"`
	RateBurst           int           `key:"rate-burst" default:"500" usage:"requests that each of them may make at once above the average"`
	MaxConnections      int           `key:"max-connections" default:"10000" usage:"most connections that are open at the same time; more are closed at once; 0 means no limit"`
	MaxConnectionsOfOne int           `key:"max-connections-of-one" default:"1000" usage:"most connections of one address, besides those of api.trusted-proxies; more are closed at once; 0 means no limit"`
	TrustedProxies      []string      `key:"trusted-proxies" usage:"addresses or networks of proxies whose header X-Forwarded-For is believed about where a request comes from"`
}

// Engine tunes how upgrades are carried out.
type Engine struct {
	MaxWorkers         int           `key:"max-workers" default:"1000" usage:"most workers that a request may ask for"`
	OperationTimeLimit time.Duration `key:"operation-time-limit" default:"3h" usage:"time after which an operation that has not ended counts as failed"`
	SweepInterval      time.Duration `key:"sweep-interval" default:"3s" usage:"how often this replica looks for work that dead replicas left behind, opened windows and recovered backends"`
	PollInterval       time.Duration `key:"poll-interval" default:"10s" usage:"how often an upgrade is looked at when its backend reports nothing by itself"`
	StepConcurrency    int           `key:"step-concurrency" default:"100" usage:"most steps that this replica carries out at the same time"`
	Retention          time.Duration `key:"retention" default:"0s" usage:"age at which ended orchestrations and their history are deleted; 0 keeps them for ever"`
}

// Executor says which executor carries out which type of orchestration.
type Executor struct {
	UpgradeCluster string `key:"upgrade-cluster" default:"gardener" usage:"what carries out upgrades of clusters: gardener, provisioner, or none to refuse them"`
	UpgradeKyma    string `key:"upgrade-kyma" default:"none" usage:"what carries out upgrades of Kyma: kyma (Lifecycle Manager), provisioner, or none to refuse them"`
}

// Gardener says where the Shoots are.
type Gardener struct {
	Kubeconfig string  `key:"kubeconfig" usage:"kubeconfig file of the Gardener project; empty uses the cluster that the server runs in"`
	Context    string  `key:"context" usage:"context of the kubeconfig; empty uses its current one"`
	Namespace  string  `key:"namespace" usage:"namespace of the Gardener project, such as garden-kyma"`
	QPS        float64 `key:"qps" default:"50" usage:"requests per second that this replica sends to Gardener on average"`
	Burst      int     `key:"burst" default:"100" usage:"requests that may be sent to Gardener at once above the average"`
}

// Source says where runtimes come from besides imports.
type Source struct {
	Gardener bool `key:"gardener" default:"true" usage:"make every Shoot that has a runtime ID a runtime"`
}

// Provisioner says where the Provisioner is.
type Provisioner struct {
	URL string `key:"url" usage:"address of the Provisioner's GraphQL endpoint"`
}

// Kyma holds what upgrades of Kyma need.
type Kyma struct {
	Kubeconfig     string        `key:"kubeconfig" usage:"kubeconfig file of the cluster that holds the Kyma resources; empty uses the cluster that the server runs in"`
	Namespace      string        `key:"namespace" default:"kcp-system" usage:"namespace of the Kyma resources"`
	QPS            float64       `key:"qps" default:"50" usage:"requests per second that this replica sends to that cluster on average"`
	Burst          int           `key:"burst" default:"100" usage:"requests that may be sent to that cluster at once above the average"`
	Patience       time.Duration `key:"patience" default:"15m" usage:"how long a Kyma may be in trouble without a break before its upgrade counts as failed; Lifecycle Manager tries again by itself meanwhile"`
	Channels       []string      `key:"channels" default:"regular,fast,experimental" usage:"channels that an upgrade of Kyma by Lifecycle Manager may ask for"`
	DefaultVersion string        `key:"default-version" usage:"version that an upgrade of Kyma without a version takes; empty refuses it"`
}
