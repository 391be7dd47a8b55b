package provisioner_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

var update = flag.Bool("update", false, "write the golden files anew")

// What goes over the wire is held byte for byte: unset fields are absent, and what the runtime has is sent along.
func TestRequestsAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		operation string
		kind      orchestration.Type
		change    func(task *fleet.Task)
	}{
		{name: "upgrade_runtime", operation: "UpgradeRuntime", kind: orchestration.UpgradeKymaOrchestration},
		{name: "upgrade_shoot_version", operation: "UpgradeShoot", kind: orchestration.UpgradeClusterOrchestration, change: func(task *fleet.Task) {
			task.Parameters.Version = "1.34.7"
		}},
		{name: "upgrade_shoot_image", operation: "UpgradeShoot", kind: orchestration.UpgradeClusterOrchestration, change: func(task *fleet.Task) {
			task.Parameters.Version = ""
			task.Parameters.Kubernetes = &orchestration.KubernetesParameters{MachineImage: "gardenlinux", MachineImageVersion: "1592.9.0"}
		}},
		{name: "runtime_status", operation: "RuntimeStatus", kind: orchestration.UpgradeKymaOrchestration},
		{name: "operation_status", operation: "OperationStatus", kind: orchestration.UpgradeKymaOrchestration},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBackend(t)
			task := b.task("rt-1")
			if test.change != nil {
				test.change(&task)
			}
			e := b.executor(t, test.kind)
			r := start(t, e, &task)
			require.Equal(t, fleet.Again, r.Outcome)
			_, err := e.Check(t.Context(), task, allowed(t))
			require.NoError(t, err)

			sent := b.sent(test.operation)
			require.NotEmpty(t, sent)
			require.Equal(t, "ga-blue", sent[0].Header.Get("Tenant"))
			require.Equal(t, "sa-blue-1", sent[0].Header.Get("Sub-Account"))
			require.Equal(t, "application/json", sent[0].Header.Get("Content-Type"))
			golden(t, test.name+".json", sent[0].Body)
		})
	}
}

// What is kept of the configuration for people to read has no values that must not be shown.
func TestKeptConfigurationHasNoSecrets(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	task := b.task("rt-1")
	r, err := b.executor(t, orchestration.UpgradeKymaOrchestration).Observe(t.Context(), task)
	require.NoError(t, err)
	require.NotContains(t, string(r.KymaConfig), "hunter2")
	golden(t, "kept_configuration.json", string(r.KymaConfig))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	var document bytes.Buffer
	require.NoError(t, json.Indent(&document, []byte(got), "", "  "))
	document.WriteByte('\n')
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(path, document.Bytes(), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), document.String()))
}
