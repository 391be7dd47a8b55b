// Package executortest holds what every executor has to promise, as a suite that runs against each of them with a simulated backend, and a
// scripted executor for tests of what calls executors.
package executortest
