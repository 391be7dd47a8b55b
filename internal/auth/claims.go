package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
)

// claims are the claims of a token by their exact names.
type claims map[string]json.RawMessage

// registered are the names that must stand in a token as they are written here, if at all.
var registered = []string{"iss", "sub", "aud", "exp", "nbf", "iat", "email", "email_verified", "typ", "events"}

// readClaims takes the claims of a token apart. Readers of JSON differ in which of two equal names they take, and Go's takes names in any letter
// case, so a token whose claims could be read in two ways is refused.
func readClaims(payload []byte) (claims, error) {
	decoder := json.NewDecoder(bytes.NewReader(payload))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.New("they are not an object")
	}
	all, folded := claims{}, map[string]bool{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("read a name: %w", err)
		}
		key, ok := name.(string)
		if !ok {
			return nil, errors.New("a name is not text")
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("read a value: %w", err)
		}
		if fold := strings.ToLower(strings.ToUpper(key)); folded[fold] {
			return nil, errors.New("a name stands there twice")
		} else {
			folded[fold] = true
		}
		for _, want := range registered {
			if key != want && strings.EqualFold(key, want) {
				return nil, fmt.Errorf("the name %s is written in another way", want)
			}
		}
		all[key] = value
	}
	return all, nil
}

// otherKinds are the words by which providers say in the claim "typ" that a token is for themselves alone, or tells of a logout.
var otherKinds = []string{"Refresh", "Offline", "Logout"}

// otherKind says why a token is nobody's credential, whatever its header says: providers sign everything with the same keys. Tokens that tell of
// something that happened, such as a logout, have the claim "events" and nothing else does.
func (c claims) otherKind() error {
	if raw, ok := c["events"]; ok && string(raw) != "null" {
		return errors.New("it tells of events")
	}
	raw, ok := c["typ"]
	if !ok || string(raw) == "null" {
		return nil
	}
	var kind string
	if err := json.Unmarshal(raw, &kind); err != nil {
		return fmt.Errorf("read typ: %w", err)
	}
	if slices.ContainsFunc(otherKinds, func(other string) bool { return strings.EqualFold(kind, other) }) {
		return fmt.Errorf("its claim typ is %q", kind)
	}
	return nil
}

// notBefore returns the time from which on a token is valid; the zero time when it does not say.
func (c claims) notBefore() (time.Time, error) {
	raw, ok := c["nbf"]
	if !ok || string(raw) == "null" {
		return time.Time{}, nil
	}
	var seconds float64
	if err := json.Unmarshal(raw, &seconds); err != nil {
		return time.Time{}, fmt.Errorf("read nbf: %w", err)
	}
	if math.Abs(seconds) > 1e12 {
		return time.Time{}, errors.New("nbf is no time")
	}
	return time.Unix(int64(seconds), 0), nil
}

// subjectMark stands before a subject that looks like a mail address.
const subjectMark = "sub:"

// mail returns the mail address when the provider has verified it; empty otherwise. Names that people choose themselves are not used: they
// could choose somebody else's. An address with the mark of subjects is not used either, because it would be the name of the subject behind it.
func (c claims) mail() string {
	var address string
	if json.Unmarshal(c["email"], &address) != nil || !printable(address) || !strings.Contains(address, "@") ||
		strings.HasPrefix(address, subjectMark) {
		return ""
	}
	var flag bool
	var text string
	if json.Unmarshal(c["email_verified"], &flag) == nil && flag || json.Unmarshal(c["email_verified"], &text) == nil && text == "true" {
		return address
	}
	return ""
}

// maxName is the length of the longest name of a person, in bytes.
const maxName = 255

// printable reports whether a text can stand in a log and on a screen as it is.
func printable(text string) bool {
	return text != "" && len(text) <= maxName && fleet.Line(text) == text
}
