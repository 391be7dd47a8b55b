package apiserver

import (
	"context"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

const (
	// fleetGroup marks a user that is confined to the namespaces of its fleets.
	fleetGroup = "landscape:fleet"
	// namespaceKey is the extra attribute that names such a user's namespaces.
	namespaceKey = "landscape/namespaces"
)

// Identities maps bearer tokens to users. It can be changed while the server
// runs. It is safe for concurrent use.
type Identities struct {
	mu    sync.RWMutex
	users map[string]user.Info
}

// NewIdentities returns an empty set, which lets nobody in.
func NewIdentities() *Identities {
	return &Identities{users: map[string]user.Info{}}
}

// AddAdmin lets the bearer of token do everything under the given user name.
func (i *Identities) AddAdmin(token, name string) {
	i.set(token, &user.DefaultInfo{Name: name, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}})
}

// AddFleet lets the bearer of token do everything in namespace, and read what
// is not namespaced.
func (i *Identities) AddFleet(token, name, namespace string) {
	i.set(token, &user.DefaultInfo{
		Name:   name,
		Groups: []string{fleetGroup, user.AllAuthenticated},
		Extra:  map[string][]string{namespaceKey: {namespace}},
	})
}

// Remove makes token worthless from now on.
func (i *Identities) Remove(token string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.users, token)
}

func (i *Identities) set(token string, info user.Info) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.users[token] = info
}

// AuthenticateToken implements authenticator.Token.
func (i *Identities) AuthenticateToken(_ context.Context, token string) (*authenticator.Response, bool, error) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	info, ok := i.users[token]
	if !ok {
		return nil, false, nil
	}
	return &authenticator.Response{User: info}, true, nil
}

// Authorize implements authorizer.Authorizer.
func (i *Identities) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	who := a.GetUser()
	if who == nil {
		return authorizer.DecisionDeny, "not authenticated", nil
	}
	groups := who.GetGroups()
	switch {
	case slices.Contains(groups, user.SystemPrivilegedGroup):
		return authorizer.DecisionAllow, "", nil
	case slices.Contains(groups, fleetGroup):
		if slices.Contains(who.GetExtra()[namespaceKey], a.GetNamespace()) {
			return authorizer.DecisionAllow, "", nil
		}
		if clusterScopedRead(a) {
			return authorizer.DecisionAllow, "", nil
		}
	}
	return authorizer.DecisionNoOpinion, "outside of the fleet's namespace", nil
}

// clusterScopedRead reports whether the request reads something that belongs to
// no namespace. A list over all namespaces of a namespaced resource looks the
// same in the attributes, so those resources are named.
func clusterScopedRead(a authorizer.Attributes) bool {
	if !a.IsReadOnly() || a.GetNamespace() != "" {
		return false
	}
	if !a.IsResourceRequest() {
		return !strings.HasPrefix(a.GetPath(), "/debug")
	}
	switch a.GetResource() {
	case "cloudprofiles", "exposureclasses", "projects", "seeds":
		return true
	}
	return false
}
