package e2e_test

import (
	"testing"

	"github.com/swell-fleet/swell/internal/testkit/folder"
	"github.com/swell-fleet/swell/internal/testkit/landscape"
	"github.com/swell-fleet/swell/internal/testkit/server"
	"github.com/swell-fleet/swell/orchestration"
)

// settingsFor are the settings of a server on SQLite for a fleet.
func settingsFor(t *testing.T, f *landscape.Fleet) server.Settings {
	t.Helper()
	return server.Settings{"data-dir": folder.InMemory(t), "gardener-kubeconfig": f.Kubeconfig, "gardener-namespace": f.Namespace}
}

// with returns settings with some of them changed.
func with(s server.Settings, more ...string) server.Settings {
	all := make(server.Settings, len(s))
	for key, value := range s {
		all[key] = value
	}
	for i := 0; i+1 < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

// startLocal starts a server for a fleet whose runtimes it knows, with a clock or nil for the real one.
func startLocal(t *testing.T, f *landscape.Fleet, clock *server.Clock) *server.Local {
	t.Helper()
	s := server.StartLocal(t, clock, settingsFor(t, f))
	s.Ready(t)
	s.Import(t, f.Runtimes(t))
	return s
}

// toTarget are the parameters of an upgrade to landscape.Target.
func toTarget(workers int, include ...orchestration.RuntimeTarget) orchestration.Parameters {
	return orchestration.Parameters{
		Version:  landscape.Target,
		Targets:  orchestration.TargetSpec{Include: include},
		Strategy: orchestration.StrategySpec{Parallel: orchestration.ParallelStrategySpec{Workers: workers}},
	}
}

// all is the target that selects every runtime.
var all = orchestration.RuntimeTarget{Target: orchestration.TargetAll}

// shoot is the target that selects one Shoot.
func shoot(name string) orchestration.RuntimeTarget { return orchestration.RuntimeTarget{Shoot: name} }
