package issuer

import (
	"errors"
	"time"
)

var errUsedBefore = errors.New("the code or token was used before")

// spend notes that a code or a refresh token of a login was used, for as long as
// what it brought may be good. The lock is held.
func (i *Issuer) spend(secret, login string) {
	i.spent.put(secret, login, time.Now().Add(time.Duration(i.settings.RefreshToken)))
}

// unused returns an error when a code or a refresh token was used before. One of
// the two who have it should not, so everything that came from its login is taken
// back, unless the settings forgive it. The lock is held.
func (i *Issuer) unused(secret string) error {
	login, spent := i.spent.get(secret)
	if !spent {
		return nil
	}
	if i.settings.ReuseRevokes {
		i.revokeLogin(login)
	}
	return errUsedBefore
}
