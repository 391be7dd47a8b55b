package landscape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/swell-fleet/swell/landscape/internal/door"
	"github.com/swell-fleet/swell/landscape/internal/faults"
	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
	"github.com/swell-fleet/swell/landscape/internal/kyma"
	"github.com/swell-fleet/swell/landscape/internal/provisioner"
)

// KymaKubeconfigFile leads to the Kymas of a fleet that has some.
const KymaKubeconfigFile = "kyma.kubeconfig"

// controlPlane is what looks after the Kyma of a fleet's runtimes: a Provisioner,
// and, if it was asked for, Kymas behind a door of their own.
type controlPlane struct {
	provisioner *provisioner.Provisioner
	server      *http.Server
	address     string
	served      chan struct{}
	kymas       *door.Door
}

// kymas is the one server for the Kymas of all fleets. It is started when the
// first fleet wants some.
type kymas struct {
	mu      sync.Mutex
	server  *kyma.Server
	manager *kyma.Manager
}

// Provisioner returns the fleet's Provisioner.
func (f *Fleet) Provisioner() *provisioner.Provisioner { return f.plane.provisioner }

// ProvisionerURL returns the address of its GraphQL endpoint.
func (f *Fleet) ProvisionerURL() string { return "http://" + f.plane.address + "/graphql" }

// KymaAddress returns host and port of the door to the fleet's Kymas, and nothing
// when it has none.
func (f *Fleet) KymaAddress() string {
	if f.plane.kymas == nil {
		return ""
	}
	return f.plane.kymas.Address()
}

