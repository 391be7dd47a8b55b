package config

import (
	"fmt"
	"io"
	"math"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// basePath is what may stand in front of the routes, besides nothing. "." and ".." are refused beside it.
var basePath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*$`)

// check returns every problem of the values, each with the name of its key, except those of keys that are to be skipped.
func (c *Config) check(skip func(key string) bool) []error {
	var problems []error
	bad := func(key, format string, args ...any) {
		if skip(key) {
			return
		}
		problems = append(problems, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, shownIn(args)...)))
	}
	oneOf := func(key, value string, allowed ...string) {
		if !slices.Contains(allowed, value) {
			bad(key, "%q is not one of %s", value, strings.Join(allowed, ", "))
		}
	}
	positive := func(key string, d time.Duration) {
		if d <= 0 {
			bad(key, "%s is not longer than 0", d)
		}
	}
	upTo := func(key string, n, high int) {
		if n < 1 || n > high {
			bad(key, "%d is not between 1 and %d", n, high)
		}
	}

	c.checkAccess(bad)
	if !basePath.MatchString(c.BasePath) || c.BasePath != "" && path.Clean(c.BasePath) != c.BasePath {
		bad("base-path", "%q does not have the form /name or /name/name", c.BasePath)
	}
	if c.DatabaseURL != "" {
		if u, err := url.Parse(c.DatabaseURL); err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
			bad("database-url", "it does not have the form postgres://user:password@host/name")
		}
	} else if c.DataDir == "" {
		bad("data-dir", "it is empty and there is no database-url")
	}
	oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	oneOf("log.format", c.Log.Format, "text", "json")
	upTo("api.max-page-size", c.API.MaxPageSize, 100_000)
	upTo("api.page-size", c.API.PageSize, max(1, c.API.MaxPageSize))
	upTo("api.max-in-flight", c.API.MaxInFlight, 100_000)
	positive("api.request-timeout", c.API.RequestTimeout)
	upTo("engine.max-workers", c.Engine.MaxWorkers, 1_000_000)
	upTo("engine.step-concurrency", c.Engine.StepConcurrency, 10_000)
	positive("engine.operation-time-limit", c.Engine.OperationTimeLimit)
	positive("engine.sweep-interval", c.Engine.SweepInterval)
	if c.Engine.SweepInterval > 10*time.Second {
		bad("engine.sweep-interval", "%s is longer than 10s; work of dead replicas would be taken over too late", c.Engine.SweepInterval)
	}
	positive("engine.poll-interval", c.Engine.PollInterval)
	if c.Engine.Retention < 0 {
		bad("engine.retention", "%s is negative", c.Engine.Retention)
	}
	positive("shutdown-timeout", c.ShutdownTimeout)
	oneOf("executor.upgrade-cluster", c.Executor.UpgradeCluster, ExecutorGardener, ExecutorProvisioner, ExecutorNone)
	oneOf("executor.upgrade-kyma", c.Executor.UpgradeKyma, ExecutorKyma, ExecutorProvisioner, ExecutorNone)
	if c.Executor.UpgradeCluster == ExecutorProvisioner || c.Executor.UpgradeKyma == ExecutorProvisioner {
		if u, err := url.Parse(c.Provisioner.URL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			bad("provisioner.url", "%q is not the address of a GraphQL endpoint, and an executor needs the Provisioner", c.Provisioner.URL)
		}
	}
	positive("kyma.patience", c.Kyma.Patience)
	if c.Executor.UpgradeKyma == ExecutorKyma && c.Kyma.Namespace == "" {
		bad("kyma.namespace", "it is empty")
	}
	if c.NeedsGardener() && c.Gardener.Namespace == "" {
		bad("gardener.namespace", "it is empty; name the namespace of the Gardener project")
	}
	c.checkBudget("gardener", c.Gardener.QPS, c.Gardener.Burst, bad)
	c.checkBudget("kyma", c.Kyma.QPS, c.Kyma.Burst, bad)
	return problems
}

// checkBudget checks how often a backend may be asked.
func (*Config) checkBudget(group string, qps float64, burst int, bad func(key, format string, args ...any)) {
	if !(qps > 0) || math.IsInf(qps, 0) {
		bad(group+".qps", "%v is not above 0", qps)
	}
	if burst < 1 || burst > 1_000_000 {
		bad(group+".burst", "%d is not between 1 and 1000000", burst)
	}
}

// The executors that may be configured.
const (
	ExecutorGardener    = "gardener"
	ExecutorProvisioner = "provisioner"
	ExecutorKyma        = "kyma"
	ExecutorNone        = "none"
)

// NeedsGardener reports whether any part talks to Gardener: besides its executor and its source, whoever upgrades anything resolves the targets over its
// Shoots.
func (c *Config) NeedsGardener() bool {
	return c.Executor.UpgradeCluster != ExecutorNone || c.Executor.UpgradeKyma != ExecutorNone || c.Source.Gardener
}

// Dump writes the settings in force as lines "key: value". Secrets are blanked.
func (c *Config) Dump(w io.Writer) error {
	v := reflect.ValueOf(c).Elem()
	for _, key := range Keys() {
		value := fmt.Sprint(v.FieldByIndex(key.index).Interface())
		if list, ok := v.FieldByIndex(key.index).Interface().([]string); ok {
			value = strings.Join(list, ",")
		}
		if key.Secret && value != "" {
			value = "(set)"
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", key.Name, value); err != nil {
			return fmt.Errorf("write the settings: %w", err)
		}
	}
	return nil
}
