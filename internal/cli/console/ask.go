package console

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
)

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 256

// Confirm asks a question that is answered with yes or no. Everything but a clear yes is an error that ends the program with ExitCanceled.
func (c *Console) Confirm(ctx context.Context, question string) error {
	c.Printf("%s [y/N] ", question)
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	// Reading from a terminal cannot be interrupted: after an interrupt this ends with the process.
	go func() {
		text, err := bufio.NewReader(io.LimitReader(c.In, maxAnswer)).ReadString('\n')
		answers <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		c.Printf("\n")
		return &ExitError{Code: ExitInterrupted}
	case got := <-answers:
		switch strings.ToLower(strings.TrimSpace(got.text)) {
		case "y", "yes":
			return nil
		}
		if got.err != nil {
			c.Printf("\n")
		}
		return &ExitError{Code: ExitCanceled, Err: errors.New("nothing was done")}
	}
}
