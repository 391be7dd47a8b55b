package landscape

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/swell-fleet/swell/landscape/internal/issuer"
)

// MainIssuer is the ID of the issuer that the simulator was started with.
const MainIssuer = "main"

// Issuer is an OpenID Connect provider with an ID.
type Issuer struct {
	*issuer.Issuer

	ID string

	number int
}

// issuers are those that run. The landscape's lock guards them.
type issuers struct {
	byID map[string]*Issuer
	next int
}

// CreateIssuer starts an issuer. No ID: one is made up.
func (l *Landscape) CreateIssuer(id string, options issuer.Options) (*Issuer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, taken := l.issuers.byID[id]; taken {
		return nil, fmt.Errorf("issuer %q: %w", id, ErrExists)
	}
	opened, err := issuer.Open(options)
	if err != nil {
		return nil, fmt.Errorf("open issuer: %w", err)
	}
	l.issuers.next++
	made := &Issuer{Issuer: opened, ID: cmp.Or(id, fmt.Sprintf("i%d", l.issuers.next)), number: l.issuers.next}
	l.issuers.byID[made.ID] = made
	return made, nil
}

// Issuer returns a running issuer.
func (l *Landscape) Issuer(id string) (*Issuer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, ok := l.issuers.byID[id]
	if !ok {
		return nil, fmt.Errorf("issuer %q: %w", id, ErrNotFound)
	}
	return found, nil
}

// Issuers returns the running issuers, the oldest first.
func (l *Landscape) Issuers() []*Issuer {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*Issuer, 0, len(l.issuers.byID))
	for _, i := range l.issuers.byID {
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b *Issuer) int { return a.number - b.number })
	return all
}

// DeleteIssuer stops an issuer and forgets all that it knew.
func (l *Landscape) DeleteIssuer(id string) error {
	found, err := l.Issuer(id)
	if err != nil {
		return err
	}
	l.mu.Lock()
	delete(l.issuers.byID, id)
	l.mu.Unlock()
	return found.Close()
}

// closeIssuers stops all of them. The lock is held.
func (l *Landscape) closeIssuers() error {
	var problems []error
	for _, i := range l.issuers.byID {
		problems = append(problems, i.Close())
	}
	clear(l.issuers.byID)
	return errors.Join(problems...)
}
