package orchestration_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// The resolver gives the same answer as a reference that puts each entry to each Shoot, one after the other.
func TestResolveAgreesWithNaiveReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shoots := rapid.SliceOfN(rapid.Custom(drawShoot), 0, 14).Draw(t, "shoots")
		runtimes := rapid.SliceOfN(rapid.Custom(drawRuntime), 0, 12).Draw(t, "runtimes")
		targets := drawTargets(t)

		resolution, err := orchestration.ResolveTargets(targets, shoots, runtimes)
		if fault := naiveFault(targets); fault != "" {
			require.ErrorContains(t, err, fault)
			require.Empty(t, resolution)
			return
		}
		require.NoError(t, err)

		picked, leftOut, unmatched := naiveResolve(targets, shoots, runtimes)
		names := []string{}
		for _, r := range resolution.Runtimes {
			names = append(names, r.ShootName+" "+r.RuntimeID)
		}
		if diff := cmp.Diff(picked, names); diff != "" {
			t.Fatalf("targets (-reference +resolver):\n%s", diff)
		}
		rows := []string{}
		for _, row := range resolution.LeftOut {
			rows = append(rows, row.ShootName+" "+string(row.Reason))
		}
		slices.Sort(rows)
		if diff := cmp.Diff(leftOut, rows); diff != "" {
			t.Fatalf("left out (-reference +resolver):\n%s", diff)
		}
		if diff := cmp.Diff(unmatched, resolution.Unmatched); diff != "" {
			t.Fatalf("unmatched (-reference +resolver):\n%s", diff)
		}
	})
}

var (
	someAccounts = []string{"ga-blue", "ga-green", "ga-blue-2", "", "GA", "ga.blue"}
	someRegions  = []string{"eu-demo-1", "eu-demo-2", "us-demo-1", ""}
	someIDs      = []string{"rt-1", "rt-2", "rt-3", "rt-4", "rt-5", "rt-6", "rt-7", "rt-8"}
	somePlans    = []string{"aws", "trial", "azure"}
	somePatterns = []string{"ga-", "^ga-blue$", "blue|green", "eu-", "eu-demo-[12]", "^$", ".*", "demo-1", "(?i)ga", "[g-h]a.b", "e$", "-", "blue.+", "^eu.*2$", "us|"}
)

