package fleetgen

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apis/utils/timewindow"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

func generate(t *testing.T, options Options) Fleet {
	t.Helper()
	if options.Namespace == "" {
		options.Namespace = "garden-test"
	}
	fleet, err := Generate(options)
	require.NoError(t, err)
	return fleet
}

// line writes what matters about a member on one line.
func line(member Member) string {
	shoot := member.Shoot
	version := shoot.Spec.Kubernetes.Version
	if member.ExpiredVersion != "" {
		version = member.ExpiredVersion
	}
	var marks []string
	if shoot.Spec.Hibernation != nil {
		marks = append(marks, "hibernated")
	}
	if shoot.Spec.Maintenance.ConfineSpecUpdateRollout != nil {
		marks = append(marks, "confined")
	}
	if shoot.Annotations[IgnoreAnnotation] != "" {
		marks = append(marks, "ignored")
	}
	if member.Failed {
		marks = append(marks, "failed")
	}
	plan, state := "-", "-"
	if member.Runtime != nil {
		plan, state = member.Runtime.ServicePlanName, member.Runtime.Status.State
	}
	window := shoot.Spec.Maintenance.TimeWindow
	return strings.Join([]string{
		shoot.Name, shoot.Spec.Provider.Type, shoot.Spec.Region, version, window.Begin + "/" + window.End,
		shoot.Labels[SubaccountLabel], plan, state, strings.Join(marks, ","),
	}, " ")
}

func TestSameSeedGivesTheFleetInTheGoldenFile(t *testing.T) {
	t.Parallel()
	for _, mix := range []Mix{Plain, Varied} {
		t.Run(string(mix), func(t *testing.T) {
			t.Parallel()
			fleet := generate(t, Options{Shoots: 60, Seed: 1, Mix: mix})
			var text strings.Builder
			for _, member := range fleet.Members {
				fmt.Fprintln(&text, line(member))
			}
			path := filepath.Join("testdata", string(mix)+".golden")
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
			}
			golden, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(golden), text.String())
		})
	}
}

func TestSameSeedGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	encode := func(fleet Fleet) string {
		data, err := json.Marshal(fleet)
		require.NoError(t, err)
		return string(data)
	}
	options := Options{Shoots: 80, Seed: 42, Mix: Varied}
	require.Equal(t, encode(generate(t, options)), encode(generate(t, options)))
	other := options
	other.Seed = 43
	require.NotEqual(t, encode(generate(t, options)), encode(generate(t, other)))
}

func TestLargerFleetBeginsWithTheSmallerOne(t *testing.T) {
	t.Parallel()
	small, large := generate(t, Options{Shoots: 30, Seed: 5}), generate(t, Options{Shoots: 90, Seed: 5})
	require.Equal(t, small.Members, large.Members[:30])
}

func TestFleetIsBelievable(t *testing.T) {
	t.Parallel()
	fleet := generate(t, Options{Shoots: 1000, Seed: 9, Mix: Varied})
	name := regexp.MustCompile(`^c-[0-9a-f]{7}$`)
	seen := map[string]map[string]int{}
	count := func(what, value string) {
		if seen[what] == nil {
			seen[what] = map[string]int{}
		}
		seen[what][value]++
	}
	for _, member := range fleet.Members {
		shoot := member.Shoot
		require.Regexp(t, name, shoot.Name)
		window := shoot.Spec.Maintenance.TimeWindow
		parsed, err := timewindow.ParseMaintenanceTimeWindow(window.Begin, window.End)
		require.NoError(t, err)
		require.GreaterOrEqual(t, parsed.Duration(), gardencorev1beta1.MaintenanceTimeWindowDurationMinimum)
		require.LessOrEqual(t, parsed.Duration(), gardencorev1beta1.MaintenanceTimeWindowDurationMaximum)
		count("name", shoot.Name)
		count("account", shoot.Labels[AccountLabel])
		count("subaccount", shoot.Labels[SubaccountLabel])
		count("region", shoot.Spec.Region)
		count("provider", shoot.Spec.Provider.Type)
		count("offset", window.Begin[6:])
		if window.End[:6] < window.Begin[:6] {
			count("overnight", "yes")
		}
		for _, key := range []string{RuntimeIDAnnotation, ManagerRuntimeIDAnnotation, IgnoreAnnotation} {
			if shoot.Annotations[key] != "" {
				count("annotation", key)
			}
		}
		if member.ExpiredVersion != "" {
			count("expired", member.ExpiredVersion)
		}
		if member.Runtime == nil {
			count("orphan", "yes")
			continue
		}
		count("runtime", member.Runtime.RuntimeID)
		count("instance", member.Runtime.InstanceID)
		count("plan", member.Runtime.ServicePlanName)
		count("state", member.Runtime.Status.State)
		require.Equal(t, shoot.Name, member.Runtime.ShootName)
		require.Equal(t, shoot.Labels[AccountLabel], member.Runtime.GlobalAccountID)
		require.Equal(t, shoot.Spec.Region, member.Runtime.ProviderRegion)
	}
	require.Len(t, seen["name"], 1000)
	require.Len(t, seen["provider"], len(providers))
	require.Greater(t, len(seen["account"]), 15)
	require.Greater(t, len(seen["subaccount"]), 40)
	require.Greater(t, len(seen["region"]), 10)
	require.Greater(t, len(seen["plan"]), 5)
	require.Greater(t, seen["overnight"]["yes"], 200)
	require.Len(t, seen["annotation"], 3)
	require.NotEmpty(t, seen["expired"])
	require.NotZero(t, seen["orphan"]["yes"])
	require.Len(t, seen["runtime"], 1000-seen["orphan"]["yes"])
	require.Len(t, seen["instance"], 1000-seen["orphan"]["yes"])
	for _, offset := range []string{"+0530", "+0545", "-0330", "-0800", "+1100"} {
		require.NotZero(t, seen["offset"][offset], offset)
	}
	for _, state := range []string{"succeeded", "error", "deprovisioning", "provisioning"} {
		require.NotZero(t, seen["state"][state], state)
	}
	require.NotEmpty(t, fleet.Others)
}

