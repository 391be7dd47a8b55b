package login

import (
	"context"
	"fmt"

	"github.com/swell-fleet/swell/internal/cli/console"
	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
)

// byDevice logs in with a code that the user enters in a browser anywhere.
func byDevice(ctx context.Context, c *console.Console, provider *tokens.Provider, login home.Login) (tokens.Tokens, error) {
	code, err := provider.Device(ctx, login)
	if err != nil {
		return tokens.Tokens{}, err
	}
	if !tokens.Page(code.VerificationURI) {
		return tokens.Tokens{}, fmt.Errorf("log in: the provider sends to %q, which is no https address", code.VerificationURI)
	}
	c.Notef("Open this address in a browser on any machine:\n  %s\nand enter the code:\n  %s", console.Clean(code.VerificationURI), console.Clean(code.UserCode))
	if tokens.Page(code.VerificationURIComplete) {
		c.Notef("or open this one, and compare the code:\n  %s", console.Clean(code.VerificationURIComplete))
	}
	c.Notef("Enter a code only if you asked for it here yourself. Waiting ...")
	return provider.Wait(ctx, login, code)
}
