// Package folder gives tests folders for databases.
package folder

import (
	"os"
	"testing"
)

// memory is where Linux has a file system in memory.
const memory = "/dev/shm"

// InMemory returns a folder in memory where the machine has such a place, else an ordinary one, and removes it at the end of the test. Dozens of databases that
// wait for one disk make tests slow, and what is written to memory outlives a killed process just as well. Benchmarks get an ordinary folder: they
// measure the disk too.
func InMemory(t testing.TB) string {
	t.Helper()
	if _, measured := t.(*testing.B); measured {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "swell-test-") //nolint:usetesting // the folder of the test is on the disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the folder of the test: %v", err)
		}
	})
	return dir
}
