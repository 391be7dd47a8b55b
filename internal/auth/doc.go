// Package auth tells who makes a request: it verifies ID tokens of OpenID Connect providers and turns their groups into roles.
//
// Whatever cannot be verified is refused, and a claim that is not understood gives no group: access fails closed. Providers are asked in the
// background by Verifier.Run alone, so that neither a provider that hangs nor a flood of forged tokens makes requests wait for long or
// reaches the provider.
package auth
