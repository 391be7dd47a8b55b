package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// errNotRegular is what is wrong with a pipe or a device in place of a file: reading one may never end, and with it the stop of the server.
var errNotRegular = errors.New("it is no regular file")

// openFile opens a regular file, also through symbolic links. It never waits for whoever writes to a pipe.
func openFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// readFile returns the text of a regular file.
func readFile(path string) ([]byte, error) {
	file, err := openFile(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return text, nil
}

// checkFile returns an error when a file cannot be opened or is none.
func checkFile(path string) error {
	file, err := openFile(path)
	if err != nil {
		return err
	}
	return file.Close()
}
