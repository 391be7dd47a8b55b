package issuer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	// remembered is how long an expired device code is known, so that its device is
	// told why.
	remembered = 10 * time.Minute
	// slower is how much longer a device has to wait once it was told to slow down.
	slower = 5 * time.Second
)

// device waits for a user to allow or deny it.
type device struct {
	code     string
	userCode string
	client   string
	scopes   []string
	expires  time.Time
	interval time.Duration
	asked    time.Time
	user     string
	decided  time.Time
	denied   bool
}

// Device is what can be known about a waiting device.
type Device struct {
	UserCode string    `json:"userCode"`
	ClientID string    `json:"clientID"`
	Scopes   []string  `json:"scopes"`
	Expires  time.Time `json:"expires"`
}

// waiting says that nobody has decided yet.
func (d *device) waiting() bool { return d.decided.IsZero() && time.Now().Before(d.expires) }

func (s storage) StoreDeviceAuthorization(_ context.Context, client, code, userCode string, _ time.Time, scopes []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.devices.find(func(d *device) bool { return d.userCode == userCode }); taken {
		return op.ErrDuplicateUserCode
	}
	d := &device{
		code: code, userCode: userCode, client: client, scopes: known(scopes),
		expires: time.Now().Add(time.Duration(s.settings.DeviceCode)), interval: time.Duration(s.settings.Interval),
	}
	s.devices.put(code, d, d.expires.Add(remembered))
	return nil
}

// poll judges when a device asks, before what it asks is looked at.
func (i *Issuer) poll(code string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	d, ok := i.devices.get(code)
	if !ok {
		return oidc.ErrInvalidGrant().WithDescription("the device code is not known, or was used before")
	}
	now := time.Now()
	soon := !d.asked.IsZero() && now.Sub(d.asked) < d.interval/2
	d.asked = now
	if i.settings.SlowDowns > 0 {
		i.settings.SlowDowns--
		soon = true
	}
	if soon && now.Before(d.expires) {
		d.interval += slower
		return oidc.ErrSlowDown()
	}
	return nil
}

// GetDeviceAuthorizatonState tells how far a device is. Telling that it is allowed
// takes its code.
func (s storage) GetDeviceAuthorizatonState(_ context.Context, client, code string) (*op.DeviceAuthorizationState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.devices.get(code)
	if !ok || d.client != client {
		return nil, fmt.Errorf("device: %w", ErrNotFound)
	}
	state := &op.DeviceAuthorizationState{
		ClientID: d.client, Audience: []string{d.client}, Scopes: d.scopes, Expires: d.expires, Denied: d.denied,
		Done: d.user != "" && time.Now().Before(d.expires), Subject: d.user, AMR: []string{"pwd"}, AuthTime: d.decided,
	}
	if state.Done {
		s.devices.take(code)
	}
	return state, nil
}

// normal makes a user code that somebody typed comparable.
func normal(userCode string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToUpper(userCode))
}

// deviceOf returns the waiting device with a user code. The lock is held.
func (i *Issuer) deviceOf(userCode string) (*device, error) {
	wanted := normal(userCode)
	d, ok := i.devices.find(func(d *device) bool { return normal(d.userCode) == wanted && d.waiting() })
	if !ok {
		return nil, fmt.Errorf("device that waits with this code: %w", ErrNotFound)
	}
	return d, nil
}

// Devices returns the devices that wait for a user, the first to expire first.
func (i *Issuer) Devices() []Device {
	i.mu.Lock()
	defer i.mu.Unlock()
	devices := []Device{}
	for _, kept := range i.devices.items {
		if d := kept.value; d.waiting() {
			devices = append(devices, d.public())
		}
	}
	slices.SortFunc(devices, func(a, b Device) int { return a.Expires.Compare(b.Expires) })
	return devices
}

func (d *device) public() Device {
	return Device{UserCode: d.userCode, ClientID: d.client, Scopes: d.scopes, Expires: d.expires}
}

// Device returns the waiting device with a user code, in whatever way it is typed.
func (i *Issuer) Device(userCode string) (Device, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	d, err := i.deviceOf(userCode)
	if err != nil {
		return Device{}, err
	}
	return d.public(), nil
}

// AllowDevice lets the device with a user code act for a user.
func (i *Issuer) AllowDevice(userCode, user string) error {
	if _, err := i.User(user); err != nil {
		return err
	}
	return i.decide(userCode, func(d *device) { d.user = user })
}

// DenyDevice refuses the device with a user code.
func (i *Issuer) DenyDevice(userCode string) error {
	return i.decide(userCode, func(d *device) { d.denied = true })
}

func (i *Issuer) decide(userCode string, decision func(*device)) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	d, err := i.deviceOf(userCode)
	if err != nil {
		return err
	}
	decision(d)
	d.decided = time.Now()
	return nil
}
