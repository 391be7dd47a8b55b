// Package engine carries orchestrations out: it runs the state machine of package fleet over its ports.
//
// The rows of the store are the truth. Jobs of the queue carry IDs only and say where to look; a job that finds its row in another state
// than it expects does nothing. Everything that a job would bring about is found by a sweep too, so a lost job costs seconds and nothing else.
//
// Three rules keep the promises whatever dies at whatever moment. Nothing is counted or started without the lock on the orchestration's row, and
// an operation ends and the next one starts in one transaction. Whoever takes an operation raises its fence, and every write is
// conditional on it, so that a process that was thought dead changes nothing any more. And whoever takes an operation looks at the backend
// before asking it for anything.
package engine
