package runtime

import "github.com/swell-fleet/swell/internal/apiclient"

// Error is the answer of a server whose status is not the expected one. Find it with errors.As:
//
//	var answer *runtime.Error
//	if errors.As(err, &answer) && answer.Status == http.StatusNotFound {
//		// there is no such thing
//	}
type Error struct {
	// Method is the HTTP method of the request.
	Method string
	// URL is the full address of the request, without user name and password.
	URL string
	// Status is the HTTP status code of the answer.
	Status int
	// Reason is what the server said about it: a text or the main member of a JSON error document, at most 4 KiB, on one line and without
	// control characters. It is empty when the server said nothing.
	Reason string
}

// Error says method, address, status and reason in one line.
func (e *Error) Error() string {
	return apiclient.Failure(*e).String()
}
