package gardener

import (
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

func TestVersions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		has, wants string
		image      bool
		// version is what is chosen; says is the refusal when there is none.
		version, says string
	}{
		"a patch up":                          {has: "1.33.4", wants: "1.33.11", version: "1.33.11"},
		"a minor up":                          {has: "1.33.4", wants: "1.34.7", version: "1.34.7"},
		"a version that expires later":        {has: "1.33.4", wants: "1.34.2", version: "1.34.2"},
		"a preview that is named":             {has: "1.34.7", wants: "1.35.1", version: "1.35.1"},
		"without a classification":            {has: "1.33.4", wants: "1.33.10", version: "1.33.10"},
		"unknown":                             {has: "1.33.4", wants: "1.34.8", says: "1.34.8 is not in the cloud profile"},
		"expired":                             {has: "1.33.4", wants: "1.34.1", says: "1.34.1 has expired in the cloud profile"},
		"not yet available":                   {has: "1.34.7", wants: "1.34.9", says: "1.34.9 is not yet available in the cloud profile"},
		"two minors up":                       {has: "1.33.4", wants: "1.35.0", says: "1.35.0 is more than one minor version above 1.33.4, which the Shoot has"},
		"a major up":                          {has: "1.33.4", wants: "2.0.0", says: "more than one minor version above"},
		"a patch down":                        {has: "1.33.11", wants: "1.33.4", says: "1.33.4 would be a downgrade: the Shoot has Kubernetes 1.33.11 already"},
		"a minor down":                        {has: "1.34.7", wants: "1.33.11", says: "1.33.11 would be a downgrade: the Shoot has Kubernetes 1.34.7 already"},
		"ten is more than nine":               {has: "1.33.10", wants: "1.33.9", says: "would be a downgrade"},
		"the same, expired, and an image":     {has: "1.33.4", wants: "1.33.4", image: true, version: "1.33.4"},
		"not a version":                       {has: "1.33.4", wants: "latest", says: `"latest" is not a full Kubernetes version`},
		"the Shoot's is not a version":        {has: "1.33", wants: "1.34.7", says: `the Shoot has the version "1.33", which cannot be compared`},
		"newest of the minor":                 {has: "1.33.4", version: "1.33.11"},
		"newest of the minor, preview no":     {has: "1.35.0", version: "1.35.0"},
		"newest of the minor, unsupported no": {has: "1.34.2", version: "1.34.7"},
		"nothing newer":                       {has: "1.33.11", version: "1.33.11"},
		"newer than all":                      {has: "1.33.99", version: "1.33.99"},
		"a minor without versions":            {has: "1.31.1", version: "1.31.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := newTask(test.wants)
			if test.image {
				imageTo("gardenlinux", "1592.2.0")(&task)
			}
			e, _ := newExecutor(t, newShoot(kubernetes(test.has)), newProfile())
			got, err := e.Observe(t.Context(), task)
			require.NoError(t, err)
			if test.says != "" {
				require.Equal(t, fleet.Refused, got.Outcome)
				require.Contains(t, got.Reason, test.says)
				return
			}
			require.Equal(t, test.version, got.Version, "%+v", got)
			want := fleet.NeedsStart
			if test.version == test.has && !test.image {
				want = fleet.Done
			}
			require.Equal(t, want, got.Outcome)
		})
	}
}

// What was chosen once stays, whatever the profile offers later; and nothing of the profile is needed any more once it is written.
func TestChosenVersionStays(t *testing.T) {
	t.Parallel()
	e, client := newExecutor(t, newShoot())
	task := newTask("", func(t *fleet.Task) { t.Version = "1.33.11" })
	got, err := e.Observe(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, fleet.Refused, got.Outcome)
	require.Contains(t, got.Reason, "the cloud profile of the Shoot does not exist: aws")

	_, err = client.CoreV1beta1().CloudProfiles().Create(t.Context(), newProfile(), metav1.CreateOptions{})
	require.NoError(t, err)
	got, err = e.Observe(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, fleet.NeedsStart, got.Outcome)
	require.Equal(t, "1.33.11", got.Version)

	e, _ = newExecutor(t, newShoot(kubernetes("1.33.11"), generations(8, 8)))
	got, err = e.Observe(t.Context(), task)
	require.NoError(t, err)
	require.Equal(t, fleet.Done, got.Outcome, "%+v", got)
}

// A Shoot names its profile in one of three ways.
func TestProfileOfAShoot(t *testing.T) {
	t.Parallel()
	own := profileVersions()
	own.Kubernetes.Versions = append(own.Kubernetes.Versions, gardencorev1beta1.ExpirableVersion{Version: "1.33.20"})
	namespaced := &gardencorev1beta1.NamespacedCloudProfile{
		ObjectMeta: metav1.ObjectMeta{Name: "own", Namespace: testNamespace}, Status: gardencorev1beta1.NamespacedCloudProfileStatus{CloudProfileSpec: own},
	}
	other := namespaced.DeepCopy()
	other.Namespace = "garden-other"
	other.Status.CloudProfileSpec.Kubernetes.Versions = nil
	for name, test := range map[string]struct {
		change func(*gardencorev1beta1.Shoot)
		want   string
	}{
		"by reference": {func(*gardencorev1beta1.Shoot) {}, "1.33.11"},
		"by reference without a kind": {func(s *gardencorev1beta1.Shoot) {
			s.Spec.CloudProfile = &gardencorev1beta1.CloudProfileReference{Name: "aws"}
		}, "1.33.11"},
		"by name": {func(s *gardencorev1beta1.Shoot) { s.Spec.CloudProfile, s.Spec.CloudProfileName = nil, ptr("aws") }, "1.33.11"},
		"of the namespace": {func(s *gardencorev1beta1.Shoot) {
			s.Spec.CloudProfile = &gardencorev1beta1.CloudProfileReference{Kind: "NamespacedCloudProfile", Name: "own"}
		}, "1.33.20"},
		"missing": {func(s *gardencorev1beta1.Shoot) { s.Spec.CloudProfile.Name = "none" }, ""},
		"unnamed": {func(s *gardencorev1beta1.Shoot) { s.Spec.CloudProfile = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, _ := newExecutor(t, newShoot(test.change), newProfile(), namespaced, other)
			got, err := e.Observe(t.Context(), newTask(""))
			require.NoError(t, err)
			require.Equal(t, test.want, got.Version, "%+v", got)
			require.Equal(t, test.want == "", got.Outcome == fleet.Refused)
		})
	}
}

// A profile is read once for many operations, and again when it has got old by the clock of the tasks, whichever way that moved.
func TestProfilesAreKept(t *testing.T) {
	t.Parallel()
	e, client := newExecutor(t, newShoot(), newProfile())
	reads := func() (n int) {
		for _, action := range client.Actions() {
			if action.GetResource().Resource == "cloudprofiles" {
				n++
			}
		}
		return n
	}
	look := func(at time.Time) {
		_, err := e.Observe(t.Context(), newTask("1.34.7", func(t *fleet.Task) { t.Now = at }))
		require.NoError(t, err)
	}
	look(now)
	look(now.Add(29 * time.Second))
	require.Equal(t, 1, reads())
	look(now.Add(30 * time.Second))
	require.Equal(t, 2, reads())
	look(now.Add(-time.Hour))
	require.Equal(t, 3, reads())
}

// A profile that cannot be read now fails the step and not the operation.
func TestUnreadableProfile(t *testing.T) {
	t.Parallel()
	for name, fault := range apiFaults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, client := newExecutor(t, newShoot(), newProfile())
			client.PrependReactor("get", "cloudprofiles", func(clienttesting.Action) (bool, runtimeObject, error) { return true, nil, fault })
			_, err := e.Observe(t.Context(), newTask("1.34.7"))
			require.ErrorContains(t, err, "read the cloud profile")
			_, err = e.Start(t.Context(), newTask("1.34.7"), pass)
			require.ErrorContains(t, err, "read the cloud profile")
		})
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	e, _ := newExecutor(t)
	for _, good := range []string{"", "1.33.4", "1.34.0"} {
		require.NoError(t, e.Validate(t.Context(), orchestration.Parameters{Version: good}))
	}
	for _, bad := range []string{"1.33", "v1.33.4", "1", "latest", " 1.33.4", "1.33.4 ", "1.33.x", "1.33.4\n", "-1.33.4"} {
		err := e.Validate(t.Context(), orchestration.Parameters{Version: bad})
		require.ErrorIs(t, err, fleet.ErrInvalid, "%q", bad)
		require.ErrorContains(t, err, "version")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Namespace: testNamespace})
	require.ErrorContains(t, err, "no client")
	_, client := newExecutor(t)
	_, err = New(Options{Client: client.CoreV1beta1()})
	require.ErrorContains(t, err, "no namespace")
}
