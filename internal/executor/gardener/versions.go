package gardener

import (
	"fmt"
	"slices"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/orchestration"
)

// change is what is wanted of a Shoot.
type change struct {
	// Version is the Kubernetes version.
	Version string
	// MachineImage is the image of every worker pool; empty fields leave that part alone.
	MachineImage image
}

type image struct{ name, version string }

func (i image) isZero() bool { return i == image{} }

// machineImage returns the image that the parameters ask for.
func machineImage(p orchestration.Parameters) image {
	if p.Kubernetes == nil {
		return image{}
	}
	return image{name: p.Kubernetes.MachineImage, version: p.Kubernetes.MachineImageVersion}
}

// in reports whether the Shoot's specification already has what is wanted.
func (c change) in(shoot *gardencorev1beta1.Shoot) bool {
	if shoot.Spec.Kubernetes.Version != c.Version {
		return false
	}
	if c.MachineImage.isZero() {
		return true
	}
	for i := range shoot.Spec.Provider.Workers {
		if !c.MachineImage.of(shoot.Spec.Provider.Workers[i].Machine.Image) {
			return false
		}
	}
	return true
}

// of reports whether a pool's image is this one, as far as it is named.
func (i image) of(have *gardencorev1beta1.ShootMachineImage) bool {
	if have == nil {
		return i.isZero()
	}
	if i.name != "" && have.Name != i.name {
		return false
	}
	return i.version == "" || have.Version != nil && *have.Version == i.version
}

// wordsOf says what a Shoot has for people, as far as a change could be about it.
func wordsOf(shoot *gardencorev1beta1.Shoot) string {
	s := "Kubernetes " + oneLine(shoot.Spec.Kubernetes.Version)
	var images []string
	for i := range shoot.Spec.Provider.Workers {
		if have := shoot.Spec.Provider.Workers[i].Machine.Image; have != nil {
			text := have.Name
			if have.Version != nil {
				text += " " + *have.Version
			}
			if !slices.Contains(images, text) {
				images = append(images, text)
			}
		}
	}
	if len(images) > 0 {
		s += " with machine images " + oneLine(strings.Join(images, ", "))
	}
	return s
}

// words says what is wanted for people.
func (c change) words() string {
	s := "Kubernetes " + c.Version
	if !c.MachineImage.isZero() {
		s += " and machine image " + strings.TrimSpace(c.MachineImage.name+" "+c.MachineImage.version)
	}
	return s
}

// parseVersion reads a full version; a version without a patch or with a leading "v" is not one.
func parseVersion(text string) (*version.Version, error) {
	v, err := version.ParseSemantic(text)
	if err != nil {
		return nil, fmt.Errorf("read the version: %w", err)
	}
	if strings.HasPrefix(text, "v") || strings.TrimSpace(text) != text {
		return nil, fmt.Errorf("read the version: %q has a prefix or spaces", text)
	}
	return v, nil
}

// wanted returns what is known of the wanted change before a Shoot is looked at. What an earlier step chose stays: a profile that changes on the
// way does not move the target.
func wanted(t fleet.Task) change {
	want := change{Version: t.Version, MachineImage: machineImage(t.Parameters)}
	if want.Version == "" {
		want.Version = t.Parameters.Version
	}
	return want
}

// choose decides on the version for a Shoot by its cloud profile, or says why there is none.
func choose(want change, shoot *gardencorev1beta1.Shoot, profile *gardencorev1beta1.CloudProfileSpec, now time.Time) (change, string) {
	current, err := parseVersion(shoot.Spec.Kubernetes.Version)
	if err != nil {
		return change{}, fmt.Sprintf("the Shoot has the version %q, which cannot be compared", oneLine(shoot.Spec.Kubernetes.Version))
	}
	// Whoever asks for a machine image and names no version wants the machines changed and not the version.
	if want.Version == "" && want.MachineImage.isZero() {
		want.Version = newestPatch(current, profile, now)
	}
	if want.Version == "" {
		want.Version = shoot.Spec.Kubernetes.Version
	}
	if want.in(shoot) {
		return want, ""
	}
	if reason := refusal(current, want, profile, now); reason != "" {
		return change{}, reason
	}
	return want, ""
}

// refusal says why a Shoot may not go from one version to the other; empty when it may.
func refusal(current *version.Version, want change, profile *gardencorev1beta1.CloudProfileSpec, now time.Time) string {
	next, err := parseVersion(want.Version)
	if err != nil {
		return fmt.Sprintf("%q is not a full Kubernetes version", want.Version)
	}
	switch {
	case next.LessThan(current):
		return fmt.Sprintf("%s would be a downgrade: the Shoot has Kubernetes %s already", next, current)
	case next.Major() != current.Major() || next.Minor() > current.Minor()+1:
		return fmt.Sprintf("%s is more than one minor version above %s, which the Shoot has", next, current)
	case next.EqualTo(current):
		return ""
	}
	for _, offered := range profile.Kubernetes.Versions {
		if offered.Version != want.Version {
			continue
		}
		switch classOf(offered, now) {
		case gardencorev1beta1.ClassificationExpired:
			return fmt.Sprintf("%s has expired in the cloud profile", want.Version)
		case gardencorev1beta1.ClassificationUnavailable:
			return fmt.Sprintf("%s is not yet available in the cloud profile", want.Version)
		case gardencorev1beta1.ClassificationPreview, gardencorev1beta1.ClassificationSupported, gardencorev1beta1.ClassificationDeprecated:
		}
		return ""
	}
	return fmt.Sprintf("%s is not in the cloud profile", want.Version)
}

// newestPatch returns the newest supported version of the minor that the Shoot has, or empty when there is none that is newer.
func newestPatch(current *version.Version, profile *gardencorev1beta1.CloudProfileSpec, now time.Time) string {
	best, name := current, ""
	for _, offered := range profile.Kubernetes.Versions {
		v, err := parseVersion(offered.Version)
		if err != nil || v.Major() != current.Major() || v.Minor() != current.Minor() || !best.LessThan(v) {
			continue
		}
		if classOf(offered, now) == gardencorev1beta1.ClassificationSupported {
			best, name = v, offered.Version
		}
	}
	return name
}

// classOf returns what a version counts as now. A version without any classification is supported, as Gardener has it.
func classOf(v gardencorev1beta1.ExpirableVersion, now time.Time) gardencorev1beta1.VersionClassification {
	if len(v.Lifecycle) == 0 {
		if v.ExpirationDate != nil && !now.Before(v.ExpirationDate.Time) {
			return gardencorev1beta1.ClassificationExpired
		}
		if v.Classification != nil {
			return *v.Classification
		}
		return gardencorev1beta1.ClassificationSupported
	}
	class := gardencorev1beta1.ClassificationUnavailable
	for _, stage := range v.Lifecycle {
		if stage.StartTime == nil || !now.Before(stage.StartTime.Time) {
			class = stage.Classification
		}
	}
	return class
}
