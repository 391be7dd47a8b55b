package landscape

import (
	"errors"
	"fmt"
	"regexp"
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

// issuerID is what an issuer can be called.
var issuerID = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

// CreateIssuer starts an issuer. No ID: one is made up.
func (l *Landscape) CreateIssuer(id string, options issuer.Options) (*Issuer, error) {
	if id != "" && !issuerID.MatchString(id) {
		return nil, fmt.Errorf("%w: ID %q of an issuer: want up to 40 small letters, digits and dashes", ErrInvalid, id)
	}
	opened, err := issuer.Open(options)
	if err != nil {
		return nil, fmt.Errorf("open issuer: %w", err)
	}
	made, err := l.adopt(id, opened)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return made, nil
}

func (l *Landscape) adopt(id string, opened *issuer.Issuer) (*Issuer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	l.issuers.next++
	made := &Issuer{Issuer: opened, ID: id, number: l.issuers.next}
	for number := made.number; made.ID == ""; number++ {
		if free := fmt.Sprintf("i%d", number); l.issuers.byID[free] == nil {
			made.ID = free
		}
	}
	if l.issuers.byID[made.ID] != nil {
		return nil, fmt.Errorf("issuer %q: %w", id, ErrExists)
	}
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
	l.mu.Lock()
	found, ok := l.issuers.byID[id]
	delete(l.issuers.byID, id)
	l.mu.Unlock()
	if !ok {
		return fmt.Errorf("issuer %q: %w", id, ErrNotFound)
	}
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
