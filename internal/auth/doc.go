// Package auth tells who makes a request: it verifies ID tokens of OpenID Connect providers and turns their groups into roles.
//
// Whatever cannot be verified is refused, and a claim that is not understood gives no group: access fails closed.
package auth