func drawShoot(t *rapid.T) *gardencorev1beta1.Shoot {
	name := "c-" + rapid.StringMatching(`[a-f]{2}`).Draw(t, "name")
	shoot := newShoot(name, "", inRegion(rapid.SampledFrom(someRegions).Draw(t, "region")))
	shoot.Annotations = nil
	if rapid.IntRange(0, 9).Draw(t, "annotated") > 0 {
		key := rapid.SampledFrom([]string{
			"kcp.provisioner.kyma-project.io/runtime-id", "infrastructuremanager.kyma-project.io/runtime-id", "other",
		}).Draw(t, "annotation")
		shoot.Annotations = map[string]string{key: rapid.SampledFrom(someIDs).Draw(t, "runtime ID")}
	}
	shoot.Labels = nil
	for _, label := range []string{"account", "subaccount"} {
		if rapid.IntRange(0, 5).Draw(t, "labelled") > 0 {
			metav1.SetMetaDataLabel(&shoot.ObjectMeta, label, rapid.SampledFrom(someAccounts).Draw(t, label))
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "deleting") == 0 {
		beingDeleted(shoot)
	}
	if rapid.IntRange(0, 5).Draw(t, "maintenance") == 0 {
		shoot.Spec.Maintenance = nil
	}
	return shoot
}

func drawRuntime(t *rapid.T) runtime.RuntimeDTO {
	dto := runtime.RuntimeDTO{
		RuntimeID:       rapid.SampledFrom(append([]string{""}, someIDs...)).Draw(t, "runtime ID"),
		ServicePlanName: rapid.SampledFrom(somePlans).Draw(t, "plan"),
	}
	dto.InstanceID = "instance-" + dto.RuntimeID
	if rapid.IntRange(0, 9).Draw(t, "other instance") == 0 {
		dto.InstanceID += "-b"
	}
	draw := func(name string) *runtime.Operation {
		state := rapid.SampledFrom([]string{"succeeded", "succeeded", "failed", "in progress", "pending", "canceled", "retrying"}).Draw(t, name)
		op := operation(name, state, rapid.IntRange(0, 23).Draw(t, name+" hour"))
		return &op
	}
	if rapid.IntRange(0, 9).Draw(t, "provisioned") > 0 {
		dto.Status.Provisioning = draw("provisioning")
	}
	if rapid.IntRange(0, 9).Draw(t, "deprovisioned") == 0 {
		dto.Status.Deprovisioning = draw("deprovisioning")
	}
	lists := map[string]**runtime.OperationsData{
		"suspension": &dto.Status.Suspension, "unsuspension": &dto.Status.Unsuspension,
		"kyma": &dto.Status.UpgradingKyma, "cluster": &dto.Status.UpgradingCluster, "update": &dto.Status.Update,
	}
	for _, name := range []string{"suspension", "unsuspension", "kyma", "cluster", "update"} {
		if rapid.IntRange(0, 3).Draw(t, name+"?") == 0 {
			*lists[name] = operations(*draw(name), *draw(name))
		}
	}
	return dto
}

func drawTargets(t *rapid.T) orchestration.TargetSpec {
	drawEntry := func(t *rapid.T) orchestration.RuntimeTarget {
		maybe := func(name string, values []string) string {
			if rapid.IntRange(0, 3).Draw(t, name+"?") > 0 {
				return ""
			}
			return rapid.SampledFrom(values).Draw(t, name)
		}
		entry := orchestration.RuntimeTarget{
			Target:        maybe("target", []string{"all"}),
			GlobalAccount: maybe("account", somePatterns),
			SubAccount:    maybe("subaccount", somePatterns),
			Region:        maybe("region", somePatterns),
			RuntimeID:     maybe("runtime ID", someIDs),
			PlanName:      maybe("plan", somePlans),
			Shoot:         maybe("shoot", []string{"c-aa", "c-ab", "c-bc"}),
			InstanceID:    maybe("instance", []string{"instance-rt-1", "instance-rt-2"}),
		}
		switch rapid.IntRange(0, 99).Draw(t, "fault") {
		case 0:
			entry.Target = "everything"
		case 1:
			entry.Region = "eu-("
		case 2:
			entry = orchestration.RuntimeTarget{}
		}
		return entry
	}
	// More than 64 entries make the sets longer than a word.
	longest := rapid.SampledFrom([]int{2, 5, 70}).Draw(t, "longest")
	return orchestration.TargetSpec{
		Include: rapid.SliceOfN(rapid.Custom(drawEntry), 0, longest).Draw(t, "include"),
		Exclude: rapid.SliceOfN(rapid.Custom(drawEntry), 0, longest).Draw(t, "exclude"),
	}
}

// naiveFault returns how an error has to name the first fault of targets, empty when there is none.
func naiveFault(targets orchestration.TargetSpec) string {
	if len(targets.Include) == 0 {
		return "targets.include: "
	}
	lists := []struct {
		name    string
		entries []orchestration.RuntimeTarget
	}{{"include", targets.Include}, {"exclude", targets.Exclude}}
	for _, list := range lists {
		for i, entry := range list.entries {
			path := fmt.Sprintf("targets.%s[%d]", list.name, i)
			switch {
			case entry == orchestration.RuntimeTarget{}:
				return path + ": "
			case entry.Target != "" && entry.Target != "all":
				return path + ".target: "
			case entry.Region == "eu-(":
				return path + ".region: "
			}
		}
	}
	return ""
}

// naiveResolve returns "shoot runtimeID" of the targets in order, "shoot reason" of those left out, sorted, and the unmatched entries.
func naiveResolve(targets orchestration.TargetSpec, all []*gardencorev1beta1.Shoot, runtimes []runtime.RuntimeDTO) ([]string, []string, []int) {
	shoots := []*gardencorev1beta1.Shoot{}
	for _, shoot := range all {
		repeated := slices.ContainsFunc(shoots, func(other *gardencorev1beta1.Shoot) bool {
			return other.Name == shoot.Name && naiveID(other) == naiveID(shoot) && naiveID(shoot) != ""
		})
		if !repeated {
			shoots = append(shoots, shoot)
		}
	}
	type row struct {
		entry    int
		name, id string
	}
	rows, leftOut := []row{}, []string{}
	matched := map[int]bool{}
	for _, shoot := range shoots {
		id := naiveID(shoot)
		var known *runtime.RuntimeDTO
		instances := map[string]bool{}
		for i := range runtimes {
			if id == "" || runtimes[i].RuntimeID != id {
				continue
			}
			instances[runtimes[i].InstanceID] = true
			if known == nil || known.InstanceID == runtimes[i].InstanceID {
				known = &runtimes[i]
			}
		}
		sharers := 0
		for _, other := range shoots {
			if naiveID(other) == id {
				sharers++
			}
		}
		entry := -1
		for i, include := range targets.Include {
			if naiveMatch(include, shoot, known, true) {
				matched[i] = true
				if entry < 0 {
					entry = i
				}
			}
		}
		if entry < 0 {
			continue
		}
		excluded := slices.ContainsFunc(targets.Exclude, func(exclude orchestration.RuntimeTarget) bool {
			return naiveMatch(exclude, shoot, known, false)
		})
		reason := ""
		switch {
		case excluded:
			reason = "excluded"
		case id == "":
			reason = "no_runtime_id"
		case sharers > 1 || len(instances) > 1:
			reason = "duplicate_runtime_id"
		case shoot.DeletionTimestamp != nil:
			reason = "shoot_being_deleted"
		case known == nil:
			reason = "unknown_to_lister"
		default:
			reason = naiveReason(known)
		}
		if reason == "" {
			rows = append(rows, row{entry, shoot.Name, id})
		} else {
			leftOut = append(leftOut, shoot.Name+" "+reason)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if a.entry != b.entry {
			return a.entry - b.entry
		}
		return strings.Compare(a.name, b.name)
	})
	picked := []string{}
	for _, r := range rows {
		picked = append(picked, r.name+" "+r.id)
	}
	slices.Sort(leftOut)
	unmatched := []int{}
	for i := range targets.Include {
		if !matched[i] {
			unmatched = append(unmatched, i)
		}
	}
	return picked, leftOut, unmatched
}

func naiveID(shoot *gardencorev1beta1.Shoot) string {
	if id := shoot.Annotations["kcp.provisioner.kyma-project.io/runtime-id"]; id != "" {
		return id
	}
	return shoot.Annotations["infrastructuremanager.kyma-project.io/runtime-id"]
}

func naiveMatch(entry orchestration.RuntimeTarget, shoot *gardencorev1beta1.Shoot, known *runtime.RuntimeDTO, anyPlan bool) bool {
	label := func(pattern, key string) bool {
		value, ok := shoot.Labels[key]
		return pattern == "" || ok && regexp.MustCompile(pattern).MatchString(value)
	}
	region := entry.Region == "" || shoot.Spec.Region != "" && regexp.MustCompile(entry.Region).MatchString(shoot.Spec.Region)
	plan := entry.PlanName == "" || known != nil && known.ServicePlanName == entry.PlanName || known == nil && anyPlan
	return label(entry.GlobalAccount, "account") && label(entry.SubAccount, "subaccount") && region && plan &&
		(entry.RuntimeID == "" || entry.RuntimeID == naiveID(shoot)) &&
		(entry.Shoot == "" || entry.Shoot == shoot.Name) &&
		(entry.InstanceID == "" || known != nil && known.InstanceID == entry.InstanceID)
}

// naiveReason sorts all operations by time and looks at the last ones.
func naiveReason(known *runtime.RuntimeDTO) string {
	type entry struct {
		kind, state string
		at          time.Time
	}
	entries, seen := []entry{}, false
	add := func(kind string, ops ...runtime.Operation) {
		for _, op := range ops {
			seen = true
			if op.State != "pending" && op.State != "canceled" && op.State != "retrying" {
				entries = append(entries, entry{kind, op.State, op.CreatedAt})
			}
		}
	}
	data := func(list *runtime.OperationsData) []runtime.Operation {
		if list == nil {
			return nil
		}
		return list.Data
	}
	if known.Status.Provisioning != nil {
		add("provision", *known.Status.Provisioning)
	}
	if known.Status.Deprovisioning != nil {
		add("deprovision", *known.Status.Deprovisioning)
	}
	add("suspension", data(known.Status.Suspension)...)
	add("unsuspension", data(known.Status.Unsuspension)...)
	add("other", data(known.Status.UpgradingKyma)...)
	add("other", data(known.Status.UpgradingCluster)...)
	add("other", data(known.Status.Update)...)
	if !seen {
		return ""
	}
	if len(entries) == 0 {
		return "not_provisioned"
	}
	blocking := func(e entry) string {
		switch {
		case e.kind == "deprovision":
			return "deprovisioned"
		case e.kind == "suspension":
			return "suspended"
		case e.kind != "other" && e.state != "succeeded":
			return "not_provisioned"
		}
		return ""
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		// At the same time the blocking ones come last; of several blocking ones the first that was listed counts.
		switch {
		case blocking(a) != "" && blocking(b) == "":
			return 1
		case blocking(a) == "" && blocking(b) != "":
			return -1
		}
		return 0
	})
	newest := func(list []entry) entry {
		last := list[len(list)-1]
		for _, e := range list {
			if e.at.Equal(last.at) && (blocking(e) != "") == (blocking(last) != "") {
				return e
			}
		}
		return last
	}
	if reason := blocking(newest(entries)); reason != "" {
		return reason
	}
	lifecycle := slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.kind == "other" })
	if len(lifecycle) == 0 {
		return ""
	}
	last := newest(lifecycle)
	if last.kind == "deprovision" || last.kind == "suspension" && last.state != "failed" {
		return blocking(last)
	}
	return ""
}
