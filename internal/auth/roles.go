package auth

import (
	"encoding/json"
	"slices"
)

// Role says what somebody may do.
type Role string

const (
	// Operator may read.
	Operator Role = "operator"
	// Admin may read and write.
	Admin Role = "admin"
)

// Identity is somebody whose token was verified.
type Identity struct {
	// User is the name under which changes are recorded: the verified mail address, or else the subject. With several issuers it names the issuer too.
	User string
	// Issuer and Subject identify the person for good.
	Issuer  string
	Subject string
	// Groups are those that the token names, whether they give a role or not.
	Groups []string
	// Roles are what the person may do; empty means nothing.
	Roles []Role
}

// Groups maps the groups of a token to roles, by exact name.
type Groups struct {
	// Admin and Operator are the names of the groups whose members have these roles.
	Admin    []string
	Operator []string
}

// roles returns the roles that membership in groups gives.
func (g Groups) roles(groups []string) []Role {
	var roles []Role
	if slices.ContainsFunc(groups, func(name string) bool { return slices.Contains(g.Admin, name) }) {
		roles = append(roles, Admin)
	}
	if slices.ContainsFunc(groups, func(name string) bool { return slices.Contains(g.Operator, name) }) {
		roles = append(roles, Operator)
	}
	return roles
}

// readGroups reads a groups claim: providers write a single group as text and several as a list. Everything else, also an entry of a list that is
// no text, is no group.
func readGroups(claim json.RawMessage) []string {
	var one string
	if json.Unmarshal(claim, &one) == nil {
		if one == "" {
			return nil
		}
		return []string{one}
	}
	var list []json.RawMessage
	if json.Unmarshal(claim, &list) != nil {
		return nil
	}
	var groups []string
	for _, entry := range list {
		var name string
		if json.Unmarshal(entry, &name) == nil && name != "" {
			groups = append(groups, name)
		}
	}
	return groups
}
