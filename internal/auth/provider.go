package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/time/rate"
)

const (
	// patience is how long requests wait for a provider, counted from when it was asked.
	patience = 2 * time.Second
	// firstPause and lastPause are how long to wait before a provider that did not answer is asked again; the pause doubles each time.
	firstPause = time.Second
	lastPause  = 10 * time.Second
	// A token with a key that is not known makes the provider be asked at once. Who sends many of them gets a provider asked wantedBurst times
	// and from then on once in wantedEvery.
	wantedBurst = 5
	wantedEvery = 10 * time.Second
)

var (
	// errNotAgain says that a provider was asked for new keys often enough.
	errNotAgain = errors.New("its keys were read moments ago")
	// errSlow is what is known of a provider that has been asked and has not answered yet.
	errSlow = errors.New("it takes longer than " + patience.String() + " to answer")
)

// provider is one trusted issuer. One goroutine, run, asks it; the others read what is known and may ask run to look again.
type provider struct {
	issuer  string
	client  *http.Client
	refresh time.Duration
	logger  *slog.Logger
	clock   func() time.Time
	// look wakes run up.
	look chan struct{}

	mu sync.Mutex
	// keys are the last that were read; they stay when the provider goes away, and go when it publishes none.
	keys Keys
	// err is why the newest attempt failed, or that it has not ended for too long.
	err error
	// begun and ended count attempts; wanted is the number of the attempt that somebody waits for.
	begun, ended, wanted uint64
	// news is closed when an attempt ends or takes too long, and then replaced.
	news    chan struct{}
	limiter *rate.Limiter
}

func newProvider(issuer string, client *http.Client, refresh time.Duration, logger *slog.Logger, clock func() time.Time) *provider {
	return &provider{
		issuer: issuer, client: client, refresh: refresh, logger: logger, clock: clock,
		look: make(chan struct{}, 1), news: make(chan struct{}), wanted: 1, limiter: rate.NewLimiter(rate.Every(wantedEvery), wantedBurst),
	}
}

// run reads the keys again and again: after a while, when a token names one that is not known, and sooner when it failed.
func (p *provider) run(ctx context.Context) {
	defer p.client.CloseIdleConnections()
	pause := firstPause
	for {
		wait := p.refresh
		if p.attempt(ctx) {
			pause = firstPause
		} else {
			wait, pause = pause, min(2*pause, lastPause)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-p.look:
			timer.Stop()
		}
	}
}

// attempt reads the keys once and tells the others what came of it.
func (p *provider) attempt(ctx context.Context) bool {
	p.mu.Lock()
	p.begun++
	number, before := p.begun, p.err
	p.mu.Unlock()
	slow := time.AfterFunc(patience, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.ended < number {
			p.err = errSlow
			p.tell()
		}
	})
	keys, err := p.read(ctx)
	slow.Stop()
	if errors.Is(err, errNoKeys) {
		// That is an answer like any other: what was withdrawn must not stay in force.
		keys, err = nil, nil
	}

	p.mu.Lock()
	news := before != nil || number == 1 || (len(keys) == 0) != (len(p.keys) == 0)
	if err == nil {
		p.keys = keys
	}
	p.err, p.ended = err, number
	p.tell()
	p.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case err != nil && before == nil:
		p.logger.WarnContext(ctx, "identity provider does not answer", "issuer", p.issuer, "error", err)
	case err == nil && news && len(keys) == 0:
		p.logger.WarnContext(ctx, "identity provider publishes no keys that can be used, its tokens are refused", "issuer", p.issuer)
	case err == nil && news:
		p.logger.InfoContext(ctx, "identity provider answers", "issuer", p.issuer, "keys", len(keys))
	}
	return err == nil
}

// tell wakes up who waits. The lock is held.
func (p *provider) tell() {
	close(p.news)
	p.news = make(chan struct{})
}

// known returns the keys that were read last.
func (p *provider) known() Keys {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys
}

// state returns nil when the provider answered the last time, and published keys.
func (p *provider) state() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil && p.ended == 0 {
		return errors.New("it has not been asked yet")
	}
	if p.err == nil && len(p.keys) == 0 {
		return errNoKeys
	}
	return p.err
}

// fresh returns keys that were read after the call. Where the provider is known to be away it says so at once.
func (p *provider) fresh(ctx context.Context) (Keys, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	number := p.begun + 1
	if p.ended == 0 {
		// The first attempt is good enough for everyone.
		number = 1
	}
	if p.err == nil && p.wanted < number {
		if !p.limiter.AllowN(p.clock(), 1) {
			return nil, errNotAgain
		}
		p.wanted = number
		select {
		case p.look <- struct{}{}:
		default:
		}
	}
	limit, cancel := context.WithTimeoutCause(ctx, patience, errSlow)
	defer cancel()
	for p.err == nil && p.ended < number {
		news := p.news
		p.mu.Unlock()
		select {
		case <-news:
		case <-limit.Done():
		}
		p.mu.Lock()
		if p.ended < number && limit.Err() != nil {
			return nil, context.Cause(limit)
		}
	}
	return p.keys, p.err
}

// read asks the provider where its keys are, and reads them.
func (p *provider) read(ctx context.Context) (Keys, error) {
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.issuer)
	if err != nil {
		return nil, fmt.Errorf("discover: %w", err)
	}
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	if err := found.Claims(&document); err != nil {
		return nil, fmt.Errorf("discover: %w", err)
	}
	return ReadKeys(ctx, p.client, document.Keys)
}
