package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// stopStep ends one part of the program.
type stopStep struct {
	name string
	stop func(ctx context.Context) error
}

// lifecycle ends the parts of the program in the reverse order of their start.
type lifecycle struct {
	steps  []stopStep
	logger *slog.Logger
	clock  func() time.Time
}

// push adds the way to stop a part that has just been started.
func (l *lifecycle) push(name string, stop func(ctx context.Context) error) {
	l.steps = append(l.steps, stopStep{name: name, stop: stop})
}

// stop ends all parts, each even when an earlier one did not end well. ctx bounds the time for all of them together.
func (l *lifecycle) stop(ctx context.Context) error {
	var problems []error
	for i := len(l.steps) - 1; i >= 0; i-- {
		step := l.steps[i]
		begin := l.clock()
		if err := step.stop(ctx); err != nil {
			problems = append(problems, fmt.Errorf("stop %s: %w", step.name, err))
		}
		l.logger.DebugContext(ctx, "stopped", "part", step.name, "after", l.clock().Sub(begin))
	}
	l.steps = nil
	return errors.Join(problems...)
}

// background runs f in a goroutine until the returned stop function is called, which waits for it.
func background(ctx context.Context, f func(ctx context.Context)) (stop func(ctx context.Context) error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(running)
	}()
	return func(ctx context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("it did not end in time: %w", ctx.Err())
		}
	}
}
