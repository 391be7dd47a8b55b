package auth

import (
	"regexp"
	"strings"
)

// bearerToken is what RFC 6750 lets a token look like.
var bearerToken = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// Bearer returns the token of an Authorization header; false when there is none or it has another form.
func Bearer(header string) (string, bool) {
	scheme, token, ok := strings.Cut(header, " ")
	token = strings.Trim(token, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || !bearerToken.MatchString(token) {
		return "", false
	}
	return token, true
}
