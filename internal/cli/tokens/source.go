package tokens

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// Given is a token that nobody renews.
type Given struct {
	// Text is the token.
	Text string
	// Origin says where it comes from.
	Origin string
}

// Token implements Source.
func (g Given) Token(context.Context) (string, error) { return g.Text, nil }

// Renew implements Source.
func (g Given) Renew(context.Context, string) (string, error) { return g.Text, nil }

// File is the path of a file with a token, which somebody else may renew: it is read for every request.
type File string

// Token implements Source.
func (f File) Token(context.Context) (string, error) {
	file, err := os.Open(string(f))
	if err != nil {
		return "", &AbsentError{Reason: fmt.Sprintf("the token cannot be read: %v", err)}
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, longestToken+1))
	if err != nil {
		return "", &AbsentError{Reason: fmt.Sprintf("the token cannot be read: %v", err)}
	}
	if len(data) > longestToken {
		return "", &AbsentError{Reason: fmt.Sprintf("the token in %q cannot be used: it is longer than %d bytes", string(f), longestToken)}
	}
	token := strings.TrimSpace(string(data))
	if err := Check(token); err != nil {
		return "", &AbsentError{Reason: fmt.Sprintf("the token in %q cannot be used: %v", string(f), err)}
	}
	return token, nil
}

// longestToken is the size of the longest token that is read from a file, in bytes. Servers take less.
const longestToken = 64 << 10

// Renew implements Source.
func (f File) Renew(ctx context.Context, _ string) (string, error) { return f.Token(ctx) }

// Open returns the source of the token in a file that was named by origin, and an error when there is none. What can be read only once, such as a pipe, is read now; it may
// take until somebody writes into it, or ctx ends.
func Open(ctx context.Context, path, origin string) (Source, error) {
	source := File(path)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		_, err := source.Token(ctx)
		return source, err
	}
	type result struct {
		token string
		err   error
	}
	read := make(chan result, 1)
	// Opening a pipe cannot be interrupted: after an interrupt this ends with the process.
	go func() {
		token, err := source.Token(ctx)
		read <- result{token, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-read:
		return Given{Text: got.token, Origin: origin}, got.err
	}
}
