package main

import (
	"context"
	"io"
	"os"
	"time"
)

// bound ends the context also when the options say that it is time: after the
// longest life, when standard input closes, or when the parent has ended. A test
// that dies thus leaves nothing behind.
func bound(ctx context.Context, o options) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if o.maxLifetime > 0 {
		timer := time.AfterFunc(o.maxLifetime, cancel)
		context.AfterFunc(ctx, func() { timer.Stop() })
	}
	if o.exitWithStdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // It ends when the input does, however that is.
			cancel()
		}()
	}
	if o.exitWithParent {
		go watchParent(ctx, cancel)
	}
	return ctx, cancel
}

// watchParent waits until the process has been given to another parent.
func watchParent(ctx context.Context, ended func()) {
	const pause = 250 * time.Millisecond
	parent := os.Getppid()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if os.Getppid() != parent {
				ended()
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
