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
	// Servers are the addresses of the servers that the user logged in to with them, in the form of home.Server. Others are not shown them.
	Servers []string `json:"servers"`
	// IDToken is what the server is shown.
	IDToken string `json:"idToken"`
	// RefreshToken renews the login; empty when the provider gave none.
	RefreshToken string `json:"refreshToken,omitempty"`
	// IssuedAt and Expiry are when the ID token was made, and from when on it is not good any more, both by the clock of this machine.
	IssuedAt time.Time `json:"issuedAt"`
	Expiry   time.Time `json:"expiry"`
}

// For reports whether the user logged in to a server with these tokens.
func (t *Tokens) For(server string) bool { return slices.Contains(t.Servers, home.Server(server)) }

// Same reports whether two logins have the same tokens.
func Same(a, b home.Login) bool { return file(a) == file(b) }

// file returns the name of the file that holds the tokens of a login. Scopes in another order are the same login.
func file(login home.Login) string {
	scopes := slices.Clone(login.Scopes)
	slices.Sort(scopes)
	hash := sha256.Sum256([]byte(strings.Join(append([]string{login.Issuer, login.ClientID}, scopes...), "\n")))
	return path.Join("tokens", hex.EncodeToString(hash[:16])+".json")
}

// Load returns the tokens of a login; false when there are none. A file that cannot be read counts as none: the next login replaces it.
func Load(folder home.Folder, login home.Login) (Tokens, bool, error) {
	// What was left by an end in the middle is for whoever holds the lock.
	data, err := folder.ReadSecret(file(login))
	if errors.Is(err, fs.ErrNotExist) {
		return Tokens{}, false, nil
	}
	if err != nil {
		return Tokens{}, false, fmt.Errorf("read the tokens of the login: %w", err)
	}
	kept, ok := parse(data, login)
	return kept, ok, nil
}

// parse reads the text of a file; false when it holds no tokens.
func parse(data []byte, login home.Login) (Tokens, bool) {
	var kept Tokens
	if err := json.Unmarshal(data, &kept); err != nil || kept.IDToken == "" {
		// Logging in mends it.
		return Tokens{}, false
	}
	// The file says of which login it is by its name only.
	kept.Login = login
	return kept, true
}

// finish ends what another process began to keep when it was killed: what it had of the provider is newer than what is in the file, and may be all that is
// still good. The caller holds the lock.
func finish(folder home.Folder, login home.Login) error {
	err := folder.Finish(file(login), func(text []byte) bool {
		_, ok := parse(text, login)
		return ok
	})
	if err != nil {
		return fmt.Errorf("keep the tokens of the login: %w", err)
	}
	return nil
}

// all returns all tokens of a login that lie about: those of the file, and what was left by processes that were killed while they wrote it.
func all(folder home.Folder, login home.Login) ([]Tokens, error) {
	var found []Tokens
	texts, err := folder.Drafts(file(login))
	if err != nil {
		return nil, fmt.Errorf("read the tokens of the login: %w", err)
	}
	for _, text := range texts {
		if left, ok := parse(text, login); ok {
			found = append(found, left)
		}
	}
	kept, ok, err := Load(folder, login)
	if err != nil {
		return nil, err
	}
	if ok && !slices.ContainsFunc(found, func(left Tokens) bool { return left.RefreshToken == kept.RefreshToken }) {
		found = append(found, kept)
	}
	return found, nil
}

// Replace keeps tokens and returns all those that the same login had before. It waits for a process that renews them. Servers that the same user logged in to
// before stay logged in to; those of somebody else do not.
func Replace(ctx context.Context, folder home.Folder, t Tokens) (old []Tokens, err error) {
	unlock, err := folder.Lock(ctx, file(t.Login))
	if err != nil {
		return nil, fmt.Errorf("keep the tokens of the login: %w", err)
	}
	defer unlock()
	if old, err = all(folder, t.Login); err != nil {
		return nil, err
	}
	t.Servers = slices.Clone(t.Servers)
	for _, before := range old {
		if before.Subject == t.Subject {
			t.Servers = append(t.Servers, before.Servers...)
		}
	}
	slices.Sort(t.Servers)
	t.Servers = slices.Compact(t.Servers)
	return old, save(folder, t)
}

// Take removes all tokens of a login and returns them. It waits for a process that renews them, which then finds none.
func Take(ctx context.Context, folder home.Folder, login home.Login) (old []Tokens, err error) {
	// Where there is nothing, nothing is made.
	if there, err := folder.Has(file(login)); err != nil || !there {
		return nil, err
	}
	unlock, err := folder.Lock(ctx, file(login))
	if err != nil {
		return nil, fmt.Errorf("forget the tokens of the login: %w", err)
	}
	defer unlock()
	if old, err = all(folder, login); err != nil {
		return nil, err
	}
	if _, err := folder.Remove(file(login)); err != nil {
		return nil, fmt.Errorf("forget the tokens of the login: %w", err)
	}
	return old, nil
}

// Leave takes a server from those that the tokens of a login are for. It waits for a process that renews them.
func Leave(ctx context.Context, folder home.Folder, login home.Login, server string) error {
	unlock, err := folder.Lock(ctx, file(login))
	if err != nil {
		return fmt.Errorf("log out of the server: %w", err)
	}
	defer unlock()
	if err := finish(folder, login); err != nil {
		return err
	}
	kept, ok, err := Load(folder, login)
	if err != nil || !ok || !kept.For(server) {
		return err
	}
	kept.Servers = slices.DeleteFunc(kept.Servers, func(one string) bool { return one == home.Server(server) })
	return save(folder, kept)
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
