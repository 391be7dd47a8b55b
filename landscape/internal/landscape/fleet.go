package landscape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/swell-fleet/swell/landscape/internal/door"
	"github.com/swell-fleet/swell/landscape/internal/faults"
	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
	"github.com/swell-fleet/swell/landscape/internal/gardenlet"
)

// The kinds of error that callers tell apart.
var (
	// ErrInvalid says that the caller asked for something impossible.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound says that there is no such fleet, Shoot or issuer.
	ErrNotFound = errors.New("not found")
	// ErrExists says that the fleet or issuer exists already.
	ErrExists = errors.New("exists already")

	errClosed = errors.New("the landscape is being closed")
)

// Fleet is a namespace with its Shoots, its door, and its faults.
type Fleet struct {
	// Namespace of the project.
	Namespace string
	// Folder holds kubeconfig and runtimes.json.
	Folder string

	// ownFolder says that the folder was made for the fleet alone.
	ownFolder bool
	token     string

	// The landscape's lock guards what follows. A fleet is ready from when it has
	// been made until it is being removed.
	ready bool
	door  *door.Door
	plane *controlPlane

	mu        sync.Mutex
	options   fleetgen.Options
	generated fleetgen.Fleet
}

// Generated returns the fleet as it was laid down.
func (f *Fleet) Generated() fleetgen.Fleet {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.generated
}

// Address returns host and port of the fleet's door.
func (f *Fleet) Address() string { return f.door.Address() }

// Hits returns how many requests each rule of the fault plan has hit.
func (f *Fleet) Hits() []int64 { return f.door.Hits() }

// FleetOptions say what fleet to make and how it behaves.
type FleetOptions struct {
	// Generate describes the Shoots.
	Generate fleetgen.Options
	// Settings say how they are reconciled, fault plan included.
	Settings gardenlet.Settings
	// Listen is the loopback address of the fleet's door. Empty: a free port.
	Listen string
	// ListenProvisioner is the loopback address of the fleet's Provisioner. Empty:
	// a free port.
	ListenProvisioner string
	// Kymas says that every runtime has a Kyma.
	Kymas bool
	// Folder is where kubeconfig and runtimes.json go. Empty: a folder named
	// like the namespace below fleets in the landscape's folder.
	Folder string
}

func fleetUser(namespace string) string { return "landscape:fleet:" + namespace }

// CreateFleet makes a project with its Shoots and opens its door.
func (l *Landscape) CreateFleet(ctx context.Context, options FleetOptions) (*Fleet, error) {
	namespace := options.Generate.Namespace
	generated, err := fleetgen.Generate(options.Generate)
	if err := errors.Join(err, options.Settings.Validate()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	l.mu.Lock()
	if _, taken := l.fleets[namespace]; taken {
		l.mu.Unlock()
		return nil, fmt.Errorf("fleet %s: %w", namespace, ErrExists)
	}
	fleet := &Fleet{Namespace: namespace, Folder: options.Folder, generated: generated, options: options.Generate}
	l.fleets[namespace] = fleet // Reserved while it is being made.
	l.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.run, cancel)()
	if err := l.makeFleet(ctx, fleet, options); err != nil {
		return nil, errors.Join(fmt.Errorf("make fleet %s: %w", namespace, err), l.unmake(ctx, fleet))
	}
	return fleet, nil
}

func (l *Landscape) makeFleet(ctx context.Context, fleet *Fleet, options FleetOptions) (err error) {
	if fleet.Folder == "" {
		fleet.Folder, fleet.ownFolder = filepath.Join(l.dir, "fleets", fleet.Namespace), true
	}
	if err := os.MkdirAll(fleet.Folder, 0o700); err != nil {
		return err
	}
	if err := l.seedProject(ctx, fleet.generated); err != nil {
		return err
	}
	if err := l.layDown(ctx, fleet.generated, options.Settings.Plan); err != nil {
		return err
	}
	listen := options.Listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	opened, err := door.Open(listen, l.server.Handler(), l.server.TLSConfig())
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, opened.Close())
		}
	}()
	if err := opened.SetPlan(options.Settings.Plan); err != nil {
		return err
	}
	fleet.token = newToken()
	l.gardenlet.Adopt(fleet.Namespace, options.Settings)
	plane, err := l.openControlPlane(ctx, fleet, options)
	if err != nil {
		return err
	}
	user := fleetUser(fleet.Namespace)
	l.identities.AddFleet(fleet.token, user, fleet.Namespace)
	err = errors.Join(
		l.writeKubeconfig(filepath.Join(fleet.Folder, KubeconfigFile), opened.Address(), user, fleet.token, fleet.Namespace),
		writeRuntimes(fleet.Folder, fleet.generated),
	)
	if err == nil {
		err = l.show(fleet, opened, plane)
	}
	if err != nil {
		return errors.Join(err, plane.close())
	}
	return nil
}

