package issuer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The groups that Swell's roles are given to by default.
const (
	adminGroup    = "runtimeAdmin"
	operatorGroup = "runtimeOperator"
)

// maxUsers bounds the people of an issuer.
const maxUsers = 1000

// User is a person who can log in.
type User struct {
	// Name is by what the person is chosen, and the subject of the tokens.
	Name string `json:"name"`
	// FullName is in tokens with the scope profile.
	FullName string `json:"fullName"`
	// Email is in tokens with the scope email, unless it is empty.
	Email         string `json:"email"`
	EmailVerified bool   `json:"emailVerified"`
	// Groups are in tokens with the scope groups, unless there are none.
	Groups Groups `json:"groups"`
}

// Groups are the groups of a user: a list, or one group as plain text, which some
// providers send. JSON is like the claim; null is no claim at all.
type Groups struct {
	names []string
	plain bool
}

// InGroups returns a list of groups.
func InGroups(names ...string) Groups { return Groups{names: names} }

// InGroup returns one group that is sent as plain text.
func InGroup(name string) Groups { return Groups{names: []string{name}, plain: true} }

// MarshalJSON implements json.Marshaler.
func (g Groups) MarshalJSON() ([]byte, error) { return json.Marshal(g.claim()) }

// UnmarshalJSON implements json.Unmarshaler.
func (g *Groups) UnmarshalJSON(data []byte) error {
	var name *string
	if json.Unmarshal(data, &name) == nil {
		if *g = (Groups{}); name != nil {
			*g = InGroup(*name)
		}
		return nil
	}
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return fmt.Errorf("want groups as a list, as text, or null: %w", err)
	}
	*g = InGroups(names...)
	return nil
}

// claim returns what a token holds, and nil when it holds nothing.
func (g Groups) claim() any {
	switch {
	case g.plain:
		return g.names[0]
	case g.names != nil:
		return g.names
	}
	return nil
}

// defaultUsers are the people of a new issuer. The last one shows what happens to
// text that nobody has checked.
func defaultUsers() map[string]User {
	users := map[string]User{}
	for _, u := range []User{
		{Name: "ann", FullName: "Ann Admin", Email: "ann@example.com", EmailVerified: true, Groups: InGroups(adminGroup)},
		{Name: "bob", FullName: "Bob Builder", Email: "bob@example.com", EmailVerified: true, Groups: InGroups(operatorGroup)},
		{Name: "eve", FullName: "Eve Elsewhere", Email: "eve@example.com", EmailVerified: true},
		{Name: "oscar", FullName: "Oscar Only", Email: "oscar@example.com", EmailVerified: true, Groups: InGroup(operatorGroup)},
		{
			Name: "mallory", FullName: "Mallory \x1b[2J\x1b]0;gotcha\x07<script>alert('name')</script>\r\nlevel=ERROR msg=forged \u202ederorrim",
			Email:         "mallory\x1b[31m<img src=x onerror=alert('mail')>\r\nSet-Cookie: mallory=1@example.com",
			EmailVerified: true, Groups: InGroups(operatorGroup),
		},
	} {
		users[u.Name] = u
	}
	return users
}

// Users returns the people by name.
func (i *Issuer) Users() []User {
	i.mu.Lock()
	defer i.mu.Unlock()
	users := make([]User, 0, len(i.users))
	for _, user := range i.users {
		users = append(users, user)
	}
	slices.SortFunc(users, func(a, b User) int { return strings.Compare(a.Name, b.Name) })
	return users
}

// User returns a person.
func (i *Issuer) User(name string) (User, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	user, ok := i.users[name]
	if !ok {
		return User{}, fmt.Errorf("user %q: %w", name, ErrNotFound)
	}
	return user, nil
}

// SetUser adds a person or replaces one. Tokens that are signed from then on,
// also by a refresh, say what is new.
func (i *Issuer) SetUser(user User) error {
	if user.Name == "" || strings.Contains(user.Name, ":") {
		return fmt.Errorf("%w: name %q of a user: want text without a colon", ErrInvalid, user.Name)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, known := i.users[user.Name]; !known && len(i.users) >= maxUsers {
		return fmt.Errorf("%w: the issuer has %d users already", ErrInvalid, maxUsers)
	}
	i.users[user.Name] = user
	return nil
}
