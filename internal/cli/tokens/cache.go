package tokens

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/swell-fleet/swell/internal/cli/home"
)

// Tokens are what a login brought.
type Tokens struct {
	// Login is by whom and for what they were given.
	Login home.Login `json:"login"`
	// Subject is whose they are.
	Subject string `json:"subject"`
	// IDToken is what the server is shown.
	IDToken string `json:"idToken"`
	// RefreshToken renews the login; empty when the provider gave none.
	RefreshToken string `json:"refreshToken,omitempty"`
	// IssuedAt and Expiry are when the ID token was made, and from when on it is not good any more, both by the clock of this machine.
	IssuedAt time.Time `json:"issuedAt"`
	Expiry   time.Time `json:"expiry"`
}

// file returns the name of the file that holds the tokens of a login. Scopes in another order are the same login.
func file(login home.Login) string {
	scopes := slices.Clone(login.Scopes)
	slices.Sort(scopes)
	hash := sha256.Sum256([]byte(strings.Join(append([]string{login.Issuer, login.ClientID}, scopes...), "\n")))
	return path.Join("tokens", hex.EncodeToString(hash[:16])+".json")
}

// Load returns the tokens of a login; false when there are none. A file that cannot be read counts as none: the next login replaces it.
func Load(folder home.Folder, login home.Login) (Tokens, bool, error) {
	data, err := folder.ReadSecret(file(login))
	if errors.Is(err, fs.ErrNotExist) {
		return Tokens{}, false, nil
	}
	if err != nil {
		return Tokens{}, false, fmt.Errorf("read the tokens of the login: %w", err)
	}
	var kept Tokens
	if err := json.Unmarshal(data, &kept); err != nil || kept.IDToken == "" {
		return Tokens{}, false, nil //nolint:nilerr // logging in mends it
	}
	// The file says of which login it is by its name only.
	kept.Login = login
	return kept, true, nil
}

// Replace keeps tokens and returns those that the same login had before, if any. It waits for a process that renews them.
func Replace(ctx context.Context, folder home.Folder, t Tokens) (old Tokens, had bool, err error) {
	unlock, err := folder.Lock(ctx, file(t.Login))
	if err != nil {
		return Tokens{}, false, fmt.Errorf("keep the tokens of the login: %w", err)
	}
	defer unlock()
	if old, had, err = Load(folder, t.Login); err != nil {
		return Tokens{}, false, err
	}
	return old, had, save(folder, t)
}

// Take removes the tokens of a login and returns them, if there are any. It waits for a process that renews them, which then finds none.
func Take(ctx context.Context, folder home.Folder, login home.Login) (old Tokens, had bool, err error) {
	// Where there is nothing, nothing is made.
	if _, had, err = Load(folder, login); err != nil || !had {
		return Tokens{}, false, err
	}
	unlock, err := folder.Lock(ctx, file(login))
	if err != nil {
		return Tokens{}, false, fmt.Errorf("forget the tokens of the login: %w", err)
	}
	defer unlock()
	if old, had, err = Load(folder, login); err != nil {
		return Tokens{}, false, err
	}
	if _, err := folder.Remove(file(login)); err != nil {
		return Tokens{}, false, fmt.Errorf("forget the tokens of the login: %w", err)
	}
	return old, had, nil
}

// save keeps tokens; the caller holds the lock.
func save(folder home.Folder, t Tokens) error {
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return fmt.Errorf("keep the tokens of the login: %w", err)
	}
	if err := folder.Write(file(t.Login), append(data, '\n')); err != nil {
		return fmt.Errorf("keep the tokens of the login: %w", err)
	}
	return nil
}

// Expiry returns when a token ends, as it says itself; false when it does not say it in a form that is known. Nothing of it is verified.
func Expiry(token string) (time.Time, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Expiry *int64 `json:"exp"`
	}
	const year9999 = 253402300799
	if json.Unmarshal(payload, &claims) != nil || claims.Expiry == nil || *claims.Expiry < 0 || *claims.Expiry > year9999 {
		return time.Time{}, false
	}
	return time.Unix(*claims.Expiry, 0).UTC(), true
}
