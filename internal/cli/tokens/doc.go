// Package tokens brings the bearer token of requests: one that was given, or that of a login, which it keeps, renews ahead of its end and gives up.
package tokens
