// Package fleetgen invents believable fleets for the landscape simulator:
// accounts, regions, plans, providers, Kubernetes versions and maintenance
// windows. It is pure: the same options give the same fleet, byte for byte, on
// every machine and on every day.
package fleetgen

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
)

// Mix names what kinds of Shoots a fleet has.
type Mix string

const (
	// Plain fleets hold only Shoots that can be upgraded to UpgradeTarget right
	// away, in one step.
	Plain Mix = "plain"
	// Varied fleets also hold Shoots that cannot, or not now: rollouts confined
	// to the maintenance window, ignored ones, failed ones, ones without a
	// runtime ID, versions up to two minors below and one above UpgradeTarget,
	// and runtimes that are suspended, being removed, or gone.
	Varied Mix = "varied"
)

const (
	// NamespacePrefix begins the name of every project's namespace, as Gardener
	// has it.
	NamespacePrefix = "garden-"
	// MaxProjectLength is the length that Gardener allows a project's name.
	MaxProjectLength = 10
	// MaxShoots bounds a fleet; names would begin to collide too often above.
	MaxShoots = 100_000
)

// epoch is the moment that a fleet's past is counted back from. It is fixed so
// that a seed gives the same fleet on every day.
var epoch = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)

// Options describes the fleet to invent.
type Options struct {
	// Namespace is the project's namespace: garden- and up to 10 lower-case
	// letters, digits or dashes. Required.
	Namespace string `json:"namespace"`
	// Shoots is how many there are, from 0 to MaxShoots.
	Shoots int `json:"shoots"`
	// Seed chooses the fleet. 0 is as good as any other.
	Seed uint64 `json:"seed"`
	// Mix is Plain unless set.
	Mix Mix `json:"mix,omitempty"`
	// KubernetesVersion, if set, is the version of every Shoot. It must be one
	// of those that the CloudProfiles know.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// Window, if set, is the maintenance window of every Shoot as
	// "HHMMSS±HHMM-HHMMSS±HHMM" with the two times separated by a slash.
	Window string `json:"window,omitempty"`
	// Confined makes every Shoot confine the rollout of changes to its window.
	Confined bool `json:"confined,omitempty"`
}

var projectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// Validate reports everything that is wrong with the options.
func (o Options) Validate() error {
	var problems []error
	project, ok := strings.CutPrefix(o.Namespace, NamespacePrefix)
	if !ok || len(project) > MaxProjectLength || !projectName.MatchString(project) {
		problems = append(problems, fmt.Errorf("namespace %q: want %s and a name of 1 to %d lower-case letters, digits or dashes",
			o.Namespace, NamespacePrefix, MaxProjectLength))
	}
	if o.Shoots < 0 || o.Shoots > MaxShoots {
		problems = append(problems, fmt.Errorf("shoots %d: want 0 to %d", o.Shoots, MaxShoots))
	}
	switch o.Mix {
	case "", Plain, Varied:
	default:
		problems = append(problems, fmt.Errorf("mix %q: want %s or %s", o.Mix, Plain, Varied))
	}
	if o.KubernetesVersion != "" && !knownVersion(o.KubernetesVersion) {
		problems = append(problems, fmt.Errorf("kubernetesVersion %q: not in the CloudProfiles", o.KubernetesVersion))
	}
	if o.Window != "" {
		if _, err := parseWindow(o.Window); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// Member is one runtime with its Shoot.
type Member struct {
	// Shoot is the Shoot as a client would create it, with its version replaced
	// by InitialVersion only after admission when that version has expired.
	Shoot *gardencorev1beta1.Shoot
	// Created is when the Shoot came into being.
	Created time.Time
	// ExpiredVersion, if set, is the version that the Shoot still runs although
	// nobody could create it with that version today.
	ExpiredVersion string
	// Failed says that the last operation of the Shoot has failed.
	Failed bool
	// Runtime is the broker's view of it. It is nil for a Shoot that no broker
	// knows.
	Runtime *Runtime
}

// Fleet is an invented fleet.
type Fleet struct {
	Namespace string
	Members   []Member
	// Others are runtimes without a Shoot: suspended or gone.
	Others []Runtime
}

// Project returns the name of the project that the namespace belongs to.
func (f Fleet) Project() string { return strings.TrimPrefix(f.Namespace, NamespacePrefix) }

// Generate invents the fleet that the options describe.
func Generate(options Options) (Fleet, error) {
	if err := options.Validate(); err != nil {
		return Fleet{}, err
	}
	if options.Mix == "" {
		options.Mix = Plain
	}
	fleet := Fleet{Namespace: options.Namespace, Members: make([]Member, 0, options.Shoots)}
	names := nameSet{}
	for index := range options.Shoots {
		// Each Shoot draws from a source of its own, so that a larger fleet of
		// the same seed begins with the same Shoots.
		draw := rand.New(rand.NewPCG(options.Seed, uint64(index)))
		fleet.Members = append(fleet.Members, newMember(draw, options, names))
	}
	if options.Mix == Varied {
		fleet.Others = others(options, names)
	}
	return fleet, nil
}
