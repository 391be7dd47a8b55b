package issuer

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zitadel/oidc/v3/pkg/crypto"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/swell-fleet/swell/landscape/internal/faults"
)

// Wish says what tokens to issue without a login.
type Wish struct {
	// User is whose they are.
	User string `json:"user"`
	// Scopes are openid, profile, email and groups unless set. With offline_access
	// there is a refresh token.
	Scopes []string `json:"scopes"`
	// Lifetime is that of the ID token; as in the settings unless set. A negative
	// one gives a token that has expired.
	Lifetime *faults.Duration `json:"lifetime"`
	// Claims go over those of the ID token; null takes one away.
	Claims map[string]any `json:"claims"`
}

// Tokens are the tokens of one login.
type Tokens struct {
	IDToken      string    `json:"idToken"`
	RefreshToken string    `json:"refreshToken,omitempty"`
	Expires      time.Time `json:"expires"`
}

// Issue signs tokens for a user as if there had been a login.
func (i *Issuer) Issue(wish Wish) (Tokens, error) {
	asked := known(wish.Scopes)
	if len(wish.Scopes) == 0 {
		asked = []string{oidc.ScopeOpenID, oidc.ScopeProfile, oidc.ScopeEmail, groupsScope}
	}
	lifetime := time.Duration(i.Settings().IDToken)
	if wish.Lifetime != nil {
		lifetime = time.Duration(*wish.Lifetime)
	}
	if lifetime > longest || lifetime < -longest {
		return Tokens{}, fmt.Errorf("%w: lifetime: want at most %s, got %s", ErrInvalid, longest, lifetime)
	}
	info := new(oidc.UserInfo)
	if err := i.describe(info, wish.User, asked); err != nil {
		return Tokens{}, err
	}
	now := time.Now()
	tokens := Tokens{Expires: now.Add(lifetime)}
	claims := oidc.NewIDTokenClaims(i.url, wish.User, []string{ClientID}, tokens.Expires, now, "", "", []string{"pwd"}, ClientID, 0)
	claims.SetUserInfo(info)
	if lifetime < 0 {
		claims.IssuedAt = oidc.FromTime(tokens.Expires.Add(-time.Hour))
		claims.AuthTime = claims.IssuedAt
	}
	var err error
	if tokens.IDToken, err = i.sign(claims, wish.Claims); err != nil {
		return Tokens{}, err
	}
	if slices.Contains(asked, oidc.ScopeOfflineAccess) {
		i.mu.Lock()
		tokens.RefreshToken = i.giveRefresh(&grant{
			login: rand.Text(), user: wish.User, client: ClientID, audience: []string{ClientID}, scopes: asked, amr: []string{"pwd"}, at: now,
		})
		i.mu.Unlock()
	}
	return tokens, nil
}

func (i *Issuer) sign(claims *oidc.IDTokenClaims, changes map[string]any) (string, error) {
	text, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("encode claims: %w", err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return "", fmt.Errorf("decode claims: %w", err)
	}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	i.mu.Lock()
	key := i.keys[0]
	i.mu.Unlock()
	signer, err := op.SignerFromKey(key)
	if err != nil {
		return "", fmt.Errorf("make signer: %w", err)
	}
	return crypto.Sign(all, signer)
}
