package etcd

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	prefix   = "sl-etcd-"
	lockName = "lock"
)

// folder is a temporary folder that belongs to a process: it holds a lock for as
// long as it lives.
type folder struct {
	path string
	lock *os.File
}

func newFolder(parent string) (*folder, error) {
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, err
	}
	f := &folder{path: path}
	if err := f.claim(); err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

// claim takes the lock. It gets its name when it is held, so that nobody finds it
// and takes it first.
func (f *folder) claim() (err error) {
	unnamed := filepath.Join(f.path, "unlocked")
	if f.lock, err = os.OpenFile(unnamed, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	if err := unix.Flock(int(f.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	return os.Rename(unnamed, filepath.Join(f.path, lockName))
}

func (f *folder) remove() error {
	problem := os.RemoveAll(f.path)
	if f.lock != nil {
		problem = errors.Join(problem, f.lock.Close())
	}
	return problem
}

// sweep removes the folders of processes that were killed. What cannot be removed
// is left for somebody who can.
func sweep(parent string) {
	paths, _ := filepath.Glob(filepath.Join(parent, prefix+"*")) // The pattern is good.
	for _, path := range paths {
		if abandoned(path) {
			_ = os.RemoveAll(path) // It is none of ours.
		}
	}
}

// abandoned reports whether a folder was made here by this user, and its process
// does not live any more.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Getuid() {
		return false
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer func() { _ = lock.Close() }()
	return unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
