// Package door puts a listener in front of the API server for one fleet. What
// goes wrong with the API goes wrong here, so that the faults of one fleet never
// reach another, nor the simulator itself.
package door

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"sync"
	"time"

	"github.com/swell-fleet/swell/landscape/internal/faults"
	"github.com/swell-fleet/swell/landscape/internal/port"
)

// Door is one fleet's entrance to the API. Close it when done.
type Door struct {
	handler http.Handler
	tls     *tls.Config
	// port is kept while the door refuses connections.
	port *port.Port

	mu     sync.Mutex
	server *http.Server
	served chan struct{}
	rules  *faults.Tally

	watches watches
	stop    context.CancelFunc
	closed  sync.WaitGroup
}

// Open listens on a loopback address and serves handler behind it. Port 0
// chooses a free one.
func Open(address string, handler http.Handler, config *tls.Config) (*Door, error) {
	held, err := port.Hold(address)
	if err != nil {
		return nil, err
	}
	d := &Door{handler: handler, tls: config, port: held, rules: rulesOf(faults.Plan{}), stop: func() {}}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, held.Release())
	}
	return d, nil
}

// Address returns host and port of the door.
func (d *Door) Address() string { return d.port.Address() }

// SetPlan puts the rules of a plan in force from now on, instead of those before.
func (d *Door) SetPlan(plan faults.Plan) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop()
	d.closed.Wait()
	d.rules = rulesOf(plan)
	if err := d.openLocked(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.stop = cancel
	for _, rule := range plan.API {
		if rule.Action == faults.Refuse {
			d.closed.Go(func() { d.refuse(ctx, rule) })
		}
		if rule.Action == faults.CloseWatches {
			d.closed.Go(func() { d.closeWatches(ctx, rule) })
		}
	}
	return nil
}

func rulesOf(plan faults.Plan) *faults.Tally { return faults.NewTally(plan.Seed, "request", plan.API) }

// Hits returns how many requests each rule of the plan has hit so far.
func (d *Door) Hits() []int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rules.Hits()
}

// Close shuts the door and cuts its connections.
func (d *Door) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop()
	d.closed.Wait()
	d.shutLocked()
	return d.port.Release()
}

func (d *Door) open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.openLocked()
}

// openLocked starts to serve unless the door is open already.
func (d *Door) openLocked() error {
	if d.server != nil {
		return nil
	}
	listener, err := d.port.Listen()
	if err != nil {
		return fmt.Errorf("open door: %w", err)
	}
	server := &http.Server{
		Handler:           http.HandlerFunc(d.serve),
		TLSConfig:         d.tls.Clone(),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.ServeTLS(listener, "", "") // It ends by being closed.
	}()
	d.server, d.served = server, served
	return nil
}

func (d *Door) shutLocked() {
	if d.server == nil {
		return
	}
	_ = d.server.Close() // What cannot be closed is being abandoned anyway.
	<-d.served
	d.server = nil
}

// refuse shuts the door for as long as the rule says. It runs while SetPlan and
// Close may hold the lock to wait for it, so it never waits for the lock alone.
func (d *Door) refuse(ctx context.Context, rule faults.Rule) {
	if !sleep(ctx, time.Duration(rule.After)) || !d.locked(ctx, d.shutLocked) {
		return
	}
	if rule.For == 0 || !sleep(ctx, time.Duration(rule.For)) {
		return
	}
	d.locked(ctx, func() {
		// The port is held, so that listening again fails only when the process
		// has run out of something; then the door stays shut, which clients see.
		_ = d.openLocked()
	})
}

func (d *Door) closeWatches(ctx context.Context, rule faults.Rule) {
	if !sleep(ctx, time.Duration(rule.After)) {
		return
	}
	began := time.Now()
	for {
		d.watches.endAll()
		if rule.Every == 0 || !sleep(ctx, time.Duration(rule.Every)) {
			return
		}
		if rule.For != 0 && time.Since(began) >= time.Duration(rule.For) {
			return
		}
	}
}

// locked runs action under the lock unless ctx ends before it gets the lock.
func (d *Door) locked(ctx context.Context, action func()) bool {
	for !d.mu.TryLock() {
		if !sleep(ctx, time.Millisecond) {
			return false
		}
	}
	defer d.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	action()
	return true
}

func sleep(ctx context.Context, duration time.Duration) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