func TestPlainFleetCanAllGoToTheTarget(t *testing.T) {
	t.Parallel()
	for _, member := range generate(t, Options{Shoots: 500, Seed: 3}).Members {
		version := member.Shoot.Spec.Kubernetes.Version
		if member.ExpiredVersion != "" {
			version = member.ExpiredVersion
		}
		require.Contains(t, []string{"1.33", "1.34"}, version[:4])
		require.NotEqual(t, UpgradeTarget, version)
		require.Nil(t, member.Shoot.Spec.Maintenance.ConfineSpecUpdateRollout)
		require.NotContains(t, member.Shoot.Annotations, IgnoreAnnotation)
		require.False(t, member.Failed)
		require.NotNil(t, member.Runtime)
		require.Contains(t, []string{"succeeded", "error"}, member.Runtime.Status.State)
	}
}

func TestOptionsDecideForAllShoots(t *testing.T) {
	t.Parallel()
	fleet := generate(t, Options{Shoots: 20, KubernetesVersion: "1.32.8", Window: "223000-0330/003000-0330", Confined: true})
	for _, member := range fleet.Members {
		require.Equal(t, "1.32.8", member.ExpiredVersion)
		require.Equal(t, "1.32.13", member.Shoot.Spec.Kubernetes.Version, "created with a version that has not expired")
		require.Equal(t, "223000-0330", member.Shoot.Spec.Maintenance.TimeWindow.Begin)
		require.True(t, *member.Shoot.Spec.Maintenance.ConfineSpecUpdateRollout)
	}
}

func TestValidateNamesEveryProblem(t *testing.T) {
	t.Parallel()
	err := Options{Namespace: "default", Shoots: -1, Mix: "odd", KubernetesVersion: "1.99.0", Window: "now"}.Validate()
	for _, word := range []string{"namespace", "shoots", "mix", "kubernetesVersion", "window"} {
		require.ErrorContains(t, err, word)
	}
	for _, namespace := range []string{"garden-", "garden-elevenchars", "garden-Upper", "garden--x", "garden-x-"} {
		require.Error(t, Options{Namespace: namespace}.Validate(), namespace)
	}
	require.NoError(t, Options{Namespace: "garden-0123456789"}.Validate())
	_, err = Generate(Options{Namespace: "nope"})
	require.Error(t, err)
}

func TestRuntimesPageHoldsAllRuntimes(t *testing.T) {
	t.Parallel()
	fleet := generate(t, Options{Shoots: 200, Seed: 2, Mix: Varied})
	page := fleet.Runtimes()
	require.Equal(t, page.Count, page.TotalCount)
	require.Len(t, page.Data, page.Count)
	orphans := 0
	for _, member := range fleet.Members {
		if member.Runtime == nil {
			orphans++
		}
	}
	require.Equal(t, 200-orphans+len(fleet.Others), page.Count)
	data, err := json.Marshal(generate(t, Options{}).Runtimes())
	require.NoError(t, err)
	require.JSONEq(t, `{"data":[],"count":0,"totalCount":0}`, string(data))
	for _, r := range page.Data {
		require.NotNil(t, r.Status.Provisioning)
		require.False(t, r.Status.ModifiedAt.Before(r.Status.CreatedAt))
	}
}

func TestCloudProfilesKnowAllThatShootsUse(t *testing.T) {
	t.Parallel()
	profiles := map[string]*gardencorev1beta1.CloudProfile{}
	for _, profile := range CloudProfiles() {
		profiles[profile.Name] = profile
		require.Len(t, profile.Spec.Kubernetes.Versions, len(Versions()))
	}
	for _, member := range generate(t, Options{Shoots: 300, Mix: Varied}).Members {
		spec := member.Shoot.Spec
		profile := profiles[spec.CloudProfile.Name]
		require.NotNil(t, profile)
		require.True(t, slices.ContainsFunc(profile.Spec.Regions, func(r gardencorev1beta1.Region) bool { return r.Name == spec.Region }))
		for _, worker := range spec.Provider.Workers {
			require.True(t, slices.ContainsFunc(profile.Spec.MachineTypes, func(m gardencorev1beta1.MachineType) bool { return m.Name == worker.Machine.Type }))
		}
	}
}
