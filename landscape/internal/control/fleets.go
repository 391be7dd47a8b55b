package control

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"github.com/swell-fleet/swell/landscape/internal/faults"
	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
	"github.com/swell-fleet/swell/landscape/internal/gardenlet"
	"github.com/swell-fleet/swell/landscape/internal/landscape"
)

// The speed at which Shoots are reconciled unless something else is asked for.
const (
	DefaultReconcileTime = 4 * time.Second
	DefaultSteps         = 3
)

// FleetRequest asks for a fleet.
type FleetRequest struct {
	fleetgen.Options
	// ReconcileTime and Steps are DefaultReconcileTime and DefaultSteps unless set.
	ReconcileTime *faults.Duration `json:"reconcileTime"`
	Steps         *int             `json:"steps"`
	Clock
	// Kymas says that every runtime has a Kyma.
	Kymas bool `json:"kymas"`
	// Faults is the plan that is in force from the start.
	Faults faults.Plan `json:"faults"`
}

// Clock is the simulated clock of a fleet, by which Shoots are reconciled and
// maintenance windows open.
type Clock struct {
	// Offset is how far it is ahead of the real one.
	Offset *faults.Duration `json:"offset,omitempty"`
	// Speed is how many of its seconds pass in a real one.
	Speed *float64 `json:"speed,omitempty"`
}

func (c Clock) apply(settings *gardenlet.Settings) {
	if c.Offset != nil {
		settings.Offset = time.Duration(*c.Offset)
	}
	if c.Speed != nil {
		settings.Speed = *c.Speed
	}
}

func (s *Server) fullInfo() Info {
	info := s.info()
	for _, fleet := range s.landscape.Fleets() {
		info.Fleets = append(info.Fleets, Describe(fleet))
	}
	return info
}

// Describe says where a fleet is.
func Describe(fleet *landscape.Fleet) FleetInfo {
	info := FleetInfo{
		Namespace:  fleet.Namespace,
		Shoots:     len(fleet.Generated().Members),
		Server:     "https://" + fleet.Address(),
		Kubeconfig: filepath.Join(fleet.Folder, landscape.KubeconfigFile),
		Runtimes:   filepath.Join(fleet.Folder, landscape.RuntimesFile),

		Provisioner: fleet.ProvisionerURL(),
	}
	if address := fleet.KymaAddress(); address != "" {
		info.KymaServer = "https://" + address
		info.KymaKubeconfig = filepath.Join(fleet.Folder, landscape.KymaKubeconfigFile)
	}
	return info
}

func (s *Server) createFleet(r *http.Request) (any, error) {
	var request FleetRequest
	if err := read(r, &request); err != nil {
		return nil, err
	}
	fleet, err := s.landscape.CreateFleet(r.Context(), request.options())
	if err != nil {
		return nil, err
	}
	return Describe(fleet), nil
}

// options are the request with what it leaves open.
func (r FleetRequest) options() landscape.FleetOptions {
	settings := gardenlet.Settings{ReconcileTime: DefaultReconcileTime, Steps: DefaultSteps, Plan: r.Faults}
	if r.ReconcileTime != nil {
		settings.ReconcileTime = time.Duration(*r.ReconcileTime)
	}
	if r.Steps != nil {
		settings.Steps = *r.Steps
	}
	r.apply(&settings)
	return landscape.FleetOptions{Generate: r.Options, Settings: settings, Kymas: r.Kymas}
}

func (s *Server) getFleet(r *http.Request) (any, error) {
	fleet, err := s.landscape.Fleet(s.namespace(r))
	if err != nil {
		return nil, err
	}
	return Describe(fleet), nil
}

func (s *Server) deleteFleet(r *http.Request) (any, error) {
	if s.namespace(r) == s.main {
		return nil, fmt.Errorf("%w: the main fleet stays as long as the simulator", landscape.ErrInvalid)
	}
	return nil, s.landscape.DeleteFleet(r.Context(), s.namespace(r))
}

func (s *Server) growFleet(r *http.Request) (any, error) {
	var request struct {
		Shoots int `json:"shoots"`
	}
	if err := read(r, &request); err != nil {
		return nil, err
	}
	if err := s.landscape.GrowFleet(r.Context(), s.namespace(r), request.Shoots); err != nil {
		return nil, err
	}
	return s.getFleet(r)
}

func (s *Server) reset(r *http.Request) (any, error) {
	return nil, s.landscape.ResetFleet(r.Context(), s.namespace(r))
}

// FaultStatus is a plan in force.
type FaultStatus struct {
	Plan faults.Plan `json:"plan"`
	// Hits is how many requests each rule of the plan has hit.
	Hits []int64 `json:"hits"`
}

func (s *Server) getFaults(r *http.Request) (any, error) {
	fleet, err := s.landscape.Fleet(s.namespace(r))
	if err != nil {
		return nil, err
	}
	settings, _ := s.landscape.Gardenlet().Settings(fleet.Namespace)
	return FaultStatus{Plan: settings.Plan, Hits: fleet.Hits()}, nil
}

func (s *Server) setFaults(r *http.Request) (any, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: read body: %w", landscape.ErrInvalid, err)
	}
	plan, err := faults.Parse(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", landscape.ErrInvalid, err)
	}
	return nil, s.landscape.SetFaults(s.namespace(r), plan)
}

func (s *Server) clearFaults(r *http.Request) (any, error) {
	return nil, s.landscape.SetFaults(s.namespace(r), faults.Plan{})
}

// ClockStatus is the simulated clock of a fleet and the speed of its gardenlet.
type ClockStatus struct {
	Now           time.Time       `json:"now"`
	Offset        faults.Duration `json:"offset"`
	Speed         float64         `json:"speed"`
	ReconcileTime faults.Duration `json:"reconcileTime"`
	Steps         int             `json:"steps"`
}

func (s *Server) getClock(r *http.Request) (any, error) {
	namespace := s.namespace(r)
	settings, ok := s.landscape.Gardenlet().Settings(namespace)
	if !ok {
		return nil, fmt.Errorf("fleet %q: %w", namespace, landscape.ErrNotFound)
	}
	if settings.Speed == 0 {
		settings.Speed = 1
	}
	return ClockStatus{
		Now: s.landscape.Gardenlet().Now(namespace), Offset: faults.Duration(settings.Offset), Speed: settings.Speed,
		ReconcileTime: faults.Duration(settings.ReconcileTime), Steps: settings.Steps,
	}, nil
}

func (s *Server) setClock(r *http.Request) (any, error) {
	var request struct {
		Clock
		ReconcileTime *faults.Duration `json:"reconcileTime"`
		Steps         *int             `json:"steps"`
	}
	if err := read(r, &request); err != nil {
		return nil, err
	}
	namespace := s.namespace(r)
	settings, ok := s.landscape.Gardenlet().Settings(namespace)
	if !ok {
		return nil, fmt.Errorf("fleet %q: %w", namespace, landscape.ErrNotFound)
	}
	change := func(settings *gardenlet.Settings) {
		request.apply(settings)
		if request.ReconcileTime != nil {
			settings.ReconcileTime = time.Duration(*request.ReconcileTime)
		}
		if request.Steps != nil {
			settings.Steps = *request.Steps
		}
	}
	change(&settings)
	if err := settings.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", landscape.ErrInvalid, err)
	}
	s.landscape.Gardenlet().Change(namespace, change)
	return s.getClock(r)
}
