package auth

import "fmt"

// InvalidTokenError is returned for tokens that do not verify.
type InvalidTokenError struct {
	// Reason may be shown to the caller: it is plain ASCII without quotes and holds nothing of the token.
	Reason string
	// Err is the cause, for the log; nil where the reason says it all.
	Err error
}

// Error returns the reason and the cause.
func (e *InvalidTokenError) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return e.Reason + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *InvalidTokenError) Unwrap() error { return e.Err }

// UnavailableError is returned while the provider that could verify a token does not answer. The same token may be good later.
type UnavailableError struct {
	// Issuer is the address of the provider.
	Issuer string
	Err    error
}

// Error names the provider.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the identity provider %s does not answer: %v", e.Issuer, e.Err)
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }
