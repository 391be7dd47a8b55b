package fleetgen

import (
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UpgradeTarget is the version that every Shoot of a plain fleet can be
// upgraded to in one step.
const UpgradeTarget = "1.34.7"

// version is one Kubernetes version as the CloudProfiles have it.
type version struct {
	name           string
	classification gardencorev1beta1.VersionClassification
	expired        bool
	// plain and varied are the weights with which a Shoot of such a fleet runs
	// the version.
	plain, varied int
}

// versions holds all that the CloudProfiles know, newest first. Their minors are
// those that Gardener 1.150 supports.
var versions = []version{
	{name: "1.36.1", classification: gardencorev1beta1.ClassificationPreview},
	{name: "1.36.0", classification: gardencorev1beta1.ClassificationSupported},
	{name: "1.35.4", classification: gardencorev1beta1.ClassificationSupported, varied: 5},
	{name: "1.35.2", classification: gardencorev1beta1.ClassificationDeprecated, varied: 3},
	{name: "1.34.7", classification: gardencorev1beta1.ClassificationSupported, varied: 6},
	{name: "1.34.5", classification: gardencorev1beta1.ClassificationDeprecated, plain: 20, varied: 15},
	{name: "1.34.3", classification: gardencorev1beta1.ClassificationDeprecated, plain: 30, varied: 20},
	{name: "1.34.1", classification: gardencorev1beta1.ClassificationDeprecated, expired: true, plain: 4, varied: 5},
	{name: "1.33.11", classification: gardencorev1beta1.ClassificationSupported, plain: 16, varied: 15},
	{name: "1.33.9", classification: gardencorev1beta1.ClassificationDeprecated, plain: 20, varied: 15},
	{name: "1.33.4", classification: gardencorev1beta1.ClassificationDeprecated, expired: true, plain: 10, varied: 6},
	{name: "1.32.13", classification: gardencorev1beta1.ClassificationDeprecated, varied: 8},
	{name: "1.32.8", classification: gardencorev1beta1.ClassificationDeprecated, expired: true, varied: 4},
}

var (
	// past and future are the two expiration dates in use. They are far from
	// today, so that a fleet does not change from one day to the next.
	past   = metav1.NewTime(time.Date(2024, time.June, 30, 0, 0, 0, 0, time.UTC))
	future = metav1.NewTime(time.Date(2099, time.December, 31, 0, 0, 0, 0, time.UTC))
)

// Versions returns the names of all versions that the CloudProfiles know, newest
// first.
func Versions() []string {
	names := make([]string, 0, len(versions))
	for _, v := range versions {
		names = append(names, v.name)
	}
	return names
}

func knownVersion(name string) bool {
	_, ok := findVersion(name)
	return ok
}

func findVersion(name string) (version, bool) {
	for _, v := range versions {
		if v.name == name {
			return v, true
		}
	}
	return version{}, false
}

// creatable returns a version of the same minor that a Shoot can be created
// with today.
func creatable(name string) string {
	const minorLength = len("1.34.")
	for _, v := range versions {
		if !v.expired && v.name[:minorLength] == name[:minorLength] {
			return v.name
		}
	}
	return UpgradeTarget
}

func expirable() []gardencorev1beta1.ExpirableVersion {
	list := make([]gardencorev1beta1.ExpirableVersion, 0, len(versions))
	for _, v := range versions {
		classification := v.classification
		entry := gardencorev1beta1.ExpirableVersion{Version: v.name, Classification: &classification}
		switch {
		case v.expired:
			entry.ExpirationDate = past.DeepCopy()
		case classification == gardencorev1beta1.ClassificationDeprecated:
			entry.ExpirationDate = future.DeepCopy()
		}
		list = append(list, entry)
	}
	return list
}
