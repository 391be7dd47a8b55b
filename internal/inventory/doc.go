// Package inventory knows where runtimes come from: it keeps a cache of the Shoots of a Gardener project, makes runtimes of them, and
// resolves the targets of orchestrations over both.
package inventory
