package home

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"go.yaml.in/yaml/v3"
)

// ErrBroken is what the errors about contexts that are not understood are.
var ErrBroken = errors.New("the contexts are not understood")

// contextsFile holds the contexts.
const contextsFile = "contexts.yaml"

// Contexts returns the contexts; none when nothing was kept yet. A file that is not understood is an error that is
// ErrBroken and names it, and never taken for empty.
func (f Folder) Contexts() (Contexts, error) {
	data, err := f.Read(contextsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Contexts{}, nil
	}
	if err != nil {
		return Contexts{}, fmt.Errorf("read the contexts: %w", err)
	}
	contexts, err := parseContexts(data)
	if err != nil {
		return Contexts{}, fmt.Errorf("%w: %s: %w", ErrBroken, f.Path(contextsFile), err)
	}
	return contexts, nil
}

func parseContexts(data []byte) (Contexts, error) {
	var contexts Contexts
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&contexts); err != nil && !errors.Is(err, io.EOF) {
		return Contexts{}, err
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return Contexts{}, errors.New("it holds more than one document")
	}
	return contexts, contexts.check()
}

// ChangeContexts lets change work on the contexts and keeps the result. Other processes wait meanwhile. An error of change is returned as it is,
// and nothing is kept.
func (f Folder) ChangeContexts(ctx context.Context, change func(*Contexts) error) error {
	unlock, err := f.Lock(ctx, contextsFile)
	if err != nil {
		return fmt.Errorf("change the contexts: %w", err)
	}
	defer unlock()
	contexts, err := f.Contexts()
	if err != nil {
		return err
	}
	if err := change(&contexts); err != nil {
		return err
	}
	if err := contexts.check(); err != nil {
		return err
	}
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(contexts), encoder.Close()); err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	if err := f.Write(contextsFile, text.Bytes()); err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	return nil
}
