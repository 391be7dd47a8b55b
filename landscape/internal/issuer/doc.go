// Package issuer simulates an OpenID Connect provider: a few people in groups, a
// public client, robots with secrets, a page to log in on that asks for no
// password, and all state in memory. The protocol is spoken by the provider of
// zitadel/oidc. Keys, lifetimes, people and faults can be changed while it runs.
package issuer
