package gardenlet

import (
	"errors"
	"sync"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/swell-fleet/swell/landscape/internal/faults"
)

var everything = labels.Everything()

// Settings say how the Shoots of one fleet are reconciled.
type Settings struct {
	// ReconcileTime is how long one reconciliation takes on the simulated clock.
	// Single ones take from half to one and a half of it, always the same for
	// the same Shoot and generation. 0 means at once.
	ReconcileTime time.Duration
	// Steps is how many times the progress is reported in between. At least 0.
	Steps int
	// Plan says which reconciliations go wrong.
	Plan faults.Plan
	// Offset is how far the simulated clock is ahead of the real one.
	Offset time.Duration
	// Speed is how many simulated seconds pass in a real one. 0 means 1.
	Speed float64
}

// Validate reports everything that is wrong with the settings.
func (s Settings) Validate() error {
	var problems []error
	if s.ReconcileTime < 0 || s.ReconcileTime > 24*time.Hour {
		problems = append(problems, errors.New("reconcile time: want 0 to 24h"))
	}
	if s.Steps < 0 || s.Steps > 100 {
		problems = append(problems, errors.New("steps: want 0 to 100"))
	}
	if s.Speed < 0 || s.Speed > 1e6 {
		problems = append(problems, errors.New("speed: want more than 0 and at most 1000000"))
	}
	return errors.Join(append(problems, s.Plan.Validate())...)
}

// fleet is what the gardenlet remembers about one namespace.
type fleet struct {
	mu       sync.Mutex
	settings Settings
	// base is the simulated time at the real time started.
	base    time.Time
	started time.Time
	runs    map[string]*run
	// hits counts the reconciliations of a Shoot that the plan has struck.
	hits map[string]int
	// written is the newest resourceVersion that the gardenlet itself made.
	written map[string]int64
	// held are the Shoots that somebody keeps the gardenlet away from.
	held map[string]bool
}

func newFleet(settings Settings) *fleet {
	now := time.Now()
	return &fleet{
		settings: settings, base: now.Add(settings.Offset), started: now,
		runs: map[string]*run{}, hits: map[string]int{}, written: map[string]int64{},
		held: map[string]bool{},
	}
}

func (f *fleet) change(change func(*Settings)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.settings
	now := time.Now()
	f.base = f.base.Add(f.simulated(now.Sub(f.started)))
	f.started = now
	change(&f.settings)
	f.base = f.base.Add(f.settings.Offset - before.Offset)
}

// now returns the simulated time.
func (f *fleet) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nowLocked()
}

func (f *fleet) nowLocked() time.Time {
	return f.base.Add(f.simulated(time.Since(f.started))).UTC()
}

func (f *fleet) speed() float64 {
	if f.settings.Speed == 0 {
		return 1
	}
	return f.settings.Speed
}

func (f *fleet) simulated(real time.Duration) time.Duration {
	return time.Duration(float64(real) * f.speed())
}

// real returns how long a simulated duration takes, and never 0 for one that has
// not passed.
func (f *fleet) real(simulated time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(time.Millisecond, time.Duration(float64(simulated)/f.speed()))
}

func (f *fleet) forget(shoot string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.runs, shoot)
	delete(f.hits, shoot)
	delete(f.written, shoot)
	delete(f.held, shoot)
}

// outdated reports whether the gardenlet itself has written a newer version.
func (f *fleet) outdated(shoot *gardencorev1beta1.Shoot) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return revision(shoot) < f.written[shoot.Name]
}

func (f *fleet) wrote(shoot *gardencorev1beta1.Shoot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written[shoot.Name] = max(f.written[shoot.Name], revision(shoot))
}

func (f *fleet) hold(shoot string, held bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if held {
		f.held[shoot] = true
		delete(f.runs, shoot)
		return
	}
	delete(f.held, shoot)
}

func (f *fleet) isHeld(shoot string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held[shoot]
}