// show lets everybody see a fleet that has been made. From then on it is closed
// with the landscape.
func (l *Landscape) show(fleet *Fleet, opened *door.Door, plane *controlPlane) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	fleet.door, fleet.plane, fleet.ready = opened, plane, true
	return nil
}

func writeRuntimes(folder string, fleet fleetgen.Fleet) error {
	document, err := json.MarshalIndent(fleet.Runtimes(), "", "  ")
	if err != nil {
		return fmt.Errorf("encode runtimes: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, RuntimesFile), append(document, '\n'), 0o600); err != nil {
		return fmt.Errorf("write runtimes: %w", err)
	}
	return nil
}

// Fleet returns the fleet of a namespace.
func (l *Landscape) Fleet(namespace string) (*Fleet, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fleet, ok := l.fleets[namespace]
	if !ok || !fleet.ready {
		return nil, fmt.Errorf("fleet %q: %w", namespace, ErrNotFound)
	}
	return fleet, nil
}

// Fleets returns all fleets by name.
func (l *Landscape) Fleets() []*Fleet {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*Fleet, 0, len(l.fleets))
	for _, fleet := range l.fleets {
		if fleet.ready {
			list = append(list, fleet)
		}
	}
	slices.SortFunc(list, func(a, b *Fleet) int { return strings.Compare(a.Namespace, b.Namespace) })
	return list
}

// ResetFleet puts every Shoot back to what it was in the beginning, forgets
// what the audit log held about them, and clears the fault plan.
func (l *Landscape) ResetFleet(ctx context.Context, namespace string) error {
	fleet, err := l.Fleet(namespace)
	if err != nil {
		return err
	}
	if err := l.SetFaults(namespace, faults.Plan{}); err != nil {
		return err
	}
	settings, _ := l.gardenlet.Settings(namespace)
	l.gardenlet.Abandon(namespace)
	if err := l.store.DeleteAll(ctx, namespace); err != nil {
		return err
	}
	if err := l.waitForShoots(ctx, namespace, 0); err != nil {
		return err
	}
	if err := l.layDown(ctx, fleet.Generated(), faults.Plan{}); err != nil {
		return err
	}
	l.gardenlet.Adopt(namespace, settings)
	if err := l.resetControlPlane(ctx, fleet); err != nil {
		return err
	}
	if err := l.Sync(ctx); err != nil {
		return err
	}
	l.audit.Reset(namespace)
	return nil
}

// GrowFleet adds Shoots until there are as many as asked for.
func (l *Landscape) GrowFleet(ctx context.Context, namespace string, shoots int) error {
	fleet, err := l.Fleet(namespace)
	if err != nil {
		return err
	}
	fleet.mu.Lock()
	defer fleet.mu.Unlock()
	options := fleet.options
	have := len(fleet.generated.Members)
	if shoots < have {
		return fmt.Errorf("%w: the fleet has %d Shoots already", ErrInvalid, have)
	}
	options.Shoots = shoots
	grown, err := fleetgen.Generate(options)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	settings, _ := l.gardenlet.Settings(namespace)
	added := grown
	added.Members = grown.Members[have:]
	if err := l.layDown(ctx, added, settings.Plan); err != nil {
		return err
	}
	if err := l.growControlPlane(ctx, fleet, added); err != nil {
		return err
	}
	fleet.generated, fleet.options = grown, options
	return writeRuntimes(fleet.Folder, grown)
}

// SetFaults puts a fault plan in force.
func (l *Landscape) SetFaults(namespace string, plan faults.Plan) error {
	fleet, err := l.Fleet(namespace)
	if err != nil {
		return err
	}
	if err := plan.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	l.gardenlet.Change(namespace, func(s *gardenlet.Settings) { s.Plan = plan })
	return errors.Join(fleet.door.SetPlan(plan), l.planChanged(fleet, plan))
}

// waitForShoots waits until the simulator's own cache shows as many Shoots in
// the namespace.
func (l *Landscape) waitForShoots(ctx context.Context, namespace string, count int) error {
	const pause = 5 * time.Millisecond
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		if l.countShoots(namespace) == count {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d Shoots in %s: %w", count, namespace, ctx.Err())
		}
	}
}
