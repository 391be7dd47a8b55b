package tokens

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Source brings the token for the requests to one server. It is safe for concurrent use.
type Source interface {
	// Token returns the token to send. An error that is an *AbsentError does not go away by itself.
	Token(ctx context.Context) (string, error)
	// Renew returns the token to send after the server has refused one: the same one when there is no other.
	Renew(ctx context.Context, refused string) (string, error)
}

// AbsentError is returned when there is no token, and none can be had without the user.
type AbsentError struct{ Reason string }

// Error returns the reason.
func (e *AbsentError) Error() string { return e.Reason }

// Check returns an error when a text cannot be sent as a token.
func Check(token string) error {
	switch {
	case token == "":
		return errors.New("it is empty")
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("it holds characters that no token has, such as a line break")
	}
	return nil
}

// Given is a token that was given on the command line or by a variable.
type Given string

// Token implements Source.
func (g Given) Token(context.Context) (string, error) { return string(g), nil }

// Renew implements Source.
func (g Given) Renew(context.Context, string) (string, error) { return string(g), nil }

// File is the path of a file with a token, which somebody else may renew: it is read for every request.
type File string

// Token implements Source.
func (f File) Token(context.Context) (string, error) {
	data, err := os.ReadFile(string(f))
	if err != nil {
		return "", &AbsentError{Reason: fmt.Sprintf("the token cannot be read: %v", err)}
	}
	token := strings.TrimSpace(string(data))
	if err := Check(token); err != nil {
		return "", &AbsentError{Reason: fmt.Sprintf("the token in %q cannot be used: %v", string(f), err)}
	}
	return token, nil
}

// Renew implements Source.
func (f File) Renew(ctx context.Context, _ string) (string, error) { return f.Token(ctx) }
