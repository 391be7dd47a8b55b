//go:build linux || darwin

package store

import (
	"fmt"
	"syscall"
)

// freeSpace returns how many bytes the process may still write to the file system of a folder.
func freeSpace(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("ask for the free space of %s: %w", dir, err)
	}
	return s.Bavail * uint64(s.Bsize), nil
}
