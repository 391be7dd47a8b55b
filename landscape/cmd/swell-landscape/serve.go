package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/swell-fleet/swell/landscape/internal/control"
	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
	"github.com/swell-fleet/swell/landscape/internal/issuer"
	"github.com/swell-fleet/swell/landscape/internal/landscape"
)

// serve runs the simulator until ctx ends.
func serve(ctx context.Context, o options, output io.Writer) (err error) {
	listener, err := listenLoopback(ctx, o.control)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // The server below has closed it already.

	l, err := landscape.Start(ctx, o.dir, slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	fleet, err := l.CreateFleet(ctx, landscape.FleetOptions{
		Generate: o.fleet, Settings: o.settings, Listen: o.listen, ListenProvisioner: o.provisioner, Kymas: o.kymas, Folder: o.dir,
	})
	if err != nil {
		return err
	}
	provider, err := l.CreateIssuer(landscape.MainIssuer, issuer.Options{Listen: o.issuer})
	if err != nil {
		return err
	}
	info := func() control.Info { return describe(o, listener.Addr().String(), fleet, provider) }
	server := &http.Server{
		Handler:           control.New(l, fleet.Namespace, info),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	served := make(chan struct{})
	var ended error
	go func() {
		defer close(served)
		ended = server.Serve(listener)
	}()
	defer func() {
		err = errors.Join(err, server.Close())
		<-served
	}()

	if err := announce(o, info(), output); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-l.Failed():
		return err
	case <-served:
		return ended
	}
}

// announce says that all is ready: a line on standard output, and the same in a
// file for those who come later.
func announce(o options, info control.Info, output io.Writer) error {
	line, err := json.Marshal(info)
	if err != nil {
		return fmt.Errorf("encode ready line: %w", err)
	}
	line = append(line, '\n')
	if err := os.WriteFile(filepath.Join(o.dir, "landscape.json"), line, 0o600); err != nil {
		return fmt.Errorf("write ready file: %w", err)
	}
	if _, err := output.Write(line); err != nil {
		return fmt.Errorf("write ready line: %w", err)
	}
	return nil
}

func describe(o options, address string, fleet *landscape.Fleet, provider *landscape.Issuer) control.Info {
	return control.Info{
		Simulator:          landscape.Name,
		Gardener:           "v1.150.0",
		Ready:              true,
		PID:                os.Getpid(),
		Control:            "http://" + address,
		Dir:                o.dir,
		AdminKubeconfig:    filepath.Join(o.dir, landscape.AdminKubeconfigFile),
		AuditLog:           filepath.Join(o.dir, landscape.AuditFile),
		UpgradeTarget:      fleetgen.UpgradeTarget,
		KubernetesVersions: fleetgen.Versions(),
		FleetInfo:          control.Describe(fleet),
		IssuerInfo:         control.DescribeIssuer(provider),
	}
}

func listenLoopback(ctx context.Context, address string) (net.Listener, error) {
	wanted, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("read address: %w", err)
	}
	if !wanted.IP.IsLoopback() {
		return nil, fmt.Errorf("address %s: the simulator listens on loopback addresses only", address)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", wanted.String())
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}
