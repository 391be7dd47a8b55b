package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli"
	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/orchestration"
)

// result is what a command did.
type result struct {
	code     int
	out, err string
}

// run carries out a command line in this process, without a terminal.
func run(t *testing.T, address string, args ...string) result {
	t.Helper()
	return runWith(t, []string{"SWELL_URL=" + address}, args...)
}

// runWith is run with variables.
func runWith(t *testing.T, environ []string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	c := &console.Console{
		In: strings.NewReader(""), Out: &out, Err: &errs, Environ: environ,
		Clock: func() time.Time { return time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC) },
	}
	code := cli.Run(t.Context(), c, args)
	return result{code, out.String(), errs.String()}
}

// A flag that is accepted changes the request; what cannot be put into a request is refused before anything is sent.
func TestCase_K1(t *testing.T) {
	t.Parallel()
	all := []orchestration.RuntimeTarget{{Target: "all"}}
	for name, test := range map[string]struct {
		args string
		// want is what the request must be; nil when there must be none.
		want func(p *orchestration.Parameters)
		// says is what the error must contain.
		says []string
	}{
		"every runtime at once, one after the other": {
			args: "upgrade cluster --target all",
			want: func(*orchestration.Parameters) {},
		},
		"inside the maintenance windows": {
			args: "upgrade cluster --target all --maintenancewindow",
			want: func(p *orchestration.Parameters) { p.Strategy.MaintenanceWindow = true },
		},
		"the older word for it as a schedule": {
			args: "upgrade cluster --target all --schedule maintenancewindow",
			says: []string{"--schedule maintenancewindow", "--maintenancewindow"},
		},
		"the older word in the letters of the API": {
			args: "upgrade cluster --target all --schedule maintenanceWindow",
			says: []string{"use the flag --maintenancewindow"},
		},
		"now": {
			args: "upgrade cluster --target all --schedule now",
			want: func(*orchestration.Parameters) {},
		},
		"a date": {
			args: "upgrade cluster --target all --schedule 2030-01-02",
			want: func(p *orchestration.Parameters) { p.Strategy.Schedule = "2030-01-02T00:00:00Z" },
		},
		"a time with an offset": {
			args: "upgrade cluster --target all --schedule 2030-01-02T22:00:00+01:00",
			want: func(p *orchestration.Parameters) { p.Strategy.Schedule = "2030-01-02T22:00:00+01:00" },
		},
		"a time, then inside the windows": {
			args: "upgrade cluster --target all --schedule 2030-01-02T22:00:00+01:00 --maintenancewindow",
			want: func(p *orchestration.Parameters) {
				p.Strategy.Schedule, p.Strategy.MaintenanceWindow = "2030-01-02T22:00:00+01:00", true
			},
		},
		"a date that does not exist": {
			args: "upgrade cluster --target all --schedule 2030-02-30",
			says: []string{`--schedule "2030-02-30"`, "2030-01-02"},
		},
		"a time without an offset": {
			args: "upgrade cluster --target all --schedule 2030-01-02T22:00:00",
			says: []string{"--schedule", "2030-01-02T22:00:00+01:00"},
		},
		"a word that is no schedule": {
			args: "upgrade cluster --target all --schedule tomorrow",
			says: []string{`"tomorrow"`},
		},
		"Kyma without a version, which the server chooses": {
			args: "upgrade kyma --target all",
			want: func(*orchestration.Parameters) {},
		},
		"Kyma inside the maintenance windows": {
			args: "upgrade kyma --target all --maintenancewindow --version fast",
			want: func(p *orchestration.Parameters) { p.Strategy.MaintenanceWindow, p.Version = true, "fast" },
		},
		"a plan that only the server has to know": {
			args: "upgrade cluster --target plan=aws_ha",
			want: func(p *orchestration.Parameters) {
				p.Targets.Include = []orchestration.RuntimeTarget{{PlanName: "aws_ha"}}
			},
		},
		"an equals sign inside a value": {
			args: "upgrade cluster --target account=a=b",
			want: func(p *orchestration.Parameters) {
				p.Targets.Include = []orchestration.RuntimeTarget{{GlobalAccount: "a=b"}}
			},
		},
		"a comma inside a pattern": {
			args: "upgrade cluster --target account=ga-[0-9]{1,3}",
			want: func(p *orchestration.Parameters) {
				p.Targets.Include = []orchestration.RuntimeTarget{{GlobalAccount: "ga-[0-9]{1,3}"}}
			},
		},
		"a comma inside a pattern, and another field after it": {
			args: "upgrade cluster --target account=ga-[0-9]{1,3},region=^eu- --target-exclude shoot=c-1",
			want: func(p *orchestration.Parameters) {
				p.Targets.Include = []orchestration.RuntimeTarget{{GlobalAccount: "ga-[0-9]{1,3}", Region: "^eu-"}}
				p.Targets.Exclude = []orchestration.RuntimeTarget{{Shoot: "c-1"}}
			},
		},
		"a comma that would cut a pattern": {
			args: "upgrade cluster --target account=ga-1,ga-2",
			says: []string{`"ga-2"`, "double quotes"},
		},
		"a key that is not known": {
			args: "upgrade cluster --target account=ga-1,regoin=eu",
			says: []string{`"regoin"`, "region"},
		},
		"no target at all": {args: "upgrade cluster", says: []string{"--target all"}},
		"an empty target":  {args: "upgrade cluster --target=", says: []string{"empty"}},
		"a pattern that does not compile": {
			args: "upgrade cluster --target account=ga-(",
			says: []string{"account=ga-(", "not a valid pattern"},
		},
		"no workers":       {args: "upgrade cluster --target all --parallel-workers 0", says: []string{"--parallel-workers 0"}},
		"negative workers": {args: "upgrade cluster --target all --parallel-workers=-1", says: []string{"--parallel-workers -1"}},
		"all that a cluster has": {
			args: "upgrade cluster --target all --version 1.34.7 --parallel-workers 20 --machine-image gardenlinux --machine-image-version 1.2.3 --dry-run",
			want: func(p *orchestration.Parameters) {
				p.Version, p.Strategy.Parallel.Workers, p.DryRun = "1.34.7", 20, true
				p.Kubernetes = &orchestration.KubernetesParameters{MachineImage: "gardenlinux", MachineImageVersion: "1.2.3"}
			},
		},
		"a flag of clusters for Kyma": {args: "upgrade kyma --target all --machine-image x", says: []string{"machine-image"}},
		"an argument too many":        {args: "upgrade cluster all", says: []string{`unknown command "all"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			accepted := "status 202\n" + `{"orchestrationID":"o-1"}`
			address, requests := answering(t, map[string]string{"POST/upgrade/cluster": accepted, "POST/upgrade/kyma": accepted})
			args := append(strings.Fields(test.args), "--yes")
			got := run(t, address, args...)
			if test.want == nil {
				require.Equal(t, console.ExitUsage, got.code, got.err)
				for _, text := range test.says {
					require.Contains(t, got.err, text)
				}
				require.Equal(t, []string{""}, requests(), "nothing may be sent")
				return
			}
			require.Equal(t, console.ExitOK, got.code, got.err)
			require.Equal(t, "o-1\n", got.out)
			want := orchestration.Parameters{
				Targets: orchestration.TargetSpec{Include: all},
				Strategy: orchestration.StrategySpec{
					Type: "parallel", Schedule: "immediate", Parallel: orchestration.ParallelStrategySpec{Workers: 1},
				},
			}
			test.want(&want)
			body, err := json.Marshal(want)
			require.NoError(t, err)
			require.Equal(t, []string{"POST /upgrade/" + args[1] + " " + string(body)}, requests())
		})
	}
}

// Values that are not set are a dash, and never a date in the year 1; a waiting operation is shown as waiting.
func TestCase_U1(t *testing.T) {
	t.Parallel()
	operation := `{"operationID":"op-1","runtimeID":"rt-1","globalAccountID":"ga-1","subAccountID":"sa-1","orchestrationID":"o-1",
		"servicePlanID":"","servicePlanName":"","dryRun":false,"shootName":"c-1","maintenanceWindowBegin":"0001-01-01T00:00:00Z",
		"maintenanceWindowEnd":"0001-01-01T00:00:00Z","state":"succeeded","description":""`
	waiting := strings.NewReplacer("op-1", "op-2", "c-1", "c-2", `"succeeded"`, `"pending"`, `"maintenanceWindowBegin":"0001-01-01T00:00:00Z"`,
		`"maintenanceWindowBegin":"2030-01-01T22:00:00Z"`, `"maintenanceWindowEnd":"0001-01-01T00:00:00Z"`, `"maintenanceWindowEnd":"2030-01-02T02:00:00Z"`).
		Replace(operation) + `,"waitReason":"window","waitUntil":"2030-01-01T22:00:00Z"}`
	operation += "}"
	o := `{"orchestrationID":"o-1","type":"upgradeCluster","state":"in progress","description":"","createdAt":"0001-01-01T00:00:00Z",
		"updatedAt":"0001-01-01T00:00:00Z","parameters":{"version":"","targets":{"include":null},"strategy":{"type":"","parallel":{"workers":0}},"kyma":null}}`
	address, _ := answering(t, map[string]string{
		"GET/orchestrations":                     `{"data":[` + o + `],"count":1,"totalCount":1}`,
		"GET/orchestrations.2":                   `{"data":[],"count":0,"totalCount":1}`,
		"GET/orchestrations/o-1":                 o,
		"GET/orchestrations/o-1/operations":      `{"data":[` + operation + "," + waiting + `],"count":2,"totalCount":2}`,
		"GET/orchestrations/o-1/operations.2":    `{"data":[],"count":0,"totalCount":2}`,
		"GET/orchestrations/o-1/operations/op-1": strings.TrimSuffix(operation, "}") + `,"kymaConfig":{},"clusterConfig":{}}`,
	})
	for args, want := range map[string]string{
		"orchestrations":                     "o-1\tupgradeCluster\t-\tin progress\t-\t-\t-\t-\n",
		"orchestrations o-1 operations":      "c-1\tsucceeded\t-\t-\t-\t-\t-\top-1\nc-2\tpending\t-\t2030-01-01T22:00:00Z/2030-01-02T02:00:00Z\twaits for the maintenance window, until 2030-01-01T22:00:00Z\t-\t-\top-2\n",
		"orchestrations o-1":                 "",
		"orchestrations o-1 operations op-1": "",
	} {
		got := run(t, address, strings.Fields(args)...)
		require.Equal(t, console.ExitOK, got.code, got.err)
		require.NotContains(t, got.out, "0001")
		require.NotContains(t, got.out, "years")
		if want != "" {
			require.Equal(t, want, got.out)
		} else {
			require.Contains(t, got.out, "\t-\n")
		}
	}
}