// openControlPlane starts the parts of a fleet's control plane.
func (l *Landscape) openControlPlane(ctx context.Context, fleet *Fleet, options FleetOptions) (*controlPlane, error) {
	namespace := fleet.Namespace
	listen := options.ListenProvisioner
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	wanted, err := net.ResolveTCPAddr("tcp", listen)
	if err != nil || !wanted.IP.IsLoopback() {
		return nil, fmt.Errorf("%w: address %s of the Provisioner: want a loopback address", ErrInvalid, listen)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", wanted.String())
	if err != nil {
		return nil, fmt.Errorf("listen for the Provisioner: %w", err)
	}
	plane := &controlPlane{
		address: listener.Addr().String(), served: make(chan struct{}),
		provisioner: provisioner.New(provisionerMembers(fleet.generated), func() time.Time { return l.gardenlet.Now(namespace) }, func() provisioner.Settings {
			settings, _ := l.gardenlet.Settings(namespace)
			return provisioner.Settings{Lasting: settings.ReconcileTime, Plan: settings.Plan}
		}),
	}
	plane.provisioner.SetPlan(options.Settings.Plan)
	plane.server = &http.Server{Handler: plane.provisioner, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func() {
		defer close(plane.served)
		_ = plane.server.Serve(listener) // It ends by being closed.
	}()
	if !options.Kymas {
		return plane, nil
	}
	if err := l.openKymas(ctx, fleet, plane, options.Settings.Plan); err != nil {
		return nil, errors.Join(err, plane.close())
	}
	return plane, nil
}

func (l *Landscape) openKymas(ctx context.Context, fleet *Fleet, plane *controlPlane, plan faults.Plan) error {
	server, err := l.kymaServer(ctx)
	if err != nil {
		return err
	}
	if err := server.LayDown(ctx, kymaMembers(fleet.generated)); err != nil {
		return err
	}
	if plane.kymas, err = door.Open("127.0.0.1:0", server.Handler(), l.server.TLSConfig()); err != nil {
		return err
	}
	if err := plane.kymas.SetPlan(plan); err != nil {
		return err
	}
	path := filepath.Join(fleet.Folder, KymaKubeconfigFile)
	return l.writeKubeconfig(path, plane.kymas.Address(), fleetUser(fleet.Namespace), fleet.token, fleet.Namespace)
}

func (p *controlPlane) close() error {
	problems := []error{p.server.Close()}
	<-p.served
	if p.kymas != nil {
		problems = append(problems, p.kymas.Close())
	}
	return errors.Join(problems...)
}

// kymaServer returns the server for Kymas, which is started with the first call.
func (l *Landscape) kymaServer(ctx context.Context) (*kyma.Server, error) {
	l.kymas.mu.Lock()
	defer l.kymas.mu.Unlock()
	if l.kymas.server != nil {
		return l.kymas.server, nil
	}
	server, err := kyma.Start(ctx, l.etcd.Endpoint(), l.identities)
	if err != nil {
		return nil, err
	}
	manager, err := kyma.NewManager(server, func(namespace string) (kyma.Settings, bool) {
		settings, ok := l.gardenlet.Settings(namespace)
		return kyma.Settings{Lasting: settings.ReconcileTime, Speed: settings.Speed, Plan: settings.Plan}, ok
	}, l.log)
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	l.kymas.server, l.kymas.manager = server, manager
	l.running.Go(func() { manager.Run(l.run) })
	return server, nil
}

func (k *kymas) close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.server == nil {
		return nil
	}
	return k.server.Close()
}

// Kymas returns the Kymas of a fleet as they are stored now.
func (l *Landscape) Kymas(ctx context.Context, namespace string) ([]kyma.Summary, error) {
	server, err := l.kymasOf(namespace)
	if err != nil {
		return nil, err
	}
	return server.Summaries(ctx, namespace)
}

// DeleteKyma removes a Kyma at once.
func (l *Landscape) DeleteKyma(ctx context.Context, namespace, name string) error {
	server, err := l.kymasOf(namespace)
	if err != nil {
		return err
	}
	return server.Remove(ctx, namespace, name)
}

func (l *Landscape) kymasOf(namespace string) (*kyma.Server, error) {
	fleet, err := l.Fleet(namespace)
	if err != nil {
		return nil, err
	}
	if fleet.plane.kymas == nil {
		return nil, fmt.Errorf("kymas of fleet %q: %w", namespace, ErrNotFound)
	}
	l.kymas.mu.Lock()
	defer l.kymas.mu.Unlock()
	return l.kymas.server, nil
}

// resetControlPlane makes it as it was in the beginning.
func (l *Landscape) resetControlPlane(ctx context.Context, fleet *Fleet) error {
	fleet.plane.provisioner.Reset(provisionerMembers(fleet.Generated()))
	if fleet.plane.kymas == nil {
		return nil
	}
	server, err := l.kymasOf(fleet.Namespace)
	if err != nil {
		return err
	}
	if err := server.RemoveAll(ctx, fleet.Namespace); err != nil {
		return err
	}
	return server.LayDown(ctx, kymaMembers(fleet.Generated()))
}

// growControlPlane adds what the added members of a fleet need.
func (l *Landscape) growControlPlane(ctx context.Context, fleet *Fleet, added fleetgen.Fleet) error {
	fleet.plane.provisioner.Grow(provisionerMembers(added))
	if fleet.plane.kymas == nil {
		return nil
	}
	server, err := l.kymasOf(fleet.Namespace)
	if err != nil {
		return err
	}
	return server.LayDown(ctx, kymaMembers(added))
}

// removeKymas removes the Kymas of a fleet, if there are any.
func (l *Landscape) removeKymas(ctx context.Context, namespace string) error {
	l.kymas.mu.Lock()
	server := l.kymas.server
	l.kymas.mu.Unlock()
	if server == nil {
		return nil
	}
	return server.RemoveAll(ctx, namespace)
}

// planChanged puts a new fault plan in force in the control plane.
func (l *Landscape) planChanged(fleet *Fleet, plan faults.Plan) error {
	fleet.plane.provisioner.SetPlan(plan)
	if fleet.plane.kymas == nil {
		return nil
	}
	l.kymas.mu.Lock()
	manager := l.kymas.manager
	l.kymas.mu.Unlock()
	manager.Wake(fleet.Namespace)
	return fleet.plane.kymas.SetPlan(plan)
}

// provisionerMembers are the runtimes that a Provisioner knows: those that have a
// Shoot.
func provisionerMembers(fleet fleetgen.Fleet) []provisioner.Member {
	var members []provisioner.Member
	for _, m := range fleet.Members {
		if m.Runtime == nil {
			continue
		}
		version := m.Shoot.Spec.Kubernetes.Version
		if m.ExpiredVersion != "" {
			version = m.ExpiredVersion
		}
		members = append(members, provisioner.Member{
			RuntimeID: m.Runtime.RuntimeID, Shoot: m.Shoot.Name, Tenant: m.Runtime.GlobalAccountID, SubAccount: m.Runtime.SubAccountID,
			KymaVersion: m.Runtime.KymaVersion, KubernetesVersion: version, Region: m.Shoot.Spec.Region, Provider: m.Shoot.Spec.Provider.Type,
			Created: m.Created,
		})
	}
	return members
}

// kymaMembers are the runtimes that have a Kyma: those that have a Shoot.
func kymaMembers(fleet fleetgen.Fleet) []kyma.Member {
	var members []kyma.Member
	for _, m := range fleet.Members {
		r := m.Runtime
		if r == nil {
			continue
		}
		members = append(members, kyma.Member{
			Namespace: fleet.Namespace, RuntimeID: r.RuntimeID, Shoot: m.Shoot.Name, Labels: map[string]string{
				"instance-id": r.InstanceID, "global-account-id": r.GlobalAccountID, "subaccount-id": r.SubAccountID, "region": m.Shoot.Spec.Region,
				"broker-plan-id": r.ServicePlanID, "broker-plan-name": r.ServicePlanName, "provider": m.Shoot.Spec.Provider.Type,
			},
		})
	}
	return members
}
