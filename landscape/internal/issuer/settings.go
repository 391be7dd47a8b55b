package issuer

import (
	"errors"
	"fmt"
	"time"

	"github.com/swell-fleet/swell/landscape/internal/faults"
)

// The kinds of error that callers tell apart.
var (
	// ErrInvalid says that the caller asked for something impossible.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound says that there is no such user or device.
	ErrNotFound = errors.New("not found")
)

// Settings say how long things live. The expiry that a token states is in whole
// seconds. What was handed out before a change keeps its lifetime.
type Settings struct {
	// IDToken, AccessToken and RefreshToken are the lifetimes of tokens.
	IDToken      faults.Duration `json:"idToken"`
	AccessToken  faults.Duration `json:"accessToken"`
	RefreshToken faults.Duration `json:"refreshToken"`
	// Code is how long an authorization code can be exchanged.
	Code faults.Duration `json:"code"`
	// DeviceCode is how long a device can wait for its user.
	DeviceCode faults.Duration `json:"deviceCode"`
	// Interval is how long a device has to wait between two questions. It is told
	// in whole seconds, at least one. Who asks after less than half of it is told
	// to slow down, and has to wait five seconds longer from then on.
	Interval faults.Duration `json:"interval"`
	// SlowDowns is how many of the next questions of devices are told to slow down
	// whenever they come.
	SlowDowns int `json:"slowDowns"`
	// ReuseRevokes says that a refresh token or code that is used a second time
	// takes all tokens of that login with it. Otherwise it is only refused.
	ReuseRevokes bool `json:"reuseRevokes"`
}

// DefaultSettings are those of a new issuer.
func DefaultSettings() Settings {
	return Settings{
		IDToken: faults.Duration(time.Hour), AccessToken: faults.Duration(time.Hour), RefreshToken: faults.Duration(24 * time.Hour),
		Code: faults.Duration(time.Minute), DeviceCode: faults.Duration(10 * time.Minute), Interval: faults.Duration(time.Second),
		ReuseRevokes: true,
	}
}

const longest = 10 * 365 * 24 * time.Hour

// Validate returns an error that names what is impossible.
func (s Settings) Validate() error {
	var problems []error
	for _, field := range []struct {
		name  string
		value faults.Duration
	}{
		{"idToken", s.IDToken}, {"accessToken", s.AccessToken}, {"refreshToken", s.RefreshToken},
		{"code", s.Code}, {"deviceCode", s.DeviceCode}, {"interval", s.Interval},
	} {
		if field.value <= 0 || time.Duration(field.value) > longest {
			problems = append(problems, fmt.Errorf("%s: want more than 0 and at most %s, got %s", field.name, longest, time.Duration(field.value)))
		}
	}
	if s.SlowDowns < 0 {
		problems = append(problems, fmt.Errorf("slowDowns: want 0 or more, got %d", s.SlowDowns))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

// Settings returns the settings in force.
func (i *Issuer) Settings() Settings {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.settings
}

// SetSettings puts settings in force.
func (i *Issuer) SetSettings(settings Settings) error {
	if err := settings.Validate(); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.settings = settings
	return nil
}
