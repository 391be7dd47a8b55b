// Package home is the folder in which the command line keeps contexts and tokens: private to the user, each file written whole or not at all.
package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Variable names the folder; without it the folder is "swell" in the user's folder of configuration files.
const Variable = "SWELL_HOME"

// ErrNone is returned where nothing can be kept: the user has no home.
var ErrNone = errors.New("there is no folder for contexts and tokens; " + Variable + " names one")

const (
	folderMode = 0o700
	fileMode   = 0o600
	// longest is the size of the largest file that is read, in bytes.
	longest = 16 << 20
	// tryAgain is how often a lock that another process holds is tried again.
	tryAgain = 20 * time.Millisecond
)

// Folder is such a folder. It need not exist. The zero Folder keeps nothing.
type Folder struct {
	path string
	// why says why there is no path.
	why error
}

// At returns the folder at a path.
func At(path string) Folder { return Folder{path: path} }

// Of returns the folder of the user whose variables getenv reads.
func Of(getenv func(string) string) Folder {
	if path := getenv(Variable); path != "" {
		return At(path)
	}
	base, err := os.UserConfigDir()
	if err != nil {
		return Folder{why: err}
	}
	return At(filepath.Join(base, "swell"))
}

// Path returns where a file is.
func (f Folder) Path(name string) string { return filepath.Join(f.path, name) }

// Read returns what is in a file; fs.ErrNotExist when there is none.
func (f Folder) Read(name string) ([]byte, error) {
	if f.path == "" {
		return nil, fs.ErrNotExist
	}
	return read(f.Path(name))
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("find file: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", path)
	case info.Size() > longest:
		return nil, fmt.Errorf("%s is longer than %d bytes", path, longest)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	return data, nil
}

// ReadSecret is Read for a file with secrets. One that others could read is made private first.
func (f Folder) ReadSecret(name string) ([]byte, error) {
	if info, err := os.Stat(f.Path(name)); err == nil && info.Mode().Perm()&^fileMode != 0 {
		if err := os.Chmod(f.Path(name), fileMode); err != nil {
			return nil, fmt.Errorf("others can read it, and it cannot be made private: %w", err)
		}
	}
	return f.Read(name)
}

// Try returns an error when nothing can be kept.
func (f Folder) Try(ctx context.Context) error {
	const probe = "probe"
	unlock, err := f.Lock(ctx, probe)
	if err != nil {
		return err
	}
	defer unlock()
	if err := f.Write(probe, nil); err != nil {
		return err
	}
	_, err = f.Remove(probe)
	return err
}

// Write makes a file hold data and nothing else, private to the user. Who reads it meanwhile finds the old text or the new one. The caller holds the
// lock of the file. What an end in the middle of a Write left beside the file is gone afterwards.
func (f Folder) Write(name string, data []byte) (err error) {
	path := f.Path(name)
	if err := f.make(path); err != nil {
		return err
	}
	// A file that stands for one elsewhere goes on doing so.
	path = f.target(name)
	if err := tidy(path); err != nil {
		return err
	}
	temporary, err := os.OpenFile(draft(path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return fmt.Errorf("make file: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	_, err = temporary.Write(data)
	if err == nil {
		err = temporary.Sync()
	}
	if err = errors.Join(err, temporary.Close()); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	if err := os.Rename(temporary.Name(), path); err != nil {
		return fmt.Errorf("put file in its place: %w", err)
	}
	return nil
}

// Remove removes a file, with what an end in the middle of a Write left beside it, and reports whether there was one.
func (f Folder) Remove(name string) (bool, error) {
	if f.path == "" {
		return false, nil
	}
	path := f.Path(name)
	if err := tidy(f.target(name)); err != nil {
		return false, err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
		if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("remove file: %w", err)
		}
	}
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("remove file: %w", err)
	}
	return true, nil
}

// Lock keeps other processes that lock the same file away until the returned function is called. It waits for them as long as ctx lasts.
func (f Folder) Lock(ctx context.Context, name string) (unlock func(), err error) {
	path := f.Path(name) + ".lock"
	if err := f.make(path); err != nil {
		return nil, err
	}
	lock := flock.New(path, flock.SetPermissions(fileMode))
	if _, err := lock.TryLockContext(ctx, tryAgain); err != nil {
		return nil, fmt.Errorf("wait for another process: %w", err)
	}
	// Closing the file unlocks it, too; there is nothing to be done about an error.
	return func() { _ = lock.Unlock() }, nil
}

// make makes the folder of a file.
func (f Folder) make(path string) error {
	if f.path == "" {
		return errors.Join(ErrNone, f.why)
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if folder == filepath.Clean(f.path) {
		return nil
	}
	// The folders below are ours alone.
	if info, err := os.Stat(folder); err == nil && info.Mode().Perm()&^folderMode != 0 {
		if err := os.Chmod(folder, folderMode); err != nil {
			return fmt.Errorf("make folder private: %w", err)
		}
	}
	return nil
}
