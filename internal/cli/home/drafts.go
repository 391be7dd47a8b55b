package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// draft is where the next text of a file is written before it takes the file's place. There is one place for it, so that whoever comes after an end in the
// middle finds it.
func draft(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
}

// drafts returns what was left beside a file by ends in the middle of a Write: the draft, and those that programs before this one gave a number.
func drafts(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for what was left of a file: %w", err)
	}
	found := []string{}
	for _, entry := range entries {
		full := filepath.Join(filepath.Dir(path), entry.Name())
		number, numbered := strings.CutPrefix(entry.Name(), "."+filepath.Base(path)+".")
		if full == draft(path) || numbered && number != "" && strings.Trim(number, "0123456789") == "" {
			found = append(found, full)
		}
	}
	return found, nil
}

// tidy removes them.
func tidy(path string) error {
	left, err := drafts(path)
	if err != nil {
		return err
	}
	for _, one := range left {
		if err := os.Remove(one); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove what was left of a file: %w", err)
		}
	}
	return nil
}

// target is where the text of a file is: elsewhere, when the file stands for one there.
func (f Folder) target(name string) string {
	path := f.Path(name)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// Has reports whether there is a file, or something that an end in the middle of a Write left beside it.
func (f Folder) Has(name string) (bool, error) {
	if f.path == "" {
		return false, nil
	}
	if _, err := os.Lstat(f.Path(name)); err == nil {
		return true, nil
	}
	left, err := drafts(f.target(name))
	return len(left) > 0, err
}

// Drafts returns the texts that ends in the middle of a Write left beside a file; any of them may be cut short. What cannot be read is left out.
func (f Folder) Drafts(name string) ([][]byte, error) {
	if f.path == "" {
		return nil, nil
	}
	left, err := drafts(f.target(name))
	if err != nil {
		return nil, err
	}
	var texts [][]byte
	for _, path := range left {
		if data, err := read(path); err == nil {
			texts = append(texts, data)
		}
	}
	return texts, nil
}

// Finish lets the draft of a file take its place where whole says that nothing of its text is missing. The caller holds the lock of the file.
func (f Folder) Finish(name string, whole func(text []byte) bool) error {
	if f.path == "" {
		return nil
	}
	path := f.target(name)
	data, err := read(draft(path))
	if err != nil || !whole(data) {
		// There is none, or the next Write removes it.
		return nil //nolint:nilerr // the file is as it was
	}
	if err := os.Rename(draft(path), path); err != nil {
		return fmt.Errorf("put file in its place: %w", err)
	}
	return nil
}
